// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>

#include "address.h"
#include "file.h"

#define BLOCKS_MAX (1 << 20) /* the analysis has a place for each */

#define ROW_IN(name, kind, member, least, most) \
	{ name, kind, offsetof(struct row, member), 0, false, least, most }
#define ROW(name, kind, member) ROW_IN(name, kind, member, 0, 0)
#define ROW_MAYBE(name, kind, member) { name, kind, offsetof(struct row, member), 0, true, 0, 0 }
#define MEMBER(member) offsetof(struct study, member), sizeof(((struct study *)0)->member)
#define KEY_IN(name, kind, member, least, most) { name, kind, MEMBER(member), false, least, most }
#define KEY(name, kind, member) KEY_IN(name, kind, member, 0, 0)

/* clang-format off */
const struct file_field file_columns[] = {
	ROW("number", FILE_U64, number),
	ROW("connection", FILE_U64, connection),
	ROW_IN("arm", FILE_U8, arm, 0, EXPERIMENT_ARMS - 1),
	ROW("end", FILE_END, end),
	ROW_IN("block", FILE_U32, block, 0, BLOCKS_MAX),
	ROW("begin_ns", FILE_U64, begin_ns),
	ROW("last_ns", FILE_U64, last_ns),
	ROW_IN("continued", FILE_BOOL, continued, 0, 1),
	ROW("netns", FILE_U32, netns),
	ROW("remote", FILE_ADDRESS, raddr),
	ROW("remote_port", FILE_PORT, rport),
	ROW("local", FILE_ADDRESS, laddr),
	ROW("local_port", FILE_PORT, lport),
	ROW("acked_bytes", FILE_U64, acked),
	ROW("sent_bytes", FILE_U64, sent),
	ROW("retransmitted_bytes", FILE_U64, retransmitted),
	ROW("timeouts", FILE_U32, timeouts),
	ROW("busy_us", FILE_U64, busy_us),
	ROW("rwnd_limited_us", FILE_U64, rwnd_us),
	ROW("sndbuf_limited_us", FILE_U64, sndbuf_us),
	ROW("rtts", FILE_U32, rtts),
	ROW_MAYBE("rtt_min_us", FILE_U32, rtt_min_us),
	ROW_MAYBE("rtt_mean_us", FILE_U32, rtt_mean_us),
	ROW("rtt_above_p50_us", FILE_U32, rtt_above_p50_us),
	ROW("rtt_above_p95_us", FILE_U32, rtt_above_p95_us),
	ROW_MAYBE("first_16k_us", FILE_U32, first_us[0]),
	ROW_MAYBE("first_64k_us", FILE_U32, first_us[1]),
	ROW_MAYBE("first_1m_us", FILE_U32, first_us[2]),
	{},
};

