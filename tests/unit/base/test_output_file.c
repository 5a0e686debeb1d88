/* SPDX-License-Identifier: MIT
 *
 * tests/unit/base/test_output_file.c - what duet writes as root lands where root wants it
 *
 * As root: another user's folder has links, files and pipes of that user. As an ordinary user links
 * are followed as ever.
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file/output_file.h"
#include "base/file/unfinished.h"

enum { OTHER = 65534 };

static char own_folder[] = "/tmp/output_own.XXXXXX", other_folder[] = "/tmp/output_other.XXXXXX";
static char victim[64], planted[64];

static void check_content(const char *path, const char *wanted)
{
	char text[64] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0 && read(fd, text, sizeof(text) - 1) >= 0);
	close(fd);
	CHECK_TEXT(text, wanted);
}

static int open_output(const char *path)
{
	return output_file_open(path, O_WRONLY | O_TRUNC, 0600, NULL);
}

static void check_refused(const char *path, const char *words)
{
	CHECK_EQUAL(open_output(path), -EPERM);
	CHECK(strstr(error_text(), words) != NULL);
	CHECK(strstr(error_text(), path) != NULL && strstr(error_text(), "another file") != NULL);
	error_clear();
}

static void check_opened(const char *path)
{
	int fd = open_output(path);

	if (fd < 0)
		printf("#   %s\n", error_text());
	CHECK(fd >= 0);
	close(fd);
}

static bool is_root(void)
{
	return geteuid() == 0;
}

#define NEEDS_ROOT()                                              \
	do {                                                      \
		if (!is_root())                                   \
			SKIP("needs root: another user's files"); \
	} while (0)

/* As that user. */
static void plant(int (*make)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(setuid(OTHER) || make() ? 1 : 0);
	waitpid(pid, &status, 0);
	CHECK_EQUAL(status, 0);
}

static int make_link(void)
{
	return symlink(victim, planted);
}

static int make_file(void)
{
	int fd = open(planted, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	return fd < 0 || write(fd, "theirs", 6) != 6;
}

static int make_pipe(void)
{
	return mkfifo(planted, 0666);
}

TEST(a_new_file_has_the_mode)
{
	struct stat about;
	bool is_new = false;
	int fd;

	fd = output_file_open(victim, O_RDWR, 0600, &is_new);
	CHECK(fd >= 0 && is_new && fstat(fd, &about) == 0 && (about.st_mode & 07777) == 0600);
	close(fd);
	fd = output_file_open(victim, O_RDWR, 0600, &is_new);
	CHECK(fd >= 0 && !is_new);
	close(fd);
	unlink(victim);
}

TEST(an_own_file_is_emptied_and_one_that_is_kept_is_not)
{
	int fd;

	harness_write_text(victim, "seven");
	fd = output_file_open(victim, O_RDWR, 0600, NULL);
	CHECK(fd >= 0);
	close(fd);
	check_content(victim, "seven");
	check_opened(victim);
	check_content(victim, "");
	unlink(victim);
}

TEST(an_own_link_in_an_own_folder_is_followed)
{
	char link[64];

	snprintf(link, sizeof(link), "%s/link", own_folder);
	REQUIRE(symlink(victim, link) == 0);
	check_opened(link); /* to nothing: its file is made */
	harness_write_text(victim, "seven");
	check_opened(link);
	check_content(victim, "");
	unlink(link);
	unlink(victim);
}

TEST(devices_and_descriptors_are_written)
{
	static const char *const paths[] = {"/dev/null", "/dev/stdout", "/dev/fd/1",
					    "/proc/self/fd/1"};

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		int fd = output_file_open(paths[i], O_WRONLY, 0600, NULL);

		CHECK(fd >= 0);
		close(fd);
	}
	CHECK_EQUAL(open_output("/tmp"), -EISDIR);
	CHECK_EQUAL(open_output("/tmp/there/is/no/folder"), -ENOENT);
	CHECK(strstr(error_text(), "make the folder") != NULL);
	error_clear();
}

TEST(an_earlier_cause_is_kept)
{
	error_set(-EIO, "the cause");
	check_opened(victim);
	check_opened(victim);
	CHECK_TEXT(error_text(), "the cause");
	error_clear();
	unlink(victim);
}

TEST(another_users_link_is_refused)
{
	NEEDS_ROOT();
	harness_write_text(victim, "seven");
	plant(make_link);
	check_refused(planted, "is a link of user");
	check_content(victim, "seven");
	unlink(victim);
	check_refused(planted, "is a link of user");
	CHECK(access(victim, F_OK) < 0);
	unlink(planted);
}

