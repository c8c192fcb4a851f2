// SPDX-License-Identifier: GPL-2.0-only
/*
 * For the static build: libmicrohttpd calls a TLS library, and distributions have no complete
 * static version of it. The static bbrmon speaks plain HTTP only: gnutls_check_version() gives 0 here,
 * by which it knows, and refuses a configuration with TLS. So besides that only the function that
 * initialises the library is ever called, where 0 is success. The build lists the functions that
 * libmicrohttpd and bbrmon call as X(function).
 */
#define X(function)         \
	int function(void); \
	int function(void)  \
	{                   \
		return 0;   \
	}
#include "tls_calls.inc"