#define KEY_ARM(i)                                                                                 \
	KEY("arm" #i, FILE_TEXT, experiment.arm[i].label),                                         \
	KEY("arm" #i "_cc", FILE_TEXT, experiment.arm[i].cc),                                      \
	KEY("arm" #i "_profile", FILE_TEXT, experiment.arm[i].profile_name)
#define KEY_GUARD(i) KEY("guard" #i, FILE_TEXT, experiment.guard[i])

const struct file_field file_keys[] = {
	KEY("name", FILE_TEXT, experiment.name),
	KEY("design", FILE_DESIGN, experiment.design),
	KEY("unit", FILE_UNIT, experiment.unit),
	KEY_IN("arms", FILE_U32, experiment.arms, 2, EXPERIMENT_ARMS),
	KEY_ARM(0), KEY_ARM(1), KEY_ARM(2), KEY_ARM(3),
	KEY("seed", FILE_U32, experiment.seed),
	KEY_IN("prefix4", FILE_PREFIX4, experiment.prefix4, 1, 32),
	KEY_IN("prefix6", FILE_U32, experiment.prefix6, 1, 128),
	KEY("started_realtime_ns", FILE_U64, experiment.started_realtime),
	KEY("block_ns", FILE_U64, experiment.block),
	KEY("washout_ns", FILE_U64, experiment.washout),
	KEY("scope_remote", FILE_ADDRESS, experiment.scope.dst),
	KEY_IN("scope_remote_bits", FILE_U32, experiment.scope.dst_len, 0, 128),
	KEY("scope_remote_port", FILE_PORT, experiment.scope.dport),
	KEY("scope_local_port", FILE_PORT, experiment.scope.sport),
	KEY("scope_mark", FILE_U32, experiment.scope.mark),
	KEY_IN("scope_has_mark", FILE_U32, experiment.scope.has_mark, 0, 1),
	KEY("scope_netns", FILE_TEXT, experiment.scope.netns_name),
	KEY_GUARD(0), KEY_GUARD(1), KEY_GUARD(2), KEY_GUARD(3),
	KEY_GUARD(4), KEY_GUARD(5), KEY_GUARD(6), KEY_GUARD(7),
	{},
};

#define KEY_ASSIGNED(i)                                                                            \
	KEY("assigned" #i, FILE_U64, counters.assigned[i]),                                        \
	KEY("refused" #i, FILE_U64, counters.refused[i]),                                          \
	KEY("refused" #i "_errno", FILE_U32, counters.refused_error[i])

const struct file_field file_counters[] = {
	KEY("until_ns", FILE_U64, until_ns),
	KEY_ASSIGNED(0), KEY_ASSIGNED(1), KEY_ASSIGNED(2), KEY_ASSIGNED(3),
	KEY("chosen", FILE_U64, counters.chosen),
	KEY("no_memory", FILE_U64, counters.no_memory),
	KEY("moved", FILE_U64, counters.moved),
	KEY("lost", FILE_U64, counters.lost),
	KEY("outcomes", FILE_U64, counters.outcomes),
	KEY("overwritten", FILE_U64, counters.overwritten),
	KEY("open", FILE_U64, counters.open),
	{},
};
/* clang-format on */

static const char *const ends[EXPERIMENT_ENDS] = {
	[EXPERIMENT_OPEN] = "open",	  [EXPERIMENT_CLOSED] = "closed",
	[EXPERIMENT_RESET] = "reset",	  [EXPERIMENT_TIMED_OUT] = "timed_out",
	[EXPERIMENT_ABORTED] = "aborted", [EXPERIMENT_SEAM] = "seam",
};
static const char *const designs[EXPERIMENT_DESIGNS] = { "ab", "switchback", "canary" };
static const char *const units[] = { "connection", "prefix" };

#define IPV4_BITS 96

struct words {
	const char *const *word;
	__u32 n;
};

static struct words words_of(enum file_kind kind)
{
	switch (kind) {
	case FILE_END:
		return (struct words){ ends, EXPERIMENT_ENDS };
	case FILE_DESIGN:
		return (struct words){ designs, EXPERIMENT_DESIGNS };
	case FILE_UNIT:
		return (struct words){ units, 2 };
	default:
		return (struct words){ NULL, 0 };
	}
}

static size_t bytes_of(enum file_kind kind)
{
	switch (kind) {
	case FILE_U8:
	case FILE_END:
	case FILE_BOOL:
		return 1;
	case FILE_U16:
	case FILE_PORT:
		return 2;
	case FILE_U64:
		return 8;
	default:
		return 4;
	}
}

static __u64 get(const struct file_field *f, const char *at)
{
	switch (bytes_of(f->kind)) {
	case 1:
		return *(const __u8 *)at;
	case 2:
		return f->kind == FILE_PORT ? ntohs(*(const __u16 *)at) : *(const __u16 *)at;
	case 8:
		return *(const __u64 *)at;
	default:
		return *(const __u32 *)at - (f->kind == FILE_PREFIX4 ? IPV4_BITS : 0);
	}
}

static void set(const struct file_field *f, char *at, __u64 value)
{
	switch (bytes_of(f->kind)) {
	case 1:
		*(__u8 *)at = value;
		break;
	case 2:
		*(__u16 *)at = f->kind == FILE_PORT ? htons(value) : value;
		break;
	case 8:
		*(__u64 *)at = value;
		break;
	default:
		*(__u32 *)at = value + (f->kind == FILE_PREFIX4 ? IPV4_BITS : 0);
	}
}

void file_format_value(char *buf, size_t size, const struct file_field *f, const void *in)
{
	const char *at = (const char *)in + f->at;
	struct words words = words_of(f->kind);
	__u64 value;

	buf[0] = 0;
	if (f->kind == FILE_ADDRESS) {
		format_address(buf, size, (const __u32 *)at);
		return;
	}
	if (f->kind == FILE_TEXT) {
		snprintf(buf, size, "%.*s", (int)f->size, at);
		return;
	}
	value = get(f, at);
	if (words.n)
		snprintf(buf, size, "%s", value < words.n ? words.word[value] : "unknown");
	else if (value || !f->may_be_unknown)
		snprintf(buf, size, "%llu", value);
}

static bool parse_address(const char *text, __u32 addr[4])
{
	const __u32 v4[4] = { 0, 0, htonl(0xffff), 0 };

	if (inet_pton(AF_INET6, text, addr) == 1)
		return true;
	memcpy(addr, v4, sizeof(v4));
	return inet_pton(AF_INET, text, &addr[3]) == 1;
}

static bool parse_word(const char *text, struct words words, __u64 *value)
{
	for (__u32 i = 0; i < words.n; i++)
		if (!strcmp(words.word[i], text)) {
			*value = i;
			return true;
		}
	return false;
}

static bool parse_digits(const char *text, const struct file_field *f, __u64 *value)
{
	__u64 most = f->most ? f->most : ~0ull >> (64 - 8 * bytes_of(f->kind));
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

bool file_parse_value(const char *text, const struct file_field *f, void *in)
{
	char *at = (char *)in + f->at;
	struct words words = words_of(f->kind);
	__u64 value = 0;

	if (f->kind == FILE_ADDRESS)
		return parse_address(text, (__u32 *)at);
	if (f->kind == FILE_TEXT)
		return parse_text(text, at, f->size);
	if (words.n ? !parse_word(text, words, &value) :
		      (*text || !f->may_be_unknown) && !parse_digits(text, f, &value))
		return false;
	set(f, at, value);
	return true;
}