TEST(an_own_link_in_another_users_folder_is_refused)
{
	NEEDS_ROOT();
	REQUIRE(symlink(victim, planted) == 0);
	check_refused(planted, "is a link in a folder that another user can change");
	unlink(planted);
}

TEST(another_users_file_is_refused)
{
	NEEDS_ROOT();
	plant(make_file);
	check_refused(planted, "is a file of user");
	check_content(planted, "theirs");
	unlink(planted);
}

/* An open for writing would wait for a reader. */
TEST(another_users_pipe_is_refused)
{
	NEEDS_ROOT();
	plant(make_pipe);
	check_refused(planted, "is a pipe of user");
	unlink(planted);
}

TEST(a_second_name_of_roots_file_is_refused)
{
	NEEDS_ROOT();
	harness_write_text(victim, "seven");
	REQUIRE(link(victim, planted) == 0);
	check_refused(planted, "several names");
	check_content(victim, "seven");
	unlink(planted);
	unlink(victim);
}

TEST(an_own_file_in_another_users_folder_is_written)
{
	NEEDS_ROOT();
	check_opened(planted);
	check_opened(planted);
	unlink(planted);
}

static int open_folder(const char *path)
{
	struct output_folder folder;
	int error = output_folder_init(&folder, path);

	if (!error)
		error = output_folder_open(&folder, false);
	output_folder_fini(&folder);
	return error;
}

TEST(a_folder_of_another_user_is_refused)
{
	NEEDS_ROOT();
	CHECK_EQUAL(open_folder(own_folder), 0);
	CHECK_EQUAL(open_folder("/tmp/there/is/no/folder"), -ENOENT);
	CHECK_EQUAL(open_folder(other_folder), -EPERM);
	CHECK(strstr(error_text(), "is a folder of user") != NULL);
	plant(make_link);
	CHECK_EQUAL(open_folder(planted), -EPERM);
	CHECK(strstr(error_text(), "is a link of user") != NULL);
	error_clear();
	unlink(planted);
}

static void write_stream(struct output_folder *folder, const char *path)
{
	int error;
	FILE *file = output_folder_stream(folder, path, &error);

	CHECK(file != NULL && fputs("seven", file) > 0);
	if (file)
		fclose(file);
}

static const char *own_path(const char *name)
{
	static char paths[4][96];
	static unsigned int next;

	next = (next + 1) % 4;
	snprintf(paths[next], sizeof(paths[next]), "%s/%s", own_folder, name);
	return paths[next];
}

/* As the owner of the folder above it can at any time. */
TEST(a_folder_that_is_exchanged_is_not_written_into)
{
	struct output_folder folder;

	REQUIRE(output_folder_init(&folder, own_path("out")) == 0);
	CHECK_EQUAL(output_folder_open(&folder, true), 0);
	CHECK(folder.is_new);
	REQUIRE(rename(own_path("out"), own_path("moved")) == 0);
	REQUIRE(mkdir(own_path("aim"), 0700) == 0 &&
		symlink(own_path("aim"), own_path("out")) == 0);
	write_stream(&folder, "file");
	write_stream(&folder, "/below/it/file");
	check_content(own_path("moved/file"), "seven");
	check_content(own_path("moved/below/it/file"), "seven");
	CHECK_EQUAL(unlink(own_path("moved/file")), 0);
	CHECK_EQUAL(unlink(own_path("moved/below/it/file")), 0);
	CHECK_EQUAL(rmdir(own_path("moved/below/it")), 0);
	CHECK_EQUAL(rmdir(own_path("moved/below")), 0);
	CHECK_EQUAL(rmdir(own_path("moved")), 0);
	CHECK_EQUAL(rmdir(own_path("aim")), 0); /* with nothing in it */
	CHECK_EQUAL(unlink(own_path("out")), 0);
	output_folder_fini(&folder);
}

