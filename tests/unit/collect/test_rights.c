/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_rights.c - what is said where rights are missing, and whether looks at
 * threads work
 */
#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "collect/cpu/blocked.h"
#include "collect/cpu/perf_rights.h"
#include "collect/start/rights.h"
#include "harness.h"

TEST(commands)
{
	char text[PATH_MAX + 200], own[PATH_MAX] = "";

	perf_rights_sysctl(2, text, sizeof(text));
	CHECK_TEXT(text, "sudo sysctl kernel.perf_event_paranoid=2");
	perf_rights_text(1, text, sizeof(text));
	CHECK(strstr(text, "'sudo sysctl kernel.perf_event_paranoid=1'"));
	REQUIRE(readlink("/proc/self/exe", own, sizeof(own) - 1) > 0);
	CHECK(strstr(text, "'sudo setcap cap_perfmon,cap_syslog+ep /"));
	CHECK(strstr(text, own));
}

/* Whether the reason contains the words in a child that has dropped its rights. */
static bool gives_reason(const char *words)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		const char *why;

		rights_keep_none();
		why = rights_why_root_is_refused();
		_exit(!why || !strstr(why, words));
	}
	waitpid(pid, &status, 0);
	return status == 0;
}

TEST(why_root_is_refused)
{
	if (geteuid() != 0) {
		CHECK(!rights_why_root_is_refused());
		SKIP("needs root");
	}
	CHECK(gives_reason("this root lacks cap_sys_ptrace"));
	CHECK(!strstr(rights_why_root_is_refused(), "sudo"));
}

TEST(further_rights)
{
	char text[PATH_MAX + 200];

	rights_setcap_text(RIGHTS_BPF, text, sizeof(text));
	CHECK(strstr(text, "give duet alone the right: 'sudo setcap "
			   "cap_perfmon,cap_syslog,cap_bpf+ep /"));
	rights_setcap_text(RIGHTS_BPF | RIGHTS_LOOKS, text, sizeof(text));
	CHECK(strstr(text, "cap_perfmon,cap_syslog,cap_bpf,cap_sys_ptrace+ep /"));
}

static uint64_t right(int capability)
{
	return UINT64_C(1) << capability;
}

static uint64_t permitted(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};

	syscall(SYS_capget, &head, sets);
	return (sets[0].permitted | (uint64_t)sets[1].permitted << 32) |
	       (sets[0].effective | (uint64_t)sets[1].effective << 32);
}

enum { BPF = 39, PERFMON = 38 };

/* Each of these cannot be taken back. */
static int loads(void)
{
	rights_keep_loading(false);
	return permitted() != (right(BPF) | right(PERFMON)) || !rights_can_load();
}

static int records(void)
{
	const uint64_t kept = right(CAP_SYS_PTRACE) | right(CAP_DAC_READ_SEARCH) | right(CAP_KILL);

	rights_keep_recording(false);
	return (permitted() & kept) != kept || rights_can_load() ||
	       (permitted() & (right(BPF) | right(PERFMON) | right(CAP_SYS_MODULE))) ||
	       prctl(PR_CAPBSET_READ, BPF) != 0 || prctl(PR_CAPBSET_READ, CAP_KILL) != 1;
}

static int records_and_looks(void)
{
	rights_keep_recording(true);
	return !(permitted() & right(BPF)) || (permitted() & right(PERFMON)) || rights_can_load();
}

/* The rights of an agent that has become an ordinary user: it reads, and changes no file. */
static int is_agent_user(void)
{
	const uint64_t kept = right(CAP_SYS_PTRACE) | right(CAP_DAC_READ_SEARCH);
	const uint64_t gone = right(CAP_DAC_OVERRIDE) | right(CAP_FOWNER) | right(CAP_KILL) |
			      right(BPF) | right(PERFMON) | right(CAP_SETPCAP);
	const uid_t same = (uid_t)-1;

	if (setresgid(same, same, 65534) || setresuid(same, same, 65534) ||
	    prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0))
		return 1;
	rights_keep_agent(false);
	if (rights_enter_saved_user() || geteuid() != 65534 || getuid() != 65534 ||
	    getegid() != 65534)
		return 2;
	/* The C library's function changes all threads, and ThreadSanitizer has one of its own. */
	return (permitted() & kept) != kept || (permitted() & gone) ||
	       syscall(SYS_setresuid, 0, 0, 0) == 0;
}

/* Without a preparation nothing changes. */
static int is_agent_root(void)
{
	const uint64_t kept = right(CAP_DAC_OVERRIDE) | right(BPF) | right(PERFMON);

	rights_keep_agent(true);
	return rights_enter_saved_user() || geteuid() != 0 || (permitted() & kept) != kept ||
	       (permitted() & right(CAP_SETPCAP));
}

