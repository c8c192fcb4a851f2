// SPDX-License-Identifier: GPL-2.0-only
/*
 * bbrctl apply --follow and --hold: a file's routes and pods, which come, change and go after it was
 * applied. All else is for the next apply.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include <sys/inotify.h>
#include <sys/signalfd.h>

#include "kernel/clock.h"
#include "kernel/kernel_types.h"
#include "kernel/netns.h"
#include "machine/plan.h"
#include "verbs/verbs.h"

#define PAUSE_MS 100 /* routes change together */
#define LONGEST_PAUSE_MS 64000
#define CALM_NS (300 * NS_PER_S)
#define ENDED (-1)

struct watch {
	__u32 inode; /* of the network namespace */
	int fd;
};

struct following {
	const struct options *opt;
	bool is_held; /* what was applied stays; otherwise the file is read each time */
	const char *file; /* as machine_file_read() takes it */
	const char *only;
	struct machine *wanted; /* what was applied, or the file as last read */
	struct watch *watch; /* of routes */
	size_t n;
	int pods; /* inotify(7) */
	int ends; /* signalfd(2); -1: none */
	__u64 due_ns; /* when to look again; 0: after the next event */
	unsigned int pause_ms; /* after an event of routes */
	__u64 changed_ns; /* when we last changed a route; 0: never */
	unsigned int retry_ms; /* after a failure */
	bool is_going; /* a pod with a rule goes: its folder is gone, the end of its cgroup is no event */
};

static void set_due(struct following *f, unsigned int ms)
{
	__u64 then = now_ns() + ms * NS_PER_MS;

	if (!f->due_ns || f->due_ns > then)
		f->due_ns = then;
}

static bool has_what_to_follow(const struct machine *m)
{
	return m->n_routes || m->n_pods;
}

static int watch_here(const struct netns *ns, void *data)
{
	struct watch *w = data;

	w->inode = ns->inode;
	w->fd = routes_watch();
	return w->fd < 0 ? err_bpf(w->fd, "cannot watch the routes") : EXIT_DONE;
}

/* Watches the namespaces of all routes that are wanted, before their routes are read; and the pods. */
static int watch_all(struct following *f)
{
	int ret = EXIT_DONE;

	for_each (r, f->wanted->route, f->wanted->n_routes) {
		size_t k = 0;

		while (k < f->n && f->watch[k].inode != r->inode)
			k++;
		if (ret || k < f->n)
			continue;
		f->watch = mem_grow(f->watch, f->n, sizeof(*f->watch));
		ret = netns_visit(r->netns, watch_here, &f->watch[f->n]);
		f->n += !ret;
	}
	/*
	 * The kubelet makes a pod's cgroup, then its folder, then what runs in it. It may not have run
	 * yet.
	 */
	if (f->wanted->n_pods &&
	    inotify_add_watch(f->pods, CGROUP_PODS, IN_CREATE | IN_DELETE | IN_MOVE) < 0)
		inotify_add_watch(f->pods, CGROUP_PODS_PARENT, IN_CREATE | IN_MOVED_TO);
	return ret;
}

/* Reads the file anew, or looks at the pods; if that fails, the old one is still watched for. */
static int read_again(struct following *f)
{
	struct machine new = {};
	int ret;

	if (f->is_held) {
		watch_all(f); /* the kubelet may have made its folder */
		return machine_pods_find(f->wanted, CGROUP_PODS);
	}
	ret = machine_file_read(f->file, f->only, &new);
	if (ret) {
		machine_free(&new);
		return ret;
	}
	machine_free(f->wanted);
	*f->wanted = new;
	return has_what_to_follow(&new) ? watch_all(f) : ENDED;
}

/* True if an instance needs other rules because of pods. Then the step leads to the goal. */
static bool follow_rules(struct following *f, const struct machine *wanted, struct step *s,
			 struct machine_instance *goal)
{
	*goal = *s->found;
	if (machine_pods_rules(wanted, s->found, &goal->rules, &f->is_going))
		return false;
	s->wanted = goal;
	return !machine_same_rules(goal, s->found);
}

