/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_recorder.c - what the recorder knows of programs, environments, processes
 * and time
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/array.h"
#include "base/error.h"
#include "harness.h"

#include "bench.h"
#include "collect/collector.h"
#include "collect/start/environment.h"
#include "collect/proc.h"
#include "collect/start/program.h"

static char folder[] = "/tmp/duet-recorder-XXXXXX";

static const char *file(const char *name, const void *bytes, size_t size, mode_t mode)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	unlink(path);
	harness_write_file(path, bytes, size);
	CHECK(chmod(path, mode) == 0);
	return path;
}

/* ---- program_kind_of ------------------------------------------------------------------------- */

struct elf {
	Elf64_Ehdr head;
	Elf64_Phdr parts[2];
	char text[16];
};

static struct elf elf_with(uint32_t part_type)
{
	struct elf elf = {
		.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			 .e_phoff = offsetof(struct elf, parts),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 2},
		.parts = {{.p_type = PT_LOAD}, {.p_type = part_type}},
	};

	return elf;
}

static enum program_kind kind_of(const struct elf *elf, size_t size)
{
	return program_kind_of(file("program", elf, size, 0755), true);
}

TEST(kinds_of_programs)
{
	struct elf dynamic = elf_with(PT_INTERP), fixed = elf_with(PT_NOTE), narrow = dynamic;

	CHECK_EQUAL(program_kind_of("/bin/sh", true), PROGRAM_ORDINARY);
	CHECK_EQUAL(program_kind_of("sh", true), PROGRAM_ORDINARY); /* in PATH */
	CHECK_EQUAL(kind_of(&dynamic, sizeof(dynamic)), PROGRAM_ORDINARY);
	CHECK_EQUAL(kind_of(&fixed, sizeof(fixed)), PROGRAM_STATIC);
	narrow.head.e_ident[EI_CLASS] = ELFCLASS32;
	CHECK_EQUAL(kind_of(&narrow, sizeof(narrow)), PROGRAM_OTHER_CLASS);
	memcpy(dynamic.text, "__asan_init", 12);
	CHECK_EQUAL(kind_of(&dynamic, sizeof(dynamic)), PROGRAM_SANITIZED);
	CHECK_EQUAL(program_kind_of(file("p", &dynamic, sizeof(dynamic), 0755), false),
		    PROGRAM_ORDINARY);
	CHECK_EQUAL(program_kind_of(file("script", "#!/bin/sh\n", 10, 0755), true),
		    PROGRAM_UNKNOWN);
	CHECK_EQUAL(program_kind_of(file("empty", "", 0, 0755), true), PROGRAM_UNKNOWN);
	CHECK_EQUAL(program_kind_of("/nowhere", true), PROGRAM_UNKNOWN);
	CHECK_EQUAL(program_kind_of("duet-no-such-program", true), PROGRAM_UNKNOWN);
	CHECK_EQUAL(program_kind_of("", true), PROGRAM_UNKNOWN);
	CHECK_EQUAL(program_kind_of("/tmp", true), PROGRAM_UNKNOWN);
	CHECK(program_kind_text(PROGRAM_ORDINARY) == NULL);
	CHECK(program_kind_text(PROGRAM_STATIC) != NULL);
	CHECK(program_kind_text(PROGRAM_UNKNOWN) == NULL);
}

TEST(words_in_programs)
{
	static const char text[] = "a librocx and a libroctx64.so";

	CHECK(program_mentions(file("words", text, sizeof(text), 0755), "roctx"));
	CHECK(program_mentions(file("words", text, sizeof(text), 0755), "libroctx64.so"));
	CHECK(program_mentions(file("words", text, sizeof(text), 0755),
			       "a lib")); /* nothing rare */
	CHECK(!program_mentions(file("words", text, sizeof(text), 0755), "roctx65"));
	/* what begins before the file, or ends behind it */
	CHECK(!program_mentions(file("words", "octx roct", 9, 0755), "roctx"));
	CHECK(!program_mentions(file("words", "x", 1, 0755), "roctx"));
	CHECK(!program_mentions("/nowhere", "roctx"));
}

TEST(set_user_id_programs)
{
	struct elf elf = elf_with(PT_INTERP);
	const char *path = file("suid", &elf, sizeof(elf), 04755);

	/* our own: no rights change */
	CHECK_EQUAL(program_kind_of(path, true), PROGRAM_ORDINARY);
	if (chown(path, 12345, 12345) < 0 || chmod(path, 04755) < 0)
		SKIP("only root can give a file away");
	CHECK_EQUAL(program_kind_of(path, true), PROGRAM_SETUID);
}

