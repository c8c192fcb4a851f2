// SPDX-License-Identifier: GPL-2.0-only
/*
 * User input: bbrctl's command line, with an instance in this file instead of the kernel, and
 * bbrmon's options. The input is the arguments, one per line. Its bytes also serve as values of all
 * parameters, which must be read back from their printed form.
 */
#define _GNU_SOURCE /* vasprintf() */
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>

#include <arpa/inet.h>
#include <json-c/json.h>

#include "address.h"
#include "verbs/verbs.h"
#include "descriptor.h"
#include "cli/err.h"
#include "experiment/analysis/guard.h"
#include "fuzz.h"
#include "kernel/instance.h"
#include "cli/json.h"
#include "recording/replay.h"
#include "self/lock.h"
#include "stream/event_source.h"
#include "tuning/param.h"
#include "tuning/profile_map.h"
#include "tuning/rule_text.h"
#include "cli/privileges.h"
#include "cli/units.h"

#define MAX_ARGS 80 /* more than any verb takes */

const struct completer bbrctl_completers[] = { {} };

static struct param_set in_force; /* the instance's parameters */
/* The instance's: the first byte of the input chooses it. */
static const struct algorithm *algorithm;
static unsigned int messages; /* by err() in this run */

static unsigned long assignments, loads, changes, texts, jsons, nothings, refusals;
static unsigned long parsed[PARSE_ERRORS];
static unsigned long everies, prefixes, ports, rings, counts, filters, guards;

static void report(void)
{
	say_reached("assignment", assignments);
	say_reached("loaded", loads);
	say_reached("changed", changes);
	say_reached("text", texts);
	say_reached("JSON", jsons);
	say_reached("nothing to do", nothings);
	say_reached("wrong command line", refusals);
	for (int i = 0; i < PARSE_NO_PERCENT; i++) /* which only parameters have */
		say_reached(parse_error_text(i), parsed[i]);
	say_reached("--every", everies);
	say_reached("--remote", prefixes);
	say_reached("--rport", ports);
	say_reached("--ring", rings);
	say_reached("--count", counts);
	say_reached("migrate", filters);
	say_reached("--guard", guards);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	stderr = fopen("/dev/null", "w"); /* for usage(); glibc allows the assignment */
	return stderr ? atexit(report) : -1;
}

/* Instead of lib/cli/err.c: messages are formatted, but not shown. */
static void swallow(const char *fmt, va_list args)
{
	char *text;

	CHECK(vasprintf(&text, fmt, args) > 0);
	free(text);
}

void err_init(const char *program, bool verbose)
{
	(void)program;
	(void)verbose;
}

int err_status(int status, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	swallow(fmt, args);
	va_end(args);
	messages++;
	return status;
}

void remedy(const char *fmt, ...)
{
	va_list args;

	CHECK(messages); /* a remedy follows its message */
	va_start(args, fmt);
	swallow(fmt, args);
	va_end(args);
}

int err_bpf(int error, const char *what)
{
	(void)error;
	(void)what;
	abort();
}

bool err_is_verbose(void)
{
	return false;
}

/* Instead of lib/cli/privileges.c: no capability is required, and none is given up. */
void privileges_begin(const char *verb, const struct privileges *of_verb)
{
	CHECK(verb && of_verb);
}

void privileges_add_option(const char *option)
{
	CHECK(option);
}

int privileges_give_up(void)
{
	return EXIT_DONE;
}

const struct algorithm *recording_described(const char *file, size_t i)
{
	(void)file;
	(void)i;
	return NULL;
}

int privileges_take(void)
{
	return EXIT_DONE;
}

void privileges_print(const struct privileges *of_verb)
{
	CHECK(of_verb);
}

void privileges_print_option(const struct privileges *of_verb, const char *option)
{
	CHECK(of_verb && option);
}

/* Instead of the kernel: one instance, whatever name is asked for. */
int lock_instances(void)
{
	return EXIT_DONE;
}

int instance_get(const char *name, struct instance *inst)
{
	size_t len = strlen(name);

	CHECK(len && len < BBR_NAME_LEN && !strpbrk(name, " /%\n\\\""));
	*inst = (struct instance){ .algorithm = algorithm };
	return EXIT_DONE;
}

int profile_map_open(const struct instance *inst, struct profile_map *ps)
{
	(void)inst;
	memset(ps, 0, sizeof(*ps));
	return EXIT_DONE;
}

void profile_map_close(struct profile_map *ps)
{
	(void)ps;
}

