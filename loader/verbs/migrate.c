// SPDX-License-Identifier: GPL-2.0-only
#include "migration/migration.h"
#include "verbs/verbs.h"

static int refuse(const char *why)
{
	return err_usage("migrate: %s\n"
			 "usage: bbrctl migrate --from CC --to CC [--dst PREFIX] [--dport N] ...",
			 why);
}

static int take_names(const struct options *opt, struct migrate_config *config)
{
	if (!opt->from || !opt->to)
		return refuse("--from and --to must be given");
	if (!opt->from[0] || strlen(opt->from) >= BBR_NAME_LEN)
		return refuse("--from is not a name of 1 to 15 characters");
	if (!strcmp(opt->from, opt->to) && opt->dry_run)
		return refuse("--dry-run cannot tell which connections use older code of the name");
	if (strlen(opt->to) < BBR_NAME_LEN)
		strcpy(config->to, opt->to);
	strcpy(config->from, opt->from);
	return EXIT_DONE;
}

static int verb_migrate(struct options *opt, UNUSED int argc, UNUSED char **argv)
{
	struct migration m AUTO(migration_free) = {
		.netns = opt->netns,
		.all_netns = opt->all_netns,
		.config = { .listeners = opt->listeners, .dry_run = opt->dry_run },
	};
	struct json j;
	int judged, ret;

	ret = opt->netns && opt->all_netns ? refuse("--netns and --all-netns exclude each other") :
					     take_names(opt, &m.config);
	if (!ret)
		ret = socket_filter_parse(&opt->filter, &m.config);
	if (!ret)
		ret = migration_check_to("--to", opt->to);
	if (ret)
		return ret;
	if (privileges_take() || (!opt->dry_run && lock_instances()))
		return EXIT_REFUSED;
	ret = migration_run(&m);
	if (!ret && !opt->netns && !opt->all_netns)
		migration_count_others(&m);
	if (ret && !m.n)
		return ret;
	if (opt->json) {
		json_begin_pretty(&j, stdout);
		migration_add_json(&j, &m);
		json_end(&j);
	} else {
		migration_print(&m);
	}
	judged = migration_judge(&m);
	return ret ? ret : judged;
}

BBRCTL_VERB(
	migrate, "migrate", NEEDS(CHANGE, .may = FILES | EVERY_NETNS), .args = "--from CC --to CC",
	.brief = "move live connections to another congestion control",
	OPTIONS(OWN(TEXT("from", "CC", from, "connections with this congestion control"),
		    TEXT("to", "CC", to,
			 "the new one; if it is the same, for connections that use its older code"),
		    NETNS("of this network namespace, by default bbrctl's own"),
		    ALL_NETNS("of all network namespaces"),
		    FLAG("listeners", listeners,
			 "also listening sockets, and so the connections that they accept later"),
		    FLAG("dry-run", dry_run, "only count them (-v: list them)")),
		{ option_dst, 0 }, { option_filter, 0 }));