TEST(fifo_does_not_block)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/fifo", folder);
	REQUIRE(!mkfifo(path, 0600));
	alarm(10);
	CHECK_EQUAL(program_kind_of(path, true), PROGRAM_UNKNOWN);
	alarm(0);
	unlink(path);
}

TEST(hostile_programs)
{
	const uint64_t offsets[] = {1, 3, 65, 4096, UINT64_MAX, UINT64_MAX - 100, INT64_MAX, 0};
	struct elf elf = elf_with(PT_NOTE);

	for (size_t size = 1; size < sizeof(elf); size++)
		kind_of(&elf, size);
	CHECK_EQUAL(kind_of(&elf, sizeof(Elf64_Ehdr) - 1), PROGRAM_UNKNOWN);
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		elf.head.e_phoff = offsets[i];
		kind_of(&elf, sizeof(elf));
		elf.head.e_phnum = 65535;
		kind_of(&elf, sizeof(elf));
	}
	elf.head.e_phentsize = 1;
	kind_of(&elf, sizeof(elf));
	CHECK_EQUAL(kind_of(&elf, 8), PROGRAM_UNKNOWN);
}

/* ---- program_start --------------------------------------------------------------------------- */

static int exec_error; /* of the last start */

static int start_as(char *const *arguments, const struct program_user *user, int *ret_status)
{
	struct program_state state = {0};
	struct program_options options = {.arguments = arguments, .state = &state, .user = *user};
	sigset_t blocked;
	pid_t pid = -1;
	char *environment[] = {(char *)"PATH=/usr/bin:/bin", (char *)"COLOUR=blue", NULL};
	int error;

	options.environment = environment;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR2);
	program_state_take(&state, &blocked);
	error = program_start(&options, &pid, &exec_error);
	sigaction(SIGXFSZ, &state.file_size, NULL);
	sigaction(SIGPIPE, &state.broken_pipe, NULL);
	sigprocmask(SIG_SETMASK, &state.mask, NULL);
	setrlimit(RLIMIT_FSIZE, &state.file_limit);
	setrlimit(RLIMIT_NOFILE, &state.descriptor_limit);
	if (!error)
		waitpid(pid, ret_status, 0);
	return error;
}

static int start(char *const *arguments, int *ret_status)
{
	struct program_user own = {0};

	return start_as(arguments, &own, ret_status);
}

