// SPDX-License-Identifier: GPL-2.0-only

#include "address.h"
#include "cli/json.h"
#include "cli/units.h"
#include "kernel/clock.h"
#include "connection.h"

#define GROUP_LEAST 0.05 /* share of a cause that is printed of a group */

static void print_ends(FILE *out, const struct why_connection *c)
{
	char local[ADDRESS_TEXT_LEN], remote[ADDRESS_TEXT_LEN];

	format_address_port(local, sizeof(local), c->laddr, c->lport);
	format_address_port(remote, sizeof(remote), c->raddr, c->rport);
	fprintf(out, "%s %s > %s", c->name, local, remote);
}

void why_print_text(FILE *out, const struct why_result *r)
{
	const struct why_window *w = &r->connection->window;
	struct why_answer answer;
	char rate[UNITS_LEN];

	why_result_answer(r, &answer);
	format_rate_ss(rate, sizeof(rate), 8 * why_window_rate(w));
	print_ends(out, r->connection);
	fprintf(out, " %s in %.3g s, %u readings\n", rate, why_window_ns(w) / NS_PER_S,
		w->readings);
	for (unsigned int i = 0; i < answer.n; i++) {
		const struct why_verdict *v = &answer.verdicts[i];

		fprintf(out, "  %3.0f %% %s: %s\n        %s\n        %s\n", 100 * v->share,
			why_cause_name(v->cause), v->sentence, v->numbers, v->advice);
	}
}

static void add_shares(struct json *j, const double shares[WHY_CAUSES])
{
	json_open_object(j, "shares");
	for (int i = 0; i < WHY_CAUSES; i++)
		json_add_number(j, why_cause_name(i), shares[i]);
	json_close(j);
}

static void add_verdicts(struct json *j, const struct why_answer *a)
{
	json_open_array(j, "verdicts");
	for (unsigned int i = 0; i < a->n; i++) {
		const struct why_verdict *v = &a->verdicts[i];

		json_open_object(j, NULL);
		json_add_string(j, "cause", why_cause_name(v->cause));
		json_add_number(j, "share", v->share);
		json_add_string(j, "sentence", v->sentence);
		json_add_string(j, "numbers", v->numbers);
		json_add_string(j, "advice", v->advice);
		json_close(j);
	}
	json_close(j);
}

static void add_us(struct json *j, const char *key, bool is_known, double ns)
{
	json_add_int_if(j, key, is_known, ns / (NS_PER_MS / 1000));
}

static void add_numbers(struct json *j, const struct why_window *w)
{
	bool has_socket = w->last.has_socket;
	__u64 bound = why_bound(&w->last);

	json_add_number(j, "seconds", why_window_ns(w) / NS_PER_S);
	json_add_int(j, "readings", w->readings);
	json_add_whole(j, "rate_bps", 8 * why_window_rate(w));
	json_add_number(j, "loss", why_window_loss(w));
	json_add_int_if(j, "rtt_us", w->rtts, why_window_rtt(w));
	json_add_int_if(j, "min_rtt_us", w->min_rtt_us, w->min_rtt_us);
	add_us(j, "busy_us", has_socket, w->busy_ns);
	add_us(j, "rwnd_limited_us", has_socket, w->rwnd_ns);
	add_us(j, "sndbuf_limited_us", has_socket, w->sndbuf_ns);
	json_add_int(j, "cwnd", w->last.cwnd);
	json_add_int_if(j, "rwnd_bytes", has_socket, w->last.snd_wnd);
	json_add_int_if(j, "sndbuf_bytes", has_socket, w->last.sndbuf);
	json_add_int_if(j, "bw_bps", w->bw, 8 * w->bw);
	json_add_int_if(j, "pacing_bound_bps", has_socket && bound != WHY_NO_RATE, 8 * bound);
	json_add_int_if(j, "policer_rate_bps", w->policer_rate, 8 * w->policer_rate);
	json_add_whole(j, "cubic_bps",
		       8 * why_cubic_rate(why_window_loss(w), why_window_rtt(w), w->last.mss));
}

static void add_cpu(struct json *j, const struct why_cpu *cpu)
{
	if (!cpu->is_known) {
		json_add_null(j, "cpu");
		return;
	}
	json_open_object(j, "cpu");
	json_add_int(j, "number", cpu->number);
	json_add_number(j, "busy", cpu->busy);
	json_add_number(j, "softirq", cpu->softirq);
	json_add_number(j, "stolen", cpu->stolen);
	json_add_int(j, "time_squeezes", cpu->squeezes);
	json_add_int(j, "backlog_drops", cpu->drops);
	json_close(j);
}

