// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "cli/err.h"
#include "cli/json.h"
#include "cli/units.h"
#include "event.h"
#include "field.h"

#define SAMPLE .needs = BBR_F_SAMPLE

const struct field common_fields[] = {
	{ "rtt_us", FIELD_AT(rtt_us), FIELD_US, .has_unknown = true, .unknown = BBR_RTT_NONE,
	  .text = " rtt:%", .order = TEXT_SAMPLE },
	{ "delivery_rate_bps", FIELD_AT(rs_delivered), FIELD_SAMPLE_RATE, SAMPLE, .text = " rate:%",
	  .order = TEXT_SAMPLE + 1 },
	{ "app_limited", FIELD_AT(flags), FIELD_FLAG, BBR_F_APP_LIMITED, SAMPLE,
	  .text = " app_limited", .order = TEXT_SAMPLE + 2 },
	{ "losses", FIELD_AT(rs_losses), FIELD_COUNT, SAMPLE, .text = " losses:%",
	  .order = TEXT_SAMPLE + 3, .text_if = { "losses", 1 } },
	{ "acked", FIELD_AT(rs_acked), FIELD_COUNT, SAMPLE },
	{ "prior_inflight", FIELD_AT(rs_prior_inflight), FIELD_COUNT, SAMPLE },
	{ "srtt_us", FIELD_AT(srtt_us), FIELD_US },
	{ "inflight", FIELD_AT(inflight), FIELD_COUNT, .text = " inflight:%",
	  .order = TEXT_WINDOW },
	{ "cwnd", FIELD_AT(cwnd), FIELD_COUNT, .text = " cwnd:%", .order = TEXT_WINDOW + 1 },
	{ "ssthresh", FIELD_AT(ssthresh), FIELD_COUNT },
	{ "pacing_rate_bps", FIELD_AT(pacing_rate), FIELD_BYTE_RATE, .has_unknown = true,
	  .unknown = EVENT_UNLIMITED, .text = " pacing:%", .order = TEXT_WINDOW + 2 },
	{ "ca_state", FIELD_AT(ca_state), FIELD_NAME, .names = ca_state_names,
	  .n_names = N_CA_STATES, .text = " ca:%", .order = TEXT_COUNTS + 2 },
	{ "delivered", FIELD_AT(delivered), FIELD_COUNT, .text = " delivered:%",
	  .order = TEXT_COUNTS },
	{ "lost", FIELD_AT(lost), FIELD_COUNT, .text = " lost:%", .order = TEXT_COUNTS + 1 },
	{ "mss_bytes", FIELD_AT(mss), FIELD_COUNT },
	{ "bytes_sent", FIELD_AT(bytes_sent), FIELD_COUNT },
	{ "bytes_acked", FIELD_AT(bytes_acked), FIELD_COUNT },
	{ "bytes_retrans", FIELD_AT(bytes_retrans), FIELD_COUNT },
};

const size_t n_common_fields = sizeof(common_fields) / sizeof(common_fields[0]);

static const struct field *find(const struct field *fields, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(fields[i].key, key))
			return &fields[i];
	return NULL;
}

const struct field *field_find(const struct algorithm *a, const char *key)
{
	const struct field *f = find(a->fields, a->n_fields, key);

	return f ? f : find(common_fields, n_common_fields, key);
}

static unsigned int forgotten; /* how often */

void field_forget(void)
{
	forgotten++;
}

const struct field *field_of(struct field_of *f, const struct algorithm *a)
{
	if (f->algorithm != a || f->forgotten != forgotten) {
		f->algorithm = a;
		f->forgotten = forgotten;
		f->field = field_find(a, f->key);
	}
	return f->field;
}

static __u64 load(const void *from, unsigned int width)
{
	__u16 half;
	__u32 word;
	__u64 whole;

	switch (width) {
	case 1:
		return *(const __u8 *)from;
	case 2:
		memcpy(&half, from, sizeof(half));
		return half;
	case 4:
		memcpy(&word, from, sizeof(word));
		return word;
	default:
		memcpy(&whole, from, sizeof(whole));
		return whole;
	}
}

bool field_value(const struct field *f, const struct bbr_event *e, __u64 *value)
{
	__u64 raw;

	if ((f->needs && !(e->flags & f->needs)) ||
	    (field_is_own(f) && f->offset + f->width > e->size))
		return false;
	raw = load((const char *)e + f->offset, f->width);
	if (f->has_unknown && raw == f->unknown)
		return false;
	switch (f->unit) {
	case FIELD_BW:
		*value = event_bps(e, raw);
		return true;
	case FIELD_BYTE_RATE:
		*value = raw * 8;
		return true;
	case FIELD_SAMPLE_RATE:
		if (!event_has_rate(e))
			return false;
		*value = event_delivery_bps(e);
		return true;
	case FIELD_FLAG:
		*value = !!(raw & f->mask);
		return true;
	default:
		*value = raw;
		return true;
	}
}

