/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers as people and tc(8) write them.
 */
#ifndef LIB_UNITS_H
#define LIB_UNITS_H

#include <stddef.h>
#include <linux/types.h>

#define UNITS_LEN 32 /* room for anything that is formatted here */

enum parse_error {
	PARSE_OK,
	PARSE_NOT_A_NUMBER,
	PARSE_NEGATIVE,
	PARSE_TAKES_NO_UNIT,
	PARSE_NO_UNIT, /* a bare number where a unit is needed */
	PARSE_NO_UNIT_OF_TIME, /* an unknown one, and so on */
	PARSE_NO_UNIT_OF_RATE,
	PARSE_NO_UNIT_OF_SIZE,
	PARSE_NO_PERCENT,
	PARSE_ERRORS
};

/* "10s", "200ms", "50us", "7ns", decimals allowed ("1.5ms"), in nanoseconds. */
enum parse_error parse_duration(const char *s, double *ns);

/* "1.2mbit", "64kbit", "10gbit", "512bit": SI steps as in tc(8), in bits per second. */
enum parse_error parse_bitrate(const char *s, double *bps);

/* "64k", "16m", "1g": binary steps, a bare number is bytes. */
enum parse_error parse_size(const char *s, double *bytes);

/* A number without a unit, decimals allowed. */
enum parse_error parse_number(const char *s, double *value);

/* The error in words: "a unit is missing". */
const char *parse_error_text(enum parse_error error);

/* The shortest exact form in the largest unit that is not above it: "10s", "1.5ms", "0s". */
void format_duration(char *buf, size_t size, __u64 ns);
void format_bitrate(char *buf, size_t size, __u64 bps);

/* As parse_size() takes it: in the largest unit of which it is a whole number, "64k", "100000". */
void format_size(char *buf, size_t size, __u64 bytes);

/*
 * Rounded to three digits, byte for byte as ss(8) of iproute2 prints it: "94.5Mbps", "37Gbps". If
 * rounding gives a fourth digit, ss changes to an exponent, and so does this: 999.5 Mbit/s is
 * "1e+03Mbps".
 */
void format_rate_ss(char *buf, size_t size, double bps);

/* Like "%llu", which takes three times as long. Returns the length; buf has UNITS_LEN bytes. */
size_t format_count(char *buf, __u64 value);

/*
 * n / d as printf("%.*g", digits, n / (double)d) prints it, but mostly without a double, in a tenth
 * of the time. d * 10^digits is below 2^52. Returns the length; buf has UNITS_LEN bytes.
 */
size_t format_ratio(char *buf, __u64 n, __u64 d, unsigned int digits);

/* Like "%.6f", for nanoseconds as seconds. */
size_t format_seconds(char *buf, __s64 ns);

/* The ending of a noun after a number: "" after 1, otherwise "s". */
const char *plural(unsigned long long n);

#endif
