// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>

#include "address.h"
#include "cli/err.h"
#include "cli/text.h"
#include "cli/privileges.h"
#include "study.h"

#define FORMAT "bpf-bbr experiment"
#define COLUMNS_MAX 128 /* of a file, known or not */
#define FILE_VALUE_LEN 96
#define MAX_LINE 65536 /* more than COLUMNS_MAX values */
#define MAX_ERRNO 4095
#define NO_ARM "there is no such arm"

/* ---- the names in a file: columns of rows, and keys of the experiment */

enum file_kind {
	FILE_NUMBER,
	FILE_PORT, /* 2 bytes in network byte order; nothing else has 2 bytes */
	FILE_ADDRESS,
	FILE_END, /* enum experiment_end as a word */
	FILE_DESIGN,
	FILE_UNIT,
	FILE_PREFIX4, /* a length without the 96 bits before an IPv4 address */
	FILE_TEXT, /* an array of chars */
};

struct file_field {
	const char *name; /* NULL ends a table */
	enum file_kind kind;
	size_t at, size;
	bool may_be_unknown; /* 0 is unknown, and written as nothing */
	bool is_counter, rises; /* rises: never below what it was before */
	__u64 least, most; /* of a number as it is in the file; most 0: whatever its bytes hold */
};

#define FIRST_COUNTER "until_ns" /* the others follow, in a file as here */
#define BLOCKS_MAX (1 << 20) /* the analysis has a place for each */

#define FIELD(of, key, is, member, ...)             \
	{ .name = key,                              \
	  .kind = is,                               \
	  .at = offsetof(struct of, member),        \
	  .size = sizeof(((struct of *)0)->member), \
	  __VA_ARGS__ }
#define ROW(key, kind, member, ...) FIELD(row, key, kind, member, __VA_ARGS__)
#define KEY(key, kind, member, ...) FIELD(study, key, kind, member, __VA_ARGS__)
#define COUNTER(key, member, ...) KEY(key, FILE_NUMBER, member, .is_counter = true, __VA_ARGS__)
#define RANGE(from, to) .least = from, .most = to
#define MAYBE .may_be_unknown = true
#define RISES .rises = true

/* clang-format off */
static const struct file_field columns[] = { /* of struct row */
	ROW("number", FILE_NUMBER, number),
	ROW("connection", FILE_NUMBER, connection),
	ROW("arm", FILE_NUMBER, arm, RANGE(0, EXPERIMENT_ARMS - 1)),
	ROW("end", FILE_END, end),
	ROW("block", FILE_NUMBER, block, RANGE(0, BLOCKS_MAX)),
	ROW("begin_ns", FILE_NUMBER, begin_ns),
	ROW("last_ns", FILE_NUMBER, last_ns),
	ROW("continued", FILE_NUMBER, continued, RANGE(0, 1)),
	ROW("netns", FILE_NUMBER, netns),
	ROW("remote", FILE_ADDRESS, raddr),
	ROW("remote_port", FILE_PORT, rport),
	ROW("local", FILE_ADDRESS, laddr),
	ROW("local_port", FILE_PORT, lport),
	ROW("acked_bytes", FILE_NUMBER, acked),
	ROW("sent_bytes", FILE_NUMBER, sent),
	ROW("retransmitted_bytes", FILE_NUMBER, retransmitted),
	ROW("timeouts", FILE_NUMBER, timeouts),
	ROW("busy_us", FILE_NUMBER, busy_us),
	ROW("rwnd_limited_us", FILE_NUMBER, rwnd_us),
	ROW("sndbuf_limited_us", FILE_NUMBER, sndbuf_us),
	ROW("rtts", FILE_NUMBER, rtts),
	ROW("rtt_min_us", FILE_NUMBER, rtt_min_us, MAYBE),
	ROW("rtt_mean_us", FILE_NUMBER, rtt_mean_us, MAYBE),
	ROW("rtt_above_p50_us", FILE_NUMBER, rtt_above_p50_us),
	ROW("rtt_above_p95_us", FILE_NUMBER, rtt_above_p95_us),
	ROW("first_16k_us", FILE_NUMBER, first_us[0], MAYBE),
	ROW("first_64k_us", FILE_NUMBER, first_us[1], MAYBE),
	ROW("first_1m_us", FILE_NUMBER, first_us[2], MAYBE),
	{},
};

