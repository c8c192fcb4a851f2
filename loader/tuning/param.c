// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/err.h"
#include "cli/text.h"
#include "tuning/param.h"
#include "cli/json.h"
#include "cli/units.h"

struct param_set param_set_default(const struct algorithm *algorithm)
{
	struct param_set set = { .algorithm = algorithm };

	memcpy(set.value, algorithm->defaults, algorithm->params_size);
	return set;
}

void param_set_clamp(struct param_set *set)
{
	param_for_each (param, set->algorithm) {
		__u32 *v = &set->value[param->first];

		for (__u32 k = 0; k < param->n; k++) {
			if (v[k] < param->lo)
				v[k] = param->lo;
			if (v[k] > param->hi)
				v[k] = param->hi;
		}
	}
}

bool param_set_equal(const struct param_set *a, const struct param_set *b)
{
	return !memcmp(a->value, b->value, a->algorithm->params_size);
}

int param_set_changed(const struct param_set *set)
{
	int changed = 0;

	param_for_each (param, set->algorithm)
		changed += !param_is_default(param, set);
	return changed;
}

const struct param *param_find(const struct algorithm *algorithm, const char *key, size_t len)
{
	param_for_each (param, algorithm)
		if (strlen(param->key) == len && !strncmp(param->key, key, len))
			return param;
	return NULL;
}

/* What is set per route, and what a congestion control cannot set. */
static const struct {
	const char *key, *why, *remedy;
} not_ours[] = {
	{ "init_rwnd", "the handshake announces this window before the congestion control begins",
	  "the route's initrwnd lowers it, net.ipv4.tcp_rmem raises it" },
	{ "window_clamp", "the kernel lifts it when it enlarges the receive buffer",
	  "SO_RCVBUF, or the highest value of net.ipv4.tcp_rmem, bounds the window" },
};

static const char *nearest_key(const struct algorithm *algorithm, const char *key, size_t len)
{
	char *word AUTO_FREE = mem_format("%.*s", (int)len, key);
	const char *near = NULL;
	size_t best = 0;

	param_for_each (param, algorithm)
		if (text_is_nearer(word, param->key, &best))
			near = param->key;
	return near;
}

/* Says why there is no parameter of this key. where: the verb, or the assignment. */
static int refuse_key(const struct algorithm *algorithm, const char *where, const char *key,
		      size_t len)
{
	const char *near;

	for (size_t i = 0; i < sizeof(not_ours) / sizeof(not_ours[0]); i++) {
		if (strlen(not_ours[i].key) != len || strncmp(not_ours[i].key, key, len))
			continue;
		return err_usage("%s: no parameter %.*s: %s\n"
				 "%s",
				 where, (int)len, key, not_ours[i].why, not_ours[i].remedy);
	}
	err("%s: no parameter is called %.*s", where, (int)len, key);
	near = nearest_key(algorithm, key, len);
	if (near)
		remedy("did you mean %s?", near);
	if (algorithm == algorithms[0])
		remedy("bbrctl show --defaults lists all keys");
	else
		remedy("bbrctl show --defaults --algorithm %s lists all keys", algorithm->name);
	return EXIT_USAGE;
}

/*
 * The only algorithm that has a parameter with this key; the first algorithm if none has it; NULL
 * if several have.
 */
static const struct algorithm *only_one_with(const char *key, size_t len)
{
	const struct algorithm *found = NULL;

	for (size_t i = 0; i < n_algorithms; i++) {
		if (!param_find(algorithms[i], key, len))
			continue;
		if (found)
			return NULL;
		found = algorithms[i];
	}
	return found ? found : algorithms[0];
}

int param_check_keys(const struct algorithm *known, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		size_t len = strlen(argv[i]);
		const struct algorithm *algorithm = known ? known : only_one_with(argv[i], len);

		if (algorithm && !param_find(algorithm, argv[i], len))
			return refuse_key(algorithm, argv[0], argv[i], len);
	}
	return EXIT_DONE;
}

