// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <string.h>

#include <sys/socket.h>

#include "address.h"
#include "cli/err.h"
#include "cli/json.h"
#include "event.h"
#include "field.h"
#include "kernel/clock.h"
#include "kernel/instance.h"

enum event_error event_check(const void *record, size_t size)
{
	const struct bbr_event *e = record;

	/* The head is the same in every major: else nobody could tell them apart. */
	if (size < offsetof(struct bbr_event, kind))
		return EVENT_SHORT;
	if (e->major != BBR_ABI_MAJOR)
		return EVENT_OTHER_MAJOR;
	if (size < BBR_EVENT_BASE || e->size < BBR_EVENT_BASE || e->size > size)
		return EVENT_SHORT;
	return EVENT_OK;
}

size_t event_size_of(const void *record)
{
	__u16 size;

	memcpy(&size, (const char *)record + offsetof(struct bbr_event, size), sizeof(size));
	return size;
}

void event_copy(struct bbr_event *e, const void *record)
{
	size_t size = event_size_of(record);

	if (size > sizeof(*e))
		size = sizeof(*e);

	memcpy(e, record, size);
	memset((char *)e + size, 0, sizeof(*e) - size);
	e->size = size;
}

static const char *name_of(const char *const *names, unsigned int n, unsigned int i)
{
	return i < n && names[i] ? names[i] : "unknown";
}

const char *event_kind_name(unsigned int kind)
{
	static const char *const names[BBR_EV_KINDS] = {
		[BBR_EV_START] = "start",   [BBR_EV_END] = "end",	    [BBR_EV_ACK] = "ack",
		[BBR_EV_MODE] = "mode",	    [BBR_EV_RECOVERY] = "recovery", [BBR_EV_RTO] = "rto",
		[BBR_EV_PARAMS] = "params",
	};

	return kind == BBR_EV_STATE ? "state" : name_of(names, BBR_EV_KINDS, kind);
}

const char *const ca_state_names[N_CA_STATES] = { "open", "disorder", "cwr", "recovery", "loss" };

const char *event_ca_name(unsigned int ca_state)
{
	return name_of(ca_state_names, N_CA_STATES, ca_state);
}

const char *mode_name(const struct algorithm *a, unsigned int mode)
{
	return mode < a->n_modes ? a->modes[mode].name : "unknown";
}

const char *reason_name(const struct algorithm *a, unsigned int reason)
{
	return name_of(a->reasons, a->n_reasons, reason);
}

size_t text_append(char *buf, size_t size, size_t n, const char *text)
{
	size_t len = strnlen(text, size - 1 - n);

	memcpy(buf + n, text, len);
	buf[n + len] = 0;
	return n + len;
}

/* "PROBE_BW/CRUISE"; phase NULL: there is none. */
static void mode_and_phase(char *buf, size_t size, const char *mode, const char *phase)
{
	size_t n = text_append(buf, size, 0, mode);

	if (!phase)
		return;
	n = text_append(buf, size, n, "/");
	text_append(buf, size, n, phase);
}

void mode_text(char *buf, size_t size, const struct algorithm *a, const struct bbr_event *e)
{
	const struct algorithm_mode *mode = e->mode < a->n_modes ? &a->modes[e->mode] : NULL;

	mode_and_phase(buf, size, mode_name(a, e->mode),
		       mode && mode->phases ? name_of(mode->phases, mode->n_phases, e->phase) :
					      NULL);
}

bool event_has_steps(const struct bbr_event *e)
{
	return e->kind == BBR_EV_MODE || e->kind == BBR_EV_RECOVERY || e->kind == BBR_EV_RTO;
}

bool event_has_reason(const struct bbr_event *e)
{
	return e->kind == BBR_EV_MODE && !(e->flags & BBR_F_KERNEL);
}

/* The name of event->to or ->from, which are modes or congestion states. */
static const char *event_step_name(const struct algorithm *a, const struct bbr_event *e, bool to)
{
	unsigned int state = to ? e->to : e->from;

	return e->kind == BBR_EV_MODE ? mode_name(a, state) : event_ca_name(state);
}

/* The phase of that mode; NULL if it has none, or the event does not tell. */
static const char *event_step_phase(const struct algorithm *a, const struct bbr_event *e, bool to)
{
	unsigned int state = to ? e->to : e->from;
	const struct algorithm_mode *mode = state < a->n_modes ? &a->modes[state] : NULL;

	if (e->kind != BBR_EV_MODE || !mode || !mode->phases)
		return NULL;
	if (a->steps && event_has_reason(e) && e->reason < a->n_reasons)
		return to ? a->steps[e->reason].to : a->steps[e->reason].from;
	/* Where a callback takes one step, its phase is that of the state afterwards. */
	return to && state == e->mode && e->phase < mode->n_phases ? mode->phases[e->phase] : NULL;
}

void event_step_text(char *buf, size_t size, const struct algorithm *a, const struct bbr_event *e,
		     bool to)
{
	mode_and_phase(buf, size, event_step_name(a, e, to), event_step_phase(a, e, to));
}

bool event_has_state(const struct bbr_event *e)
{
	return e->pacing_gain || e->cwnd_gain;
}

__u64 event_bps(const struct bbr_event *e, __u32 bw)
{
	/* bw * mss * 8 * 1e6 >> 24, with the powers of two cancelled so that 64 bits hold it. */
	return (__u64)bw * (e->mss & 0xffff) * 15625 >> 15;
}

