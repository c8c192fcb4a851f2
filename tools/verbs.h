/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The verbs of bbrmon. Each gets its own command line, argv[0] being the verb, and returns an exit
 * status (lib/err.h).
 */
#ifndef TOOLS_VERBS_H
#define TOOLS_VERBS_H

int verb_snapshot(int argc, char **argv);
int verb_stream(int argc, char **argv);
int verb_record(int argc, char **argv);
int verb_top(int argc, char **argv);
int verb_report(int argc, char **argv);
int verb_export(int argc, char **argv);

#endif
