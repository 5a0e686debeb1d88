/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_injector.c - a library is brought into programs that run, and they do not
 * notice
 *
 * INJECTOR_ROUNDS: how often each of them is entered, INJECTOR_KILLS: how often who enters is
 * killed meanwhile.
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "collect/enter/injector.h"
#include "symbol/proc_maps.h"

struct victim {
	pid_t pid;
	int in, out;
};

static char probe_path[] = "/tmp/inject_probe.XXXXXX";
enum { MAX_AGAIN = 10 };

static int rounds = 3, kills = 6;

static void start_as(struct victim *victim, const char *program, const char *what, uid_t uid)
{
	int in[2], out[2];
	char line[16] = "";

	*victim = (struct victim){0};
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		abort();
	victim->pid = fork();
	if (victim->pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		if (uid && setuid(uid))
			_exit(9);
		execl(program, program, what, NULL);
		_exit(9);
	}
	close(in[0]);
	close(out[1]);
	victim->in = in[1];
	victim->out = out[0];
	if (read(out[0], line, 6) != 6 || strcmp(line, "ready\n") != 0)
		printf("#   '%s %s' did not begin\n", program, what);
}

static void start(struct victim *victim, const char *what)
{
	start_as(victim, getenv("INJECT_VICTIM"), what, 0);
}

/* What it says at its end. */
static void end(struct victim *victim, const char *wanted)
{
	char line[64] = "";
	int status = -1;

	close(victim->in);
	while (read(victim->out, line + strlen(line), sizeof(line) - 1 - strlen(line)) > 0)
		;
	close(victim->out);
	waitpid(victim->pid, &status, 0);
	CHECK_TEXT(line, wanted);
	CHECK_EQUAL(status, 0);
}

struct entering {
	struct injector_options options;
	struct injector_result result;
	int error;
	char text[512];
};

static void *enter_in_thread(void *argument)
{
	struct entering *entering = argument;

	entering->error = injector_enter(&entering->options, &entering->result);
	snprintf(entering->text, sizeof(entering->text), "%s", entering->error ? error_text() : "");
	return NULL;
}

static void fill(pid_t pid, struct entering *entering)
{
	*entering = (struct entering){.options = {.pid = pid,
						  .path = getenv("INJECT_PROBE"),
						  .entry = "inject_probe_enter",
						  .argument = probe_path}};
}

static void enter(pid_t pid, struct entering *entering)
{
	pthread_t thread;

	fill(pid, entering);
	if (pthread_create(&thread, NULL, enter_in_thread, entering) != 0)
		abort();
	pthread_join(thread, NULL);
}

static size_t calls(void)
{
	struct stat about;

	return stat(probe_path, &about) == 0 ? (size_t)about.st_size : 0;
}

static size_t count_mappings(pid_t pid)
{
	struct proc_maps maps;
	size_t count;

	if (proc_maps_read(pid, &maps))
		return 0;
	count = maps.count;
	proc_maps_fini(&maps);
	return count;
}

/* Memory with code that is no file's. */
static size_t count_code(pid_t pid)
{
	struct proc_maps maps;
	size_t count = 0;

	if (proc_maps_read(pid, &maps))
		return 0;
	for (size_t i = 0; i < maps.count; i++)
		count += maps.mappings[i].is_executable &&
			 maps.mappings[i].kind == PROC_MAPPING_ANONYMOUS;
	proc_maps_fini(&maps);
	return count;
}

static void nap(long ns)
{
	const struct timespec time = {0, ns};

	nanosleep(&time, NULL);
}

