// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "cli/err.h"
#include "kernel/instance.h"
#include "tuning/rule_list.h"
#include "tuning/rule_text.h"

static const __u32 place; /* of the trie in bbr_rules */

void rule_list_free(struct rule_list *rules)
{
	free(rules->rule);
	*rules = (struct rule_list){};
}

int rule_list_try_read(const struct instance *inst, struct rule_list *rules)
{
	struct rule_lookup lookup AUTO(rule_lookup_close);
	int error = rule_lookup_open(&lookup, inst);

	*rules = (struct rule_list){ .rule = mem_new(1, sizeof(*rules->rule)) };
	while (!error && rules->n < lookup.n) {
		struct bbr_rule *rule = &MEM_ADD(rules->rule, rules->n);

		error = rule_lookup_get(&lookup, rules->n - 1, rule);
		/* True if bbrctl could have written it. Any profile will do: tuning_rule_profile(). */
		if (error == -ENOENT ||
		    (!error && (rule->dst_len > 128 || rule->fields >= BBR_RULE_COMBINATIONS)))
			error = -EINVAL;
	}
	if (error)
		rule_list_free(rules);
	return error;
}

int rule_list_read(const struct instance *inst, struct rule_list *rules)
{
	int error = rule_list_try_read(inst, rules);

	if (!error)
		return EXIT_DONE;
	if (error != -EINVAL)
		return err_bpf(error, "cannot read the instance's rules");
	return err_refused("%s: another program wrote its rules\n"
			   "delete them: bbrctl rule flush --name %s",
			   inst->name, inst->name);
}

static bool same_conditions(const struct bbr_rule *a, const struct bbr_rule *b)
{
	struct bbr_rule_key ka = rule_key(a), kb = rule_key(b);

	return !memcmp(&ka, &kb, sizeof(ka)) && a->n_more == b->n_more &&
	       !memcmp(a->more, b->more, a->n_more * sizeof(*a->more));
}

/* Sorts as in the trie: by the exact values, then by the address, then the shorter prefix first. */
static int by_place(const void *a, const void *b)
{
	const struct bbr_rule *x = a, *y = b;
	struct bbr_rule_key kx = rule_key(x), ky = rule_key(y);
	int order = memcmp(&kx.fields, &ky.fields, sizeof(kx) - sizeof(kx.prefixlen));

	if (!order && kx.prefixlen != ky.prefixlen)
		order = kx.prefixlen < ky.prefixlen ? -1 : 1;
	if (!order && x->n_more != y->n_more)
		order = x->n_more < y->n_more ? -1 : 1;
	if (!order)
		order = memcmp(x->more, y->more, x->n_more * sizeof(*x->more));
	if (!order) /* qsort() may swap what is equal */
		order = x->order < y->order ? -1 : 1;
	return order;
}

/* True if all connections that match `inner` match `outer`. Only for rules with the same fields. */
static bool covers(const struct bbr_rule *outer, const struct bbr_rule *inner)
{
	struct bbr_rule_key ko = rule_key(outer), ki = rule_key(inner);

	return !memcmp(&ko.fields, &ki.fields,
		       offsetof(struct bbr_rule_key, addr) - sizeof(__u32)) &&
	       outer->dst_len <= inner->dst_len &&
	       bbr_same_prefix(outer->dst, inner->dst, outer->dst_len);
}

static int put(int fd, struct bbr_rule_key key, const void *value)
{
	return bpf_map_update_elem(fd, &key, value, BPF_ANY) ? -errno : 0;
}

/*
 * `sorted` is in the order of by_place(), so the rules that cover a rule come before it. `chain`
 * holds those that cover the current rule, each with the first rule, by order, of the chain up to
 * it.
 */
static int put_chains(int fd, const struct bbr_rule *sorted, __u32 n)
{
	struct {
		const struct bbr_rule *rule, *best;
	} chain[129 + 1]; /* a prefix of each length */
	int depth = 0, error = 0;

	for (__u32 i = 0; !error && i < n; i++) {
		const struct bbr_rule *rule = &sorted[i], *best = rule;

		if (rule->n_more) /* put_terms() */
			continue;
		while (depth && !covers(chain[depth - 1].rule, rule))
			depth--;
		if (depth && chain[depth - 1].best->order < rule->order)
			best = chain[depth - 1].best;
		/* A rule that asks for the same replaces the one before it. */
		if (depth && chain[depth - 1].rule->dst_len == rule->dst_len)
			depth--;
		chain[depth].rule = rule;
		chain[depth++].best = best;
		error = put(fd, rule_key(rule), best);
	}
	return error;
}

static struct bbr_rule *sort(const struct rule_list *rules)
{
	struct bbr_rule *sorted = mem_new(rules->n, sizeof(*sorted));

	for (__u32 i = 0; i < rules->n; i++) {
		sorted[i] = rules->rule[i];
		sorted[i].order = i;
	}
	qsort(sorted, rules->n, sizeof(*sorted), by_place);
	return sorted;
}

void rule_list_find_twins(const struct rule_list *rules, __u32 *first, __u32 *second)
{
	struct bbr_rule *sorted AUTO_FREE = sort(rules);

	*first = *second = 0;
	for (__u32 i = 1; i < rules->n && *first == *second; i++) {
		if (!same_conditions(&sorted[i - 1], &sorted[i]))
			continue;
		*first = sorted[i - 1].order;
		*second = sorted[i].order;
	}
}

