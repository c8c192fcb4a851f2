// SPDX-License-Identifier: GPL-2.0-only
/*
 * User input for tuning: files of profiles, files that describe a machine, and rules. The input is
 * a file of both kinds, and what an apply has kept. Its lines are also rules, as options of rule
 * add, which go into a trie in this file instead of the kernel. Lookups for a connection there must
 * find the rule that `rule test` finds. And they are labels of pods, and selectors of these.
 */
#define _GNU_SOURCE /* asprintf(), memfd_create() */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/stat.h>

#include <bpf/bpf.h>
#include <json-c/json.h>

#include "cgroup/cgroup.h"
#include "kernel/netns.h"
#include "self/embedded.h"
#include "cli/err.h"
#include "cli/json.h"
#include "fuzz.h"
#include "kernel/instance.h"
#include "machine/machine.h"
#include "machine/plan.h"
#include "tuning/param.h"
#include "tuning/profile_definitions.h"
#include "tuning/profile_map.h"
#include "tuning/rule_list.h"
#include "tuning/rule_text.h"
#include "verbs/verbs.h"

#define MAX_LINES 64
#define MAX_SIZE 1024 /* of an input */
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
static unsigned long kept, undo_files, no_undo_files, edits, refused_edits, answers, bad_answers,
	selectors, bad_selectors, chosen, lines_for_pods;
static bool are_gone; /* the cgroups */

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
	say_reached("line for pods", lines_for_pods);
	say_reached("state that is kept", kept);
	say_reached("file of kept states", undo_files);
	say_reached("file of kept states that is refused", no_undo_files);
	say_reached("edited file", edits);
	say_reached("edited file that is refused", refused_edits);
	say_reached("answer of a container runtime", answers);
	say_reached("answer that is malformed", bad_answers);
	say_reached("selector", selectors);
	say_reached("selector that is refused", bad_selectors);
	say_reached("pod that is chosen", chosen);
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
	size_t n = are_gone ? 0 : id < size ? id : size - 1;

	memset(path, '/', n);
	path[n] = 0;
}

