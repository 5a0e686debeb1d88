/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_target_identity.c - a process that became another one is found, and
 * nothing is written into it
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/proc.h"
#include "collect/enter/target_identity.h"

enum { OTHER = 65534 };

struct child {
	pid_t pid;
	int in, out;
};

static volatile uint64_t word = 7; /* at one address in this process and in a child of fork */

static void say(char letter)
{
	if (write(1, &letter, 1) != 1)
		_exit(9);
}

/* Obeys letters: e: executes this program again; u: another effective user; g: another saved group;
 * w: whether word is 8. */
static int obey(void)
{
	char letter;

	say('r');
	while (read(0, &letter, 1) == 1) {
		if (letter == 'e')
			execl("/proc/self/exe", "again", "obey", NULL);
		if ((letter == 'u' && setresuid((uid_t)-1, OTHER, (uid_t)-1)) ||
		    (letter == 'g' && setresgid((gid_t)-1, (gid_t)-1, OTHER)))
			return 9;
		say(letter == 'w' && word == 8 ? 'y' : 'n');
	}
	return 0;
}

static char tell(const struct child *child, char letter)
{
	char answer = '?';

	if (letter && write(child->in, &letter, 1) != 1)
		return '?';
	return read(child->out, &answer, 1) == 1 ? answer : '?';
}

static void start(struct child *child)
{
	int in[2], out[2];

	*child = (struct child){0};
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		abort();
	child->pid = fork();
	if (child->pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]); /* or it never sees the end of its input */
		close(out[0]);
		_exit(obey());
	}
	close(in[0]);
	close(out[1]);
	child->in = in[1];
	child->out = out[0];
	CHECK_EQUAL(tell(child, 0), 'r');
}

static void end(struct child *child)
{
	int status;

	close(child->in);
	waitpid(child->pid, &status, 0);
	CHECK_EQUAL(status, 0);
	close(child->out);
}

static void begin(struct child *child, struct target_identity *identity)
{
	struct target_ids ids;

	start(child);
	CHECK_EQUAL(target_identity_open(child->pid, identity, &ids), 0);
	CHECK_EQUAL(target_identity_check(identity, child->pid), 0);
	CHECK_EQUAL(ids.user[0], geteuid());
}

TEST(the_same_image_is_read_and_written)
{
	const uint64_t eight = 8;
	struct target_identity identity;
	struct child child;
	uint64_t got = 0;

	begin(&child, &identity);
	CHECK_EQUAL(target_identity_read(&identity, (uintptr_t)&word, &got, sizeof(got)), 0);
	CHECK_EQUAL(got, 7);
	CHECK_EQUAL(tell(&child, 'w'), 'n');
	CHECK_EQUAL(target_identity_write(&identity, (uintptr_t)&word, &eight, sizeof(eight)), 0);
	CHECK_EQUAL(tell(&child, 'w'), 'y');
	CHECK_EQUAL(target_identity_check(&identity, child.pid), 0);
	target_identity_close(&identity);
	end(&child);
}

/* Executable, user, start time and number are the same. */
TEST(the_same_program_again_is_another_image)
{
	struct target_identity identity;
	const uint64_t eight = 8;
	struct child child;
	uint64_t got = 0;

	begin(&child, &identity);
	CHECK_EQUAL(tell(&child, 'e'), 'r');
	CHECK_EQUAL(proc_start_ticks((uint32_t)child.pid), identity.start_ticks);
	CHECK_EQUAL(target_identity_check(&identity, child.pid), -ESTALE);
	CHECK_EQUAL(target_identity_read(&identity, (uintptr_t)&word, &got, sizeof(got)), -ESTALE);
	CHECK_EQUAL(target_identity_write(&identity, (uintptr_t)&word, &eight, sizeof(eight)),
		    -ESTALE);
	CHECK_EQUAL(tell(&child, 'w'), 'n');
	target_identity_close(&identity);
	end(&child);
}

TEST(a_process_that_has_ended)
{
	struct target_identity identity;
	struct target_ids ids;
	struct child child;

	begin(&child, &identity);
	end(&child);
	CHECK_EQUAL(target_identity_check(&identity, child.pid), -ESTALE);
	target_identity_signal(&identity, SIGSTOP);
	target_identity_close(&identity);
	CHECK(target_identity_open(child.pid, &identity, &ids) < 0);
	target_identity_close(&identity);
}

static void change(char letter)
{
	struct target_identity identity;
	struct target_ids ids;
	struct child child;

	begin(&child, &identity);
	CHECK_EQUAL(tell(&child, letter), 'n');
	CHECK_EQUAL(target_identity_check(&identity, child.pid), -ESTALE);
	target_identity_close(&identity);
	CHECK_EQUAL(target_identity_open(child.pid, &identity, &ids), -EXDEV);
	CHECK_EQUAL(letter == 'u' ? ids.user[1] : ids.group[2], OTHER);
	target_identity_close(&identity);
	end(&child);
}

TEST(another_effective_user)
{
	if (geteuid() != 0)
		SKIP("needs root to be another user");
	change('u');
}

TEST(another_saved_group)
{
	if (geteuid() != 0)
		SKIP("needs root to be another user");
	change('g');
}

/* What is mapped where the C library's text was. */
TEST(another_mapping_of_the_library)
{
	struct target_identity identity, *known = &identity;
	const struct proc_mapping *text;
	struct proc_mapping *library;
	struct proc_maps maps;
	struct child child;

	begin(&child, &identity);
	REQUIRE(proc_maps_read(child.pid, &maps) == 0);
	text = proc_maps_find(&maps, (uintptr_t)obey);
	REQUIRE(text);
	target_identity_set_library(&identity, text);
	CHECK_EQUAL(target_identity_check_library(&identity), 0);
	library = &known->library;
	library->inode++;
	CHECK_EQUAL(target_identity_check_library(&identity), -ESTALE);
	library->inode--;
	library->start -= 4096;
	CHECK_EQUAL(target_identity_check_library(&identity), -ESTALE);
	proc_maps_fini(&maps);
	target_identity_close(&identity);
	end(&child);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "obey") == 0)
		return obey();
	RUN(the_same_image_is_read_and_written);
	RUN(the_same_program_again_is_another_image);
	RUN(a_process_that_has_ended);
	RUN(another_effective_user);
	RUN(another_saved_group);
	RUN(another_mapping_of_the_library);
	return harness_end();
}
