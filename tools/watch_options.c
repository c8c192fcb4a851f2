// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <unistd.h>

#include "err.h"
#include "units.h"
#include "watch_options.h"

#define RING_SIZE_MAX (1ull << 31) /* max_entries of a map has 32 bits */
#define TIME_MAX_NS 9e18

static bool refuse(const char *option, const char *s, const char *why)
{
	err("%s %s: %s", option, s, why);
	return false;
}

bool parse_time(const char *option, const char *s, __u64 *ns)
{
	double value;
	enum parse_error error = parse_duration(s, &value);

	if (error)
		return refuse(option, s, parse_error_text(error));
	if (value < 1 || value > TIME_MAX_NS)
		return refuse(option, s, "not from 1ns to 9000000000s");
	*ns = value;
	return true;
}

bool parse_every(const char *s, struct watch_request *request)
{
	static const struct {
		const char *word;
		enum bbr_sampling sampling;
	} words[] = {
		{ "ack", BBR_SAMPLE_ACK },
		{ "round", BBR_SAMPLE_ROUND },
		{ "transition", BBR_SAMPLE_NONE },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(s, words[i].word)) {
			request->sampling = words[i].sampling;
			return true;
		}
	}
	request->sampling = BBR_SAMPLE_TIME;
	if (parse_time("--every", s, &request->interval_ns))
		return true;
	remedy("one of: ack, round, transition, or a time like 100ms");
	return false;
}

static bool parse_whole(const char *s, double lowest, double highest, double *value)
{
	return !strchr(s, '.') && !parse_number(s, value) && *value >= lowest && *value <= highest;
}

bool parse_count(const char *s, __u64 *count)
{
	double value;

	if (!parse_whole(s, 1, 1e15, &value))
		return refuse("--count", s, "not a number of events, 1 or more");
	*count = value;
	return true;
}

bool parse_ring_size(const char *s, size_t *size)
{
	unsigned long long page = sysconf(_SC_PAGESIZE), bytes;
	double value;
	enum parse_error error = parse_size(s, &value);

	if (error)
		return refuse("--ring", s, parse_error_text(error));
	bytes = value <= RING_SIZE_MAX ? value : 0;
	if (bytes != value || bytes < page || bytes & (bytes - 1)) {
		err("--ring %s: the kernel does not take this size", s);
		remedy("powers of two from %lluk to 2g: 64k, 1m, 4m (the default), 16m, ...",
		       page / 1024);
		return false;
	}
	*size = bytes;
	return true;
}
