// SPDX-License-Identifier: GPL-2.0-only
/* The arguments and options of bbrctl's verbs, and the privileges that they need. */
#include <stdio.h>
#include <string.h>

#include "cli/caps.h"
#include "completion/completers.h"
#include "descriptor.h"
#include "cli/err.h"
#include "kernel/instance.h"
#include "verbs/verbs.h"

#define MANY 64 /* keys, values */

/* Takes a name that a congestion control can have. */
static bool option_name(const char *option, const char *name, void *to)
{
	struct options *opt = to;

	if (!instance_name_is_valid(name)) {
		err("%s %s: a name has 1 to %d characters of A-Z a-z 0-9 _ .", option, name,
		    BBR_NAME_LEN - 1);
		return false;
	}
	opt->name = name;
	opt->name_given = true;
	return true;
}

#define MEMBER(m) offsetof(struct options, m)

#define NAME { "name", 0, "NAME", option_name, 0, "the instance, by default bpf_bbr" }
#define PROFILE(arg, help) { "profile", 0, arg, option_text, MEMBER(profile), help }
#define ALGORITHM(help) { "algorithm", 0, "ALGORITHM", option_text, MEMBER(algorithm), help }
#define OBJECT(help) { "object", 0, "FILE", option_text, MEMBER(object), help }
#define NETNS(help) { "netns", 0, "N", option_text, MEMBER(netns), help }
#define ALL_NETNS(help) { "all-netns", 0, NULL, option_flag, MEMBER(all_netns), help }
#define CGROUP(help) { "cgroup", 0, "PATH", option_text, MEMBER(filter.cgroup), help }
#define END \
	{   \
	}

static const struct option_def every_verb[] = {
	{ "json", 'j', NULL, option_flag, MEMBER(json), "print JSON instead of text" },
	END,
};

static const struct option_def instance[] = { NAME, END };

static const struct option_def dst[] = {
	{ "dst", 0, "PREFIX", option_text, MEMBER(filter.dst),
	  "connections to these addresses: 10.0.0.0/8, 2001:db8::1" },
	END,
};

static const struct option_def filter[] = {
	{ "dport", 0, "N", option_text, MEMBER(filter.dport), "with this remote port" },
	{ "sport", 0, "N", option_text, MEMBER(filter.sport), "with this local port" },
	CGROUP("of this cgroup, and of those below it"),
	{ "mark", 0, "N", option_text, MEMBER(filter.mark), "with this mark (SO_MARK)" },
	END,
};

static const struct option_def load[] = {
	NAME,
	ALGORITHM("the instance's algorithm, by default bbr"),
	PROFILE("PROFILE|FILE", "the values of a profile, or of the only one in a file"),
	{ "set", 0, "KEY=VALUE", option_append, MEMBER(set),
	  "a parameter (may be given more than once)" },
	OBJECT("a BPF object instead of the one in bbrctl"),
	{ "ecn", 0, NULL, option_flag, MEMBER(ecn),
	  "negotiate ECN and respond to marks, for networks that mark at a short queue" },
	{ "default", 0, NULL, option_flag, MEMBER(make_default),
	  "make it the default of a network namespace, this one without --netns" },
	NETNS("with --default: of this one, a name of /run/netns or a path"),
	END,
};

static const struct option_def unload[] = {
	NAME,
	{ "migrate", 0, "CC", option_text, MEMBER(migrate),
	  "give its connections this congestion control first" },
	END,
};

static const struct option_def show[] = {
	NAME,
	PROFILE("PROFILE", "show this profile instead of the default one"),
	{ "defaults", 0, NULL, option_flag, MEMBER(defaults),
	  "show the defaults, not an instance" },
	ALGORITHM("with --defaults: of this algorithm, by default bbr"),
	END,
};

static const struct option_def set[] = {
	NAME,
	PROFILE("PROFILE", "change this profile instead of the default one"),
	END,
};

static const struct option_def profile_add[] = {
	NAME,
	PROFILE("FILE", "the profile of this name in a file"),
	END,
};

static const struct option_def rule_add[] = {
	NAME,
	PROFILE("PROFILE", "the profile that matching connections get"),
	{ "before", 0, "K", option_text, MEMBER(before),
	  "insert before the rule with this number; by default at the end" },
	END,
};

