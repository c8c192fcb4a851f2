// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verbs of bbrmon that read a recording, on arbitrary ones. The first byte of the input selects
 * the command line, the others become chunks of runs. What is printed must be fit for a terminal;
 * with --json each line must be valid.
 */
#define _GNU_SOURCE /* open_memstream(), memfd_create(), strcasestr() */
#include <sys/sendfile.h>

#include <json-c/json.h>

#include "event/field.h"
#include "layout/layout.h"
#include "made_recording.h"

#define MAX_WORDS 16
#define MAX_CHUNKS 16
#define IN "<" /* the recording */
#define COPY ">" /* another file with the same contents */

enum printed {
	TEXT,
	LINES_OF_JSON,
	PAGE,
	FIGURE,
	NOTHING
};

static struct command {
	enum printed printed;
	const char *words[MAX_WORDS];
	unsigned long done;
} commands[] = {
	{ TEXT, { "stream", "--read", IN } },
	{ LINES_OF_JSON, { "stream", "-j", "--every", "10ms", "--read", IN } },
	{ TEXT, { "snapshot", "--read", IN } },
	{ LINES_OF_JSON, { "snapshot", "-j", "--at", "3s", "--read", IN } },
	{ TEXT, { "snapshot", "-O", "--sort", "-bw_bps,profile,rtt_us,mode", "--read", IN } },
	{ LINES_OF_JSON, { "snapshot", "-j", "--sort", "instance,remote,cwnd", "--read", IN } },
	{ TEXT, { "snapshot", "--summary", "--read", IN } },
	{ LINES_OF_JSON, { "snapshot", "--summary", "-j", "--read", IN } },
	{ TEXT, { "top", "--batch", "-n", "8", "--read", IN } },
	{ TEXT, { "top", "--batch", "-n", "8", "-w", "80", "-s", "mode", "--read", IN } },
	{ LINES_OF_JSON, { "top", "-j", "-n", "8", "--read", IN } },
	{ PAGE, { "report", "-o", "-", IN } },
	{ PAGE, { "report", "-o", "-", "--points", "1000", "--flows", "2", IN } },
	{ TEXT, { "export", "--read", IN } },
	{ NOTHING, { "record", "--read", IN, "-o", COPY } },
	{ LINES_OF_JSON, { "record", "-j", "--append", "--read", IN, "-o", COPY } },
	{ TEXT, { "stream", "--read", IN, "rtt_us > 1000 and not cwnd < 5" } },
	{ FIGURE, { "report", "--svg", "-", IN } },
	{ FIGURE, { "report", "--svg", "-", "--flow", "2", "--from", "1ms", "--to", "1s", IN } },
	{ TEXT, { "snapshot", "--read", IN, "mode != PROBE_BW or bw_bps < 1Mbit" } },
	{ TEXT, { "why", "--idle", "--read", IN } },
	{ LINES_OF_JSON, { "why", "-j", "--from", "1ms", "--to", "2s", "--read", IN, "cwnd > 1" } },
	{ TEXT, { "why", "--by", "prefix", "--read", IN } },
	{ LINES_OF_JSON, { "why", "-j", "--by", "netns", "--read", IN } },
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

int bbrmon_main(int argc, char **argv);

static void report(void)
{
	for (size_t i = 0; i < N_COMMANDS; i++) {
		char text[256] = "";

		for (int w = 0; commands[i].words[w]; w++)
			sprintf(text + strlen(text), " %s", commands[i].words[w]);
		strcat(text, ": done");
		say_reached(text + 1, commands[i].done);
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return atexit(report);
}

/* A chunk's head, as the input has it. */
struct chunk_head {
	__u8 run; /* its number, and whether it has one of these: */
	__u8 part; /* of the chunk is in the file; 0: all */
	__u16 size; /* of its records */
};

#define CHUNK_RUN 7
#define CHUNK_HAS_EPOCH 8
#define CHUNK_CUT 32

static size_t take_chunk(struct input *in, __u8 *to, size_t room)
{
	static __u8 records[MAX_FILE];
	struct recording_head head = {};
	struct chunk_head chunk;
	size_t size;

	input_take(in, &chunk, sizeof(chunk));
	head.run.id = 1 + (chunk.run & CHUNK_RUN);
	head.run.boot_id[0] = head.run.id / 2;
	head.run.sampling = head.run.id & 3;
	if (chunk.run & CHUNK_HAS_EPOCH)
		input_take(in, &head.run.epoch_ns, sizeof(head.run.epoch_ns));
	size = chunk.size < in->left ? chunk.size : in->left;
	input_take(in, records, size);
	size = write_chunk(&head, records, size, to, room);
	return chunk.run & CHUNK_CUT ? size * chunk.part / 256 : size;
}

static int made_file(struct input *in)
{
	static __u8 file[2 * MAX_FILE];
	size_t size = 0;

	for (int i = 0; i < MAX_CHUNKS && in->left; i++)
		size += take_chunk(in, file + size, sizeof(file) - size);
	return file_of(file, size);
}

/* For people: ASCII, with lines and tabs, and what bbrmon itself has of UTF-8. */
static void check_text(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		CHECK(text[i] == '\n' || text[i] == '\t' || (text[i] >= ' ' && text[i] <= '~') ||
		      text[i] & 0x80);
}

static void check_lines(char *text)
{
	char *line;

	while ((line = strsep(&text, "\n"))) {
		struct json_object *object = *line ? json_tokener_parse(line) : NULL;

		CHECK(!*line || object);
		json_object_put(object);
	}
}

/* Names of the recording are text in it: there is no script, no link and no style of theirs. */
static void check_figure(const char *text)
{
	CHECK(!*text || !strncmp(text, "<?xml", 5) || !strncmp(text, "<svg", 4));
	CHECK(!strcasestr(text, "<script") && !strcasestr(text, "javascript:"));
	CHECK(!strcasestr(text, "<foreignobject") && !strstr(text, "<!"));
}

static int run(const struct command *c, const char *in, const char *copy)
{
	char *argv[MAX_WORDS + 2] = { "bbrmon" };
	int argc = 1;

	for (int i = 0; c->words[i]; i++) {
		const char *word = c->words[i];

		argv[argc++] = (char *)(!strcmp(word, IN) ? in : !strcmp(word, COPY) ? copy : word);
	}
	return bbrmon_main(argc, argv);
}

/* 1: the recording is wrong. The command lines here are not, of which a message names --help. */
static bool is_status(int ret, const char *said)
{
	return ret >= 0 && ret <= 3 && !strstr(said, " --help ");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char paths[2][32]; /* bbrmon takes another pointer for another file */
	static int turn;
	struct input in = { data, size < MAX_FILE / 2 ? size : MAX_FILE / 2 };
	FILE *real_out = stdout, *real_err = stderr;
	char *out, *said, copied[32];
	size_t out_size, said_size;
	struct command *c;
	__u8 which;
	int fd, copy, ret;

	input_take(&in, &which, sizeof(which));
	c = &commands[which % N_COMMANDS];
	fd = made_file(&in);
	copy = memfd_create("copy", MFD_CLOEXEC);
	CHECK(copy >= 0 && sendfile(copy, fd, &(off_t){ 0 }, MAX_FILE) >= 0);
	turn = !turn;
	sprintf(paths[turn], "/proc/self/fd/%d", fd);
	sprintf(copied, "/proc/self/fd/%d", copy);
	stdout = open_memstream(&out, &out_size); /* glibc allows the assignment */
	stderr = open_memstream(&said, &said_size);
	CHECK(stdout && stderr);
	ret = run(c, paths[turn], copied);
	CHECK(!ferror(stdout));
	fclose(stdout);
	fclose(stderr);
	stdout = real_out;
	stderr = real_err;
	if (!is_status(ret, said)) {
		dprintf(2, "status %d: %s\n", ret, said);
		abort();
	}
	c->done += !ret;
	check_text(said, said_size);
	if (c->printed == TEXT)
		check_text(out, out_size);
	if (c->printed == LINES_OF_JSON)
		check_lines(out);
	if (c->printed == FIGURE)
		check_figure(out);
	free(out);
	free(said);
	layout_forget();
	text_plan_forget();
	field_forget();
	close(fd);
	close(copy);
	return 0;
}
