// SPDX-License-Identifier: GPL-2.0-only
/*
 * A connection as text, in the style of ss(8): its addresses, and on the next line its state. The
 * widths of the columns are fixed, so that a line can be printed as soon as it is read. And as one
 * JSON object: the keys of an event and of a socket.
 */
#include <limits.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/tcp.h>

#include "address.h"
#include "cli/json.h"
#include "cli/text.h"
#include "event/event.h"
#include "kernel/clock.h"
#include "snapshot.h"

#define ENDPOINT_LEN (ADDRESS_TEXT_LEN + sizeof("[]%4294967295:65535"))
#define COLUMNS "%-10s %-6s %-6s %23s %23s"

/* As ss(8) prints it; "unknown" if ss has no name for it. */
static const char *tcp_state_name(unsigned int state)
{
	static const char *const names[] = {
		[TCP_ESTABLISHED] = "ESTAB",	[TCP_SYN_SENT] = "SYN-SENT",
		[TCP_SYN_RECV] = "SYN-RECV",	[TCP_FIN_WAIT1] = "FIN-WAIT-1",
		[TCP_FIN_WAIT2] = "FIN-WAIT-2", [TCP_TIME_WAIT] = "TIME-WAIT",
		[TCP_CLOSE] = "UNCONN",		[TCP_CLOSE_WAIT] = "CLOSE-WAIT",
		[TCP_LAST_ACK] = "LAST-ACK",	[TCP_LISTEN] = "LISTEN",
		[TCP_CLOSING] = "CLOSING",
	};

	if (state >= sizeof(names) / sizeof(names[0]) || !names[state])
		return "unknown";
	return names[state];
}

void snapshot_print_header(FILE *out)
{
	fprintf(out, COLUMNS "\n", "State", "Recv-Q", "Send-Q", "Local Address:Port",
		"Peer Address:Port");
}

/* The device is that of SO_BINDTODEVICE, which ss shows at the local address. */
static void format(char buf[ENDPOINT_LEN], const __u32 addr[4], __u16 port, __u16 family,
		   __u32 device)
{
	char text[ADDRESS_TEXT_LEN], index[16] = "";

	if (device)
		snprintf(index, sizeof(index), "%%%u", device);
	format_address(text, sizeof(text), addr);
	if (!strchr(text, ':') && family == AF_INET6)
		snprintf(buf, ENDPOINT_LEN, "[::ffff:%s]%s:%u", text, index, ntohs(port));
	else
		snprintf(buf, ENDPOINT_LEN, strchr(text, ':') ? "[%s]%s:%u" : "%s%s:%u", text,
			 index, ntohs(port));
}

static void print_columns(FILE *out, const struct snapshot *c)
{
	char local[ENDPOINT_LEN], remote[ENDPOINT_LEN], recv_q[16] = "-", send_q[16] = "-";
	const struct bbr_event *e = &c->state->event;

	if (!c->is_recorded) {
		snprintf(recv_q, sizeof(recv_q), "%u", c->state->recv_q);
		snprintf(send_q, sizeof(send_q), "%u", c->state->send_q);
	}
	format(local, e->laddr, e->lport, e->family, c->state->bound_ifindex);
	format(remote, e->raddr, e->rport, e->family, 0);
	fprintf(out, COLUMNS, c->is_recorded ? "-" : tcp_state_name(c->state->state), recv_q,
		send_q, local, remote);
}

/* The name of an owner. It may be in no encoding; it must neither harm a terminal nor JSON. */
static const char *name_of(const struct owner *owner)
{
	static char name[PROCESS_NAME_LEN];

	memcpy(name, owner->name, sizeof(name));
	text_tame(name, sizeof(name), "");
	return name;
}

/* The same for the path of a cgroup; NULL: it is not there any more. */
static const char *path_of(struct grouping *grouping, __u64 id)
{
	static char shown[PATH_MAX];
	const char *path = grouping_cgroup(grouping, id);

	snprintf(shown, sizeof(shown), "%s", path ? path : "");
	text_tame(shown, sizeof(shown), "");
	return path ? shown : NULL;
}

