/* SPDX-License-Identifier: MIT
 *
 * Arguments: python_remote_wait.py, python_remote_busy.py. Every CPython from 3.8 to 3.13 that is
 * installed is tested, in one case each, so that what is skipped does not depend on how many there
 * are.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "abi/python_offsets.h"
#include "event/kernel_record.h"
#include "symbol/elf/names.h"
#include "symbol/remote/python.h"

#include "../../harness.h"
#include "unattended.h"

enum { READS = HARNESS_IS_SLOW ? 4000 : 20000 };
enum { MAX_PYTHONS = 16, MAX_FRAMES = 1024, MAX_THREADS = 8, MAX_EXPECTED = 700 };

static const char *wait_script, *busy_script;

/* ---- processes ------------------------------------------------------------------------------- */

struct child {
	pid_t pid;
	FILE *output;
};

struct path {
	char text[256];
};

static int find_pythons(struct path *paths)
{
	static const char *const places[] = {"/usr/bin/python3",
					     "%s/.pyenv/versions/3.*/bin/python3"};
	const char *home = getenv("HOME");
	int count = 0;

	for (size_t i = 0; i < ARRAY_COUNT(places); i++) {
		char pattern[256];
		glob_t found;

		snprintf(pattern, sizeof(pattern), places[i], home ? home : "");
		if (glob(pattern, 0, NULL, &found))
			continue;
		for (size_t k = 0; k < found.gl_pathc && count < MAX_PYTHONS; k++)
			snprintf(paths[count++].text, sizeof(paths[0].text), "%s",
				 found.gl_pathv[k]);
		globfree(&found);
	}
	return count;
}

static bool child_start(struct child *child, const char *program, const char *script,
			const char *argument)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return false;
	child->pid = fork();
	if (child->pid == 0) {
		int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

		dup2(null, STDIN_FILENO);
		dup2(ends[1], STDOUT_FILENO);
		execl(program, program, "-I", "-X", "utf8", script, argument, NULL);
		_exit(127);
	}
	close(ends[1]);
	child->output = fdopen(ends[0], "r");
	return child->pid > 0 && child->output;
}

static void child_end(struct child *child)
{
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	fclose(child->output);
}

/* Reader and process each on a processor of its own, where there are two: else they never run at
 * once. */
static void part(pid_t pid)
{
	static cpu_set_t all;
	cpu_set_t one;
	int first = -1, last = -1;

	if (!CPU_COUNT(&all))
		sched_getaffinity(0, sizeof(all), &all);
	for (int i = 0; i < CPU_SETSIZE; i++) {
		if (!CPU_ISSET(i, &all))
			continue;
		first = first < 0 ? i : first;
		last = i;
	}
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	sched_setaffinity(0, sizeof(one), &one);
	CPU_ZERO(&one);
	CPU_SET(last, &one);
	sched_setaffinity(pid, sizeof(one), &one);
}

static bool is_fixed(int fd)
{
	Elf64_Ehdr head;

	return pread(fd, &head, sizeof(head), 0) == sizeof(head) && head.e_type == ET_EXEC;
}

/* What open_remote found the interpreter in. */
static struct {
	char path[256];
	uint64_t load_address;
} found_in;

/* Tries each file that the process has mapped from its begin on; the program is the first. */
static int open_remote(pid_t pid, struct python_remote **ret_remote)
{
	char path[64], line[512], last[256] = "";
	struct python_remote_file program = {.fd = -1};
	int r = -ENOENT;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	while (r == -ENOENT && maps && fgets(line, sizeof(line), maps)) {
		struct python_remote_file file;
		unsigned long long begin, offset;
		char name[256];

		if (sscanf(line, "%llx-%*x %*s %llx %*s %*s %255s", &begin, &offset, name) != 3 ||
		    name[0] != '/' || strcmp(name, last) == 0 || offset != 0)
			continue;
		snprintf(last, sizeof(last), "%s", name);
		file.fd = open(name, O_RDONLY | O_CLOEXEC);
		file.load_address = is_fixed(file.fd) ? 0 : begin;
		r = python_remote_new((uint32_t)pid, &file, program.fd >= 0 ? &program : NULL,
				      ret_remote);
		snprintf(found_in.path, sizeof(found_in.path), "%s", name);
		found_in.load_address = file.load_address;
		if (program.fd < 0)
			program = file;
		else
			close(file.fd);
	}
	if (maps)
		fclose(maps);
	if (program.fd >= 0)
		close(program.fd);
	return r;
}

static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Of this thread's own processor time: the machine may have other work. */
static double computed_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* ---- stacks that stand ----------------------------------------------------------------------- */

struct expected_frame {
	char function[128], file[256];
	uint32_t line, first_line;
};

struct expected {
	uint32_t tid;
	size_t count;
	struct expected_frame frames[MAX_EXPECTED];
};

static bool read_expected(FILE *from, struct expected *ret_expected)
{
	char line[1024];

	ret_expected->count = 0;
	if (!fgets(line, sizeof(line), from))
		return false;
	ret_expected->tid = (uint32_t)strtoul(line, NULL, 10);
	while (fgets(line, sizeof(line), from) && line[0] != '.') {
		struct expected_frame *frame = &ret_expected->frames[ret_expected->count++];

		if (ret_expected->count == MAX_EXPECTED ||
		    sscanf(line, "%127[^\t]\t%255[^\t]\t%u\t%u", frame->function, frame->file,
			   &frame->line, &frame->first_line) != 4)
			return false;
	}
	return line[0] == '.';
}

/* Whoever has just told its stack needs a moment to begin to wait. */
static int read_when_quiet(struct python_remote *remote, uint32_t tid,
			   struct python_remote_frame *frames, size_t most,
			   struct python_remote_gap *gap)
{
	int count = -EAGAIN;

	for (int i = 0; i < 200; i++) {
		count = python_remote_frames(remote, tid, false, frames, most, gap);
		if (count > 0 && !gap->is_moving && i >= 20 && frames[0].function &&
		    strcmp(frames[0].function, "wait") == 0)
			break;
		usleep(1000);
	}
	return count;
}