TEST(starting_programs)
{
	char *shell[] = {(char *)"sh", (char *)"-c",
			 (char *)"test \"$COLOUR\" = blue && ! grep -q "
				 "'^Sig\\(Blk\\|Ign\\).*[1-9a-f]' /proc/self/status && exit 33",
			 NULL};
	char *missing[] = {(char *)"duet-no-such-program", NULL};
	char *script[] = {NULL, NULL};
	char *nothing[] = {(char *)"/tmp", NULL};
	struct sigaction standard = {.sa_handler = SIG_DFL};
	int status = 0;

	/* The test runner ignores some signals; make's children ignore 32 and 33, which
	 * sigaction(2) of glibc refuses to change. */
	for (int i = 1; i < 32; i++)
		sigaction(i, &standard, NULL);
	for (int i = 32; i < 34; i++)
		syscall(SYS_rt_sigaction, i, (uint64_t[4]){0}, NULL, sizeof(uint64_t));
	CHECK_EQUAL(start(shell, &status), 0);
	CHECK(WIFEXITED(status));
	CHECK_EQUAL(WEXITSTATUS(status), 33);
	CHECK_EQUAL(exec_error, 0);
	CHECK_EQUAL(start(missing, &status), -ENOENT);
	CHECK_EQUAL(exec_error, -ENOENT);
	CHECK(strstr(error_text(), "duet-no-such-program") != NULL);
	CHECK_EQUAL(start(nothing, &status), -EACCES);
	CHECK_EQUAL(exec_error, -EACCES);
	script[0] = (char *)file("plain", "hello", 5, 0644);
	CHECK_EQUAL(start(script, &status), -EACCES);
	CHECK_EQUAL(exec_error, -EACCES);
	CHECK_EQUAL(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left behind */
	error_clear();
}

TEST(trouble_before_the_exec_is_our_own)
{
	struct program_user nobody = {true, (uid_t)-1, (gid_t)-1, "nobody", "/"};
	char *shell[] = {(char *)"true", NULL};
	struct program_state state = {0};
	struct program_options options = {.arguments = shell, .state = &state};
	struct rlimit files, none;
	int status = 0;
	pid_t pid;

	CHECK(start_as(shell, &nobody, &status) < 0);
	CHECK_EQUAL(exec_error, 0);
	CHECK(strstr(error_text(), "nobody") != NULL);
	REQUIRE(!getrlimit(RLIMIT_NOFILE, &files));
	none = (struct rlimit){0, files.rlim_max};
	setrlimit(RLIMIT_NOFILE, &none);
	CHECK_EQUAL(program_start(&options, &pid, &exec_error), -EMFILE);
	setrlimit(RLIMIT_NOFILE, &files);
	CHECK_EQUAL(exec_error, 0);
	error_clear();
}

TEST(limits_are_raised_for_the_recorder_alone)
{
	char *shell[] = {(char *)"sh", (char *)"-c",
			 (char *)"test $(ulimit -Sn) = 77 && test $(ulimit -Hn) = 99 && "
				 "exit 33",
			 NULL};
	struct program_state state;
	struct rlimit seen;
	sigset_t none;
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		/* lowering the hard limit is for good */
		setrlimit(RLIMIT_NOFILE, &(struct rlimit){77, 99});
		sigemptyset(&none);
		program_state_take(&state, &none);
		getrlimit(RLIMIT_NOFILE, &seen);
		setrlimit(RLIMIT_NOFILE, &state.descriptor_limit);
		_exit(seen.rlim_cur == 99 && start(shell, &status) == 0 ? WEXITSTATUS(status) : 1);
	}
	waitpid(pid, &status, 0);
	CHECK(WIFEXITED(status));
	CHECK_EQUAL(WEXITSTATUS(status), 33);
}

TEST(finding_users)
{
	struct program_user user = {0};

	CHECK_EQUAL(program_find_user("root", &user), 0);
	CHECK(user.set && user.uid == 0 && user.gid == 0);
	CHECK_TEXT(user.name, "root");
	CHECK_EQUAL(program_find_user("duet-no-such-user", &user), -ENOENT);
	error_clear();
}

/* ---- environment ----------------------------------------------------------------------------- */

static const char *value_of(const struct environment *environment, const char *name)
{
	size_t length = strlen(name);
	const char *found = NULL;

	for (size_t i = 0; i < environment->count; i++) {
		if (strncmp(environment->entries[i], name, length) != 0 ||
		    environment->entries[i][length] != '=')
			continue;
		if (found)
			return "twice";
		found = environment->entries[i] + length + 1;
	}
	return found ? found : "nowhere";
}

TEST(environment)
{
	struct environment copy;

	setenv("DUET_TEST_OLD", "old", 1);
	setenv("DUET_TEST_EMPTY", "", 1);
	unsetenv("DUET_TEST_NEW");
	REQUIRE(!environment_init(&copy));
	CHECK_TEXT(value_of(&copy, "DUET_TEST_OLD"), "old");
	CHECK(copy.entries[copy.count] == NULL);
	CHECK(!environment_set(&copy, "DUET_TEST_OLD", "set"));
	CHECK(!environment_set(&copy, "DUET_TEST_NEW", "new"));
	CHECK(!environment_set(&copy, "DUET_TEST", "prefix of another"));
	CHECK_TEXT(value_of(&copy, "DUET_TEST_OLD"), "set");
	CHECK_TEXT(value_of(&copy, "DUET_TEST_NEW"), "new");
	CHECK_TEXT(value_of(&copy, "DUET_TEST"), "prefix of another");
	CHECK_TEXT(getenv("DUET_TEST_OLD"), "old"); /* ours is as it was */
	CHECK(!environment_append(&copy, "LIST", "/lib/a.so", ':'));
	CHECK_TEXT(value_of(&copy, "LIST"), "/lib/a.so");
	CHECK(!environment_append(&copy, "LIST", "/lib/b.so", ':'));
	CHECK(!environment_append(&copy, "LIST", "/lib/a.so", ':'));
	CHECK(!environment_append(&copy, "LIST", "/lib/b.so", ':'));
	CHECK_TEXT(value_of(&copy, "LIST"), "/lib/a.so:/lib/b.so");
	/* part of an entry is not an entry */
	CHECK(!environment_append(&copy, "LIST", "/lib/b", ':'));
	CHECK(!environment_append(&copy, "LIST", "b.so", ':'));
	CHECK_TEXT(value_of(&copy, "LIST"), "/lib/a.so:/lib/b.so:/lib/b:b.so");
	CHECK(!environment_set(&copy, "GAPS", "::x::"));
	CHECK(!environment_append(&copy, "GAPS", "x", ':'));
	CHECK_TEXT(value_of(&copy, "GAPS"), "::x::");
	CHECK(!environment_append(&copy, "GAPS", "y", ':'));
	CHECK_TEXT(value_of(&copy, "GAPS"), "::x:::y");
	CHECK(!environment_append(&copy, "DUET_TEST_EMPTY", "v", ':'));
	CHECK_TEXT(value_of(&copy, "DUET_TEST_EMPTY"), "v");
	CHECK(!environment_prepend(&copy, "TOOLS", "b", ' '));
	CHECK(!environment_prepend(&copy, "TOOLS", "a", ' '));
	CHECK(!environment_prepend(&copy, "TOOLS", "b", ' '));
	CHECK_TEXT(value_of(&copy, "TOOLS"), "a b");
	CHECK(copy.entries[copy.count] == NULL);
	environment_fini(&copy);
}

