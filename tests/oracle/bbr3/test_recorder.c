// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the recorder writes for version 3: a recording that is read and written again stays the
 * same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../recorder.h"
#include "v3r.h"

/* The recorder's programs, a recording, and the path of the one to write. */
static const char *programs, *recording, *written;

_Noreturn void record_die(const char *what)
{
	fprintf(stderr, "test_recorder: %s\n", what);
	exit(1);
}

/*
 * A kernel's struct bbr with everything that one can contain: words, bit fields, an array, a
 * structure.
 */
static struct btf *make_types(void)
{
	struct btf *btf = btf__new_empty();
	int u8 = btf__add_int(btf, "unsigned char", 1, 0);
	int u16 = btf__add_int(btf, "unsigned short", 2, 0);
	int u32 = btf__add_int(btf, "unsigned int", 4, 0);
	int word = btf__add_typedef(btf, "u32", u32);
	int pair = btf__add_array(btf, u32, u16, 2);
	int plb = btf__add_struct(btf, "plb", 5);

	btf__add_field(btf, "rounds", u8, 0, 5);
	btf__add_field(btf, "pause_until", word, 8, 0);
	btf__add_struct(btf, "bbr", STATE_SIZE);
	btf__add_field(btf, "min_rtt_us", word, 0, 0);
	btf__add_field(btf, "mode", word, 32, 2);
	btf__add_field(btf, "prev_ca_state", word, 34, 3);
	btf__add_field(btf, "extra_acked", pair, 64, 0);
	btf__add_field(btf, "plb", plb, 1096, 0);
	return btf;
}

static const char state[] = "[[\"min_rtt_us\",0,32],[\"mode\",32,2],[\"prev_ca_state\",34,3],"
			    "[\"extra_acked_0\",64,16],[\"extra_acked_1\",80,16],"
			    "[\"plb_rounds\",1096,5],[\"plb_pause_until\",1104,32]]";

static void write_about(const char *path)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs("{\"scenario\":\"again\",\"points\":[{\"point\":\"\"}]}", f);
	assert_int_equal(fclose(f), 0);
}

/* The header at the start of the file. */
static struct json_object *read_header(const char *path)
{
	char command[512], *line = NULL;
	struct json_object *header;
	size_t size = 0;
	FILE *f;

	snprintf(command, sizeof(command), "zstd -dcq --long=31 '%s'", path);
	f = popen(command, "r");
	assert_non_null(f);
	assert_true(getline(&line, &size, f) > 0);
	pclose(f);
	header = json_tokener_parse(line);
	assert_non_null(header);
	free(line);
	return header;
}

static const char *text_of(struct json_object *header, const char *key)
{
	struct json_object *found;

	assert_true(json_object_object_get_ex(header, key, &found));
	return json_object_to_json_string_ext(found, JSON_C_TO_STRING_PLAIN);
}

/* Writes all records of the recording again. Returns how many there are. */
static __u64 write_again(void)
{
	struct totals totals = { .omitted[KIND_TSO_SEGS] = 3 };
	struct btf *types = btf__parse(programs, NULL), *kernel = make_types();
	char about[512];
	struct record record;
	__u64 n = 0;
	struct v3r r;

	assert_non_null(types);
	snprintf(about, sizeof(about), "%s.about", written);
	write_about(about);
	recorder_bbr3.create(written, &(struct recorded_kernel){ .btf = kernel,
								 .programs = types,
								 .release = "6.12.0-made",
								 .hz = 250,
								 .about = about });
	unlink(about);
	v3r_open(&r, recording);
	while (v3r_read(&r, &record)) {
		recorder_bbr3.write(0, &record);
		totals.recorded[record.kind]++;
		n++;
	}
	memcpy(totals.calls, totals.recorded, sizeof(totals.calls));
	totals.calls[KIND_TSO_SEGS] += 3;
	v3r_close(&r, totals.recorded);
	recorder_bbr3.finish(&totals);
	btf__free(types);
	btf__free(kernel);
	return n;
}

static void records_are_written_as_they_are(void **unused)
{
	__u64 seen[MAX_KINDS] = {}, n = write_again();
	struct record was, is;
	struct v3r from, to;

	(void)unused;
	v3r_open(&from, recording);
	v3r_open(&to, written);
	assert_int_equal(to.hz, 250);
	while (v3r_read(&to, &is)) {
		assert_true(v3r_read(&from, &was));
		assert_memory_equal(&is, &was, sizeof(is));
		seen[is.kind]++;
		n--;
	}
	assert_int_equal(n, 0);
	v3r_close(&to, seen);
	v3r_close(&from, seen);
}

/*
 * Names, offsets and types of a record's fields are those of the recording, which was made
 * elsewhere.
 */
static void the_header_describes_what_follows(void **unused)
{
	struct json_object *was = read_header(recording), *is;
	static const char *const same[] = { "format",	"record_size", "records",
					    "recorded", "kinds",       "fields" };

	(void)unused;
	write_again();
	is = read_header(written);
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		assert_string_equal(text_of(is, same[i]), text_of(was, same[i]));
	assert_string_equal(text_of(is, "state"), state);
	assert_string_equal(text_of(is, "kernel"), "\"6.12.0-made\"");
	assert_string_equal(text_of(is, "scenario"), "\"again\"");
	assert_string_equal(text_of(is, "points"), "[{\"point\":\"\"}]");
	assert_string_equal(text_of(is, "omitted"), "{\"tso_segs\":3}");
	assert_string_equal(text_of(is, "dropped"), "0");
	assert_string_equal(text_of(is, "overlap"), "0");
	json_object_object_foreach(was, key, value)
	{
		(void)value;
		if (strcmp(key, "seed") && strcmp(key, "about")) /* the caller's */
			text_of(is, key);
	}
	json_object_put(was);
	json_object_put(is);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_written_as_they_are),
		cmocka_unit_test(the_header_describes_what_follows),
	};

	if (argc != 4) {
		fputs("usage: test_recorder PROGRAMS RECORDING TO_WRITE\n", stderr);
		return 2;
	}
	programs = argv[1];
	recording = argv[2];
	written = argv[3];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
