/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parameters of an algorithm: its table (lib/descriptor.h), a set of values, and both as text.
 */
#ifndef LOADER_PARAM_H
#define LOADER_PARAM_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/units.h"
#include "descriptor.h"

struct json;

/* A value for each parameter, laid out as the algorithm's struct bbr_params. */
struct param_set {
	const struct algorithm *algorithm;
	__u32 value[PARAM_VALUES_MAX];
};

#define PARAM_TEXT_LEN 128 /* room for any value, list and range */

struct param_set param_set_default(const struct algorithm *algorithm);

/* Brings every value into its range, as the BPF program does when it reads them. */
void param_set_clamp(struct param_set *set);

/* Both sets belong to the same algorithm. */
bool param_set_equal(const struct param_set *a, const struct param_set *b);

/* How many parameters differ from their defaults. */
int param_set_changed(const struct param_set *set);

/* The parameter of a key (its first len characters), or NULL. */
const struct param *param_find(const struct algorithm *algorithm, const char *key, size_t len);

/*
 * Refuses arguments of a verb (argv[0]) that are no keys. NULL: the algorithm is not known yet; what
 * is a mistake for every one counts, so that the user learns of it before the kernel is asked.
 */
int param_check_keys(const struct algorithm *algorithm, int argc, char **argv);

/* Refuses assignments of which two have the same key: one value would be lost. */
int param_check_once(int n, const char *const *assignments);

/* The same, and refuses what no algorithm takes, while it is not known yet. */
int param_check_assignments_early(int n, char **assignments);

/* Loops over the parameters of an algorithm. */
#define param_for_each(param, of)                                                             \
	for (const struct param *param = (of)->params; param < (of)->params + (of)->n_params; \
	     param++)

bool param_equal(const struct param *param, const struct param_set *a, const struct param_set *b);
bool param_is_default(const struct param *param, const struct param_set *set);
void param_reset(const struct param *param, struct param_set *set);

/*
 * Takes "key=value" or, for lists, "key=v1,v2,..." into the set. On an error, prints the key, the
 * value and what is allowed, and leaves the set as it was.
 */
int param_assign(const char *assignment, struct param_set *set);

/*
 * Warns of what `set` has and `old` has not (NULL: none): each rate that is so low that a burst
 * takes seconds, and make_up_loss. whose: for the message.
 */
void param_warn(const char *whose, const struct param_set *old, const struct param_set *set);

/* As text that param_assign() takes: "2.887", "10s", "1.2mbit", "1.25,0.75,1". */
void param_format(const struct param *param, const struct param_set *set, char *buf, size_t size);
void param_format_value(const struct param *param, __u32 value, char *buf, size_t size);

/* "1 to 15.996" */
void param_format_range(const struct param *param, char *buf, size_t size);

/* How values of a unit are written. */
struct param_notation {
	const char
		*json; /* the unit of its numbers in JSON: "ratio" (a decimal), "us", "bps" ... */
	const char *hint; /* what may be written: "a whole number" */
	enum parse_error (*parse)(const char *s, double *value);
	void (*format)(char *buf, size_t size, __u64 value); /* NULL: as a number */
	double scale; /* what parse() and format() call 1 */
};

const struct param_notation *param_notation(const struct param *param);

/* Adds its value (or list of values), or its lowest and highest value, as numbers in that unit. */
void param_add_json(struct json *j, const char *key, const struct param *param,
		    const struct param_set *set);
void param_add_range_json(struct json *j, const char *key, const struct param *param);

/* Adds an object with the old and the new value of each parameter in which they differ. */
void param_add_changes_json(struct json *j, const char *key, const struct param_set *old,
			    const struct param_set *new);

#endif
