/* SPDX-License-Identifier: GPL-2.0-only */
/* Which container a cgroup belongs to, by its path alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cgroup/cgroup.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void expect(const char *path, const char *container)
{
	char name[64] = "?";

	assert_int_equal(cgroup_container(path, name, sizeof(name)), container[0] != 0);
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
	assert_true(cgroup_container("/lxc/a-long-name", name, sizeof(name)));
	assert_string_equal(name, "lxc a-l");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_runtime),
		cmocka_unit_test(what_is_none),
		cmocka_unit_test(a_name_that_is_too_long_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