static const struct option_def migrate[] = {
	{ "from", 0, "CC", option_text, MEMBER(from), "connections with this congestion control" },
	{ "to", 0, "CC", option_text, MEMBER(to), "get this one" },
	NETNS("of this network namespace; otherwise of the own"),
	ALL_NETNS("of all network namespaces"),
	{ "listeners", 0, NULL, option_flag, MEMBER(listeners),
	  "also listening sockets, and so the connections that they accept later" },
	{ "dry-run", 0, NULL, option_flag, MEMBER(dry_run), "only print which ones" },
	END,
};

static const struct option_def upgrade[] = {
	NAME,
	OBJECT("a BPF object instead of the one in bbrctl"),
	END,
};

static const struct option_def attach[] = {
	CGROUP("which one"),
	NAME,
	PROFILE("PROFILE", "give its connections this profile, by a rule"),
	END,
};

static const struct option_def apply[] = {
	{ "name", 0, "NAME", option_name, 0, "only this instance; otherwise all" },
	{ "check", 0, NULL, option_flag, MEMBER(check),
	  "only print what differs from the file; exit with 3 if anything does" },
	{ "diff", 0, NULL, option_flag, MEMBER(diff),
	  "only show what would change, as lines of the file" },
	{ "prune", 0, NULL, option_flag, MEMBER(prune),
	  "also take away what the file does not have and no apply made" },
	{ "hold", 0, NULL, option_flag, MEMBER(hold),
	  "keep running; on SIGTERM or SIGINT remove what was applied" },
	END,
};

static const struct option_def save[] = {
	{ "name", 0, "NAME", option_name, 0, "only this instance; otherwise all" },
	END,
};

#define EXPERIMENT(m) MEMBER(experiment.m)

static const struct option_def experiment_start[] = {
	{ "arm", 0, "LABEL=CC[:PROFILE]", option_append, EXPERIMENT(arms),
	  "a congestion control, or a profile of an instance; two to four of these. The others\n"
	  "are compared with the first" },
	{ "design", 0, "DESIGN", option_text, EXPERIMENT(design),
	  "ab (each connection draws its arm), switchback (all have one arm at a time) or canary\n"
	  "(the share of the second arm grows while guards hold); by default ab" },
	{ "share", 0, "LABEL=PERCENT", option_append, EXPERIMENT(shares),
	  "ab: of new connections, 5%; the other arms get equal parts of what is left" },
	{ "by", 0, "UNIT", option_text, EXPERIMENT(by),
	  "connection (each one draws an arm; the default) or prefix (all connections with one\n"
	  "remote prefix get the same arm)" },
	{ "prefix", 0, "N,N", option_text, EXPERIMENT(prefix),
	  "with --by prefix: how long the prefixes are, of IPv4 and of IPv6; by default 24,48" },
	NETNS("connections of this network namespace; otherwise, without --cgroup, of the own"),
	ALL_NETNS("connections of all network namespaces"),
	{ "block", 0, "DURATION", option_text, EXPERIMENT(block),
	  "switchback: how long all have one arm; by default 60s" },
	{ "washout", 0, "DURATION", option_text, EXPERIMENT(washout),
	  "switchback: time at the start of a block that does not count; by default a sixth of "
	  "it" },
	{ "guard", 0, "GUARD", option_append, EXPERIMENT(guards),
	  "canary: what must hold, such as 'retransmitted < 1.2x' (may be given more than once)" },
	{ "steps", 0, "PERCENT,...", option_text, EXPERIMENT(steps),
	  "canary: shares of the second arm, one after the other; by default 1,5,25,50,100" },
	{ "step-connections", 0, "N", option_text, EXPERIMENT(step_connections),
	  "canary: connections that must end in the second arm before the next step; by default "
	  "100" },
	{ "step-time", 0, "DURATION", option_text, EXPERIMENT(step_time),
	  "canary: least duration of a step; by default 60s" },
	{ "keep", 0, "N", option_text, EXPERIMENT(keep),
	  "outcomes that the kernel keeps until they are read; by default 65536" },
	{ "seed", 0, "N", option_text, EXPERIMENT(seed),
	  "for the draws by prefix and the order of blocks; by default a random one" },
	END,
};

static const struct option_def experiment_watch[] = {
	{ "every", 0, "DURATION", option_text, EXPERIMENT(every),
	  "how often to check the guards, from 1s; by default 10s" },
	END,
};

static const struct option_def experiment_stop[] = {
	{ "to", 0, "ARM", option_text, MEMBER(to), "give its open connections this arm first" },
	END,
};

static const struct option_def detach[] = { CGROUP("which one"), NAME, END };

static void init(void *options)
{
	struct options *opt = options;

	opt->name = algorithms[0]->instance;
}

