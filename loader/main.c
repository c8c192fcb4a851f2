// SPDX-License-Identifier: GPL-2.0-only
#include "cli/err.h"
#include "output_file.h"
#include "verbs/verbs.h"

int main(int argc, char **argv)
{
	int ret, closed;

	streams_begin();
	err_init(bbrctl.name, false);
	ret = program_run(&bbrctl, argc, argv);
	closed = output_close(stdout, NULL);
	return closed ? closed : ret;
}
