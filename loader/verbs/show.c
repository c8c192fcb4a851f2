// SPDX-License-Identifier: GPL-2.0-only
#include <unistd.h>

#include <sys/ioctl.h>

#include "verbs/verbs.h"

/* True if the user wants this parameter. Without keys, the user wants all. */
static bool is_wanted(const struct param *param, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], param->key))
			return true;
	return argc == 1;
}

/* The columns of the table before the meaning. */
enum {
	KEY,
	VALUE,
	DEFAULT,
	RANGE,
	UNIT,
	COLUMNS
};

#define MEANING_INDENT 6
#define WIDTH_LEAST 40

static const char *const titles[COLUMNS] = { "KEY", "VALUE", "DEFAULT", "RANGE", "UNIT" };

static void format_row(const struct param *param, const struct param_set *p,
		       const struct param_set *defaults, char cell[COLUMNS][PARAM_TEXT_LEN])
{
	snprintf(cell[KEY], PARAM_TEXT_LEN, "%s", param->key);
	param_format(param, p, cell[VALUE], PARAM_TEXT_LEN);
	param_format(param, defaults, cell[DEFAULT], PARAM_TEXT_LEN);
	param_format_range(param, cell[RANGE], PARAM_TEXT_LEN);
	snprintf(cell[UNIT], PARAM_TEXT_LEN, "%s", param_notation(param)->json);
}

static void print_cell(const char *text, int width, bool is_last)
{
	if (is_last)
		fputs(text, stdout);
	else
		printf("%-*s  ", width, text);
}

/* The width of the terminal; 0: it goes elsewhere. */
static int terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
		return 0;
	return size.ws_col > WIDTH_LEAST ? size.ws_col : WIDTH_LEAST;
}

/*
 * A line for each parameter. On a terminal that is narrower than that the meaning is below it, and the
 * default only where it is another.
 */
static void show_text(const struct param_set *p, int argc, char **argv)
{
	const struct param_set defaults = param_set_default(p->algorithm);
	int width[COLUMNS], all = 2, terminal = terminal_width();
	char cell[COLUMNS][PARAM_TEXT_LEN];
	size_t longest = strlen("MEANING");
	bool is_narrow;

	for (int c = 0; c < COLUMNS; c++)
		width[c] = strlen(titles[c]);
	param_for_each (param, p->algorithm) {
		if (!is_wanted(param, argc, argv))
			continue;
		format_row(param, p, &defaults, cell);
		for (int c = 0; c < COLUMNS; c++)
			if (width[c] < (int)strlen(cell[c]))
				width[c] = strlen(cell[c]);
		if (strlen(param->help) > longest)
			longest = strlen(param->help);
	}
	for (int c = 0; c < COLUMNS; c++)
		all += width[c] + 2;
	is_narrow = terminal && all + (int)longest > terminal;
	if (is_narrow)
		width[DEFAULT] = 0;

	fputs("  ", stdout);
	for (int c = 0; c < COLUMNS; c++)
		if (width[c])
			print_cell(titles[c], width[c], is_narrow && c == UNIT);
	puts(is_narrow ? "" : "MEANING");
	param_for_each (param, p->algorithm) {
		if (!is_wanted(param, argc, argv))
			continue;
		format_row(param, p, &defaults, cell);
		/* In front, where a narrow terminal does not cut it off. */
		fputs(param_is_default(param, p) ? "  " : "* ", stdout);
		for (int c = 0; c < COLUMNS; c++)
			if (width[c])
				print_cell(cell[c], width[c], is_narrow && c == UNIT);
		puts(is_narrow ? "" : param->help);
		if (!is_narrow)
			continue;
		printf("%*s", MEANING_INDENT, "");
		text_print_wrapped(stdout, param->help, MEANING_INDENT, MEANING_INDENT, terminal,
				   false);
		if (!param_is_default(param, p))
			printf("%*sdefault %s\n", MEANING_INDENT, "", cell[DEFAULT]);
	}
}

static void show_json(const struct options *opt, const struct param_set *p, int argc, char **argv)
{
	const struct param_set defaults = param_set_default(p->algorithm);
	struct json j;

	json_begin_pretty(&j, stdout);
	json_add_string(&j, "name", opt->defaults ? "" : opt->name);
	json_add_string(&j, "algorithm", p->algorithm->name);
	if (!opt->defaults)
		json_add_string(&j, "profile", opt->profile ? opt->profile : BBR_PROFILE_DEFAULT);
	json_open_array(&j, "params");
	param_for_each (param, p->algorithm) {
		if (!is_wanted(param, argc, argv))
			continue;
		json_open_object(&j, NULL);
		json_add_string(&j, "key", param->key);
		param_add_json(&j, "value", param, p);
		param_add_json(&j, "default", param, &defaults);
		param_add_range_json(&j, "range", param);
		json_add_string(&j, "unit", param_notation(param)->json);
		json_add_bool(&j, "changed", !param_is_default(param, p));
		json_add_string(&j, "meaning", param->help);
		json_close(&j);
	}
	json_close(&j);
	json_end(&j);
}

static int verb_show(struct options *opt, int argc, char **argv)
{
	const struct algorithm *algorithm;
	struct tuning t AUTO(tuning_close) = {};
	struct param_set p;
	int index, ret;

	if (opt->algorithm && !opt->defaults)
		return err_usage("show: --algorithm needs --defaults\n"
				 "an instance shows the parameters of its own algorithm");
	if (opt->defaults && (opt->name_given || opt->profile))
		return err_usage("show: --defaults does not go with --name or --profile\n"
				 "the defaults are those of an algorithm; --algorithm chooses it");
	if (opt->defaults) {
		ret = algorithm_option(opt, &algorithm);
		if (!ret)
			p = param_set_default(algorithm);
	} else {
		ret = param_check_keys(NULL, argc, argv);
		if (ret && instance_id(argv[1]) > 0)
			remedy("%s is an instance: bbrctl show --name %s", argv[1], argv[1]);
		if (!ret)
			ret = choose_profile(opt, false, &t, &index, &p);
	}
	if (!ret)
		ret = param_check_keys(p.algorithm, argc, argv);
	if (ret)
		return ret;
	if (opt->json)
		show_json(opt, &p, argc, argv);
	else
		show_text(&p, argc, argv);
	return EXIT_DONE;
}

static const struct privileges_change of_show[] = {
	{ "defaults", .spares = PRIVILEGES_ALL },
	{},
};

BBRCTL_VERB(show, "show", NEEDS(LOOK, .changes = of_show), .args = "[KEY]...", .max_args = MANY,
	    .brief = "show parameters: value, default, range, meaning",
	    OPTIONS(OWN(NAME, PROFILE("PROFILE", "show this profile instead of the default one"),
			FLAG("defaults", defaults, "show the defaults, not an instance"),
			ALGORITHM("with --defaults: of this algorithm, by default bbr"))));
