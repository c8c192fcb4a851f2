// SPDX-License-Identifier: GPL-2.0-only
/*
 * What "dst", "src", "dport", "sport" and "fwmark" are compared with.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>

#include "address.h"
#include "value.h"

static bool parse_number_of_port(const char *s, int *port)
{
	unsigned long n;
	char *end;

	if (!isdigit((unsigned char)s[0]) || strlen(s) > 5)
		return false;
	n = strtoul(s, &end, 10);
	if (*end || n > 65535)
		return false;
	*port = n;
	return true;
}

static bool parse_service(const struct lexer *l, const char *s, int *port)
{
	if (parse_number_of_port(s, port))
		return true;
	*port = isalpha((unsigned char)s[0]) ? find_service(s) : -1;
	return *port >= 0 || lexer_refuse(l, l->word_at, "not a port",
					  "0 to 65535, or the name of a service in /etc/services");
}

bool value_port(const struct lexer *l, struct filter_node *node, const char *value)
{
	int port;

	if (!parse_service(l, value + (value[0] == ':'), &port))
		return false;
	node->port = port;
	return true;
}

/* Cuts the port off a value, "ADDRESS:PORT" or "[ADDRESS]:PORT"; NULL: it has none. */
static bool split_host(const struct lexer *l, char *value, char **address, char **port)
{
	char *colon = strchr(value, ':'), *close;

	*address = value;
	*port = NULL;
	if (value[0] == '[') {
		*address = value + 1;
		close = strchr(value, ']');
		if (!close)
			return lexer_refuse(l, l->word_at, "\"]\" is missing",
					    "an IPv6 address as [fd00::1], [fd00::/8], "
					    "[fd00::1]:443");
		*close = 0;
		colon = close + 1;
		if (*colon && *colon != ':')
			return lexer_refuse(l, l->word_at, "\"]\" is not followed by a port",
					    "[fd00::1]:443, [fd00::/8]");
	} else if (colon && strchr(colon + 1, ':')) {
		return true; /* an IPv6 address needs its brackets only before a port */
	}
	if (colon && *colon) {
		*colon = 0;
		*port = colon + 1;
	}
	return true;
}

bool value_host(const struct lexer *l, const char *word, struct filter_node *node, char *value)
{
	char *address, *port;

	node->host.port = -1;
	if (!split_host(l, value, &address, &port))
		return false;
	if (port && *port && strcmp(port, "*") && !parse_service(l, port, &node->host.port))
		return false;
	node->host.any = !*address || !strcmp(address, "*");
	if (node->host.any)
		return true;
	node->host.is_inet6 = strchr(address, ':');
	if (!parse_prefix(word, address, node->host.addr, node->host.mask))
		return lexer_point(l, l->word_at,
				   "10.0.0.0/8, 10.0.0.1:443, [fd00::/8], [fd00::1]:443, :443");
	return true;
}

bool value_mark(const struct lexer *l, const char *word, struct filter_node *node, char *value)
{
	char *slash = strchr(value, '/');

	if (slash)
		*slash++ = 0;
	node->mark.mask = ~0u;
	if (!parse_mark(word, value, &node->mark.value) ||
	    (slash && !parse_mark(word, slash, &node->mark.mask)))
		return lexer_point(l, l->word_at,
				   "1, 0x10, or with a mask of the bits that count, 0x10/0xf0");
	return true;
}