static bool is_as_expected(const struct python_remote_frame *frame,
			   const struct expected_frame *expected)
{
	if (frame->function && frame->file && strcmp(frame->function, expected->function) == 0 &&
	    strcmp(frame->file, expected->file) == 0 && frame->line == expected->line &&
	    frame->first_line == expected->first_line)
		return true;
	printf("#   got %s %s:%u (%u), want %s %s:%u (%u)\n",
	       frame->function ? frame->function : "(none)", frame->file ? frame->file : "(none)",
	       frame->line, frame->first_line, expected->function, expected->file, expected->line,
	       expected->first_line);
	return false;
}

/* By one copy it is the same; and up to 3.10 each frame's object says whose it is. */
static void check_again(struct python_remote *remote, uint32_t tid,
			const struct python_remote_frame *frames, int count)
{
	static struct python_remote_frame again[MAX_FRAMES];
	struct python_remote_frame object;
	struct python_remote_gap gap;

	CHECK_EQUAL(python_remote_frames(remote, tid, true, again, MAX_FRAMES, &gap), count);
	CHECK(!gap.frames && !gap.is_moving);
	for (int i = 0; i < count; i++) {
		int r = python_remote_object(remote, frames[i].address, &object);

		REQUIRE(again[i].function == frames[i].function &&
			again[i].line == frames[i].line &&
			again[i].is_entry == frames[i].is_entry &&
			again[i].address == frames[i].address &&
			again[i].c_address == frames[i].c_address);
		if (python_remote_version(remote) >= 0x030b)
			CHECK_EQUAL(r, -ENOTSUP);
		else
			CHECK(r == 0 && object.function == frames[i].function &&
			      object.first_line == frames[i].first_line && !object.line);
		if (python_remote_version(remote) >= 0x030c && frames[i].is_entry)
			CHECK(frames[i].c_address != 0);
	}
	CHECK(python_remote_object(remote, 8, &object) < 0);
}

static void check_whole(struct python_remote *remote, const struct expected *expected)
{
	static struct python_remote_frame frames[MAX_FRAMES];
	struct python_remote_gap gap;
	int count = read_when_quiet(remote, expected->tid, frames, MAX_FRAMES, &gap);

	CHECK_EQUAL(count, expected->count);
	REQUIRE(count == (int)expected->count);
	CHECK(!gap.frames && !gap.is_moving);
	for (int i = 0; i < count; i++)
		REQUIRE(is_as_expected(&frames[i], &expected->frames[i]));
	CHECK(frames[count - 1].is_entry);
	for (int i = 0; i < count; i++)
		if (strstr(frames[i].function, "<lambda>"))
			CHECK(frames[i].is_entry); /* called by max and min */
	check_again(remote, expected->tid, frames, count);
}

static void check_ends(struct python_remote *remote, const struct expected *expected)
{
	static struct python_remote_frame whole[MAX_FRAMES];
	struct python_remote_frame frames[7];
	struct python_remote_gap gap;
	uint32_t entries = 0;
	int count = read_when_quiet(remote, expected->tid, frames, 7, &gap);

	REQUIRE(count == 7);
	CHECK_EQUAL(gap.at, 4);
	CHECK_EQUAL(gap.frames, expected->count - 7);
	for (size_t i = 0; i < 7; i++)
		CHECK(is_as_expected(&frames[i],
				     &expected->frames[i < 4 ? i : expected->count - 7 + i]));
	count = python_remote_frames(remote, expected->tid, false, whole, MAX_FRAMES, &gap);
	for (int i = 4; i < count - 3; i++)
		entries += whole[i].is_entry;
	python_remote_frames(remote, expected->tid, false, frames, 7, &gap);
	CHECK_EQUAL(gap.entries, entries);
}

static void print_cost(struct python_remote *remote, const struct expected *expected)
{
	static struct python_remote_frame frames[MAX_FRAMES];
	const uint64_t calls = python_remote_calls(remote);
	const int reads = expected->count > 100 ? 200 : 2000;
	struct python_remote_gap gap;
	double start = now_ns();

	for (int i = 0; i < reads; i++)
		REQUIRE(python_remote_frames(remote, expected->tid, false, frames, MAX_FRAMES,
					     &gap) > 0);
	printf("#   %zu frames: %.1f us, %.2f system calls\n", expected->count,
	       (now_ns() - start) / reads / 1e3,
	       (double)(python_remote_calls(remote) - calls) / reads);
}

/* Both parts of it as the symbols say, where the file was not stripped of them. */
static void check_evaluation(const struct python_remote *remote)
{
	static const char *const names[] = {"_PyEval_EvalFrameDefault",
					    "_PyEval_EvalFrameDefault.cold"};
	struct elf_symbol parts[2];
	int fd = open(found_in.path, O_RDONLY | O_CLOEXEC);

	CHECK(elf_names_find_symbols(fd, names, 2, parts) & 1);
	for (size_t i = 0; i < 2; i++) {
		const uint64_t begin = found_in.load_address + parts[i].value;
		const uint64_t size = parts[i].size;

		if (size < 64) /* too few jumps lead there to be sure */
			continue;
		CHECK(python_remote_is_evaluation(remote, begin));
		CHECK(python_remote_is_evaluation(remote, begin + size - 1));
		CHECK(!python_remote_is_evaluation(remote, begin + size));
		CHECK(!python_remote_is_evaluation(remote, begin - 1));
	}
	CHECK(!python_remote_is_evaluation(remote, 0));
	printf("#   evaluation: %u bytes, %u cold as symbols say\n", (unsigned)parts[0].size,
	       (unsigned)parts[1].size);
	close(fd);
}

static void check_waiting(const char *python)
{
	static struct expected expected[5];
	struct python_remote *remote = NULL;
	struct child child;

	REQUIRE(child_start(&child, python, wait_script, NULL));
	for (size_t i = 0; i < 5; i++)
		CHECK(read_expected(child.output, &expected[i]));
	if (!harness_failed && open_remote(child.pid, &remote) == 0) {
		printf("# %s: %x\n", python, python_remote_version(remote));
		check_evaluation(remote);
		for (size_t i = 0; i < 5; i++)
			check_whole(remote, &expected[i]);
		for (size_t i = 0; i < 5; i++) {
			if (expected[i].count > 7)
				check_ends(remote, &expected[i]);
			print_cost(remote, &expected[i]);
		}
	}
	CHECK(remote != NULL);
	python_remote_free(remote);
	child_end(&child);
}

