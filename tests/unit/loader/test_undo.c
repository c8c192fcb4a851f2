/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is kept for `bbrctl apply --undo`: the state before an apply, as a file, and when it stays.
 * The folder is one of this test: openat() below leads there. The algorithms are the real ones,
 * because a file can name no other.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include <sys/stat.h>
#include <sys/syscall.h>

#include "machines.h"

#include "machine/plan.h"

#include "../capture.h"

static char folder[] = "/tmp/test_undo.XXXXXX";
static struct undo last, kept;
static struct machine last_read;

int openat(int dir, const char *path, int flags, ...)
{
	va_list args;
	int mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, int) : 0;
	va_end(args);
	return syscall(SYS_openat, dir, strcmp(path, "/var/lib/bpf-bbr") ? path : folder, flags,
		       mode);
}

static int start(void **state)
{
	last = kept = (struct undo){};
	return begin(state);
}

static int stop(void **state)
{
	undo_free(&last);
	undo_free(&kept);
	capture_free();
	return end(state);
}

static struct machine_instance *add_real(struct machine *m, const char *name, const char *line)
{
	struct machine_instance *inst = add(m, name);

	profile_definitions_free(&inst->profiles);
	inst->profiles = (struct profile_definitions){ .algorithm = algorithms[0] };
	inst->algorithm = algorithms[0];
	add_profile(inst, "default", line);
	return inst;
}

/* Plans, and makes what is to be kept. Returns what undo_make() returns, and captures what it says. */
static bool make(const char *only)
{
	bool ret;

	last.only = only;
	plan_free(&plan);
	undo_free(&kept);
	plan_make(&wanted, &found, only, false, &plan);
	capture_begin();
	ret = undo_make(&last, &wanted, &found, &plan, &kept);
	capture_end();
	return ret;
}

#define STATE(name, more, gain) \
	"[instance " name "]\nalgorithm = bbr\n" more "\n[default]\ncwnd_gain = " gain "\n"

static void what_an_apply_made_and_changes(void **state)
{
	struct machine_note note = { .name = "one", .inode = 7, .previous = "reno" };

	(void)state;
	add_real(&found, "one", "cwnd_gain=3");
	machine_add_default(&found, "blue", 7, "one");
	MEM_ADD(found.note, found.n_notes) =
		note; /* no apply's, but the plan takes it away with the rest */
	machine_add_default(&found, "green", 8, "one"); /* nobody's of ours */
	add_attached("/a", "one");
	machine_add_attachment(&found, "/b", "one"); /* by hand: it stays */
	add_real(&found, "hand", "cwnd_gain=4")->is_applied = false;
	add_real(&found, "taken", "cwnd_gain=5")->is_applied = false;
	add_real(&wanted, "taken", "cwnd_gain=5.5");
	assert_true(make(NULL));
	assert_string_equal(kept.before, STATE("one", "default_in = blue\nattach = /a\n", "3")
						 STATE("taken", "", "5"));
	assert_string_equal(kept.after, STATE("taken", "", "5.5"));
	assert_string_equal(captured_messages(), "");
}

static void what_an_apply_leaves_alone_is_not_kept(void **state)
{
	struct machine_note note = { .name = "one", .inode = 7, .previous = "reno" };

	(void)state;
	add_real(&found, "one", "cwnd_gain=3");
	machine_add_default(&found, "blue", 7, "one");
	MEM_ADD(found.note, found.n_notes) = note;
	machine_add_attachment(&found, "/b", "one");
	add_real(&wanted, "one", "cwnd_gain=4");
	assert_true(make(NULL));
	assert_string_equal(kept.before, STATE("one", "", "3"));
}

static void one_instance(void **state)
{
	(void)state;
	add_real(&found, "one", "cwnd_gain=3");
	add_real(&found, "two", "cwnd_gain=4")->is_open = false; /* it was not asked for */
	add_real(&wanted, "one", "cwnd_gain=5");
	assert_true(make("one"));
	assert_string_equal(kept.before, STATE("one", "", "3"));
	/* It takes a cgroup from another instance, which a file about one cannot give back. */
	machine_add_attachment(&wanted, "/a", "one");
	add_attached("/a", "two");
	assert_true(make("one"));
	assert_null(kept.before);
	assert_non_null(strstr(captured_messages(), "will not undo this"));
}

static void code_that_nobody_knows(void **state)
{
	(void)state;
	add_real(&found, "one", "cwnd_gain=3")->is_open = false;
	assert_true(make(NULL));
	assert_null(kept.before);
	assert_non_null(strstr(captured_messages(), "will not undo this"));
}

