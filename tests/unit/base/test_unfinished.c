/* SPDX-License-Identifier: MIT
 *
 * tests/unit/base/test_unfinished.c - what is watched goes with a signal, what is finished or
 * forgotten stays
 */
#include "base/file/unfinished.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

static char folder[] = "/tmp/unfinished.XXXXXX";

static const char *path_of(const char *name)
{
	static char path[4][128];
	static unsigned int next;

	next = (next + 1) % 4;
	snprintf(path[next], sizeof(path[next]), "%s/%s", folder, name);
	return path[next];
}

static bool is_there(const char *name)
{
	return access(path_of(name), F_OK) == 0;
}

/* What a child does before it gets a signal that ends it; returns the signal that did. */
static int end_child(void (*work)(void), int number)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		unfinished_catch_signals();
		work();
		kill(getpid(), number);
		_exit(0);
	}
	CHECK_EQUAL(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void create_one(void)
{
	char *name;
	int fd;

	if (unfinished_create(AT_FDCWD, path_of("one"), &name, &fd) || access(name, F_OK))
		_exit(9);
}

static void finish_one(void)
{
	char *name;
	int fd;

	if (unfinished_create(AT_FDCWD, path_of("one"), &name, &fd) ||
	    unfinished_finish(AT_FDCWD, name, path_of("one")))
		_exit(9);
}

static int above, deep;

static void watch_folder(void)
{
	if (mkdir(path_of("deep"), 0700) || mkdir(path_of("deep/inner"), 0700))
		_exit(9);
	above = open(folder, O_PATH | O_CLOEXEC);
	deep = open(path_of("deep"), O_RDONLY | O_CLOEXEC);
	if (above < 0 || deep < 0 || unfinished_watch_folder(deep, above, "deep"))
		_exit(9);
	for (int i = 0; i < 300; i++) {
		char name[64];

		snprintf(name, sizeof(name), "deep/%sfile-with-a-name-%d", i % 2 ? "inner/" : "",
			 i);
		harness_write_text(path_of(name), "");
	}
	if (symlink(path_of("kept"), path_of("deep/link")))
		_exit(9);
}

static void forget_folder(void)
{
	watch_folder();
	unfinished_forget_folder(deep, above, "deep");
}

/* As the owner of the folder above it can at any time. */
static void exchange_folder(void)
{
	watch_folder();
	if (rename(path_of("deep"), path_of("moved")) || mkdir(path_of("deep"), 0700))
		_exit(9);
	harness_write_text(path_of("deep/other"), "");
}

static bool is_empty(void)
{
	return rmdir(folder) == 0 && mkdir(folder, 0700) == 0;
}

TEST(a_signal_removes_a_file)
{
	/* nohup ignores it for the whole process tree */
	signal(SIGHUP, SIG_DFL);
	CHECK_EQUAL(end_child(create_one, SIGTERM), SIGTERM);
	CHECK_EQUAL(end_child(create_one, SIGINT), SIGINT);
	CHECK_EQUAL(end_child(create_one, SIGHUP), SIGHUP);
	CHECK(is_empty());
}

TEST(a_finished_file_stays)
{
	CHECK_EQUAL(end_child(finish_one, SIGTERM), SIGTERM);
	CHECK(is_there("one"));
	CHECK_EQUAL(unlink(path_of("one")), 0);
	CHECK(is_empty());
}

TEST(a_file_that_fails_goes)
{
	char *name;
	int fd;

	CHECK_EQUAL(unfinished_create(AT_FDCWD, path_of("two"), &name, &fd), 0);
	close(fd);
	CHECK_EQUAL(unfinished_finish(AT_FDCWD, name, path_of("no/such/folder")), -ENOENT);
	free(name);
	CHECK_EQUAL(unfinished_create(AT_FDCWD, path_of("no/such/folder"), &name, &fd), -ENOENT);
	CHECK(is_empty());
}

TEST(a_signal_removes_a_folder_and_follows_no_link)
{
	harness_write_text(path_of("kept"), "");
	CHECK_EQUAL(end_child(watch_folder, SIGTERM), SIGTERM);
	CHECK(!is_there("deep"));
	CHECK(is_there("kept"));
	CHECK_EQUAL(end_child(forget_folder, SIGTERM), SIGTERM);
	CHECK(is_there("deep/inner/file-with-a-name-1"));
	deep = open(path_of("deep"), O_RDONLY | O_CLOEXEC);
	unfinished_remove_folder(deep, AT_FDCWD, path_of("deep"));
	close(deep);
	CHECK_EQUAL(unlink(path_of("kept")), 0);
	CHECK(is_empty());
}

TEST(a_folder_that_took_the_name_stays)
{
	CHECK_EQUAL(end_child(exchange_folder, SIGTERM), SIGTERM);
	CHECK(is_there("deep/other"));
	CHECK_EQUAL(rmdir(path_of("moved")), 0);
	CHECK_EQUAL(unlink(path_of("deep/other")), 0);
	CHECK_EQUAL(rmdir(path_of("deep")), 0);
	CHECK(is_empty());
}

TEST(ignored_signals_stay_ignored)
{
	signal(SIGHUP, SIG_IGN);
	CHECK_EQUAL(end_child(finish_one, SIGHUP), 0);
	signal(SIGHUP, SIG_DFL);
	CHECK_EQUAL(unlink(path_of("one")), 0);
}

TEST(the_table_is_full)
{
	CHECK_EQUAL(unfinished_watch(AT_FDCWD, "/1"), 0);
	CHECK_EQUAL(unfinished_watch(AT_FDCWD, "/2"), 0);
	CHECK_EQUAL(unfinished_watch(AT_FDCWD, "/3"), 0);
	CHECK_EQUAL(unfinished_watch(AT_FDCWD, "/4"), 0);
	CHECK_EQUAL(unfinished_watch(AT_FDCWD, "/5"), -ENOSPC);
	unfinished_forget(AT_FDCWD, "/2");
	CHECK_EQUAL(unfinished_watch(AT_FDCWD, "/5"), 0);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(a_signal_removes_a_file);
	RUN(a_finished_file_stays);
	RUN(a_file_that_fails_goes);
	RUN(a_signal_removes_a_folder_and_follows_no_link);
	RUN(a_folder_that_took_the_name_stays);
	RUN(ignored_signals_stay_ignored);
	RUN(the_table_is_full);
	rmdir(folder);
	return harness_end();
}