/* Returns how many there were. */
static int for_each_python(void (*check)(const char *python))
{
	struct path paths[MAX_PYTHONS];
	int count = find_pythons(paths), tested = 0;

	for (int i = 0; i < count; i++) {
		char command[sizeof(struct path) + 64];
		FILE *answer;
		int minor = 0;

		snprintf(command, sizeof(command),
			 "%.255s -c 'import sys; print(sys.version_info[1])'", paths[i].text);
		answer = popen(command, "re");
		if (answer && fscanf(answer, "%d", &minor) == 1 && minor >= 8 && minor <= 13) {
			check(paths[i].text);
			tested++;
		}
		if (answer)
			pclose(answer);
	}
	return tested;
}

TEST(stacks_that_stand)
{
	if (for_each_python(check_waiting) == 0)
		SKIP("no Python 3.8 to 3.13");
}

/* ---- stacks that change ---------------------------------------------------------------------- */

enum { MAX_LINES = 200 };
static char busy_lines[MAX_LINES][160];

static bool read_busy_lines(void)
{
	FILE *file = fopen(busy_script, "re");
	int count = 1;

	while (file && count < MAX_LINES && fgets(busy_lines[count], sizeof(busy_lines[0]), file))
		count++;
	return file && fclose(file) == 0 && count > 40;
}

static const char *short_name(const char *name)
{
	const char *dot = name ? strrchr(name, '.') : NULL;

	return dot ? dot + 1 : name ? name : "";
}

static bool is_ours(const struct python_remote_frame *frame)
{
	return frame->file && strcmp(frame->file, busy_script) == 0;
}

/* What the caller's line says that it calls. */
static bool can_call(const struct python_remote_frame *caller,
		     const struct python_remote_frame *callee)
{
	static const char *const made = "<made>";
	char call[160];

	if (!caller->function || !callee->function || !caller->line)
		return false;
	if (caller->file && strcmp(caller->file, made) == 0)
		return caller->line == 2 ? strcmp(callee->function, "small") == 0
					 : strcmp(callee->function, "fresh") == 0;
	snprintf(call, sizeof(call), "%s(", short_name(callee->function));
	if (is_ours(caller))
		return caller->line < MAX_LINES && strstr(busy_lines[caller->line], call);
	return strcmp(short_name(caller->function), "run") == 0
		       ? strcmp(callee->function, "rounds") == 0
		       : !is_ours(callee); /* threads begin in threading.py */
}

static bool can_begin(const struct python_remote_frame *frame)
{
	const char *name = short_name(frame->function);

	return strcmp(name, "_bootstrap") == 0 || (strcmp(name, "<module>") == 0 && is_ours(frame));
}

static bool is_possible(const struct python_remote_frame *frames, int count, bool is_told)
{
	/* a C frame whose Python frame has ended has no name */
	const int first = count > 1 && !frames[0].function && frames[0].is_entry;
	bool is_good = count > 0 && can_begin(&frames[count - 1]) && frames[count - 1].is_entry;

	for (int i = first; i + 1 < count; i++)
		is_good &= can_call(&frames[i + 1], &frames[i]);
	if (is_good || !is_told)
		return is_good;
	for (int i = 0; i < count; i++)
		printf("#   %s %s:%u\n", frames[i].function ? frames[i].function : "(none)",
		       frames[i].file ? frames[i].file : "(none)", frames[i].line);
	printf("#\n");
	return false;
}

static size_t list_threads(pid_t pid, uint32_t *tids)
{
	char pattern[64];
	glob_t found;
	size_t count = 0;

	snprintf(pattern, sizeof(pattern), "/proc/%d/task/*", pid);
	if (glob(pattern, 0, NULL, &found))
		return 0;
	for (size_t i = 0; i < found.gl_pathc && count < MAX_THREADS; i++)
		tids[count++] = (uint32_t)strtoul(strrchr(found.gl_pathv[i], '/') + 1, NULL, 10);
	globfree(&found);
	return count;
}