/* ---- proc ------------------------------------------------------------------------------------ */

TEST(this_process)
{
	struct proc_info *info = calloc(1, sizeof(*info));
	char exe[4096] = "", name[64];
	uint32_t self = (uint32_t)getpid(), files = 10;
	int filters;

	REQUIRE(info);
	prctl(PR_SET_NAME, "a) R (b");
	REQUIRE(!proc_read(self, info));
	CHECK_TEXT(info->name, "a) R (b");
	CHECK_EQUAL(info->pid, self);
	CHECK_EQUAL(info->parent_pid, getppid());
	CHECK_EQUAL(info->uid, geteuid());
	CHECK(info->start_ticks > 0);
	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0)
		CHECK_TEXT(info->exe, exe);
	proc_thread_name(self, self, name);
	CHECK_TEXT(name, "a) R (b");
	proc_thread_name(self, 1u << 30, name);
	CHECK_TEXT(name, "");
	CHECK_EQUAL(info->ns_pid, self);
	CHECK_EQUAL(proc_thread(self, self, self, &files), self);
	CHECK_EQUAL(files, 10);
	/* as if in a namespace: looked up by NSpid, whose last number is ours here */
	CHECK_EQUAL(proc_thread(self, self + 1, self, &files), self);
	CHECK_EQUAL(files, 9);
	CHECK_EQUAL(proc_thread(self, self + 1, 1u << 30, &files), 1u << 30);
	CHECK(proc_is_alive(-1, self));
	CHECK_EQUAL(proc_seccomp(self, &filters), prctl(PR_GET_SECCOMP, 0, 0, 0, 0));
	free(info);
}

TEST(process_that_is_gone)
{
	struct proc_info *info = calloc(1, sizeof(*info));
	uint32_t files = 10;
	char name[64];
	int filters;

	REQUIRE(info);
	CHECK_EQUAL(proc_read(1u << 30, info), -ESRCH);
	CHECK_EQUAL(info->pid, 0);
	CHECK(!proc_is_alive(-1, 1u << 30));
	CHECK_EQUAL(proc_seccomp(1u << 30, &filters), -1);
	CHECK_EQUAL(filters, -1);
	CHECK_EQUAL(proc_thread(1u << 30, 5, 7, &files), 7);
	proc_thread_name(1u << 30, 1, name);
	CHECK_TEXT(name, "");
	free(info);
}

static void *wait_in_thread(void *gate)
{
	pthread_barrier_wait(gate);
	pthread_barrier_wait(gate);
	return NULL;
}

/* A process of ten thousand threads that lies about its pid would else have all of them read for
 * each ring. */
TEST(threads_are_not_looked_up_without_end)
{
	enum { THREADS = 40 };
	pthread_t threads[THREADS];
	pthread_barrier_t gate;
	uint32_t self = (uint32_t)getpid(), files = 25;

	pthread_barrier_init(&gate, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, wait_in_thread, &gate));
	pthread_barrier_wait(&gate);
	CHECK_EQUAL(proc_thread(self, self + 1, 1u << 30, &files), 1u << 30);
	CHECK_EQUAL(files, 0);
	CHECK_EQUAL(proc_thread(self, self + 1, self, &files), self);
	pthread_barrier_wait(&gate);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&gate);
}

