// SPDX-License-Identifier: GPL-2.0-only
/*
 * What bbrctl does with `--object FILE` before the kernel gets it. The input is the file; or, if its
 * first byte is not 0, changes to one of our own objects, by which the fuzzer gets further than
 * chance would. libbpf itself crashes on some files, for which bbrctl has a process without
 * privileges: here another one opens each file first, and what kills it counts as
 * refused.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <sanitizer/common_interface_defs.h>

#include "cli/err.h"
#include "descriptor.h"
#include "fuzz.h"
#include "instance/object.h"
#include "instance/struct_ops.h"
#include "kernel/instance.h"
#include "self/embedded.h"

/* A change: bytes at a place of a section. */
struct change {
	__u8 section; /* of the names below, then by its number */
	__u8 bytes; /* 1, 2 or 4 are written; with CUT the file ends there */
	__u16 offset; /* modulo the section's size */
	__u32 value;
};

#define CUT 0x80
#define MOST_CHANGES 32

/* What the first numbers mean; a section's number has no name that stays as the compiler changes. */
static const char *const sections[] = { "",
					"", /* the file's head, and the table of sections */
					BBR_MAP_ABI,
					BBR_MAP_PARAMS,
					BBR_MAP_FLAGS,
					".BTF",
					".symtab",
					".maps",
					".struct_ops",
					"license",
					".strtab",
					".BTF.ext" };
#define NAMED (sizeof(sections) / sizeof(sections[0]))

typedef struct bpf_object *(*open_mem_t)(const void *, size_t, const struct bpf_object_open_opts *);

/* The process that opens each file first. It lasts, because a fuzzer's fork() takes 13 ms. */
static struct {
	pid_t pid; /* 0: there is none */
	int to, from;
	struct {
		size_t size;
		__u8 bytes[1 << 21];
	} *file; /* memory that both have */
} first;

static struct btf *burst; /* the types of a kernel whose callback has another name */
static bool tried, survived; /* that process, with the input's file */
static unsigned long opened, no_elf, other_kind, unread, no_record, other_version, no_match,
	unknown, with_flags, crashed;

