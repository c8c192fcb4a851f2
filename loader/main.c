// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "cli/err.h"
#include "verbs/verbs.h"

int main(int argc, char **argv)
{
	int status;

	err_init(bbrctl.name, false);
	status = program_run(&bbrctl, argc, argv);
	if (fflush(stdout) || ferror(stdout)) {
		err("cannot write the output");
		status = EXIT_REFUSED;
	}
	return status;
}
