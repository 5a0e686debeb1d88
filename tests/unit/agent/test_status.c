/* SPDX-License-Identifier: MIT
 *
 * tests/unit/agent/test_status.c - the file that an agent's processes map
 */
#include "agent/status.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "harness.h"

static char folder[] = "/tmp/status.XXXXXX";

TEST(read_while_it_runs)
{
	struct agent_status *status = NULL, copy;
	bool is_running = false;
	int fd = -1;

	REQUIRE(agent_status_create(folder, NULL, &status, &fd) == 0);
	status->pid = 42;
	agent_errors_add(&status->errors, "one\x1b[31m");
	REQUIRE(agent_status_read(folder, &copy, &is_running) == 0);
	CHECK(is_running);
	CHECK_EQUAL(copy.pid, 42);
	CHECK_TEXT(copy.errors.all[0].text, "one?[31m");
	agent_status_remove(folder, status, fd);
	CHECK_EQUAL(agent_status_read(folder, &copy, &is_running), -ENOENT);
	error_clear();
}

TEST(killed_agent_does_not_run)
{
	struct agent_status *status = NULL, copy;
	bool is_running = true;
	int fd = -1;
	pid_t pid = fork();

	if (!pid) {
		if (agent_status_create(folder, NULL, &status, &fd) == 0)
			status->pid = 43;
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	REQUIRE(agent_status_read(folder, &copy, &is_running) == 0);
	CHECK(!is_running);
	CHECK_EQUAL(copy.pid, 43);
}

TEST(file_that_is_removed_meanwhile_is_made_anew)
{
	struct agent_status *status = NULL, copy;
	bool is_running = false;
	int fd = -1, pair[2];
	char byte;
	pid_t pid;

	REQUIRE(pipe(pair) == 0);
	pid = fork();
	if (!pid) {
		if (agent_status_create(folder, NULL, &status, &fd) || write(pair[1], "x", 1) != 1)
			_exit(1);
		usleep(300000);
		agent_status_remove(folder, status, fd);
		_exit(0);
	}
	REQUIRE(read(pair[0], &byte, 1) == 1);
	REQUIRE(agent_status_create(folder, NULL, &status, &fd) == 0);
	waitpid(pid, NULL, 0);
	status->pid = 44;
	REQUIRE(agent_status_read(folder, &copy, &is_running) == 0);
	CHECK(is_running);
	CHECK_EQUAL(copy.pid, 44);
	agent_status_remove(folder, status, fd);
	close(pair[0]);
	close(pair[1]);
}

TEST(other_versions_are_refused)
{
	struct agent_status *status = NULL, copy;
	bool is_running;
	int fd = -1;

	REQUIRE(agent_status_create(folder, NULL, &status, &fd) == 0);
	status->version++;
	CHECK_EQUAL(agent_status_read(folder, &copy, &is_running), -EPROTO);
	error_clear();
	agent_status_remove(folder, status, fd);
}

TEST(newest_errors_stay)
{
	static struct agent_errors errors;
	char text[16];

	for (int i = 0; i < 20; i++) {
		snprintf(text, sizeof(text), "error %d", i);
		agent_errors_add(&errors, text);
	}
	CHECK_EQUAL(errors.count, 20);
	CHECK_TEXT(errors.all[19 % AGENT_ERRORS].text, "error 19");
	CHECK_TEXT(errors.all[12 % AGENT_ERRORS].text, "error 12");
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(read_while_it_runs);
	RUN(killed_agent_does_not_run);
	RUN(file_that_is_removed_meanwhile_is_made_anew);
	RUN(other_versions_are_refused);
	RUN(newest_errors_stay);
	rmdir(folder);
	return harness_end();
}
