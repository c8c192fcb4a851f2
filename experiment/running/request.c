// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/random.h>

#include "address.h"
#include "bpf_bbr/rules.h"
#include "cli/err.h"
#include "cli/units.h"
#include "experiment/analysis/guard.h"
#include "running.h"
#include "cgroup/cgroup.h"
#include "kernel/clock.h"
#include "experiment/handle.h"
#include "tuning/profile_map.h"
#include "tuning/rule_text.h"

#define DAY (86400 * NS_PER_S)
#define LEAST_KEPT 1024
#define MOST_KEPT (1u << 20)
#define PER_PERCENT (EXPERIMENT_SHARES / 100)

/* Two prefixes have an address in common if the longer one begins like the shorter one. */
static bool prefixes_overlap(const struct experiment_scope *a, const struct experiment_scope *b)
{
	__u32 mask[4];

	prefix_mask(mask, a->dst_len < b->dst_len ? a->dst_len : b->dst_len);
	for (int i = 0; i < 4; i++)
		if ((a->dst[i] ^ b->dst[i]) & mask[i])
			return false;
	return true;
}

/* 0 matches any value. */
static bool meet(__u64 a, __u64 b)
{
	return !a || !b || a == b;
}

bool scopes_overlap(const struct experiment_scope *a, const char *a_cgroup,
		    const struct experiment_scope *b, const char *b_cgroup)
{
	return (cgroup_is_within(a_cgroup, b_cgroup) || cgroup_is_within(b_cgroup, a_cgroup)) &&
	       meet(a->dport, b->dport) && meet(a->sport, b->sport) && meet(a->netns, b->netns) &&
	       (!a->has_mark || !b->has_mark || a->mark == b->mark) && prefixes_overlap(a, b);
}

struct bbr_rule scope_rule(const struct experiment_scope *scope)
{
	struct bbr_rule rule = {
		.dst_len = scope->dst_len,
		.mark = scope->mark,
		.dport = scope->dport,
		.sport = scope->sport,
		.fields = (scope->dport ? BBR_RULE_DPORT : 0) |
			  (scope->sport ? BBR_RULE_SPORT : 0) |
			  (scope->has_mark ? BBR_RULE_MARK : 0),
	};

	memcpy(rule.dst, scope->dst, sizeof(rule.dst));
	return rule;
}

int experiment_arm(const struct experiment *e, const char *label)
{
	for (__u32 i = 0; i < e->arms; i++)
		if (!strcmp(e->arm[i].label, label))
			return i;
	return -1;
}

int experiment_choose_arm(const struct experiment *e, const char *option, const char *label,
			  int *arm)
{
	*arm = experiment_arm(e, label);
	if (*arm >= 0)
		return EXIT_DONE;
	return err_usage("%s %s: no arm of %s has this label\n"
			 "bbrctl experiment status %s lists them",
			 option, label, e->name, e->name);
}

bool experiment_duration_parse(const char *option, const char *text, __u64 least, __u64 most,
			       __u64 *ns)
{
	char low[UNITS_LEN], high[UNITS_LEN];
	enum parse_error error;
	double value;

	if (!text)
		return true;
	error = parse_duration(text, &value);
	if (error) {
		err("%s %s: %s\n"
		    "a duration such as 10s or 500ms",
		    option, text, parse_error_text(error));
		return false;
	}
	if (value >= least && value <= most) {
		*ns = value;
		return true;
	}
	format_duration(low, sizeof(low), least);
	format_duration(high, sizeof(high), most);
	err("%s %s: out of range\n"
	    "%s to %s",
	    option, text, low, high);
	return false;
}

/* Parses a whole number; as experiment_duration_parse(). */
static bool parse_whole(const char *option, const char *text, __u32 least, __u32 most, __u32 *to)
{
	unsigned long value;
	char *end;

	if (!text)
		return true;
	value = strtoul(text, &end, 0);
	if (*text >= '0' && *text <= '9' && !*end && value >= least && value <= most) {
		*to = value;
		return true;
	}
	err("%s %s: expected a whole number of %u to %u", option, text, least, most);
	return false;
}