/* Time on processors, of all its threads. */
static double spent_ns(pid_t pid)
{
	struct timespec time = {0};
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) == 0)
		clock_gettime(clock, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

struct tally {
	bool is_glance;
	int whole, moving, torn, wrong;
	double depth, moving_depth;
	double sum_ns, most_ns;
};

static void read_one(struct python_remote *remote, uint32_t tid, struct tally *tally)
{
	struct python_remote_frame frames[200];
	struct python_remote_gap gap = {0};
	double start = now_ns(), cost;
	int count = python_remote_frames(remote, tid, tally->is_glance, frames, 200, &gap);

	cost = now_ns() - start;
	tally->sum_ns += cost;
	tally->most_ns = cost > tally->most_ns ? cost : tally->most_ns;
	if (count <= 0) {
		tally->torn += count == -EAGAIN;
		tally->wrong += count != -EAGAIN;
		if (count != -EAGAIN)
			printf("#   answer %d\n", count);
		return;
	}
	tally->whole += !gap.is_moving;
	tally->moving += gap.is_moving;
	*(gap.is_moving ? &tally->moving_depth : &tally->depth) += count;
	if (!is_possible(frames, count, !tally->is_glance))
		tally->wrong++;
}

static void check_busy(const char *python, const char *threads, bool is_glance)
{
	struct python_remote *remote = NULL;
	uint32_t tids[MAX_THREADS];
	struct tally tally = {.is_glance = is_glance};
	const int reads = is_glance ? READS / 4 : READS, most_wrong = is_glance ? reads / 10 : 1;
	struct child child;
	char line[64];
	size_t count;
	double start, spent;
	uint64_t calls;

	REQUIRE(child_start(&child, python, busy_script, threads));
	CHECK(fgets(line, sizeof(line), child.output));
	usleep(100000);
	count = list_threads(child.pid, tids);
	for (size_t i = 0; i < count; i++)
		part((pid_t)tids[i]);
	CHECK_EQUAL(count, 1 + atoi(threads));
	if (open_remote(child.pid, &remote) == 0) {
		start = now_ns();
		spent = spent_ns(child.pid);
		for (int i = 0; i < reads && tally.wrong <= most_wrong + 2; i++) {
			read_one(remote, tids[i % count], &tally);
			if (i % 64 == 0)
				usleep(300);
		}
		calls = python_remote_calls(remote);
		spent = (spent_ns(child.pid) - spent) / (now_ns() - start);
		printf("# %x, %zu threads: %d whole (%.1f frames), %d with moving inner frames "
		       "%s (%.1f), %d torn, "
		       "%d wrong; %.1f us, at most %.0f, %.2f system calls; it ran %.0f %% of the "
		       "time\n",
		       python_remote_version(remote), count, tally.whole,
		       tally.depth / (tally.whole ? tally.whole : 1), tally.moving,
		       is_glance ? "told" : "left out",
		       tally.moving_depth / (tally.moving ? tally.moving : 1), tally.torn,
		       tally.wrong, tally.sum_ns / reads / 1e3, tally.most_ns / 1e3,
		       (double)calls / reads, spent * 100);
		/* Nothing is stopped, so that one cannot be ruled out; none of 1.7 million was. A
		 * glance may have the inner functions of a moment later. */
		CHECK(tally.wrong <= most_wrong);
		CHECK(tally.whole + tally.moving > reads / 100);
	}
	CHECK(remote != NULL);
	python_remote_free(remote);
	child_end(&child);
}

static void check_one(const char *python)
{
	check_busy(python, "0", false);
}

static void check_glances(const char *python)
{
	check_busy(python, "0", true);
}

static void check_four(const char *python)
{
	check_busy(python, "3", false);
}

/* One thread is always on a processor; four wait for each other's lock most of the time. */
TEST(stacks_that_change)
{
	REQUIRE(read_busy_lines());
	if (for_each_python(check_one) == 0 || for_each_python(check_four) == 0)
		SKIP("no Python 3.8 to 3.13");
}

TEST(glances_at_stacks_that_change)
{
	REQUIRE(read_busy_lines());
	if (for_each_python(check_glances) == 0)
		SKIP("no Python 3.8 to 3.13");
}

/* ---- the interpreter's lock ------------------------------------------------------------------ */

/* The address that a thread sleeps on; 0: it does something else. */
static uint64_t slept_on(pid_t pid, uint32_t tid)
{
	unsigned long long address = 0;
	char path[64];
	FILE *file;
	int call;

	snprintf(path, sizeof(path), "/proc/%d/task/%u/syscall", pid, tid);
	file = fopen(path, "re");
	if (file && (fscanf(file, "%d %llx", &call, &address) != 2 || call != SYS_futex))
		address = 0;
	if (file)
		fclose(file);
	return address;
}

/* What a switch program copies when the wait begins. */
static bool copy_before(int pid, uint64_t address, struct python_remote_copy *copy, uint8_t *bytes)
{
	struct iovec here = {bytes, KERNEL_BEFORE_LOCK_WORDS * sizeof(uint32_t)};
	struct iovec there = {(void *)(uintptr_t)(address - KERNEL_BEFORE_LOCK), here.iov_len};

	*copy = (struct python_remote_copy){address - KERNEL_BEFORE_LOCK, bytes, here.iov_len};
	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)here.iov_len;
}

/* Of four threads that compute, three wait for the lock at each moment, and the fourth has it. */
static void check_lock(const char *python)
{
	struct python_remote *remote = NULL;
	struct python_remote_copy copy;
	struct python_remote_holder holder, earlier;
	uint32_t tids[MAX_THREADS];
	int waits = 0, held = 0, others = 0, strangers = 0, copied = 0, crowded = 0;
	uint32_t waiters;
	uint64_t switches = 0;
	uint8_t bytes[64];
	struct child child;
	uint64_t lock, other;
	char line[64];
	size_t count;

	REQUIRE(child_start(&child, python, busy_script, "3"));
	CHECK(fgets(line, sizeof(line), child.output));
	usleep(100000);
	count = list_threads(child.pid, tids);
	CHECK_EQUAL(open_remote(child.pid, &remote), 0);
	for (int i = 0; remote && waits < 100 && i < 50000; i++) {
		const uint32_t tid = tids[i % count];
		const uint64_t address = slept_on(child.pid, tid);

		if (!address || python_remote_lock(remote, address, &lock) != 1) {
			others += address != 0;
			usleep(100);
			continue;
		}
		waits++;
		CHECK_EQUAL(python_remote_holder(remote, tid, lock, NULL, &holder), 0);
		held += holder.tid != 0;
		for (size_t k = 0; k < count; k++)
			strangers += tids[k] == holder.tid;
		CHECK(copy_before(child.pid, address, &copy, bytes));
		CHECK_EQUAL(python_remote_holder(remote, tid, lock, &copy, &earlier), 0);
		/* a copy that ends before it contains all */
		copied += earlier.tid != 0;
		CHECK(holder.switches >= switches);
		switches = holder.switches;
		waiters = python_remote_waiters(remote);
		/* one in two moments, as it changes meanwhile */
		crowded += waiters >= 2 && waiters <= 4;
		copy.size = 0;
		CHECK_EQUAL(python_remote_holder(remote, tid, lock, &copy, &earlier), 0);
		CHECK_EQUAL(earlier.tid, 0);
		/* exactly its 208 bytes */
		CHECK_EQUAL(python_remote_lock(remote, lock, &other), 1);
		CHECK_EQUAL(python_remote_lock(remote, lock + 207, &other), 1);
		CHECK_EQUAL(other, lock);
		CHECK_EQUAL(python_remote_lock(remote, lock + 208, &other), 0);
		CHECK_EQUAL(python_remote_lock(remote, lock - 1, &other), 0);
	}
	printf("# %x: %d waits for the lock, %d with a holder, %d from a copy, %d others\n",
	       remote ? python_remote_version(remote) : 0, waits, held, copied, others);
	CHECK(waits == 100 && others <= waits);
	CHECK(held > waits / 2 && copied > waits / 2 && crowded > waits / 2 && switches > 0);
	CHECK_EQUAL(strangers, held);
	python_remote_free(remote);
	child_end(&child);
}

