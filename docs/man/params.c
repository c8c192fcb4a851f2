// SPDX-License-Identifier: GPL-2.0-only
/*
 * params ALGORITHM: prints its parameters as a table of the manual. It runs while the project is built, on the machine that builds, which
 * need not be able to run what is built.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "descriptor.h"
#include "tuning/param.h"

int main(int argc, char **argv)
{
	const struct algorithm *algorithm = argc == 2 ? algorithm_find(argv[1]) : NULL;
	struct param_set defaults = { .algorithm = algorithm };

	if (!algorithm)
		return 1;
	memcpy(defaults.value, algorithm->defaults, algorithm->params_size);
	param_for_each (param, algorithm) {
		char value[PARAM_TEXT_LEN], range[PARAM_TEXT_LEN];

		param_format(param, &defaults, value, sizeof(value));
		param_format_range(param, range, sizeof(range));
		printf(".TP\n.BR %s \" (", param->key);
		if (isdigit((unsigned char)value[strlen(value) - 1])) /* no unit of its own */
			printf("%s, ", param_notation(param)->json);
		printf("default %s, %s)\"\n%s\n", value, range, param->help);
	}
	return ferror(stdout) || fflush(stdout);
}
