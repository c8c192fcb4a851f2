// SPDX-License-Identifier: GPL-2.0-only
/* bbrmon record: writes events to a file. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/err.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/units.h"
#include "event_source.h"
#include "filter/filter.h"
#include "kernel/clock.h"
#include "recording/writer.h"
#include "verbs.h"

#define WAIT_MS 500
#define FLUSH_NS NS_PER_S

struct record {
	struct watch_config config;
	struct watch_limits limits;
	struct record_output output;
	bool json;

	struct event_source source;
	struct recording_writer *writer;
	bool shows_progress; /* on stderr, which is a terminal */
};

static bool is_done(const struct record *r)
{
	return is_interrupted() || r->writer->failed || watch_limits_are_reached(&r->limits);
}

static void tell_writer(struct record *r)
{
	const struct recording_run run = event_source_run(&r->source);

	recording_writer_run(r->writer, &run);
	r->writer->now = event_source_totals(&r->source);
}

static bool handle_event(void *ctx, const struct origin *origin, const struct bbr_event *e)
{
	struct record *r = ctx;

	if (r->writer->failed || !watch_limits_take(&r->limits, &r->source, e))
		return false;
	if (r->config.read)
		tell_writer(r);
	recording_writer_event(r->writer, origin, e);
	return !is_done(r);
}

static int follow_events(struct record *r)
{
	while (!is_done(r) && !event_source_is_over(&r->source)) {
		bool idle;
		int ret;

		if (watch_limits_left_ns(&r->limits, &r->source) <= 0)
			break;
		ret = event_source_poll(&r->source, WAIT_MS, &idle);
		if (ret)
			return ret;
		tell_writer(r);
		if (now_ns() - r->writer->begun_ns >= FLUSH_NS)
			recording_writer_flush(r->writer);
		if (r->writer->failed || record_output_rotate(&r->output) ||
		    record_output_is_gone(&r->output))
			return EXIT_REFUSED;
		if (idle && r->shows_progress) /* the next output on stderr overwrites it */
			fprintf(stderr, "\033[K%llu events, %llu bytes, %llu dropped\r",
				r->limits.taken, record_output_bytes(&r->output),
				event_source_drops(&r->source));
	}
	return EXIT_DONE;
}

static void print_summary(const struct record *r, const struct watch_totals *t)
{
	__u64 bytes = record_output_bytes(&r->output);
	struct json j;

	if (r->json) {
		watch_summary_begin(&j, t);
		if (r->config.has_rest)
			json_add_int(&j, "not_matched", t->counters.not_matched);
		json_add_int(&j, "not_recorded", r->limits.left_out);
		json_add_int(&j, "bytes", bytes);
		json_add_int(&j, "files", r->output.files + 1);
		watch_summary_end(&j);
		return;
	}
	if (r->shows_progress)
		fputs("\033[K", stderr);
	watch_summary_print(t, NULL, "not recorded", r->limits.left_out);
	fprintf(stderr, "  %-12s %llu", "bytes", bytes);
	if (r->limits.taken)
		fprintf(stderr, ", %.1f per event", (double)bytes / r->limits.taken);
	if (r->output.files)
		fprintf(stderr, ", in %llu files", r->output.files + 1);
	fputc('\n', stderr);
}

static int record(struct record *r)
{
	int ret;

	tell_writer(r);
	watch_limits_begin(&r->limits, &r->source);
	ret = follow_events(r);
	event_source_stop(&r->source);
	if (ret)
		return ret;
	r->writer->now = event_source_totals(&r->source);
	recording_writer_end(r->writer, !r->limits.left_out);
	if (r->writer->failed)
		return EXIT_REFUSED;
	print_summary(r, &r->writer->now);
	return EXIT_DONE;
}

