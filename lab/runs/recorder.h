/* SPDX-License-Identifier: GPL-2.0-only */
/* What recorder.bpf.c tells recorder.c of each ACK that delivered something. */
#ifndef RECORDER_H
#define RECORDER_H

#define FIRST_PORT 5201 /* flow n goes to this port + n */
#define FLOWS 64

struct ack {
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 acked_bytes; /* since the start of the connection */
	__u64 pacing_rate; /* bytes/s */
	__u64 rate; /* bytes/s: the stack's last delivery rate sample, 0: none yet */
	__u32 rtt_us; /* of the packet sent last among those that this ACK delivered */
	__u32 srtt_us;
	__u32 min_rtt_us; /* the stack's own filter */
	__u32 cwnd; /* packets, as the next two */
	__u32 inflight;
	__u32 lost; /* marked lost and not resent yet */
	__u32 retrans; /* packets resent since the start */
	__u8 flow;
	__u8 ca_state; /* enum tcp_ca_state */
	__u8 mode; /* of BBR, the kernel's or ours; else without meaning */
};

#endif