int param_check_once(int n, const char *const *assignments)
{
	for (int i = 1; i < n; i++) {
		size_t len = strcspn(assignments[i], "=");

		for (int k = 0; k < i; k++)
			if (strcspn(assignments[k], "=") == len &&
			    !strncmp(assignments[k], assignments[i], len))
				return err_usage("%.*s: appears twice", (int)len, assignments[i]);
	}
	return EXIT_DONE;
}

int param_check_assignments_early(int n, char **assignments)
{
	int ret = param_check_once(n, (const char *const *)assignments);

	for (int i = 0; !ret && i < n; i++) {
		const struct algorithm *algorithm =
			only_one_with(assignments[i], strcspn(assignments[i], "="));
		struct param_set scratch;

		if (!algorithm)
			continue;
		scratch = param_set_default(algorithm);
		ret = param_assign(assignments[i], &scratch);
	}
	return ret;
}

bool param_equal(const struct param *param, const struct param_set *a, const struct param_set *b)
{
	return !memcmp(&a->value[param->first], &b->value[param->first],
		       param->n * sizeof(*a->value));
}

bool param_is_default(const struct param *param, const struct param_set *set)
{
	return !memcmp(&set->value[param->first], &set->algorithm->defaults[param->first],
		       param->n * sizeof(*set->value));
}

void param_reset(const struct param *param, struct param_set *set)
{
	memcpy(&set->value[param->first], &set->algorithm->defaults[param->first],
	       param->n * sizeof(*set->value));
}

/* Parses one value into the table's unit, not yet rounded. */
static enum parse_error parse_value(const struct param *param, const char *s, double *value)
{
	const struct param_notation *n = param_notation(param);
	char number[PARAM_TEXT_LEN];
	enum parse_error error;
	size_t len = strlen(s);

	*value = 0;
	if (!strcmp(s, "0")) /* the same in any unit */
		return PARSE_OK;
	if (param->unit == BBR_U_PERCENT) {
		bool has_unit = len && s[len - 1] == '%';

		snprintf(number, sizeof(number), "%.*s", (int)(len - has_unit), s);
		error = parse_number(number, value);
		return error == PARSE_TAKES_NO_UNIT || (!error && !has_unit) ? PARSE_NO_PERCENT :
									       error;
	}
	error = n->parse(s, value);
	*value /= n->scale;
	return error;
}

static int refuse(const struct param *param, const char *value, const char *why)
{
	char range[PARAM_TEXT_LEN];

	param_format_range(param, range, sizeof(range));
	err("%s=%s: %s", param->key, value, why);
	if (param->n > 1)
		remedy("%s takes %u values, each %s, from %s", param->key, param->n,
		       param_notation(param)->hint, range);
	else
		remedy("%s takes %s, from %s", param->key, param_notation(param)->hint, range);
	return EXIT_USAGE;
}

/* Parses one value into *out. `all` is all that the user wrote, for the message. */
static int assign_value(const struct param *param, const char *all, const char *s, __u32 *out)
{
	enum parse_error error;
	double value, rounded;

	error = parse_value(param, s, &value);
	if (error)
		return refuse(param, all, parse_error_text(error));
	rounded = round(value);
	/* Gains are rounded to the nearest 256th, which is how 2.885 becomes mainline's 739. */
	if (param->unit != BBR_U_GAIN && fabs(value - rounded) > 1e-6)
		return refuse(param, all, "more precise than the parameter allows");
	if (rounded < param->lo || rounded > param->hi)
		return refuse(param, all, "out of range");
	*out = rounded;
	return EXIT_DONE;
}

static int assign_list(const struct param *param, const char *all, char *list, __u32 *out)
{
	__u32 n = 1;
	char *s;

	for (s = list; *s; s++)
		n += *s == ',';
	if (n != param->n)
		return refuse(param, all, n > param->n ? "too many values" : "too few values");
	for (n = 0; n < param->n; n++)
		if (assign_value(param, all, strsep(&list, ","), &out[n]))
			return EXIT_USAGE;
	return EXIT_DONE;
}

