// SPDX-License-Identifier: GPL-2.0-only
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>

#include "cgroup/cgroup.h"
#include "cli/err.h"

struct pods_walk {
	const char *folder;
	struct pod *list;
	size_t n;
};

/* Users may give cgroups of their own any name, so only root's count. */
static int visit_pod(const char *path, void *data)
{
	struct pods_walk *walk = data;
	struct pod pod = {};
	struct stat st;

	if (!cgroup_pod_uid(path, pod.uid) || stat(path, &st) || st.st_uid ||
	    !cgroup_pod_name(walk->folder, pod.uid, pod.name))
		return 0;
	pod.path = mem_copy(path);
	MEM_ADD(walk->list, walk->n) = pod;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct pod *)a)->name, ((const struct pod *)b)->name);
}

int pods_list(const char *folder, struct pod **list)
{
	struct pods_walk walk = { .folder = folder };
	char *mount AUTO_FREE = cgroup_mount();
	int ret = mount ? cgroup_walk(mount, visit_pod, &walk) : 0;

	*list = walk.list;
	if (ret) {
		pods_free(walk.list, walk.n);
		return ret;
	}
	if (walk.n)
		qsort(walk.list, walk.n, sizeof(*walk.list), by_name);
	return walk.n;
}

void pods_free(struct pod *list, int n)
{
	for (int i = 0; i < n; i++) {
		for (size_t k = 0; k < list[i].n_labels; k++)
			free(list[i].label[k]);
		free(list[i].label);
		free(list[i].path);
	}
	free(list);
}

/* One condition of a selector: [!]KEY, KEY=VALUE, KEY==VALUE, KEY!=VALUE. */
struct condition {
	bool is_not;
	int key_len;
	const char *key;
	const char *value; /* NULL: any */
	int value_len;
};

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

/* Reads the condition at *text, and moves *text to the comma after it, or to the end. */
static bool take_condition(const char **text, struct condition *c)
{
	const char *p = *text;

	*c = (struct condition){ .is_not = *p == '!' };
	c->key = p + c->is_not;
	c->key_len = strspn(c->key, LETTERS "/");
	p = c->key + c->key_len;
	if (!c->is_not && (*p == '=' || (p[0] == '!' && p[1] == '='))) {
		c->is_not = *p == '!';
		p += c->is_not || p[1] == '=' ? 2 : 1;
		c->value = p;
		c->value_len = strspn(p, LETTERS);
		p += c->value_len;
	}
	*text = p;
	return c->key_len && (!*p || *p == ',');
}

bool pod_selector_has_labels(const char *selector)
{
	return strchr(selector, ',');
}

bool pod_selector_is_valid(const char *option, const char *selector)
{
	size_t names = strcspn(selector, ",");
	const char *slash = memchr(selector, '/', names), *rest = selector + names;
	struct condition c;

	if (!slash || slash == selector || slash + 1 == rest ||
	    memchr(slash + 1, '/', rest - slash - 1) || memchr(selector, ' ', names) ||
	    strlen(selector) >= POD_SELECTOR_LEN)
		return err_value(option, selector,
				 "expected NAMESPACE/NAME; both may have * and ?");
	while (*rest) {
		const char *label = ++rest;

		if (take_condition(&rest, &c))
			continue;
		err("%s %s: \"%s\" is no condition of labels\n"
		    "after NAMESPACE/NAME: ,KEY=VALUE ,KEY!=VALUE ,KEY or ,!KEY",
		    option, selector, label);
		return false;
	}
	return true;
}

static bool is_so(const struct condition *c, const char *label)
{
	const char *value = label + c->key_len + 1;

	return !strncmp(label, c->key, c->key_len) && label[c->key_len] == '=' &&
	       (!c->value ||
		(strlen(value) == (size_t)c->value_len && !strncmp(value, c->value, c->value_len)));
}

bool pod_selected(const char *selector, const struct pod *pod)
{
	const char *rest = selector + strcspn(selector, ",");
	char names[POD_SELECTOR_LEN];

	snprintf(names, sizeof(names), "%.*s", (int)(rest - selector), selector);
	if (fnmatch(names, pod->name, FNM_PATHNAME) || (*rest && !pod->has_labels))
		return false;
	while (*rest) {
		struct condition c;
		bool any = false;

		rest++;
		take_condition(&rest, &c);
		for (size_t i = 0; i < pod->n_labels; i++)
			any |= is_so(&c, pod->label[i]);
		if (any == c.is_not)
			return false;
	}
	return true;
}
