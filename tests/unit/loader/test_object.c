/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A BPF object that somebody hands over is looked at in a process without privileges. If libbpf
 * crashes there, that is one message.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/landlock.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>

#include "cli/privileges.h"
#include "cli/err.h"
#include "instance/object.h"
#include "kernel/kernel_types.h"

#include "../capture.h"

#define OBJECT "build/bpf_bbr.bpf.o"

static char path[] = "/tmp/test_object.XXXXXX";
static int file = -1;

/* What libbpf is to do, and what its process had when it was called; shared with the child. */
static struct seen {
	enum {
		WORK,
		CRASH,
		TRUNCATE
	} then;
	pid_t parent;
	int calls, calls_of_parent;
	__u64 caps;
	int no_new_privs, may_open;
} *seen;

/* Instead of libbpf's, which it calls. */
struct bpf_object *bpf_object__open_mem(const void *bytes, size_t size,
					const struct bpf_object_open_opts *opts)
{
	struct bpf_object *(*real)(const void *, size_t, const struct bpf_object_open_opts *) =
		(__typeof__(real))(uintptr_t)dlsym(RTLD_NEXT, "bpf_object__open_mem");
	int fd;

	seen->calls++;
	if (getpid() == seen->parent) {
		seen->calls_of_parent++;
		return real(bytes, size, opts);
	}
	seen->caps = caps_of_process(CAP_PERMITTED) | caps_of_process(CAP_EFFECTIVE);
	seen->no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
	fd = open("/etc/passwd", O_RDONLY);
	seen->may_open = fd >= 0;
	if (seen->then == CRASH)
		kill(getpid(), SIGKILL);
	if (seen->then == TRUNCATE && ftruncate(file, 0))
		return NULL;
	return real(bytes, size, opts);
}

/* ---- a kernel that refuses the object */

#define SOCK_BYTES 16

static struct {
	struct btf *types;
	int refused_at; /* the offset in a socket that no program may set; -1: none */
	bool takes_programs;
} kernel;

struct btf *btf__load_vmlinux_btf(void)
{
	errno = ENOENT;
	return kernel.types;
}

int bpf_object__load(struct bpf_object *obj)
{
	(void)obj;
	errno = EACCES;
	return -EACCES;
}

/* libbpf's headers do not agree on its last parameter. */
int load_program(enum bpf_prog_type type, const char *name, const char *license,
		 const struct bpf_insn *insns, size_t n,
		 const struct bpf_prog_load_opts *opts) __asm__("bpf_prog_load");
int load_program(enum bpf_prog_type type, const char *name, const char *license,
		 const struct bpf_insn *insns, size_t n, const struct bpf_prog_load_opts *opts)
{
	const struct btf_type *ops = btf__type_by_id(kernel.types, opts->attach_btf_id);
	const struct btf_member *init = &btf_members(ops)[opts->expected_attach_type];

	(void)name, (void)license;
	assert_int_equal(type, BPF_PROG_TYPE_STRUCT_OPS);
	assert_string_equal(btf__name_by_offset(kernel.types, init->name_off), "init");
	errno = kernel.takes_programs ? EACCES : EPERM;
	if (!kernel.takes_programs)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (BPF_CLASS(insns[i].code) == BPF_ST && insns[i].off == kernel.refused_at)
			return -1;
	return open("/dev/null", O_RDONLY);
}

