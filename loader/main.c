// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "cli/err.h"
#include "verbs/verbs.h"

int main(int argc, char **argv)
{
	int ret;

	err_init(bbrctl.name, false);
	ret = program_run(&bbrctl, argc, argv);
	if (fflush(stdout) || ferror(stdout)) {
		err("cannot write the output");
		ret = EXIT_REFUSED;
	}
	return ret;
}
