/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The values that a label has had, up to a limit: every value after that is "other". So nobody can
 * fill the memory of those who collect metrics by making namespaces or instances one after another.
 */
#ifndef TOOLS_LABELS_H
#define TOOLS_LABELS_H

#define LABELS_MAX 64

struct labels {
	int max; /* values besides "other", up to LABELS_MAX */
	int n;
	char *value[LABELS_MAX]; /* their indexes begin at 1 */
};

#define LABEL_OTHER 0 /* the index of "other" */

/*
 * The index of a value, which is remembered. Control characters and bytes that are not ASCII, which
 * a metric should not have, become "?" in it.
 */
int labels_index(struct labels *l, const char *value);
const char *labels_value(const struct labels *l, int index);
void labels_free(struct labels *l);

#endif
