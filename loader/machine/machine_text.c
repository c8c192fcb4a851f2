// SPDX-License-Identifier: GPL-2.0-only
#include "address.h"
#include "cli/json.h"
#include "kernel/netns.h"
#include "machine/machine.h"

/*
 * Of what the kernel has, only what bbrctl set. A default that others set, or that a namespace
 * began with, was not asked for.
 */
static bool is_wanted_default(const struct machine *m, const struct default_of *def,
			      const char *name)
{
	return !strcmp(def->name, name) && (!m->is_found || machine_note(m, def->name, def->inode));
}

static void print_profile(FILE *out, const struct profile_definition *def, const char *prefix,
			  bool all)
{
	char value[PARAM_TEXT_LEN];

	fprintf(out, "%s\n%s[%s]\n", prefix, prefix, def->name);
	param_for_each (param, def->params.algorithm) {
		bool is_default = param_is_default(param, &def->params);

		if (is_default && !all)
			continue;
		param_format(param, &def->params, value, sizeof(value));
		fprintf(out, "%s%s%s = %s\n", prefix, is_default ? "; " : "", param->key, value);
	}
}

/*
 * A file cannot name a cgroup that is gone: after a boot its id may be that of another. So it does not
 * have the conditions that always hold because of that, but a comment. Returns how many are left.
 */
static __u32 print_gone(FILE *out, struct bbr_term *terms, __u32 n, const char *prefix)
{
	struct bbr_term gone[BBR_ATTACH_TERMS];
	__u32 left = terms_split_gone(terms, n, gone);
	char text[RULE_TEXT_LEN];

	terms_format(gone, n - left, text, sizeof(text));
	if (left < n)
		fprintf(out, "%s; that cgroup is gone, so this always holds and is left out:%s\n",
			prefix, text);
	return left;
}

/* What a line begins with: it is a comment if a cgroup that it needs has no name. */
static const char *beginning(const struct bbr_term *terms, __u32 n)
{
	char path[4096] = "/";
	__u64 id = 0;

	for_each (term, terms, n)
		if (path[0] && term->kind == BBR_TERM_CGROUP) {
			id = bbr_term_u64(term, 0);
			cgroup_path(id, path, sizeof(path));
		}
	if (path[0])
		return "";
	return cgroup_is_gone(id) ? "; its cgroup is gone: " : "; its cgroup cannot be found: ";
}

void machine_print_rule(FILE *out, const struct machine_instance *inst, __u32 i,
			struct rule_list *without_gone, const char *prefix)
{
	struct bbr_rule cgroup = inst->rules.rule[i], without_cgroup;
	const struct rule_list above = { inst->rules.rule, i };
	struct bbr_term terms[BBR_RULE_TERMS_MAX];
	char text[RULE_TEXT_LEN];
	const char *begin;

	cgroup.n_more = print_gone(out, cgroup.more, cgroup.n_more, prefix);
	begin = beginning(terms, rule_terms(&cgroup, terms));
	if (without_gone) {
		bool has_lost = cgroup.n_more < inst->rules.rule[i].n_more;

		if (rule_list_find(without_gone, &cgroup) >= 0 ||
		    (has_lost && rule_list_find(&above, &cgroup) >= 0))
			begin = "; a rule above has the same options: ";
		else if (has_lost)
			rule_list_insert(without_gone, 0, &cgroup);
	}
	without_cgroup = cgroup;
	without_cgroup.fields &= ~BBR_RULE_CGROUP;
	without_cgroup.path = NULL;
	rule_format(&without_cgroup, text, sizeof(text));
	fprintf(out, "%s%srule = %s%s--profile %s", prefix, begin, text, text[0] ? " " : "",
		machine_rule_profile(inst, &cgroup));
	if (cgroup.path || cgroup.fields & BBR_RULE_CGROUP) {
		cgroup.dst_len = cgroup.n_more = 0;
		cgroup.fields &= BBR_RULE_CGROUP;
		rule_format(&cgroup, text, sizeof(text));
		fprintf(out, " %s", text);
	}
	fputc('\n', out);
}

void machine_print_attachment(FILE *out, const struct attachment *at, const char *prefix)
{
	struct bbr_term terms[BBR_ATTACH_TERMS];
	char text[RULE_TEXT_LEN];
	__u32 n;

	memcpy(terms, at->term, sizeof(terms));
	n = print_gone(out, terms, at->n, prefix);
	terms_format(terms, n, text, sizeof(text));
	fprintf(out, "%s%sattach =%s%s %s\n", prefix, beginning(terms, n), text,
		n ? " --cgroup" : "", text_shown(at->path));
}

static void print_pods(FILE *out, const struct machine_instance *inst, const struct machine_pods *p,
		       const char *prefix)
{
	struct bbr_term terms[BBR_RULE_TERMS_MAX];
	char text[RULE_TEXT_LEN];

	__u32 n = print_gone(out, terms, rule_terms(&p->rule, terms), prefix);

	terms_format(terms, n, text, sizeof(text));
	fprintf(out, "%s%s%s =%s", prefix, beginning(terms, n), p->is_rule ? "rule" : "attach",
		text);
	if (p->is_rule)
		fprintf(out, " --profile %s", machine_rule_profile(inst, &p->rule));
	fprintf(out, " --pod %s\n", text_shown(p->which));
}