double event_bytes_per_s(const struct bbr_event *e, __u32 bw)
{
	return bw * (1e6 * e->mss / (1 << 24));
}

bool event_has_rate(const struct bbr_event *e)
{
	return e->flags & BBR_F_SAMPLE && e->rs_delivered >= 0 && e->rs_interval_us > 0;
}

__u64 event_delivery_bps(const struct bbr_event *e)
{
	double bps = (double)e->rs_delivered * e->mss * 8e6 / e->rs_interval_us;

	if (bps >= 0x1p64) /* absurd, but the conversion would be undefined */
		return ~0ull;
	return bps;
}

double event_pacing_bps(const struct bbr_event *e)
{
	return e->pacing_rate == EVENT_UNLIMITED ? NAN : e->pacing_rate * 8.0;
}

double event_delivered_bps(const struct bbr_event *e, __u32 since, __u64 since_ns)
{
	return (__u32)(e->delivered - since) * (double)e->mss * 8 * NS_PER_S /
	       (e->time_ns - since_ns);
}

__u32 event_bdp(const struct bbr_event *e)
{
	if (e->min_rtt_us == BBR_RTT_NONE)
		return 0;
	return (__u64)e->bw * e->min_rtt_us >> 24;
}

__u64 event_bdp_milli(const struct bbr_event *e)
{
	if (e->min_rtt_us == BBR_RTT_NONE)
		return 0;
	/* A double has 53 bits, the product up to 74, of which 24 are cut off. */
	return (double)e->bw * e->min_rtt_us * 1000 / (1 << 24);
}

__u32 event_inflight(const struct bbr_event *e)
{
	if (e->flags & BBR_F_SAMPLE && e->rs_prior_inflight > e->inflight)
		return e->rs_prior_inflight;
	return e->inflight;
}

/*
 * The map may contain anything: only characters that a name can have reach the terminal. strspn()
 * would make a table of them for each event.
 */
static bool is_of_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.' || c == '-';
}

const char *origin_profile(const struct origin *origin, const struct bbr_event *e)
{
	static char name[BBR_PROFILE_NAME_LEN];
	size_t n = 0;

	if (!origin->profiles || e->flags & BBR_F_KERNEL || e->profile >= BBR_PROFILES)
		return NULL;
	memcpy(name, origin->profiles[e->profile], sizeof(name));
	while (n < sizeof(name) - 1 && is_of_name(name[n]))
		n++;
	name[n] = 0;
	return *name ? name : NULL;
}

void origin_refuse(const struct instance *inst, const char *result)
{
	if (inst->abi.major == BBR_ABI_MAJOR && !inst->algorithm)
		err("%s: %s: this bbrmon does not know its algorithm, %s", inst->name, result,
		    inst->abi.algorithm);
	else
		err("%s: %s: loaded by another version (%.20s, ABI %u)", inst->name, result,
		    inst->abi.version, inst->abi.major);
}

static void add_fields(struct json *j, const struct field *fields, size_t n,
		       const struct bbr_event *before, const struct bbr_event *e)
{
	for (size_t i = 0; i < n; i++)
		if (!before || !field_is_same(&fields[i], before, e))
			field_add_json(j, &fields[i], e);
}

/* Keys are stable, and a value that was not measured is null. */
void event_add_json(struct json *j, const struct origin *origin, const struct bbr_event *before,
		    const struct bbr_event *e)
{
	const struct algorithm *a = origin->algorithm;

	json_add_int(j, "time_ns", e->time_ns);
	json_add_string(j, "instance", origin->name);
	json_add_string(j, "event", event_kind_name(e->kind));
	/* The state of a socket is not part of a monitor's stream. */
	json_add_int_if(j, "conn", e->kind != BBR_EV_STATE || e->conn, e->conn);
	json_add_int_if(j, "seq", e->kind != BBR_EV_STATE, e->seq);
	if (!before) {
		json_add_int(j, "netns", e->netns);
		json_add_endpoint(j, "local", e->laddr, "lport", e->lport);
		json_add_endpoint(j, "remote", e->raddr, "rport", e->rport);
		json_add_string(j, "family", e->family == AF_INET ? "inet" : "inet6");
	}
	if (event_has_steps(e)) {
		json_add_string(j, "from", event_step_name(a, e, false));
		json_add_string(j, "to", event_step_name(a, e, true));
		json_add_string(j, "from_phase", event_step_phase(a, e, false));
		json_add_string(j, "to_phase", event_step_phase(a, e, true));
		json_add_string(j, "reason",
				event_has_reason(e) ? reason_name(a, e->reason) : NULL);
	}
	add_fields(j, a->fields, a->n_fields, before, e);
	if (!before || before->profile != e->profile || before->params_gen != e->params_gen) {
		json_add_string(j, "profile", origin_profile(origin, e));
		json_add_int_if(j, "profile_index", !(e->flags & BBR_F_KERNEL), e->profile);
		json_add_int_if(j, "params_gen",
				!(e->flags & BBR_F_KERNEL) && e->kind != BBR_EV_STATE,
				e->params_gen);
	}
	add_fields(j, common_fields, n_common_fields, before, e);
}

void event_print_json(FILE *out, const struct origin *origin, const struct bbr_event *before,
		      const struct bbr_event *e)
{
	struct json line;

	json_begin(&line, out);
	event_add_json(&line, origin, before, e);
	json_end(&line);
}