static int observes(void)
{
	rights_keep_observing();
	return permitted() != right(PERFMON) || !rights_can_observe() || rights_can_load();
}

static int has_none(void)
{
	rights_keep_none();
	return permitted() != 0 || rights_can_load();
}

/* What is not there does not come by being kept. */
static int comes_back(void)
{
	rights_keep_none();
	rights_keep_recording(true);
	rights_keep_loading(false);
	rights_keep_observing();
	return permitted() != 0;
}

TEST(rights_that_are_kept)
{
	static int (*const ways[])(void) = {loads,    records,    records_and_looks, observes,
					    has_none, comes_back, is_agent_user,     is_agent_root};
	const uint64_t all =
		right(BPF) | right(PERFMON) | right(CAP_SYS_PTRACE) | right(CAP_SETPCAP);

	if ((permitted() & all) != all)
		SKIP("we have not the rights that are to be given up");
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		pid_t pid = fork();
		int status = 0;

		if (pid == 0)
			_exit(ways[i]());
		REQUIRE(pid > 0);
		REQUIRE(waitpid(pid, &status, 0) == pid);
		CHECK_EQUAL(status, 0);
	}
}

/* Of Yama's rules, and of whatever else lets no debugger in. */
TEST(looks)
{
	static const struct {
		int scope;
		bool is_ours;
		const char *said;
	} rows[] = {
		{1, false, "ptrace_scope is 1: run 'sudo sysctl kernel.yama.ptrace_scope=0', or "},
		{2, false, "ptrace_scope is 2: run 'sudo sysctl kernel.yama.ptrace_scope=0', or "},
		{2, true, "ptrace_scope is 2: run 'sudo sysctl kernel.yama.ptrace_scope=1', or "},
		{3, false, "ptrace_scope is 3, which cannot be changed before a reboot"},
		{3, true, "ptrace_scope is 3, which cannot be changed before a reboot"},
		{1, true, "Operation not permitted: a seccomp filter"},
		{-1, true, "Operation not permitted: a seccomp filter"},
		{0, false, "Operation not permitted; a security policy of this system"},
		{-1, false,
		 "record as root, or give duet alone the right: 'sudo setcap "
		 "cap_perfmon,cap_syslog,cap_sys_ptrace+ep /"},
	};
	char text[PATH_MAX + 300];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ptrace_rights_text(rows[i].scope, rows[i].is_ours, -EPERM, text, sizeof(text));
		CHECK(strstr(text, rows[i].said));
		CHECK_EQUAL(strstr(text, "setcap") != NULL,
			    rows[i].scope == 2 || (!rows[i].is_ours && rows[i].scope != 3));
	}
	CHECK(!ptrace_is_limited(-1) && !ptrace_is_limited(0) && ptrace_is_limited(3));
	if (geteuid() == 0)
		CHECK(!ptrace_is_limited(1) && !ptrace_is_limited(2));
}

TEST(refusals)
{
	static const struct {
		int error;
		const char *said;
	} rows[] = {
		{-ENOSYS, "perf_event_open is missing"},
		{-ENOENT, "does not have the event"},
		{-EOPNOTSUPP, "does not have the event"},
		{-EMFILE, "Too many open files"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CHECK_EQUAL(perf_refused(rows[i].error), rows[i].error);
		CHECK(strstr(error_text(), rows[i].said));
		error_clear();
	}
	CHECK_EQUAL(perf_refused(-EACCES), -EACCES);
	CHECK(strstr(error_text(), perf_paranoid() > 2 ? "sudo sysctl kernel.perf_event_paranoid=2"
						       : "SystemCallFilter=perf_event_open"));
	error_clear();
}

TEST(looks_at_a_child)
{
	if (access("/proc/self/syscall", R_OK) || blocked_try() == -EPERM) {
		error_clear();
		SKIP("this container lets nobody look at threads");
	}
	error_clear();
	CHECK_EQUAL(blocked_try(), 0);
	CHECK_EQUAL(waitpid(-1, NULL, __WALL), -1);
	CHECK_EQUAL(errno, ECHILD);
}

/* In a child, which keeps the filter. */
TEST(look_is_refused)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
			_exit(2);
		_exit(blocked_try() != -ENOSYS || !strstr(error_text(), "process_vm_readv"));
	}
	REQUIRE(pid > 0);
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK_EQUAL(status, 0);
}

int main(void)
{
	RUN(commands);
	RUN(why_root_is_refused);
	RUN(further_rights);
	RUN(rights_that_are_kept);
	RUN(looks);
	RUN(refusals);
	RUN(looks_at_a_child);
	RUN(look_is_refused);
	return harness_end();
}
