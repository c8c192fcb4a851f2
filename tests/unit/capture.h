/* SPDX-License-Identifier: GPL-2.0-only */
/* What a function prints: its output, and its messages for people. */
#ifndef UNIT_CAPTURE_H
#define UNIT_CAPTURE_H

#include <stdio.h>
#include <stdlib.h>

static struct {
	FILE *real, *file;
	char *text;
	size_t len;
} captured[2];

static inline void capture_file(int which, FILE **file)
{
	free(captured[which].text);
	captured[which].text = NULL;
	captured[which].real = *file;
	captured[which].file = *file = open_memstream(&captured[which].text, &captured[which].len);
}

/* From here to the end, both are kept in memory. A test must not fail in between. */
static inline void capture_begin(void)
{
	capture_file(0, &stdout);
	capture_file(1, &stderr);
}

static inline void capture_end(void)
{
	fclose(captured[0].file);
	fclose(captured[1].file);
	stdout = captured[0].real;
	stderr = captured[1].real;
}

/* What was written meanwhile, until the next capture begins. */
static inline const char *captured_output(void)
{
	return captured[0].text;
}

static inline const char *captured_messages(void)
{
	return captured[1].text;
}

static inline void capture_free(void)
{
	for (int i = 0; i < 2; i++) {
		free(captured[i].text);
		captured[i].text = NULL;
	}
}

#endif