TEST(who_has_the_lock)
{
	if (for_each_python(check_lock) == 0)
		SKIP("no Python 3.8 to 3.13");
}

/* ---- what is no Python, or none any more ----------------------------------------------------- */

/* Its memory is gone before its exit status is fetched. */
TEST(a_process_that_exits)
{
	struct path paths[MAX_PYTHONS];
	struct python_remote_frame frames[64];
	struct python_remote_gap gap;
	struct python_remote *remote = NULL;
	struct child child;
	char line[64];
	int r = 0;

	if (find_pythons(paths) == 0)
		SKIP("no Python");
	REQUIRE(child_start(&child, paths[0].text, busy_script, "0"));
	CHECK(fgets(line, sizeof(line), child.output));
	CHECK_EQUAL(open_remote(child.pid, &remote), 0);
	for (int i = 0; remote && i < 2000000 && r != -ESRCH; i++) {
		if (i == 1000)
			kill(child.pid, SIGKILL);
		r = python_remote_frames(remote, (uint32_t)child.pid, false, frames, 64, &gap);
		CHECK(r > 0 || r == -EAGAIN || r == -ESRCH || r == 0);
	}
	CHECK_EQUAL(r, -ESRCH);
	python_remote_free(remote);
	child_end(&child);
}

TEST(what_is_no_python)
{
	struct python_remote_file self = {.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)};
	struct python_remote *remote = NULL;
	struct path paths[MAX_PYTHONS];

	CHECK_EQUAL(python_remote_new((uint32_t)getpid(), &self, NULL, &remote), -ENOENT);
	close(self.fd);
	self.fd = -1;
	CHECK_EQUAL(python_remote_new((uint32_t)getpid(), &self, NULL, &remote), -ENOENT);
	CHECK(!remote);
	if (find_pythons(paths) == 0)
		SKIP("no Python");
	/* the file of one, but this process is none */
	self.fd = open(paths[0].text, O_RDONLY | O_CLOEXEC);
	self.load_address = 0x7000;
	CHECK_EQUAL(python_remote_new((uint32_t)getpid(), &self, NULL, &remote), -EAGAIN);
	CHECK(strstr(error_text(), "has not started yet"));
	error_clear();
	close(self.fd);
	CHECK(!remote);
}

/* ---- memory that was not written by Python --------------------------------------------------- */

enum {
	HOSTILE_SYMBOLS = 6,
	HOSTILE_BYTES = 320 << 20, /* of which few are ever written */
	HOSTILE_DENSE = 1 << 18,
	HOSTILE_SEEDS = 60,
	HOSTILE_READS = 20
};

/* Memory of a process that never was an interpreter, as it appears to be one: this process's
 * own. */
struct hostile {
	uint8_t *memory; /* the file's symbols lie in its middle */
	uint64_t load_address;
	struct elf_symbol symbols[HOSTILE_SYMBOLS];
	const struct python_offsets *at;
	uint64_t seed;
};

static const char *const hostile_names[HOSTILE_SYMBOLS] = {"_PyRuntime",     "PyCode_Type",
							   "PyUnicode_Type", "PyBytes_Type",
							   "PyFrame_Type",   "Py_Version"};

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static uint64_t place(struct hostile *hostile)
{
	return (uint64_t)(uintptr_t)hostile->memory +
	       next_random(&hostile->seed) % (HOSTILE_DENSE / 8) * 8;
}

static void put_word(struct hostile *hostile, uint64_t address, uint64_t value)
{
	const uint64_t begin = (uint64_t)(uintptr_t)hostile->memory;

	if (address - begin <= HOSTILE_BYTES - sizeof(value))
		memcpy(hostile->memory + (address - begin), &value, sizeof(value));
}

static uint64_t symbol_at(const struct hostile *hostile, size_t symbol)
{
	return hostile->load_address + hostile->symbols[symbol].value;
}

/* Pointers to elsewhere in it, types, small and large numbers. */
static void fill(struct hostile *hostile)
{
	uint64_t begin = (uint64_t)(uintptr_t)hostile->memory;

	for (uint64_t at = begin; at < begin + HOSTILE_DENSE + 65536; at += sizeof(uint64_t)) {
		uint64_t value = next_random(&hostile->seed), kind = value >> 60;

		put_word(hostile, at,
			 kind < 8    ? place(hostile)
			 : kind < 12 ? symbol_at(hostile, 1 + value % 4)
			 : kind < 14 ? value % 300
			 : kind < 15 ? value
				     : 0);
	}
}

