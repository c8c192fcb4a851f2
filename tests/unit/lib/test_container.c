/* SPDX-License-Identifier: GPL-2.0-only */
/* Which container a cgroup belongs to, by its path alone. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/stat.h>

#include <cmocka.h>

#include "cgroup/cgroup.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char pods[] = "/tmp/bbrt_podsXXXXXX";

static void expect(const char *path, const char *container)
{
	char name[64] = "?";

	assert_int_equal(cgroup_container(path, pods, name, sizeof(name)), container[0] != 0);
	assert_string_equal(name, container);
}

static void each_runtime(void **state)
{
	(void)state;
	expect("/system.slice/docker-" ID ".scope", "docker 0123456789ab");
	expect("/docker/" ID, "docker 0123456789ab");
	expect("/machine.slice/libpod-" ID ".scope/container", "podman 0123456789ab");
	expect("/user.slice/user-1000.slice/libpod-" ID, "podman 0123456789ab");
	expect("/kubepods.slice/kubepods-podaa.slice/cri-containerd-" ID ".scope",
	       "containerd 0123456789ab");
	expect("/kubepods.slice/kubepods-podaa.slice/crio-" ID ".scope", "cri-o 0123456789ab");
	expect("/kubepods/besteffort/pod1-2-3/" ID, "container 0123456789ab");
	expect("/lxc.payload.web/init.scope", "lxc web");
	expect("/lxc/web", "lxc web");
	expect("/machine.slice/systemd-nspawn@web.service/payload", "nspawn web");
	expect("/machine.slice/machine-web.scope", "machine web");
}

static void what_is_none(void **state)
{
	static const char *const paths[] = {
		"",
		"/",
		"//",
		"/system.slice/docker.service",
		"/system.slice/docker-0123.scope",
		"/system.slice/docker-" ID "0.scope",
		"/docker",
		"/docker/buildx",
		"/lxc",
		"/lxc.payload.",
		"/system.slice/0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF",
		"/machine.slice/libpod-conmon-" ID ".scope",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		expect(paths[i], "");
}

static void a_name_that_is_too_long_is_cut(void **state)
{
	char name[8];

	(void)state;
	assert_true(cgroup_container("/lxc/a-long-name", pods, name, sizeof(name)));
	assert_string_equal(name, "lxc a-l");
}

#define UID(sep) "01234567" sep "89ab" sep "cdef" sep "0123" sep "456789abcdef"
#define STATIC_UID "0123456789abcdef0123456789abcdef" /* of a pod that a file describes */

/* Both drivers of the kubelet: systemd's slices, and plain folders. */
static void a_pod(void **state)
{
	static const char *const folders[] = {
		"web_front-0_" UID("-"), "kube-system_etcd_" STATIC_UID, "odd", "_", "a_b", "a_b_c"
	};
	char path[PATH_MAX];

	(void)state;
	expect("/kubepods/pod" UID("-") "/" ID, "container 0123456789ab");
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", pods, folders[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	expect("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID("_") ".slice",
	       "pod web/front-0");
	expect("/kubepods.slice/kubepods-pod" UID("_") ".slice/cri-containerd-" ID ".scope",
	       "pod web/front-0");
	expect("/kubepods/besteffort/pod" UID("-") "/" ID, "pod web/front-0");
	expect("/kubepods/pod" STATIC_UID "/" ID "/init", "pod kube-system/etcd");
	expect("/kubepods/pod" UID("-") "0/x", "");
	expect("/kubepods/pod" UID("-") ".scope", "");
	expect("/kubepods/besteffort", "");
	expect("/kubepods/podcast", "");
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", pods, folders[i]);
		assert_int_equal(rmdir(path), 0);
	}
}

static int make_pods(void **state)
{
	(void)state;
	return mkdtemp(pods) ? 0 : -1;
}

static int remove_pods(void **state)
{
	(void)state;
	return rmdir(pods);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_runtime),
		cmocka_unit_test(what_is_none),
		cmocka_unit_test(a_name_that_is_too_long_is_cut),
		cmocka_unit_test(a_pod),
	};

	return cmocka_run_group_tests(tests, make_pods, remove_pods);
}