/*
 * CAP_SYS_ADMIN is for bpf(2)'s *_GET_FD_BY_ID and *_GET_NEXT_ID, which find a loaded instance; the
 * others are for loading one. Before Linux 6.10, CAP_NET_ADMIN is also for asking which programs a
 * cgroup has.
 */
#define LOOK CAP(SYS_ADMIN)
#define CHANGE (LOOK | CAP(BPF) | CAP(PERFMON) | CAP(NET_ADMIN))
/*
 * Access to files as root has it. CAP_DAC_READ_SEARCH also finds a cgroup by its id
 * (open_by_handle_at(2)).
 */
#define FILES (CAP(DAC_READ_SEARCH) | CAP(DAC_OVERRIDE))
/* The namespaces of other users' processes, through /proc/PID/ns. */
#define EVERY_NETNS CAP(SYS_PTRACE)

static const struct privileges_change of_show[] = {
	{ "defaults", .spares = PRIVILEGES_ALL },
	{},
};

static const struct privileges_change of_apply[] = {
	{ "check", .spares = CAP(BPF) | CAP(PERFMON) },
	{ "diff", .spares = CAP(BPF) | CAP(PERFMON) },
	{},
};

/*
 * VERB(its words, function, what it needs, arguments, their lowest and highest number, what it does,
 * its options...)
 */
#undef VERB
#define VERB(words, function, needs, arguments, lowest, highest, does, ...)                        \
	&(const struct verb)                                                                       \
	{                                                                                          \
		.privileges = needs, .name = words, .args = arguments, .brief = does,              \
		.groups = (const struct option_group[]){ __VA_ARGS__, {} }, .min_args = lowest,    \
		.max_args = highest, .size = sizeof(struct options), .init = init, .run = function \
	}