static int parse_design(const struct experiment_options *opt, struct experiment *e)
{
	const char *given = opt->design ? opt->design : experiment_designs[EXPERIMENT_AB];
	const struct {
		bool is_given;
		const char *option;
		enum experiment_design design;
	} only[] = {
		{ opt->block, "--block", EXPERIMENT_SWITCHBACK },
		{ opt->washout, "--washout", EXPERIMENT_SWITCHBACK },
		{ opt->steps, "--steps", EXPERIMENT_CANARY },
		{ opt->guards.n, "--guard", EXPERIMENT_CANARY },
		{ opt->step_connections, "--step-connections", EXPERIMENT_CANARY },
		{ opt->step_time, "--step-time", EXPERIMENT_CANARY },
		{ opt->shares.n, "--share", EXPERIMENT_AB },
	};

	while (strcmp(given, experiment_designs[e->design]))
		if (++e->design == EXPERIMENT_DESIGNS)
			return err_usage("--design %s: there is no such design\n"
					 "ab, switchback or canary",
					 given);
	for (size_t i = 0; i < sizeof(only) / sizeof(only[0]); i++)
		if (only[i].is_given && e->design != only[i].design)
			return err_usage("%s: only for --design %s", only[i].option,
					 experiment_designs[only[i].design]);
	return EXIT_DONE;
}

static int refuse_arm(const char *text, const char *why)
{
	return err_usage("--arm %s: %s\n"
			 "LABEL=CC or LABEL=CC:PROFILE, such as new=bpf_bbr:gentle",
			 text, why);
}

static int parse_arm(const char *text, struct experiment_arm *arm)
{
	char *words AUTO_FREE = mem_copy(text), *profile = words;
	const char *label = strsep(&profile, "="), *cc = strsep(&profile, ":");

	if (!cc)
		return refuse_arm(text, "expected a label and a congestion control");
	if (!experiment_name_is_valid(label))
		return refuse_arm(text, "a label has 1 to 15 characters of A-Z a-z 0-9 _ .");
	if (!*cc || strlen(cc) >= sizeof(arm->cc))
		return refuse_arm(text, "a congestion control's name has 1 to 15 characters");
	if (profile && !profile_name_is_valid(profile))
		return EXIT_USAGE;
	strcpy(arm->label, label);
	strcpy(arm->cc, cc);
	strcpy(arm->profile_name, profile ? profile : "");
	arm->profile = profile ? 0 : EXPERIMENT_NO_PROFILE;
	return EXIT_DONE;
}

static int parse_arms(const struct value_list *arms, struct experiment *e)
{
	int ret;

	if (arms->n < 2 || arms->n > EXPERIMENT_ARMS ||
	    (e->design == EXPERIMENT_CANARY && arms->n != 2))
		return err_usage(
			"%d arm%s: %s needs %s\n"
			"give --arm LABEL=CC[:PROFILE] for each; bbrmon compares the others "
			"with the first",
			arms->n, plural(arms->n), experiment_designs[e->design],
			e->design == EXPERIMENT_CANARY ? "two" : "2 to 4");
	for (int i = 0; i < arms->n; i++) {
		ret = parse_arm(arms->arg[i], &e->arm[i]);
		if (ret)
			return ret;
		for (int k = 0; k < i; k++)
			if (!strcmp(e->arm[i].label, e->arm[k].label))
				return refuse_arm(arms->arg[i], "another arm has this label");
	}
	e->arms = arms->n;
	return EXIT_DONE;
}

static int parse_unit(const struct experiment_options *opt, struct experiment *e)
{
	__u32 v4 = 24, v6 = 48;
	int end = 0;

	if (opt->by && strcmp(opt->by, "connection") && strcmp(opt->by, "prefix"))
		return err_usage("--by %s: expected connection or prefix", opt->by);
	e->unit = opt->by && !strcmp(opt->by, "prefix") ? EXPERIMENT_BY_PREFIX :
							  EXPERIMENT_BY_CONNECTION;
	if (opt->prefix && e->unit != EXPERIMENT_BY_PREFIX)
		return err_usage("--prefix goes only with --by prefix");
	if (opt->prefix && (sscanf(opt->prefix, "%2u,%3u%n", &v4, &v6, &end) != 2 ||
			    opt->prefix[end] || !v4 || v4 > 32 || !v6 || v6 > 128))
		return err_usage("--prefix %s: expected two lengths, such as 24,48\n"
				 "the first is for IPv4, 1 to 32; the second is for IPv6, 1 to 128",
				 opt->prefix);
	e->prefix4 = SCOPE_V4_BITS + v4;
	e->prefix6 = v6;
	return EXIT_DONE;
}

