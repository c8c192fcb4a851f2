// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fields of an event: values, names, JSON and text, and what follows from them. The examples are
 * BBR version 1 and an algorithm that has nothing in common with it.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <json-c/json.h>

#include "event/event.h"
#include "event/field.h"

#define TEST(f) cmocka_unit_test(f)

static const struct algorithm *v1;

/* An algorithm with its own modes and a tail. */
struct other_tail {
	__u32 window;
	__u8 colour;
	__u8 is_open;
	__u16 width;
	__u64 sum;
};

#define OTHER_AT(member)                                                \
	.offset = BBR_EVENT_BASE + offsetof(struct other_tail, member), \
	.width = sizeof(((struct other_tail *)0)->member)

static const char *const colours[] = { "red", "green" };
static const char *const phases[] = { "up", "down" };
static const struct algorithm_mode modes[] = {
	{ .name = "ONLY", .phases = phases, .n_phases = 2 }
};
static const struct field other_fields[] = {
	{ "window", OTHER_AT(window), FIELD_COUNT, .text = " window:%/", .order = TEXT_REST },
	{ "colour", OTHER_AT(colour), FIELD_NAME, NAMES(colours), .text = " (%)",
	  .order = TEXT_MODEL, .text_if = { "window", 5 } },
	{ "open", OTHER_AT(is_open), FIELD_FLAG, 2, .text = " open", .order = TEXT_WINDOW + 1 },
	{ "width", OTHER_AT(width), FIELD_GAIN, .has_unknown = true, .unknown = 7 },
	{ "sum", OTHER_AT(sum), FIELD_COUNT, .needs = BBR_F_ROUND_START },
};
static const struct algorithm other = {
	.name = "other",
	.modes = modes,
	.n_modes = 1,
	.fields = other_fields,
	.n_fields = sizeof(other_fields) / sizeof(other_fields[0]),
	.tail_size = sizeof(struct other_tail),
};

static struct bbr_event event_of(const struct algorithm *a)
{
	return (struct bbr_event){
		.size = BBR_EVENT_BASE + a->tail_size,
		.major = BBR_ABI_MAJOR,
		.kind = BBR_EV_ACK,
		.family = AF_INET,
		.flags = BBR_F_SAMPLE,
		.laddr = { 0, 0, htonl(0xffff), htonl(0x0a000001) },
		.raddr = { 0, 0, htonl(0xffff), htonl(0x0a000002) },
		.lport = htons(1000),
		.rport = htons(443),
		.pacing_rate = 1250000,
		.srtt_us = 12000,
		.cwnd = 20,
		.inflight = 10,
		.mss = 1000,
		.delivered = 300,
		.lost = 3,
		.rtt_us = 10500,
		.rs_delivered = 10,
		.rs_interval_us = 8000,
		.rs_prior_inflight = 12,
		.bw = (1 << 24) / 1000, /* a packet in a millisecond */
		.min_rtt_us = 10000,
		.rounds = 7,
		.pacing_gain = 320,
		.cwnd_gain = 512,
	};
}

static __u64 value_of(const struct algorithm *a, const struct bbr_event *e, const char *key)
{
	const struct field *f = field_find(a, key);
	__u64 value = 12345;

	assert_non_null(f);
	assert_true(field_value(f, e, &value));
	return value;
}

static bool is_known(const struct algorithm *a, const struct bbr_event *e, const char *key)
{
	const struct field *f = field_find(a, key);
	__u64 value;

	assert_non_null(f);
	return field_value(f, e, &value);
}

static void each_width_and_unit_is_read(void **state)
{
	struct bbr_event e = event_of(&other);
	struct other_tail *tail = (void *)e.tail;

	(void)state;
	*tail = (struct other_tail){ 0xfffffff0, 1, 6, 640, 1ull << 60 };
	e.flags |= BBR_F_ROUND_START;
	assert_int_equal(value_of(&other, &e, "window"), 0xfffffff0);
	assert_int_equal(value_of(&other, &e, "colour"), 1);
	assert_int_equal(value_of(&other, &e, "open"), 1);
	assert_int_equal(value_of(&other, &e, "width"), 640);
	assert_true(value_of(&other, &e, "sum") == 1ull << 60);
	tail->is_open = 1; /* another bit than that of the mask */
	assert_int_equal(value_of(&other, &e, "open"), 0);
	assert_int_equal(value_of(&other, &e, "pacing_rate_bps"), 10000000);
	assert_int_equal(value_of(&other, &e, "delivery_rate_bps"), 10000000);
	/* 1/1000 packet of 1000 bytes in a microsecond, rounded down to 1/2^24. */
	assert_in_range(value_of(v1, &e, "bw_bps"), 7999000, 8000000);
	assert_null(field_find(&other, "bw_bps"));
}

