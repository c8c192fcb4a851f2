/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parameter table of bpf_bbr/params.h as data, and its values as text.
 */
#ifndef LOADER_PARAM_H
#define LOADER_PARAM_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf_bbr/params.h"

struct json_object;

struct param {
	const char *key;
	__u32 n; /* values; 1 unless it is a list */
	enum bbr_param_unit unit;
	__u32 lo, hi; /* of each value */
	size_t offset; /* in struct bbr_params */
	const char *help;
};

extern const struct param params[];
extern const size_t nr_params;
extern const struct bbr_params params_default;

#define PARAM_TEXT_LEN 128 /* room for any value, list and range */

/* The parameter of a key (its first len characters), or NULL. */
const struct param *param_find(const char *key, size_t len);

/*
 * Are the arguments of a verb (argv[0]) keys? EXIT_DONE, or EXIT_USAGE after printing the first that is not.
 */
int params_check_keys(int argc, char **argv);

/* Its n values. */
__u32 *param_values(const struct param *param, struct bbr_params *p);
const __u32 *param_values_const(const struct param *param, const struct bbr_params *p);

/*
 * Takes "key=value" or, for lists, "key=v1,v2,..." into p. On an error prints the key, the value and
 * what is allowed, and leaves p as it was. Returns EXIT_DONE or EXIT_USAGE.
 */
int param_assign(const char *assignment, struct bbr_params *p);

/* Brings every value into its range, as the BPF program does when it reads them. */
void params_clamp(struct bbr_params *p);

bool param_equal(const struct param *param, const struct bbr_params *a, const struct bbr_params *b);

/* How many differ from their defaults. */
int params_changed(const struct bbr_params *p);

/* As text that param_assign() takes: "2.887", "10s", "1.2mbit", "1.25,0.75,1". */
void param_format(const struct param *param, const struct bbr_params *p, char *buf, size_t size);
void param_format_value(const struct param *param, __u32 value, char *buf, size_t size);

/* "1 to 15.996" */
void param_format_range(const struct param *param, char *buf, size_t size);

/* The unit of its numbers in JSON: "ratio" (a decimal), "percent", "packets", "rounds", "us", "ms", "bps",
 * "count".
 */
const char *param_unit_name(const struct param *param);

/* Its value (or list of values), and its lowest and highest, as numbers of that unit. */
struct json_object *param_json(const struct param *param, const struct bbr_params *p);
struct json_object *param_range_json(const struct param *param);

#endif
