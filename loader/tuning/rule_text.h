/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules as text, for the command line, saved files and people: "--dst 10.0.0.0/8 --dport 443".
 */
#ifndef LOADER_RULE_TEXT_H
#define LOADER_RULE_TEXT_H

#include <stddef.h>

#include "bpf_bbr/migrate.h"
#include "cli/text.h"

struct bbr_rule;
struct json;
struct socket_filter;

/* A cgroup's path may have 4096 characters, and each may need an escape. */
#define RULE_TEXT_LEN (TEXT_QUOTED_LEN(4096) + 256)

/* Parses the options into a rule, without its profile and order. */
int rule_parse(const struct socket_filter *filter, struct bbr_rule *rule);

/*
 * Parses a line of a saved file: options as words, --cgroup last, because its path may contain
 * blanks; it may be in quotes (text.h). It cuts the line into pieces; *profile points to the name
 * in it.
 */
int rule_parse_line(char *line, struct bbr_rule *rule, const char **profile);

/* Formats a rule as its options, without --profile; "" for a rule that asks for nothing. */
void rule_format(const struct bbr_rule *rule, char *buf, size_t size);

/* Adds what the rule asks for: "dst", "dport", ... */
void rule_add_json(struct json *j, const struct bbr_rule *rule);

/* Which sockets; NULL: any. */
struct socket_filter {
	const char *dst, *dport, *sport, *cgroup, *mark;
};

/* Takes --dst, --dport, --sport, --cgroup and --mark. */
int socket_filter_parse(const struct socket_filter *filter, struct migrate_config *config);

#endif