/* A boot forgets all, and the same is applied again. */
static void after_a_boot(void **state)
{
	(void)state;
	add_real(&wanted, "one", "cwnd_gain=3");
	assert_true(make(NULL));
	assert_string_equal(kept.before, ""); /* the first apply */
	last.before = strdup(STATE("one", "", "2.5"));
	last.after = strdup(STATE("one", "", "3"));
	assert_false(make(NULL));
	last.is_undone = true; /* and somebody applies the file all the same */
	assert_true(make(NULL));
	assert_string_equal(kept.before, last.before);
	last.is_undone = false; /* or the file has changed since */
	machine_free(&wanted);
	wanted = (struct machine){};
	add_real(&wanted, "one", "cwnd_gain=4");
	assert_true(make(NULL));
	assert_string_equal(kept.before, last.after);
	assert_string_equal(kept.after, STATE("one", "", "4"));
}

static void a_new_version(void **state)
{
	struct machine_instance *inst = add_real(&found, "one", "cwnd_gain=3");

	(void)state;
	strcpy(inst->version, "0");
	add_real(&wanted, "one", "cwnd_gain=3");
	last.before = strdup("");
	last.after = strdup(STATE("one", "", "3"));
	assert_false(make(NULL));
	machine_add_attachment(&wanted, "/a", "one");
	assert_true(make(NULL));
}

/* The machine is as a file says that was not applied before: the state before is still what it was. */
static void nothing_to_change(void **state)
{
	(void)state;
	add_real(&found, "one", "cwnd_gain=3");
	add_real(&wanted, "one", "cwnd_gain=3");
	assert_false(make(NULL)); /* nobody has applied anything */
	last.before = strdup("");
	last.after = strdup(STATE("one", "", "3"));
	assert_false(make(NULL));
	last.is_undone = true;
	assert_true(make(NULL));
	assert_string_equal(kept.after, last.after);
	free(last.after);
	last.after = strdup(STATE("one", "", "4"));
	last.is_undone = false;
	assert_true(make(NULL));
	assert_string_equal(kept.before, "");
	assert_string_equal(kept.after, STATE("one", "", "3"));
	assert_false(kept.is_undone);
}

static void profiles_and_rules_only(void **state)
{
	(void)state;
	add_real(&found, "one", "cwnd_gain=3")->is_applied = false;
	add_attached("/a", "one");
	add_real(&wanted, "one", "cwnd_gain=4");
	wanted.is_tuning = true;
	assert_true(make("one"));
	assert_string_equal(kept.before, "algorithm = bbr\n\n[default]\ncwnd_gain = 3\n");
	assert_int_equal(undo_machine(&kept, true, &last_read), EXIT_DONE);
	assert_true(last_read.is_tuning && undo_is_after(&kept, &last_read));
	machine_free(&last_read);
}

static bool is_there(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return !access(path, F_OK);
}

static void written_and_read(void **state)
{
	struct undo one = { .only = "one" }, again;

	(void)state;
	one.before = strdup("");
	one.after = strdup(STATE("one", "", "3"));
	for (int i = 0; i < 2; i++) {
		one.is_undone = i;
		undo_write(&one);
		assert_int_equal(undo_read("one", &again), EXIT_DONE);
		assert_string_equal(again.before, one.before);
		assert_string_equal(again.after, one.after);
		assert_int_equal(again.is_undone, i);
		undo_free(&again);
	}
	assert_int_equal(undo_read(NULL, &again), EXIT_NOTHING);
	/* That of the whole machine replaces it. */
	one.only = NULL;
	undo_write(&one);
	assert_true(is_there("undo") && !is_there("undo.one") && !is_there("new"));
	undo_free(&one); /* nothing can be kept */
	undo_write(&one);
	assert_false(is_there("undo"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_an_apply_made_and_changes, start, stop),
		cmocka_unit_test_setup_teardown(what_an_apply_leaves_alone_is_not_kept, start,
						stop),
		cmocka_unit_test_setup_teardown(one_instance, start, stop),
		cmocka_unit_test_setup_teardown(code_that_nobody_knows, start, stop),
		cmocka_unit_test_setup_teardown(after_a_boot, start, stop),
		cmocka_unit_test_setup_teardown(a_new_version, start, stop),
		cmocka_unit_test_setup_teardown(nothing_to_change, start, stop),
		cmocka_unit_test_setup_teardown(profiles_and_rules_only, start, stop),
		cmocka_unit_test_setup_teardown(written_and_read, start, stop),
	};
	int ret;

	if (!mkdtemp(folder))
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	return rmdir(folder) || ret;
}
