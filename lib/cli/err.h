/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exit statuses and messages of the tools, memory, and variables that clean up.
 */
#ifndef LIB_ERR_H
#define LIB_ERR_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Exit status of both tools. A function of loader/ that returns an int returns one of these unless
 * its comment says otherwise, and has printed why if it is not EXIT_DONE.
 */
enum {
	EXIT_DONE = 0,
	EXIT_USAGE = 1, /* the command line, or a file that is read, is wrong */
	EXIT_REFUSED = 2, /* the kernel or the system refused, or something is in use */
	EXIT_NOTHING = 3, /* nothing to do, or not there: already loaded, not loaded */
};

/*
 * The first call of main(). Takes the numbers of closed standard streams, or the next file that the
 * program opens would get one of them, and with it what is meant for the stream. What is written to
 * such a stream fails, as before.
 */
void streams_begin(void);

/* main() sets the program's name for messages, and whether to show libbpf's own messages (-v). */
void err_init(const char *program, bool verbose);

/*
 * One line on stderr: "program: what failed: why". If the format has a newline, what follows it is
 * the line after it: what to do about it. Returns the status, for a mistake that ends what a function
 * does.
 */
int err_status(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define err(...) ((void)err_status(EXIT_DONE, __VA_ARGS__))
#define err_usage(...) err_status(EXIT_USAGE, __VA_ARGS__)
#define err_refused(...) err_status(EXIT_REFUSED, __VA_ARGS__)
#define err_nothing(...) err_status(EXIT_NOTHING, __VA_ARGS__)

/* One more line of that. */
void remedy(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* "--every 5: a unit is missing". Returns false, as parsers of options do. */
bool err_value(const char *option, const char *value, const char *why);

/* Sends what err() and remedy() print to a stream instead of stderr; NULL: back to stderr. */
void err_to(FILE *out);

/* From now on err() and remedy() print nothing, or again. */
void err_mute(bool mute);

/* One line on stderr, only with -v. */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Prints the error for -errno of a bpf() call: "what: why". Returns EXIT_REFUSED; EXIT_DONE for 0,
 * which is no error.
 */
int err_bpf(int error, const char *what);

/* True with -v. */
bool err_is_verbose(void);

/*
 * Memory that callers need not check: without memory these print an error and end the program with
 * EXIT_REFUSED, which leaves the kernel's state as a kill does. So do not use them where a failure
 * has to be undone.
 */
void *mem_new(size_t n, size_t size); /* all zeros */
/*
 * The list of n elements with room for one more. It doubles whenever n is a power of two, so a list
 * that grows must have grown so from its beginning.
 */
void *mem_grow(void *list, size_t n, size_t size);
/* One more element of it: MEM_ADD(list, n) = element. */
#define MEM_ADD(list, n) (*((list) = mem_grow(list, n, sizeof(*(list))), &(list)[(n)++]))
/*
 * Loops over the n elements of a list, which stays where it is: for_each (s, plan->step, plan->n).
 * A negative n, an error, is as 0.
 */
#define for_each(at, list, n)                                                       \
	for (__typeof__(*(list)) *at = (list), *at##_end = (n) > 0 ? at + (n) : at; \
	     at != at##_end; at++)
char *mem_copy(const char *text);
char *mem_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The list with one more word, behind `between` unless it is the first; frees the shorter one. */
char *mem_join(char *list, const char *between, const char *word);
void *mem_need(void *memory); /* returns it, if it is not NULL */
void mem_check(bool has); /* for what says false if there is none */

/*
 * Behind the name of a variable that has a value before a return: char *text AUTO_FREE = NULL.
 * When its block ends, in whichever way, end(&variable) is called: for the last such variable first,
 * and after a returned value is computed. The four skip NULL and negative numbers, and keep errno.
 */
#define AUTO(end) __attribute__((cleanup(end)))
#define AUTO_FREE AUTO(auto_free)
#define AUTO_CLOSE AUTO(auto_close) /* a descriptor */
#define AUTO_FCLOSE AUTO(auto_fclose) /* a file that was read: an error goes unnoticed */
#define AUTO_CLOSEDIR AUTO(auto_closedir)
void auto_free(void *pointer);
void auto_close(const int *fd);
void auto_fclose(FILE *const *file);
void auto_closedir(DIR *const *dir);

/* For functions that have a parameter only because their type has it. */
#define UNUSED __attribute__((unused))

#endif