/* As a container's runtime and then a program do. */
TEST(seccomp_filters)
{
	struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {1, allow};
	int before, filters, status = 0;
	pid_t pid;

	if (proc_seccomp((uint32_t)getpid(), &before) < 0 || before < 0)
		SKIP("the kernel does not count filters (Linux 5.9)");
	pid = fork();
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
			_exit(1);
		for (int i = 1; i <= 2; i++)
			if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ||
			    proc_seccomp((uint32_t)getpid(), &filters) != 2 ||
			    filters != before + i)
				_exit(2);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	CHECK_EQUAL(status, 0);
}

TEST(mappings_of_a_file)
{
	int fd = memfd_create("duet-rings", MFD_CLOEXEC), other = memfd_create("x", MFD_CLOEXEC);
	uint32_t self = (uint32_t)getpid();
	struct stat about, others;
	void *memory;

	REQUIRE(fd >= 0 && ftruncate(fd, 4096) == 0 && fstat(fd, &about) == 0);
	REQUIRE(other >= 0 && fstat(other, &others) == 0);
	CHECK(!proc_has_mapping(self, about.st_ino));
	memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(proc_has_mapping(self, about.st_ino));
	CHECK(!proc_has_mapping(self, others.st_ino));
	CHECK(!proc_has_mapping(1u << 30, about.st_ino));
	munmap(memory, 4096);
	CHECK(!proc_has_mapping(self, about.st_ino));
	close(fd);
	close(other);
}

static void check_command(char *const *arguments, const char *want)
{
	struct proc_info *info = calloc(1, sizeof(*info));
	char byte;
	int ends[2];
	pid_t pid;

	REQUIRE(info && !pipe(ends));
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], 1);
		close(ends[0]);
		execv("/bin/sh", arguments);
		_exit(1);
	}
	CHECK_EQUAL(read(ends[0], &byte, 1), 1); /* it runs */
	CHECK_EQUAL(proc_read((uint32_t)pid, info), 0);
	CHECK_TEXT(info->command, want);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ends[0]);
	close(ends[1]);
	free(info);
}

TEST(quoted_commands)
{
	static char longest[6000], quotes[4000];
	char *arguments[] = {
		(char *)"sh",   (char *)"-c",    (char *)"echo; while :; do read a; done",
		(char *)"it's", (char *)"",      (char *)"a b",
		(char *)"x=1",  (char *)"$HOME", NULL};
	char *many[] = {(char *)"sh", (char *)"-c", (char *)"echo; while :; do read a; done",
			longest, NULL};
	struct proc_info *info = calloc(1, sizeof(*info));

	REQUIRE(info);
	check_command(arguments,
		      "sh -c 'echo; while :; do read a; done' 'it'\\''s' '' 'a b' x=1 '$HOME'");
	/* cut, not overrun: five bytes come of each quote */
	memset(longest, 'a', sizeof(longest) - 1);
	memset(quotes, '\'', sizeof(quotes) - 1);
	for (int i = 0; i < 2; i++) {
		pid_t pid;
		int ends[2];
		char byte;

		many[3] = i ? quotes : longest;
		REQUIRE(!pipe(ends));
		pid = fork();
		if (pid == 0) {
			dup2(ends[1], 1);
			execv("/bin/sh", many);
			_exit(1);
		}
		CHECK_EQUAL(read(ends[0], &byte, 1), 1);
		CHECK_EQUAL(proc_read((uint32_t)pid, info), 0);
		CHECK(strlen(info->command) > 3000 &&
		      strlen(info->command) < sizeof(info->command));
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		close(ends[0]);
		close(ends[1]);
	}
	free(info);
}

/* ---- registry -------------------------------------------------------------------------------- */

extern const struct collector opencl_collector;

static struct session_options chosen(const char *list, int *ret_error)
{
	struct session_options options = {0};

	*ret_error = collectors_choose(list, NULL, &options);
	return options;
}

static uint32_t rate_of(const struct session_options *options, const char *name)
{
	const struct collector_choice *choice = collector_options(options, name);

	return choice->hz;
}

/* What is chosen once more without a rate keeps the one it has; a switch that is off takes back one
 * that was on. */