static const struct verb *const verbs[] = {
	VERB("check", verb_check, NEEDS(CHANGE), "", 0, 0,
	     "test whether this machine can run bpf_bbr, by loading it briefly", {}),
	VERB("load", verb_load, NEEDS(CHANGE, .may = FILES | EVERY_NETNS), "", 0, 0,
	     "load an instance; --default makes it a network namespace's default", { load, 0 }),
	VERB("unload", verb_unload, NEEDS(CHANGE, .may = FILES | EVERY_NETNS), "", 0, 0,
	     "unload an instance; connections keep it until they close, or move", { unload, 0 }),
	VERB("status", verb_status, NEEDS(LOOK | CAP(NET_ADMIN), .may = EVERY_NETNS), "", 0, 0,
	     "list the loaded instances", { instance, 0 }),
	VERB("show", verb_show, NEEDS(LOOK, .changes = of_show), "[KEY]...", 0, MANY,
	     "show parameters: value, default, range, meaning", { show, 0 }),
	VERB("set", verb_set, NEEDS(CHANGE, .may = FILES), "KEY=VALUE...", 1, MANY,
	     "change parameters, all at once; open connections follow", { set, 0 }),
	VERB("reset", verb_reset, NEEDS(CHANGE, .may = FILES), "[KEY]...", 0, MANY,
	     "set parameters back to the defaults", { set, 0 }),
	VERB("profile list", verb_profile_list, NEEDS(LOOK), "", 0, 0,
	     "list the profiles of an instance, and the known ones", { instance, 0 }),
	VERB("profile show", verb_profile_show, NEEDS(LOOK), "PROFILE", 1, 1,
	     "show the parameters of a profile", { instance, 0 }),
	VERB("profile add", verb_profile_add, NEEDS(CHANGE, .may = FILES), "PROFILE [KEY=VALUE]...",
	     1, MANY, "add a known profile, one from a file, or a new one", { profile_add, 0 }),
	VERB("profile copy", verb_profile_copy, NEEDS(CHANGE, .may = FILES),
	     "PROFILE NEW [KEY=VALUE]...", 2, MANY, "copy a profile, with changes",
	     { instance, 0 }),
	VERB("profile delete", verb_profile_delete, NEEDS(CHANGE, .may = FILES), "PROFILE", 1, 1,
	     "delete a profile; its connections keep it until they close", { instance, 0 }),
	VERB("rule list", verb_rule_list, NEEDS(LOOK, .may = CAP(DAC_READ_SEARCH)), "", 0, 0,
	     "list the rules; the first one that matches decides", { instance, 0 }),
	VERB("rule add", verb_rule_add, NEEDS(CHANGE, .may = FILES), "--profile PROFILE", 0, 0,
	     "give matching new connections a profile", { rule_add, 0 }, { dst, 0 }, { filter, 0 }),
	VERB("rule delete", verb_rule_delete, NEEDS(CHANGE, .may = FILES), "[K]", 0, 1,
	     "delete a rule, by its number or by its options", { instance, 0 }, { dst, 0 },
	     { filter, 0 }),
	VERB("rule flush", verb_rule_flush, NEEDS(CHANGE, .may = FILES), "", 0, 0,
	     "delete all rules", { instance, 0 }),
	VERB("rule test", verb_rule_test, NEEDS(LOOK, .may = CAP(DAC_READ_SEARCH)), "ADDR", 1, 1,
	     "show which rule and profile a connection would get", { instance, 0 }, { filter, 0 }),
	VERB("apply", verb_apply, NEEDS(CHANGE, .may = FILES | EVERY_NETNS, .changes = of_apply),
	     "[FILE]", 0, 1, "make the machine match a file, all or nothing", { apply, 0 }),
	VERB("save", verb_save,
	     NEEDS(LOOK | CAP(NET_ADMIN), .may = CAP(DAC_READ_SEARCH) | EVERY_NETNS), "", 0, 0,
	     "print the state of the machine as a file for apply", { save, 0 }),
	VERB("migrate", verb_migrate, NEEDS(CHANGE, .may = FILES | EVERY_NETNS),
	     "--from CC --to CC", 0, 0, "give live connections another congestion control",
	     { migrate, 0 }, { dst, 0 }, { filter, 0 }),
	VERB("upgrade", verb_upgrade, NEEDS(CHANGE, .may = FILES | EVERY_NETNS), "", 0, 0,
	     "replace the code; open connections keep the old code", { upgrade, 0 }),
	VERB("attach", verb_attach, NEEDS(CHANGE, .may = FILES), "--cgroup PATH", 0, 0,
	     "make new connections of a cgroup use it, unless the application chooses",
	     { attach, 0 }),
	VERB("detach", verb_detach, NEEDS(CHANGE, .may = FILES), "--cgroup PATH", 0, 0,
	     "new connections of the cgroup no longer use it", { detach, 0 }),
	VERB("experiment start", verb_experiment_start, NEEDS(CHANGE, .may = FILES | EVERY_NETNS),
	     "EXPERIMENT --arm LABEL=CC[:PROFILE]...", 1, 1,
	     "give each new connection of a scope one of several arms, to compare them",
	     { experiment_start, 0 }, { dst, 0 }, { filter, 0 }),
	VERB("experiment list", verb_experiment_list, NEEDS(LOOK | CAP(NET_ADMIN)), "", 0, 0,
	     "list the experiments that run", {}),
	VERB("experiment status", verb_experiment_status, NEEDS(LOOK | CAP(NET_ADMIN)),
	     "[EXPERIMENT]", 0, 1, "show arms, counts, guards and the log of one or all", {}),
	VERB("experiment pause", verb_experiment_pause, NEEDS(LOOK | CAP(NET_ADMIN), .may = FILES),
	     "EXPERIMENT", 1, 1, "leave new connections alone for a while", {}),
	VERB("experiment resume", verb_experiment_resume,
	     NEEDS(LOOK | CAP(NET_ADMIN), .may = FILES), "EXPERIMENT", 1, 1,
	     "resume a paused experiment", {}),
	VERB("experiment watch", verb_experiment_watch, NEEDS(LOOK | CAP(NET_ADMIN), .may = FILES),
	     "EXPERIMENT", 1, 1,
	     "of a canary: take each step when it is time, or take it back; runs until then",
	     { experiment_watch, 0 }),
	VERB("experiment stop", verb_experiment_stop, NEEDS(CHANGE, .may = FILES | EVERY_NETNS),
	     "EXPERIMENT", 1, 1, "end it: new connections get what they got before",
	     { experiment_stop, 0 }),
	NULL,
};

static void print_notes(FILE *out)
{
	char names[ALGORITHM_NAMES_LEN];

	algorithm_names(names, sizeof(names), " or ");
	fprintf(out,
		"ALGORITHM is %s.\n"
		"Exit status: 0 done, 1 wrong command line, 2 refused by the kernel or the "
		"system,\n"
		"3 nothing to do, 4 a canary was taken back.\n",
		names);
}

const struct program bbrctl = {
	.name = "bbrctl",
	.version = BBR_VERSION,
	.about = "Loads and tunes bpf_bbr, BBR congestion control as a BPF program.",
	.print_notes = print_notes,
	.options = every_verb,
	.verbs = verbs,
	.completers = bbrctl_completers,
	.verbs_take_privileges = true,
};