/* For a switchback. By default the washout is a sixth of a block. */
static int parse_blocks(const struct experiment_options *opt, struct experiment *e)
{
	e->block = 60 * NS_PER_S;
	if (!experiment_duration_parse("--block", opt->block, NS_PER_S, 7 * DAY, &e->block))
		return EXIT_USAGE;
	e->washout = e->block / 6;
	if (!experiment_duration_parse("--washout", opt->washout, 0, 7 * DAY, &e->washout))
		return EXIT_USAGE;
	if (e->washout < e->block)
		return EXIT_DONE;
	return err_usage("--washout %s: must be shorter than a block\n"
			 "connections count only in the rest of each block",
			 opt->washout);
}

static int parse_guards(const struct value_list *guards, struct experiment *e)
{
	struct guard guard;

	if (!guards->n)
		return err_usage(
			"--guard is missing: a canary grows only while its guards hold\n"
			"for example --guard 'retransmitted < 1.2x' --guard 'goodput_p50 > 0.97x'");
	if (guards->n > EXPERIMENT_GUARDS)
		return err_usage("%d guards: an experiment has at most %d", guards->n,
				 EXPERIMENT_GUARDS);
	for (int i = 0; i < guards->n; i++) {
		if (!*guards->arg[i] || strlen(guards->arg[i]) >= sizeof(e->guard[i]))
			return err_usage("--guard '%s': expected 1 to %zu characters",
					 guards->arg[i], sizeof(e->guard[i]) - 1);
		if (!guard_parse(guards->arg[i], &guard))
			return EXIT_USAGE;
		strcpy(e->guard[i], guards->arg[i]);
	}
	return EXIT_DONE;
}

/* "5%" or "5": 0, or from 0.01 to 100. */
static bool parse_percent(const char *text, __u32 *share)
{
	double percent;

	if (!parse_marked(text, '%', &percent) && parse_number(text, &percent))
		return false;
	*share = percent <= 100 ? lround(percent * PER_PERCENT) : 0;
	return *share || !percent;
}

static int refuse_share(const char *text, const char *why)
{
	return err_usage("--share %s: %s\n"
			 "LABEL=PERCENT, from 0.01 to 100, such as new=5%%",
			 text, why);
}

/* Takes one --share. */
static int take_share(const char *text, const struct experiment *e, __u32 share[EXPERIMENT_ARMS])
{
	char *words AUTO_FREE = mem_copy(text), *percent = words;
	int arm = experiment_arm(e, strsep(&percent, "="));

	if (!percent)
		return refuse_share(text, "the arm's percentage is missing");
	if (arm < 0)
		return refuse_share(text, "no arm has this label");
	if (share[arm])
		return refuse_share(text, "the arm has a share already");
	if (!parse_percent(percent, &share[arm]))
		return refuse_share(text, "not a percentage");
	if (!share[arm])
		return refuse_share(text, "an arm without a share never gets a connection");
	return EXIT_DONE;
}

/*
 * Takes LABEL=PERCENT for some or all of the arms; the others share what is left.
 */
static int parse_shares(const struct value_list *shares, const struct experiment *e,
			__u32 share[EXPERIMENT_ARMS])
{
	__u32 given = 0, open = 0;

	memset(share, 0, EXPERIMENT_ARMS * sizeof(*share));
	for (int i = 0; i < shares->n; i++)
		if (take_share(shares->arg[i], e, share))
			return EXIT_USAGE;
	for (__u32 i = 0; i < e->arms; i++) {
		given += share[i];
		open += !share[i];
	}
	if (given > EXPERIMENT_SHARES || EXPERIMENT_SHARES - given < open ||
	    (!open && given < EXPERIMENT_SHARES))
		return err_usage("--share: the shares are %g %% together, %s\n"
				 "arms without --share share the rest equally",
				 experiment_percent(given),
				 open ? "which leaves nothing for the other arms" : "not 100 %");
	for (__u32 i = e->arms; i-- > 0;) {
		if (share[i])
			continue;
		share[i] = (EXPERIMENT_SHARES - given) / open;
		given += share[i];
		open--;
	}
	return EXIT_DONE;
}

