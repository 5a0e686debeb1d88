/* SPDX-License-Identifier: MIT
 *
 * tests/unit/symbol/test_remote_memory.c - memory of a process, here this one's, of which parts are
 * not there
 */
#include "harness.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbol/remote/memory.h"
#include "unattended.h"

enum { PAGE = 4096, PAGES = 1500 };

static uint8_t *pages;
static bool is_by_file; /* as where the kernel does not say of many pages at once */

static struct remote_memory memory_of(pid_t pid)
{
	struct remote_memory memory;

	remote_memory_init(&memory, (uint32_t)pid);
	memory.is_by_file = is_by_file;
	return memory;
}

static struct remote_piece piece_at(size_t page, size_t offset, size_t size)
{
	return (struct remote_piece){(uintptr_t)pages + page * PAGE + offset, size};
}

/* All are touched but one. */
static bool make_pages(size_t untouched)
{
	pages = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || madvise(pages, (size_t)PAGES * PAGE, MADV_NOHUGEPAGE))
		return false;
	for (size_t i = 0; i < PAGES; i++)
		if (i != untouched)
			memset(pages + i * PAGE, (int)(i % 251), PAGE);
	return true;
}

static void check_pieces(void)
{
	struct remote_memory memory = memory_of(getpid());
	struct remote_piece pieces[] = {piece_at(3, 100, 8), piece_at(900, 4090, 12),
					piece_at(3, 200, 8), piece_at(0, 0, 0)};
	static uint8_t bytes[PAGES * PAGE];
	uint64_t word = 0;

	CHECK_EQUAL(remote_memory_gather(&memory, pieces, 4, bytes), 28);
	CHECK(bytes[0] == 3 && bytes[8] == 900 % 251 && bytes[19] == 901 % 251 && bytes[20] == 3);
	CHECK_EQUAL(remote_memory_read(&memory, pieces[0].address, &word, sizeof(word)), 0);
	CHECK_EQUAL(word, UINT64_C(0x0303030303030303));
	/* more than one question, and one call, may be about */
	CHECK_EQUAL(remote_memory_read(&memory, (uintptr_t)pages, bytes, 1000 * PAGE), 0);
	CHECK_EQUAL(bytes[999 * PAGE + 5], 999 % 251);
	/* nothing is mapped there, and nothing can be */
	CHECK_EQUAL(remote_memory_read(&memory, 8, &word, sizeof(word)), -EFAULT);
	CHECK_EQUAL(remote_memory_read(&memory, UINT64_MAX - 16, &word, sizeof(word)), -EFAULT);
	CHECK_EQUAL(remote_memory_read(&memory, UINT64_C(1) << 62, &word, sizeof(word)), -EFAULT);
	remote_memory_fini(&memory);
}

/* What comes before a page that is not there is read, and that page is not brought. */
static void check_absent(void)
{
	enum { ABSENT = 1200 };
	struct remote_memory memory = memory_of(getpid());
	struct remote_piece pieces[PAGES];
	static uint8_t bytes[PAGES * 8];
	uint64_t word;

	for (size_t i = 0; i < PAGES; i++)
		pieces[i] = piece_at(i, 16, 8);
	CHECK_EQUAL(remote_memory_gather(&memory, pieces, PAGES, bytes), ABSENT * 8);
	CHECK_EQUAL(bytes[(ABSENT - 1) * 8], (ABSENT - 1) % 251);
	pieces[0] = piece_at(ABSENT - 1, 4092, 8); /* of which half is there */
	CHECK_EQUAL(remote_memory_gather(&memory, pieces, 1, bytes), 0);
	CHECK_EQUAL(remote_memory_read(&memory, pieces[ABSENT].address, &word, sizeof(word)),
		    -EFAULT);
	pages[ABSENT * PAGE] = 1;
	CHECK_EQUAL(remote_memory_read(&memory, pieces[ABSENT].address, &word, sizeof(word)), 0);
	remote_memory_fini(&memory);
}

static void check_unattended(void)
{
	struct remote_memory memory = memory_of(getpid());
	uint8_t *absent;
	uint64_t word;
	int fd = unattended_pages(2 * PAGE, &absent);

	if (fd < 0)
		SKIP("no right to a userfaultfd");
	alarm(20);
	for (int i = 0; i < 3; i++)
		CHECK_EQUAL(
			remote_memory_read(&memory, (uintptr_t)absent + 5000, &word, sizeof(word)),
			-EFAULT);
	alarm(0);
	unattended_end(fd, absent, 2 * PAGE);
	remote_memory_fini(&memory);
}

static void check_ended(void)
{
	struct remote_memory memory;
	uint64_t word;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	memory = memory_of(pid);
	waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT);
	CHECK_EQUAL(remote_memory_read(&memory, (uintptr_t)pages, &word, sizeof(word)), -ESRCH);
	waitpid(pid, NULL, 0);
	CHECK_EQUAL(remote_memory_read(&memory, (uintptr_t)pages, &word, sizeof(word)), -ESRCH);
	remote_memory_fini(&memory);
}

static void both(void (*check)(void), size_t untouched)
{
	for (int i = 0; i < 2 && !harness_skip_reason; i++) {
		is_by_file = i;
		REQUIRE(make_pages(untouched));
		check();
		munmap(pages, (size_t)PAGES * PAGE);
	}
}

TEST(pieces)
{
	both(check_pieces, PAGES);
}

TEST(a_page_that_is_not_there)
{
	both(check_absent, 1200);
}

TEST(a_page_that_nobody_brings)
{
	both(check_unattended, PAGES);
}

TEST(a_process_that_has_ended)
{
	both(check_ended, PAGES);
}

/* In a child, which keeps the filter. */
TEST(a_kernel_that_says_nothing_of_many_pages)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_move_pages, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		is_by_file = false;
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) || !make_pages(1200))
			_exit(2);
		check_absent();
		_exit(harness_failed);
	}
	REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK_EQUAL(status, 0);
}

int main(void)
{
	RUN(pieces);
	RUN(a_page_that_is_not_there);
	RUN(a_page_that_nobody_brings);
	RUN(a_process_that_has_ended);
	RUN(a_kernel_that_says_nothing_of_many_pages);
	return harness_end();
}
