// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "json.h"
#include "text.h"

/* Writes straight into the buffer: most of a line is keys, which are short. */
static void put_key(struct json *j, const char *key)
{
	size_t len = key ? strlen(key) : 0, indent = j->is_pretty ? 2 * j->depth : 0;
	char *to = buffered_room(&j->to, len + indent + 6);

	if (j->has_members)
		*to++ = ',';
	if (j->is_pretty || (j->has_members && j->breaks_line))
		*to++ = '\n';
	memset(to, ' ', indent);
	to += indent;
	if (key) {
		*to++ = '"';
		memcpy(to, key, len);
		to += len;
		*to++ = '"';
		*to++ = ':';
		if (j->is_pretty)
			*to++ = ' ';
	}
	j->breaks_line = false;
	j->has_members = true;
	j->to.n = to - j->to.buf;
}

static void open_one(struct json *j, bool array)
{
	if (j->depth == JSON_DEPTH_MAX)
		abort();
	buffered_put(&j->to, array ? "[" : "{", 1);
	j->arrays = (j->arrays & ~(1ull << j->depth)) | (__u64)array << j->depth;
	j->depth++;
	j->has_members = false;
}

void json_begin_as(struct json *j, FILE *out, enum json_form form)
{
	buffered_begin(&j->to, out);
	j->is_pretty = form == JSON_PRETTY || form == JSON_PRETTY_ARRAY;
	j->is_in_script = form == JSON_IN_SCRIPT;
	j->breaks_line = false;
	j->depth = 0;
	j->arrays = 0;
	open_one(j, form == JSON_PRETTY_ARRAY);
}

void json_new_line(struct json *j)
{
	j->breaks_line = true;
}

void json_open_object(struct json *j, const char *key)
{
	put_key(j, key);
	open_one(j, false);
}

void json_open_array(struct json *j, const char *key)
{
	put_key(j, key);
	open_one(j, true);
}

void json_close(struct json *j)
{
	j->depth--;
	if (j->is_pretty)
		buffered_put(&j->to, "\n", 1);
	for (unsigned int i = 0; j->is_pretty && i < j->depth; i++)
		buffered_put(&j->to, "  ", 2);
	buffered_put(&j->to, j->arrays >> j->depth & 1 ? "]" : "}", 1);
	j->has_members = true;
}

void json_end(struct json *j)
{
	json_close(j);
	buffered_put(&j->to, "\n", 1);
	buffered_end(&j->to);
}

void json_add_int(struct json *j, const char *key, __u64 value)
{
	put_key(j, key);
	buffered_count(&j->to, value);
}

void json_add_int_if(struct json *j, const char *key, bool has, __u64 value)
{
	if (has)
		json_add_int(j, key, value);
	else
		json_add_null(j, key);
}

void json_add_whole(struct json *j, const char *key, double value)
{
	bool is_known = value >= 0 && value < 0x1p63; /* NAN is not */

	json_add_int_if(j, key, is_known, is_known ? value : 0);
}

void json_add_signed(struct json *j, const char *key, __s64 value)
{
	put_key(j, key);
	if (value < 0)
		buffered_put(&j->to, "-", 1);
	buffered_count(&j->to, value < 0 ? -(__u64)value : (__u64)value);
}

void json_add_number(struct json *j, const char *key, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.9g", value);
	json_add_raw(j, key, isfinite(value) ? text : "null");
}

void json_add_bool(struct json *j, const char *key, bool value)
{
	json_add_raw(j, key, value ? "true" : "false");
}

void json_add_bool_if(struct json *j, const char *key, bool has, bool value)
{
	json_add_raw(j, key, !has ? "null" : value ? "true" : "false");
}

void json_add_null(struct json *j, const char *key)
{
	json_add_raw(j, key, "null");
}

void json_add_gain(struct json *j, const char *key, __u16 gain)
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
	buffered_put(&j->to, ".", 1);
	buffered_put(&j->to, fraction, len);
}

static void put_escape(struct json *j, unsigned int code)
{
	static const char chars[] = "\"\\\b\f\n\r\t/", letters[] = "\"\\bfnrt/";
	const char *found = code < 0x80 ? strchr(chars, code) : NULL;
	char escape[16];

	if (found)
		snprintf(escape, sizeof(escape), "\\%c", letters[found - chars]);
	else if (code < 0x10000)
		snprintf(escape, sizeof(escape), "\\u%04x", code);
	else
		snprintf(escape, sizeof(escape), "\\u%04x\\u%04x", 0xd7c0 + (code >> 10),
			 0xdc00 + (code & 0x3ff));
	buffered_text(&j->to, escape);
}

/* The bytes at the beginning of text that need no escape: a terminal may get JSON, too. */
static size_t plain_bytes(const struct json *j, const char *text)
{
	size_t n = 0, len;

	for (; text[n]; n += len) {
		char c = text[n];

		if (c == '"' || c == '\\' || (j->is_in_script && (c == '<' || c == '/')))
			break;
		/* DEL does nothing, and json-c leaves it as it is. */
		len = (signed char)c >= ' ' ? 1 : text_visible_char(text + n);
		if (!len)
			break;
	}
	return n;
}

static void put_escaped(struct json *j, const char *text)
{
	unsigned int code;

	for (;;) {
		size_t plain = plain_bytes(j, text);

		buffered_put(&j->to, text, plain);
		text += plain;
		if (!*text)
			break;
		text += text_char(text, &code);
		put_escape(j, code);
	}
}

void json_add_string(struct json *j, const char *key, const char *text)
{
	char *quoted AUTO_FREE = NULL;

	if (!text) {
		json_add_null(j, key);
		return;
	}
	/*
	 * Bytes that are not UTF-8 would make it no JSON, and people see what a page has. Text in
	 * quotes is no other text: that which begins with a quote is put into quotes, too.
	 */
	if (*text == '"' || !(j->is_in_script ? text_is_visible(text) : text_is_utf8(text))) {
		quoted = mem_new(TEXT_QUOTED_LEN(strlen(text)), 1);
		text_quote(quoted, TEXT_QUOTED_LEN(strlen(text)), text);
	}
	put_key(j, key);
	buffered_put(&j->to, "\"", 1);
	put_escaped(j, quoted ? quoted : text);
	buffered_put(&j->to, "\"", 1);
}

void json_add_raw(struct json *j, const char *key, const char *json)
{
	put_key(j, key);
	buffered_text(&j->to, json);
}
