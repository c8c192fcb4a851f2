// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "buffered.h"
#include "units.h"

void buffered_begin(struct buffered *b, FILE *out)
{
	b->out = out;
	b->n = 0;
}

void buffered_end(struct buffered *b)
{
	fwrite(b->buf, 1, b->n, b->out);
	b->n = 0;
}

char *buffered_room(struct buffered *b, size_t len)
{
	if (len > sizeof(b->buf) - b->n)
		buffered_end(b);
	return b->buf + b->n;
}

void buffered_put(struct buffered *b, const char *s, size_t len)
{
	char *to = buffered_room(b, len);

	if (len > sizeof(b->buf)) {
		fwrite(s, 1, len, b->out);
		return;
	}
	memcpy(to, s, len);
	b->n += len;
}

void buffered_text(struct buffered *b, const char *s)
{
	buffered_put(b, s, strlen(s));
}

void buffered_count(struct buffered *b, __u64 value)
{
	b->n += format_count(buffered_room(b, UNITS_LEN), value);
}
