/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_family.c - who belongs to a family, with real processes
 */
#include "harness.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/family.h"

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

static struct family_member *find(const struct family *family, pid_t pid)
{
	return hash_map_find_pointer(&family->members, (uint64_t)pid);
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
	struct family family = {0};
	pid_t parent, child, stranger;

	REQUIRE(pipe(orders) == 0 && pipe(answers) == 0);
	parent = start_parent(orders, answers, false);
	REQUIRE(family_init(&family) == 0);
	REQUIRE(family_add(&family, (uint32_t)parent, -1, true) == 0);
	tell(orders[1], 1);
	child = told(answers[0]);
	stranger = fork();
	if (stranger == 0) {
		pause();
		_exit(0);
	}
	family_look(&family);
	CHECK(find(&family, parent) != NULL && find(&family, child) != NULL);
	CHECK(find(&family, stranger) == NULL && find(&family, getpid()) == NULL);
	CHECK_EQUAL((int)family.members.count, 2);
	kill(child, SIGKILL);
	stop(parent);
	stop(stranger);
	for (int i = 0; i < 200 && kill(child, 0) == 0; i++)
		usleep(10000);
	family_look(&family);
	REQUIRE(find(&family, parent) != NULL);
	CHECK(!find(&family, parent)->is_there && !find(&family, child)->is_there);
	family_forget(&family);
	CHECK_EQUAL((int)family.members.count, 0);
	family_fini(&family);
	CHECK_EQUAL(family_add(&family, (uint32_t)parent, -1, false), -ESRCH);
	family_fini(&family);
	family_fini(NULL);
}

/* Its parent ended before anybody looked, and it has a session of its own: the variable tells. */
TEST(who_lost_its_parent_is_known_by_its_variable)
{
	int orders[2], answers[2];
	struct family family = {0}, other = {0};
	char variable[8192];
	pid_t parent, child;

	REQUIRE(pipe(orders) == 0 && pipe(answers) == 0);
	/* a process has the environment of its exec: here that of all tests */
	REQUIRE(getenv("PATH") != NULL);
	parent = start_parent(orders, answers, true);
	REQUIRE(family_init(&family) == 0 && family_init(&other) == 0);
	snprintf(variable, sizeof(variable), "PATH=%s", getenv("PATH"));
	family.environment = variable;
	other.environment = "FAMILY_TEST=nobody has it";
	tell(orders[1], 1);
	child = told(answers[0]);
	waitpid(parent, NULL, 0);
	family_look(&family);
	family_look(&other);
	CHECK(find(&family, child) != NULL);
	CHECK_EQUAL((int)other.members.count, 0);
	kill(child, SIGKILL);
	family_fini(&family);
	family_fini(&other);
}

/* A parent that was seen is remembered. */
TEST(who_lost_a_parent_that_was_seen_is_known_by_its_session)
{
	struct family family = {0};
	int orders[2], answers[2];
	pid_t leader, child;

	REQUIRE(pipe(orders) == 0 && pipe(answers) == 0);
	REQUIRE(family_init(&family) == 0);
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
	REQUIRE(family_add(&family, (uint32_t)leader, -1, false) == 0);
	tell(orders[1], 1);
	child = told(answers[0]);
	waitpid(leader, NULL, 0);
	family_look(&family);
	CHECK(find(&family, child) != NULL);
	family_forget(&family);
	CHECK(find(&family, leader) == NULL && find(&family, child) != NULL);
	kill(child, SIGKILL);
	family_fini(&family);
}

TEST(an_exec_is_seen_once)
{
	struct family family = {0};
	int orders[2];
	pid_t pid;

	REQUIRE(pipe(orders) == 0);
	REQUIRE(family_init(&family) == 0);
	pid = fork();
	if (pid == 0) {
		told(orders[0]);
		execlp("sleep", "sleep", "20", (char *)NULL);
		_exit(1);
	}
	REQUIRE(family_add(&family, (uint32_t)pid, -1, false) == 0);
	family_look(&family);
	REQUIRE(find(&family, pid) != NULL);
	CHECK(find(&family, pid)->is_there && !find(&family, pid)->has_changed);
	tell(orders[1], 1);
	for (int i = 0; i < 200 && !find(&family, pid)->has_changed; i++) {
		usleep(10000);
		family_look(&family);
	}
	CHECK(find(&family, pid)->has_changed);
	family_look(&family);
	CHECK(find(&family, pid)->is_there && !find(&family, pid)->has_changed);
	stop(pid);
	family_fini(&family);
}

int main(void)
{
	RUN(children_belong_to_it_and_strangers_do_not);
	RUN(who_lost_its_parent_is_known_by_its_variable);
	RUN(who_lost_a_parent_that_was_seen_is_known_by_its_session);
	RUN(an_exec_is_seen_once);
	return harness_end();
}