int profile_get(const struct profile_map *ps, const char *name, int *index)
{
	(void)ps;
	*index = 0;
	if (!strcmp(name, BBR_PROFILE_DEFAULT))
		return EXIT_DONE;
	messages++;
	return EXIT_NOTHING;
}

int profile_check_known(const struct profile_map *ps, const struct param_set *p)
{
	(void)ps;
	(void)p;
	return EXIT_DONE;
}

void profile_read(const struct profile_map *ps, int index, struct param_set *p)
{
	(void)ps;
	CHECK(!index);
	*p = in_force;
}

static void check_ranges(const struct param_set *p)
{
	param_for_each (param, p->algorithm) {
		const __u32 *v = &p->value[param->first];

		for (__u32 k = 0; k < param->n; k++)
			CHECK(v[k] >= param->lo && v[k] <= param->hi);
	}
}

int profile_write(struct profile_map *ps, int index, const struct param_set *p)
{
	(void)ps;
	CHECK(!index);
	CHECK(!param_set_equal(p, &in_force));
	check_ranges(p);
	in_force = *p;
	changes++;
	return 0;
}

/* The verbs that handle BPF programs. */
static int run_load(void *options, int argc, char **argv)
{
	const struct options *opt = options;
	const struct algorithm *loaded;
	struct param_set p;
	int ret = algorithm_option(opt, &loaded);

	(void)argv;
	CHECK(argc == 1);
	if (ret)
		return ret;
	p = param_set_default(loaded);
	for (int i = 0; i < opt->set.n; i++) {
		ret = param_assign(opt->set.arg[i], &p);
		check_ranges(&p);
		if (ret)
			return ret;
	}
	loads++;
	return EXIT_DONE;
}

/* The command line chooses the sockets; the rest is up to the kernel. */
int cgroup_id(const char *option, const char *path, __u64 *id)
{
	CHECK(!strcmp(option, "--cgroup") && path);
	*id = 1;
	return EXIT_DONE;
}

static int run_migrate(void *options, int argc, char **argv)
{
	const struct options *opt = options;
	struct migrate_config config = {};
	int ret = socket_filter_parse(&opt->filter, &config);

	(void)argv;
	CHECK(argc == 1 && !opt->set.n && !opt->object && !opt->defaults);
	if (ret)
		return ret;
	for (int i = 0; i < 4; i++)
		CHECK(!(config.raddr[i] & ~config.rmask[i]));
	CHECK(!opt->filter.dport == !config.rport && !opt->filter.sport == !config.lport);
	filters++;
	return EXIT_DONE;
}

static int run_other(void *options, int argc, char **argv)
{
	const struct options *opt = options;

	(void)argv;
	CHECK(argc <= MAX_ARGS && !opt->set.n && !opt->object && !opt->defaults);
	return EXIT_DONE;
}

static int run_upgrade(void *options, int argc, char **argv)
{
	const struct options *opt = options;

	(void)argv;
	CHECK(argc <= 2 && !opt->set.n && !opt->defaults);
	return EXIT_DONE;
}

/* bbrctl, with these in the place of what would handle BPF programs. */
static const struct program *stand_in(void)
{
	static const struct {
		const char *verb;
		int (*run)(void *options, int argc, char **argv); /* NULL: its own */
	} instead[] = {
		{ "load", run_load },
		{ "migrate", run_migrate },
		{ "upgrade", run_upgrade },
		{ "show", NULL },
		{ "set", NULL },
		{ "reset", NULL },
	};
	static struct verb copies[64];
	static const struct verb *list[65];
	static struct program program;
	int n = 0;

	if (program.verbs)
		return &program;
	for (const struct verb *const *verb = bbrctl.verbs; *verb; verb++, n++) {
		CHECK(n < 64);
		copies[n] = **verb;
		list[n] = &copies[n];
		copies[n].run = run_other;
		for (size_t i = 0; i < sizeof(instead) / sizeof(instead[0]); i++)
			if (!strcmp((*verb)->name, instead[i].verb))
				copies[n].run = instead[i].run ? instead[i].run : (*verb)->run;
	}
	program = bbrctl;
	program.verbs = list;
	return &program;
}

/* Any values within their ranges. */
static void take_values(struct input in, struct param_set *p)
{
	*p = param_set_default(algorithm);
	param_for_each (param, algorithm) {
		__u32 *v = &p->value[param->first];

		for (__u32 k = 0; k < param->n; k++) {
			input_take(&in, &v[k], sizeof(v[k]));
			v[k] = param->lo + v[k] % (param->hi - param->lo + 1);
		}
	}
}