bool field_is_same(const struct field *f, const struct bbr_event *a, const struct bbr_event *b)
{
	__u64 x = 0, y = 0;

	return field_value(f, a, &x) == field_value(f, b, &y) && x == y;
}

bool field_is_own(const struct field *f)
{
	return f->offset >= BBR_EVENT_BASE;
}

const struct field *finding_field(const struct algorithm *a, unsigned int i)
{
	unsigned int n = 0;

	if (i >= FINDINGS_MAX)
		return NULL;
	for (const struct field *f = a->fields; f < a->fields + a->n_fields; f++)
		if (f->finding && n++ == i)
			return f;
	return NULL;
}

bool finding_is_made(const struct field *f, const struct bbr_event *e)
{
	__u64 value;

	return event_has_state(e) && field_value(f, e, &value) &&
	       !strcmp(field_name_of(f, value), f->finding->state);
}

bool field_is_rate(const struct field *f)
{
	return f->unit == FIELD_BW || f->unit == FIELD_BYTE_RATE || f->unit == FIELD_SAMPLE_RATE;
}

const char *field_name_of(const struct field *f, __u64 value)
{
	return value < f->n_names && f->names[value] ? f->names[value] : "unknown";
}

void field_text(char *buf, size_t size, const struct field *f, __u64 value)
{
	char text[UNITS_LEN];

	switch (f->unit) {
	case FIELD_BW:
	case FIELD_BYTE_RATE:
	case FIELD_SAMPLE_RATE:
		format_rate_ss(buf, size, value);
		return;
	case FIELD_US:
		strcpy(text + format_ratio(text, value, 1000, 6), "ms");
		break;
	case FIELD_GAIN:
		format_ratio(text, value, 256, 6);
		break;
	case FIELD_NAME:
		text_append(buf, size, 0, field_name_of(f, value));
		return;
	default:
		format_count(text, value);
		break;
	}
	text_append(buf, size, 0, text);
}

void field_add_json(struct json *j, const struct field *f, const struct bbr_event *e)
{
	__u64 value;

	if (!field_value(f, e, &value)) {
		json_add_null(j, f->key);
		return;
	}
	switch (f->unit) {
	case FIELD_GAIN:
		json_add_gain(j, f->key, value);
		break;
	case FIELD_FLAG:
		json_add_bool(j, f->key, value);
		break;
	case FIELD_NAME:
		json_add_string(j, f->key, field_name_of(f, value));
		break;
	default:
		json_add_int(j, f->key, value);
		break;
	}
}

#define LINE 96

const struct algorithm *known_algorithm(const struct known *k, size_t i)
{
	if (i < n_algorithms)
		return algorithms[i];
	return k && k->recording ? k->described(k->recording, i - n_algorithms) : NULL;
}

const struct field *known_field(const struct known *k, const char *key)
{
	const struct algorithm *a;
	const struct field *f = NULL;

	for (size_t i = 0; !f && (a = known_algorithm(k, i)); i++)
		f = field_find(a, key);
	return f;
}

void name_list_add(struct name_list *list, const char *name)
{
	size_t room = sizeof(list->text) - list->len, n = strlen(name);

	if (!n || n + 2 >= room)
		return;
	for (const char *at = list->text; (at = strstr(at, name)); at++)
		if ((at == list->text || at[-1] == ' ') && (!at[n] || at[n] == ','))
			return;
	list->len += snprintf(list->text + list->len, room, "%s%s", list->len ? ", " : "", name);
}

void name_list_add_fields(struct name_list *list, const struct known *k)
{
	const struct algorithm *a;

	for (size_t i = 0; (a = known_algorithm(k, i)); i++)
		for (int n = 0; n < a->n_fields; n++)
			name_list_add(list, a->fields[n].key);
	for (size_t i = 0; i < n_common_fields; i++)
		name_list_add(list, common_fields[i].key);
}

void name_list_print(const struct name_list *list)
{
	const char *from = list->text;

	while (strlen(from) > LINE) {
		int n = LINE;

		while (n && from[n] != ' ')
			n--;
		if (!n)
			break;
		remedy("%.*s", n, from);
		from += n + 1;
	}
	remedy("%s", from);
}

bool name_list_refuse(const struct name_list *list, const char *word, const char *what_to_do)
{
	const char *at = list->text;

	while (*at && strncmp(at, word, strlen(word))) {
		at += strcspn(at, " ");
		at += *at == ' ';
	}
	if (*word && *at)
		remedy("did you mean %.*s?", (int)strcspn(at, ","), at);
	remedy("%s", what_to_do);
	name_list_print(list);
	return false;
}