static void what_is_not_known_is_not_a_value(void **state)
{
	struct bbr_event e = event_of(&other);
	struct other_tail *tail = (void *)e.tail;

	(void)state;
	tail->width = 7;
	assert_false(is_known(&other, &e, "width"));
	assert_false(is_known(&other, &e, "sum"));
	e.rtt_us = BBR_RTT_NONE;
	assert_false(is_known(&other, &e, "rtt_us"));
	e.pacing_rate = EVENT_UNLIMITED;
	assert_false(is_known(&other, &e, "pacing_rate_bps"));
	e.rs_delivered = -1;
	assert_false(is_known(&other, &e, "delivery_rate_bps"));
	assert_true(is_known(&other, &e, "losses"));
	e.flags = 0;
	assert_false(is_known(&other, &e, "losses"));
	assert_false(is_known(&other, &e, "app_limited"));
	/* An older minor had a shorter tail. */
	assert_true(is_known(&other, &e, "colour"));
	e.size = BBR_EVENT_BASE + offsetof(struct other_tail, colour);
	assert_true(is_known(&other, &e, "window"));
	assert_false(is_known(&other, &e, "colour"));
	e.size = BBR_EVENT_BASE;
	assert_false(is_known(&other, &e, "window"));
}

static void names_beyond_the_table_are_unknown(void **state)
{
	struct bbr_event e = event_of(v1);
	char text[MODE_TEXT_LEN];

	(void)state;
	assert_string_equal(mode_name(v1, v1->n_modes), "unknown");
	assert_string_equal(reason_name(&other, 0), "unknown");
	assert_string_equal(field_name_of(field_find(&other, "colour"), 1), "green");
	assert_string_equal(field_name_of(field_find(&other, "colour"), 2), "unknown");
	assert_string_equal(event_ca_name(4), "loss");
	assert_string_equal(event_ca_name(5), "unknown");
	e.phase = 1;
	mode_text(text, sizeof(text), &other, &e);
	assert_string_equal(text, "ONLY/down");
	e.phase = 2;
	mode_text(text, sizeof(text), &other, &e);
	assert_string_equal(text, "ONLY/unknown");
	e.mode = 1;
	mode_text(text, sizeof(text), &other, &e);
	assert_string_equal(text, "unknown");
}

static char *text_of(const struct algorithm *a, const struct bbr_event *e)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	event_print_state(out, false, a, e);
	fclose(out);
	return text;
}

static void text_is_in_the_order_of_the_fields(void **state)
{
	struct bbr_event e = event_of(&other);
	struct other_tail *tail = (void *)e.tail;
	char *text;

	(void)state;
	*tail = (struct other_tail){ .window = 5, .colour = 1, .is_open = 2 };
	text = text_of(&other, &e);
	assert_string_equal(
		text, "bbr:(bw:8Mbps,mrtt:10,pacing_gain:1.25,cwnd_gain:2) ONLY/up rtt:10.5ms "
		      "rate:10Mbps inflight:10 open cwnd:20 pacing:10Mbps (green) "
		      "delivered:300 lost:3 ca:open window:5/");
	free(text);
	tail->window = 4; /* too few for the colour */
	tail->is_open = 0;
	e.rs_losses = 2;
	e.flags |= BBR_F_APP_LIMITED;
	e.pacing_rate = EVENT_UNLIMITED;
	text = text_of(&other, &e);
	assert_string_equal(
		text, "bbr:(bw:8Mbps,mrtt:10,pacing_gain:1.25,cwnd_gain:2) ONLY/up rtt:10.5ms "
		      "rate:10Mbps app_limited losses:2 inflight:10 cwnd:20 delivered:300 lost:3 "
		      "ca:open window:4/");
	free(text);
}

static struct json_object *json_of(const struct origin *origin, const struct bbr_event *e)
{
	struct json_object *o;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	event_print_json(out, origin, NULL, e);
	fclose(out);
	o = json_tokener_parse(text);
	assert_non_null(o);
	free(text);
	return o;
}

static const char *member(struct json_object *o, const char *key)
{
	struct json_object *value;

	assert_true(json_object_object_get_ex(o, key, &value));
	return json_object_to_json_string(value);
}

static void json_has_every_field_once(void **state)
{
	const struct origin origin = { .name = "toy", .id = 1, .algorithm = &other };
	struct bbr_event e = event_of(&other);
	struct other_tail *tail = (void *)e.tail;
	struct json_object *o;

	(void)state;
	*tail = (struct other_tail){ 5, 1, 2, 640, 9 };
	o = json_of(&origin, &e);
	assert_string_equal(member(o, "window"), "5");
	assert_string_equal(member(o, "colour"), "\"green\"");
	assert_string_equal(member(o, "open"), "true");
	assert_string_equal(member(o, "width"), "2.5");
	assert_string_equal(member(o, "sum"), "null");
	assert_string_equal(member(o, "ca_state"), "\"open\"");
	assert_int_equal(json_object_object_length(o), 11 + other.n_fields + 3 + n_common_fields);
	assert_false(json_object_object_get_ex(o, "mode", NULL));
	json_object_put(o);
}

