// SPDX-License-Identifier: GPL-2.0-only
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <net/if.h>

#include "bpf_bbr/rules.h"
#include "cgroup/cgroup.h"
#include "cli/err.h"
#include "cli/json.h"
#include "kernel/rule_lookup.h"
#include "tuning/rule_text.h"
#include "address.h"

/* By their options, without --not-; JSON has the same names. */
static const char *const term_names[BBR_TERM_KINDS] = {
	[BBR_TERM_DST] = "dst",	    [BBR_TERM_SRC] = "src",   [BBR_TERM_DPORT] = "dport",
	[BBR_TERM_SPORT] = "sport", [BBR_TERM_MARK] = "mark", [BBR_TERM_CGROUP] = "cgroup",
	[BBR_TERM_DEV] = "dev",
};

bool option_condition(const char *option, const char *value, void *to)
{
	struct socket_filter *filter = to;

	if (filter->n_more == BBR_RULE_MORE) {
		err("%s: there are more than %d of --src, --dev and --not-...", option,
		    BBR_RULE_MORE);
		return false;
	}
	snprintf(filter->more[filter->n_more].option, sizeof(filter->more[0].option), "%s", option);
	filter->more[filter->n_more++].value = value;
	return true;
}

bool option_once(const char *option, const char *value, void *to)
{
	const char **text = to;

	if (*text)
		err("%s: appears twice", option);
	else
		*text = value;
	return *text == value;
}

bool socket_filter_asks(const struct socket_filter *filter)
{
	return filter->dst || filter->dport || filter->sport || filter->cgroup || filter->mark ||
	       filter->n_more;
}

static enum bbr_term_kind kind_of(const char *name)
{
	for (enum bbr_term_kind kind = 0; kind < BBR_TERM_KINDS; kind++)
		if (term_names[kind] && !strcmp(name, term_names[kind]))
			return kind;
	return BBR_TERM_NONE;
}

static bool parse_device(const char *option, const char *name, __u32 value[4])
{
	if (!*name || strlen(name) >= IFNAMSIZ || strpbrk(name, "/ "))
		return err_value(option, name,
				 "a device's name has 1 to 15 characters, no / and no blank");
	memcpy(value, name, strlen(name));
	return true;
}

/* Parses --src, --dev or --not-X. */
static int parse_term(const char *option, const char *value, struct bbr_term *term)
{
	const char *name = option + strlen("--");
	__u32 mask[4] = {};
	__u16 port = 0;
	__u64 id;
	bool done = true;

	*term = (struct bbr_term){ .is_not = !strncmp(name, "not-", 4) };
	term->kind = kind_of(name + 4 * term->is_not);
	switch (term->kind) {
	case BBR_TERM_DST:
	case BBR_TERM_SRC:
		done = parse_prefix(option, value, term->value, mask);
		term->len = prefix_bits(mask);
		break;
	case BBR_TERM_DPORT:
	case BBR_TERM_SPORT:
		done = parse_port(option, value, &port);
		term->value[0] = port;
		break;
	case BBR_TERM_MARK:
		done = parse_mark(option, value, &term->value[0]);
		break;
	case BBR_TERM_DEV:
		done = parse_device(option, value, term->value);
		break;
	default:
		if (cgroup_id(option, value, &id))
			return EXIT_USAGE;
		memcpy(term->value, &id, sizeof(id));
	}
	return done ? EXIT_DONE : EXIT_USAGE;
}

static int by_value(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct bbr_term));
}

/* Twice the same would only cost; two of these that are not a "not" never hold together. */
static int add_term(struct bbr_rule *rule, const char *option, const struct bbr_term *term)
{
	for (__u32 i = 0; i < rule->n_more; i++) {
		const struct bbr_term *other = &rule->more[i];

		if (!memcmp(other, term, sizeof(*term)) ||
		    (other->kind == term->kind && !other->is_not && !term->is_not))
			return err_usage("%s: appears twice", option);
	}
	rule->more[rule->n_more++] = *term;
	return EXIT_DONE;
}