bool cgroup_is_gone(__u64 id)
{
	(void)id;
	return are_gone;
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

#define PODS 2

/* Instead of lib/cgroup/pods.c: two pods; and of loader/machine/cri.c: the labels of one. */
int pods_list(const char *folder, struct pod **list)
{
	static const char *const names[PODS] = { "db/a", "web/front-0" };

	(void)folder;
	*list = calloc(PODS, sizeof(**list));
	for (int i = 0; i < PODS; i++) {
		strcpy((*list)[i].name, names[i]);
		(*list)[i].uid[0] = 'a' + i;
		(*list)[i].path = strdup(names[i]);
	}
	return PODS;
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

/* Instead of /var/lib/bpf-bbr: a folder that others cannot write, and in it what an apply has kept. */
static char *undo_text;

int openat(int dir, const char *path, int flags, ...)
{
	int fd = -1;

	(void)dir;
	(void)flags;
	if (!strcmp(path, "/var/lib/bpf-bbr"))
		return open("/proc/self/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	errno = ENOENT;
	if (undo_text && !strcmp(path, "undo")) {
		ssize_t n = strlen(undo_text);

		fd = memfd_create(path, MFD_CLOEXEC);
		CHECK(fd >= 0 && !fchmod(fd, 0600) && pwrite(fd, undo_text, n, 0) == n);
	}
	return fd;
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

/* ---- pods */

static size_t put_bytes(uint8_t *to, int number, const void *bytes, size_t size)
{
	const uint8_t head[] = { number << 3 | 2, size | 128, size >> 7 };

	memcpy(to, head, sizeof(head));
	memcpy(to + sizeof(head), bytes, size);
	return sizeof(head) + size;
}

/* Adds a sandbox of one of the pods to a runtime's answer; its only label is the line. */
static size_t put_sandbox(uint8_t *to, const char *line)
{
	uint8_t label[MAX_SIZE + 8], metadata[8], sandbox[MAX_SIZE + 32];
	const char *value = strchr(line, '=');
	size_t n;

	n = put_bytes(metadata, 2, line[0] & 1 ? "b" : "a", 1);
	n = put_bytes(sandbox, 2, metadata, n);
	sandbox[n++] = 4 << 3;
	sandbox[n++] = line[0] >> 1 & 63;
	if (value) {
		size_t k = put_bytes(label, 1, line, value - line);

		k += put_bytes(label + k, 2, value + 1, strlen(value + 1));
		n += put_bytes(sandbox + n, 5, label, k);
	}
	return put_bytes(to, 1, sandbox, n);
}

/* One more condition and its opposite: of a pod that is chosen without them, one of them holds. */
static void check_selector(const char *selector, const struct pod *pod)
{
	char *with, *without;
	bool is_chosen;

	if (!pod_selector_is_valid("--pod", selector)) {
		bad_selectors++;
		return;
	}
	selectors++;
	is_chosen = pod_selected(selector, pod);
	chosen += is_chosen;
	CHECK(!is_chosen || pod->has_labels || !pod_selector_has_labels(selector));
	CHECK(asprintf(&with, "%s,a=1", selector) > 0);
	CHECK(asprintf(&without, "%s,a!=1", selector) > 0);
	if (pod_selector_is_valid("--pod", without))
		CHECK(pod_selected(with, pod) + pod_selected(without, pod) ==
		      (is_chosen && pod->has_labels));
	free(with);
	free(without);
}

/* A pod is chosen by the label that it has. */
static void check_label(const struct pod *pod)
{
	const char *value = strchr(pod->label[0], '=');
	char *selector;

	CHECK(asprintf(&selector, "*/*,%s", pod->label[0]) > 0);
	if (value[1] != '=' && !strchr(selector + strlen("*/*,"), ',') &&
	    pod_selector_is_valid("--pod", selector))
		CHECK(pod_selected(selector, pod));
	free(selector);
}

/* The lines are labels of pods, of which the last one of the newest sandbox counts, and selectors. */
static void check_pods(const char *text, const uint8_t *data, size_t size)
{
	const char *label[PODS] = {};
	struct pod *list;
	char *copy = strdup(text), *rest = copy, *line;
	uint8_t *answer = malloc(size * 16 + 64);
	size_t n = 0;

	CHECK(copy && answer);
	while ((line = strsep(&rest, "\n"))) {
		const char **of = &label[line[0] & 1];

		n += put_sandbox(answer + n, line);
		if (!*of || (line[0] >> 1 & 63) >= ((*of)[0] >> 1 & 63))
			*of = line;
	}
	pods_list("", &list);
	CHECK(cri_take_labels(answer, n, list, PODS));
	for (int i = 0; i < PODS; i++) {
		bool has = label[i] && strchr(label[i], '=');

		CHECK(list[i].has_labels == !!label[i] && list[i].n_labels == has);
		CHECK(!has || !strcmp(list[i].label[0], label[i]));
		if (has)
			check_label(&list[i]);
	}
	for (line = copy; line < copy + strlen(text); line += strlen(line) + 1)
		for (int i = 0; i < PODS; i++)
			check_selector(line, &list[i]);
	pods_free(list, PODS);
	pods_list("", &list);
	*(cri_take_labels(data, size, list, PODS) ? &answers : &bad_answers) += 1;
	pods_free(list, PODS);
	free(answer);
	free(copy);
}

/* ---- machines */

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
	m->is_found = is_found;
	for (size_t i = 0; i < m->n_instances; i++)
		m->instance[i].is_open = m->instance[i].is_ours = is_found;
	for (size_t i = 0; i < m->n_routes; i++) {
		struct machine_route *r = &m->route[i];

		r->is_applied = is_found;
		strcpy(r->is.congctl, is_found ? r->name : "");
	}
	for (size_t i = 0; i < m->n_attached; i++)
		m->attached[i].is_applied = is_found;
	for (size_t i = 0; is_found && i < m->n_defaults; i++) {
		struct machine_note note = { .inode = m->def[i].inode };

		strcpy(note.name, m->def[i].name);
		MEM_ADD(m->note, m->n_notes) = note;
	}
}

/* What save -j prints is valid; what it prints of cgroups that are gone is read back. */
static void check_save(const struct machine *m)
{
	struct json_object *object;
	struct machine back;
	FILE *real = stdout;
	struct json j;
	char *text;
	size_t size;

	stdout = open_memstream(&text, &size);
	CHECK(stdout);
	json_begin_pretty(&j, stdout);
	json_open_array(&j, "all");
	for (size_t i = 0; i < m->n_instances; i++)
		machine_add_json(&j, m, &m->instance[i]);
	json_close(&j);
	json_end(&j);
	fclose(stdout);
	stdout = real;
	object = json_tokener_parse(text);
	CHECK(object);
	json_object_put(object);
	free(text);
	are_gone = true;
	text = print_machine(m, false);
	are_gone = false;
	CHECK(!machine_text_read(text, "text", NULL, &back) && back.n_instances == m->n_instances);
	machine_free(&back);
	free(text);
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
	check_save(&m);
	m.is_tuning = false; /* an instance is then printed with its name */
	text = print_machine(&m, all);
	CHECK(!*text || !read_machine(text, strlen(text), &back));
	if (*text) {
		make_found(&back, true);
		plan_make(&m, &back, NULL, true, &plan);
		CHECK(!plan.n);
		plan_free(&plan);
		make_found(&back, false);
		machine_narrow(&back, m.instance[0].name);
		CHECK(back.n_instances == 1 &&
		      back.instance[0].profiles.n == m.instance[0].profiles.n);
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
		step_is_followed(wanted, &plan->step[i]);
	}
	for (size_t i = 0; !as_json && i < plan->n_waiting; i++)
		step_print_waiting(&plan->waiting[i], "; ");
	for (size_t i = 0; !as_json && i < plan->n_left; i++)
		step_print_left(&plan->left[i], "; ");
	left += !as_json && plan->n_left;
	fclose(stdout);
	stdout = real;
	return text;
}

/* What would be kept for apply --undo is read back. last: what was kept before, anything. */
static void check_kept(const struct machine *wanted, const struct machine *found,
		       const struct plan *plan, const struct undo *last)
{
	struct machine m;
	struct undo u;

	if (undo_make(last, wanted, found, plan, &u) && u.before) {
		CHECK(undo_is_after(&u, wanted));
		CHECK(!undo_machine(&u, true, &m));
		machine_free(&m);
		CHECK(last->before || !undo_machine(&u, false, &m));
		if (!last->before)
			machine_free(&m);
		kept++;
	}
	undo_free(&u);
}

/* The rules that it should have while the lines for pods are followed. */
static void check_followed(const struct machine *wanted, const struct machine_instance *found)
{
	struct rule_list rules;
	bool is_going = false;

	if (!machine_instance(wanted, found->name))
		return;
	CHECK(!machine_pods_rules(wanted, found, &rules, &is_going));
	for (__u32 i = 0; i < rules.n; i++)
		CHECK(rules.rule[i].profile < found->profiles.n);
	rule_list_free(&rules);
}

/* What apply --check, --diff and -j print: fit for a terminal, and valid. */
static void check_plan(const struct machine *wanted, const struct machine *found, bool prune)
{
	static const struct undo none;
	struct undo last;
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
	check_kept(wanted, found, &plan, &none);
	if (!undo_read(NULL, &last))
		check_kept(wanted, found, &plan, &last);
	undo_free(&last);
	for (size_t i = 0; i < found->n_instances; i++)
		check_followed(wanted, &found->instance[i]);
	plan_free(&plan);
}

static bool has_profile(const struct machine_instance *inst, const struct profile_definition *def)
{
	const struct profile_definition *has = profile_definitions_find(&inst->profiles, def->name);

	return has && param_set_equal(&has->params, &def->params);
}

/* All that is the instance's, and all of other instances. */
static void check_edited(const struct machine *m, const struct machine *before,
			 const struct machine *with)
{
	const struct machine_instance *new = &with->instance[0],
				      *inst = machine_instance(m, new->name);
	size_t n_own = with->n_attached; /* the others are pods' */

	CHECK(inst && m->n_instances <= before->n_instances + 1);
	for (size_t i = 0; i < new->profiles.n; i++)
		CHECK(has_profile(inst, &new->profiles.def[i]));
	for (__u32 i = 0; !m->n_pods && i < new->rules.n; i++)
		CHECK(i < inst->rules.n && machine_same_rule(new, i, inst, i));
	for_each (p, with->pods, with->n_pods)
		n_own -= p->is_rule ? 0 : p->n;
	for (size_t i = 0; i < n_own; i++) {
		const struct attachment *at = &with->attached[i];

		CHECK(strcmp(at->name, new->name) ||
		      attachment_equal(at, machine_attachment(m, at->path)));
	}
	for (size_t i = 0; i < with->n_defaults; i++)
		CHECK(strcmp(with->def[i].name, new->name) ||
		      machine_default(m, with->def[i].inode));
	for (size_t i = 0; i < with->n_routes; i++)
		CHECK(strcmp(with->route[i].name, new->name) ||
		      machine_route(m, with->route[i].inode, &with->route[i].is.to));
	for (size_t i = 0; i < before->n_instances; i++) {
		const struct machine_instance *old = &before->instance[i];
		bool is_other = strcmp(old->name, new->name);

		inst = machine_instance(m, old->name);
		CHECK(inst && (!is_other || machine_same_rules(old, inst)));
		for (size_t k = 0; k < old->profiles.n; k++)
			CHECK(has_profile(inst, &old->profiles.def[k]) ||
			      (!is_other && profile_definitions_find(&new->profiles,
								     old->profiles.def[k].name)));
	}
	CHECK(m->n_attached >= before->n_attached && m->n_routes >= before->n_routes &&
	      m->n_defaults >= before->n_defaults && m->n_pods >= before->n_pods);
}

/* What promote does: puts an instance into a file. */
static void check_edit(const char *file, const struct machine *before, const struct machine *with)
{
	struct machine one = *with, m;
	char *text, *edited;

	one.n_instances = 1;
	text = print_machine(&one, false);
	edited = machine_edit(file, text);
	if (machine_text_read(edited, "text", NULL, &m)) {
		refused_edits++;
	} else {
		edits++;
		check_edited(&m, before, with);
	}
	machine_free(&m);
	free(edited);
	free(text);
}

/* The two halves are also what was kept for apply --undo, unless the text is such a file itself. */
static void check_undo(const char *text)
{
	static const char *const heads[] = {
		"; bbrctl apply --undo brings back what is above the line ; ----\n",
		"; bbrctl apply --undo brings back what is below the line ; ----\n",
	};
	const char *head = heads[strlen(text) & 1], *middle = strchr(text + strlen(text) / 2, '\n');
	char *back;
	struct machine m;
	struct undo u;

	if (strncmp(text, heads[0], strlen("; bbrctl")))
		CHECK(asprintf(&undo_text, "%s%.*s; ----\n%s", head,
			       middle ? (int)(middle + 1 - text) : 0, text,
			       middle ? middle + 1 : text) > 0);
	else
		undo_text = strdup(text);
	if (undo_read(NULL, &u)) {
		no_undo_files++;
	} else {
		undo_files++;
		CHECK(asprintf(&back, "%s%s; ----\n%s", heads[u.is_undone], u.before, u.after) > 0);
		CHECK(!strcmp(back, undo_text));
		for (int is_after = 0; is_after < 2; is_after++) {
			undo_machine(&u, is_after, &m);
			machine_free(&m);
		}
		free(back);
	}
	undo_free(&u);
}

/* The rest of the file, from a line in its middle on, is what the machine has. */
static void check_change(const uint8_t *data, size_t size, bool prune)
{
	const uint8_t *middle = memchr(data + size / 2, '\n', size - size / 2);
	size_t first = middle ? middle - data + 1 : size;
	struct machine wanted = {}, found = {};

	if (first < size && !read_machine(data, first, &wanted) &&
	    !read_machine(data + first, size - first, &found)) {
		if (found.n_instances && !found.is_tuning && !memchr(data, 0, first)) {
			char *file = strndup((const char *)data, first);

			check_edit(file, &wanted, &found);
			free(file);
		}
		make_found(&found, true);
		wanted.is_tuning = found.is_tuning = false;
		lines_for_pods += wanted.n_pods;
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

	CHECK(text && size <= MAX_SIZE);
	if (size)
		check_file(data, size);
	if (size && !names_a_file(text)) {
		check_machine(data, size, data[size - 1] & 1);
		check_undo(text);
		check_change(data, size, data[size - 1] & 1);
		free(undo_text);
		undo_text = NULL;
	}
	check_pods(text, data, size);
	check_rules(text, (struct input){ data, size });
	free(text);
	return 0;
}
