/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Addresses and ports of the command line. Each parser prints what is wrong with its value, as of the
 * option, and returns false.
 */
#ifndef LIB_ADDRESS_H
#define LIB_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

#define ADDRESS_TEXT_LEN 64 /* room for "[address]:port" */

/* "10.1.0.0/16", "2001:db8::1": into a filter's masked address and mask. */
bool parse_prefix(const char *option, const char *s, __u32 addr[4], __u32 mask[4]);

/* The bits of a prefix, network byte order; len from 0 to 128, that of IPv4 with 96 more than its own. */
void prefix_mask(__u32 mask[4], int len);

/* In network byte order. */
bool parse_port(const char *option, const char *s, __u16 *port);

/*
 * The port of a TCP service in /etc/services, by its name or an alias; -1: it has none of this name. getservbyname(3) would
 * load libraries, which a static program must not.
 */
int find_service(const char *name);

/* A whole number, decimal or with 0x, of 32 bits. */
bool parse_mark(const char *option, const char *s, __u32 *mark);

/* "10.0.0.1:80", "[fd00::1]:80"; "*:80" if the address is none. */
void format_endpoint(char *buf, size_t size, const __u32 addr[4], __u16 port);

/* Without a port, "10.0.0.1". */
void format_address(char *buf, size_t size, const __u32 addr[4]);

#endif