TEST(choosing_rates)
{
	static const struct {
		const char *list, *beside;
		uint32_t system_hz, nvidia_hz, drm_hz;
		bool smaps;
	} cases[] = {
		{NULL, NULL, 0, 0, 0, false},
		{"nvidia", "", 0, 10, 0, false},
		{"nvidia:50", "nvidia,", 0, 50, 0, false},
		{"system:7,drm:20", "drm,nvidia:5,", 7, 5, 20, false},
		{"system:smaps", "system,system:20,", 20, 0, 0, true},
		{"system:smaps", "system,system:-smaps,", 10, 0, 0, false},
		{"system:smaps,-system", "drm,", 0, 0, 10, false},
	};

	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct session_options options = {0};

		CHECK_EQUAL(collectors_choose(cases[i].list, cases[i].beside, &options), 0);
		CHECK_EQUAL(rate_of(&options, "system"), cases[i].system_hz);
		CHECK_EQUAL(rate_of(&options, "nvidia"), cases[i].nvidia_hz);
		CHECK_EQUAL(rate_of(&options, "drm"), cases[i].drm_hz);
		CHECK_EQUAL(session_has_option(&options, "system", "smaps"), cases[i].smaps);
	}
	CHECK(collectors_check("drm:101") && collectors_check("nvidia:-smaps"));
}

TEST(choosing_collectors)
{
	static const struct {
		const char *list;
		bool opencl, device_time;
	} good[] = {
		{NULL, true, true},
		{"", true, true},
		{",", true, true},
		{"opencl", true, true},
		{"opencl:host", true, false},
		{"-opencl", false, false},
		{"opencl,-opencl", false, false},
		{"-opencl,opencl", true, true},
		{",opencl:host,", true, false},
		{"opencl:host,opencl", true, true},
	};
	static const char *const bad[] = {"cuda",   "opencl:",     "opencl:nothing",   "-",
					  ":",      ":host",       "opencl:host:host", " opencl",
					  "OPENCL", "opencl,cuda", "-nothing",         "--opencl"};
	uint32_t numbers[RING_NUMBERS];
	char longest[10000];
	int error;

	CHECK(collectors_count >= 1);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct session_options options = chosen(good[i].list, &error);

		CHECK_EQUAL(error, 0);
		CHECK_EQUAL(session_collects(&options, "opencl"), good[i].opencl);
		CHECK_EQUAL(opencl_collector.way->options(&options, numbers),
			    good[i].device_time ? RING_OPTION_DEVICE_TIME : 0);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		error_clear();
		chosen(bad[i], &error);
		CHECK_EQUAL(error, -EINVAL);
		CHECK(strlen(error_text()) > 0);
	}
	memset(longest, ',', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	chosen(longest, &error);
	CHECK_EQUAL(error, -EINVAL);
	error_clear();
}

/* ---- recording ------------------------------------------------------------------------------- */

TEST(host_time_of_guest_times)
{
	struct recording *recording = calloc(1, sizeof(*recording));
	uint64_t error_ns = 1;

	REQUIRE(recording);
	CHECK_EQUAL(recording_host_ns(recording, 12345, &error_ns),
		    12345); /* nanoseconds already */
	CHECK_EQUAL(error_ns, 0);
	recording->tsc = true;
	recording->first_tsc = (struct event_clock_pair){5000000000, 1000000000, 1000000040};
	recording->last_tsc = recording->first_tsc;
	recording_host_ns(recording, 4999999999, &error_ns);
	CHECK(error_ns > 1000000000000); /* one reading says nothing of the rate */
	/* 2.5 ticks a nanosecond, two seconds */
	recording->last_tsc = (struct event_clock_pair){10000000000, 3000000000, 3000000040};
	CHECK_EQUAL(recording_host_ns(recording, 10000000000, &error_ns), 3000000000);
	CHECK_EQUAL(error_ns, 100);
	CHECK_EQUAL(recording_host_ns(recording, 10000002500, &error_ns), 3000001000);
	CHECK_EQUAL(recording_host_ns(recording, 5000000000, &error_ns), 1000000000);
	CHECK_EQUAL(error_ns, 200); /* the window of a pair, once for each end */
	CHECK_EQUAL(recording_host_ns(recording, 12500000000, &error_ns), 4000000000);
	CHECK(recording_host_ns(recording, 2500000000, &error_ns) == 0);
	CHECK(error_ns < 1000);
	/* whatever a guest says, nothing overflows (the counter is read again for the far ones) */
	recording_host_ns(recording, 0, &error_ns);
	recording_host_ns(recording, UINT64_MAX, &error_ns);
	recording_host_ns(recording, (uint64_t)1 << 63, &error_ns);
	recording_host_ns(recording, ((uint64_t)1 << 63) - 1, &error_ns);
	recording_host_ns(recording, 10000000000 + ((uint64_t)1 << 63), &error_ns);
	free(recording);
}

