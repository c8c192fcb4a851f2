/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules as the command line, saved files and people have them: "--dst 10.0.0.0/8 --dport 443".
 */
#ifndef LOADER_RULE_TEXT_H
#define LOADER_RULE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct bbr_rule;
struct json;
struct socket_filter;

#define RULE_TEXT_LEN 4352 /* a cgroup's path may have 4096 characters */

/* What the options ask for; profile and order stay open. EXIT_DONE, or another after printing what is wrong. */
int rule_parse(const struct socket_filter *filter, struct bbr_rule *rule);

/*
 * A line of a saved file: options as words, --cgroup the last, for its path may have blanks in it. *profile
 * points to the name in the line, which is cut into pieces.
 */
int rule_parse_line(char *line, struct bbr_rule *rule, const char **profile);

/* The options that mean it, without --profile; "" for a rule that asks for nothing. */
void rule_format(const struct bbr_rule *rule, char *buf, size_t size);

/* "dst", "dport", ... those that it asks for. */
void rule_add_json(struct json *j, const struct bbr_rule *rule);

#endif
