// SPDX-License-Identifier: GPL-2.0-only
/*
 * For the static build: libmicrohttpd calls a TLS library, and distributions have no complete
 * static version of it. bbrmon speaks plain HTTP only, so only the function that initialises the
 * library is ever called, and 0 is success. The build lists the functions that libmicrohttpd calls
 * as X(function).
 */
#define X(function)         \
	int function(void); \
	int function(void)  \
	{                   \
		return 0;   \
	}
#include "tls_calls.inc"
