// SPDX-License-Identifier: GPL-2.0-only
/*
 * User input for tuning: files of profiles, files that describe a machine, and rules. The input is
 * a file of both kinds. Its lines are also rules, as options of rule add, which go into a trie in
 * this file instead of the kernel. Lookups for a connection there must find the rule that `rule
 * test` finds.
 */
#define _GNU_SOURCE /* asprintf() */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <json-c/json.h>

#include "cgroup/pods.h"
#include "kernel/netns.h"
#include "self/embedded.h"
#include "cli/err.h"
#include "cli/json.h"
#include "fuzz.h"
#include "kernel/instance.h"
#include "machine/cri.h"
#include "machine/machine.h"
#include "machine/plan.h"
#include "tuning/param.h"
#include "tuning/profile_definitions.h"
#include "tuning/profile_map.h"
#include "tuning/rule_list.h"
#include "tuning/rule_text.h"
#include "verbs/verbs.h"

#define MAX_LINES 64
#define OUTER_ID 1
#define INNER_ID 2

/* Instead of loader/self/embedded.c: no profiles are built in. */
struct embedded embedded_profiles(const struct algorithm *algorithm)
{
	(void)algorithm;
	return (struct embedded){};
}

static unsigned long files, refused_files, machines, refused_machines, definitions, parsed,
	refused_rules, tries, found, not_found;
static unsigned long kinds[STEP_KINDS], left;

static void report(void)
{
	say_reached("file of profiles", files);
	say_reached("file that is refused", refused_files);
	say_reached("file of a machine", machines);
	say_reached("file of a machine that is refused", refused_machines);
	say_reached("profile", definitions);
	say_reached("rule", parsed);
	say_reached("rule that is refused", refused_rules);
	say_reached("trie", tries);
	say_reached("connection with a rule", found);
	say_reached("connection without a rule", not_found);
	for (int i = 0; i < STEP_KINDS; i++) {
		char what[32];

		snprintf(what, sizeof(what), "step %d of a plan", i);
		if (i != STEP_REPLACE) /* it needs the code of two versions */
			say_reached(what, kinds[i]);
	}
	say_reached("what is left alone", left);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	stderr = fopen("/dev/null", "w"); /* glibc allows the assignment */
	return stderr ? atexit(report) : -1;
}

/* Instead of lib/cgroup/cgroup.c: a path's id is its length, and the path of an id leads to the root. */
int cgroup_id(const char *option, const char *path, __u64 *id)
{
	(void)option;
	*id = strlen(path);
	return *id ? EXIT_DONE : EXIT_USAGE;
}

void cgroup_path(__u64 id, char *path, size_t size)
{
	size_t n = id < size ? id : size - 1;

	memset(path, '/', n);
	path[n] = 0;
}

int cgroup_place(const char *option, const char *path, char **place, char **below)
{
	(void)option;
	*place = *path ? strdup("") : NULL;
	*below = *path ? strdup(path + strspn(path, "/")) : NULL; /* "/" is its own place */
	return *place ? EXIT_DONE : EXIT_USAGE;
}

char *cgroup_mount(void)
{
	return strdup("");
}

int cgroup_path_term(const char *place, const char *below, struct bbr_term *term)
{
	(void)place;
	*term = (struct bbr_term){ .kind = BBR_TERM_PATH, .value = { strlen(below) } };
	return 0;
}

__u64 cgroup_id_now(const char *path)
{
	return strlen(path);
}

/* Instead of lib/cgroup/pods.c: two pods; and of loader/machine/cri.c: the labels of one. */
int pods_list(const char *folder, struct pod **list)
{
	static const char *const names[] = { "db/a", "web/front-0" };

	(void)folder;
	*list = calloc(2, sizeof(**list));
	for (int i = 0; i < 2; i++) {
		strcpy((*list)[i].name, names[i]);
		(*list)[i].path = strdup(names[i]);
	}
	return 2;
}

int cri_read_labels(const char *const *sockets, struct pod *list, int n)
{
	(void)sockets;
	(void)n;
	list[1].has_labels = true;
	MEM_ADD(list[1].label, list[1].n_labels) = mem_copy("app=front");
	return EXIT_DONE;
}

bool cgroup_is_pod(const char *path)
{
	return *path != '/';
}

void pods_free(struct pod *list, int n)
{
	for (int i = 0; i < n; i++) {
		if (list[i].n_labels)
			free(list[i].label[0]);
		free(list[i].label);
		free(list[i].path);
	}
	free(list);
}