/* "1,5,25,50,100": ascending, the last one 100. */
static int parse_share_steps(const char *text, __u32 step[EXPERIMENT_STEPS])
{
	char *words AUTO_FREE = mem_copy(text), *rest = words, *word;
	int n = 0;

	while ((word = strsep(&rest, ",")) && n < EXPERIMENT_STEPS &&
	       parse_percent(word, &step[n]) && step[n] > (n ? step[n - 1] : 0))
		n++;
	if (!word && step[n - 1] == EXPERIMENT_SHARES)
		return EXIT_DONE;
	return err_usage("--steps %s: expected at most %d percentages that rise to 100\n"
			 "for example 1,5,25,50,100",
			 text, EXPERIMENT_STEPS);
}

static int parse_steps(const struct experiment_options *opt, struct experiment *e)
{
	__u64 time = 60 * NS_PER_S;

	if (parse_guards(&opt->guards, e) ||
	    parse_share_steps(opt->steps ? opt->steps : "1,5,25,50,100", e->step))
		return EXIT_USAGE;
	e->step_connections = 100;
	if (!parse_whole("--step-connections", opt->step_connections, 1, 1000000000,
			 &e->step_connections) ||
	    !experiment_duration_parse("--step-time", opt->step_time, NS_PER_S, 7 * DAY, &time))
		return EXIT_USAGE;
	e->step_seconds = (time + NS_PER_S - 1) / NS_PER_S;
	return EXIT_DONE;
}

static int parse_scope(const struct socket_filter *filter, struct experiment_scope *scope)
{
	struct socket_filter of_connections = *filter;
	struct bbr_rule rule;
	int ret;

	of_connections.cgroup = NULL; /* the program is attached to the cgroup */
	ret = rule_parse(&of_connections, &rule);
	if (ret)
		return ret;
	memcpy(scope->dst, rule.dst, sizeof(scope->dst));
	scope->dst_len = rule.dst_len;
	scope->dport = rule.dport;
	scope->sport = rule.sport;
	scope->mark = rule.mark;
	scope->has_mark = !!(rule.fields & BBR_RULE_MARK);
	return EXIT_DONE;
}

static int parse_ring(const struct experiment_options *opt, struct experiment *e)
{
	__u32 wanted = EXPERIMENT_RING;
	__u64 needed;

	if (!parse_whole("--keep", opt->keep, 1, MOST_KEPT, &wanted))
		return EXIT_USAGE;
	for (e->outcomes = LEAST_KEPT; e->outcomes < wanted;)
		e->outcomes *= 2;
	if (!parse_whole("--seed", opt->seed, 0, ~0u, &e->seed))
		return EXIT_USAGE;
	if (!opt->seed && getrandom(&e->seed, sizeof(e->seed), 0) != sizeof(e->seed))
		return err_refused("cannot draw a seed: the kernel has no random numbers");
	/* It must hold all connections of the first step until enough in the new arm have ended. */
	needed = 2ull * e->step_connections * EXPERIMENT_SHARES / (e->step[0] ? e->step[0] : 1);
	if (e->design != EXPERIMENT_CANARY || needed <= e->outcomes)
		return EXIT_DONE;
	return err_usage(
		"--step-connections %u: at the first step's share, a step has more outcomes than "
		"--keep holds\n"
		"use fewer, or a larger first step, or keep more: --keep %llu",
		e->step_connections, needed);
}

int experiment_request_parse(const char *name, const struct experiment_options *opt,
			     const struct socket_filter *filter, struct experiment_request *r)
{
	struct experiment *e = &r->config;
	int ret;

	*r = (struct experiment_request){
		.config = { .magic = EXPERIMENT_MAGIC,
			    .version = EXPERIMENT_VERSION,
			    .size = sizeof(*e) },
	};
	if (!experiment_name_is_valid(name))
		return err_usage(
			"%s: an experiment's name has 1 to 15 characters of A-Z a-z 0-9 _ .", name);
	strcpy(e->name, name);
	ret = parse_design(opt, e) ?: parse_arms(&opt->arms, e) ?: parse_unit(opt, e);
	if (!ret && e->design == EXPERIMENT_SWITCHBACK)
		ret = parse_blocks(opt, e);
	if (!ret && e->design == EXPERIMENT_CANARY)
		ret = parse_steps(opt, e);
	ret = ret ?: parse_scope(filter, &e->scope) ?: parse_ring(opt, e);
	if (ret)
		return ret;
	if (e->design != EXPERIMENT_CANARY)
		return parse_shares(&opt->shares, e, r->share);
	/* A canary uses its first step's share once somebody watches it. */
	r->share[1] = e->step[0];
	r->share[0] = EXPERIMENT_SHARES - r->share[1];
	return EXIT_DONE;
}
