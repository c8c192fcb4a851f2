// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>

#include "address.h"
#include "cli/err.h"
#include "cli/json.h"
#include "cli/units.h"

#define V4_BITS 96 /* of ::ffff:0:0/96 */

bool address_is_v4(const __u32 addr[4])
{
	return !addr[0] && !addr[1] && addr[2] == htonl(0xffff);
}

/* The number after the slash; -1 if it is not a number or is above max. */
static int prefix_len(const char *s, int max)
{
	double len;

	if (strchr(s, '.') || parse_number(s, &len) || len > max)
		return -1;
	return len;
}

void prefix_mask(__u32 mask[4], int len)
{
	for (int i = 0; i < 4; i++, len -= 32)
		mask[i] = len >= 32 ? ~0u : len > 0 ? htonl(~0u << (32 - len)) : 0;
}

__u8 prefix_bits(const __u32 mask[4])
{
	__u8 len = 0;

	for (int i = 0; i < 4; i++)
		len += __builtin_popcount(mask[i]);
	return len;
}

bool parse_prefix(const char *option, const char *s, __u32 addr[4], __u32 mask[4])
{
	size_t n = strcspn(s, "/");
	char text[INET6_ADDRSTRLEN] = ""; /* no address, as is what does not fit */
	int bits, len;

	if (n < sizeof(text))
		memcpy(text, s, n);
	if (inet_pton(AF_INET, text, &addr[3]) == 1) {
		addr[0] = addr[1] = 0;
		addr[2] = htonl(0xffff);
		bits = 32;
	} else if (inet_pton(AF_INET6, text, addr) == 1) {
		bits = 128;
	} else {
		return err_value(option, s, "not an IPv4 or IPv6 address or prefix");
	}
	len = s[n] ? prefix_len(s + n + 1, bits) : bits;
	if (len < 0)
		return err_value(option, s,
				 bits == 32 ? "a prefix length must be 0 to 32" :
					      "a prefix length must be 0 to 128");
	if (bits == 128 && len < V4_BITS && address_is_v4(addr)) {
		err_value(option, s, "the prefix length of an IPv4 address in IPv6 is 96 to 128");
		format_address(text, sizeof(text), addr);
		if (len <= 32)
			remedy("write it as IPv4: %s/%d", text, len);
		return false;
	}
	prefix_mask(mask, 128 - bits + len);
	/* The BPF program masks an address and compares the result with this. */
	for (int i = 0; i < 4; i++)
		addr[i] &= mask[i];
	return true;
}

bool parse_port(const char *option, const char *s, __u16 *port)
{
	double value;

	if (strchr(s, '.') || parse_number(s, &value) || value < 1 || value > 65535)
		return err_value(option, s, "a port must be 1 to 65535");
	*port = htons(value);
	return true;
}

bool parse_mark(const char *option, const char *s, __u32 *mark)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(s, &end, s[0] == '0' && (s[1] | 0x20) == 'x' ? 16 : 10);
	if (!isdigit((unsigned char)s[0]) || *end || errno || value > 0xffffffff)
		return err_value(option, s, "a mark is 0 to 0xffffffff");
	*mark = value;
	return true;
}

/* The port in a line "name port/tcp alias... # remark"; -1 if it is not for this service. */
static int port_in_line(char *line, const char *wanted)
{
	const char *blanks = " \t\n", *name, *word;
	unsigned int port;
	bool found;
	char *rest;

	line[strcspn(line, "#")] = 0;
	name = strtok_r(line, blanks, &rest);
	word = name ? strtok_r(NULL, blanks, &rest) : NULL;
	if (!word || !strstr(word, "/tcp") || sscanf(word, "%u", &port) != 1 || port > 65535)
		return -1;
	found = !strcmp(name, wanted);
	while (!found && (word = strtok_r(NULL, blanks, &rest)))
		found = !strcmp(word, wanted);
	return found ? (int)port : -1;
}

int find_service(const char *name)
{
	FILE *services AUTO_FCLOSE = fopen("/etc/services", "re");
	char line[512];
	int port = -1;

	while (services && port < 0 && fgets(line, sizeof(line), services))
		port = port_in_line(line, name);
	return port;
}

/* Like inet_ntop(), writes nothing if there is no room. */
static void put_text(char *buf, size_t size, const char *text, size_t len)
{
	if (len < size) {
		memcpy(buf, text, len);
		buf[len] = 0;
	}
}

/* inet_ntop() takes ten times as long, and a line of events has two of them. */
static void format_v4(char *buf, size_t size, __u32 addr)
{
	const __u8 *byte = (const __u8 *)&addr;
	char text[4 * UNITS_LEN];
	size_t n = 0;

	for (int i = 0; i < 4; i++) {
		if (i)
			text[n++] = '.';
		n += format_count(text + n, byte[i]);
	}
	put_text(buf, size, text, n);
}

void format_address(char *buf, size_t size, const __u32 addr[4])
{
	if (address_is_v4(addr))
		format_v4(buf, size, addr[3]);
	else
		inet_ntop(AF_INET6, addr, buf, size);
}

void format_address_port(char *buf, size_t size, const __u32 addr[4], __u16 port)
{
	char text[INET6_ADDRSTRLEN + 3 + UNITS_LEN];
	bool is_v6 = !address_is_v4(addr);
	size_t n = 0;

	if (is_v6)
		text[n++] = '[';
	format_address(text + n, INET6_ADDRSTRLEN, addr);
	n += strlen(text + n);
	if (is_v6)
		text[n++] = ']';
	text[n++] = ':';
	n += format_count(text + n, ntohs(port));
	put_text(buf, size, text, n);
}

void format_endpoint(char *buf, size_t size, const __u32 addr[4], __u16 port)
{
	if (!addr[0] && !addr[1] && (!addr[2] || addr[2] == htonl(0xffff)) && !addr[3])
		snprintf(buf, size, "*:%u", ntohs(port));
	else
		format_address_port(buf, size, addr, port);
}

void format_prefix(char *buf, size_t size, const __u32 addr[4], unsigned int len)
{
	bool v4 = len >= V4_BITS && address_is_v4(addr);
	size_t n;

	if (v4)
		format_v4(buf, size, addr[3]);
	else
		inet_ntop(AF_INET6, addr, buf, size);
	n = strlen(buf);
	if (len < 128)
		snprintf(buf + n, size - n, "/%u", len - (v4 ? V4_BITS : 0));
}

void json_add_endpoint(struct json *j, const char *address_key, const __u32 addr[4],
		       const char *port_key, __u16 port)
{
	char text[INET6_ADDRSTRLEN];

	format_address(text, sizeof(text), addr);
	json_add_string(j, address_key, text);
	json_add_int(j, port_key, ntohs(port));
}