int param_assign(const char *assignment, struct param_set *set)
{
	const char *eq = strchr(assignment, '=');
	const struct param *param;
	__u32 values[PARAM_VALUES_MAX];
	char *list AUTO_FREE = NULL;
	int ret;

	if (!eq || eq == assignment)
		return err_usage("%s: expected KEY=VALUE, without blanks", assignment);
	param = param_find(set->algorithm, assignment, eq - assignment);
	if (!param)
		return refuse_key(set->algorithm, assignment, assignment, eq - assignment);
	list = mem_copy(eq + 1);
	ret = assign_list(param, eq + 1, list, values);
	if (!ret)
		memcpy(&set->value[param->first], values, param->n * sizeof(*values));
	return ret;
}

static void add_value(struct json *j, const char *key, const struct param *param, __u32 value)
{
	char text[PARAM_TEXT_LEN];

	if (param->unit == BBR_U_KBITRATE) {
		json_add_int(j, key, value * 1000ull);
	} else if (param->unit != BBR_U_GAIN) {
		json_add_int(j, key, value);
	} else {
		param_format_value(param, value, text, sizeof(text));
		json_add_raw(j, key, text);
	}
}

void param_add_json(struct json *j, const char *key, const struct param *param,
		    const struct param_set *set)
{
	const __u32 *v = &set->value[param->first];

	if (param->n == 1) {
		add_value(j, key, param, *v);
		return;
	}
	json_open_array(j, key);
	for (__u32 i = 0; i < param->n; i++)
		add_value(j, NULL, param, v[i]);
	json_close(j);
}

void param_add_changes_json(struct json *j, const char *key, const struct param_set *old,
			    const struct param_set *new)
{
	json_open_object(j, key);
	param_for_each (param, new->algorithm) {
		if (param_equal(param, old, new))
			continue;
		json_open_object(j, param->key);
		param_add_json(j, "old", param, old);
		param_add_json(j, "new", param, new);
		json_add_string(j, "unit", param_notation(param)->json);
		json_close(j);
	}
	json_close(j);
}

void param_add_range_json(struct json *j, const char *key, const struct param *param)
{
	json_open_array(j, key);
	add_value(j, NULL, param, param->lo);
	add_value(j, NULL, param, param->hi);
	json_close(j);
}

#define SLOW_KBIT 100
#define BURST_BITS (8 * 65536)

/* The highest of its values; -1 if the algorithm has no such parameter. */
static __s64 highest(const struct param_set *set, const char *key)
{
	const struct param *param = param_find(set->algorithm, key, strlen(key));
	__s64 most = -1;

	for (__u32 i = 0; param && i < param->n; i++)
		if (set->value[param->first + i] > most)
			most = set->value[param->first + i];
	return most;
}

/* True if no gain makes up for the margin, so that each cycle measures less than the one before. */
static bool never_probes(const struct param_set *set)
{
	__s64 margin = highest(set, "pacing_margin"), gain = highest(set, "probe_bw_gains");

	return margin >= 0 && gain >= 0 && highest(set, "pacing_rate") <= 0 &&
	       gain * (100 - margin) < BBR_UNIT * 100;
}

void param_warn(const char *whose, const struct param_set *old, const struct param_set *set)
{
	char text[PARAM_TEXT_LEN];

	if (never_probes(set) && !(old && never_probes(old)))
		err("%s: no gain of probe_bw_gains exceeds 1 after pacing_margin: the estimate of "
		    "the bandwidth falls from cycle to cycle, to some packets per RTT",
		    whose);
	param_for_each (param, set->algorithm) {
		__u32 value = set->value[param->first];

		if (!strcmp(param->key, "make_up_loss") && value &&
		    !(old && param_equal(param, old, set)))
			err("%s: make_up_loss: sends more the more is lost; whatever shares the "
			    "path loses as much",
			    whose);
		/* A rate that pacing cannot exceed. The least rate is none. */
		if (param->unit != BBR_U_KBITRATE || !strncmp(param->key, "min_", 4) || !value ||
		    value >= SLOW_KBIT || (old && param_equal(param, old, set)))
			continue;
		param_format(param, set, text, sizeof(text));
		err("%s: %s=%s: packets that are already scheduled at this rate keep an open "
		    "connection silent, even after a change: 64 KB take %u s",
		    whose, param->key, text, BURST_BITS / (value * 1000));
	}
}