/* Has what the object needs, but for one callback. Members of tcp_sock come after those of sock. */
static void make_kernel(const struct bpf_object *obj, const char *without)
{
	struct bpf_program *prog;
	int u32, u64, at = 0;

	kernel.types = btf__new_empty();
	kernel.takes_programs = true;
	kernel.refused_at = -1;
	u32 = btf__add_int(kernel.types, "u32", 4, 0);
	u64 = btf__add_int(kernel.types, "u64", 8, 0);
	btf__add_struct(kernel.types, "bpf_struct_ops_tcp_congestion_ops", 8);
	btf__add_struct(kernel.types, "sock", SOCK_BYTES);
	btf__add_field(kernel.types, "sk_pacing_rate", u64, 0, 0);
	btf__add_field(kernel.types, "sk_pacing_status", u32, 64, 0);
	btf__add_struct(kernel.types, "tcp_sock", SOCK_BYTES + 8);
	btf__add_field(kernel.types, "snd_cwnd", u32, 8 * SOCK_BYTES, 0);
	btf__add_field(kernel.types, "snd_ssthresh", u32, 8 * SOCK_BYTES + 32, 0);
	btf__add_struct(kernel.types, "tcp_congestion_ops", 1024);
	bpf_object__for_each_program(prog, obj)
	{
		if (bpf_program__type(prog) != BPF_PROG_TYPE_STRUCT_OPS ||
		    !strcmp(bpf_program__name(prog), without))
			continue;
		btf__add_field(kernel.types, bpf_program__name(prog), u64, at, 0);
		at += 64;
	}
	assert_true(at);
}

/* ---- */

/* A copy of an object of the build, or what is given. */
static void make_file(const char *text)
{
	char *all = NULL;
	size_t len = 0;
	FILE *from = text ? NULL : fopen(OBJECT, "re"), *to = open_memstream(&all, &len);
	int c;

	assert_true(text || from);
	if (text)
		fputs(text, to);
	while (from && (c = getc(from)) != EOF)
		putc(c, to);
	if (from)
		fclose(from);
	fclose(to);
	assert_int_equal(ftruncate(file, 0), 0);
	assert_int_equal(pwrite(file, all, len, 0), len);
	free(all);
}

static int open_it(struct object *obj)
{
	seen->calls = seen->calls_of_parent = 0;
	seen->parent = getpid();
	return object_open(path, NULL, obj);
}

/* The same with what it and its child print, in `errors`. */
static int open_and_listen(const char *name, char errors[512])
{
	FILE *to = tmpfile();
	int ret, real = dup(STDERR_FILENO);
	struct object obj;
	size_t len;

	seen->calls = seen->calls_of_parent = 0;
	seen->parent = getpid();
	assert_true(to && dup2(fileno(to), STDERR_FILENO) >= 0);
	ret = object_open(name, NULL, &obj);
	dup2(real, STDERR_FILENO);
	close(real);
	rewind(to);
	len = fread(errors, 1, 511, to);
	errors[len] = 0;
	fclose(to);
	return ret;
}

/* QEMU's user mode, for one, knows no Landlock. */
static bool has_landlock(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0;
}

static void test_the_child_has_no_privileges(void **state)
{
	struct object obj;

	(void)state;
	seen->then = WORK;
	make_file(NULL);
	assert_int_equal(open_it(&obj), EXIT_DONE);
	assert_string_equal(obj.abi.algorithm, "bbr");
	object_close(&obj);
	assert_int_equal(seen->calls, 2);
	assert_int_equal(seen->calls_of_parent, 1);
	assert_int_equal(seen->caps, 0);
	assert_int_equal(seen->no_new_privs, 1);
	assert_true(!seen->may_open || !has_landlock());
}

static void test_a_crash_is_one_message(void **state)
{
	char expected[512], errors[512];

	(void)state;
	seen->then = CRASH;
	make_file(NULL);
	snprintf(expected, sizeof(expected),
		 "tool: %s: cannot be read: the process without privileges that looked at it died: "
		 "Killed\n"
		 "  the file is damaged, or made to do harm\n",
		 path);
	assert_int_equal(open_and_listen(path, errors), EXIT_REFUSED);
	assert_string_equal(errors, expected);
	assert_int_equal(seen->calls_of_parent, 0);
}

