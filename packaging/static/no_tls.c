// SPDX-License-Identifier: GPL-2.0-only
/*
 * For the static build: libmicrohttpd calls a TLS library, of which distributions have no complete static version.
 * bbrmon speaks plain HTTP only, so of all these functions only the one that initialises the library is ever called, and 0
 * is success. The build makes the list X(function) of what libmicrohttpd calls.
 */
#define X(function)         \
	int function(void); \
	int function(void)  \
	{                   \
		return 0;   \
	}
#include "tls_calls.inc"
