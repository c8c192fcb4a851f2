// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "cli/err.h"
#include "kernel/instance.h"
#include "tuning/rule_list.h"

static const __u32 place; /* of the trie in bbr_rules */

void rule_list_free(struct rule_list *rules)
{
	free(rules->rule);
	*rules = (struct rule_list){};
}

int rule_list_try_read(const struct instance *inst, struct rule_list *rules)
{
	struct rule_lookup lookup;
	int error = rule_lookup_open(&lookup, inst);

	*rules = (struct rule_list){ .rule = mem_new(1, sizeof(*rules->rule)) };
	for (; !error && rules->n < lookup.n; rules->n++) {
		struct bbr_rule *rule;

		rules->rule = mem_grow(rules->rule, rules->n, sizeof(*rule));
		rule = &rules->rule[rules->n];
		error = rule_lookup_get(&lookup, rules->n, rule);
		/* Could bbrctl have written it? Any profile will do: see tuning_rule_profile(). */
		if (error == -ENOENT ||
		    (!error && (rule->dst_len > 128 || rule->fields >= BBR_RULE_COMBINATIONS)))
			error = -EINVAL;
	}
	if (error)
		rule_list_free(rules);
	rule_lookup_close(&lookup);
	return error;
}

int rule_list_read(const struct instance *inst, struct rule_list *rules)
{
	int error = rule_list_try_read(inst, rules);

	if (!error)
		return EXIT_DONE;
	if (error != -EINVAL)
		return err_bpf(error, "cannot read the instance's rules");
	err("%s: another program wrote its rules", inst->name);
	remedy("delete them: bbrctl rule flush --name %s", inst->name);
	return EXIT_REFUSED;
}

static struct bbr_rule_key key_of(const struct bbr_rule *rule)
{
	struct bbr_rule_key key = {
		.prefixlen = BBR_RULE_EXACT_BITS + rule->dst_len,
		.fields = rule->fields,
	};

	if (rule->fields & BBR_RULE_MARK)
		key.mark = rule->mark;
	if (rule->fields & BBR_RULE_CGROUP)
		key.cgroup = rule->cgroup;
	if (rule->fields & BBR_RULE_DPORT)
		key.dport = rule->dport;
	if (rule->fields & BBR_RULE_SPORT)
		key.sport = rule->sport;
	memcpy(key.addr, rule->dst, sizeof(key.addr));
	return key;
}

/* Sorts as in the trie: by the exact values, then by the address, then the shorter prefix first. */
static int by_place(const void *a, const void *b)
{
	const struct bbr_rule *x = a, *y = b;
	struct bbr_rule_key kx = key_of(x), ky = key_of(y);
	int order = memcmp(&kx.fields, &ky.fields, sizeof(kx) - sizeof(kx.prefixlen));

	if (!order && kx.prefixlen != ky.prefixlen)
		order = kx.prefixlen < ky.prefixlen ? -1 : 1;
	if (!order) /* qsort() may swap what is equal */
		order = x->order < y->order ? -1 : 1;
	return order;
}

static bool prefix_matches(const struct bbr_rule *rule, const __u32 addr[4])
{
	__u32 bytes = rule->dst_len / 8, bits = rule->dst_len % 8;
	const unsigned char *a = (const void *)rule->dst, *b = (const void *)addr;

	return !memcmp(a, b, bytes) && (!bits || !((a[bytes] ^ b[bytes]) >> (8 - bits)));
}

/* True if all connections that match `inner` match `outer`. Only for rules with the same fields. */
static bool covers(const struct bbr_rule *outer, const struct bbr_rule *inner)
{
	struct bbr_rule_key ko = key_of(outer), ki = key_of(inner);

	return !memcmp(&ko.fields, &ki.fields,
		       offsetof(struct bbr_rule_key, addr) - sizeof(__u32)) &&
	       outer->dst_len <= inner->dst_len && prefix_matches(outer, inner->dst);
}

static int put(int fd, struct bbr_rule_key key, const struct bbr_rule *value)
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

		while (depth && !covers(chain[depth - 1].rule, rule))
			depth--;
		if (depth && chain[depth - 1].best->order < rule->order)
			best = chain[depth - 1].best;
		/* A rule that asks for the same replaces the one before it. */
		if (depth && chain[depth - 1].rule->dst_len == rule->dst_len)
			depth--;
		chain[depth].rule = rule;
		chain[depth++].best = best;
		error = put(fd, key_of(rule), best);
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
	struct bbr_rule *sorted = sort(rules);

	*first = *second = 0;
	for (__u32 i = 1; i < rules->n && *first == *second; i++) {
		struct bbr_rule_key a = key_of(&sorted[i - 1]), b = key_of(&sorted[i]);

		if (memcmp(&a, &b, sizeof(a)))
			continue;
		*first = sorted[i - 1].order;
		*second = sorted[i].order;
	}
	free(sorted);
}