/* Instead of lib/cgroup/attachment.c. */
void attachment_free(struct attachment *at)
{
	free(at->path);
	free(at->place);
}

void attachments_free(struct attachment *list, int n)
{
	for (int i = 0; i < n; i++)
		attachment_free(&list[i]);
	free(list);
}

bool attachment_equal(const struct attachment *a, const struct attachment *b)
{
	return !strcmp(a->name, b->name) && a->n == b->n &&
	       !memcmp(a->term, b->term, a->n * sizeof(*a->term));
}

/* Instead of lib/kernel/netns.c: as with cgroups. */
int netns_inode(const char *option, const char *name, __u32 *inode)
{
	(void)option;
	*inode = strlen(name);
	return *inode ? EXIT_DONE : EXIT_USAGE;
}

/* Routes are neither read nor changed here. */
int netns_visit(const char *name, netns_visitor visit, void *data)
{
	(void)name;
	(void)visit;
	(void)data;
	return EXIT_REFUSED;
}

int netns_for_each(netns_visitor visit, void *data)
{
	return netns_visit(NULL, visit, data);
}

/* Instead of the kernel: a trie, and the map that contains it. */
static struct {
	struct bbr_rule_key key;
	unsigned char value[BBR_RULE_SIZE];
} trie[2 * MAX_LINES + 1 + BBR_TERM_ENTRIES];
static int trie_len;
static bool has_trie;
static int outer_fd;