static void enter_often(const char *what)
{
	size_t before = calls(), first = 0;
	uint64_t longest_ns = 0, attempts = 0;
	struct entering entering;
	struct victim victim;

	start(&victim, what);
	for (int i = 0; i < rounds; i++) {
		/* Another thread of it may have what the borrowed one needs, and asks to be asked
		 * again. */
		for (int j = 0; j < MAX_AGAIN; j++) {
			enter(victim.pid, &entering);
			if (entering.error != -EDEADLK)
				break;
			nap(10000000);
		}
		if (entering.error)
			printf("#   %s: %s\n", what, entering.text);
		CHECK_EQUAL(entering.error, 0);
		CHECK_EQUAL(entering.result.result, i + 1); /* it is the same library */
		attempts += entering.result.attempts;
		if (entering.result.stopped_ns > longest_ns)
			longest_ns = entering.result.stopped_ns;
		nap(10000000);
		if (i == 0)
			first = count_mappings(victim.pid);
	}
	CHECK_EQUAL(calls() - before, rounds);
	/* threads of its own come and go with stacks of their own */
	if (strcmp(what, "read") == 0)
		CHECK(count_mappings(victim.pid) <= first);
	printf("# %s: %d times, %llu threads stopped, the longest %llu us\n", what, rounds,
	       (unsigned long long)attempts, (unsigned long long)longest_ns / 1000);
	end(&victim, "wrong 0\n");
}

TEST(a_thread_that_reads)
{
	enter_often("read");
}

TEST(a_thread_that_computes)
{
	enter_often("busy");
}

TEST(a_thread_with_vectors)
{
	enter_often("wide");
}

TEST(a_thread_that_allocates)
{
	enter_often("allocate");
}

TEST(a_storm_of_alarms)
{
	enter_often("alarm");
}

TEST(a_thread_that_sleeps)
{
	enter_often("sleep");
}

TEST(a_thread_that_waits_for_so_long)
{
	enter_often("wait");
}

TEST(fifty_threads)
{
	enter_often("threads");
}

/* ---- who enters is killed -------------------------------------------------------------------- */

static long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000 + now.tv_nsec;
}

static void kill_while_entering(const char *what, bool may_sleep_less)
{
	struct entering entering;
	struct victim victim;
	int died = 0, done = 0;
	long took_ns = now_ns();

	start(&victim, what);
	enter(victim.pid, &entering);
	took_ns = now_ns() - took_ns;
	srandom((unsigned int)took_ns);
	for (int i = 0; i < kills; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			enter(victim.pid, &entering);
			_exit(entering.error ? 1 : 0);
		}
		nap(random() % (took_ns + took_ns / 4 + 1));
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		died += WIFSIGNALED(status);
		done += WIFEXITED(status) && !WEXITSTATUS(status);
		CHECK_EQUAL(waitpid(victim.pid, &status, WNOHANG), 0);
		if (kill(victim.pid, 0) < 0) {
			printf("#   its status: 0x%x\n", (unsigned int)status);
			break;
		}
	}
	printf("# %s: killed %d times of %d within %ld us, %d were done\n", what, died, kills,
	       took_ns / 1000, done);
	nap(20000000);
	enter(victim.pid, &entering);
	if (entering.error)
		printf("#   %s\n", entering.text);
	CHECK_EQUAL(entering.error, 0);
	if (may_sleep_less) { /* a sleep ends early where nobody is left to have the kernel go on
				 with it */
		kill(victim.pid, SIGKILL);
		waitpid(victim.pid, NULL, 0);
		close(victim.in);
		close(victim.out);
	} else {
		end(&victim, "wrong 0\n");
	}
}

TEST(killed_while_a_thread_reads)
{
	kill_while_entering("read", false);
}

TEST(killed_while_a_thread_computes)
{
	kill_while_entering("busy", false);
}

TEST(killed_while_a_thread_has_vectors)
{
	kill_while_entering("wide", false);
}

TEST(killed_while_threads_allocate)
{
	kill_while_entering("allocate", false);
}

