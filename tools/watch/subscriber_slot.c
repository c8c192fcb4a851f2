// SPDX-License-Identifier: GPL-2.0-only
#include <sys/random.h>

#include <bpf/bpf.h>

#include "kernel/clock.h"
#include "subscriber_slot.h"

#define OWNER_RANDOM ((1ull << 22) - 1)

__u64 slot_new_owner(void)
{
	__u64 random = 0;

	/* At worst the number is not unique among monitors that start in the same 4 ms. */
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = now_ns();
	return (now_ns() & ~OWNER_RANDOM) | (random & OWNER_RANDOM);
}

bool slot_is_free(const struct bbr_subscriber *sub, __u64 owner, __u64 now)
{
	__u64 made = owner & ~OWNER_RANDOM;

	if (!owner)
		return true;
	if (made <= now && now - made < LEASE_NS)
		return false;
	return __atomic_load_n(&sub->lease_ns, __ATOMIC_ACQUIRE) < now;
}

bool slot_take(struct bbr_subscriber *sub, __u64 from, __u64 to)
{
	return __atomic_compare_exchange_n(&sub->owner, &from, to, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

void slot_mute(struct bbr_watch *watch, int slot)
{
	__atomic_fetch_and(&watch->active, ~(1ull << slot), __ATOMIC_SEQ_CST);
}

void slot_release(struct bbr_watch *watch, int slot, int rings_fd)
{
	slot_mute(watch, slot);
	/* Returns when no program uses the ring any more, see ring_put() in subscription.c. */
	bpf_map_delete_elem(rings_fd, &slot);
	__atomic_store_n(&watch->sub[slot].lease_ns, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&watch->sub[slot].owner, 0, __ATOMIC_RELEASE);
}
