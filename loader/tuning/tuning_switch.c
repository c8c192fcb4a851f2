// SPDX-License-Identifier: GPL-2.0-only
/*
 * The system call runs a BPF program that is made for the change. Its writes are constants, so it
 * is a straight line. A signal, SIGKILL included, does not end it half way. It uses only maps that
 * every instance has, and takes nothing from what an ACK costs.
 *
 * In the order of its writes, a connection that starts meanwhile gets what the old or the new rules
 * give it: first what is new (generations, names of new profiles), then the rules, then the names
 * of deleted profiles go away. The kernel waits for a grace period after the rules, so nobody who
 * has read an old rule finds its profile deleted.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "cli/err.h"
#include "kernel/instance.h"
#include "tuning/profile_map.h"
#include "tuning/tuning_switch.h"

int tuning_change_open(const struct instance *inst, const struct profile_map *map,
		       struct tuning_change *change)
{
	*change = (struct tuning_change){ .map = map, .from_trie = -1, .to_trie = -1 };
	change->from = change->to = *map->head;
	change->params_fd = instance_map(inst->params_id);
	change->rules_fd = instance_map(inst->rules_id);
	if (change->params_fd < 0)
		return err_bpf(change->params_fd, "cannot open the instance's profiles");
	if (change->rules_fd < 0)
		return err_bpf(change->rules_fd, "cannot open the instance's rules");
	return EXIT_DONE;
}

void tuning_change_close(struct tuning_change *change)
{
	const int fds[] = { change->params_fd, change->rules_fd, change->from_trie,
			    change->to_trie };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		auto_close(&fds[i]);
}

int tuning_changed_profile(const struct tuning_change *change, const char *name)
{
	struct profile_map to = *change->map;

	to.head = (struct bbr_profiles_head *)&change->to;
	return profile_find(&to, name);
}

int tuning_change_profile(struct tuning_change *change, const char *name, const struct param_set *p)
{
	int index = tuning_changed_profile(change, name);

	if (index < 0) {
		/* Free now, and not only after the change. */
		index = profile_free_place(change->map, &change->to);
		if (index < 0)
			return index;
		strncpy(change->to.name[index], name, BBR_PROFILE_NAME_LEN);
	}
	change->to.gen[index] = profile_write_ahead(change->map, index, p);
	return 0;
}

void tuning_delete_profile(struct tuning_change *change, const char *name)
{
	int index = tuning_changed_profile(change, name);

	if (index > 0)
		change->to.name[index][0] = 0;
}

int tuning_change_rules(struct tuning_change *change, const struct rule_list *rules)
{
	int error = rule_trie_open(change->rules_fd, &change->from_trie);
	int trie = !error && rules->n ? rule_trie_make(rules) : -1;

	if (error || (rules->n && trie < 0))
		return error ? error : trie;
	change->to_trie = trie;
	change->changes_rules = change->from_trie >= 0 || trie >= 0;
	return 0;
}

void tuning_change_reverse(struct tuning_change *change)
{
	struct bbr_profiles_head from = change->from;
	int trie = change->from_trie;

	/*
	 * The bank of the old parameters is still as it was. A generation must not come again: an
	 * ACK would take the other one's values, which are clamped already.
	 */
	for (int i = 0; i < BBR_PROFILES; i++)
		if (from.gen[i] != change->to.gen[i])
			from.gen[i] = change->to.gen[i] + 1;
	change->from = change->to;
	change->to = from;
	change->from_trie = change->to_trie;
	change->to_trie = trie;
}

/* ---- the program */

struct code {
	struct bpf_insn *insn; /* NULL: they are only counted */
	size_t n;
};

static void emit(struct code *c, __u8 op, int dst, int src, int off, int imm)
{
	if (c->insn)
		c->insn[c->n] = (struct bpf_insn){
			.code = op, .dst_reg = dst, .src_reg = src, .off = off, .imm = imm
		};
	c->n++;
}

/* An exchange is a full barrier: on every CPU the words change in this order. */
static void emit_word(struct code *c, int fd, size_t offset, __u32 word)
{
	emit(c, BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_VALUE, 0, fd);
	emit(c, 0, 0, 0, 0, offset);
	emit(c, BPF_ALU | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, word);
	emit(c, BPF_STX | BPF_ATOMIC | BPF_W, BPF_REG_1, BPF_REG_2, 0, BPF_XCHG);
}

static __u32 word_at(const struct bbr_profiles_head *head, size_t offset)
{
	__u32 word;

	memcpy(&word, (const char *)head + offset, sizeof(word));
	return word;
}

/* Writes the words that differ; of a name the first one last, because from then on it counts. */
static void emit_words(struct code *c, int fd, const struct bbr_profiles_head *from,
		       const struct bbr_profiles_head *to, size_t begin, size_t end)
{
	for (size_t at = end; at > begin;) {
		at -= sizeof(__u32);
		if (word_at(from, at) != word_at(to, at))
			emit_word(c, fd, at, word_at(to, at));
	}
}

static void emit_profiles(struct code *c, int fd, const struct bbr_profiles_head *from,
			  const struct bbr_profiles_head *to, bool goes_away)
{
	for (int i = 0; i < BBR_PROFILES; i++) {
		size_t gen = offsetof(struct bbr_profiles_head, gen[i]);
		size_t name = offsetof(struct bbr_profiles_head, name[i]);

		if ((from->name[i][0] && !to->name[i][0]) != goes_away)
			continue;
		emit_words(c, fd, from, to, gen, gen + sizeof(to->gen[i]));
		emit_words(c, fd, from, to, name, name + sizeof(to->name[i]));
	}
}