static void check_json_value(const struct param *param, struct json_object *o, __u32 value)
{
	if (param->unit == BBR_U_GAIN)
		CHECK(round(json_object_get_double(o) * BBR_UNIT) == value);
	else if (param->unit == BBR_U_KBITRATE)
		CHECK(json_object_get_int64(o) == value * 1000ll);
	else
		CHECK(json_object_get_int64(o) == value);
}

static struct json_object *param_json(const struct param *param, const struct param_set *p)
{
	struct json_object *o, *value;
	struct json j;
	char *text;
	size_t len;

	json_begin(&j, open_memstream(&text, &len));
	param_add_json(&j, "value", param, p);
	json_end(&j);
	fclose(j.to.out);
	o = json_tokener_parse(text);
	value = json_object_get(json_object_object_get(o, "value"));
	CHECK(value);
	json_object_put(o);
	free(text);
	return value;
}

/* Values are read back from their printed form. */
static void check_round_trip(const struct param *param, const struct param_set *p)
{
	const __u32 *v = &p->value[param->first];
	struct json_object *o = param_json(param, p);
	struct param_set back = param_set_default(algorithm);
	char text[PARAM_TEXT_LEN], assignment[2 * PARAM_TEXT_LEN];

	param_format(param, p, text, sizeof(text));
	snprintf(assignment, sizeof(assignment), "%s=%s", param->key, text);
	CHECK(param_assign(assignment, &back) == EXIT_DONE);
	CHECK(param_equal(param, p, &back));
	if (param->n == 1)
		check_json_value(param, o, v[0]);
	for (__u32 i = 0; param->n > 1 && i < param->n; i++)
		check_json_value(param, json_object_array_get_idx(o, i), v[i]);
	json_object_put(o);
}

/* The numbers next to the range are refused. */
static void check_limits(const struct param *param)
{
	const __u32 beyond[] = { param->lo - 1, param->hi + 1 };
	char text[UNITS_LEN], assignment[PARAM_TEXT_LEN];
	struct param_set p = param_set_default(algorithm);

	for (int i = param->lo ? 0 : 1; param->n == 1 && i < 2; i++) {
		param_format_value(param, beyond[i], text, sizeof(text));
		snprintf(assignment, sizeof(assignment), "%s=%s", param->key, text);
		CHECK(param_assign(assignment, &p) == EXIT_USAGE);
	}
}

static void check_values(struct input in)
{
	struct param_set p;
	__u64 any;

	take_values(in, &p);
	param_for_each (param, algorithm) {
		check_round_trip(param, &p);
		check_limits(param);
	}
	in_force = p;

	/* The map may hold values that are out of range. */
	input_take(&in, p.value, sizeof(p.value));
	param_set_clamp(&p);
	check_ranges(&p);

	/* 15 digits are kept. */
	for (int i = 0; i < 8 && in.left; i++) {
		char text[UNITS_LEN];
		double back;

		input_take(&in, &any, sizeof(any));
		any %= 1000000000000000;
		format_duration(text, sizeof(text), any);
		CHECK(parse_duration(text, &back) == PARSE_OK && round(back) == any);
		format_bitrate(text, sizeof(text), any);
		CHECK(parse_bitrate(text, &back) == PARSE_OK && round(back) == any);
	}
}

static void check_number(const char *s, enum parse_error (*parse)(const char *, double *))
{
	double value = -1;
	enum parse_error error = parse(s, &value);

	parsed[error]++;
	if (error == PARSE_OK)
		CHECK(isfinite(value) && value >= 0);
}

/*
 * An accepted assignment has one value for each place, and changes nothing else. A refused one
 * changes nothing.
 */
static void check_assignment(const char *s)
{
	const struct param_set before = param_set_default(algorithm);
	struct param_set p = before;
	const struct param *param;
	__u32 n = 1;

	if (param_assign(s, &p)) {
		CHECK(param_set_equal(&p, &before));
		return;
	}
	check_ranges(&p);
	param = param_find(algorithm, s, strcspn(s, "="));
	for (const char *c = s; *c; c++)
		n += *c == ',';
	CHECK(param && n == param->n);
	param_reset(param, &p);
	CHECK(param_set_equal(&p, &before));
	assignments++;
}

/* Either bbrmon takes the value, or there is a message. */
static bool is_taken(bool taken)
{
	CHECK(taken == !messages);
	messages = 0;
	return taken;
}