int rule_parse(const struct socket_filter *filter, struct bbr_rule *rule)
{
	__u32 mask[4] = {};
	int ret = EXIT_DONE;

	memset(rule, 0, sizeof(*rule));
	if ((filter->dst && !parse_prefix("--dst", filter->dst, rule->dst, mask)) ||
	    (filter->dport && !parse_port("--dport", filter->dport, &rule->dport)) ||
	    (filter->sport && !parse_port("--sport", filter->sport, &rule->sport)) ||
	    (filter->mark && !parse_mark("--mark", filter->mark, &rule->mark)))
		return EXIT_USAGE;
	rule->dst_len = prefix_bits(mask);
	rule->fields = (filter->dport ? BBR_RULE_DPORT : 0) | (filter->sport ? BBR_RULE_SPORT : 0) |
		       (filter->mark ? BBR_RULE_MARK : 0) | (filter->cgroup ? BBR_RULE_CGROUP : 0);
	for (int i = 0; !ret && i < filter->n_more; i++) {
		struct bbr_term term;

		ret = parse_term(filter->more[i].option, filter->more[i].value, &term);
		if (!ret)
			ret = add_term(rule, filter->more[i].option, &term);
	}
	/* One order, whatever the command line's: so equal rules are the same. */
	qsort(rule->more, rule->n_more, sizeof(*rule->more), by_value);
	if (ret || !filter->cgroup)
		return ret;
	return cgroup_id("--cgroup", filter->cgroup, &rule->cgroup);
}

/* Cuts off the first word, or what is in quotes up to a blank. NULL: there is none. */
static char *next_word(char **line)
{
	char *word = *line, *end;

	while (word && *word == ' ')
		word++;
	if (!word || !*word)
		return NULL;
	end = word;
	if (*word == '"')
		for (end++; *end && *end != '"'; end++)
			end += *end == '\\' && end[1];
	end = strchr(end, ' ');
	*line = end;
	if (end)
		*(*line)++ = 0;
	return word;
}

/* Where it goes: into the filter, or beside it. */
static int parse_words(char *line, struct socket_filter *filter, struct rule_line *parsed,
		       bool is_rule)
{
	const char *key = is_rule ? "rule" : "attach";
	const struct {
		const char *name, **value;
	} known[] = {
		{ "--dst", &filter->dst },     { "--dport", &filter->dport },
		{ "--sport", &filter->sport }, { "--mark", &filter->mark },
		{ "--pod", &parsed->pods },    { "--profile", is_rule ? &parsed->profile : NULL },
	};
	const char *wrong = NULL;
	char *word, *value;

	while (!wrong && (word = next_word(&line))) {
		const char **place = NULL, *name = word + strlen("--");
		bool is_more = false;

		if (!strcmp(word, "--cgroup")) {
			parsed->cgroup = line;
			wrong = line && *line ? text_unquote(line) : "its path is missing";
			if (wrong)
				err("%s: --cgroup: %s", key, wrong);
			break;
		}
		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			if (known[i].value && !strcmp(word, known[i].name))
				place = known[i].value;
		if (!strncmp(word, "--not-", 6))
			is_more = kind_of(word + 6) != BBR_TERM_NONE;
		else if (!strncmp(word, "--", 2))
			is_more = !strcmp(name, "src") || !strcmp(name, "dev");
		value = next_word(&line);
		if ((!place && !is_more) || !value)
			return err_usage("%s: %s: expected an option and its value\n"
					 "write the options of %s, with --cgroup last",
					 key, word, is_rule ? "rule add" : "attach");
		wrong = text_unquote(value);
		if (wrong)
			err("%s: %s: %s", key, word, wrong);
		else if (!(place ? option_once(word, value, place) :
				   option_condition(word, value, filter)))
			return EXIT_USAGE;
	}
	if (!wrong && parsed->pods && parsed->cgroup)
		return err_usage("%s: --pod and --cgroup exclude each other", key);
	if (wrong || (parsed->pods && !pod_selector_is_valid("--pod", parsed->pods)))
		return EXIT_USAGE;
	return EXIT_DONE;
}

