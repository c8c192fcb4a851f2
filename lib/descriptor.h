/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tools know about an algorithm: its descriptor, a file in the algorithm's folder
 * (bpf/bbr/descriptor.c). All code that shows, sorts, records, draws or tunes loops over its
 * tables.
 */
#ifndef LIB_DESCRIPTOR_H
#define LIB_DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf_bbr/abi.h"
#include "bpf_bbr/events.h"
#include "bpf_bbr/params.h"

/* A parameter: a line of the algorithm's params.h. */
struct param {
	const char *key;
	__u32 n; /* values; 1 unless it is a list */
	enum bbr_param_unit unit;
	__u32 lo, hi; /* of each value */
	__u32 first; /* index of its first value in struct bbr_params, where all are __u32 */
	const char *help;
};

#define PARAM_VALUES_MAX 256 /* of one algorithm */

/* How to read a number of an event. */
enum field_unit {
	FIELD_COUNT, /* as it is: packets, rounds, bytes; the key says which */
	FIELD_US, /* microseconds */
	FIELD_BW, /* packets per microsecond << 24; shown in bits per second, by the event's mss */
	FIELD_BYTE_RATE, /* bytes per second; shown in bits per second */
	FIELD_SAMPLE_RATE, /* rate sample: rs_delivered in rs_interval_us; in bits per second */
	FIELD_GAIN, /* 256 = 1.0 */
	FIELD_FLAG, /* true if any bit of `mask` is set */
	FIELD_NAME, /* an index of `names` */
};

/* The plot of a report in which a field is drawn. */
enum field_lane {
	LANE_NONE,
	LANE_RATE, /* bits per second */
	LANE_RTT, /* milliseconds */
	LANE_INFLIGHT, /* packets */
	LANE_STATE, /* a strip, for a FIELD_NAME */
	LANE_LOSSES, /* packets since the flow's start */
	LANES,
};

/* `text` is shown only if the event's field `key` has a value of at least `least`. */
struct field_condition {
	const char *key;
	__u64 least;
};

/*
 * A state of a FIELD_NAME that means that something was found, such as a policer. Reports and
 * metrics count how often a connection gets into it, and draw it red.
 */
struct field_finding {
	const char *state; /* one of the field's names */
	const char *reason; /* of a mode: the connection was in this state until now; NULL: none */
	const char *key; /* of the count in a report, for people, too: "policers" */
	const char *metric, *help; /* the count as a metric, without "_total" */
};

#define FINDINGS_MAX 4 /* of one algorithm; more are not counted */

/* A column of bbrmon top's table. */
struct field_column {
	const char *title;
	const char *help; /* for the screen that explains the columns */
	/* Of a FIELD_NAME: what a cell shows for each of `names`; NULL: the name. */
	const char *const *cells;
};

/* A value of struct bbr_event. */
struct field {
	const char *key; /* of JSON, with its unit; stable */
	__u16 offset; /* in struct bbr_event */
	__u8 width; /* bytes: 1, 2, 4 or 8; unsigned */
	__u8 unit; /* enum field_unit */
	__u64 mask; /* FIELD_FLAG */
	bool has_unknown; /* is there a value that means "not measured"? JSON shows it as null */
	__u64 unknown;
	__u16 needs; /* enum bbr_event_flag: unknown in an event that has none; 0: always known */
	const char *const *names; /* FIELD_NAME */
	__u8 n_names;

	/*
	 * How a line of text shows it; NULL: not at all. "%" stands for the value. A flag that is
	 * not set shows nothing. Fields with a lower `order` come first.
	 */
	const char *text;
	__u8 order;
	struct field_condition text_if; /* key NULL: always */

	/*
	 * How the page of a connection in bbrmon top shows it: "max_bw %". Text that begins with a
	 * blank stays with the text before it. NULL: as `text`. page_order 0: just before the
	 * recovery state.
	 */
	const char *page;
	__u8 page_order;
	/* The table there has a column for it, called `key`; NULL: it has none. */
	const struct field_column *column;