#define KEY_ARM(i)                                                                                 \
	KEY("arm" #i, FILE_TEXT, experiment.arm[i].label),                                         \
	KEY("arm" #i "_cc", FILE_TEXT, experiment.arm[i].cc),                                      \
	KEY("arm" #i "_profile", FILE_TEXT, experiment.arm[i].profile_name)
#define KEY_GUARD(i) KEY("guard" #i, FILE_TEXT, experiment.guard[i])
#define KEY_ASSIGNED(i)                                                                            \
	COUNTER("assigned" #i, control.assigned[i], RISES),                                        \
	COUNTER("refused" #i, control.refused[i], RISES),                                          \
	COUNTER("refused" #i "_errno", control.refused_error[i], RANGE(0, MAX_ERRNO))

static const struct file_field keys[] = { /* of struct study */
	KEY("name", FILE_TEXT, experiment.name),
	KEY("design", FILE_DESIGN, experiment.design),
	KEY("unit", FILE_UNIT, experiment.unit),
	KEY("arms", FILE_NUMBER, experiment.arms, RANGE(2, EXPERIMENT_ARMS)),
	KEY_ARM(0), KEY_ARM(1), KEY_ARM(2), KEY_ARM(3),
	KEY("seed", FILE_NUMBER, experiment.seed),
	KEY("prefix4", FILE_PREFIX4, experiment.prefix4, RANGE(1, 32)),
	KEY("prefix6", FILE_NUMBER, experiment.prefix6, RANGE(1, 128)),
	KEY("started_realtime_ns", FILE_NUMBER, experiment.started_realtime),
	KEY("block_ns", FILE_NUMBER, experiment.block),
	KEY("washout_ns", FILE_NUMBER, experiment.washout),
	KEY("scope_remote", FILE_ADDRESS, experiment.scope.dst),
	KEY("scope_remote_bits", FILE_NUMBER, experiment.scope.dst_len, RANGE(0, 128)),
	KEY("scope_remote_port", FILE_PORT, experiment.scope.dport),
	KEY("scope_local_port", FILE_PORT, experiment.scope.sport),
	KEY("scope_mark", FILE_NUMBER, experiment.scope.mark),
	KEY("scope_has_mark", FILE_NUMBER, experiment.scope.has_mark, RANGE(0, 1)),
	KEY("scope_netns", FILE_TEXT, experiment.scope.netns_name),
	KEY_GUARD(0), KEY_GUARD(1), KEY_GUARD(2), KEY_GUARD(3),
	KEY_GUARD(4), KEY_GUARD(5), KEY_GUARD(6), KEY_GUARD(7),
	COUNTER(FIRST_COUNTER, until_ns, RISES),
	KEY_ASSIGNED(0), KEY_ASSIGNED(1), KEY_ASSIGNED(2), KEY_ASSIGNED(3),
	COUNTER("chosen", control.chosen, RISES),
	COUNTER("no_memory", control.no_memory, RISES),
	COUNTER("moved", control.moved, RISES),
	COUNTER("lost", control.lost, RISES),
	COUNTER("outcomes", control.outcomes, RISES),
	COUNTER("overwritten", overwritten, RISES),
	COUNTER("open", open),
	{},
};
/* clang-format on */

static const char *const ends[EXPERIMENT_ENDS] = {
	[EXPERIMENT_OPEN] = "open",	  [EXPERIMENT_CLOSED] = "closed",
	[EXPERIMENT_RESET] = "reset",	  [EXPERIMENT_TIMED_OUT] = "timed_out",
	[EXPERIMENT_ABORTED] = "aborted", [EXPERIMENT_SEAM] = "seam",
};
static const char *const units[] = { "connection", "prefix" };

#define IPV4_BITS 96

/* Of the kinds that are words. */
static const struct words {
	const char *const *word;
	__u32 n;
} words[] = {
	[FILE_END] = { ends, EXPERIMENT_ENDS },
	[FILE_DESIGN] = { experiment_designs, EXPERIMENT_DESIGNS },
	[FILE_UNIT] = { units, 2 },
	[FILE_TEXT] = { NULL, 0 },
};

/* The number of a field of a row, or of a study. */
static __u64 get(const struct file_field *f, const void *in)
{
	const char *at = (const char *)in + f->at;

	switch (f->size) {
	case 1:
		return *(const __u8 *)at;
	case 2:
		return ntohs(*(const __u16 *)at);
	case 8:
		return *(const __u64 *)at;
	default:
		return *(const __u32 *)at - (f->kind == FILE_PREFIX4 ? IPV4_BITS : 0);
	}
}

static void set(const struct file_field *f, char *at, __u64 value)
{
	switch (f->size) {
	case 1:
		*(__u8 *)at = value;
		break;
	case 2:
		*(__u16 *)at = htons(value);
		break;
	case 8:
		*(__u64 *)at = value;
		break;
	default:
		*(__u32 *)at = value + (f->kind == FILE_PREFIX4 ? IPV4_BITS : 0);
	}
}

static void format_value(char buf[FILE_VALUE_LEN], const struct file_field *f, const void *in)
{
	const char *at = (const char *)in + f->at;
	const struct words *w = &words[f->kind];
	__u64 value;

	buf[0] = 0;
	if (f->kind == FILE_ADDRESS) {
		format_address(buf, FILE_VALUE_LEN, (const __u32 *)at);
		return;
	}
	if (f->kind == FILE_TEXT) {
		snprintf(buf, FILE_VALUE_LEN, "%.*s", (int)f->size, at);
		return;
	}
	value = get(f, in);
	if (w->n)
		snprintf(buf, FILE_VALUE_LEN, "%s", value < w->n ? w->word[value] : "unknown");
	else if (value || !f->may_be_unknown)
		snprintf(buf, FILE_VALUE_LEN, "%llu", value);
}

static bool parse_address(const char *text, __u32 addr[4])
{
	const __u32 v4[4] = { 0, 0, htonl(0xffff), 0 };

	if (inet_pton(AF_INET6, text, addr) == 1)
		return true;
	memcpy(addr, v4, sizeof(v4));
	return inet_pton(AF_INET, text, &addr[3]) == 1;
}

static bool parse_word(const char *text, const struct words *w, __u64 *value)
{
	for (__u32 i = 0; i < w->n; i++)
		if (!strcmp(w->word[i], text)) {
			*value = i;
			return true;
		}
	return false;
}

static bool parse_digits(const char *text, const struct file_field *f, __u64 *value)
{
	__u64 most = f->most ? f->most : ~0ull >> (64 - 8 * f->size);
	char *end;

	if (!*text || strspn(text, "0123456789") != strlen(text))
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return !errno && *value >= f->least && *value <= most;
}

/* Allows only printable ASCII: the text reaches a terminal. */
static bool parse_text(const char *text, char *to, size_t size)
{
	if (strlen(text) >= size)
		return false;
	for (const char *c = text; *c; c++)
		if (*c < ' ' || *c > '~')
			return false;
	strcpy(to, text);
	return true;
}

/* False: it is not such a value. */
static bool parse_value(const char *text, const struct file_field *f, void *in)
{
	char *at = (char *)in + f->at;
	const struct words *w = &words[f->kind];
	__u64 value = 0;

	if (f->kind == FILE_ADDRESS)
		return parse_address(text, (__u32 *)at);
	if (f->kind == FILE_TEXT)
		return parse_text(text, at, f->size);
	if (w->n ? !parse_word(text, w, &value) :
		   (*text || !f->may_be_unknown) && !parse_digits(text, f, &value))
		return false;
	set(f, at, value);
	return true;
}

/* ---- writing */

static void write_keys(FILE *out, const struct study *s, bool counters)
{
	char value[FILE_VALUE_LEN];

	for (const struct file_field *f = keys; f->name; f++) {
		if (f->is_counter != counters)
			continue;
		format_value(value, f, s);
		/* Names come from a map. A program for tables takes "=" in a cell for code. */
		for (char *c = value; (c = strpbrk(c, ",;\t\r\n"));)
			*c = '?';
		if (*value)
			fprintf(out, "# %s=%s\n", f->name, value);
	}
}

void file_write_head(FILE *out, const struct study *s)
{
	fprintf(out, "# format=%s\n", FORMAT);
	write_keys(out, s, false);
	for (const struct file_field *f = columns; f->name; f++)
		fprintf(out, "%s%s", f == columns ? "" : ",", f->name);
	fputc('\n', out);
}

void file_write_rows(FILE *out, const struct study *s, size_t from)
{
	char value[FILE_VALUE_LEN];

	for (size_t i = from; i < s->rows.n; i++) {
		for (const struct file_field *f = columns; f->name; f++) {
			format_value(value, f, &s->rows.at[i]);
			fprintf(out, "%s%s", f == columns ? "" : ",", value);
		}
		fputc('\n', out);
	}
}

void file_write_counters(FILE *out, const struct study *s)
{
	write_keys(out, s, true);
}

/* ---- reading */

#define N(table) (sizeof(table) / sizeof((table)[0]))

struct reading {
	const char *path;
	unsigned long long line;
	const struct file_field *column[COLUMNS_MAX]; /* NULL: not known */
	int columns; /* 0: the line with their names is still to come */
	/* The lines where they are; 0: nowhere so far, or since the counters began anew. */
	unsigned long long format, key[N(keys)];
	struct study *study;
	char text[MAX_LINE]; /* of the line */
};

static int refuse(const struct reading *r, const char *what, const char *which)
{
	return err_usage("%s: line %llu: %s%s%s", r->path, r->line, what, which ? ": " : "",
			 which ? which : "");
}

static int refuse_file(const struct reading *r)
{
	return err_usage("%s: bbrmon experiment -w did not write this file", r->path);
}

static const struct file_field *find(const struct file_field *f, const char *name)
{
	while (f->name && strcmp(f->name, name))
		f++;
	return f->name ? f : NULL;
}

/* True if the name has the number of an arm that the experiment does not have. */
static bool is_of_no_arm(const struct reading *r, const char *name)
{
	const char *arm = strpbrk(name, "0123456789");

	return arm && strtoul(arm, NULL, 10) >= r->study->experiment.arms;
}

/* The rows were checked against the keys above them, so only counters may come after them. */
static int note_line(struct reading *r, unsigned long long *line, const char *key, bool is_counter)
{
	if (r->columns && !is_counter)
		return refuse(r, "must be above the names of the columns", key);
	if (*line)
		return refuse(r, "appears twice", key);
	*line = r->line;
	return EXIT_DONE;
}

static int read_key(struct reading *r, char *key)
{
	const struct file_field *f;
	char *value = strchr(key, '=');
	unsigned long long *line;
	__u64 before;

	if (!value)
		return EXIT_DONE; /* a comment */
	*value++ = 0;
	if (!strcmp(key, "format")) {
		if (note_line(r, &r->format, key, false))
			return EXIT_USAGE;
		return strcmp(value, FORMAT) ? refuse_file(r) : EXIT_DONE;
	}
	f = find(keys, key);
	if (!f)
		return EXIT_DONE; /* of a later version */
	line = &r->key[f - keys];
	/* If a file has several counters, the last ones hold: each time all begin anew. */
	if (!strcmp(key, FIRST_COUNTER))
		memset(line, 0, sizeof(r->key) - (f - keys) * sizeof(*line));
	if (note_line(r, line, key, f->is_counter))
		return EXIT_USAGE;
	before = f->rises ? get(f, r->study) : 0;
	if (!parse_value(value, f, r->study))
		return refuse(r, "a wrong value", key);
	if (f->rises && get(f, r->study) < before)
		return refuse(r, "less than further above", key);
	/* Above the names of the columns, not all keys are known. */
	if (r->columns && get(f, r->study) && is_of_no_arm(r, key))
		return refuse(r, NO_ARM, key);
	return EXIT_DONE;
}

static bool has_column(const struct reading *r, const struct file_field *f)
{
	for (int i = 0; i < r->columns; i++)
		if (r->column[i] == f)
			return true;
	return false;
}

static int read_names(struct reading *r, char *line)
{
	char *name;

	while ((name = strsep(&line, ","))) {
		const struct file_field *f = find(columns, name);

		if (r->columns == COLUMNS_MAX)
			return refuse(r, "too many columns", NULL);
		if (f && has_column(r, f))
			return refuse(r, "a column appears twice", name);
		r->column[r->columns++] = f;
	}
	for (const struct file_field *f = columns; f->name; f++)
		if (!has_column(r, f))
			return refuse(r, "a column is missing", f->name);
	return EXIT_DONE;
}

/* What round trips cannot be. */
static bool has_wrong_rtts(const struct row *row)
{
	if (!row->rtts)
		return row->rtt_min_us || row->rtt_mean_us || row->rtt_above_p95_us;
	return !row->rtt_min_us || row->rtt_mean_us < row->rtt_min_us;
}

/* A transfer that has reached a size has reached all smaller ones, and not later. */
static bool has_wrong_firsts(const struct row *row)
{
	for (int i = 1; i < EXPERIMENT_FIRSTS; i++)
		if (row->first_us[i] &&
		    (!row->first_us[i - 1] || row->first_us[i - 1] > row->first_us[i]))
			return true;
	return false;
}

/* Each value was checked. Returns what they cannot be together; NULL: all is well. */
static const char *what_is_wrong(const struct experiment *e, const struct row *row)
{
	bool is_switchback = e->design == EXPERIMENT_SWITCHBACK;

	if (row->arm >= e->arms)
		return "the arm's number is too large";
	if (is_switchback && row->arm != experiment_block_arm(e->seed, e->arms, row->block))
		return "the block has another arm, by the seed";
	if (!is_switchback && (row->block || row->continued || row->end == EXPERIMENT_SEAM))
		return "only a switchback has blocks";
	if (row->end == EXPERIMENT_OPEN)
		return "the connection has not ended";
	if (row->last_ns < row->begin_ns)
		return "last_ns is below begin_ns";
	if (row->retransmitted > row->sent)
		return "more bytes were retransmitted than sent";
	if (row->rtt_above_p95_us < row->rtt_above_p50_us || has_wrong_rtts(row))
		return "the round trips contradict each other";
	return has_wrong_firsts(row) ? "the times of the first bytes contradict each other" : NULL;
}

static int read_row(struct reading *r, char *line)
{
	struct row row = {};
	const char *wrong;
	char *value;
	int i = 0;

	for (; (value = strsep(&line, ",")); i++) {
		if (i == r->columns)
			return refuse(r, "too many values", NULL);
		if (r->column[i] && !parse_value(value, r->column[i], &row))
			return refuse(r, "a wrong value", r->column[i]->name);
	}
	if (i < r->columns)
		return refuse(r, "too few values", NULL);
	wrong = what_is_wrong(&r->study->experiment, &row);
	if (wrong)
		return refuse(r, wrong, NULL);
	rows_add(&r->study->rows, &row);
	return EXIT_DONE;
}

/* ---- the experiment as a whole */

/* Names the key's line, or the last one that was read if it has none. */
static int refuse_key(struct reading *r, const char *what, const char *key)
{
	unsigned long long line = r->key[find(keys, key) - keys];

	r->line = line ? line : r->line;
	return refuse(r, what, key);
}

static bool is_within(const __u32 addr[4], int bits)
{
	__u32 mask[4];

	prefix_mask(mask, bits);
	for (int i = 0; i < 4; i++)
		if (addr[i] & ~mask[i])
			return false;
	return true;
}

/* Each arm has a name of its own, and nothing is known of an arm that is not there. */
static int check_arms(struct reading *r)
{
	const struct experiment *e = &r->study->experiment;
	char label[24], cc[24];

	for (const struct file_field *f = keys; f->name; f++)
		if ((f->is_counter ? get(f, r->study) :
				     r->key[f - keys] && !strncmp(f->name, "arm", 3)) &&
		    is_of_no_arm(r, f->name))
			return refuse_key(r, NO_ARM, f->name);
	for (__u32 i = 0; i < e->arms; i++) {
		snprintf(label, sizeof(label), "arm%u", i);
		snprintf(cc, sizeof(cc), "arm%u_cc", i);
		if (!e->arm[i].label[0])
			return refuse_key(r, "an arm has no name", label);
		if (!e->arm[i].cc[0])
			return refuse_key(r, "an arm has no congestion control", cc);
		for (__u32 k = 0; k < i; k++)
			if (!strcmp(e->arm[i].label, e->arm[k].label))
				return refuse_key(r, "another arm has this name", label);
	}
	return EXIT_DONE;
}

/*
 * Each value was checked on its line. Without one of these, or with two that contradict each other,
 * the answer would be another one.
 */
static int check_head(struct reading *r)
{
	static const char *const needed[] = { "name", "design",	 "unit",   "arms",
					      "seed", "prefix4", "prefix6" };
	const struct experiment *e = &r->study->experiment;
	bool is_switchback = e->design == EXPERIMENT_SWITCHBACK;

	if (!r->format)
		return refuse_file(r);
	for (size_t i = 0; i < N(needed); i++)
		if (!r->key[find(keys, needed[i]) - keys])
			return refuse(r, "a key is missing above this line", needed[i]);
	if (e->design == EXPERIMENT_CANARY && e->arms != 2)
		return refuse_key(r, "a canary has two", "arms");
	if (is_switchback != !!e->block)
		return refuse_key(r, "a switchback has blocks, no other design has", "block_ns");
	if (e->washout && e->washout >= e->block)
		return refuse_key(r, "must be shorter than a block", "washout_ns");
	if (!is_within(e->scope.dst, e->scope.dst_len))
		return refuse_key(r, "too few for scope_remote", "scope_remote_bits");
	if (e->scope.mark && !e->scope.has_mark)
		return refuse_key(r, "scope_has_mark is 0", "scope_mark");
	for (const struct file_field *f = find(keys, "guard0"); !f->is_counter; f++)
		if (r->key[f - keys] && e->design != EXPERIMENT_CANARY)
			return refuse_key(r, "only a canary has guards", f->name);
	return check_arms(r);
}

/* Reads one line; *more: there was one. What is behind the last line's end is left out. */
static int read_line(struct reading *r, FILE *in, bool *more)
{
	enum text_line found = text_read_line(in, r->text, sizeof(r->text));
	int ret;

	r->line++;
	if (found == TEXT_ZERO_BYTE)
		return refuse(r, "a zero byte", NULL);
	if (found == TEXT_LONG_LINE)
		return refuse(r, "longer than 64 KiB", NULL);
	if (ferror(in))
		return err_usage("cannot read %s: %s", r->path, strerror(errno));
	*more = found == TEXT_LINE;
	/* The writer was stopped: a number may be cut, too. */
	r->study->is_cut = !*more && *r->text;
	if (!*more)
		return EXIT_DONE;
	if (r->text[0] == '#')
		return read_key(r, r->text + 1 + strspn(r->text + 1, " "));
	if (r->columns)
		return read_row(r, r->text);
	ret = check_head(r);
	return ret ?: read_names(r, r->text);
}

int file_read(const char *path, struct study *s)
{
	struct reading r = { .path = path, .study = s };
	FILE *in AUTO_FCLOSE = fopen(path, "re");
	bool more = true;
	int ret;

	if (!in)
		return err_usage("cannot read %s: %s", path, strerror(errno));
	privileges_narrow(0); /* anybody may have written what is read from here on */
	do
		ret = read_line(&r, in, &more);
	while (!ret && more);
	return ret || r.columns ? ret : refuse_file(&r);
}
