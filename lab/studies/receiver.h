// SPDX-License-Identifier: GPL-2.0-only
/*
 * An honest TCP receiver behind a TUN device: what it has got, and the segments that it answers with. It sends no data, and
 * checks no checksums.
 */
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lab/runs/program.h"

#define MTU 1500
#define MSS (MTU - 40)
#define WINDOW_SHIFT 1
#define TRUE_WINDOW (65535u << WINDOW_SHIFT)
#define FIRST_SEQ 1000u
#define MOST_HOLES 256
#define MOST_BLOCKS 3 /* beside a timestamp */
#define NS_PER_MS 1000000ull
#define FIRST_STAMP 20000u /* ms: so much may stamps go back */

struct range {
	uint32_t start, end; /* sequence numbers; end is not in it */
};

struct receiver {
	int tun;
	struct in_addr address, sender; /* its own; of the kernel's end */
	uint16_t port, sender_port; /* in network order, as in a header */
	uint32_t acked; /* all before it is ACKed */
	uint32_t echo; /* the stamp that it echoes (RFC 7323) */
	struct range early[MOST_HOLES]; /* above acked, in order */
	unsigned int early_count;
};

/* What a segment of the receiver says. */
struct answer {
	uint32_t ack, window, stamp, echo;
	bool syn, ece;
	struct range sacks[MOST_BLOCKS];
	unsigned int sack_count;
};

static uint64_t earliest(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int32_t distance(uint32_t from, uint32_t to)
{
	return (int32_t)(to - from);
}

static uint32_t sum_words(const void *data, size_t bytes, uint32_t sum)
{
	const uint8_t *p = data;

	for (size_t i = 0; i + 1 < bytes; i += 2)
		sum += p[i] << 8 | p[i + 1];
	return sum;
}

static uint16_t folded(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons(~sum);
}

static uint8_t *put32(uint8_t *p, uint32_t value)
{
	value = htonl(value);
	return (uint8_t *)memcpy(p, &value, sizeof(value)) + sizeof(value);
}

static uint8_t *put_options(uint8_t *p, const struct answer *a)
{
	if (a->syn) {
		p = put32(p, 0x02040000 | MSS);
		p = put32(p, 0x01030300 | WINDOW_SHIFT);
		p = put32(p, 0x01010402); /* SACK is allowed */
	}
	p = put32(p, 0x0101080a);
	p = put32(p, a->stamp);
	p = put32(p, a->echo);
	if (a->sack_count) {
		p = put32(p, 0x01010500 | (2 + 8 * a->sack_count));
		for (unsigned int i = 0; i < a->sack_count; i++)
			p = put32(put32(p, a->sacks[i].start), a->sacks[i].end);
	}
	return p;
}

static void send_answer(struct receiver *r, const struct answer *a)
{
	struct {
		struct iphdr ip;
		struct tcphdr tcp;
		uint8_t options[40];
	} out = {};
	size_t tcp_bytes = put_options(out.options, a) - (uint8_t *)&out.tcp;

	out.ip = (struct iphdr){ .version = 4,
				 .ihl = 5,
				 .ttl = 64,
				 .protocol = IPPROTO_TCP,
				 .tot_len = htons(sizeof(out.ip) + tcp_bytes),
				 .saddr = r->address.s_addr,
				 .daddr = r->sender.s_addr };
	out.ip.check = folded(sum_words(&out.ip, sizeof(out.ip), 0));
	out.tcp = (struct tcphdr){ .source = r->port,
				   .dest = r->sender_port,
				   .seq = htonl(a->syn ? FIRST_SEQ : FIRST_SEQ + 1),
				   .ack_seq = htonl(a->ack),
				   .doff = tcp_bytes / 4,
				   .ack = 1,
				   .syn = a->syn,
				   .ece = a->ece,
				   .window = htons(a->syn ? 65535 : a->window >> WINDOW_SHIFT) };
	out.tcp.check = folded(sum_words(&out.tcp, tcp_bytes,
					 sum_words(&out.ip.saddr, 8, IPPROTO_TCP + tcp_bytes)));
	if (write(r->tun, &out, sizeof(out.ip) + tcp_bytes) < 0)
		die("write to the device");
}

static uint32_t stamp_now(void)
{
	return now_ns() / NS_PER_MS + FIRST_STAMP;
}

static void forget_early(struct receiver *r, unsigned int n)
{
	r->early_count--;
	memmove(&r->early[n], &r->early[n + 1], (r->early_count - n) * sizeof(r->early[0]));
}

/* Moves `acked` up to `to`, and past the early data that follows without a gap. */
static void advance(struct receiver *r, uint32_t to)
{
	if (distance(r->acked, to) > 0)
		r->acked = to;
	while (r->early_count && distance(r->acked, r->early[0].start) <= 0) {
		if (distance(r->acked, r->early[0].end) > 0)
			r->acked = r->early[0].end;
		forget_early(r, 0);
	}
}

/* Keeps data that came after a hole. Returns its range with what is next to it. */
static struct range keep_early(struct receiver *r, struct range data)
{
	unsigned int n = 0;

	while (n < r->early_count && distance(r->early[n].end, data.start) > 0)
		n++;
	while (n < r->early_count && distance(r->early[n].start, data.end) >= 0) {
		if (distance(r->early[n].start, data.start) > 0)
			data.start = r->early[n].start;
		if (distance(r->early[n].end, data.end) < 0)
			data.end = r->early[n].end;
		forget_early(r, n);
	}
	if (r->early_count == MOST_HOLES)
		return (struct range){}; /* as if it was lost */
	memmove(&r->early[n + 1], &r->early[n], (r->early_count - n) * sizeof(r->early[0]));
	r->early[n] = data;
	r->early_count++;
	return data;
}

static struct answer honest_answer(const struct receiver *r)
{
	return (struct answer){
		.ack = r->acked, .window = TRUE_WINDOW, .stamp = stamp_now(), .echo = r->echo
	};
}

static void add_sack(struct answer *a, struct range block)
{
	if (a->sack_count < MOST_BLOCKS && block.start != block.end)
		a->sacks[a->sack_count++] = block;
}

/* Takes in a packet. Returns the answer to it, with the latest blocks first (RFC 2018). */
static struct answer receive(struct receiver *r, struct range data, uint32_t stamp)
{
	struct range latest = {};
	struct answer a;

	if (distance(r->acked, data.start) <= 0)
		r->echo = stamp;
	if (distance(r->acked, data.end) > 0) {
		if (distance(r->acked, data.start) <= 0)
			advance(r, data.end);
		else
			latest = keep_early(r, data);
	}
	a = honest_answer(r);
	add_sack(&a, latest);
	for (unsigned int n = r->early_count; n-- > 0;)
		if (r->early[n].start != latest.start)
			add_sack(&a, r->early[n]);
	return a;
}
