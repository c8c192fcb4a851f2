// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "machine/plan.h"
#include "output_file.h"

#define FOLDER "/var/lib/bpf-bbr"
#define NAME "undo"
#define MOST (64 << 20) /* bytes; 64 profiles and 1,024 rules have 200,000 */

/* The first line, which also says whether the apply was undone; and the line between the states. */
#define APPLIED "; bbrctl apply --undo brings back what is above the line ; ----\n"
#define UNDONE "; bbrctl apply --undo brings back what is below the line ; ----\n"
#define BETWEEN "; ----\n"

const char *undo_path(const char *only)
{
	static char path[sizeof(FOLDER "/" NAME ".") + BBR_NAME_LEN];

	snprintf(path, sizeof(path), "%s/%s%s%s", FOLDER, NAME, only ? "." : "", only ? only : "");
	return path;
}

static const char *name_of(const char *only)
{
	return undo_path(only) + strlen(FOLDER "/");
}

/* Returns a descriptor, or -1 with errno set. What others may write is not to be believed. */
static int open_safely(int folder, const char *path, int flags, mode_t kind)
{
	int fd = openat(folder, path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || (!fstat(fd, &st) && (st.st_mode & S_IFMT) == kind &&
		       (!st.st_uid || st.st_uid == geteuid()) && !(st.st_mode & 022)))
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

static int open_folder(void)
{
	return open_safely(AT_FDCWD, FOLDER, O_RDONLY | O_DIRECTORY, S_IFDIR);
}

static char *read_all(FILE *f)
{
	struct stat st;
	char *text;
	size_t n;

	if (fstat(fileno(f), &st) || st.st_size > MOST)
		return NULL;
	text = mem_new(st.st_size + 1, 1);
	n = fread(text, 1, st.st_size, f);
	if (n == (size_t)st.st_size && strlen(text) == n)
		return text;
	free(text);
	return NULL;
}

/* Returns false if the text is no such file. */
static bool take_apart(char *text, struct undo *u)
{
	char *between;
	size_t first = strlen(APPLIED);

	_Static_assert(sizeof(APPLIED) == sizeof(UNDONE), "one replaces the other");
	u->is_undone = !strncmp(text, UNDONE, first);
	if (!u->is_undone && strncmp(text, APPLIED, first))
		return false;
	between = strstr(text + first - 1, "\n" BETWEEN);
	if (!between)
		return false;
	between[1] = 0;
	u->before = mem_copy(text + first);
	u->after = mem_copy(between + 1 + strlen(BETWEEN));
	return true;
}

int undo_read(const char *only, struct undo *u)
{
	int folder AUTO_CLOSE = open_folder(), fd = -1;
	char *text AUTO_FREE = NULL;
	FILE *f AUTO_FCLOSE = NULL;

	*u = (struct undo){ .only = only };
	if (folder >= 0)
		fd = open_safely(folder, name_of(only), O_RDONLY, S_IFREG);
	if (fd < 0 && errno != ENOENT)
		err("%s: is left out: %s", undo_path(only),
		    errno == EPERM ? "others may write there" : strerror(errno));
	if (fd < 0)
		return EXIT_NOTHING;
	f = mem_need(fdopen(fd, "r"));
	text = read_all(f);
	if (text && take_apart(text, u))
		return EXIT_DONE;
	err("%s: is left out: it is not whole", undo_path(only));
	return EXIT_NOTHING;
}

void undo_free(struct undo *u)
{
	free(u->before);
	free(u->after);
	u->before = u->after = NULL;
}

int undo_machine(const struct undo *u, bool is_after, struct machine *m)
{
	return machine_text_read(is_after ? u->after : u->before, undo_path(u->only), u->only, m);
}

/* ---- states as text */

static char *as_text(const struct machine *m, bool is_tuning)
{
	char *text = NULL, *line;
	size_t n;
	FILE *out = mem_need(open_memstream(&text, &n));

	for_each (inst, m->instance, m->n_instances)
		machine_print(out, m, inst, "", false);
	mem_check(!fclose(out) && text);
	line = is_tuning ? strchr(text, '\n') : NULL; /* without [instance NAME] */
	if (line)
		memmove(text, line + 1, strlen(line));
	return text;
}

bool undo_is_after(const struct undo *u, const struct machine *wanted)
{
	char *text AUTO_FREE = as_text(wanted, wanted->is_tuning);

	return u->after && !strcmp(u->after, text);
}

/* What of the machine an apply can bring back, because it made it or is about to change it. */
struct keeping {
	const struct machine *wanted, *found;
	const struct plan *plan;
	const char *only;
	struct machine before; /* its members are those of `found` */
};

/* True if a step of the plan changes this: an instance, a default or an attachment. */
static bool is_changed(const struct keeping *k, const void *found)
{
	for_each (s, k->plan->step, k->plan->n)
		if (s->found == found || s->default_found == found || s->at_found == found)
			return true;
	return false;
}

static bool keeps_default(const struct keeping *k, const struct default_of *def)
{
	const struct machine_note *note = machine_note(k->found, def->name, def->inode);

	return note &&
	       (note->is_applied || machine_default(k->wanted, def->inode) || is_changed(k, def));
}

/* True if an instance is kept for what a namespace, a cgroup or a route has of it. */
static bool is_in_use(const struct keeping *k, const char *name)
{
	for_each (s, k->plan->step, k->plan->n)
		if ((s->default_found && !strcmp(s->default_found->name, name) &&
		     machine_note(k->found, name, s->default_found->inode)) ||
		    (s->at_found && !strcmp(s->at_found->name, name)) ||
		    (s->route_found && !strcmp(s->route_found->name, name)))
			return true;
	return false;
}

static bool keeps_instance(const struct keeping *k, const struct machine_instance *inst)
{
	return (inst->is_applied && (!k->only || !strcmp(k->only, inst->name))) ||
	       is_changed(k, inst) || machine_instance(k->wanted, inst->name) ||
	       is_in_use(k, inst->name);
}

/*
 * Gathers what is kept. Returns false if an apply could not bring it back: code that this bbrctl
 * does not know, or another instance than the only one.
 */
static bool gather(struct keeping *k)
{
	struct machine *b = &k->before;

	b->is_found = true;
	b->note = k->found->note;
	b->n_notes = k->found->n_notes;
	for_each (inst, k->found->instance, k->found->n_instances) {
		if (!keeps_instance(k, inst))
			continue;
		if (!inst->is_open)
			return false;
		MEM_ADD(b->instance, b->n_instances) = *inst;
	}
	if (k->wanted->is_tuning)
		return true;
	for_each (def, k->found->def, k->found->n_defaults)
		if (keeps_default(k, def))
			MEM_ADD(b->def, b->n_defaults) = *def;
	for_each (at, k->found->attached, k->found->n_attached)
		if (at->is_applied || machine_attachment(k->wanted, at->path) || is_changed(k, at))
			MEM_ADD(b->attached, b->n_attached) = *at;
	for_each (r, k->found->route, k->found->n_routes)
		if (r->is_applied || machine_route(k->wanted, r->inode, &r->is.to)) {
			MEM_ADD(b->route, b->n_routes) = *r;
			b->route[b->n_routes - 1].is_applied = true; /* it will be */
		}
	return true;
}

/* True if the file has all that is kept of instances. */
static bool has_all(const struct machine *file, const struct machine *kept)
{
	bool has = true;

	for_each (inst, kept->instance, kept->n_instances)
		has &= !!machine_instance(file, inst->name);
	for_each (def, kept->def, kept->n_defaults)
		has &= !machine_instance(kept, def->name) || machine_default(file, def->inode);
	for_each (at, kept->attached, kept->n_attached)
		has &= !machine_instance(kept, at->name) || machine_attachment(file, at->path) ||
		       cgroup_is_pod(at->path);
	for_each (r, kept->route, kept->n_routes)
		has &= !machine_instance(kept, r->name) || machine_route(file, r->inode, &r->is.to);
	return has;
}

/* True if nothing but routes and pods was changed since the last apply. */
static bool is_as_left(const struct undo *last, const struct keeping *k)
{
	struct machine left AUTO(machine_free) = {};
	struct plan plan AUTO(plan_free) = {};
	bool same;

	err_mute(true); /* that it names a namespace which is gone is nothing to report */
	same = last->before && !undo_machine(last, !last->is_undone, &left) &&
	       left.is_tuning == k->wanted->is_tuning && has_all(&left, &k->before);
	err_mute(false);
	if (same)
		plan_make(&left, k->found, k->only, false, &plan);
	for_each (s, plan.step, plan.n)
		same &= step_is_followed(&left, s);
	return same;
}

/* Nothing changes, but another file may be what was applied last. */
static bool make_of_no_change(const struct undo *last, const struct machine *wanted, struct undo *u)
{
	*u = (struct undo){ .only = last->only };
	if (!last->before || (!last->is_undone && undo_is_after(last, wanted)))
		return false;
	u->before = mem_copy(last->before);
	u->after = as_text(wanted, wanted->is_tuning);
	return true;
}

bool undo_make(const struct undo *last, const struct machine *wanted, const struct machine *found,
	       const struct plan *plan, struct undo *u)
{
	struct keeping k = { wanted, found, plan, last->only, {} };
	bool can, is_lost, stays, only_replaces = true;

	if (!plan->n)
		return make_of_no_change(last, wanted, u);
	for_each (s, plan->step, plan->n)
		only_replaces &= s->kind == STEP_REPLACE;
	can = gather(&k);
	is_lost = last->before && !k.before.n_instances;
	stays = !last->is_undone && undo_is_after(last, wanted) && (is_lost || only_replaces);
	*u = (struct undo){ .only = last->only };
	if (!stays && !can)
		err("bbrctl apply --undo will not undo this: it takes away what a file cannot "
		    "name");
	if (!stays && can) {
		u->before = is_lost || is_as_left(last, &k) ?
				    mem_copy(last->is_undone ? last->before : last->after) :
				    as_text(&k.before, wanted->is_tuning && k.before.n_instances);
		u->after = as_text(wanted, wanted->is_tuning);
	}
	free(k.before.instance);
	free(k.before.def);
	free(k.before.attached);
	free(k.before.route);
	return !stays;
}

/* ---- the file */

/* Removes the files of single instances, which the whole machine's replaces. Closes the folder. */
static void remove_others(int folder)
{
	DIR *dir AUTO_CLOSEDIR = mem_need(fdopendir(folder));
	const struct dirent *entry;

	while ((entry = readdir(dir)))
		if (!strncmp(entry->d_name, NAME ".", strlen(NAME ".")))
			unlinkat(folder, entry->d_name, 0);
}

void undo_write(const struct undo *u)
{
	const char *const part[] = { u->is_undone ? UNDONE : APPLIED, u->before, BETWEEN, u->after,
				     NULL };
	int folder = open_folder(), error = folder < 0 ? errno : 0;

	if (error == ENOENT) {
		note("%s: not kept for apply --undo: there is no such folder", FOLDER);
		return;
	}
	if (!error && u->before)
		error = output_replace(folder, name_of(u->only), NULL, part);
	if (error) {
		err("%s: cannot be written: %s\n"
		    "bbrctl apply --undo will not undo this apply",
		    undo_path(u->only),
		    error == EPERM ? "others may write there" : strerror(error));
	}
	if (folder < 0)
		return;
	if (error || !u->before)
		unlinkat(folder, name_of(u->only), 0);
	if (u->only)
		close(folder);
	else
		remove_others(folder);
}