static void check_prefix(const char *s)
{
	__u32 addr[4], mask[4];
	bool ended = false;

	if (!is_taken(parse_prefix("--remote", s, addr, mask)))
		return;
	for (int i = 0; i < 128; i++) {
		__u32 bit = htonl(1u << (31 - i % 32));

		CHECK(!(ended && mask[i / 32] & bit)); /* ones, then zeros */
		ended = !(mask[i / 32] & bit);
		CHECK(!(ended && addr[i / 32] & bit));
	}
	prefixes++;
}

/* Arms that are equal keep each guard. */
static void check_guard(const char *s)
{
	struct guard guard;

	if (!is_taken(guard_parse(s, &guard)))
		return;
	CHECK(guard.metric && isfinite(guard.factor) && isfinite(guard.amount));
	CHECK(guard.factor > 0 && (guard.factor == 1 || guard.amount == 0));
	CHECK(guard.is_upper ? guard.factor >= 1 && guard.amount >= 0 :
			       guard.factor <= 1 && guard.amount <= 0);
	guards++;
}

static void check_options(const char *s)
{
	struct watch_request request = {};
	size_t size;
	__u64 count, ns;
	__u16 port;

	messages = 0;
	check_prefix(s);
	check_guard(s);
	if (is_taken(option_every("--every", s, &request))) {
		CHECK(request.sampling != BBR_SAMPLE_TIME || request.interval_ns);
		everies++;
	}
	if (is_taken(parse_port("--rport", s, &port))) {
		CHECK(port);
		ports++;
	}
	if (is_taken(option_ring_size("--ring", s, &size))) {
		CHECK(size >= 4096 && !(size & (size - 1)));
		rings++;
	}
	if (is_taken(option_count("--count", s, &count))) {
		CHECK(count);
		counts++;
	}
	if (is_taken(option_time("--duration", s, &ns)))
		CHECK(ns && ns <= LLONG_MAX);
}

static void check_output(const char *out, size_t len)
{
	struct json_tokener *tokener;
	struct json_object *o;

	if (!len)
		return;
	CHECK(strlen(out) == len && out[len - 1] == '\n');
	if (out[0] != '{') {
		texts++;
		return;
	}
	tokener = json_tokener_new();
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
	o = json_tokener_parse_ex(tokener, out, len - 1);
	CHECK(o && json_tokener_get_parse_end(tokener) == len - 1);
	json_object_put(o);
	json_tokener_free(tokener);
	jsons++;
}

static void run(int argc, char **argv)
{
	FILE *real = stdout;
	char *out;
	size_t len;
	int ret;

	stdout = open_memstream(&out, &len);
	CHECK(stdout);
	messages = 0;
	ret = program_run(stand_in(), argc, argv);
	fclose(stdout);
	stdout = real;

	switch (ret) {
	case EXIT_DONE:
		CHECK(!messages);
		break;
	case EXIT_USAGE:
		CHECK(messages <= 1 && !len); /* 0: no verb, for which the usage is enough */
		refusals++;
		break;
	case EXIT_NOTHING:
		CHECK(messages == 1 && !len);
		nothings++;
		break;
	default:
		CHECK(!"an exit status that only the kernel can be the reason for");
	}
	check_output(out, len);
	free(out);
}

/* Allocates each line separately, so that the sanitizer sees reads past its end. */
static int split(char *text, char **argv)
{
	int argc = 0;

	argv[argc++] = strdup("bbrctl");
	while (text && argc < MAX_ARGS)
		argv[argc++] = strdup(strsep(&text, "\n"));
	argv[argc] = NULL;
	return argc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *argv[MAX_ARGS + 1], *own[MAX_ARGS], *text = strndup((const char *)data, size);
	int argc;

	CHECK(text);
	algorithm = algorithms[size ? data[0] % n_algorithms : 0];
	argc = split(text, argv);
	memcpy(own, argv, argc * sizeof(*own)); /* getopt changes their order */
	check_values((struct input){ data, size });
	for (int i = 1; i < argc; i++) {
		check_number(argv[i], parse_number);
		check_number(argv[i], parse_duration);
		check_number(argv[i], parse_bitrate);
		check_number(argv[i], parse_size);
		check_assignment(argv[i]);
		check_options(argv[i]);
	}
	run(argc, argv);
	for (int i = 0; i < argc; i++)
		free(own[i]);
	free(text);
	return 0;
}
