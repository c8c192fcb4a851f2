// SPDX-License-Identifier: GPL-2.0-only
/*
 * bbrmon report: plots of a recording. It is read twice: for the totals, which show which flows are
 * the largest, and for the series of these. So memory is bounded by what is shown, and by
 * RECORDING_KEPT_MAX.
 */
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>

#include "cli/err.h"
#include "cli/options.h"
#include "cli/units.h"
#include "output_file.h"
#include "recording/replay.h"
#include "report.h"
#include "stream/event_source.h"
#include "verbs.h"

#define POINTS_DEFAULT 10000
#define POINTS_FIGURE 4000 /* a figure alone has no more to show */
#define FLOWS_DEFAULT 20
#define POINTS_MIN 128

static struct recording_reader *reader_of(struct report *r)
{
	return &r->source.replay.reader;
}

/*
 * Gives the event its time since 1970, in place: the reader does not need it any more, and a copy
 * of each event costs a tenth of a reading. NULL: not in the requested time.
 */
static const struct bbr_event *take(struct report *r)
{
	struct bbr_event *dated = &reader_of(r)->event;

	dated->time_ns += run_clocks_epoch_ns(&r->clocks, &reader_of(r)->run);
	if (!r->first_ns)
		r->first_ns = dated->time_ns;
	/*
	 * The first event need not be the earliest: CPUs shuffle a little, and another boot may
	 * have another clock.
	 */
	if ((r->part.from_ns && dated->time_ns < r->first_ns + r->part.from_ns) ||
	    (r->part.until_ns && dated->time_ns > r->first_ns + r->part.until_ns))
		return NULL;
	return dated;
}

static bool note_totals(void *ctx, const struct origin *origin, UNUSED const struct bbr_event *e)
{
	struct report *r = ctx;
	const struct bbr_event *dated = take(r);

	if (dated)
		flows_note(&r->flows, origin, dated);
	return true;
}

/* Notes what the recording says is missing. Between two runs nobody watched. */
static void note_missing(struct report *r, const struct bbr_event *dated)
{
	struct rate_shares *shares = &r->shares;
	__u64 run = reader_of(r)->run.id, drops;
	struct watch_totals now;

	if (r->run == run && r->totals_taken == reader_of(r)->totals_taken)
		return;
	now = event_source_totals(&r->source);
	drops = counters_drops(&now.counters);
	if (drops > r->drops)
		rate_shares_note_drops(shares, dated->time_ns, drops - r->drops);
	if (r->run && r->run != run)
		rate_shares_note_unwatched(shares, r->newest_ns, dated->time_ns);
	else if (now.unwatched_ns > r->unwatched_ns)
		rate_shares_note_unwatched(shares,
					   dated->time_ns - (now.unwatched_ns - r->unwatched_ns),
					   dated->time_ns);
	r->run = run;
	r->totals_taken = reader_of(r)->totals_taken;
	r->drops = drops;
	r->unwatched_ns = now.unwatched_ns;
}

static bool note_series(void *ctx, const struct origin *origin, UNUSED const struct bbr_event *e)
{
	struct report *r = ctx;
	const struct bbr_event *dated = take(r);
	struct flow *flow;

	if (!dated)
		return true;
	note_missing(r, dated);
	r->newest_ns = dated->time_ns;
	flow = flows_find(&r->flows, origin, dated);
	/* A recording that is still written has more than at the first reading. */
	if (!flow || flow->number >= r->flows.n || dated->time_ns > flow->last.time_ns)
		return true;
	rate_shares_note(&r->shares, flow, dated);
	if (flow->series)
		flow_series_add(flow->series, dated);
	return true;
}

/* Hands on all events of the recording. Returns an exit status. */
static int read_recording(struct report *r, event_handler handle)
{
	int ret;

	r->config.handle = handle;
	r->config.ctx = r;
	ret = event_source_open(&r->source, &r->config);
	if (ret)
		return ret;
	ret = event_source_read_all(&r->source);
	r->totals = event_source_totals(&r->source);
	event_source_close(&r->source);
	return ret;
}

