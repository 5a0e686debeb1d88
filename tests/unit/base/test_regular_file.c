/* SPDX-License-Identifier: MIT
 *
 * tests/unit/base/test_regular_file.c - regular files are opened, and nothing else is touched
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file/regular_file.h"

static char folder[] = "/tmp/regular_file.XXXXXX";

static const char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

TEST(a_file_is_opened)
{
	char text[8] = "";
	int fd;

	harness_write_text(path_of("file"), "seven\n");
	fd = regular_file_open(path_of("file"));
	REQUIRE(fd >= 0);
	CHECK_EQUAL(read(fd, text, sizeof(text)), 6);
	CHECK_TEXT(text, "seven\n");
	close(fd);
	unlink(path_of("file"));
}

TEST(a_link_to_a_file_is_followed)
{
	int fd;

	harness_write_text(path_of("file"), "seven\n");
	REQUIRE(symlink("file", path_of("link")) == 0);
	fd = regular_file_open(path_of("link"));
	CHECK(fd >= 0);
	close(fd);
	unlink(path_of("link"));
	unlink(path_of("file"));
	CHECK_EQUAL(regular_file_open(path_of("file")), -ENOENT);
}

/* As a container's link leads to a file of the container. */
TEST(no_link_leads_out_of_a_root)
{
	char wanted[128], text[8] = "";
	int root, fd;

	REQUIRE(mkdir(path_of("root"), 0700) == 0);
	harness_write_text(path_of("file"), "seven\n");
	snprintf(wanted, sizeof(wanted), "%s", path_of("file"));
	REQUIRE(symlink(wanted, path_of("root/absolute")) == 0);
	REQUIRE(symlink("../file", path_of("root/upwards")) == 0);
	REQUIRE(symlink("/inner", path_of("root/inside")) == 0);
	harness_write_text(path_of("root/inner"), "seven\n");
	root = open(path_of("root"), O_PATH | O_CLOEXEC);
	CHECK_EQUAL(regular_file_open_in(root, "/absolute"), -ENOENT);
	CHECK_EQUAL(regular_file_open_in(root, "/upwards"), -ENOENT);
	fd = regular_file_open_in(root, "/inside");
	CHECK(fd >= 0 && read(fd, text, 6) == 6);
	CHECK_TEXT(text, "seven\n");
	close(fd);
	close(root);
	unlink(path_of("root/absolute"));
	unlink(path_of("root/upwards"));
	unlink(path_of("root/inside"));
	unlink(path_of("root/inner"));
	unlink(path_of("file"));
	CHECK_EQUAL(rmdir(path_of("root")), 0);
}

TEST(a_file_without_a_name_is_opened)
{
	int memory = memfd_create("regular", MFD_CLOEXEC), fd;
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", memory);
	fd = regular_file_open(link);
	CHECK(fd >= 0);
	close(fd);
	close(memory);
}

/* An open of it would wait for a writer; with O_NONBLOCK it would succeed. */
TEST(a_pipe_is_refused_at_once)
{
	REQUIRE(mkfifo(path_of("pipe"), 0600) == 0);
	CHECK_EQUAL(regular_file_open(path_of("pipe")), -EINVAL);
	unlink(path_of("pipe"));
}

TEST(devices_folders_and_sockets_are_refused)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%.100s", path_of("socket"));
	REQUIRE(bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	CHECK_EQUAL(regular_file_open(path_of("socket")), -EINVAL);
	close(fd);
	unlink(path_of("socket"));
	CHECK_EQUAL(regular_file_open("/dev/null"), -EINVAL);
	CHECK_EQUAL(regular_file_open(folder), -EINVAL);
	REQUIRE(symlink("/dev/zero", path_of("link")) == 0);
	CHECK_EQUAL(regular_file_open(path_of("link")), -EINVAL);
	unlink(path_of("link"));
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(a_file_is_opened);
	RUN(a_link_to_a_file_is_followed);
	RUN(no_link_leads_out_of_a_root);
	RUN(a_file_without_a_name_is_opened);
	RUN(a_pipe_is_refused_at_once);
	RUN(devices_folders_and_sockets_are_refused);
	rmdir(folder);
	return harness_end();
}