static int any_fd(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int bpf_map_get_fd_by_id(__u32 id)
{
	int fd = any_fd();

	if (id == OUTER_ID)
		outer_fd = fd;
	return fd;
}

int bpf_map_create(enum bpf_map_type type, const char *name, __u32 key_size, __u32 value_size,
		   __u32 max_entries, const struct bpf_map_create_opts *opts)
{
	(void)name;
	(void)opts;
	CHECK(type == BPF_MAP_TYPE_LPM_TRIE && key_size == sizeof(trie->key));
	CHECK(value_size == sizeof(trie->value) && max_entries > 2 * MAX_LINES);
	trie_len = 0;
	return any_fd();
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	int i;

	CHECK(!flags);
	if (fd == outer_fd) {
		has_trie = true;
		return 0;
	}
	for (i = 0; i < trie_len; i++)
		if (!memcmp(&trie[i].key, key, sizeof(trie->key)))
			break;
	if (i == trie_len)
		trie_len++;
	CHECK(trie_len <= 2 * MAX_LINES + 1 + BBR_TERM_ENTRIES);
	memcpy(&trie[i].key, key, sizeof(trie->key));
	memcpy(&trie[i].value, value, sizeof(trie->value));
	return 0;
}

static bool begins_with(const struct bbr_rule_key *key, const struct bbr_rule_key *prefix)
{
	const unsigned char *a = (const void *)&key->fields, *b = (const void *)&prefix->fields;
	__u32 bytes = prefix->prefixlen / 8, bits = prefix->prefixlen % 8;

	return !memcmp(a, b, bytes) && (!bits || !((a[bytes] ^ b[bytes]) >> (8 - bits)));
}

static const void *look_up(const struct bbr_rule_key *key)
{
	int best = -1;

	for (int i = 0; i < trie_len; i++)
		if (begins_with(key, &trie[i].key) &&
		    (best < 0 || trie[i].key.prefixlen > trie[best].key.prefixlen))
			best = i;
	return best < 0 ? NULL : trie[best].value;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	static const __u32 inner = INNER_ID;
	const void *rule = fd == outer_fd ? NULL : look_up(key);

	if (fd == outer_fd && has_trie)
		memcpy(value, &inner, sizeof(inner));
	else if (rule)
		memcpy(value, rule, BBR_RULE_SIZE);
	else
		errno = ENOENT;
	return (fd == outer_fd ? has_trie : !!rule) ? 0 : -1;
}

int bpf_map_delete_elem(int fd, const void *key)
{
	(void)key;
	CHECK(fd == outer_fd);
	errno = ENOENT;
	return has_trie ? has_trie = false : -1;
}

/* The place of the rule that the program's lookups find, or -1. */
static int choose(const struct instance *inst, const struct rule_test *test)
{
	struct rule_lookup lookup;
	struct bbr_rule rule;
	int place;

	CHECK(!rule_lookup_open(&lookup, inst));
	place = rule_lookup_match(&lookup, test, &rule) ? (int)rule.order : -1;
	rule_lookup_close(&lookup);
	return place;
}

/* Parses a line of a saved file that lacks its profile. */
static int parse(const char *text, struct bbr_rule *rule)
{
	struct rule_line parsed;
	char *line;
	int ret;

	CHECK(asprintf(&line, "--profile p %s", text) > 0);
	ret = rule_parse_line(line, &parsed);
	CHECK(ret || strstr(text, "--profile") || !strcmp(parsed.profile, "p"));
	CHECK(ret || !parsed.pods || !parsed.cgroup);
	*rule = parsed.rule;
	free(line);
	return ret;
}

/* A rule is read back from its printed form. */
static void check_round_trip(const struct bbr_rule *rule)
{
	char text[RULE_TEXT_LEN];
	struct bbr_rule back;

	rule_format(rule, text, sizeof(text));
	CHECK(parse(text, &back) == EXIT_DONE);
	CHECK(!memcmp(rule, &back, sizeof(back)));
}

/* Checks a connection with values from some of the rules. */
static void check_connection(const struct instance *inst, const struct rule_list *rules,
			     struct input *in)
{
	const struct bbr_rule *by[5];
	struct rule_test test = { .nr_cgroups = 2 };
	__u64 cgroups[2];
	__u8 pick[6];
	int place;

	input_take(in, pick, sizeof(pick));
	for (int i = 0; i < 5; i++)
		by[i] = &rules->rule[pick[i] % rules->n];
	memcpy(test.addr, by[0]->dst, sizeof(test.addr));
	test.addr[pick[5] / 64] ^= 1u << pick[5] % 32;
	test.dport = by[1]->dport;
	test.sport = by[2]->sport;
	test.mark = by[3]->mark;
	if (by[3]->n_more) {
		memcpy(test.src, by[3]->more[0].value, sizeof(test.src));
		memcpy(test.dev, by[3]->more[0].value, sizeof(test.dev));
	}
	cgroups[0] = by[4]->cgroup;
	cgroups[1] = by[0]->cgroup;
	test.cgroups = cgroups;
	place = rule_list_match(rules, &test);
	CHECK(place == choose(inst, &test));
	*(place < 0 ? &not_found : &found) += 1;
}

static void check_rules(char *text, struct input in)
{
	static const struct instance inst = { .rules_id = OUTER_ID };
	struct rule_list rules = {}, back;
	struct bbr_rule rule;
	char *line;

	while ((line = strsep(&text, "\n")) && rules.n < MAX_LINES) {
		if (parse(line, &rule)) {
			refused_rules++;
			continue;
		}
		parsed++;
		check_round_trip(&rule);
		rule.profile = rules.n;
		CHECK(!rule_list_insert(&rules, rules.n / 2, &rule));
	}
	CHECK(!rule_list_write(&inst, &rules));
	CHECK(!rule_list_read(&inst, &back) && back.n == rules.n);
	for (__u32 i = 0; i < rules.n; i++) {
		CHECK(back.rule[i].order == i);
		back.rule[i].order = rules.rule[i].order;
		CHECK(!memcmp(&back.rule[i], &rules.rule[i], sizeof(rule)));
	}
	tries += rules.n > 1;
	for (int i = 0; rules.n && i < 32; i++)
		check_connection(&inst, &rules, &in);
	rule_list_free(&rules);
	rule_list_free(&back);
}

static void check_file(const uint8_t *data, size_t size)
{
	struct profile_definitions defs = {};
	FILE *real = stdin;

	stdin = fmemopen((void *)data, size, "r");
	CHECK(stdin);
	if (profile_definitions_file("-", algorithms[0], &defs))
		refused_files++;
	else
		files++;
	for (size_t i = 0; i < defs.n; i++) {
		struct param_set clamped = defs.def[i].params;

		param_set_clamp(&clamped);
		CHECK(param_set_equal(&clamped, &defs.def[i].params));
		CHECK(profile_name_is_valid(defs.def[i].name));
		CHECK(profile_definitions_find(&defs, defs.def[i].name) == &defs.def[i]);
		CHECK(!strpbrk(defs.def[i].about, "\n") && !strpbrk(defs.def[i].needs, "\n"));
		definitions++;
	}
	profile_definitions_free(&defs);
	fclose(stdin);
	stdin = real;
}

static int read_machine(const void *data, size_t size, struct machine *m)
{
	FILE *real = stdin;
	int ret;

	stdin = fmemopen((void *)data, size, "r");
	CHECK(stdin);
	ret = machine_file_read("-", NULL, m);
	fclose(stdin);
	stdin = real;
	return ret;
}

static char *print_machine(const struct machine *m, bool all)
{
	FILE *real = stdout;
	char *text;
	size_t size;

	stdout = open_memstream(&text, &size);
	CHECK(stdout);
	for (size_t i = 0; i < m->n_instances; i++)
		machine_print(stdout, m, &m->instance[i], "", all);
	fclose(stdout);
	stdout = real;
	return text;
}

/* Makes a machine look like what the kernel has, or undoes that. */
static void make_found(struct machine *m, bool is_found)
{
	for (size_t i = 0; i < m->n_instances; i++)
		m->instance[i].is_open = m->instance[i].is_ours = is_found;
	for (size_t i = 0; i < m->n_routes; i++) {
		struct machine_route *r = &m->route[i];

		r->is_applied = is_found;
		strcpy(r->is.congctl, is_found ? r->name : "");
	}
	for (size_t i = 0; is_found && i < m->n_defaults; i++) {
		struct machine_note note = { .inode = m->def[i].inode };

		strcpy(note.name, m->def[i].name);
		machine_add_note(m, &note);
	}
}

/* A printed machine is read back the same, so the plan has no changes. */
static void check_machine(const uint8_t *data, size_t size, bool all)
{
	struct machine m, back;
	struct plan plan;
	char *text;

	if (read_machine(data, size, &m)) {
		refused_machines++;
		machine_free(&m);
		return;
	}
	machines++;
	m.is_tuning = false; /* an instance is then printed with its name */
	text = print_machine(&m, all);
	CHECK(!*text || !read_machine(text, strlen(text), &back));
	if (*text) {
		make_found(&back, true);
		plan_make(&m, &back, NULL, true, &plan);
		CHECK(!plan.n);
		plan_free(&plan);
		make_found(&back, false);
		machine_free(&back);
	}
	free(text);
	machine_free(&m);
}

static char *print_plan(const struct plan *plan, const struct machine *wanted,
			const struct machine *found, bool as_json)
{
	FILE *real = stdout;
	struct json j;
	char *text;
	size_t size;

	stdout = open_memstream(&text, &size);
	CHECK(stdout);
	if (as_json) {
		json_begin_pretty(&j, stdout);
		plan_add_json(&j, plan);
		json_end(&j);
	}
	for (size_t i = 0; !as_json && i < plan->n; i++) {
		kinds[plan->step[i].kind]++;
		step_print(&plan->step[i], false);
		step_print(&plan->step[i], true);
		step_print_diff(&plan->step[i], wanted, found);
	}
	for (size_t i = 0; !as_json && i < plan->n_left; i++)
		step_print_left(&plan->left[i], "; ");
	left += !as_json && plan->n_left;
	fclose(stdout);
	stdout = real;
	return text;
}

/* What apply --check, --diff and -j print: fit for a terminal, and valid. */
static void check_plan(const struct machine *wanted, const struct machine *found, bool prune)
{
	struct json_object *object;
	struct plan plan;
	char *text;

	plan_make(wanted, found, NULL, prune, &plan);
	text = print_plan(&plan, wanted, found, false);
	for (const char *c = text; *c; c++)
		CHECK(*c == '\n' || (*c >= ' ' && *c != 0x7f) || *c & 0x80);
	CHECK(!plan.n == !*text || plan.n_left);
	free(text);
	text = print_plan(&plan, wanted, found, true);
	object = json_tokener_parse(text);
	CHECK(object);
	json_object_put(object);
	free(text);
	plan_free(&plan);
}

/* The rest of the file, from a line in its middle on, is what the machine has. */
static void check_change(const uint8_t *data, size_t size, bool prune)
{
	const uint8_t *middle = memchr(data + size / 2, '\n', size - size / 2);
	size_t first = middle ? middle - data + 1 : size;
	struct machine wanted = {}, found = {};

	if (first < size && !read_machine(data, first, &wanted) &&
	    !read_machine(data + first, size - first, &found)) {
		make_found(&found, true);
		wanted.is_tuning = found.is_tuning = false;
		check_plan(&wanted, &found, prune);
		make_found(&found, false);
	}
	machine_free(&found);
	machine_free(&wanted);
}

/* The text could name any file of profiles, which would be opened. */
static bool names_a_file(const char *text)
{
	const char *from = strstr(text, "from");

	return from && strchr(from, '/');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);

	CHECK(text);
	if (size)
		check_file(data, size);
	if (size && !names_a_file(text))
		check_machine(data, size, data[size - 1] & 1);
	if (size && !names_a_file(text))
		check_change(data, size, data[size - 1] & 1);
	check_rules(text, (struct input){ data, size });
	free(text);
	return 0;
}
