/* SPDX-License-Identifier: MIT
 *
 * The path of a control group, and the container that it names.
 */
#include "analyze/text/cgroup.h"

#include "harness.h"

#define ID "9f3c01d2e4b5a697887766554433221100ffeeddccbbaa998877665544332211"

TEST(the_path_follows_the_controllers)
{
	CHECK_TEXT(cgroup_path_of("0::/user.slice/a:b"), "/user.slice/a:b");
	CHECK_TEXT(cgroup_path_of("4:memory,name=a/b:/job"), "/job");
	CHECK_TEXT(cgroup_path_of("0::/"), "");
	CHECK_TEXT(cgroup_path_of("0::"), "");
	CHECK_TEXT(cgroup_path_of("0:"), "");
	CHECK_TEXT(cgroup_path_of(""), "");
}

static const char *container(const char *path)
{
	static char text[64];

	return cgroup_container(path, text, sizeof(text));
}

TEST(a_container_has_an_id_of_64_digits)
{
	CHECK_TEXT(container("/system.slice/docker-" ID ".scope"), "docker 9f3c01d2e4b5");
	CHECK_TEXT(container("/docker/" ID), "docker 9f3c01d2e4b5");
	CHECK_TEXT(container("/machine.slice/libpod-" ID ".scope/container"),
		   "libpod 9f3c01d2e4b5");
	CHECK_TEXT(container("/kubepods/besteffort/pod12/" ID), "9f3c01d2e4b5");
	CHECK_TEXT(container("/kubepods.slice/cri-containerd-" ID ".scope"),
		   "cri-containerd 9f3c01d2e4b5");
	CHECK_TEXT(container(ID), "9f3c01d2e4b5");
}

TEST(other_groups_have_no_container)
{
	CHECK_TEXT(container("/user.slice/user-1000.slice/session-2.scope"), "");
	CHECK_TEXT(container("/docker/" ID "0"), "");
	CHECK_TEXT(container("/docker/0123456789abcdef"), "");
	CHECK_TEXT(container(""), "");
}

TEST(a_short_buffer_cuts_the_text)
{
	char text[8];

	CHECK_TEXT(cgroup_container("/docker/" ID, text, sizeof(text)), "docker ");
}

int main(void)
{
	RUN(the_path_follows_the_controllers);
	RUN(a_container_has_an_id_of_64_digits);
	RUN(other_groups_have_no_container);
	RUN(a_short_buffer_cuts_the_text);
	return harness_end();
}