static void print_owners(FILE *out, const struct owners *owners, __u64 inode)
{
	size_t n;
	const struct owner *owner = owners_of(owners, inode, &n);

	if (!owner)
		return;
	fputs(" users:(", out);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s(\"%s\",pid=%u,fd=%u)", i ? "," : "", name_of(&owner[i]),
			owner[i].pid, owner[i].fd);
	fputc(')', out);
}

/* As ss -ti prints it; the shares are of the time in which the connection was busy. */
static void print_limits(FILE *out, const struct bbr_snapshot *s)
{
	const struct {
		const char *name;
		__u32 ticks;
	} limits[] = { { "rwnd", s->rwnd_ticks }, { "sndbuf", s->sndbuf_ticks } };

	if (s->total_retrans)
		fprintf(out, " retrans:%u/%u", s->retrans_out, s->total_retrans);
	if (s->busy_ticks)
		fprintf(out, " busy:%llums", us_of_ticks(s->busy_ticks) / 1000);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (limits[i].ticks && s->busy_ticks)
			fprintf(out, " %s_limited:%llums(%.1f%%)", limits[i].name,
				us_of_ticks(limits[i].ticks) / 1000,
				100.0 * limits[i].ticks / s->busy_ticks);
}

void snapshot_print_text(FILE *out, const struct snapshot_style *style, const struct snapshot *c)
{
	const struct bbr_snapshot *s = c->state;
	const char *profile, *path;

	print_columns(out, c);
	if (style->grouping->with_processes)
		print_owners(out, &style->grouping->owners, s->inode);
	fputs(style->oneline ? " " : "\n\t ", out);
	event_print_state(out, style->colour, c->origin->algorithm, &s->event);
	print_limits(out, s);
	if (s->places & BBR_PLACE_MPTCP)
		fprintf(out, " mptcp:%x(id:%u/%u)", s->mptcp_token, s->mptcp_local_id,
			s->mptcp_remote_id);
	if (s->places & BBR_PLACE_SOCKMAP)
		fputs(" sockmap", out);
	fprintf(out, " instance:%s", c->origin->name);
	profile = origin_profile(c->origin, &s->event);
	if (profile)
		fprintf(out, " profile:%s", profile);
	if (style->own_netns && s->event.netns != style->own_netns)
		fprintf(out, " netns:%u", s->event.netns);
	path = style->with_cgroup ? path_of(style->grouping, s->cgroup) : NULL;
	if (path)
		fprintf(out, " cgroup:%s", path);
	else if (style->with_cgroup)
		fprintf(out, " cgroup:unreachable:%llx", s->cgroup); /* as ss prints it */
	fputc('\n', out);
}

static void add_processes(struct json *j, const struct owners *owners, __u64 inode)
{
	size_t n;
	const struct owner *owner = owners_of(owners, inode, &n);

	json_open_array(j, "processes");
	for (size_t i = 0; i < n; i++) {
		json_open_object(j, NULL);
		json_add_int(j, "pid", owner[i].pid);
		json_add_string(j, "name", name_of(&owner[i]));
		json_add_int(j, "fd", owner[i].fd);
		json_close(j);
	}
	json_close(j);
}

void snapshot_print_json(FILE *out, const struct snapshot_style *style, const struct snapshot *c)
{
	const struct bbr_snapshot *s = c->state;
	struct json line;

	json_begin(&line, out);
	event_add_json(&line, c->origin, NULL, &s->event);
	json_add_string(&line, "state", c->is_recorded ? NULL : tcp_state_name(s->state));
#define X(key, has, value) json_add_int_if(&line, #key, !c->is_recorded && (has), value);
	SOCKET_NUMBERS(X)
#undef X
	json_add_bool_if(&line, "sockmap", !c->is_recorded, s->places & BBR_PLACE_SOCKMAP);
	if (style->grouping->with_processes)
		add_processes(&line, &style->grouping->owners, s->inode);
	if (style->with_cgroup)
		json_add_string(&line, "cgroup", path_of(style->grouping, s->cgroup));
	json_end(&line);
}