static int by_size(const void *a, const void *b)
{
	const struct flow *x = *(struct flow *const *)a, *y = *(struct flow *const *)b;
	__u64 p = flow_growth(x).bytes_acked, q = flow_growth(y).bytes_acked;

	if (p != q)
		return p > q ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* Gives series to the largest flows, and to one that was asked for. */
static void choose_flows(struct report *r)
{
	struct flows *flows = &r->flows;
	struct flow **chosen = mem_new(flows->n, sizeof(*chosen));
	unsigned int n = flows->n < r->max_flows ? flows->n : r->max_flows;

	memcpy(chosen, flows->flow, flows->n * sizeof(*chosen));
	qsort(chosen, flows->n, sizeof(*chosen), by_size);
	if (!r->flow)
		r->flow = chosen[0]->number + 1;
	for (unsigned int i = n; i < flows->n; i++)
		if (chosen[i]->number + 1 == r->flow)
			chosen[n - 1] = chosen[i];
	for (unsigned int i = 0; i < n; i++)
		chosen[i]->series = flow_series_new(chosen[i]->algorithm, r->points);
	r->shown = chosen;
	for (unsigned int i = 0; i < flows->n; i++)
		if (flows->flow[i]->series)
			chosen[r->n_shown++] = flows->flow[i];
}

/* There is no flow. */
static void say_nothing(const struct report *r)
{
	unsigned int n = r->flows.n_all;

	if (n)
		err("%s: no event of its %u connection%s has BBR's state: they are of recovery or "
		    "RTOs, before or after BBR had it",
		    r->file, n, plural(n));
	else
		err("%s: no events%s", r->file,
		    r->first_ns	     ? " in this time" :
		    r->config.filter ? " of these connections" :
				       "");
}

static int read_totals(struct report *r)
{
	int ret;

	recording_keep();
	ret = read_recording(r, note_totals);
	if (ret)
		return ret;
	if (r->flows.left_out)
		err("%s: %llu events are left out: the recording has more than %d flows\n"
		    "report a part of it: use a filter, or --from and --to",
		    r->file, r->flows.left_out, FLOWS_MAX);
	flows_choose(&r->flows);
	if (!r->flows.n) {
		say_nothing(r);
		return EXIT_NOTHING;
	}
	if (r->flow > r->flows.n) {
		return err_usage("--flow %llu: the report has only %u flow%s", r->flow, r->flows.n,
				 plural(r->flows.n));
	}
	return EXIT_DONE;
}

static int read_series(struct report *r)
{
	int ret;

	choose_flows(r);
	rate_shares_init(&r->shares, &r->flows);
	ret = read_recording(r, note_series);
	if (counters_drops(&r->totals.counters) > r->drops) /* after the last event */
		rate_shares_note_drops(&r->shares, r->flows.end_ns,
				       counters_drops(&r->totals.counters) - r->drops);
	for (unsigned int i = 0; i < r->n_shown; i++)
		flow_series_finish(r->shown[i]->series);
	rate_shares_finish(&r->shares);
	return ret;
}

/* Writes the figure, if svg is one, or the page. */
static int write_output(struct report *r, const char *path, bool is_named)
{
	FILE *out = output_open(path, is_named);

	if (!out)
		return EXIT_REFUSED;
	if (path == r->svg)
		report_write_svg(out, r, r->flows.flow[r->flow - 1]);
	else
		report_write_html(out, r);
	return output_close(out, path);
}

/* Refuses outputs that would end up in one another, or in the recording. */
static int check_files(const struct report *r)
{
	const char *file = r->file;
	struct stat st;

	if (r->svg && r->out && !strcmp(r->svg, "-") && !strcmp(r->out, "-"))
		return err_usage("-o and --svg cannot both write to stdout");
	if (r->svg && r->out && is_same_output(r->svg, r->out))
		return err_usage("-o and --svg name the same file");
	/* What is not there, or is a folder, is refused when it is opened. */
	if (!strcmp(file, "-") ||
	    (!stat(file, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return err_usage(
			"report reads the recording twice, so it must be a file, not standard "
			"input or a pipe");
	if ((r->out && is_same_file(r->out, file)) || (r->svg && is_same_file(r->svg, file)))
		return err_usage("%s is the recording: the output would overwrite it", file);
	return EXIT_DONE;
}

/* Without -o and --svg the page goes beside the recording. */
static int make_report(struct report *r, int n, char **filter)
{
	bool is_named = r->out;
	char *beside AUTO_FREE = NULL;
	int ret;

	if (!r->points)
		r->points = r->svg && !r->out ? POINTS_FIGURE : POINTS_DEFAULT;
	if (!r->out && !r->svg) {
		r->out = beside = mem_format("%s.html", r->file);
	}
	ret = check_files(r);
	/* Before the recording is read: its reader gives up all privileges. */
	if (!ret && r->svg)
		ret = output_reach(r->svg, true);
	if (!ret && r->out)
		ret = output_reach(r->out, is_named);
	if (!ret)
		ret = watch_filter(&r->config, n, filter);
	if (ret < 0)
		ret = read_totals(r);
	if (!ret)
		ret = read_series(r);
	if (!ret && r->svg)
		ret = write_output(r, r->svg, true);
	if (!ret && r->out)
		ret = write_output(r, r->out, is_named);
	for (unsigned int i = 0; i < r->n_shown; i++)
		flow_series_free(r->shown[i]->series);
	free(r->shown);
	rate_shares_free(&r->shares);
	flows_free(&r->flows);
	run_clocks_free(&r->clocks);
	recording_forget();
	output_forget();
	return ret;
}

static bool option_points(const char *option, const char *s, void *to)
{
	__u64 *points = to;

	if (!option_count(option, s, points))
		return false;
	if (*points >= POINTS_MIN)
		return true;
	err("%s %s: must be at least %d", option, s, POINTS_MIN);
	return false;
}

#define OPTION(member) offsetof(struct report, member)

static const struct option_def file_options[] = {
	{ "read", 'r', "FILE", option_text, OPTION(config.read),
	  "the recording, as with the other verbs; then all words are the filter" },
	{},
};

static const struct option_def options[] = {
	{ "output", 'o', "FILE", option_text, OPTION(out),
	  "where to write the page, by default FILE.html; - is stdout" },
	{ "svg", 0, "FILE", option_text, OPTION(svg),
	  "a figure of one flow as SVG, instead of the page, or with -o\n"
	  "in addition to it; - is stdout" },
	{ "flow", 0, "N", option_count, OPTION(flow),
	  "the flow of the figure, in the order of their first events;\n"
	  "by default the one with most bytes" },
	{ "flows", 0, "N", option_count, OPTION(max_flows),
	  "draw curves of the N flows with most bytes, by default 20" },
	{ "points", 0, "N", option_points, OPTION(points),
	  "keep at most N events of a flow, with all\n"
	  "extremes; by default 10000, for a figure alone 4000" },
	{},
};

static const struct option_group groups[] = {
	{ file_options, 0 },
	{ options, 0 },
	{ part_options, OPTION(part) },
	{ connection_options, offsetof(struct report, config) },
	{},
};

static void init(void *options)
{
	struct report *r = options;

	r->max_flows = FLOWS_DEFAULT;
}

static int run_verb(void *options, int argc, char **argv)
{
	struct report *r = options;
	const struct conflict conflicts[] = {
		NO_EMPTY_PART(r->part),
		{ r->flow && !r->svg, "--flow", "it chooses the flow of a figure",
		  "add --svg FILE" },
		{},
	};
	int ret = refuse_conflicts("report", conflicts);

	if (!r->config.read && argc > 1) {
		r->config.read = argv[1];
		argc--;
		argv++;
	}
	r->file = r->config.read;
	if (!r->file) {
		err("report: FILE is missing\n"
		    "bbrmon report --help explains it");
		ret = EXIT_USAGE;
	}
	if (!ret)
		ret = make_report(r, argc - 1, argv + 1);
	watch_config_free(&r->config);
	return ret;
}

VERB(report, NEEDS(0, .may = READ_FILE | WRITE_FILE), .args = "FILE [FILTER]",
     .brief = "draw a recording: a page, or a figure",
     .about = "Draws a recording of `bbrmon record` as one self-contained HTML page.",
     .groups = groups, .max_args = 1 + FILTER_WORDS, .size = sizeof(struct report), .init = init,
     .run = run_verb);