/* A file's cgroup is that of this path, whenever it is there; only the root always is. */
static int add_path(struct bbr_rule *rule, const char *path)
{
	char *place AUTO_FREE = NULL, *below AUTO_FREE = NULL, *mount AUTO_FREE = NULL;
	char *full AUTO_FREE = NULL;
	struct bbr_term term;
	int error, ret = cgroup_place("--cgroup", path, &place, &below);

	if (ret)
		return ret;
	if (!*below) {
		rule->fields |= BBR_RULE_CGROUP;
		return cgroup_id("--cgroup", path, &rule->cgroup);
	}
	mount = cgroup_mount();
	full = mem_format("%s/%s", place + strlen(mount), below);
	error = cgroup_path_term(mount, full + 1, &term);
	if (error)
		return err_bpf(error, path);
	if (rule->n_more == BBR_RULE_MORE)
		return err_usage(
			"rule: --cgroup is one of more than %d of --src, --dev and --not-...",
			BBR_RULE_MORE);
	rule->more[rule->n_more++] = term;
	rule->path = rule_path(full);
	return EXIT_DONE;
}

int rule_parse_line(char *line, struct rule_line *parsed)
{
	struct socket_filter filter = {};
	int ret;

	*parsed = (struct rule_line){};
	if (parse_words(line, &filter, parsed, true))
		return EXIT_USAGE;
	if (!parsed->profile)
		return err_usage("rule: --profile is missing");
	ret = rule_parse(&filter, &parsed->rule);
	return ret || !parsed->cgroup ? ret : add_path(&parsed->rule, parsed->cgroup);
}

int rule_parse_attachment(char *line, struct rule_line *parsed)
{
	struct socket_filter filter = {};

	*parsed = (struct rule_line){};
	if (parse_words(line, &filter, parsed, false))
		return EXIT_USAGE;
	if (parsed->cgroup || parsed->pods)
		return rule_parse(&filter, &parsed->rule);
	return err_usage("attach: --cgroup is missing\n"
			 "write the options of attach, with --cgroup last");
}

__u32 rule_terms(const struct bbr_rule *rule, struct bbr_term terms[BBR_RULE_TERMS_MAX])
{
	const struct bbr_term of_fields[] = {
		{ .kind = rule->dst_len ? BBR_TERM_DST : 0,
		  .len = rule->dst_len,
		  .value = { rule->dst[0], rule->dst[1], rule->dst[2], rule->dst[3] } },
		{ .kind = rule->fields & BBR_RULE_DPORT ? BBR_TERM_DPORT : 0,
		  .value = { rule->dport } },
		{ .kind = rule->fields & BBR_RULE_SPORT ? BBR_TERM_SPORT : 0,
		  .value = { rule->sport } },
		{ .kind = rule->fields & BBR_RULE_MARK ? BBR_TERM_MARK : 0,
		  .value = { rule->mark } },
		{ .kind = rule->fields & BBR_RULE_CGROUP ? BBR_TERM_CGROUP : 0,
		  .value = { rule->cgroup, rule->cgroup >> 32 } },
	};
	__u32 n = 0;

	for (size_t i = 0; i < sizeof(of_fields) / sizeof(of_fields[0]); i++)
		if (of_fields[i].kind)
			terms[n++] = of_fields[i];
	memcpy(terms + n, rule->more, rule->n_more * sizeof(*terms));
	return n + rule->n_more;
}

/* The cgroup's path, or its id if it is gone. */
static void format_cgroup(__u64 id, char *buf, size_t size)
{
	cgroup_path(id, buf, size);
	if (!buf[0])
		snprintf(buf, size, "id:%llu", (unsigned long long)id);
}

static void format_term_value(const struct bbr_term *term, char *buf, size_t size)
{
	switch (term->kind) {
	case BBR_TERM_DST:
	case BBR_TERM_SRC:
		format_prefix(buf, size, term->value, term->len);
		break;
	case BBR_TERM_DPORT:
	case BBR_TERM_SPORT:
		snprintf(buf, size, "%u", ntohs(term->value[0]));
		break;
	case BBR_TERM_MARK:
		snprintf(buf, size, "%u", term->value[0]);
		break;
	case BBR_TERM_DEV:
		snprintf(buf, size, "%.*s", IFNAMSIZ - 1, (const char *)term->value);
		break;
	default:
		format_cgroup(bbr_term_u64(term, 0), buf, size);
	}
}

