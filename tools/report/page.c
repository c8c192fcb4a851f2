// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "page.h"

void page_write(FILE *out, const char *html, const char *html_end, const struct page_part *parts,
		size_t n, void (*write_data)(FILE *out, const void *data), const void *data)
{
	static const char data_mark[] = "@data@";
	const char *at = html;

	while (at < html_end) {
		size_t i = 0;

		if (!strncmp(at, data_mark, strlen(data_mark))) {
			write_data(out, data);
			at += strlen(data_mark);
			continue;
		}
		while (i < n && strncmp(at, parts[i].mark, strlen(parts[i].mark)))
			i++;
		if (i == n) {
			fputc(*at++, out);
		} else {
			fwrite(parts[i].begin, 1, parts[i].end - parts[i].begin, out);
			at += strlen(parts[i].mark);
		}
	}
}
