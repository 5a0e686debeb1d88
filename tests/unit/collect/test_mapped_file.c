/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_mapped_file.c - the mapped file is opened, or none
 *
 * Each case is judged twice: with the right to /proc/PID/map_files, where the test has it, and
 * without.
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/stack/mapped_file.h"

enum { BYTES = 4096, SAME = 1, STALE = 2, OTHER = 3, NO_FILE = 4 };

static char folder[] = "/tmp/mapped_file.XXXXXX", path[64], other[64];

static void write_file(const char *name, char letter)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	CHECK(ftruncate(fd, BYTES) == 0 && pwrite(fd, &letter, 1, 0) == 1);
	close(fd);
}

static uintptr_t map_file(void)
{
	void *at;
	int fd;

	write_file(path, 'a');
	write_file(other, 'b');
	fd = open(path, O_RDONLY | O_CLOEXEC);
	at = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	return at == MAP_FAILED ? 0 : (uintptr_t)at;
}

static int open_mapping(uintptr_t at)
{
	struct proc_maps maps;
	const struct proc_mapping *mapping;
	char letter = '?';
	int fd;

	if (proc_maps_read(getpid(), &maps))
		return OTHER;
	mapping = proc_maps_find(&maps, at);
	fd = mapping ? mapped_file_open(getpid(), mapping) : -ENXIO;
	proc_maps_fini(&maps);
	if (fd < 0)
		return fd == -ESTALE ? STALE : NO_FILE;
	CHECK_EQUAL(pread(fd, &letter, 1, 0), 1);
	close(fd);
	return letter == 'a' ? SAME : OTHER;
}

/* In a child that is another user: it has the mapping and no capability. */
static int open_without_rights(uintptr_t at)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		_exit(geteuid() == 0 && setuid(65534) ? 9 : open_mapping(at));
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 9;
}

static bool has_map_files(void)
{
	return geteuid() == 0 && access("/proc/self/map_files", X_OK) == 0;
}

static void check(uintptr_t at, int wanted_without)
{
	REQUIRE(at);
	if (has_map_files())
		CHECK_EQUAL(open_mapping(at), SAME);
	CHECK_EQUAL(open_without_rights(at), wanted_without);
	munmap((void *)at, BYTES);
	unlink(path);
	unlink(other);
}

TEST(a_file_at_its_path)
{
	check(map_file(), SAME);
}

TEST(another_file_at_its_path)
{
	uintptr_t at = map_file();

	CHECK(rename(other, path) == 0);
	check(at, STALE);
}

TEST(a_link_to_another_file_at_its_path)
{
	uintptr_t at = map_file();

	CHECK(unlink(path) == 0 && symlink(other, path) == 0);
	check(at, STALE);
}

TEST(a_pipe_at_its_path)
{
	uintptr_t at = map_file();

	CHECK(unlink(path) == 0 && mkfifo(path, 0666) == 0);
	check(at, NO_FILE);
}

TEST(a_link_to_a_device_at_its_path)
{
	uintptr_t at = map_file();

	CHECK(unlink(path) == 0 && symlink("/dev/zero", path) == 0);
	check(at, NO_FILE);
}

TEST(a_device_that_is_mapped)
{
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	void *at = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);

	close(fd);
	REQUIRE(at != MAP_FAILED);
	CHECK(open_mapping((uintptr_t)at) != SAME);
	munmap(at, BYTES);
}

int main(void)
{
	if (!mkdtemp(folder) || chmod(folder, 0755))
		return 1;
	snprintf(path, sizeof(path), "%s/file", folder);
	snprintf(other, sizeof(other), "%s/other", folder);
	RUN(a_file_at_its_path);
	RUN(another_file_at_its_path);
	RUN(a_link_to_another_file_at_its_path);
	RUN(a_pipe_at_its_path);
	RUN(a_link_to_a_device_at_its_path);
	RUN(a_device_that_is_mapped);
	rmdir(folder);
	return harness_end();
}