/* As above, between the check of a place and its use. */
TEST(a_place_in_a_folder_that_is_exchanged_stays)
{
	char path[96];
	struct output_place place;
	struct stat about;
	char *name = NULL;
	int fd = -1;

	NEEDS_ROOT();
	snprintf(path, sizeof(path), "%s/out/file", own_folder);
	REQUIRE(mkdir(own_path("out"), 0700) == 0);
	CHECK_EQUAL(output_place_open(path, &place), 0);
	CHECK(!output_place_find(&place, &about) && errno == ENOENT);
	CHECK_EQUAL(unfinished_create(place.above, place.name, &name, &fd), 0);
	REQUIRE(rename(own_path("out"), own_path("moved")) == 0);
	REQUIRE(mkdir(own_path("aim"), 0700) == 0 &&
		symlink(own_path("aim"), own_path("out")) == 0);
	CHECK_EQUAL(write(fd, "seven", 5), 5);
	CHECK_EQUAL(unfinished_finish(place.above, name, place.name), 0);
	close(fd);
	free(name);
	CHECK(output_place_find(&place, &about) && S_ISREG(about.st_mode));
	CHECK(output_place_is_replaceable(&place, &about));
	output_place_close(&place);
	check_content(own_path("moved/file"), "seven");
	CHECK_EQUAL(unlink(own_path("moved/file")), 0);
	CHECK_EQUAL(rmdir(own_path("moved")), 0);
	CHECK_EQUAL(rmdir(own_path("aim")), 0); /* with nothing in it */
	CHECK_EQUAL(unlink(own_path("out")), 0);
}

TEST(no_path_leads_out_of_a_folder)
{
	struct output_folder folder;
	int error;

	REQUIRE(output_folder_init(&folder, own_path("out///")) == 0);
	CHECK(!output_folder_stream(&folder, "../file", &error) && error == -EINVAL);
	CHECK(!output_folder_stream(&folder, "below/../../file", &error) && error == -EINVAL);
	CHECK(!output_folder_stream(&folder, "below/..", &error) && error == -EINVAL);
	error_clear();
	CHECK_EQUAL(rmdir(own_path("out/below")), 0);
	CHECK_EQUAL(rmdir(own_path("out")), 0);
	output_folder_fini(&folder);
}

TEST(a_link_below_a_folder_is_not_followed_by_root)
{
	struct output_folder folder;
	int error;

	NEEDS_ROOT();
	REQUIRE(mkdir(own_path("out"), 0777) == 0 && chmod(own_path("out"), 0777) == 0);
	REQUIRE(mkdir(own_path("aim"), 0700) == 0);
	REQUIRE(symlink(own_path("aim"), own_path("out/below")) == 0);
	REQUIRE(output_folder_init(&folder, own_path("out")) == 0);
	CHECK(!output_folder_stream(&folder, "below/file", &error) && error == -EPERM);
	error_clear();
	CHECK_EQUAL(rmdir(own_path("aim")), 0); /* with nothing in it */
	CHECK_EQUAL(unlink(own_path("out/below")), 0);
	CHECK_EQUAL(rmdir(own_path("out")), 0);
	output_folder_fini(&folder);
}

TEST(an_ordinary_user_follows_links)
{
	pid_t pid;
	int status;

	NEEDS_ROOT();
	pid = fork();
	if (pid == 0) {
		if (setuid(OTHER))
			_exit(1);
		snprintf(victim, sizeof(victim), "%s/target", other_folder);
		make_link();
		check_opened(planted);
		harness_write_text(victim, "seven");
		check_opened(planted);
		check_content(victim, "");
		unlink(victim);
		unlink(planted);
		_exit(harness_failed);
	}
	waitpid(pid, &status, 0);
	CHECK_EQUAL(status, 0);
}

int main(void)
{
	if (!mkdtemp(own_folder) || !mkdtemp(other_folder) || chmod(own_folder, 0755) ||
	    (is_root() && chown(other_folder, OTHER, OTHER)))
		return 1;
	snprintf(victim, sizeof(victim), "%s/victim", own_folder);
	snprintf(planted, sizeof(planted), "%s/output", other_folder);
	RUN(a_new_file_has_the_mode);
	RUN(an_own_file_is_emptied_and_one_that_is_kept_is_not);
	RUN(an_own_link_in_an_own_folder_is_followed);
	RUN(devices_and_descriptors_are_written);
	RUN(an_earlier_cause_is_kept);
	RUN(another_users_link_is_refused);
	RUN(an_own_link_in_another_users_folder_is_refused);
	RUN(another_users_file_is_refused);
	RUN(another_users_pipe_is_refused);
	RUN(a_second_name_of_roots_file_is_refused);
	RUN(an_own_file_in_another_users_folder_is_written);
	RUN(a_folder_of_another_user_is_refused);
	RUN(a_folder_that_is_exchanged_is_not_written_into);
	RUN(a_place_in_a_folder_that_is_exchanged_stays);
	RUN(no_path_leads_out_of_a_folder);
	RUN(a_link_below_a_folder_is_not_followed_by_root);
	RUN(an_ordinary_user_follows_links);
	rmdir(own_folder);
	rmdir(other_folder);
	return harness_end();
}
