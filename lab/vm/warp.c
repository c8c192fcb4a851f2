/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes QEMU with -icount sleep=off quicker. The guest sees the same, bit for bit.
 *
 * While the guest's CPU is halted, the CPU's thread itself moves the virtual clock to the next timer and runs it. QEMU
 * leaves that to its main loop, and also wakes the monitor's thread: some ten switches of threads each time that the
 * guest is idle, which took half of the emulator's time at 100 Mbit/s.
 *
 * The emulator's TLB keeps the size that a busy moment gave it. QEMU fits the size to the pages that were used in the
 * last 100 ms of the host, but places a page by its lowest bits: a TLB that just fits has collisions. See gettimeofday().
 *
 * This library is preloaded into QEMU. It replaces functions of libc that QEMU calls, and calls functions that QEMU
 * exports to its modules. It changes nothing in a QEMU that lacks these functions or runs without -icount.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* QEMU's, as of 7.2. */
#define QEMU_CLOCK_VIRTUAL 1
#define QEMU_TIMER_ATTR_ALL (~0)
#define FROM_QEMU __attribute__((weak)) extern
FROM_QEMU int use_icount;
FROM_QEMU bool qemu_in_vcpu_thread(void);
FROM_QEMU bool all_cpu_threads_idle(void);
FROM_QEMU int runstate_is_running(void);
FROM_QEMU void icount_start_warp_timer(void);
FROM_QEMU bool qemu_clock_run_timers(int clock);
FROM_QEMU int64_t qemu_clock_deadline_ns_all(int clock, int attributes); /* -1: there is no timer */

#define FDS 1024
#define WARPS 4096 /* after this many the main loop gets a turn, for any other work that it has */
#define WAKEUPS 4096 /* one in this many reaches a thread that needs none */
#define SLOWER 64 /* so 100 ms become 6.4 s, in which all processes of a run have their turn */
#define US_PER_S 1000000

/* QEMU's threads wake each other through eventfds. */
struct wakeups {
	atomic_bool is_eventfd;
	atomic_bool is_monitors; /* a thread other than the main loop's reads it */
	atomic_bool is_held; /* the CPU's thread wrote to it, but the kernel has not been told */
};

static struct wakeups wakeups[FDS];
static pthread_t main_loop;
static bool is_known; /* this QEMU exports all of the functions above */
static unsigned int warps, idle_wakeups;
static int64_t start_us;

static int (*libc_cond_wait)(pthread_cond_t *, pthread_mutex_t *);
static ssize_t (*libc_read)(int, void *, size_t);
static ssize_t (*libc_write)(int, const void *, size_t);
static int (*libc_eventfd)(unsigned int, int);
static int (*libc_close)(int);

static int64_t real_time_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * (int64_t)US_PER_S + now.tv_nsec / 1000;
}

__attribute__((constructor)) static void find_functions(void)
{
	start_us = real_time_us();
	/* Without a version, dlsym() may find the function for the smaller condition of glibc before 2.3.2. */
	libc_cond_wait = dlvsym(RTLD_NEXT, "pthread_cond_wait", "GLIBC_2.3.2");
	if (!libc_cond_wait)
		libc_cond_wait = dlsym(RTLD_NEXT, "pthread_cond_wait");
	libc_read = dlsym(RTLD_NEXT, "read");
	libc_write = dlsym(RTLD_NEXT, "write");
	libc_eventfd = dlsym(RTLD_NEXT, "eventfd");
	libc_close = dlsym(RTLD_NEXT, "close");
	main_loop = pthread_self();
	is_known = &use_icount && qemu_in_vcpu_thread && all_cpu_threads_idle &&
		   runstate_is_running && icount_start_warp_timer && qemu_clock_run_timers &&
		   qemu_clock_deadline_ns_all;
}

static struct wakeups *wakeups_of(int fd)
{
	if (!is_known || !use_icount || fd < 0 || fd >= FDS || !wakeups[fd].is_eventfd)
		return NULL;
	return &wakeups[fd];
}

int eventfd(unsigned int value, int flags)
{
	int fd = libc_eventfd(value, flags);

	if (fd >= 0 && fd < FDS) {
		wakeups[fd].is_monitors = false;
		wakeups[fd].is_held = false;
		wakeups[fd].is_eventfd = true;
	}
	return fd;
}

int close(int fd)
{
	if (fd >= 0 && fd < FDS)
		wakeups[fd].is_eventfd = false;
	return libc_close(fd);
}

ssize_t read(int fd, void *value, size_t size)
{
	struct wakeups *w = wakeups_of(fd);

	if (w && !pthread_equal(pthread_self(), main_loop))
		w->is_monitors = true;
	return libc_read(fd, value, size);
}

/* True if the CPU is halted until a timer of the guest expires, and the guest is not stopped. */
static bool waits_for_timer(void)
{
	return use_icount && runstate_is_running() && all_cpu_threads_idle() &&
	       qemu_clock_deadline_ns_all(QEMU_CLOCK_VIRTUAL, QEMU_TIMER_ATTR_ALL) >= 0;
}

/* True if the clock has reached a timer that has not run yet. The CPU's thread runs it itself. */
static bool is_at_timer(void)
{
	return qemu_clock_deadline_ns_all(QEMU_CLOCK_VIRTUAL, QEMU_TIMER_ATTR_ALL) == 0;
}

/*
 * The CPU's thread wakes the main loop to move the clock of a halted CPU, and it wakes all other threads whenever the
 * clock reaches a timer, although these have none. All of this is held back.
 */
ssize_t write(int fd, const void *value, size_t size)
{
	struct wakeups *w = wakeups_of(fd);

	if (w && qemu_in_vcpu_thread() &&
	    (w->is_monitors || is_at_timer() ? ++idle_wakeups % WAKEUPS : waits_for_timer())) {
		w->is_held = true;
		return size;
	}
	return libc_write(fd, value, size);
}

static void send_held_wakeups(void)
{
	const uint64_t one = 1;

	for (int fd = 0; fd < FDS; fd++) {
		if (!wakeups[fd].is_held)
			continue;
		wakeups[fd].is_held = false;
		if (wakeups[fd].is_eventfd)
			libc_write(fd, &one, sizeof(one));
	}
}

/* QEMU waits in loops that check their condition again, so returning early does no harm. */
int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	if (is_known && qemu_in_vcpu_thread()) {
		if (waits_for_timer() && ++warps % WARPS) {
			icount_start_warp_timer();
			qemu_clock_run_timers(QEMU_CLOCK_VIRTUAL);
			return 0;
		}
		send_held_wakeups();
	}
	return libc_cond_wait(cond, mutex);
}

/*
 * The CPU's thread asks for the time of day each time that it empties the TLB, and for nothing that the guest sees. If
 * that time passes slowly, the TLB still grows at once, but shrinks late. At 100 Mbit/s it is emptied 500 times a
 * second; a page is looked up in the guest's page tables 0.47 million times a second instead of 0.88 million times.
 */
int gettimeofday(struct timeval *now, void *zone)
{
	int64_t us = real_time_us();

	(void)zone;
	if (is_known && use_icount && qemu_in_vcpu_thread())
		us = start_us + (us - start_us) / SLOWER;
	*now = (struct timeval){ .tv_sec = us / US_PER_S, .tv_usec = us % US_PER_S };
	return 0;
}