/* A value that is followed by others: a blank in it would end it. */
static void format_term(const struct bbr_term *term, char *buf, size_t size)
{
	char value[PATH_MAX], quoted[TEXT_QUOTED_LEN(PATH_MAX)];

	format_term_value(term, value, sizeof(value));
	text_quote(quoted, sizeof(quoted), value);
	snprintf(buf, size, " --%s%s %s", term->is_not ? "not-" : "", term_names[term->kind],
		 strchr(value, ' ') ? quoted : text_shown(value));
}

size_t terms_format(const struct bbr_term *terms, __u32 n, char *buf, size_t size)
{
	size_t len = 0;

	*buf = 0;
	for (__u32 i = 0; i < n; i++) {
		if (!term_names[terms[i].kind]) /* the path, which comes last */
			continue;
		format_term(&terms[i], buf + len, size - len);
		len += strlen(buf + len);
	}
	return len;
}

__u32 terms_split_gone(struct bbr_term *terms, __u32 n, struct bbr_term *gone)
{
	__u32 left = 0;

	for (__u32 i = 0; i < n; i++)
		if (terms[i].kind == BBR_TERM_CGROUP && terms[i].is_not &&
		    cgroup_is_gone(bbr_term_u64(&terms[i], 0)))
			gone[i - left] = terms[i];
		else
			terms[left++] = terms[i];
	return left;
}

void rule_format(const struct bbr_rule *rule, char *buf, size_t size)
{
	struct bbr_term terms[BBR_RULE_TERMS_MAX];
	struct bbr_rule others = *rule;
	char text[PATH_MAX];
	size_t len;

	others.fields &= ~BBR_RULE_CGROUP; /* which comes last */
	len = terms_format(terms, rule_terms(&others, terms), buf, size);
	if (rule->fields & BBR_RULE_CGROUP)
		format_cgroup(rule->cgroup, text, sizeof(text));
	if (rule->path || rule->fields & BBR_RULE_CGROUP)
		snprintf(buf + len, size - len, " --cgroup %s",
			 text_shown(rule->path ? rule->path : text));
	if (buf[0])
		memmove(buf, buf + 1, strlen(buf));
}

static void add_terms(struct json *j, const struct bbr_term *terms, __u32 n,
		      enum bbr_term_kind kind, bool is_not)
{
	char key[32], text[PATH_MAX];
	bool is_open = false;

	snprintf(key, sizeof(key), "%s%s", is_not ? "not_" : "", term_names[kind]);
	for (__u32 i = 0; i < n; i++) {
		const char *of_value = is_not ? NULL : key;

		if (terms[i].kind != kind || terms[i].is_not != is_not)
			continue;
		if (is_not && !is_open)
			json_open_array(j, key);
		is_open = is_not;
		format_term_value(&terms[i], text, sizeof(text));
		if (kind == BBR_TERM_DPORT || kind == BBR_TERM_SPORT)
			json_add_int(j, of_value, ntohs(terms[i].value[0]));
		else if (kind == BBR_TERM_MARK)
			json_add_int(j, of_value, terms[i].value[0]);
		else
			json_add_string(j, of_value, text);
	}
	if (is_open)
		json_close(j);
}

void terms_add_json(struct json *j, const struct bbr_term *terms, __u32 n)
{
	for (enum bbr_term_kind kind = 0; kind < BBR_TERM_KINDS; kind++)
		for (int is_not = 0; term_names[kind] && is_not < 2; is_not++)
			add_terms(j, terms, n, kind, is_not);
}

void rule_add_json(struct json *j, const struct bbr_rule *rule)
{
	struct bbr_term terms[BBR_RULE_TERMS_MAX];
	struct bbr_rule others = *rule;
	char text[PATH_MAX];

	others.fields &= ~BBR_RULE_CGROUP; /* which comes last */
	terms_add_json(j, terms, rule_terms(&others, terms) - rule->n_more);
	terms_add_json(j, rule->more, rule->n_more);
	if (rule->path) {
		__u64 id = cgroup_id_now(rule->path);

		json_add_string(j, "cgroup", rule->path);
		json_add_int_if(j, "cgroup_id", id, id);
	}
	if (rule->fields & BBR_RULE_CGROUP) {
		format_cgroup(rule->cgroup, text, sizeof(text));
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
