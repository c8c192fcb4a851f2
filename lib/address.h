/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Addresses and ports as text. If a value on the command line is wrong, each parser prints why, with
 * the option's name, and returns false. Addresses are in network byte order, IPv4 as ::ffff:a.b.c.d;
 * ports are in network byte order.
 */
#ifndef LIB_ADDRESS_H
#define LIB_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

#define ADDRESS_TEXT_LEN 64 /* room for "[address]:port" and "address/length" */

/* Reads "10.1.0.0/16" or "2001:db8::1" into a filter's masked address and mask. */
bool parse_prefix(const char *option, const char *s, __u32 addr[4], __u32 mask[4]);

/*
 * The mask of a prefix of len bits, 0 to 128, in network byte order. For IPv4, len is 96 more than
 * the prefix's own length.
 */
void prefix_mask(__u32 mask[4], int len);

/* The length of the prefix with this mask. */
__u8 prefix_bits(const __u32 mask[4]);

/* True if it is IPv4, ::ffff:a.b.c.d. */
bool address_is_v4(const __u32 addr[4]);

bool parse_port(const char *option, const char *s, __u16 *port);

/*
 * The port of a TCP service in /etc/services, by its name or an alias; -1 if there is none of this
 * name. getservbyname(3) would load libraries, which a static program must not do.
 */
int find_service(const char *name);

/* A 32-bit number, decimal or hexadecimal with 0x. */
bool parse_mark(const char *option, const char *s, __u32 *mark);

/* "10.0.0.1", "fd00::1". All of these have room in ADDRESS_TEXT_LEN bytes. */
void format_address(char *buf, size_t size, const __u32 addr[4]);

/* "10.0.0.1:80", "[fd00::1]:80" */
void format_address_port(char *buf, size_t size, const __u32 addr[4], __u16 port);

/* The same, but "*:80" if the address is all zeros. */
void format_endpoint(char *buf, size_t size, const __u32 addr[4], __u16 port);

/* "10.0.0.0/8": len as in prefix_mask(). A single address has no length. */
void format_prefix(char *buf, size_t size, const __u32 addr[4], unsigned int len);

struct json;

/* Adds an address and a port as two members. */
void json_add_endpoint(struct json *j, const char *address_key, const __u32 addr[4],
		       const char *port_key, __u16 port);

#endif