static int fill_trie(int fd, const struct rule_list *rules)
{
	struct bbr_rule *sorted = sort(rules);
	struct bbr_rule index = { .profile = rules->n };
	int error = 0;

	for (__u32 i = 0; !error && i < rules->n; i++) {
		index.order |= 1u << (sorted[i].fields & (BBR_RULE_COMBINATIONS - 1));
		error = put(fd, rule_special_key(BBR_RULE_LISTED, sorted[i].order), &sorted[i]);
	}
	if (!error)
		error = put_chains(fd, sorted, rules->n);
	if (!error)
		error = put(fd, rule_special_key(BBR_RULE_INDEX, 0), &index);
	free(sorted);
	return error;
}

int rule_trie_make(const struct rule_list *rules)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	int error, fd;

	fd = bpf_map_create(BPF_MAP_TYPE_LPM_TRIE, BBR_MAP_RULES, sizeof(struct bbr_rule_key),
			    sizeof(struct bbr_rule), 2 * BBR_MAX_RULES + 1, &opts);
	if (fd < 0)
		return -errno;
	error = fill_trie(fd, rules);
	if (!error)
		return fd;
	close(fd);
	return error;
}

int rule_trie_open(int outer_fd, int *trie)
{
	__u32 id;

	*trie = -1;
	if (bpf_map_lookup_elem(outer_fd, &place, &id))
		return errno == ENOENT ? 0 : -errno;
	*trie = instance_map(id);
	return *trie < 0 ? *trie : 0;
}

int rule_list_write_map(int outer_fd, const struct rule_list *rules)
{
	int error = 0, fd = rules->n ? rule_trie_make(rules) : -1;

	if (rules->n && fd < 0)
		error = fd;
	else if (rules->n) /* the new trie replaces the old one */
		error = bpf_map_update_elem(outer_fd, &place, &fd, BPF_ANY) ? -errno : 0;
	else if (bpf_map_delete_elem(outer_fd, &place) && errno != ENOENT)
		error = -errno;
	if (fd >= 0)
		close(fd);
	return error ? err_bpf(error, "cannot write the instance's rules") : EXIT_DONE;
}

int rule_list_write(const struct instance *inst, const struct rule_list *rules)
{
	int ret, outer = instance_map(inst->rules_id);

	if (outer < 0)
		return err_bpf(outer, "cannot open the instance's rules");
	ret = rule_list_write_map(outer, rules);
	close(outer);
	return ret;
}

int rule_list_insert(struct rule_list *rules, __u32 place_of_rule, const struct bbr_rule *rule)
{
	struct bbr_rule *rule_at;

	if (rules->n == BBR_MAX_RULES) {
		err("there are %d rules, the maximum", BBR_MAX_RULES);
		return EXIT_REFUSED;
	}
	rules->rule = mem_grow(rules->rule, rules->n, sizeof(*rule));
	rule_at = &rules->rule[place_of_rule];
	memmove(rule_at + 1, rule_at, (rules->n++ - place_of_rule) * sizeof(*rule));
	*rule_at = *rule;
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
	struct bbr_rule_key key = key_of(like);

	for (__u32 i = 0; i < rules->n; i++) {
		struct bbr_rule_key other = key_of(&rules->rule[i]);

		if (!memcmp(&key, &other, sizeof(key)))
			return i;
	}
	return -1;
}

static bool is_among(__u64 id, const __u64 *ids, int n)
{
	for (int i = 0; i < n; i++)
		if (ids[i] == id)
			return true;
	return false;
}

int rule_list_match(const struct rule_list *rules, const struct rule_test *t)
{
	for (__u32 i = 0; i < rules->n; i++) {
		const struct bbr_rule *r = &rules->rule[i];

		if (prefix_matches(r, t->addr) &&
		    (!(r->fields & BBR_RULE_DPORT) || r->dport == t->dport) &&
		    (!(r->fields & BBR_RULE_SPORT) || r->sport == t->sport) &&
		    (!(r->fields & BBR_RULE_MARK) || r->mark == t->mark) &&
		    (!(r->fields & BBR_RULE_CGROUP) ||
		     is_among(r->cgroup, t->cgroups, t->nr_cgroups)))
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
