// SPDX-License-Identifier: GPL-2.0-only
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>

#include "bpf_bbr/rules.h"
#include "cgroup/cgroup.h"
#include "cli/err.h"
#include "cli/json.h"
#include "tuning/rule_text.h"
#include "address.h"

int rule_parse(const struct socket_filter *filter, struct bbr_rule *rule)
{
	__u32 mask[4] = {};

	memset(rule, 0, sizeof(*rule));
	if ((filter->dst && !parse_prefix("--dst", filter->dst, rule->dst, mask)) ||
	    (filter->dport && !parse_port("--dport", filter->dport, &rule->dport)) ||
	    (filter->sport && !parse_port("--sport", filter->sport, &rule->sport)) ||
	    (filter->mark && !parse_mark("--mark", filter->mark, &rule->mark)))
		return EXIT_USAGE;
	for (int i = 0; i < 4; i++)
		rule->dst_len += __builtin_popcount(mask[i]);
	rule->fields = (filter->dport ? BBR_RULE_DPORT : 0) | (filter->sport ? BBR_RULE_SPORT : 0) |
		       (filter->mark ? BBR_RULE_MARK : 0) | (filter->cgroup ? BBR_RULE_CGROUP : 0);
	return filter->cgroup ? cgroup_id("--cgroup", filter->cgroup, &rule->cgroup) : EXIT_DONE;
}

int rule_parse_line(char *line, struct bbr_rule *rule, const char **profile)
{
	struct socket_filter filter = {};
	const char *name = NULL;
	const struct {
		const char *name, **value;
	} known[] = {
		{ "--dst", &filter.dst },     { "--dport", &filter.dport },
		{ "--sport", &filter.sport }, { "--mark", &filter.mark },
		{ "--profile", &name },
	};
	const char *wrong = NULL;
	char *word, *value;

	while ((word = strsep(&line, " "))) {
		const char **place = NULL;

		if (!*word)
			continue;
		if (!strcmp(word, "--cgroup")) {
			filter.cgroup = line;
			wrong = line && *line ? text_unquote(line) : "its path is missing";
			break;
		}
		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			if (!strcmp(word, known[i].name))
				place = known[i].value;
		value = strsep(&line, " ");
		if (!place || !value || !*value) {
			err("rule: %s: expected an option and its value", word);
			remedy("write rules as for rule add, with --cgroup last");
			return EXIT_USAGE;
		}
		*place = value;
	}
	if (wrong) {
		err("rule: --cgroup: %s", wrong);
		return EXIT_USAGE;
	}
	if (!name) {
		err("rule: --profile is missing");
		return EXIT_USAGE;
	}
	*profile = name;
	return rule_parse(&filter, rule);
}

/* The cgroup's path, or its id if it is gone. */
static void format_cgroup(const struct bbr_rule *rule, char *buf, size_t size)
{
	cgroup_path(rule->cgroup, buf, size);
	if (!buf[0])
		snprintf(buf, size, "id:%llu", (unsigned long long)rule->cgroup);
}

void rule_format(const struct bbr_rule *rule, char *buf, size_t size)
{
	char text[PATH_MAX];
	size_t len = 0;

	*buf = 0;
	if (rule->dst_len) {
		format_prefix(text, sizeof(text), rule->dst, rule->dst_len);
		len += snprintf(buf + len, size - len, " --dst %s", text);
	}
	if (rule->fields & BBR_RULE_DPORT)
		len += snprintf(buf + len, size - len, " --dport %u", ntohs(rule->dport));
	if (rule->fields & BBR_RULE_SPORT)
		len += snprintf(buf + len, size - len, " --sport %u", ntohs(rule->sport));
	if (rule->fields & BBR_RULE_MARK)
		len += snprintf(buf + len, size - len, " --mark %u", rule->mark);
	if (rule->fields & BBR_RULE_CGROUP) {
		format_cgroup(rule, text, sizeof(text));
		snprintf(buf + len, size - len, " --cgroup %s", text_shown(text));
	}
	if (buf[0])
		memmove(buf, buf + 1, strlen(buf));
}

void rule_add_json(struct json *j, const struct bbr_rule *rule)
{
	char text[PATH_MAX];

	if (rule->dst_len) {
		format_prefix(text, sizeof(text), rule->dst, rule->dst_len);
		json_add_string(j, "dst", text);
	}
	if (rule->fields & BBR_RULE_DPORT)
		json_add_int(j, "dport", ntohs(rule->dport));
	if (rule->fields & BBR_RULE_SPORT)
		json_add_int(j, "sport", ntohs(rule->sport));
	if (rule->fields & BBR_RULE_MARK)
		json_add_int(j, "mark", rule->mark);
	if (rule->fields & BBR_RULE_CGROUP) {
		format_cgroup(rule, text, sizeof(text));
		json_add_string(j, "cgroup", text);
		json_add_int(j, "cgroup_id", rule->cgroup);
	}
}

int socket_filter_parse(const struct socket_filter *filter, struct migrate_config *config)
{
	struct bbr_rule rule;
	int ret = rule_parse(filter, &rule);

	memcpy(config->raddr, rule.dst, sizeof(rule.dst));
	prefix_mask(config->rmask, rule.dst_len);
	config->rport = rule.dport;
	config->lport = rule.sport;
	config->mark = rule.mark;
	config->has_mark = !!(rule.fields & BBR_RULE_MARK);
	config->cgroup = rule.cgroup;
	return ret;
}
