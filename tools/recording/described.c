// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include <sys/stat.h>

#include "cli/err.h"
#include "layout/layouts.h"
#include "described.h"
#include "reader.h"

static bool is_file(const char *name)
{
	struct stat st;

	return !stat(name, &st) && S_ISREG(st.st_mode);
}

static void read_descriptions(const char *file)
{
	struct recording_reader *r = malloc(sizeof(*r));

	if (!r || recording_open(r, file) != EXIT_DONE) {
		free(r);
		return;
	}
	r->quiet = true;
	while (recording_next(r, 0) == RECORDING_NEXT_EVENT)
		;
	recording_close(r);
	free(r);
}

const struct algorithm *recording_described(const char *file, size_t i)
{
	static const char *is_read;

	if (is_read != file && is_file(file))
		read_descriptions(file);
	is_read = file;
	return layout_described(i);
}
