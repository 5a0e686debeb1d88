/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_process_tree.c - who belongs to a family, with real processes
 */
#include "harness.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/start/process_tree.h"

static pid_t told(int fd)
{
	pid_t pid = 0;

	return read(fd, &pid, sizeof(pid)) == (ssize_t)sizeof(pid) ? pid : 0;
}

static void tell(int fd, pid_t pid)
{
	if (write(fd, &pid, sizeof(pid)) != (ssize_t)sizeof(pid))
		_exit(1);
}

static struct tree_process *find(const struct process_tree *process_tree, pid_t pid)
{
	return hash_map_find_pointer(&process_tree->members, (uint64_t)pid);
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A child that, when it is told to, starts one of its own, says its number, and ends or waits. */
static pid_t start_parent(const int *orders, const int *answers, bool ends)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	told(orders[0]);
	pid = fork();
	if (pid == 0) {
		if (ends)
			setsid();
		pause();
		_exit(0);
	}
	tell(answers[1], pid);
	if (!ends)
		pause();
	_exit(0);
}

TEST(children_belong_to_it_and_strangers_do_not)
{
	int orders[2], answers[2];
	struct process_tree process_tree = {0};
	pid_t parent, child, stranger;

	REQUIRE(pipe(orders) == 0 && pipe(answers) == 0);
	parent = start_parent(orders, answers, false);
	REQUIRE(process_tree_init(&process_tree) == 0);
	REQUIRE(process_tree_add(&process_tree, (uint32_t)parent, -1, true) == 0);
	tell(orders[1], 1);
	child = told(answers[0]);
	stranger = fork();
	if (stranger == 0) {
		pause();
		_exit(0);
	}
	process_tree_look(&process_tree);
	CHECK(find(&process_tree, parent) != NULL && find(&process_tree, child) != NULL);
	CHECK(find(&process_tree, stranger) == NULL && find(&process_tree, getpid()) == NULL);
	CHECK_EQUAL((int)process_tree.members.count, 2);
	kill(child, SIGKILL);
	stop(parent);
	stop(stranger);
	for (int i = 0; i < 200 && kill(child, 0) == 0; i++)
		usleep(10000);
	process_tree_look(&process_tree);
	REQUIRE(find(&process_tree, parent) != NULL);
	CHECK(!find(&process_tree, parent)->is_there && !find(&process_tree, child)->is_there);
	process_tree_forget(&process_tree);
	CHECK_EQUAL((int)process_tree.members.count, 0);
	process_tree_fini(&process_tree);
	CHECK_EQUAL(process_tree_add(&process_tree, (uint32_t)parent, -1, false), -ESRCH);
	process_tree_fini(&process_tree);
	process_tree_fini(NULL);
}

/* Its parent ended before anybody looked, and it has a session of its own: the variable tells. */
TEST(who_lost_its_parent_is_known_by_its_variable)
{
	int orders[2], answers[2];
	struct process_tree process_tree = {0}, other = {0};
	char variable[8192];
	pid_t parent, child;

	REQUIRE(pipe(orders) == 0 && pipe(answers) == 0);
	/* a process has the environment of its exec: here that of all tests */
	REQUIRE(getenv("PATH") != NULL);
	parent = start_parent(orders, answers, true);
	REQUIRE(process_tree_init(&process_tree) == 0 && process_tree_init(&other) == 0);
	snprintf(variable, sizeof(variable), "PATH=%s", getenv("PATH"));
	process_tree.environment = variable;
	other.environment = "FAMILY_TEST=nobody has it";
	tell(orders[1], 1);
	child = told(answers[0]);
	waitpid(parent, NULL, 0);
	process_tree_look(&process_tree);
	process_tree_look(&other);
	CHECK(find(&process_tree, child) != NULL);
	CHECK_EQUAL((int)other.members.count, 0);
	kill(child, SIGKILL);
	process_tree_fini(&process_tree);
	process_tree_fini(&other);
}

/* A parent that was seen is remembered. */
TEST(who_lost_a_parent_that_was_seen_is_known_by_its_session)
{
	struct process_tree process_tree = {0};
	int orders[2], answers[2];
	pid_t leader, child;

	REQUIRE(pipe(orders) == 0 && pipe(answers) == 0);
	REQUIRE(process_tree_init(&process_tree) == 0);
	leader = fork();
	if (leader == 0) {
		setsid();
		told(orders[0]);
		child = fork();
		if (child == 0) {
			pause();
			_exit(0);
		}
		tell(answers[1], child);
		_exit(0);
	}
	REQUIRE(process_tree_add(&process_tree, (uint32_t)leader, -1, false) == 0);
	tell(orders[1], 1);
	child = told(answers[0]);
	waitpid(leader, NULL, 0);
	process_tree_look(&process_tree);
	CHECK(find(&process_tree, child) != NULL);
	process_tree_forget(&process_tree);
	CHECK(find(&process_tree, leader) == NULL && find(&process_tree, child) != NULL);
	kill(child, SIGKILL);
	process_tree_fini(&process_tree);
}

TEST(an_exec_is_seen_once)
{
	struct process_tree process_tree = {0};
	int orders[2];
	pid_t pid;

	REQUIRE(pipe(orders) == 0);
	REQUIRE(process_tree_init(&process_tree) == 0);
	pid = fork();
	if (pid == 0) {
		told(orders[0]);
		execlp("sleep", "sleep", "20", (char *)NULL);
		_exit(1);
	}
	REQUIRE(process_tree_add(&process_tree, (uint32_t)pid, -1, false) == 0);
	process_tree_look(&process_tree);
	REQUIRE(find(&process_tree, pid) != NULL);
	CHECK(find(&process_tree, pid)->is_there && !find(&process_tree, pid)->has_changed);
	tell(orders[1], 1);
	for (int i = 0; i < 200 && !find(&process_tree, pid)->has_changed; i++) {
		usleep(10000);
		process_tree_look(&process_tree);
	}
	CHECK(find(&process_tree, pid)->has_changed);
	process_tree_look(&process_tree);
	CHECK(find(&process_tree, pid)->is_there && !find(&process_tree, pid)->has_changed);
	stop(pid);
	process_tree_fini(&process_tree);
}

int main(void)
{
	RUN(children_belong_to_it_and_strangers_do_not);
	RUN(who_lost_its_parent_is_known_by_its_variable);
	RUN(who_lost_a_parent_that_was_seen_is_known_by_its_session);
	RUN(an_exec_is_seen_once);
	return harness_end();
}
