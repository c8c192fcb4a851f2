// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "cli/err.h"
#include "running.h"
#include "experiment/handle.h"
#include "kernel/instance.h"
#include "machine/plan.h"
#include "migration/migration.h"
#include "tuning/profile_map.h"

/* True if a socket can get it. The kernel loads a module for it if there is one. */
static int check_available(const char *cc)
{
	int fd AUTO_CLOSE = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), error, ret;

	if (fd >= 0 && !setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, strlen(cc)))
		return EXIT_DONE;
	error = errno;
	ret = migration_check_to("--arm", cc);
	return ret ? ret : err_bpf(error, cc);
}

/*
 * Finds the index of the arm's profile in its instance. *fd: the map in which experiments write it.
 */
static int find_profile(struct experiment_arm *arm, int *fd)
{
	struct profile_map profiles AUTO(profile_map_close) = {};
	struct instance inst;
	int ret, index, id = instance_id(arm->cc);

	if (id < 0)
		return err_bpf(id, "cannot list instances");
	if (!id)
		return err_nothing(
			"--arm %s=%s:%s: %s is not a loaded instance, so it has no profiles\n"
			"bbrctl status lists instances; load one: bbrctl load",
			arm->label, arm->cc, arm->profile_name, arm->cc);
	ret = instance_get(arm->cc, &inst);
	if (!ret && !inst.assigned_id)
		return err_refused("%s: was loaded by a version without experiments\n"
				   "upgrade it, connections stay: bbrctl upgrade --name %s",
				   arm->cc, arm->cc);
	ret = ret ?: profile_map_open(&inst, &profiles);
	ret = ret ?: profile_get(&profiles, arm->profile_name, &index);
	if (ret)
		return ret;
	arm->profile = index;
	*fd = instance_map(inst.assigned_id);
	return *fd < 0 ? err_bpf(*fd, arm->cc) : EXIT_DONE;
}

void arms_close(int assigned[EXPERIMENT_ARMS])
{
	for (int i = 0; i < EXPERIMENT_ARMS; i++)
		if (assigned[i] >= 0)
			close(assigned[i]);
}

int arms_open(struct experiment *e, int assigned[EXPERIMENT_ARMS])
{
	int ret = EXIT_DONE;

	for (int i = 0; i < EXPERIMENT_ARMS; i++)
		assigned[i] = -1;
	for (__u32 i = 0; !ret && i < e->arms; i++) {
		if (e->arm[i].profile != EXPERIMENT_NO_PROFILE)
			ret = find_profile(&e->arm[i], &assigned[i]);
		ret = ret ?: check_available(e->arm[i].cc);
	}
	if (ret)
		arms_close(assigned);
	return ret;
}

const char *arm_text(const struct experiment_arm *arm)
{
	static char text[ARM_TEXT_LEN];

	snprintf(text, sizeof(text), "%s=%s%s%s", arm->label, arm->cc,
		 arm->profile_name[0] ? ":" : "", arm->profile_name);
	return text;
}

const struct experiment_handle *experiment_with(const struct experiment_handle *list, int n,
						const char *cc, const char *profile)
{
	for (int i = 0; i < n; i++)
		for (__u32 k = 0; k < list[i].config.arms; k++) {
			const struct experiment_arm *arm = &list[i].config.arm[k];

			if (!strcmp(arm->cc, cc) &&
			    (!profile || (arm->profile != EXPERIMENT_NO_PROFILE &&
					  !strcmp(arm->profile_name, profile))))
				return &list[i];
		}
	return NULL;
}

int arms_refuse_use(const char *cc, const char *profile)
{
	struct experiment_list list AUTO(experiments_free) = {};
	const struct experiment_handle *user;

	if (experiments_need(&list))
		return EXIT_REFUSED;
	user = experiment_with(list.at, list.n, cc, profile);
	if (!user)
		return EXIT_DONE;
	return err_refused("%s: is an arm of the experiment %s\n"
			   "stop that first: bbrctl experiment stop %s",
			   profile ? profile : cc, user->config.name, user->config.name);
}

static bool takes_away(const struct step *s, const struct experiment_arm *arm)
{
	if (strcmp(s->name, arm->cc))
		return false;
	switch (s->kind) {
	case STEP_UNLOAD:
		return true;
	case STEP_REPLACE: /* new code keeps the name, but may give profiles other indexes */
		return arm->profile != EXPERIMENT_NO_PROFILE ||
		       s->wanted->algorithm != s->found->algorithm;
	case STEP_PROFILE_DELETE:
		return arm->profile != EXPERIMENT_NO_PROFILE &&
		       !strcmp(arm->profile_name, s->profile_found->name);
	default:
		return false;
	}
}

static int refuse(const struct step *s, const struct experiment *e,
		  const struct experiment_arm *arm)
{
	err("%s%s%s: is the arm %s of the experiment %s\n"
	    "stop that first: bbrctl experiment stop %s; or change the file: bbrctl apply "
	    "--check",
	    s->name, arm->profile_name[0] ? ":" : "", arm->profile_name, arm->label, e->name,
	    e->name);
	if (s->kind == STEP_REPLACE)
		remedy("or replace the code alone first: bbrctl upgrade --name %s", s->name);
	return EXIT_REFUSED;
}

int plan_refuse_use(const struct plan *plan)
{
	struct experiment_list list AUTO(experiments_free) = {};

	if (experiments_need(&list))
		return EXIT_REFUSED;
	for (size_t i = 0; i < plan->n; i++)
		for (int k = 0; k < list.n; k++) {
			const struct experiment *e = &list.at[k].config;

			for (__u32 arm = 0; arm < e->arms; arm++)
				if (takes_away(&plan->step[i], &e->arm[arm]))
					return refuse(&plan->step[i], e, &e->arm[arm]);
		}
	return EXIT_DONE;
}
