// SPDX-License-Identifier: GPL-2.0-only
/*
 * bbrmon record: events into a file.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "err.h"
#include "event.h"
#include "options.h"
#include "recording_writer.h"
#include "source.h"
#include "verbs.h"
#include "watch_options.h"

#define WAIT_MS 500
#define FLUSH_NS NS_PER_S

struct record {
	struct source_config config;
	const char *output;
	__u64 count; /* 0: no limit */
	__u64 duration_ns; /* 0: no limit */

	struct source source;
	struct recording_writer *writer;
	__u64 written; /* events */
	__u64 end_ns; /* 0: no limit */
};

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal,
				    .sa_flags = SA_RESTART | SA_RESETHAND };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static bool is_done(const struct record *r)
{
	return interrupted || r->writer->failed || (r->count && r->written >= r->count);
}

static void tell_run(struct record *r)
{
	struct recording_run run;

	source_run(&r->source, &run);
	recording_writer_run(r->writer, &run);
}

static void tell_totals(struct record *r)
{
	struct watch_totals totals;

	source_totals_now(&r->source, &totals);
	recording_writer_totals(r->writer, &totals);
}

static bool handle_event(void *ctx, const struct origin *origin, const struct bbr_event *e)
{
	struct record *r = ctx;

	if (is_done(r))
		return false;
	if (r->config.read)
		tell_run(r);
	recording_writer_event(r->writer, origin, e);
	r->written++;
	return !is_done(r);
}

static int follow_events(struct record *r)
{
	while (!is_done(r) && !source_is_over(&r->source)) {
		bool idle;
		int status;

		if (r->end_ns && now_ns() >= r->end_ns)
			break;
		status = source_poll(&r->source, WAIT_MS, &idle);
		if (status)
			return status;
		tell_run(r);
		tell_totals(r);
		if (now_ns() - r->writer->begun_ns >= FLUSH_NS)
			recording_writer_flush(r->writer);
	}
	return EXIT_DONE;
}

static int open_output(struct record *r)
{
	int fd = open(r->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0) {
		err("cannot write %s: %s", r->output, strerror(errno));
		return EXIT_REFUSED;
	}
	recording_writer_file(r->writer, fd, r->output, 0);
	return EXIT_DONE;
}

static int record(struct record *r)
{
	int status = open_output(r);

	if (status)
		return status;
	tell_run(r);
	if (r->duration_ns)
		r->end_ns = now_ns() + r->duration_ns;
	status = follow_events(r);
	source_stop(&r->source);
	recording_writer_totals(r->writer, source_totals(&r->source));
	recording_writer_end(r->writer, true);
	if (r->writer->failed)
		status = EXIT_REFUSED;
	close(r->writer->fd);
	return status;
}

static int run(struct record *r)
{
	int status;

	r->config.watch.handle = handle_event;
	r->config.watch.ctx = r;
	catch_signals();
	r->writer = recording_writer_new();
	if (!r->writer)
		return EXIT_REFUSED;
	status = source_open(&r->source, &r->config);
	if (!status) {
		status = record(r);
		source_close(&r->source);
	}
	recording_writer_free(r->writer);
	return status;
}

int verb_record(int argc, char **argv)
{
	static const struct option_def options[] = {
		{ "output", 'o', "FILE", option_text, offsetof(struct record, output),
		  "where to; - is standard output" },
		{ "count", 0, "N", option_count, offsetof(struct record, count),
		  "end after N events" },
		{ "duration", 0, "TIME", option_time, offsetof(struct record, duration_ns),
		  "end after this time: 10s" },
		{},
	};
	struct record r = {
		.config.watch.request.sampling = BBR_SAMPLE_ROUND,
		.config.watch.ring_size = RING_SIZE_DEFAULT,
	};
	const struct option_group groups[] = {
		{ options, &r },
		{ watch_options, &r.config },
		{ read_options, &r.config },
		{},
	};
	const struct command command = {
		.verb = "record",
		.args = "",
		.about = "Writes the events of the connections that use a loaded bpf_bbr instance "
			 "to "
			 "a file,\n"
			 "until it is interrupted. The other verbs read it with --read.",
		.groups = groups,
	};
	int status = options_parse(&command, argc, argv);

	if (status < 0 && !r.output) {
		err("record: no file to write to");
		remedy("name one: -o FILE, or -o - for standard output");
		status = EXIT_USAGE;
	}
	if (status < 0)
		status = run(&r);
	free(r.config.watch.names.arg);
	return status;
}