/* A line for pods, not a line for each pod that is there now. */
static void print_rules(FILE *out, const struct machine *m, const struct machine_instance *inst,
			const char *prefix, bool all)
{
	struct rule_list without_gone AUTO(rule_list_free) = {};
	bool are_rules = inst->rules.n || all;
	__u32 i = 0;

	for_each (p, m->pods, m->n_pods)
		are_rules |= p->is_rule && !strcmp(p->name, inst->name);
	if (are_rules)
		fprintf(out, "%s[%s]\n", prefix, RULES_SECTION);
	for_each (p, m->pods, m->n_pods) {
		if (!p->is_rule || strcmp(p->name, inst->name))
			continue;
		while (i < machine_pods_place(m, p))
			machine_print_rule(out, inst, i++, &without_gone, prefix);
		print_pods(out, inst, p, prefix);
		i += p->n;
	}
	while (i < inst->rules.n)
		machine_print_rule(out, inst, i++, &without_gone, prefix);
}

void machine_print_route(FILE *out, const struct machine_route *r, const char *prefix)
{
	char to[ADDRESS_TEXT_LEN];
	bool is_usual = !strcmp(r->netns, NETNS_OWN);

	format_prefix(to, sizeof(to), r->is.to.addr, r->is.to.len);
	fprintf(out, "%sroute = %s%s%s%s\n", prefix, to, r->is.is_locked ? " --lock" : "",
		is_usual ? "" : " --netns ", is_usual ? "" : text_shown(r->netns));
}

/* Several routes to one prefix are one line; of what the kernel has, only what an apply set. */
static bool is_line(const struct machine *m, const struct machine_route *r, const char *name)
{
	bool is_one = !strcmp(r->name, name) && (!m->is_found || r->is_applied);

	for (const struct machine_route *o = m->route; is_one && o < r; o++)
		is_one = o->inode != r->inode || !route_prefix_equal(&o->is.to, &r->is.to) ||
			 strcmp(o->name, name) || (m->is_found && !o->is_applied);
	return is_one;
}

void machine_add_route_keys(struct json *j, const struct machine_route *r)
{
	char to[ADDRESS_TEXT_LEN];

	format_prefix(to, sizeof(to), r->is.to.addr, r->is.to.len);
	json_add_string(j, "prefix", to);
	json_add_string(j, "netns", r->netns);
	json_add_int(j, "inode", r->inode);
	json_add_bool(j, "locked", r->is.is_locked);
}

void machine_add_route_json(struct json *j, const struct machine_route *r)
{
	json_open_object(j, NULL);
	machine_add_route_keys(j, r);
	json_close(j);
}

char *machine_route_name(const struct machine_route *r)
{
	bool is_own = !strcmp(r->netns, NETNS_OWN);
	char to[ADDRESS_TEXT_LEN];

	format_prefix(to, sizeof(to), r->is.to.addr, r->is.to.len);
	return mem_format("%s%s%s", to, is_own ? "" : " in network namespace ",
			  is_own ? "" : text_shown(r->netns));
}

void machine_print(FILE *out, const struct machine *m, const struct machine_instance *inst,
		   const char *prefix, bool all)
{
	size_t n_own = m->n_attached;

	fprintf(out, "%s[instance %s]\n%salgorithm = %s\n", prefix, inst->name, prefix,
		inst->algorithm->name);
	for_each (def, m->def, m->n_defaults)
		if (is_wanted_default(m, def, inst->name))
			fprintf(out, "%sdefault_in = %s\n", prefix, text_shown(def->netns));
	for_each (p, m->pods, m->n_pods)
		n_own -= p->is_rule ? 0 : p->n; /* the last ones are pods' */
	for_each (at, m->attached, n_own)
		if (!strcmp(at->name, inst->name))
			machine_print_attachment(out, at, prefix);
	for_each (p, m->pods, m->n_pods)
		if (!p->is_rule && !strcmp(p->name, inst->name))
			print_pods(out, inst, p, prefix);
	for_each (r, m->route, m->n_routes)
		if (is_line(m, r, inst->name))
			machine_print_route(out, r, prefix);
	for_each (def, inst->profiles.def, inst->profiles.n)
		print_profile(out, def, prefix, all);
	if (all)
		fprintf(out,
			"%s\n%s; A new connection gets the profile of the first rule that "
			"matches.\n",
			prefix, prefix);
	print_rules(out, m, inst, prefix, all);
}

void machine_add_json(struct json *j, const struct machine *m, const struct machine_instance *inst)
{
	json_open_object(j, NULL);
	json_add_string(j, "name", inst->name);
	json_add_string(j, "version", inst->version);
	json_add_string(j, "algorithm", inst->algorithm->name);
	json_open_array(j, "default_in");
	for_each (def, m->def, m->n_defaults)
		if (is_wanted_default(m, def, inst->name))
			json_add_string(j, NULL, def->netns);
	json_close(j);
	json_open_array(j, "attach");
	for_each (at, m->attached, m->n_attached)
		if (!strcmp(at->name, inst->name))
			json_add_string(j, NULL, at->path);
	json_close(j);
	json_open_array(j, "attachments");
	for_each (at, m->attached, m->n_attached)
		if (!strcmp(at->name, inst->name)) {
			json_open_object(j, NULL);
			json_add_string(j, "cgroup", at->path);
			terms_add_json(j, at->term, at->n);
			json_close(j);
		}
	json_close(j);
	json_open_array(j, "routes");
	for_each (r, m->route, m->n_routes)
		if (is_line(m, r, inst->name))
			machine_add_route_json(j, r);
	json_close(j);
	json_objects (j, "profiles", def, inst->profiles.def, inst->profiles.n) {
		json_add_string(j, "profile", def->name);
		json_open_object(j, "params");
		param_for_each (param, def->params.algorithm)
			param_add_json(j, param->key, param, &def->params);
		json_close(j);
	}
	json_objects (j, "rules", rule, inst->rules.rule, inst->rules.n) {
		rule_add_json(j, rule);
		json_add_string(j, "profile", machine_rule_profile(inst, rule));
	}
	json_close(j);
}