void why_print_json(FILE *out, const struct why_result *r)
{
	const struct why_connection *c = r->connection;
	struct why_answer answer;
	struct json j;

	why_result_answer(r, &answer);
	json_begin(&j, out);
	json_add_string(&j, "instance", c->name);
	json_add_string(&j, "profile", c->profile[0] ? c->profile : NULL);
	json_add_int(&j, "netns", c->netns);
	json_add_endpoint(&j, "local", c->laddr, "lport", c->lport);
	json_add_endpoint(&j, "remote", c->raddr, "rport", c->rport);
	json_add_int_if(&j, "cookie", !c->is_recorded, c->cookie);
	json_add_int_if(&j, "cgroup_id", !c->is_recorded, c->cgroup);
	json_add_int_if(&j, "inode", !c->is_recorded, c->inode);
	json_add_bool_if(&j, "sockmap", !c->is_recorded, c->window.last.is_in_sockmap);
	json_add_string(&j, "cause", answer.n ? why_cause_name(answer.verdicts[0].cause) : NULL);
	add_numbers(&j, &c->window);
	add_cpu(&j, &r->cpu);
	add_shares(&j, r->shares);
	add_verdicts(&j, &answer);
	json_end(&j);
}

/* ---- groups */

/* The causes from the largest share to the smallest. */
static void sort_causes(int causes[WHY_CAUSES], const struct why_group *g)
{
	for (int i = 0; i < WHY_CAUSES; i++) {
		int k = i;

		for (; k && g->cause_ns[causes[k - 1]] < g->cause_ns[i]; k--)
			causes[k] = causes[k - 1];
		causes[k] = i;
	}
}

/* The sentence of the connection that has most of the cause; NULL: it had too little to say it. */
static const struct why_verdict *example(const struct why_group *g, int cause,
					 struct why_answer *answer)
{
	answer->n = 0;
	if (g->example[cause])
		why_result_answer(g->example[cause], answer);
	for (unsigned int i = 0; i < answer->n; i++)
		if ((int)answer->verdicts[i].cause == cause)
			return &answer->verdicts[i];
	return NULL;
}

void why_print_group_text(FILE *out, const struct why_group *g)
{
	struct why_answer answer;
	int causes[WHY_CAUSES];
	char rate[UNITS_LEN];

	format_rate_ss(rate, sizeof(rate), 8 * g->rate);
	fprintf(out, "%s: %u connection%s", group_shown(&g->group), g->connections,
		plural(g->connections));
	if (g->idle)
		fprintf(out, ", %u of them idle", g->idle);
	fprintf(out, ", %s\n", rate);
	sort_causes(causes, g);
	for (int i = 0; i < WHY_CAUSES && g->ns > 0; i++) {
		double share = g->cause_ns[causes[i]] / g->ns;
		const struct why_verdict *v = example(g, causes[i], &answer);

		if (share < GROUP_LEAST)
			break;
		fprintf(out, "  %3.0f %% %s: %s", 100 * share, why_cause_name(causes[i]),
			v ? v->sentence : "");
		if (v) {
			fputs("\n        most of it: ", out);
			print_ends(out, g->example[causes[i]]->connection);
			fprintf(out, ", %s\n        %s", v->numbers, v->advice);
		}
		fputc('\n', out);
	}
}

void why_print_group_json(FILE *out, const struct why_group *g, enum group_by by)
{
	double shares[WHY_CAUSES];
	int causes[WHY_CAUSES];
	struct json j;

	sort_causes(causes, g);
	json_begin(&j, out);
	group_add_json(&j, &g->group, by);
	json_add_int(&j, "connections", g->connections);
	json_add_int(&j, "idle", g->idle);
	json_add_whole(&j, "rate_bps", 8 * g->rate);
	json_add_string(&j, "cause", g->ns > 0 ? why_cause_name(causes[0]) : NULL);
	for (int i = 0; i < WHY_CAUSES; i++)
		shares[i] = g->ns > 0 ? g->cause_ns[i] / g->ns : 0;
	add_shares(&j, shares);
	json_end(&j);
}