static void keep_followed_steps(struct following *f, const struct machine *wanted,
				const struct machine *found, struct machine_instance *goal,
				struct plan *plan)
{
	size_t n = 0;

	for_each (s, plan->step, plan->n)
		if (s->found && s->kind == STEP_RULES ?
			    follow_rules(f, wanted, s, &goal[s->found - found->instance]) :
			    step_is_followed(wanted, s))
			plan->step[n++] = *s;
	plan->n = n;
}

static bool is_calm(const struct following *f)
{
	return !f->changed_ns || now_ns() - f->changed_ns > CALM_NS;
}

/* Somebody who takes our congctl off again and again is answered more and more rarely. */
static void note_change(struct following *f, const struct plan *plan)
{
	bool is_of_routes = false;

	for_each (s, plan->step, plan->n)
		is_of_routes |= s->kind == STEP_ROUTE || s->kind == STEP_ROUTE_BACK;
	if (!is_of_routes)
		return;
	f->pause_ms = is_calm(f) ? PAUSE_MS : 2 * f->pause_ms;
	if (f->pause_ms > LONGEST_PAUSE_MS)
		f->pause_ms = LONGEST_PAUSE_MS;
	f->changed_ns = now_ns();
}

static void print_followed(const struct following *f, const struct plan *plan)
{
	struct json j;

	if (f->opt->json) {
		json_begin(&j, stdout);
		plan_add_json(&j, plan);
		json_end(&j);
	} else {
		for_each (s, plan->step, plan->n)
			step_print(s, true);
	}
	fflush(stdout);
}

/* Of instances that are loaded. Prints what the kernel refuses. */
static int make_again(struct following *f, const struct machine *wanted)
{
	struct machine found AUTO(machine_free);
	struct machine_instance *goal =
		NULL; /* of each instance: with the rules that it should have */
	struct plan plan AUTO(plan_free) = {};
	int ret = plan_read(wanted, f->only, false, &found, &plan);

	if (!ret) {
		goal = mem_new(found.n_instances, sizeof(*goal));
		keep_followed_steps(f, wanted, &found, goal, &plan);
	}
	if (plan.n) {
		note_change(f, &plan);
		ret = plan_carry_out(&plan, &found);
		if (!ret)
			print_followed(f, &plan);
	}
	for_each (inst, goal, goal ? found.n_instances : 0)
		rule_list_free(&inst->rules);
	free(goal);
	return ret;
}

/*
 * Makes it again as the last apply of the file left it. If something else was applied since, or the
 * file has changed, that is for the next apply.
 */
static int make_as_applied(struct following *f)
{
	struct machine before AUTO(machine_free) = {};
	struct undo undo AUTO(undo_free);
	int ret = EXIT_DONE;

	undo_read(f->only, &undo);
	if (!undo.before || (undo_is_after(&undo, f->wanted) && !undo.is_undone))
		ret = make_again(f, f->wanted);
	else if (undo_is_after(&undo, f->wanted) && !undo_machine(&undo, false, &before))
		ret = make_again(f, &before);
	return ret;
}

/*
 * Looks once. Returns ENDED if there is nothing to follow any more, or why it could not look. What
 * fails is tried again after the next event; with pods also by itself, later and later, because a
 * pod may go while its line is carried out, its labels may not be known yet, or its cgroup may
 * outlive its folder.
 */
static int follow_once(struct following *f)
{
	int failed, ret = read_again(f);

	f->is_going = false;
	if (!ret)
		ret = lock_instances();
	failed = ret;
	if (!ret) {
		failed = f->is_held ? make_again(f, f->wanted) : make_as_applied(f);
		unlock_instances();
	}
	kernel_types_forget(); /* this may take months */
	if (!failed && !f->wanted->lacks_labels && !f->is_going) {
		f->retry_ms = PAUSE_MS;
	} else if (f->wanted->n_pods) {
		set_due(f, f->retry_ms);
		f->retry_ms *= f->retry_ms < LONGEST_PAUSE_MS ? 2 : 1;
	}
	return ret;
}

struct matching {
	const struct machine *wanted;
	__u32 inode;
};

