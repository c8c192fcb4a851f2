// SPDX-License-Identifier: GPL-2.0-only
/*
 * start 0 ends the boot of a guest of the lab, start 1 what it prepares for several runs. Everything before
 * them is the same for many runs, so there the emulator makes a snapshot, or goes on from one.
 *
 * The host gives a run a seed and two archives, in the memory of a PCI device. The seed goes into the
 * kernel's random numbers, archive 0 or 1 to standard output. What is prepared has the seed 0, so that it
 * does not depend on the run's. Exits with 1 and a message if anything fails.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <linux/random.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define DEVICE "/sys/bus/pci/devices/0000:00:1f.0/resource2" /* as emulator.py places it */
#define DEVICE_BYTES (64u << 20)
#define PANIC_PORT 0x505 /* of the device pvpanic */
#define PANICKED 1
#define SEED_BITS 256 /* what the kernel wants before it takes its random numbers as seeded */

struct given {
	uint64_t seed;
	uint64_t bytes[2]; /* of the archives */
	uint8_t archives[];
};

static const struct given *map_given(void)
{
	int fd = open(DEVICE, O_RDONLY | O_CLOEXEC);
	const void *given =
		fd < 0 ? MAP_FAILED : mmap(NULL, DEVICE_BYTES, PROT_READ, MAP_SHARED, fd, 0);

	if (given == MAP_FAILED)
		err(1, DEVICE);
	return given;
}

static void seed_random(uint64_t seed)
{
	struct {
		struct rand_pool_info info;
		uint32_t words[SEED_BITS / 32];
	} pool = { .info = { .entropy_count = SEED_BITS, .buf_size = SEED_BITS / 8 } };
	int fd = open("/dev/urandom", O_WRONLY | O_CLOEXEC);

	memcpy(pool.info.buf, &seed, sizeof(seed));
	if (fd < 0 || ioctl(fd, RNDADDENTROPY, &pool) || ioctl(fd, RNDRESEEDCRNG))
		err(1, "/dev/urandom");
	close(fd);
}

static void write_archive(const struct given *given, int n)
{
	const uint8_t *archive = given->archives + (n ? given->bytes[0] : 0);
	uint64_t written = 0;

	while (written < given->bytes[n]) {
		ssize_t bytes = write(STDOUT_FILENO, archive + written, given->bytes[n] - written);

		if (bytes < 0)
			err(1, "standard output");
		written += bytes;
	}
}

int main(int argc, char **argv)
{
	const struct given *given = map_given();
	int n = argc == 2 && !strcmp(argv[1], "1");

	if (ioperm(PANIC_PORT, 1, 1))
		err(1, "port %#x", PANIC_PORT);
	outb(PANICKED, PANIC_PORT); /* nothing of what the host gives may be read before */

	seed_random(n ? given->seed : 0);
	if (given->bytes[0] + given->bytes[1] > DEVICE_BYTES - sizeof(*given))
		errx(1, "the archives are too large");
	write_archive(given, n);
	return 0;
}
