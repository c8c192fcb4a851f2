// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "event.h"

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

void event_copy(struct bbr_event *e, const void *record)
{
	const struct bbr_event *from = record;
	size_t size = from->size < sizeof(*e) ? from->size : sizeof(*e);

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

/* Appends as much of the text as there is room for. */
static size_t append(char *buf, size_t size, size_t n, const char *text)
{
	size_t len = strnlen(text, size - 1 - n);

	memcpy(buf + n, text, len);
	buf[n + len] = 0;
	return n + len;
}

void mode_text(char *buf, size_t size, const struct algorithm *a, const struct bbr_event *e)
{
	const struct algorithm_mode *mode = e->mode < a->n_modes ? &a->modes[e->mode] : NULL;

	size_t n = append(buf, size, 0, mode_name(a, e->mode));

	if (!mode || !mode->phases)
		return;
	n = append(buf, size, n, "/");
	append(buf, size, n, name_of(mode->phases, mode->n_phases, e->phase));
}

bool event_has_steps(const struct bbr_event *e)
{
	return e->kind == BBR_EV_MODE || e->kind == BBR_EV_RECOVERY || e->kind == BBR_EV_RTO;
}

bool event_has_reason(const struct bbr_event *e)
{
	return e->kind == BBR_EV_MODE && !(e->flags & BBR_F_KERNEL);
}

const char *event_step_name(const struct algorithm *a, const struct bbr_event *e, bool to)
{
	unsigned int state = to ? e->to : e->from;

	return e->kind == BBR_EV_MODE ? mode_name(a, state) : event_ca_name(state);
}

const char *event_step_phase(const struct algorithm *a, const struct bbr_event *e, bool to)
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
	const char *phase = event_step_phase(a, e, to);
	size_t n = append(buf, size, 0, event_step_name(a, e, to));

	if (!phase)
		return;
	n = append(buf, size, n, "/");
	append(buf, size, n, phase);
}
