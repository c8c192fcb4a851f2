// SPDX-License-Identifier: GPL-2.0-only
/*
 * bbrmon experiment: what a running experiment, or one in a file, has shown so far.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/err.h"
#include "cli/options.h"
#include "output_file.h"
#include "study.h"
#include "verbs.h"

#define LOOK_MS 500 /* of --follow: a ring of 1,024 lasts for 2,000 connections a second */

struct request {
	bool as_json, follow, continued;
	const char *html, *write;
};

/* ---- one that runs */

/* With --follow until the experiment or bbrmon is stopped. The file has what has ended so far. */
static int collect(const struct request *r, struct collector *c, struct study *s)
{
	FILE *out = r->write ? output_open(r->write, true) : NULL;
	size_t written = 0;

	if (r->write && !out)
		return EXIT_REFUSED;
	collector_read(c, s);
	if (out) {
		file_write_head(out, s);
		file_write_counters(out, s);
	}
	for (;;) {
		if (out)
			file_write_rows(out, s, written);
		written = s->rows.n;
		if (!r->follow || is_interrupted() || !experiment_is_running(&c->handle) ||
		    (out && fflush(out))) /* output_close() prints why */
			break;
		poll(NULL, 0, LOOK_MS);
		collector_read(c, s);
	}
	if (out && r->follow)
		file_write_counters(out, s);
	return out ? output_close(out, r->write) : EXIT_DONE;
}

/* ---- the answer */

static int print(const struct request *r, struct study *s)
{
	struct analysis a AUTO(analysis_free);
	int ret = EXIT_DONE;
	FILE *out;

	analyse(&a, s);
	if (r->html) {
		out = output_open(r->html, true);
		if (out)
			analysis_print_page(out, &a);
		ret = out ? output_close(out, r->html) : EXIT_REFUSED;
	}
	if (!ret && r->as_json)
		analysis_print_json(stdout, &a);
	else if (!ret && !r->html && (!r->write || strcmp(r->write, "-")))
		analysis_print_text(stdout, &a);
	return ret ? ret : output_close(stdout, NULL);
}

static bool is_stdout(const char *path)
{
	return path && !strcmp(path, "-");
}

/* Refuses outputs that would end up in one another, or in the file that is read. */
static int check_outputs(const struct request *r, const char *file)
{
	if (r->as_json + is_stdout(r->html) + is_stdout(r->write) > 1)
		return err_usage("only one of --json, --html - and --write - can write to stdout");
	if (r->html && r->write && is_same_output(r->html, r->write))
		return err_usage("--html and --write name the same file");
	if (r->html && file && is_same_file(r->html, file))
		return err_usage("%s is the experiment: the page would overwrite it", file);
	return EXIT_DONE;
}

static int run_verb(void *options, int argc, char **argv)
{
	const struct request *r = options;
	const char *what = argc > 1 ? argv[1] : NULL;
	/* A valid name of an experiment may be that of a file as well. */
	bool from_file = what && (strchr(what, '/') || !experiment_name_is_valid(what) ||
				  !access(what, F_OK));
	struct collector c AUTO(collector_close) = {};
	struct study s AUTO(study_free) = { .rows.with_continued = r->continued };
	int ret = check_outputs(r, from_file ? what : NULL);

	if (ret)
		return ret;
	if (from_file && (r->write || r->follow))
		return err_usage("%s is a file, but %s needs a running experiment", what,
				 r->write ? "--write" : "--follow");
	if (r->follow)
		interrupt_catch();
	else
		signal(SIGPIPE, SIG_IGN);
	/* Before a file is read: its reader gives up all privileges. */
	ret = from_file && r->html ? output_reach(r->html, true) : EXIT_DONE;
	if (!ret && from_file)
		ret = file_read(what, &s);
	else if (!ret)
		ret = collector_open(&c, &s, what) ?: collect(r, &c, &s);
	ret = ret ?: print(r, &s);
	output_forget();
	return ret;
}

#define OPTION(member) offsetof(struct request, member)

static const struct option_def options[] = {
	{ "json", 'j', NULL, option_flag, OPTION(as_json), "print JSON" },
	{ "html", 0, "FILE", option_text, OPTION(html),
	  "write a self-contained HTML page; - is stdout" },
	{ "write", 'w', "FILE", option_text, OPTION(write),
	  "write the outcome of each connection, as comma-separated values\n"
	  "that bbrmon, R and pandas read; - is stdout" },
	{ "follow", 'f', NULL, option_flag, OPTION(follow),
	  "continue until the experiment ends or Ctrl-C, then print results:\n"
	  "not limited to the outcomes that the kernel keeps" },
	{ "continued", 0, NULL, option_flag, OPTION(continued),
	  "in a switchback, also count connections that began before the\n"
	  "block's washout ended" },
	{},
};

static const struct option_group groups[] = { { options, 0 }, {} };

VERB(experiment, NEEDS(0, .may = WATCH | CGROUP_PROGRAMS | READ_FILE | WRITE_FILE),
     .args = "[NAME|FILE]", .brief = "show the results of an experiment so far",
     .about = "Shows the results so far of an experiment of `bbrctl experiment`: the named one, "
	      "the only\n"
	      "one that is running, or one in a file from --write.",
     .groups = groups, .max_args = 1, .size = sizeof(struct request), .run = run_verb);