/* A reading takes 48 looks at clocks: not for times that cannot have been. */
TEST(times_to_come_are_not_worth_a_reading)
{
	struct recording *recording = calloc(1, sizeof(*recording));
	uint64_t error_ns, now = host_clocks_now_tsc();

	REQUIRE(recording);
	recording->tsc = true;
	recording->first_tsc = (struct event_clock_pair){1000, 1000, 1040};
	recording->last_tsc = (struct event_clock_pair){2000, 2000, 2040};
	recording_host_ns(recording, now + ((uint64_t)1 << 50), &error_ns);
	CHECK_EQUAL(recording->last_tsc.time, 2000);
	if (now)
		recording_host_ns(recording, now, &error_ns);
	CHECK(!now || recording->last_tsc.time >= now);
	free(recording);
}

TEST(real_readings_agree)
{
	struct bench bench;
	struct event_clock_pair later;
	uint64_t error_ns, host_ns;

	bench_open(&bench);
	usleep(20000);
	host_clocks_read(bench.writer, bench.recording->tsc, &bench.recording->last_tsc);
	usleep(20000);
	host_clocks_read(bench.writer, bench.recording->tsc, &later);
	if (bench.recording->tsc) {
		host_ns = recording_host_ns(bench.recording, later.time, &error_ns);
		CHECK(host_ns + error_ns + 1000 >= later.host_lower_ns);
		CHECK(host_ns <= later.host_upper_ns + error_ns + 1000);
	}
	bench_read(&bench);
	bench_close(&bench);
}

TEST(function_names)
{
	CHECK_TEXT(guest_function_name(0), "clGetPlatformIDs");
	CHECK_TEXT(guest_function_name(148), "clSetContextDestructorCallback");
	CHECK_TEXT(guest_function_name(75), "clGetDeviceIDsFromD3D10KHR");
	CHECK_TEXT(guest_function_name(149), "");
	CHECK_TEXT(guest_function_name(255), "");
	CHECK_TEXT(guest_function_name(256), "AQL dispatch");
	CHECK_TEXT(guest_function_name(UINT32_MAX), "");
}

TEST(remembered_keys)
{
	struct identities identities;
	struct bench bench;

	identities_init(&identities);
	CHECK_EQUAL(identities_find(&identities, "one"), 0);
	identities_remember(&identities, "one", 11);
	identities_remember(&identities, "two", 22);
	CHECK_EQUAL(identities_find(&identities, "one"), 11);
	CHECK_EQUAL(identities_find(&identities, "two"), 22);
	CHECK_EQUAL(identities_find(&identities, "on"), 0);
	identities_fini(&identities);
	bench_open(&bench);
	recording_note(bench.recording, "opencl", COLLECTOR_REFUSED, 0, "because");
	bench_read(&bench);
	REQUIRE(trace_reader_entities(bench.reader, EVENT_COLLECTOR, &(const void *){NULL}) == 1);
	bench_close(&bench);
}

static void remove_files(void)
{
	static const char *const names[] = {"program", "p", "script", "empty", "suid", "plain"};
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(kinds_of_programs);
	RUN(words_in_programs);
	RUN(set_user_id_programs);
	RUN(fifo_does_not_block);
	RUN(hostile_programs);
	RUN(starting_programs);
	RUN(trouble_before_the_exec_is_our_own);
	RUN(limits_are_raised_for_the_recorder_alone);
	RUN(finding_users);
	RUN(environment);
	RUN(this_process);
	RUN(process_that_is_gone);
	RUN(threads_are_not_looked_up_without_end);
	RUN(seccomp_filters);
	RUN(mappings_of_a_file);
	RUN(quoted_commands);
	RUN(choosing_rates);
	RUN(choosing_collectors);
	RUN(host_time_of_guest_times);
	RUN(times_to_come_are_not_worth_a_reading);
	RUN(real_readings_agree);
	RUN(function_names);
	RUN(remembered_keys);
	remove_files();
	return harness_end();
}
