/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An HTML page with its parts put in, so that it is one file.
 */
#ifndef TOOLS_PAGE_H
#define TOOLS_PAGE_H

#include <stddef.h>
#include <stdio.h>

/* "@name@" in the page stands for a part. An embedded file has the symbols name and name_end. */
struct page_part {
	const char *mark, *begin, *end;
};
#define PAGE_PART(name) { "@" #name "@", name, name##_end }

/* "@data@" stands for what write_data() writes. */
void page_write(FILE *out, const char *html, const char *html_end, const struct page_part *parts,
		size_t n, void (*write_data)(FILE *out, const void *data), const void *data);

#endif