	/*
	 * enum field_lane. bbrmon top --json has each field that is in one, and bbrmon export has
	 * metrics of an algorithm's own ones (field_is_own()) that are numbers.
	 */
	__u8 lane;
	const char *curve; /* its name in that plot; NULL: `key` */
	const char *calm; /* LANE_STATE: the name of the pale state; NULL: the first */
	const struct field_finding *finding; /* NULL: none of its states is one */
};

/* Where that page shows the values that every event has. */
enum page_order {
	PAGE_RATE = 10, /* delivery rate */
	PAGE_PACING = 20,
	PAGE_RTT = 30,
	PAGE_WINDOW = 40, /* inflight, BDP, cwnd */
	PAGE_SSTHRESH = 50,
	PAGE_RECOVERY = 60,
	PAGE_APP_LIMITED = 70,
	PAGE_COUNTS = 80, /* lost, delivered, bytes */
	PAGE_END = 90,
};

/* Where text shows the values that every event has. An algorithm's fields go between them. */
enum text_order {
	TEXT_SAMPLE = 0, /* RTT, delivery rate, losses of this ACK */
	TEXT_WINDOW = 10, /* inflight, cwnd, pacing rate */
	TEXT_MODEL = 20, /* the algorithm's */
	TEXT_COUNTS = 30, /* delivered, lost, congestion state */
	TEXT_REST = 40, /* the algorithm's */
};

struct algorithm_mode {
	const char *name;
	const char *const *phases; /* names, shown as MODE/PHASE; NULL: it has none */
	__u8 n_phases;
	char mark; /* in a strip, where one character stands for a moment; 0: its first letter */
	__u8 rarity; /* of several modes in one moment, the highest rarity is shown */
};

/* The phases between which a reason leads; NULL: none, or more than one is possible. */
struct algorithm_step {
	const char *from, *to;
};

struct algorithm {
	const char *name; /* as in struct bbr_abi: "bbr" */
	const char *instance; /* the name that an instance gets if none is given */
	const char *title; /* for people: "BBR version 1" */
	/*
	 * A member that struct bbr has only in kernels whose own bbr is this algorithm; NULL: there
	 * are no such kernels.
	 */
	const char *kernel_member;

	const struct param *params;
	__u32 n_params;
	const __u32 *defaults; /* the values of all parameters, in the order of the table */
	__u32 params_size; /* their size in bytes */

	const struct algorithm_mode *modes;
	__u8 n_modes;
	const char *const *reasons; /* why a mode or phase was entered */
	const struct algorithm_step *steps; /* one for each reason; NULL: they tell no phase */
	__u8 n_reasons;

	/* The model: its own fields and those that all algorithms share, in the order of JSON. */
	const struct field *fields;
	__u16 n_fields;
	__u16 tail_size; /* bytes of its own part of an event */
};

#define ALGORITHM_NAMES_LEN 256 /* room for the names of all */

/* All algorithms that were compiled in. The first is the default. */
extern const struct algorithm *const algorithms[];
extern const size_t n_algorithms;

/* Finds an algorithm by its name; NULL: these tools do not know it. */
const struct algorithm *algorithm_find(const char *name);

/* Writes all names, with a text between each two: "bbr or bbr3". */
void algorithm_names(char *buf, size_t size, const char *between);

/* Its index in algorithms[]. */
size_t algorithm_index(const struct algorithm *algorithm);

/* Can a congestion control, and a file, have this name? */
bool instance_name_is_valid(const char *name);

/* An instance that negotiates ECN is named so that it can run beside the other. */
#define INSTANCE_ECN_SUFFIX "_ecn"

/*
 * The algorithm whose instances get this name if no other is given; NULL: there is none. An
 * instance of another algorithm must not have the name: connections choose by it, and scripts know
 * it.
 */
const struct algorithm *instance_name_owner(const char *name);

/* For lines of the table of fields. TAIL_AT's member is one of the algorithm's struct bbr_tail. */
#define FIELD_AT(member)                              \
	.offset = offsetof(struct bbr_event, member), \
	.width = sizeof(((struct bbr_event *)0)->member)
#define TAIL_AT(member)                                               \
	.offset = BBR_EVENT_BASE + offsetof(struct bbr_tail, member), \
	.width = sizeof(((struct bbr_tail *)0)->member)

#define NAMES(list) .names = list, .n_names = sizeof(list) / sizeof((list)[0])

#endif
