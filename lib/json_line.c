// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "json_line.h"

#define DIGITS 20 /* of 2^64 */

static void put(struct json_line *j, const char *s, size_t len)
{
	if (len > sizeof(j->buf) - j->n) {
		fwrite(j->buf, 1, j->n, j->out);
		j->n = 0;
	}
	if (len > sizeof(j->buf)) {
		fwrite(s, 1, len, j->out);
		return;
	}
	memcpy(j->buf + j->n, s, len);
	j->n += len;
}

static void put_text(struct json_line *j, const char *s)
{
	put(j, s, strlen(s));
}

/* Straight into the buffer: most of a line is keys. */
static void put_key(struct json_line *j, const char *key)
{
	size_t len = strlen(key);
	char *to;

	if (len + 4 > sizeof(j->buf) - j->n) {
		put_text(j, j->has_members ? ",\"" : "\"");
		put(j, key, len);
		put(j, "\":", 2);
		j->has_members = true;
		return;
	}
	to = j->buf + j->n;
	if (j->has_members)
		*to++ = ',';
	j->has_members = true;
	*to++ = '"';
	memcpy(to, key, len);
	to += len;
	*to++ = '"';
	*to++ = ':';
	j->n = to - j->buf;
}

static void put_int(struct json_line *j, __u64 value)
{
	char digits[DIGITS];
	size_t at = DIGITS;

	do
		digits[--at] = '0' + value % 10;
	while (value /= 10);
	put(j, digits + at, DIGITS - at);
}

void json_begin(struct json_line *j, FILE *out)
{
	j->out = out;
	j->has_members = false;
	j->n = 0;
	put(j, "{", 1);
}

void json_end(struct json_line *j)
{
	put(j, "}\n", 2);
	fwrite(j->buf, 1, j->n, j->out);
}

void json_add_int(struct json_line *j, const char *key, __u64 value)
{
	put_key(j, key);
	put_int(j, value);
}

void json_add_bool(struct json_line *j, const char *key, bool value)
{
	json_add_raw(j, key, value ? "true" : "false");
}

void json_add_null(struct json_line *j, const char *key)
{
	json_add_raw(j, key, "null");
}

void json_add_gain(struct json_line *j, const char *key, __u16 gain)
{
	/* The fraction has at most eight digits: 1/256 is 0.00390625. */
	char fraction[] = "00000000";
	__u32 rest = (gain & 0xff) * 390625;
	size_t len = sizeof(fraction) - 1;

	for (size_t at = len; rest; rest /= 10)
		fraction[--at] = '0' + rest % 10;
	while (len > 1 && fraction[len - 1] == '0')
		len--;
	json_add_int(j, key, gain >> 8);
	put(j, ".", 1);
	put(j, fraction, len);
}

static void put_escaped(struct json_line *j, const char *text)
{
	for (char escape[8]; *text; text++) {
		size_t plain = 0;

		while ((unsigned char)text[plain] >= ' ' && text[plain] != '"' &&
		       text[plain] != '\\')
			plain++;
		put(j, text, plain);
		text += plain;
		if (!*text)
			break;
		snprintf(escape, sizeof(escape), "\\u%04x", (unsigned char)*text);
		put_text(j, escape);
	}
}

void json_add_string(struct json_line *j, const char *key, const char *text)
{
	if (!text) {
		json_add_null(j, key);
		return;
	}
	put_key(j, key);
	put(j, "\"", 1);
	put_escaped(j, text);
	put(j, "\"", 1);
}

void json_add_raw(struct json_line *j, const char *key, const char *json)
{
	put_key(j, key);
	put_text(j, json);
}
