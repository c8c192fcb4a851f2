/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files embedded in bbrctl (loader/carried.S).
 */
#ifndef LOADER_EMBEDDED_H
#define LOADER_EMBEDDED_H

struct algorithm;

struct embedded {
	const char *begin, *end;
};

/* The BPF object of one of the tools' algorithms, and its profiles.ini (empty if it has none). */
struct embedded embedded_object(const struct algorithm *algorithm);
struct embedded embedded_profiles(const struct algorithm *algorithm);

#endif
