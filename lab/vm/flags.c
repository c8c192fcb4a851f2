// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks that the CPU keeps its flags over cmpxchg16b, which changes ZF and nothing else. TCG of QEMU 7.2 leaves bits of an
 * operand of the preceding comparison in the flags. If an interrupt comes then, no return from it survives bit 17 (VM).
 *
 * Exits with 0 if all are kept, else with 1. As process 1, so as all that a guest boots, it switches the machine off.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <sys/reboot.h>
#include <unistd.h>

#define POSSIBLE \
	0xfffull /* bits that a comparison may set in a program's flags, and those that always are */

/* The flags behind a cmpxchg16b that comes behind a comparison of 0 with the operand. */
static uint64_t flags_behind(uint64_t operand)
{
	struct {
		uint64_t low, high;
	} __attribute__((aligned(16))) memory = { ~0ull, ~0ull };
	uint64_t low = 0, high = 0, flags = 0;

	asm volatile("pushfq\n\t"
		     "popfq\n\t" /* the emulator has them all at once, and has stored that it has */
		     "cmp %[operand], %[flags]\n\t"
		     "lock cmpxchg16b %[memory]\n\t"
		     "pushfq\n\t"
		     "popq %[flags]"
		     : [flags] "+r"(flags), [memory] "+m"(memory), "+a"(low), "+d"(high)
		     : [operand] "r"(operand), "b"(0ull), "c"(0ull)
		     : "cc", "memory");
	return flags;
}

int main(void)
{
	uint64_t impossible = 0;

	for (int bit = 12; bit < 32; bit++)
		impossible |= flags_behind(1ull << bit) & ~POSSIBLE;
	if (impossible)
		printf("flags: lost (%#llx)\n", (unsigned long long)impossible);
	else
		puts("flags: kept");
	fflush(stdout);
	if (getpid() == 1)
		reboot(RB_POWER_OFF);
	return impossible ? 1 : 0;
}
