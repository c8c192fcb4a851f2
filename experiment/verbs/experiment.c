// SPDX-License-Identifier: GPL-2.0-only
/* bbrctl experiment list, status, pause, resume, watch, stop. */
#include <stdio.h>
#include <string.h>

#include "cli/err.h"
#include "cli/json.h"
#include "cli/units.h"
#include "experiment/running/running.h"
#include "self/lock.h"
#include "kernel/clock.h"
#include "verbs/verbs.h"

static void print_json(const struct experiment_list *list, bool is_array, bool is_short)
{
	struct json j;

	if (is_array)
		json_begin_pretty_array(&j, stdout);
	else
		json_begin_pretty(&j, stdout);
	for (int i = 0; i < list->n; i++) {
		if (is_array)
			json_open_object(&j, NULL);
		experiment_add_json(&j, &list->at[i], is_short);
		if (is_array)
			json_close(&j);
	}
	json_end(&j);
}

/* Also `experiment status`, which shows more, of one or of all. */
static int verb_experiment_list(struct options *opt, int argc, char **argv)
{
	bool is_short = !strcmp(argv[0], "experiment list"), is_all = argc < 2;
	struct experiment_list list AUTO(experiments_free) = {};
	int ret;

	if (!clock_init() || privileges_take())
		return EXIT_REFUSED;
	if (is_all) {
		ret = experiments_need(&list);
	} else {
		list = (struct experiment_list){ mem_new(1, sizeof(*list.at)), 1 };
		ret = experiment_find(argv[1], list.at);
	}
	if (ret)
		return ret;
	if (opt->json)
		print_json(&list, is_all, is_short);
	else if (is_short)
		experiments_print(list.at, list.n);
	else if (!list.n)
		puts("no experiment is running");
	for (int i = 0; !opt->json && !is_short && i < list.n; i++)
		experiment_print(&list.at[i]);
	return EXIT_DONE;
}

static int verb_experiment_status(struct options *opt, int argc, char **argv)
{
	return verb_experiment_list(opt, argc, argv);
}

/* Finds an experiment to change it. EXIT_DONE: the lock is held, and the caller closes h. */
static int take_one(const char *name, struct experiment_handle *h)
{
	if (!clock_init() || privileges_take() || lock_instances())
		return EXIT_REFUSED;
	return experiment_find(name, h);
}

/* Also resumes. */
static int verb_experiment_pause(struct options *opt, UNUSED int argc, char **argv)
{
	bool paused = !strcmp(argv[0], "experiment pause");
	struct experiment_handle h AUTO(experiment_close) = {};
	int ret = take_one(argv[1], &h);

	if (ret)
		return ret;
	if (!!h.control->paused == paused)
		return err_nothing("%s: is %spaused", argv[1], paused ? "already " : "not ");
	h.control->paused = paused;
	decision_take(&h, opt->json,
		      decision_make(paused ? "paused: new connections are left alone" : "resumed"));
	return EXIT_DONE;
}

static int verb_experiment_resume(struct options *opt, int argc, char **argv)
{
	return verb_experiment_pause(opt, argc, argv);
}

/* Leaves new connections alone from here on, and moves the open ones to the arm with this label. */
static int move_to(const struct experiment_handle *h, const char *label, __u64 *moved)
{
	__u32 paused = h->control->paused;
	int arm, ret = experiment_choose_arm(&h->config, "--to", label, &arm);

	if (ret)
		return ret;
	h->control->paused = 1;
	ret = experiment_move(h, arm, moved);
	if (ret)
		h->control->paused = paused;
	return ret;
}

static int verb_experiment_watch(struct options *opt, UNUSED int argc, char **argv)
{
	struct experiment_handle h AUTO(experiment_close) = {};
	__u64 every = CANARY_EVERY;
	int ret;

	if (!experiment_duration_parse("--every", opt->experiment.every, NS_PER_S, CANARY_LEASE / 3,
				       &every))
		return EXIT_USAGE;
	if (!clock_init() || privileges_take())
		return EXIT_REFUSED;
	ret = experiment_find(argv[1], &h);
	ret = ret ?: lock_watch(h.config.name, h.prog_id);
	return ret ? ret : canary_watch(&h, every, opt->json);
}

static int verb_experiment_stop(struct options *opt, UNUSED int argc, char **argv)
{
	const char *to = opt->to;
	struct experiment_handle h AUTO(experiment_close) = {};
	struct experiment_decision d;
	__u64 moved;
	int ret = take_one(argv[1], &h);

	if (!ret && to)
		ret = move_to(&h, to, &moved);
	ret = ret ?: experiment_program_stop(&h);
	if (ret)
		return ret;
	d = to ? decision_make("stopped; %llu connection%s went over to %s", moved, plural(moved),
			       to) :
		 decision_make("stopped; its connections keep their congestion control");
	decision_print(h.config.name, d, opt->json); /* the log has ended with it */
	return EXIT_DONE;
}

BBRCTL_VERB(experiment_list, "experiment list", NEEDS(LOOK | CAP(NET_ADMIN)),
	    .brief = "list the running experiments");

BBRCTL_VERB(experiment_status, "experiment status", NEEDS(LOOK | CAP(NET_ADMIN)),
	    .args = "[EXPERIMENT]", .max_args = 1,
	    .brief = "show arms, counts, guards and log of one or all experiments");

BBRCTL_VERB(experiment_pause, "experiment pause", NEEDS(LOOK | CAP(NET_ADMIN), .may = FILES),
	    .args = "EXPERIMENT", .min_args = 1, .max_args = 1,
	    .brief = "leave new connections alone until resume");

BBRCTL_VERB(experiment_resume, "experiment resume", NEEDS(LOOK | CAP(NET_ADMIN), .may = FILES),
	    .args = "EXPERIMENT", .min_args = 1, .max_args = 1,
	    .brief = "resume a paused experiment");

static const struct option_def experiment_watch_options[] = {
	{ "every", 0, "DURATION", option_text, EXPERIMENT(every),
	  "how often to check the guards, from 1s; by default 10s" },
	END,
};

BBRCTL_VERB(experiment_watch, "experiment watch", NEEDS(LOOK | CAP(NET_ADMIN), .may = FILES),
	    .args = "EXPERIMENT", .min_args = 1, .max_args = 1,
	    .brief = "run a canary: take each step when it is due, or take the canary back",
	    OPTIONS({ experiment_watch_options, 0 }));

static const struct option_def experiment_stop_options[] = {
	{ "to", 0, "ARM", option_text, MEMBER(to), "first move its open connections to this arm" },
	END,
};

BBRCTL_VERB(experiment_stop, "experiment stop", NEEDS(CHANGE, .may = FILES | EVERY_NETNS),
	    .args = "EXPERIMENT", .min_args = 1, .max_args = 1,
	    .brief = "end an experiment, and its choice for new connections",
	    OPTIONS({ experiment_stop_options, 0 }));