/* The child finds the mistake and says so, once. */
static void test_a_mistake_is_reported_once(void **state)
{
	static const char elf[] = "\177ELF and no more";
	char expected[512], errors[512];

	(void)state;
	seen->then = WORK;
	make_file(elf);
	snprintf(expected, sizeof(expected),
		 "tool: %s: it is not a whole BPF object: libbpf cannot read it\n", path);
	assert_int_equal(open_and_listen(path, errors), EXIT_USAGE);
	assert_memory_equal(errors, expected, strlen(expected));
	assert_null(strstr(errors + 1, "tool: "));
	assert_int_equal(seen->calls_of_parent, 0);
}

/* What was looked at is what is loaded. */
static void test_the_file_changes_in_between(void **state)
{
	struct stat st;
	struct object obj;

	(void)state;
	seen->then = TRUNCATE;
	make_file(NULL);
	assert_int_equal(open_it(&obj), EXIT_DONE);
	assert_false(fstat(file, &st));
	assert_int_equal(st.st_size, 0);
	object_close(&obj);
}

static void expect_refusal(const struct object *obj, const char *expected)
{
	char printed[512];

	capture_begin();
	assert_int_equal(object_load(obj), EXIT_REFUSED);
	capture_end();
	snprintf(printed, sizeof(printed), "%s", captured_messages());
	if (!strstr(printed, expected))
		fail_msg("%s is not in %s", expected, printed);
	kernel_types_forget();
	kernel.types = NULL;
}

/* Not the kernel's number decides, but what it has and does. */
static void test_what_a_kernel_lacks_is_named(void **state)
{
	struct object obj;

	(void)state;
	seen->then = WORK;
	make_file(NULL);
	assert_int_equal(open_it(&obj), EXIT_DONE);
	expect_refusal(&obj, "no type information (/sys/kernel/btf/vmlinux)");
	make_kernel(obj.bpf, "sndbuf_expand");
	expect_refusal(&obj, "its congestion controls have no sndbuf_expand\n");
	make_kernel(obj.bpf, "");
	kernel.refused_at = 0;
	expect_refusal(&obj, "it does not let BPF programs set sk_pacing_rate\n");
	make_kernel(obj.bpf, "");
	kernel.refused_at = SOCK_BYTES + 4;
	expect_refusal(&obj, "it does not let BPF programs set snd_ssthresh\n");
	make_kernel(obj.bpf, "");
	expect_refusal(&obj, "the kernel refused the BPF program: ");
	make_kernel(obj.bpf, "");
	kernel.takes_programs = false; /* by no means a reason to name a member */
	kernel.refused_at = 0;
	expect_refusal(&obj, "the kernel refused the BPF program: ");
	object_close(&obj);
}

static void test_files_without_an_object(void **state)
{
	char errors[512];

	(void)state;
	seen->then = WORK;
	make_file("");
	assert_int_equal(open_and_listen(path, errors), EXIT_USAGE);
	assert_non_null(strstr(errors, "not even an ELF file"));
	assert_int_equal(open_and_listen("/dev/zero", errors), EXIT_USAGE);
	assert_non_null(strstr(errors, "too large"));
	assert_int_equal(open_and_listen("/tmp", errors), EXIT_USAGE);
	assert_non_null(strstr(errors, "not even an ELF file"));
	assert_int_equal(seen->calls, 0);
}

static int begin(void **state)
{
	(void)state;
	err_init("tool", false);
	file = mkstemp(path);
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return file < 0 || seen == MAP_FAILED;
}

static int end(void **state)
{
	(void)state;
	close(file);
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_child_has_no_privileges),
		cmocka_unit_test(test_a_crash_is_one_message),
		cmocka_unit_test(test_a_mistake_is_reported_once),
		cmocka_unit_test(test_the_file_changes_in_between),
		cmocka_unit_test(test_what_a_kernel_lacks_is_named),
		cmocka_unit_test(test_files_without_an_object),
	};

	return cmocka_run_group_tests_name("object", tests, begin, end);
}