/* Offsets on the stack: the attributes of bpf(2), its key and its value. */
#define ATTR (-64)
#define ATTR_SIZE 32 /* of BPF_MAP_UPDATE_ELEM, with flags */
#define KEY (-8)
#define VALUE (-4)

static void emit_stack_address(struct code *c, int at, int what)
{
	emit(c, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_10, 0, 0);
	emit(c, BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_1, 0, 0, what);
	emit(c, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_10, BPF_REG_1, at, 0);
}

/* Puts the trie into the array, or empties it. r0: 0 or -errno. */
static void emit_rules(struct code *c, int array, int trie)
{
	for (int at = 0; at < ATTR_SIZE; at += 8)
		emit(c, BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, ATTR + at, 0);
	emit(c, BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, KEY, 0);
	emit(c, BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, VALUE, trie);
	emit(c, BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0,
	     ATTR + (int)offsetof(union bpf_attr, map_fd), array);
	emit_stack_address(c, ATTR + (int)offsetof(union bpf_attr, key), KEY);
	if (trie >= 0)
		emit_stack_address(c, ATTR + (int)offsetof(union bpf_attr, value), VALUE);
	emit(c, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_1, 0, 0,
	     trie >= 0 ? BPF_MAP_UPDATE_ELEM : BPF_MAP_DELETE_ELEM);
	emit(c, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0);
	emit(c, BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, ATTR);
	emit(c, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, ATTR_SIZE);
	emit(c, BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_sys_bpf);
}

static void emit_exit(struct code *c, int error_register)
{
	emit(c, BPF_ALU64 | BPF_MOV | (error_register ? BPF_X : BPF_K), BPF_REG_0, error_register,
	     0, 0);
	emit(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* Only rules can fail. The verifier refuses what cannot be reached. */
static void emit_undo(struct code *c, const struct tuning_change *change, size_t n,
		      const size_t *jump)
{
	for (size_t i = n; i--;) {
		if (!change[i].changes_rules)
			continue;
		if (c->insn)
			c->insn[jump[i]].off = c->n - jump[i] - 1;
		for (size_t before = i; before--;)
			if (change[before].changes_rules) {
				emit_rules(c, change[before].rules_fd, change[before].from_trie);
				break;
			}
	}
	for (size_t i = 0; i < n; i++) {
		struct tuning_change back = change[i];

		tuning_change_reverse(&back);
		emit_profiles(c, back.params_fd, &back.from, &back.to, true);
		emit_profiles(c, back.params_fd, &back.from, &back.to, false);
	}
	emit_exit(c, BPF_REG_6);
}

static void emit_all(struct code *c, const struct tuning_change *change, size_t n, size_t *jump)
{
	bool can_fail = false;

	for (size_t i = 0; i < n; i++)
		emit_profiles(c, change[i].params_fd, &change[i].from, &change[i].to, false);
	for (size_t i = 0; i < n; i++) {
		if (!change[i].changes_rules)
			continue;
		emit_rules(c, change[i].rules_fd, change[i].to_trie);
		/* From rules that could not be written to what undoes all before them. */
		emit(c, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_6, BPF_REG_0, 0, 0);
		jump[i] = c->n;
		emit(c, BPF_JMP | BPF_JSLT | BPF_K, BPF_REG_6, 0, 0, 0);
		can_fail = true;
	}
	for (size_t i = 0; i < n; i++)
		emit_profiles(c, change[i].params_fd, &change[i].from, &change[i].to, true);
	emit_exit(c, 0);
	if (can_fail)
		emit_undo(c, change, n, jump);
}

static int run(const struct code *c)
{
	LIBBPF_OPTS(bpf_prog_load_opts, load, .prog_flags = BPF_F_SLEEPABLE);
	LIBBPF_OPTS(bpf_test_run_opts, test);
	int fd AUTO_CLOSE =
		bpf_prog_load(BPF_PROG_TYPE_SYSCALL, "bbrctl_switch", "GPL", c->insn, c->n, &load);

	if (fd < 0)
		return -errno;
	/* Whoever sees a new generation sees its bank. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return bpf_prog_test_run_opts(fd, &test) ? -errno : (int)test.retval;
}

int tuning_switch(const struct tuning_change *change, size_t n)
{
	size_t *jump AUTO_FREE = calloc(n + 1, sizeof(*jump));
	struct bpf_insn *insn AUTO_FREE = NULL;
	struct code c = {};

	if (!jump)
		return -ENOMEM;
	emit_all(&c, change, n, jump);
	insn = calloc(c.n, sizeof(*insn));
	if (!insn)
		return -ENOMEM;
	c = (struct code){ .insn = insn };
	emit_all(&c, change, n, jump);
	return run(&c);
}

int tuning_open(const char *name, bool with_rules, struct tuning *t)
{
	int ret;

	*t = (struct tuning){};
	ret = instance_get(name, &t->inst);
	if (!ret)
		ret = profile_map_open(&t->inst, &t->profiles);
	return ret || !with_rules ? ret : rule_list_read(&t->inst, &t->rules);
}

void tuning_close(struct tuning *t)
{
	rule_list_free(&t->rules);
	profile_map_close(&t->profiles);
}

void tuning_rule_profile(const struct tuning *t, const struct bbr_rule *rule,
			 char name[BBR_PROFILE_NAME_LEN])
{
	name[0] = 0;
	if (rule->profile < BBR_PROFILES)
		profile_name(&t->profiles, rule->profile, name);
	if (!name[0])
		strcpy(name, BBR_PROFILE_DEFAULT); /* as the program does */
}