/* Puts the terms of the rules that have more than the trie can look up; *n: entries. */
static int put_terms(int fd, const struct rule_list *rules, __u32 *n)
{
	struct bbr_term of_rule[BBR_RULE_TERMS_MAX];
	struct bbr_terms entry[BBR_TERM_ENTRIES] = {};
	__u32 terms = 0, many;
	int error = 0;

	for (__u32 i = 0; i < rules->n; i++) {
		if (!rules->rule[i].n_more)
			continue;
		many = rule_terms(&rules->rule[i], of_rule);
		if (terms + many > 2 * BBR_TERM_ENTRIES)
			return -E2BIG;
		for (__u32 k = 0; k < many; k++, terms++) {
			of_rule[k].order = i;
			of_rule[k].is_last = k == many - 1;
			entry[terms / 2].term[terms % 2] = of_rule[k];
		}
	}
	*n = (terms + 1) / 2;
	for (__u32 i = 0; !error && i < *n; i++)
		error = put(fd, rule_special_key(BBR_RULE_TERMS, i), &entry[i]);
	return error;
}

static int put_path(int fd, const struct bbr_rule *rule)
{
	char text[BBR_RULE_TEXT_PIECES * BBR_RULE_SIZE] = "";
	struct bbr_rule_key key = rule_special_key(BBR_RULE_TEXT, rule->order);
	size_t len = strlen(rule->path);
	int error = len < sizeof(text) ? 0 : -ENAMETOOLONG;

	memcpy(text, rule->path, error ? 0 : len);
	for (; !error && key.dport <= len / BBR_RULE_SIZE; key.dport++)
		error = put(fd, key, text + key.dport * BBR_RULE_SIZE);
	return error;
}

static int fill_trie(int fd, const struct rule_list *rules)
{
	struct bbr_rule *sorted AUTO_FREE = sort(rules);
	struct bbr_rule index = { .profile = rules->n };
	int error = 0;

	for (__u32 i = 0; !error && i < rules->n; i++) {
		if (!sorted[i].n_more)
			index.order |= 1u << (sorted[i].fields & (BBR_RULE_COMBINATIONS - 1));
		error = put(fd, rule_special_key(BBR_RULE_LISTED, sorted[i].order), &sorted[i]);
		if (!error && sorted[i].path)
			error = put_path(fd, &sorted[i]);
	}
	if (!error)
		error = put_chains(fd, sorted, rules->n);
	if (!error)
		error = put_terms(fd, rules, &index.mark);
	return error ? error : put(fd, rule_special_key(BBR_RULE_INDEX, 0), &index);
}

int rule_trie_make(const struct rule_list *rules)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	int fd = bpf_map_create(BPF_MAP_TYPE_LPM_TRIE, BBR_MAP_RULES, sizeof(struct bbr_rule_key),
				BBR_RULE_SIZE, BBR_RULE_ENTRIES, &opts);
	int error = fd < 0 ? -errno : fill_trie(fd, rules);

	if (!error)
		return fd;
	auto_close(&fd);
	return error;
}

int rule_list_error(int error)
{
	if (error != -E2BIG)
		return err_bpf(error, "cannot write the instance's rules");
	return err_refused(
		"the rules with --src, --dev or --not-... have more than %d conditions\n"
		"write fewer: put a rule without these options before them that chooses the "
		"profile",
		2 * BBR_TERM_ENTRIES);
}

int rule_list_write_map(int outer_fd, const struct rule_list *rules)
{
	int error = 0, fd AUTO_CLOSE = rules->n ? rule_trie_make(rules) : -1;

	if (rules->n && fd < 0)
		error = fd;
	else if (rules->n) /* the new trie replaces the old one */
		error = bpf_map_update_elem(outer_fd, &place, &fd, BPF_ANY) ? -errno : 0;
	else if (bpf_map_delete_elem(outer_fd, &place) && errno != ENOENT)
		error = -errno;
	return error ? rule_list_error(error) : EXIT_DONE;
}

int rule_list_write(const struct instance *inst, const struct rule_list *rules)
{
	int outer AUTO_CLOSE = instance_map(inst->rules_id);

	if (outer < 0)
		return err_bpf(outer, "cannot open the instance's rules");
	return rule_list_write_map(outer, rules);
}

int rule_list_insert(struct rule_list *rules, __u32 place_of_rule, const struct bbr_rule *rule)
{
	struct bbr_rule *at;

	if (rules->n == BBR_MAX_RULES)
		return err_refused("there are %d rules, the maximum", BBR_MAX_RULES);
	MEM_ADD(rules->rule, rules->n) = *rule;
	at = &rules->rule[place_of_rule];
	memmove(at + 1, at, (rules->n - 1 - place_of_rule) * sizeof(*rule));
	*at = *rule;
	return EXIT_DONE;
}

void rule_list_remove(struct rule_list *rules, __u32 place_of_rule)
{
	rules->n--;
	memmove(&rules->rule[place_of_rule], &rules->rule[place_of_rule + 1],
		(rules->n - place_of_rule) * sizeof(*rules->rule));
}

int rule_list_find(const struct rule_list *rules, const struct bbr_rule *like)
{
	for (__u32 i = 0; i < rules->n; i++)
		if (same_conditions(like, &rules->rule[i]))
			return i;
	return -1;
}

int rule_list_match(const struct rule_list *rules, const struct rule_test *t)
{
	struct bbr_term terms[BBR_RULE_TERMS_MAX];

	for (__u32 i = 0; i < rules->n; i++) {
		__u32 k = 0, n = rule_terms(&rules->rule[i], terms);

		while (k < n && rule_term_holds(&rules->rule[i], &terms[k], t))
			k++;
		if (k == n)
			return i;
	}
	return -1;
}

__u32 rule_list_count(const struct rule_list *rules, __u32 profile)
{
	__u32 n = 0;

	for (__u32 i = 0; i < rules->n; i++)
		n += rules->rule[i].profile == profile;
	return n;
}
