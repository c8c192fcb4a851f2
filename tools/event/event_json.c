// SPDX-License-Identifier: GPL-2.0-only
/*
 * An event as one JSON object. Keys are stable, and a value that was not measured is null.
 */
#include <sys/socket.h>

#include "address.h"
#include "event.h"
#include "field.h"
#include "cli/json.h"

static void add_steps(struct json *j, const struct algorithm *a, const struct bbr_event *e)
{
	json_add_string(j, "from", event_step_name(a, e, false));
	json_add_string(j, "to", event_step_name(a, e, true));
	json_add_string(j, "from_phase", event_step_phase(a, e, false));
	json_add_string(j, "to_phase", event_step_phase(a, e, true));
	json_add_string(j, "reason", event_has_reason(e) ? reason_name(a, e->reason) : NULL);
}

static void add_fields(struct json *j, const struct field *fields, size_t n,
		       const struct bbr_event *e)
{
	for (size_t i = 0; i < n; i++)
		field_add_json(j, &fields[i], e);
}

void event_add_json(struct json *j, const struct origin *origin, const struct bbr_event *e)
{
	const struct algorithm *a = origin->algorithm;

	json_add_int(j, "time_ns", e->time_ns);
	json_add_string(j, "instance", origin->name);
	json_add_string(j, "event", event_kind_name(e->kind));
	/* The state of a socket is not part of a monitor's stream. */
	json_add_int_if(j, "conn", e->kind != BBR_EV_STATE || e->conn, e->conn);
	json_add_int_if(j, "seq", e->kind != BBR_EV_STATE, e->seq);
	json_add_int(j, "netns", e->netns);
	json_add_endpoint(j, "local", e->laddr, "lport", e->lport);
	json_add_endpoint(j, "remote", e->raddr, "rport", e->rport);
	json_add_string(j, "family", e->family == AF_INET ? "inet" : "inet6");
	if (event_has_steps(e))
		add_steps(j, a, e);
	add_fields(j, a->fields, a->n_fields, e);
	json_add_string(j, "profile", origin_profile(origin, e));
	json_add_int_if(j, "profile_index", !(e->flags & BBR_F_KERNEL), e->profile);
	json_add_int_if(j, "params_gen", !(e->flags & BBR_F_KERNEL) && e->kind != BBR_EV_STATE,
			e->params_gen);
	add_fields(j, common_fields, n_common_fields, e);
}

void event_print_json(FILE *out, const struct origin *origin, const struct bbr_event *e)
{
	struct json line;

	json_begin(&line, out);
	event_add_json(&line, origin, e);
	json_end(&line);
}
