// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf_bbr/attach.h"
#include "cgroup/cgroup.h"
#include "cli/err.h"
#include "cli/text.h"
#include "instance/object.h"

extern const char attach_object[], attach_object_end[];

static int set_constants(const struct bpf_object *obj, const struct attachment *at)
{
	struct bpf_map *name = bpf_object__find_map_by_name(obj, BBR_MAP_ATTACH),
		       *which = bpf_object__find_map_by_name(obj, BBR_MAP_ATTACH_FOR);
	struct bbr_attach attach = { .magic = BBR_ATTACH_MAGIC };
	const char *below = attachment_below(at);
	struct bbr_attach_for is_for = {};
	int error = 0;

	strcpy(attach.name, at->name);
	if (strlen(below) >= BBR_ATTACH_PATH)
		return -ENAMETOOLONG;
	strcpy(is_for.below, below);
	if (*below)
		error = cgroup_path_term(at->place, below, &is_for.term[is_for.n++]);
	if (is_for.n + at->n > BBR_ATTACH_TERMS)
		return -E2BIG;
	memcpy(is_for.term + is_for.n, at->term, at->n * sizeof(*at->term));
	is_for.n += at->n;
	if (!error && (!name || !which))
		error = -EINVAL;
	if (!error)
		error = bpf_map__set_initial_value(name, &attach, sizeof(attach));
	return error ? error : bpf_map__set_initial_value(which, &is_for, sizeof(is_for));
}

int attach_program_load(const struct attachment *at)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = BBR_ATTACH_PROG);
	struct bpf_object *obj =
		bpf_object__open_mem(attach_object, attach_object_end - attach_object, &opts);
	int error = obj ? set_constants(obj, at) : -errno, fd = -1;

	if (!error)
		error = bpf_object__load(obj);
	if (!error) {
		fd = fcntl(bpf_program__fd(bpf_object__find_program_by_name(obj, BBR_ATTACH_PROG)),
			   F_DUPFD_CLOEXEC, 0);
		error = fd < 0 ? -errno : attachment_check(fd);
	}
	if (error) {
		err_bpf(error, "the kernel refused the BPF program for cgroups");
		remedy("bbrctl -v attach shows the kernel's reasons");
	}
	if (error && fd >= 0)
		close(fd);
	bpf_object__close(obj);
	return error ? -1 : fd;
}

int attach_program(int prog_fd, int cgroup_fd, int replaced_fd, const char *path)
{
	LIBBPF_OPTS(bpf_prog_attach_opts, opts, .flags = BPF_F_ALLOW_MULTI);

	if (replaced_fd >= 0) {
		opts.flags |= BPF_F_REPLACE;
		opts.replace_prog_fd = replaced_fd;
	}
	/*
	 * Attached without a link, it stays although nothing is pinned, and ends with the cgroup.
	 */
	if (!bpf_prog_attach_opts(prog_fd, cgroup_fd, BPF_CGROUP_SOCK_OPS, &opts))
		return EXIT_DONE;
	if (errno == E2BIG)
		return err_refused(
			"%s: has as many programs as a cgroup can have\n"
			"bbrctl status shows what is attached; detach what is no longer used",
			path);
	if (errno != EPERM)
		return err_bpf(errno, path);
	return err_refused(
		"%s: another program is attached there or above, and allows no other beside it\n"
		"bpftool cgroup tree %s effective shows it; detach that one first",
		path, text_shell_word(path));
}

int detach_program(int prog_fd, int cgroup_fd, const char *path)
{
	/* ENOENT: it has gone with its cgroup. */
	return bpf_prog_detach2(prog_fd, cgroup_fd, BPF_CGROUP_SOCK_OPS) && errno != ENOENT ?
		       err_bpf(errno, path) :
		       EXIT_DONE;
}
