// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ends the boot of a guest of the lab. Everything before it is the same for all runs on a kernel; what
 * comes after it is this run's own. In between the emulator makes its snapshot, or goes on from it.
 *
 * The host gives a run a number and an archive, in the memory of a PCI device. The number goes into the
 * kernel's random numbers, the archive to standard output. Exits with 1 and a message if anything fails.
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
	uint64_t archive_bytes;
	uint64_t seed;
	uint8_t archive[];
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

int main(void)
{
	const struct given *given = map_given();
	uint64_t written = 0;

	if (ioperm(PANIC_PORT, 1, 1))
		err(1, "port %#x", PANIC_PORT);
	outb(PANICKED, PANIC_PORT); /* nothing of what the host gives may be read before */

	seed_random(given->seed);
	if (given->archive_bytes > DEVICE_BYTES - sizeof(*given))
		errx(1, "the archive is too large");
	while (written < given->archive_bytes) {
		ssize_t bytes = write(STDOUT_FILENO, given->archive + written,
				      given->archive_bytes - written);

		if (bytes < 0)
			err(1, "standard output");
		written += bytes;
	}
	return 0;
}
