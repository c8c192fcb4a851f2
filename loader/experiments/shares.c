// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/err.h"
#include "cli/units.h"
#include "experiments/experiments.h"

#define PER_PERCENT (EXPERIMENT_SHARES / 100)

/* "5%" or "5": 0, or from 0.01 to 100. */
static bool parse_percent(const char *text, __u32 *share)
{
	size_t len = strlen(text);
	char number[32];
	double percent;

	if (len && text[len - 1] == '%')
		len--;
	if (len >= sizeof(number))
		return false;
	snprintf(number, sizeof(number), "%.*s", (int)len, text);
	if (parse_number(number, &percent) || !(percent <= 100))
		return false;
	*share = lround(percent * PER_PERCENT);
	return *share || !percent;
}

int experiment_arm(const struct experiment *e, const char *label)
{
	for (__u32 i = 0; i < e->arms; i++)
		if (!strcmp(e->arm[i].label, label))
			return i;
	return -1;
}

static int refuse(const char *text, const char *why)
{
	err("--share %s: %s", text, why);
	remedy("LABEL=PERCENT, from 0.01 to 100, such as new=5%%");
	return EXIT_USAGE;
}

/* Takes one --share. */
static int take(const char *text, const struct experiment *e, __u32 share[EXPERIMENT_ARMS])
{
	char label[64];
	const char *percent = strchr(text, '=');
	int arm;

	if (!percent)
		return refuse(text, "the arm's percentage is missing");
	snprintf(label, sizeof(label), "%.*s", (int)(percent - text), text);
	arm = experiment_arm(e, label);
	if (arm < 0)
		return refuse(text, "no arm has this label");
	if (share[arm])
		return refuse(text, "the arm has a share already");
	if (!parse_percent(percent + 1, &share[arm]))
		return refuse(text, "not a percentage");
	if (!share[arm])
		return refuse(text, "an arm without a share never gets a connection");
	return EXIT_DONE;
}

int experiment_shares_parse(const struct value_list *shares, const struct experiment *e,
			    __u32 share[EXPERIMENT_ARMS])
{
	__u32 given = 0, open = 0;

	memset(share, 0, EXPERIMENT_ARMS * sizeof(*share));
	for (int i = 0; i < shares->n; i++)
		if (take(shares->arg[i], e, share))
			return EXIT_USAGE;
	for (__u32 i = 0; i < e->arms; i++) {
		given += share[i];
		open += !share[i];
	}
	if (given > EXPERIMENT_SHARES || EXPERIMENT_SHARES - given < open ||
	    (!open && given < EXPERIMENT_SHARES)) {
		err("--share: the shares are %g %% together, %s", given / (double)PER_PERCENT,
		    open ? "which leaves the other arms none" : "not 100 %");
		remedy("arms without --share get equal parts of what is left");
		return EXIT_USAGE;
	}
	for (__u32 i = e->arms; i-- > 0;) {
		if (share[i])
			continue;
		share[i] = (EXPERIMENT_SHARES - given) / open;
		given += share[i];
		open--;
	}
	return EXIT_DONE;
}

int experiment_steps_parse(const char *text, __u32 step[EXPERIMENT_STEPS])
{
	const char *begin = text;
	char word[16];
	size_t len;
	int n = 0;

	for (;; text += len + 1) {
		len = strcspn(text, ",");
		snprintf(word, sizeof(word), "%.*s", (int)len, text);
		if (n == EXPERIMENT_STEPS || !parse_percent(word, &step[n]) ||
		    step[n] <= (n ? step[n - 1] : 0))
			break;
		n++;
		if (text[len])
			continue;
		if (step[n - 1] == EXPERIMENT_SHARES)
			return EXIT_DONE;
		break;
	}
	err("--steps %s: expected at most %d percentages that rise to 100", begin,
	    EXPERIMENT_STEPS);
	remedy("for example 1,5,25,50,100");
	return EXIT_USAGE;
}

void share_format(__u32 share, char *buf, size_t size)
{
	snprintf(buf, size, "%g %%", share / (double)PER_PERCENT);
}