static void report(void)
{
	say_reached("opened", opened);
	say_reached("not an ELF file", no_elf);
	say_reached("an ELF file of another kind", other_kind);
	say_reached("libbpf cannot read it", unread);
	say_reached("no ABI record", no_record);
	say_reached("another version", other_version);
	say_reached("a record that does not match the maps", no_match);
	say_reached("an algorithm that nobody knows", unknown);
	say_reached("flags can be chosen", with_flags);
	dprintf(2, "libbpf crashed %lu times\n", crashed);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	int i, id;

	(void)argc;
	(void)argv;
	err_init("bbrctl", false);
	first.file = mmap(NULL, sizeof(*first.file), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(first.file != MAP_FAILED);
	burst = btf__new_empty();
	CHECK(!libbpf_get_error(burst));
	i = btf__add_int(burst, "int", 4, BTF_INT_SIGNED);
	id = btf__add_struct(burst, "tcp_congestion_ops", 4);
	CHECK(i > 0 && id > 0 && !btf__add_field(burst, "tso_segs", i, 0, 0));
	return atexit(report);
}

static void open_what_comes(open_mem_t open_mem, int from, int to)
{
	static const int ends[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM };
	char go;

	__sanitizer_set_death_callback(NULL); /* libFuzzer's would keep the input as a find */
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		signal(ends[i], SIG_DFL);
	dup2(open("/dev/null", O_WRONLY), 2);
	while (read(from, &go, 1) == 1) {
		alarm(10);
		bpf_object__close(open_mem(first.file->bytes, first.file->size, NULL));
		if (write(to, &go, 1) != 1)
			break;
	}
	_exit(0);
}

static void start_first(open_mem_t open_mem)
{
	int to[2], from[2];

	CHECK(!pipe2(to, O_CLOEXEC) && !pipe2(from, O_CLOEXEC));
	first.pid = fork();
	CHECK(first.pid >= 0);
	if (!first.pid) {
		close(to[1]);
		close(from[0]);
		open_what_comes(open_mem, to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	first.to = to[1];
	first.from = from[0];
}

/* True if libbpf does not crash on these bytes. */
static bool survives(open_mem_t open_mem, const void *bytes, size_t size)
{
	char go = 1;

	if (!first.pid)
		start_first(open_mem);
	CHECK(size <= sizeof(first.file->bytes));
	memcpy(first.file->bytes, bytes, size);
	first.file->size = size;
	CHECK(write(first.to, &go, 1) == 1);
	if (read(first.from, &go, 1) == 1)
		return true;
	CHECK(waitpid(first.pid, NULL, 0) == first.pid);
	close(first.to);
	close(first.from);
	first.pid = 0;
	return false;
}

/* Instead of libbpf's, which it calls. */
struct bpf_object *bpf_object__open_mem(const void *bytes, size_t size,
					const struct bpf_object_open_opts *opts)
{
	open_mem_t real = (open_mem_t)(uintptr_t)dlsym(RTLD_NEXT, "bpf_object__open_mem");

	if (!tried) {
		survived = survives(real, bytes, size);
		tried = true;
		crashed += !survived;
	}
	if (survived)
		return real(bytes, size, opts);
	errno = EINVAL;
	return NULL;
}

static const Elf64_Shdr *find_section(const __u8 *file, __u8 number)
{
	const Elf64_Ehdr *head = (const void *)file;
	const Elf64_Shdr *table = (const void *)(file + head->e_shoff);
	const char *names = (const char *)file + table[head->e_shstrndx].sh_offset;

	for (int i = 0; number < NAMED && i < head->e_shnum; i++)
		if (!strcmp(names + table[i].sh_name, sections[number]))
			return &table[i];
	return &table[number % head->e_shnum];
}

/* Where the change is, in a file that is not changed yet. */
static size_t place_of(const __u8 *file, const struct change *c)
{
	const Elf64_Ehdr *head = (const void *)file;
	const Elf64_Shdr *section;

	if (!c->section)
		return c->offset % sizeof(*head);
	if (c->section == 1)
		return head->e_shoff + c->offset % (head->e_shnum * sizeof(*section));
	section = find_section(file, c->section);
	return section->sh_offset + (section->sh_size ? c->offset % section->sh_size : 0);
}

/* Changes one of our objects. Returns its new size. */
static size_t change(__u8 *to, const struct embedded *from, struct input *in)
{
	size_t size = from->end - from->begin, at;
	struct change c;

	memcpy(to, from->begin, size);
	for (int i = 0; in->left && i < MOST_CHANGES; i++) {
		input_take(in, &c, sizeof(c));
		at = place_of((const __u8 *)from->begin, &c) % (from->end - from->begin);
		if (c.bytes & CUT)
			size = at < size ? at : size;
		else
			memcpy(to + at, &c.value, c.bytes & 4 ? 4 : c.bytes & 2 ? 2 : 1);
	}
	return size;
}

static int file_of(struct input *in)
{
	const struct algorithm *algorithm;
	struct embedded from;
	size_t size = in->left;
	__u8 *bytes, which;
	int fd = memfd_create("object", MFD_CLOEXEC);

	CHECK(fd >= 0);
	input_take(in, &which, sizeof(which));
	if (!which) {
		CHECK(write(fd, in->data, in->left) == (ssize_t)in->left);
		return fd;
	}
	algorithm = algorithms[(which - 1) % n_algorithms];
	from = embedded_object(algorithm);
	bytes = malloc(from.end - from.begin + sizeof(__u32));
	CHECK(bytes);
	size = change(bytes, &from, in);
	CHECK(write(fd, bytes, size) == (ssize_t)size);
	free(bytes);
	return fd;
}

static void check_text(const char *text, size_t room)
{
	CHECK(strnlen(text, room) < room);
	for (; *text; text++)
		CHECK(*text > ' ' && *text <= '~');
}

static void check_opened(struct object *obj)
{
	const __u32 flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN;

	check_text(obj->abi.version, sizeof(obj->abi.version));
	check_text(obj->abi.algorithm, sizeof(obj->abi.algorithm));
	CHECK(obj->abi.magic == BBR_ABI_MAGIC && obj->abi.major == BBR_ABI_MAJOR);
	CHECK(abi_is_sound(&obj->abi));
	CHECK(obj->algorithm == algorithm_find(obj->abi.algorithm));
	unknown += !obj->algorithm;
	callbacks_rename(obj->bpf, burst);
	if (!object_set_flags(obj->bpf, flags)) {
		CHECK(object_flags(obj->bpf) == flags);
		with_flags++;
	}
	opened++;
	object_close(obj);
}

static void check_refused(const char *said)
{
	CHECK(!strncmp(said, "bbrctl: ", strlen("bbrctl: ")));
	for (const char *c = said; *c; c++)
		CHECK(*c == '\n' || (*c >= ' ' && *c <= '~'));
	no_elf += strstr(said, "not even an ELF file") != NULL;
	other_kind += strstr(said, "an ELF file of another kind") != NULL;
	unread += strstr(said, "libbpf cannot read it") != NULL;
	no_record += strstr(said, "it has no ABI record") != NULL;
	other_version += strstr(said, "it is of another version") != NULL;
	no_match += strstr(said, "does not match its maps") != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	int fd = file_of(&in), ret;
	struct object obj;
	char path[32], *said;
	size_t n;
	FILE *messages = open_memstream(&said, &n);

	CHECK(messages);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	tried = false;
	err_to(messages);
	ret = object_open(path, NULL, &obj);
	err_to(NULL);
	fclose(messages);
	CHECK(ret == EXIT_DONE || ret == EXIT_REFUSED || ret == EXIT_USAGE);
	CHECK((ret == EXIT_DONE) == !n);
	if (ret)
		check_refused(said);
	else
		check_opened(&obj);
	free(said);
	close(fd);
	return 0;
}