TEST(killed_while_a_thread_sleeps)
{
	kill_while_entering("sleep", true);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void check_refused(const char *words, struct entering *entering)
{
	CHECK(entering->error < 0);
	if (!strstr(entering->text, words)) {
		printf("#   '%s' does not say '%s'\n", entering->text, words);
		harness_failed = true;
	}
}

TEST(a_process_that_is_traced)
{
	struct entering entering;
	struct victim victim;

	start(&victim, "read");
	REQUIRE(ptrace(PTRACE_SEIZE, victim.pid, NULL, NULL) == 0);
	enter(victim.pid, &entering);
	check_refused("is already traced by process", &entering);
	ptrace(PTRACE_INTERRUPT, victim.pid, NULL, NULL);
	waitpid(victim.pid, NULL, __WALL);
	ptrace(PTRACE_DETACH, victim.pid, NULL, NULL);
	end(&victim, "wrong 0\n");
}

TEST(a_process_that_is_stopped)
{
	struct entering entering;
	struct victim victim;

	start(&victim, "read");
	kill(victim.pid, SIGSTOP);
	waitpid(victim.pid, NULL, WUNTRACED);
	enter(victim.pid, &entering);
	check_refused("is stopped: continue it first", &entering);
	kill(victim.pid, SIGCONT);
	end(&victim, "wrong 0\n");
}

static void enter_bare(const char *program, const char *mapped, const char *words)
{
	struct entering entering;
	struct victim victim;

	start_as(&victim, program, mapped, 0);
	enter(victim.pid, &entering);
	check_refused(words, &entering);
	end(&victim, "");
}

TEST(programs_that_load_nothing)
{
	const char *bare = getenv("INJECT_STATIC"), *other = getenv("INJECT_OTHER_CLASS");
	char folder[] = "/tmp/inject_musl.XXXXXX", loader[64];
	int fd;

	enter_bare(bare, bare, "is statically linked");
	REQUIRE(mkdtemp(folder));
	snprintf(loader, sizeof(loader), "%s/ld-musl-x86_64.so.1", folder);
	fd = open(loader, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && ftruncate(fd, 4096) == 0);
	enter_bare(bare, loader, "the C library musl");
	close(fd);
	unlink(loader);
	rmdir(folder);
	if (other)
		enter_bare(other, other, "is a 32-bit program");
	else
		printf("# no program of 32 bits could be built\n");
}

TEST(no_signal_is_left)
{
	struct entering entering;
	struct victim victim;

	start(&victim, "signals");
	enter(victim.pid, &entering);
	check_refused("could be borrowed", &entering);
	end(&victim, "wrong 0\n");
}

TEST(a_library_that_is_none)
{
	struct entering entering = {0};
	struct victim victim;
	pthread_t thread;

	start(&victim, "read");
	entering.options = (struct injector_options){victim.pid, getenv("INJECT_PROBE"),
						     "no_such_function", probe_path};
	REQUIRE(pthread_create(&thread, NULL, enter_in_thread, &entering) == 0);
	pthread_join(thread, NULL);
	check_refused("undefined symbol: no_such_function", &entering);
	entering.options = (struct injector_options){victim.pid, "/etc/passwd",
						     "inject_probe_enter", probe_path};
	REQUIRE(pthread_create(&thread, NULL, enter_in_thread, &entering) == 0);
	pthread_join(thread, NULL);
	check_refused("its dynamic loader rejects duet's guest: /etc/passwd", &entering);
	end(&victim, "wrong 0\n");
}

TEST(another_users_process)
{
	struct entering entering;
	struct victim victim;
	int status;
	pid_t pid;

	if (geteuid() != 0)
		SKIP("needs root to be another user");
	start(&victim, "read");
	pid = fork();
	if (pid == 0) {
		if (setuid(1000))
			_exit(9);
		enter(victim.pid, &entering);
		_exit(entering.error == -EPERM && strstr(entering.text, "is of user root (0)") ? 0
											       : 1);
	}
	waitpid(pid, &status, 0);
	CHECK_EQUAL(status, 0);
	end(&victim, "wrong 0\n");
}

/* The probe is in a folder that its user may not look into: it comes through memory. */
TEST(a_file_that_the_process_does_not_see)
{
	char folder[] = "/tmp/inject_hidden.XXXXXX", copy[64], command[512];
	struct entering entering = {0};
	struct victim victim;
	pthread_t thread;

	if (geteuid() != 0)
		SKIP("needs root to be another user");
	REQUIRE(mkdtemp(folder) && chmod(probe_path, 0666) == 0);
	snprintf(copy, sizeof(copy), "%s/probe.so", folder);
	snprintf(command, sizeof(command), "cp %s %s", getenv("INJECT_PROBE"), copy);
	REQUIRE(system(command) == 0);
	start_as(&victim, getenv("INJECT_VICTIM"), "read", 1000);
	for (int i = 0; i < 2; i++) {
		entering.options = (struct injector_options){victim.pid, copy, "inject_probe_enter",
							     probe_path};
		REQUIRE(pthread_create(&thread, NULL, enter_in_thread, &entering) == 0);
		pthread_join(thread, NULL);
		if (entering.error)
			printf("#   %s\n", entering.text);
		CHECK_EQUAL(entering.error, 0);
		CHECK_EQUAL(entering.result.result, i + 1);
	}
	end(&victim, "wrong 0\n");
	unlink(copy);
	rmdir(folder);
}

/* ---- what it must not do --------------------------------------------------------------------- */

/* The stack of a coroutine ends where other memory begins. */
TEST(a_stack_in_the_middle_of_memory)
{
	struct entering entering;
	struct victim victim;

	start(&victim, "fiber");
	nap(20000000);
	enter(victim.pid, &entering);
	check_refused("stacks that are not their own", &entering);
	end(&victim, "wrong 0\n");
}

/* Its functions have names at its border alone, and any thread may be in the middle of it. */
static void enter_allocator(const char *program)
{
	struct entering entering;
	struct victim victim;

	start_as(&victim, program, "allocate", 0);
	enter(victim.pid, &entering);
	check_refused("an allocator that is not the C library's", &entering);
	end(&victim, "wrong 0\n");
	start_as(&victim, program, "wait", 0);
	for (int i = 0; i < rounds; i++) {
		enter(victim.pid, &entering);
		if (entering.error)
			printf("#   %s\n", entering.text);
		CHECK_EQUAL(entering.error, 0);
		CHECK_EQUAL(entering.result.result, i + 1);
	}
	end(&victim, "wrong 0\n");
}

TEST(an_allocator_in_the_program)
{
	enter_allocator(getenv("INJECT_ALLOCATOR"));
}

TEST(an_allocator_in_a_program_at_fixed_addresses)
{
	enter_allocator(getenv("INJECT_ALLOCATOR_FIXED"));
}

/* With the older table of functions alone, which is not read. */
TEST(an_allocator_in_a_program_whose_functions_are_not_found)
{
	enter_allocator(getenv("INJECT_ALLOCATOR_SYSV"));
}

/* Nothing is left of what it was to have. */
TEST(a_process_that_may_not_have_another_thread)
{
	struct entering entering;
	struct victim victim;
	size_t before;

	start_as(&victim, getenv("INJECT_VICTIM"), "alone", geteuid() == 0 ? 1000 : 0);
	nap(20000000);
	before = count_mappings(victim.pid);
	CHECK_EQUAL(count_code(victim.pid), 0);
	enter(victim.pid, &entering);
	check_refused("it may not create another thread", &entering);
	CHECK_EQUAL(count_code(victim.pid), 0);
	/* the C library keeps the stack that it had made, and a page before it */
	CHECK(count_mappings(victim.pid) <= before + 2);
	end(&victim, "wrong 0\n");
}

/* ---- a process that lies --------------------------------------------------------------------- */

static const char secret[] = "nobody writes here\n";

/* It says that the library's file is this one, which it may read and we may write. */
static void enter_liar(const char *probe, const char *file)
{
	_Atomic bool is_unwanted = false;
	struct entering entering;
	struct victim victim;
	pthread_t thread;

	setenv("INJECT_VICTIM_FILE", file, 1);
	start_as(&victim, getenv("INJECT_VICTIM"), "hostile", 1000);
	unsetenv("INJECT_VICTIM_FILE");
	fill(victim.pid, &entering);
	entering.options.path = probe;
	entering.options.entry = "inject_probe_slowly";
	entering.options.is_unwanted = &is_unwanted;
	REQUIRE(pthread_create(&thread, NULL, enter_in_thread, &entering) == 0);
	nap(900000000);
	is_unwanted = true;
	pthread_join(thread, NULL);
	printf("# %s\n", entering.error ? entering.text : "it was entered");
	/* until the block is gone: then it has lied all the time */
	nap(50000000);
	end(&victim, "wrong 0\n");
}

static void check_file(const char *path)
{
	char text[sizeof(secret) + 8] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = read(fd, text, sizeof(text) - 1);

	close(fd);
	CHECK_EQUAL(got, (ssize_t)strlen(secret));
	CHECK_TEXT(text, secret);
}

TEST(a_process_that_names_another_file)
{
	char folder[] = "/tmp/inject_liar.XXXXXX", file[64], pipe[64], copy[64], command[512];
	int fd;

	if (geteuid() != 0)
		SKIP("needs root, which may write what the process may read");
	REQUIRE(mkdtemp(folder) && chmod(folder, 0755) == 0 && chmod(probe_path, 0666) == 0);
	snprintf(file, sizeof(file), "%s/file", folder);
	snprintf(pipe, sizeof(pipe), "%s/pipe", folder);
	snprintf(copy, sizeof(copy), "%s/copy.so", folder);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	CHECK_EQUAL(write(fd, secret, strlen(secret)), (ssize_t)strlen(secret));
	close(fd);
	CHECK(mkfifo(pipe, 0644) == 0 && chmod(file, 0644) == 0 && chmod(pipe, 0644) == 0);
	/* one that it may not read itself comes through a file of its own making */
	snprintf(command, sizeof(command), "cp %s %s && chmod 600 %s", getenv("INJECT_PROBE"), copy,
		 copy);
	REQUIRE(system(command) == 0);
	enter_liar(getenv("INJECT_PROBE"), file);
	check_file(file);
	enter_liar(copy, file);
	check_file(file);
	enter_liar(copy, pipe);
	unlink(copy);
	unlink(pipe);
	unlink(file);
	rmdir(folder);
}

/* The build may lie below a folder that other users may not enter, as homes are on Debian 12. */
static char shared_folder[] = "/tmp/inject_shared.XXXXXX";

/* Names a copy in the shared folder instead. */
static void share_file(const char *variable)
{
	const char *path = getenv(variable);
	char copy[512], command[1200];

	if (!path)
		return;
	snprintf(copy, sizeof(copy), "%s%s", shared_folder, strrchr(path, '/'));
	snprintf(command, sizeof(command), "cp '%s' '%s' && chmod 755 '%s'", path, copy, copy);
	if (system(command) == 0)
		setenv(variable, copy, 1);
}

static void share_files(void)
{
	if (!mkdtemp(shared_folder) || chmod(shared_folder, 0755) != 0)
		abort();
	share_file("INJECT_VICTIM");
	share_file("INJECT_PROBE");
}

static void unshare_files(void)
{
	unlink(getenv("INJECT_VICTIM"));
	unlink(getenv("INJECT_PROBE"));
	rmdir(shared_folder);
}

int main(void)
{
	const char *asked = getenv("INJECTOR_ROUNDS"), *asked_kills = getenv("INJECTOR_KILLS");
	int fd = mkstemp(probe_path);

	rounds = asked ? atoi(asked) : rounds;
	kills = asked_kills ? atoi(asked_kills) : kills;
	if (fd < 0)
		return 1;
	share_files();
	RUN(a_thread_that_reads);
	RUN(a_thread_that_computes);
	RUN(a_thread_with_vectors);
	RUN(a_thread_that_allocates);
	RUN(a_storm_of_alarms);
	RUN(a_thread_that_sleeps);
	RUN(a_thread_that_waits_for_so_long);
	RUN(fifty_threads);
	RUN(killed_while_a_thread_reads);
	RUN(killed_while_a_thread_computes);
	RUN(killed_while_a_thread_has_vectors);
	RUN(killed_while_threads_allocate);
	RUN(killed_while_a_thread_sleeps);
	RUN(a_process_that_is_traced);
	RUN(a_process_that_is_stopped);
	RUN(programs_that_load_nothing);
	RUN(no_signal_is_left);
	RUN(a_library_that_is_none);
	RUN(another_users_process);
	RUN(a_file_that_the_process_does_not_see);
	RUN(a_stack_in_the_middle_of_memory);
	RUN(an_allocator_in_the_program);
	RUN(an_allocator_in_a_program_at_fixed_addresses);
	RUN(an_allocator_in_a_program_whose_functions_are_not_found);
	RUN(a_process_that_may_not_have_another_thread);
	RUN(a_process_that_names_another_file);
	unshare_files();
	unlink(probe_path);
	close(fd);
	return harness_end();
}