static int run(struct record *r)
{
	int ret;

	r->config.handle = handle_event;
	r->config.ctx = r;
	r->shows_progress = isatty(STDERR_FILENO);
	interrupt_catch();
	r->output.writer = r->writer = recording_writer_new();
	ret = event_source_open(&r->source, &r->config);
	if (!ret) {
		ret = record_output_open(&r->output);
		if (!ret)
			ret = record(r);
		else
			event_source_stop(&r->source);
		event_source_close(&r->source);
	}
	recording_writer_free(r->writer);
	return ret;
}

static bool option_rotate_size(const char *option, const char *s, void *to)
{
	double value;

	if (!option_parse(option, s, parse_size, &value))
		return false;
	if (value < ROTATE_SIZE_MIN || value > ROTATE_SIZE_MAX) {
		err("%s %s: must be %dk to %llug", option, s, ROTATE_SIZE_MIN >> 10,
		    ROTATE_SIZE_MAX >> 30);
		return false;
	}
	*(__u64 *)to = value;
	return true;
}

static int refuse(const char *what)
{
	return err_usage("record: %s\n"
			 "bbrmon record --help lists the options",
			 what);
}

/* Checks that the options fit together. Returns -1 to go on. */
static int check_options(const struct record *r)
{
	const struct record_output *o = &r->output;
	bool is_rotated = o->rotate_size || o->rotate_ns;

	if (!o->path)
		return refuse("-o FILE is missing (-o - is standard output)");
	if (!strcmp(o->path, "-") && (is_rotated || o->append || r->json))
		return refuse("-o - does not work with --append, --rotate-... or --json");
	if (o->keep && !is_rotated)
		return refuse("--keep needs --rotate-size or --rotate-time");
	/* That would have no end, or nothing to read. */
	if (r->config.read && is_same_file(r->config.read, o->path))
		return refuse("-o and --read name the same file");
	return -1;
}

#define OPTION(member) offsetof(struct record, member)

static const struct option_def options[] = {
	{ "output", 'o', "FILE", option_text, OPTION(output.path),
	  "where to write; - is standard output" },
	{ "append", 0, NULL, option_flag, OPTION(output.append),
	  "append to FILE, if it is a recording" },
	{ "rotate-size", 0, "SIZE", option_rotate_size, OPTION(output.rotate_size),
	  "begin another file before one gets longer: 100m" },
	{ "rotate-time", 0, "TIME", option_time, OPTION(output.rotate_ns),
	  "begin another file after this time: 3600s; FILE becomes FILE.1,\n"
	  "FILE.1 becomes FILE.2, and so on" },
	{ "keep", 0, "N", option_count, OPTION(output.keep), "keep only the newest N files" },
	{ "json", 'j', NULL, option_flag, OPTION(json),
	  "print the summary as JSON on standard output" },
	{},
};

static const struct option_group groups[] = {
	{ options, 0 },
	{ limit_options, OPTION(limits) },
	{ watch_options, OPTION(config) },
	{ connection_options, OPTION(config) },
	{ read_options, OPTION(config) },
	{},
};

static void init(void *options)
{
	struct record *r = options;

	r->output.fd = -1;
}

static int run_verb(void *options, int argc, char **argv)
{
	struct record *r = options;
	int ret = check_options(r);

	if (ret < 0 && r->config.read && record_output_reach(&r->output))
		ret = EXIT_REFUSED;
	if (ret < 0)
		ret = watch_filter(&r->config, argc - 1, argv + 1);
	if (ret < 0)
		ret = run(r);
	record_output_close(&r->output);
	watch_config_free(&r->config);
	return ret;
}

VERB(record, NEEDS(WATCH, .may = WRITE_FILE, .changes = of_reading), .args = "[FILTER]",
     .brief = "write the events to a file that the other verbs can --read",
     .about = "Writes the events of the connections that use BBR to a file, until it is\n"
	      "interrupted. The other verbs read it with --read.",
     .groups = groups, .max_args = FILTER_WORDS, .size = sizeof(struct record), .init = init,
     .run = run_verb);