static void a_record_becomes_a_whole_event(void **state)
{
	struct {
		struct bbr_event e;
		char more[16];
	} record = {};
	struct bbr_event e;

	(void)state;
	memset(&record, 0xff, sizeof(record));
	record.e.major = BBR_ABI_MAJOR;
	record.e.size = BBR_EVENT_BASE + 4;
	assert_int_equal(event_check(&record, BBR_EVENT_BASE + 4), EVENT_OK);
	assert_int_equal(event_check(&record, BBR_EVENT_BASE + 3), EVENT_SHORT);
	assert_int_equal(event_check(&record, BBR_EVENT_BASE - 1), EVENT_SHORT);
	event_copy(&e, &record);
	assert_int_equal(e.tail[3], 0xff);
	for (size_t i = 4; i < sizeof(e.tail); i++)
		assert_int_equal(e.tail[i], 0);

	record.e.size = sizeof(record); /* of a later minor */
	assert_int_equal(event_check(&record, sizeof(record)), EVENT_OK);
	event_copy(&e, &record);
	assert_int_equal(e.size, sizeof(e));
	assert_int_equal(e.tail[sizeof(e.tail) - 1], 0xff);
	record.e.size = BBR_EVENT_BASE - 1;
	assert_int_equal(event_check(&record, sizeof(record)), EVENT_SHORT);
	record.e.major++;
	assert_int_equal(event_check(&record, sizeof(record)), EVENT_OTHER_MAJOR);
}

static void values_are_derived_in_one_place(void **state)
{
	struct bbr_event e = event_of(v1);

	(void)state;
	assert_int_equal(event_inflight(&e), 12);
	e.flags = 0;
	assert_int_equal(event_inflight(&e), 10);
	assert_int_equal(event_bdp(&e), 9); /* a little less than 10 */
	assert_in_range(event_bdp_milli(&e), 9990, 10000);
	e.min_rtt_us = BBR_RTT_NONE;
	assert_int_equal(event_bdp(&e), 0);
	assert_int_equal(event_bdp_milli(&e), 0);
	assert_true(event_pacing_bps(&e) == 1e7);
	e.pacing_rate = EVENT_UNLIMITED;
	assert_true(isnan(event_pacing_bps(&e)));
	assert_true(event_has_state(&e));
	e.pacing_gain = e.cwnd_gain = 0;
	assert_false(event_has_state(&e));
	e.time_ns = 3000000000;
	e.delivered = 5; /* the counter has wrapped around */
	assert_true(event_delivered_bps(&e, -5, 1000000000) == 10 * 1000 * 8 / 2.);
}

static bool is_listed(const char *name, const char *const *names, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static void descriptors_name_states_and_reasons_that_exist(void **state)
{
	unsigned int n = 0;

	(void)state;
	for (size_t i = 0; i < n_algorithms; i++) {
		const struct algorithm *a = algorithms[i];
		const struct field *f;

		for (unsigned int k = 0; (f = finding_field(a, k)); k++, n++) {
			const struct field_finding *finding = f->finding;

			assert_int_equal(f->unit, FIELD_NAME);
			assert_true(is_listed(finding->state, f->names, f->n_names));
			if (finding->reason)
				assert_true(is_listed(finding->reason, a->reasons, a->n_reasons));
		}
		for (f = a->fields; f < a->fields + a->n_fields; f++)
			if (f->calm)
				assert_true(is_listed(f->calm, f->names, f->n_names));
	}
	assert_true(n > 0);
}

static void a_finding_is_made_in_its_state(void **state)
{
	struct bbr_event e = event_of(v1);
	const struct field *f = finding_field(v1, 0);

	(void)state;
	assert_ptr_equal(f, field_find(v1, "policer"));
	assert_ptr_equal(finding_field(v1, 1), field_find(v1, "behind"));
	assert_null(finding_field(v1, 2));
	assert_null(finding_field(&other, 0));
	for (int i = 0; i <= 3; i++) {
		((char *)&e)[f->offset] = i;
		assert_int_equal(finding_is_made(f, &e), i == 2);
	}
	((char *)&e)[f->offset] = 2;
	e.pacing_gain = e.cwnd_gain = 0; /* no BBR state */
	assert_false(finding_is_made(f, &e));
}

static void of_many_findings_the_first_are_counted(void **state)
{
	static const struct field_finding finding = { .state = "up" };
	struct field fields[FINDINGS_MAX + 2] = {};
	struct algorithm a = { .fields = fields, .n_fields = FINDINGS_MAX + 2 };

	(void)state;
	for (int i = 1; i < a.n_fields; i++)
		fields[i].finding = &finding;
	for (int i = 0; i < FINDINGS_MAX; i++)
		assert_ptr_equal(finding_field(&a, i), &fields[i + 1]);
	assert_null(finding_field(&a, FINDINGS_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_width_and_unit_is_read),
		TEST(what_is_not_known_is_not_a_value),
		TEST(names_beyond_the_table_are_unknown),
		TEST(text_is_in_the_order_of_the_fields),
		TEST(json_has_every_field_once),
		TEST(a_record_becomes_a_whole_event),
		TEST(values_are_derived_in_one_place),
		TEST(descriptors_name_states_and_reasons_that_exist),
		TEST(a_finding_is_made_in_its_state),
		TEST(of_many_findings_the_first_are_counted),
	};

	v1 = algorithm_find("bbr");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
