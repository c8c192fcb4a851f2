/* SPDX-License-Identifier: GPL-2.0-only */
/* Two machines, and the plan that leads from one to the other. Each test begins with empty ones. */
#ifndef UNIT_LOADER_MACHINES_H
#define UNIT_LOADER_MACHINES_H

#include <stdlib.h>

#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "fixture.h"

#include "address.h"
#include "machine/plan.h"

static struct machine wanted, found;
static struct plan plan;

static inline int begin(void **state)
{
	(void)state;
	wanted = (struct machine){};
	found = (struct machine){ .is_found = true };
	return 0;
}

static inline int end(void **state)
{
	(void)state;
	/* Nothing is mapped. */
	for (size_t i = 0; i < found.n_instances; i++)
		found.instance[i].is_open = false;
	machine_free(&wanted);
	machine_free(&found);
	plan_free(&plan);
	return 0;
}

/* Adds an instance with a profile default to one of the two machines. */
static inline struct machine_instance *add(struct machine *m, const char *name)
{
	struct machine_instance *inst = machine_add_instance(m, name);

	assert_non_null(inst);
	inst->algorithm = inst->profiles.algorithm = &made_up;
	inst->is_ours = inst->is_open = inst->is_applied = m->is_found;
	strcpy(inst->version, "1");
	assert_int_equal(profile_definitions_begin(&inst->profiles, "", "default"), EXIT_DONE);
	return inst;
}

static inline void add_profile(struct machine_instance *inst, const char *name, const char *line)
{
	char key[32];

	if (!profile_definitions_find(&inst->profiles, name))
		assert_int_equal(profile_definitions_begin(&inst->profiles, "", name), EXIT_DONE);
	snprintf(key, sizeof(key), "%.*s", (int)strcspn(line, "="), line);
	assert_int_equal(
		profile_definitions_line(&inst->profiles, name, key, strchr(line, '=') + 1),
		EXIT_DONE);
}

static inline void add_rule(struct machine_instance *inst, __u16 dport, __u32 profile)
{
	const struct bbr_rule rule = { .fields = BBR_RULE_DPORT,
				       .dport = dport,
				       .profile = profile };

	assert_int_equal(rule_list_insert(&inst->rules, inst->rules.n, &rule), EXIT_DONE);
}

/* Adds an attachment that an apply made. */
static inline void add_attached(const char *path, const char *name)
{
	struct attachment *at = machine_add_attachment(&found, path, name);

	assert_non_null(at);
	at->is_applied = true;
}

/* Adds a route of the namespace x, inode 7, that leads to a device. congctl "": none. */
static inline struct machine_route *add_route(struct machine *m, const char *prefix,
					      const char *congctl, __u32 device)
{
	struct machine_route *r = machine_add_route(m, "x", 7);
	struct {
		struct nlmsghdr head;
		struct rtmsg rt;
		struct rtattr oif;
		__u32 device;
	} message = {
		.head = { .nlmsg_len = sizeof(message), .nlmsg_type = RTM_NEWROUTE },
		.rt = { .rtm_family = AF_INET, .rtm_type = RTN_UNICAST },
		.oif = { .rta_type = RTA_OIF, .rta_len = RTA_LENGTH(sizeof(device)) },
		.device = device,
	};
	__u32 mask[4];

	assert_true(parse_prefix("", prefix, r->is.to.addr, mask));
	for (int i = 0; i < 4; i++)
		r->is.to.len += __builtin_popcount(mask[i]);
	strcpy(r->name, congctl);
	strcpy(r->is.congctl, congctl);
	r->is.type = RTN_UNICAST;
	r->is.protocol = RTPROT_STATIC;
	r->is.message = mem_new(1, sizeof(message));
	memcpy(r->is.message, &message, sizeof(message));
	return r;
}

static inline void add_note(const char *name, __u32 inode, const char *previous)
{
	struct machine_note note = { .inode = inode, .is_applied = true };

	strcpy(note.name, name);
	strcpy(note.previous, previous);
	MEM_ADD(found.note, found.n_notes) = note;
}

#endif
