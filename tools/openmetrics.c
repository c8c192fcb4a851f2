// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "cli/err.h"
#include "cli/text.h"
#include "openmetrics.h"

#define NUMBER_LEN 32

void om_observe(struct om_histogram *h, const struct om_bounds *bounds, double value)
{
	int i = 0;

	while (i < bounds->n && value > bounds->le[i])
		i++;
	h->bucket[i]++;
	h->sum += value;
}

static const struct {
	const char *name, *suffix;
} types[] = {
	[OM_COUNTER] = { "counter", "_total" },
	[OM_GAUGE] = { "gauge", "" },
	[OM_HISTOGRAM] = { "histogram", "" },
	[OM_INFO] = { "info", "_info" },
};

void om_family(struct openmetrics *om, const struct om_family *family)
{
	/* 0.0.4 describes the samples' full name, and knows neither infos nor units. */
	const char *suffix = om->classic ? types[family->type].suffix : "";
	const char *type =
		types[om->classic && family->type == OM_INFO ? OM_GAUGE : family->type].name;

	fprintf(om->out, "# HELP %s%s %s\n", family->name, suffix, family->help);
	fprintf(om->out, "# TYPE %s%s %s\n", family->name, suffix, type);
	if (family->unit && !om->classic)
		fprintf(om->out, "# UNIT %s %s\n", family->name, family->unit);
}

/* Formats the shortest number that is read back as the same. */
static void format_number(char buf[NUMBER_LEN], double value)
{
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(buf, NUMBER_LEN, "%.*g", digits, value);
		if (strtod(buf, NULL) == value)
			return;
	}
}

/* le: the bound of a bucket, or NULL. */
static void print_sample(struct openmetrics *om, const struct om_family *family, const char *suffix,
			 const struct om_label *labels, const char *le, double value)
{
	char number[NUMBER_LEN];
	char before = '{';

	fprintf(om->out, "%s%s", family->name, suffix);
	for (; labels->name; labels++) {
		fprintf(om->out, "%c%s=\"", before, labels->name);
		for (const char *c = labels->value; *c; c++) {
			if (*c == '\\' || *c == '"')
				fputc('\\', om->out);
			/* Nothing that is not UTF-8 or ends the line. */
			fputc(*c < ' ' || *c > '~' ? '?' : *c, om->out);
		}
		fputc('"', om->out);
		before = ',';
	}
	if (le) {
		fprintf(om->out, "%cle=\"%s\"", before, le);
		before = ',';
	}
	if (before == ',')
		fputc('}', om->out);
	format_number(number, value);
	fprintf(om->out, " %s\n", number);
}

void om_number(struct openmetrics *om, const struct om_family *family,
	       const struct om_label *labels, double value)
{
	print_sample(om, family, types[family->type].suffix, labels, NULL, value);
}

void om_histogram(struct openmetrics *om, const struct om_family *family,
		  const struct om_label *labels, const struct om_bounds *bounds,
		  const struct om_histogram *h)
{
	char le[NUMBER_LEN];
	__u64 count = 0;

	for (int i = 0; i < bounds->n; i++) {
		count += h->bucket[i];
		/* As Go formats it: OpenMetrics wants "1.0", not "1". */
		if (bounds->le[i] >= 1e6)
			snprintf(le, sizeof(le), "%g", bounds->le[i]);
		else
			format_number(le, bounds->le[i]);
		if (bounds->le[i] < 1e6 && !strchr(le, '.'))
			strcat(le, ".0");
		print_sample(om, family, "_bucket", labels, le, count);
	}
	count += h->bucket[bounds->n];
	print_sample(om, family, "_bucket", labels, "+Inf", count);
	print_sample(om, family, "_sum", labels, NULL, h->sum);
	print_sample(om, family, "_count", labels, NULL, count);
}

void om_end(struct openmetrics *om)
{
	if (!om->classic)
		fputs("# EOF\n", om->out);
}

const char *labels_value(const struct labels *l, int index)
{
	return index == LABEL_OTHER ? "other" : l->value[index - 1];
}

int labels_index(struct labels *l, const char *value)
{
	char *clean = mem_copy(value);
	int index = 0;

	text_tame(clean, strlen(clean) + 1, "");
	while (index <= l->n && strcmp(labels_value(l, index), clean))
		index++;
	if (index > l->n && l->n < l->max) {
		l->value[l->n++] = clean;
		return l->n;
	}
	free(clean);
	return index > l->n ? LABEL_OTHER : index;
}

void labels_free(struct labels *l)
{
	for (int i = 0; i < l->n; i++)
		free(l->value[i]);
	l->n = 0;
}
