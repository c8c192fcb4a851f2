/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules as text, for the command line, saved files and people: "--dst 10.0.0.0/8 --dport 443".
 */
#ifndef LOADER_RULE_TEXT_H
#define LOADER_RULE_TEXT_H

#include <stddef.h>

#include "bpf_bbr/migrate.h"
#include "bpf_bbr/rules.h"
#include "cli/text.h"

struct json;
struct socket_filter;

/* A cgroup's path may have 4096 characters, and each may need an escape. */
#define RULE_TEXT_LEN ((1 + BBR_RULE_MORE) * (TEXT_QUOTED_LEN(4096) + 64) + 256)

/* Parses the options into a rule, without its profile and order. */
int rule_parse(const struct socket_filter *filter, struct bbr_rule *rule);

/* A line of a file. What it names besides its conditions points into it; NULL: nothing. */
struct rule_line {
	struct bbr_rule rule;
	const char *profile, *cgroup;
	const char *pods; /* NAMESPACE/NAME, each a pattern as a shell has them */
};

/*
 * Parses a rule's: options as words, --cgroup last, because its path may contain blanks; it may be in
 * quotes (text.h), as any value may. The cgroup need not be there. It cuts the line into pieces.
 */
int rule_parse_line(char *line, struct rule_line *parsed);

/* The same for an attachment's, which has no profile. The rule is without the cgroup. */
int rule_parse_attachment(char *line, struct rule_line *parsed);

/* Makes a rule's conditions into terms; their order is 0. Returns how many. */
__u32 rule_terms(const struct bbr_rule *rule, struct bbr_term terms[BBR_RULE_TERMS_MAX]);

/* Formats terms as their options, each after a blank. Returns the length. */
size_t terms_format(const struct bbr_term *terms, __u32 n, char *buf, size_t size);

/* Adds terms: "src", ..., and for those that must not hold arrays: "not_dst", ... */
void terms_add_json(struct json *j, const struct bbr_term *terms, __u32 n);

/*
 * Moves the conditions --not-cgroup whose cgroups are gone to `gone`: they always hold. Returns how
 * many are left.
 */
__u32 terms_split_gone(struct bbr_term *terms, __u32 n, struct bbr_term *gone);

/* Formats a rule as its options, without --profile; "" for a rule that asks for nothing. */
void rule_format(const struct bbr_rule *rule, char *buf, size_t size);

/* Adds what the rule asks for: "dst", "dport", ..., and its terms. */
void rule_add_json(struct json *j, const struct bbr_rule *rule);

/* Which sockets; NULL: any. */
struct socket_filter {
	const char *dst, *dport, *sport, *cgroup, *mark;
	/* --src, --dev, --not-*: each option and its value */
	struct {
		char option[16];
		const char *value;
	} more[BBR_RULE_MORE];
	int n_more;
};

/* Takes a text. The option may appear only once: of two conditions, one alone would count. */
bool option_once(const char *option, const char *value, void *to);

/* Takes an option of `more` into a struct socket_filter. */
bool option_condition(const char *option, const char *value, void *to);

bool socket_filter_asks(const struct socket_filter *filter);

/* Takes --dst, --dport, --sport, --cgroup and --mark. */
int socket_filter_parse(const struct socket_filter *filter, struct migrate_config *config);

#endif