/* True for a route that leads to a prefix of the file, and for one that an apply made. */
static bool may_matter(const struct route *r, void *data)
{
	const struct matching *m = data;

	return machine_leads_to(m->wanted, m->inode, &r->to) || r->protocol == ROUTE_PROTOCOL;
}

/* Reads the events of all namespaces. True if one may matter. */
static bool read_routes(const struct following *f)
{
	bool matters = false;

	for_each (w, f->watch, f->n) {
		struct matching m = { f->wanted, w->inode };

		matters |= routes_changed(w->fd, may_matter, &m);
	}
	return matters;
}

static bool read_pods(const struct following *f)
{
	bool any = false;
	char events[4096];

	while (read(f->pods, events, sizeof(events)) > 0)
		any = true;
	return any;
}

static int ms_until_due(const struct following *f)
{
	__u64 now = now_ns();

	if (!f->due_ns)
		return -1;
	return f->due_ns > now ? (int)((f->due_ns - now + NS_PER_MS - 1) / NS_PER_MS) : 0;
}

/* Waits until it is time to look again. Returns EXIT_DONE, ENDED after a signal, or EXIT_REFUSED. */
static int wait_until_due(struct following *f)
{
	struct pollfd *fds AUTO_FREE = mem_new(f->n + 2, sizeof(*fds));
	struct signalfd_siginfo taken;
	int ret = EXIT_DONE;

	fds[0] = (struct pollfd){ .fd = f->ends, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = f->pods, .events = POLLIN };
	for (size_t i = 0; i < f->n; i++)
		fds[i + 2] = (struct pollfd){ .fd = f->watch[i].fd, .events = POLLIN };
	while (!ret && ms_until_due(f)) {
		int n = poll(fds, f->n + 2, ms_until_due(f));

		if (n < 0 && errno != EINTR)
			ret = err_bpf(-errno, "cannot wait for routes and pods");
		/* Taken, it ends no later wait for the lock. */
		else if (n > 0 && fds[0].revents && read(f->ends, &taken, sizeof(taken)) > 0)
			ret = ENDED;
		if (read_pods(f)) {
			set_due(f, 0);
			f->retry_ms = PAUSE_MS;
		}
		if (read_routes(f))
			set_due(f, is_calm(f) ? PAUSE_MS : f->pause_ms);
	}
	f->due_ns = 0;
	return ret;
}

static void end(struct following *f)
{
	while (f->n)
		close(f->watch[--f->n].fd);
	free(f->watch);
	close(f->pods);
}

/* A file that cannot be read later does not end it. */
int follow_file(const struct options *opt, const char *file)
{
	struct machine wanted = {};
	struct following f = {
		.opt = opt,
		.file = file,
		.only = opt->name_given ? opt->name : NULL,
		.wanted = &wanted,
		.pods = inotify_init1(IN_CLOEXEC | IN_NONBLOCK),
		.ends = -1,
		.retry_ms = PAUSE_MS,
	};
	int ret = privileges_take() ? EXIT_REFUSED : EXIT_DONE;

	if (!ret)
		ret = follow_once(&f);
	while (!ret) {
		ret = wait_until_due(&f);
		if (!ret && follow_once(&f) == ENDED)
			ret = ENDED;
	}
	if (ret == ENDED) {
		note("%s: no line route, and none for pods, to follow",
		     file ? file : machine_file_default);
		ret = EXIT_DONE;
	}
	end(&f);
	machine_free(&wanted);
	return ret;
}

void follow_machine(const struct options *opt, const char *only, struct machine *applied,
		    const sigset_t *ends)
{
	struct following f = {
		.opt = opt,
		.is_held = true,
		.only = only,
		.wanted = applied,
		.pods = inotify_init1(IN_CLOEXEC | IN_NONBLOCK),
		.ends = signalfd(-1, ends, SFD_CLOEXEC),
		.retry_ms = PAUSE_MS,
	};

	if (has_what_to_follow(applied))
		follow_once(&f);
	while (!wait_until_due(&f))
		follow_once(&f);
	end(&f);
	close(f.ends);
}
