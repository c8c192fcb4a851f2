// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "cli/err.h"
#include "kernel/instance.h"
#include "instance/link_pin.h"
#include "instance/unregister.h"

#define AVAILABLE "/proc/sys/net/ipv4/tcp_available_congestion_control"

bool is_registered(const char *name)
{
	char word[64];
	FILE *f = fopen(AVAILABLE, "re");
	bool found = false;

	while (f && !found && fscanf(f, "%63s", word) == 1)
		found = !strcmp(word, name);
	if (f)
		fclose(f);
	return found;
}

/*
 * Before 6.11 a link cannot be detached: the kernel ends it some time after its last holder is
 * gone.
 */
static int wait_for_end(const struct instance *inst)
{
	for (int i = 0; i < 500; i++) {
		if (!is_registered(inst->name))
			return EXIT_DONE;
		usleep(10000);
	}
	err("%s: its link (id %u) is still held, and this kernel cannot detach it", inst->name,
	    inst->link_id);
	remedy("remove what holds it: a process, or a pin other than %s", pin_path(inst->name));
	return EXIT_REFUSED;
}

static int end_link(const struct instance *inst)
{
	int error, fd = bpf_link_get_fd_by_id(inst->link_id);

	if (fd < 0)
		return err_bpf(errno, "cannot open the instance's link");
	/*
	 * Remove the pin first: if we are killed after that, the link ends with our file
	 * descriptor. The other way round, a pin would be left whose link has ended.
	 */
	error = pin_remove(inst->name, inst->link_id);
	if (error) {
		close(fd);
		return err_bpf(error, "cannot remove the instance's pin");
	}
	error = bpf_link_detach(fd) ? errno : 0;
	close(fd);
	if (!error)
		return EXIT_DONE;
	if (error == EOPNOTSUPP)
		return wait_for_end(inst);
	return err_bpf(error, "the kernel refused to unregister it");
}

int unregister(const struct instance *inst)
{
	static const __u32 key;
	int fd, ret = EXIT_DONE;

	if (inst->link_id)
		return end_link(inst);
	fd = instance_map(inst->map_id);
	if (fd < 0)
		return err_bpf(fd, "cannot open the instance");
	if (bpf_map_delete_elem(fd, &key))
		ret = err_bpf(errno, "the kernel refused to unregister it");
	close(fd);
	return ret;
}