static uint64_t word_of(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

/* A text or bytes, mostly as it should be. */
static uint64_t put_object(struct hostile *hostile, size_t type)
{
	const struct python_offsets *at = hostile->at;
	const uint64_t object = place(hostile), random = next_random(&hostile->seed);
	const uint64_t kinds[] = {1 << 2 | 1 << 5 | 1 << 6, 2 << 2 | 1 << 5, 4 << 2 | 1 << 5, 0};

	put_word(hostile, object + at->object_type, symbol_at(hostile, type));
	put_word(hostile, object + at->text_length,
		 random % 8 ? random >> 8 & 0xff : random >> (random >> 8 & 63));
	if (type == 2)
		put_word(hostile, object + at->text_state,
			 kinds[random % 16 < 13 ? 0 : random % 4]);
	return object;
}

static uint64_t put_code(struct hostile *hostile)
{
	const struct python_offsets *at = hostile->at;
	const uint64_t code = place(hostile);

	put_word(hostile, code + at->code_first_line, 7);
	put_word(hostile, code + at->object_type, symbol_at(hostile, 1));
	put_word(hostile, code + at->code_name, put_object(hostile, 2));
	if (at->code_qualified_name)
		put_word(hostile, code + at->code_qualified_name, put_object(hostile, 2));
	put_word(hostile, code + at->code_file, put_object(hostile, 2));
	put_word(hostile, code + at->code_lines, put_object(hostile, 3));
	if (at->code_first_traceable)
		put_word(hostile, code + at->code_first_traceable, 0);
	return code;
}

/* The i-th one from outside; the outermost one is as each version wants it. */
static void put_frame(struct hostile *hostile, uint64_t frame, uint64_t code, uint64_t previous,
		      uint64_t i)
{
	const struct python_offsets *at = hostile->at;

	put_word(hostile, frame + at->frame_code, code);
	put_word(hostile, frame + at->frame_instruction,
		 at->layout == PYTHON_LAYOUT_OBJECTS ? i * 3
						     : code + at->code_instructions + i * 6);
	if (at->layout == PYTHON_LAYOUT_OBJECTS) {
		put_word(hostile, frame, 1);
		put_word(hostile, frame + at->object_type, symbol_at(hostile, 4));
	} else {
		uint8_t tail[8] = {0};

		tail[at->frame_owner % 8] =
			i == 0 && at->layout == PYTHON_LAYOUT_SHIM ? at->shim : 0;
		if (at->frame_entry)
			tail[at->frame_entry % 8] = i % 4 == 0;
		put_word(hostile, (frame + at->frame_owner) & ~UINT64_C(7), word_of(tail));
	}
	put_word(hostile, frame + at->frame_previous, previous);
}

/* A stack; its innermost frame. */
static uint64_t put_frames(struct hostile *hostile)
{
	uint64_t previous = 0;

	for (uint64_t i = 0; i < 12; i++) {
		const uint64_t frame = place(hostile);

		put_frame(hostile, frame, put_code(hostile), previous, i);
		previous = frame;
	}
	return previous;
}

/* So that a walk begins: lists of one interpreter and one thread, this one, with frames somewhere.
 * The thread's state. */
static uint64_t lead_in(struct hostile *hostile)
{
	const struct python_offsets *at = hostile->at;
	const uint64_t runtime = symbol_at(hostile, 0), state = place(hostile);
	const uint64_t interpreter = place(hostile), chunk = place(hostile);
	const uint64_t frame = put_frames(hostile);

	put_word(hostile, symbol_at(hostile, 5), (uint64_t)at->version << 16 | 0xf0);
	if (python_offsets_speak(at->version)) {
		put_word(hostile, runtime, PYTHON_DEBUG_COOKIE);
		put_word(hostile, runtime + 8, (uint64_t)at->version << 16);
		put_word(hostile, runtime + 16, 0);
		for (size_t i = 0; i < ARRAY_COUNT(python_debug_words); i++) {
			const struct python_debug_word *word = &python_debug_words[i];
			uint16_t value;

			memcpy(&value, (const uint8_t *)at + word->member, sizeof(value));
			put_word(hostile,
				 runtime + 8 * word->word[at->version - PYTHON_DEBUG_FIRST], value);
		}
	}
	put_word(hostile, runtime + at->runtime_interpreters, interpreter);
	put_word(hostile, interpreter + at->interpreter_next, 0);
	put_word(hostile, interpreter + at->interpreter_threads, state);
	put_word(hostile, state + at->thread_next, 0);
	put_word(hostile, state + at->thread_id, (uint64_t)pthread_self());
	if (at->thread_native_id)
		put_word(hostile, state + at->thread_native_id, (uint64_t)getpid());
	if (at->thread_chunk) {
		put_word(hostile, chunk, next_random(&hostile->seed) % 4 ? 0 : place(hostile));
		put_word(hostile, state + at->thread_chunk, chunk);
		put_word(hostile, state + at->thread_chunk + PYTHON_STACK_TOP,
			 chunk + next_random(&hostile->seed) % 65536);
	}
	put_word(hostile, state + at->thread_frame,
		 at->cframe ? state + at->thread_frame + 64 : frame);
	if (at->cframe)
		put_word(hostile, state + at->thread_frame + 64 + at->cframe_frame, frame);
	for (uint64_t i = next_random(&hostile->seed) % 60; i > 0; i--)
		put_word(hostile, place(hostile), place(hostile));
	return state;
}

static double read_hostile(struct hostile *hostile, const struct python_remote_file *file,
			   int *answers)
{
	struct python_remote *remote = NULL;
	struct python_remote_frame frames[32];
	struct python_remote_frame object;
	struct python_remote_gap gap;
	struct python_remote_holder holder;
	uint64_t lock;
	double most = 0;
	int r = python_remote_new((uint32_t)getpid(), file, NULL, &remote);

	CHECK_EQUAL(r, 0);
	for (int i = 0; remote && i < HOSTILE_READS; i++) {
		double start = computed_ns();

		r = python_remote_frames(remote, (uint32_t)getpid(), i % 2, frames, 32, &gap);
		CHECK(r <= 32);
		CHECK(python_remote_lock(remote, (uint64_t)(uintptr_t)hostile->memory, &lock) <= 1);
		CHECK(python_remote_holder(remote, (uint32_t)getpid(),
					   (uint64_t)(uintptr_t)hostile->memory, NULL,
					   &holder) <= 0);
		if (r > 0)
			CHECK(python_remote_object(remote, frames[0].address, &object) <= 0);
		*answers += r > 0;
		for (int k = 0; k < r; k++)
			CHECK(!frames[k].function || strlen(frames[k].function) < 4096);
		start = computed_ns() - start;
		most = start > most ? start : most;
		if (i % 4 == 3)
			fill(hostile), lead_in(hostile);
	}
	python_remote_free(remote);
	return most;
}

static bool hostile_init(struct hostile *hostile, uint16_t version, int fd)
{
	uint64_t first = UINT64_MAX;

	*hostile = (struct hostile){.at = python_offsets_find(version), .seed = 88172645463325252};
	elf_names_find_symbols(fd, hostile_names, HOSTILE_SYMBOLS, hostile->symbols);
	hostile->memory = mmap(NULL, HOSTILE_BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (size_t i = 0; i < HOSTILE_SYMBOLS; i++)
		if (hostile->symbols[i].value && hostile->symbols[i].value < first)
			first = hostile->symbols[i].value;
	hostile->load_address =
		(uint64_t)(uintptr_t)hostile->memory + 2 * HOSTILE_DENSE - first / 8 * 8;
	return hostile->symbols[0].value && hostile->memory != MAP_FAILED;
}

/* As if that Python were in this process. */
static bool hostile_begin(struct hostile *hostile, const char *python,
			  struct python_remote_file *ret_file)
{
	struct python_remote *remote = NULL;
	struct child child;
	char line[64];
	uint16_t version;

	if (!child_start(&child, python, busy_script, "0"))
		return false;
	CHECK(fgets(line, sizeof(line), child.output));
	CHECK_EQUAL(open_remote(child.pid, &remote), 0);
	version = remote ? python_remote_version(remote) : 0;
	python_remote_free(remote);
	child_end(&child);
	ret_file->fd = open(found_in.path, O_RDONLY | O_CLOEXEC);
	if (!version || !hostile_init(hostile, version, ret_file->fd))
		return false;
	ret_file->load_address = hostile->load_address;
	return true;
}

static void hostile_end(struct hostile *hostile, struct python_remote_file *file)
{
	munmap(hostile->memory, HOSTILE_BYTES);
	close(file->fd);
}

static void check_hostile(const char *python)
{
	struct python_remote_file file;
	struct hostile hostile;
	double most = 0;
	int answers = 0;

	REQUIRE(hostile_begin(&hostile, python, &file));
	for (int i = 0; i < HOSTILE_SEEDS; i++) {
		double one;

		fill(&hostile);
		lead_in(&hostile);
		one = read_hostile(&hostile, &file, &answers);
		most = one > most ? one : most;
	}
	printf("# %x: %d answers of %d, at most %.1f ms\n", hostile.at->version, answers,
	       HOSTILE_SEEDS * HOSTILE_READS, most / 1e6);
	CHECK(most < 2e9);
	hostile_end(&hostile, &file);
}

TEST(memory_that_lies)
{
	if (for_each_python(check_hostile) == 0)
		SKIP("no Python 3.8 to 3.13");
}

/* ---- a stack that is large ------------------------------------------------------------------- */

enum { CHUNK_BYTES = 4 << 20, CHUNKS_FEW = 3, CHUNKS_MANY = 64, CALLS_LEFT_ALONE = 70 };

/* One frame in each piece of the data stack. */
static void put_chunks(struct hostile *hostile, uint64_t state, uint64_t count)
{
	const struct python_offsets *at = hostile->at;
	uint64_t chunk = 0, frame = 0;

	for (uint64_t i = 0; i < count; i++) {
		const uint64_t next = (uint64_t)(uintptr_t)hostile->memory + (i + 1) * CHUNK_BYTES;

		put_word(hostile, next, chunk);
		put_word(hostile, next + PYTHON_CHUNK_TOP,
			 (CHUNK_BYTES - PYTHON_CHUNK_DATA) / sizeof(uint64_t));
		put_frame(hostile, next + PYTHON_CHUNK_DATA, put_code(hostile), frame, i);
		frame = next + PYTHON_CHUNK_DATA;
		chunk = next;
	}
	put_word(hostile, state + at->thread_chunk, chunk);
	put_word(hostile, state + at->thread_chunk + PYTHON_STACK_TOP, chunk + CHUNK_BYTES);
	put_word(hostile,
		 at->cframe ? state + at->thread_frame + 64 + at->cframe_frame
			    : state + at->thread_frame,
		 frame);
}

static void check_large(const char *python)
{
	static struct python_remote_frame frames[MAX_FRAMES];
	const uint32_t tid = (uint32_t)getpid();
	struct python_remote *remote = NULL;
	struct python_remote_file file;
	struct python_remote_gap gap;
	struct hostile hostile;
	uint64_t state;
	int few, again = -E2BIG;

	REQUIRE(hostile_begin(&hostile, python, &file));
	if (hostile.at->thread_chunk) {
		state = lead_in(&hostile);
		REQUIRE(python_remote_new(tid, &file, NULL, &remote) == 0);
		put_chunks(&hostile, state, CHUNKS_FEW);
		few = python_remote_frames(remote, tid, false, frames, MAX_FRAMES, &gap);
		CHECK(few >= CHUNKS_FEW - 1); /* the outermost one may be none */
		put_chunks(&hostile, state, CHUNKS_MANY);
		CHECK_EQUAL(python_remote_frames(remote, tid, false, frames, MAX_FRAMES, &gap),
			    -E2BIG);
		put_chunks(&hostile, state, CHUNKS_FEW);
		for (int i = 0; i < CALLS_LEFT_ALONE && again == -E2BIG; i++)
			again = python_remote_frames(remote, tid, true, frames, MAX_FRAMES, &gap);
		CHECK_EQUAL(again, few);
		python_remote_free(remote);
	}
	hostile_end(&hostile, &file);
}

TEST(a_stack_of_many_bytes)
{
	if (for_each_python(check_large) == 0)
		SKIP("no Python 3.8 to 3.13");
}

/* ---- functions that say much of their lines -------------------------------------------------- */

enum { TALKERS = 1400, TALK_BYTES = 60000, TALKER_BYTES = 1024, TALKER_LINE = 7 };

static uint64_t put_text(struct hostile *hostile, uint64_t text)
{
	put_word(hostile, text + hostile->at->object_type, symbol_at(hostile, 2));
	put_word(hostile, text + hostile->at->text_length, 3);
	put_word(hostile, text + hostile->at->text_state, 1 << 2 | 1 << 5 | 1 << 6);
	put_word(hostile, text + hostile->at->text_ascii, 0x636261);
	return text;
}

/* A table that says of each instruction that it is on the first line. */
static uint64_t put_talk(struct hostile *hostile, uint64_t lines)
{
	const uint64_t word = hostile->at->version >= 0x030b ? UINT64_C(0x0087008700870087)
							     : UINT64_C(0x0010001000100010);

	put_word(hostile, lines + hostile->at->object_type, symbol_at(hostile, 3));
	put_word(hostile, lines + hostile->at->bytes_length, TALK_BYTES);
	for (uint64_t i = 0; i < TALK_BYTES; i += sizeof(word))
		put_word(hostile, lines + hostile->at->bytes_data + i, word);
	return lines;
}

/* A stack of different functions that have one table. */
static void put_talkers(struct hostile *hostile, uint64_t state)
{
	const struct python_offsets *at = hostile->at;
	const uint64_t begin = (uint64_t)(uintptr_t)hostile->memory + CHUNK_BYTES;
	const uint64_t text = put_text(hostile, begin), lines = put_talk(hostile, begin + 4096);
	uint64_t frame = 0;

	for (uint64_t i = 0; i < TALKERS; i++) {
		const uint64_t code = begin + CHUNK_BYTES + i * TALKER_BYTES;
		const uint64_t next = code + TALKER_BYTES / 2;

		put_word(hostile, code + at->code_first_line, TALKER_LINE);
		put_word(hostile, code + at->object_type, symbol_at(hostile, 1));
		put_word(hostile, code + at->code_name, text);
		if (at->code_qualified_name)
			put_word(hostile, code + at->code_qualified_name, text);
		put_word(hostile, code + at->code_file, text);
		put_word(hostile, code + at->code_lines, lines);
		put_frame(hostile, next, code, frame, i);
		frame = next;
	}
	if (at->thread_chunk)
		put_word(hostile, state + at->thread_chunk, 0);
	put_word(hostile,
		 at->cframe ? state + at->thread_frame + 64 + at->cframe_frame
			    : state + at->thread_frame,
		 frame);
}

static void check_talkers(const char *python)
{
	static struct python_remote_frame frames[TALKERS];
	const uint32_t tid = (uint32_t)getpid();
	struct python_remote *remote = NULL;
	struct python_remote_file file;
	struct python_remote_gap gap;
	struct hostile hostile;
	int count, with_line = 0;

	REQUIRE(hostile_begin(&hostile, python, &file));
	put_talkers(&hostile, lead_in(&hostile));
	REQUIRE(python_remote_new(tid, &file, NULL, &remote) == 0);
	count = python_remote_frames(remote, tid, false, frames, TALKERS, &gap);
	CHECK(count >= TALKERS - 1); /* the outermost one may be none */
	for (int i = 0; i < count; i++)
		with_line += frames[i].line == TALKER_LINE;
	CHECK(with_line > 500);
	printf("# %x: %d of %d functions with lines\n", hostile.at->version, with_line, count);
	CHECK((uint64_t)with_line * TALK_BYTES <= 64 << 20);
	python_remote_free(remote);
	hostile_end(&hostile, &file);
}

TEST(functions_that_say_much_of_their_lines)
{
	if (for_each_python(check_talkers) == 0)
		SKIP("no Python 3.8 to 3.13");
}

/* ---- memory that nobody brings --------------------------------------------------------------- */

enum { UNATTENDED_BYTES = 16 * 4096 };

/* One pointer after the other leads there; has it: which. False: there is no such pointer in this
 * version. */
static bool lead_astray(struct hostile *hostile, uint64_t state, int which, uint64_t absent)
{
	const struct python_offsets *at = hostile->at;
	const uint64_t frame = place(hostile), code = put_code(hostile);
	const uint64_t frame_at = at->cframe ? state + at->thread_frame + 64 + at->cframe_frame
					     : state + at->thread_frame;

	put_frame(hostile, frame, code, 0, 0);
	put_word(hostile, frame_at, frame);
	switch (which) {
	case 0:
		put_word(hostile, symbol_at(hostile, 0) + at->runtime_interpreters, absent);
		return true;
	case 1:
		put_word(hostile, frame_at, absent);
		return true;
	case 2:
		put_word(hostile, frame + at->frame_previous, absent);
		return true;
	case 3:
		put_word(hostile, frame + at->frame_code, absent);
		return true;
	case 4:
		put_word(hostile, code + at->code_file, absent);
		return true;
	case 5:
		put_word(hostile, code + at->code_lines, absent);
		return true;
	case 6:
		put_word(hostile, state + at->thread_chunk, absent);
		return at->thread_chunk != 0;
	default:
		put_word(hostile, state + at->thread_frame, absent);
		return at->cframe != 0;
	}
}

static int unattended_fd = -1;
static uint8_t *unattended;

static void check_unattended(const char *python)
{
	const uint32_t tid = (uint32_t)getpid();
	struct python_remote *remote = NULL;
	struct python_remote_frame frames[32];
	struct python_remote_gap gap;
	struct python_remote_file file;
	struct hostile hostile;
	struct python_remote_holder holder;
	uint64_t state, lock;

	REQUIRE(hostile_begin(&hostile, python, &file));
	for (int which = 0; which < 8; which++) {
		state = lead_in(&hostile);
		REQUIRE(python_remote_new(tid, &file, NULL, &remote) == 0);
		if (lead_astray(&hostile, state, which, (uintptr_t)unattended + 256)) {
			python_remote_frames(remote, tid, false, frames, 32, &gap);
			python_remote_frames(remote, tid, true, frames, 32, &gap);
			python_remote_lock(remote, (uintptr_t)unattended, &lock);
			python_remote_holder(remote, tid, (uintptr_t)unattended, NULL, &holder);
			python_remote_object(remote, (uintptr_t)unattended + 256, &frames[0]);
		}
		python_remote_free(remote);
	}
	file.load_address = (uintptr_t)unattended - hostile.symbols[0].value;
	CHECK_EQUAL(python_remote_new(tid, &file, NULL, &remote), -EAGAIN);
	error_clear();
	hostile_end(&hostile, &file);
}

/* Whoever reads it waits for ever: that the alarm is not heard is what is tested. */
TEST(memory_that_nobody_brings)
{
	unattended_fd = unattended_pages(UNATTENDED_BYTES, &unattended);
	if (unattended_fd < 0)
		SKIP("no right to a userfaultfd");
	alarm(60);
	if (for_each_python(check_unattended) == 0)
		harness_skip_reason = "no Python 3.8 to 3.13";
	alarm(0);
	unattended_end(unattended_fd, unattended, UNATTENDED_BYTES);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	wait_script = argv[1];
	busy_script = argv[2];
	RUN(stacks_that_stand);
	RUN(stacks_that_change);
	RUN(glances_at_stacks_that_change);
	RUN(who_has_the_lock);
	RUN(a_process_that_exits);
	RUN(what_is_no_python);
	RUN(memory_that_lies);
	RUN(a_stack_of_many_bytes);
	RUN(functions_that_say_much_of_their_lines);
	RUN(memory_that_nobody_brings);
	return harness_end();
}
