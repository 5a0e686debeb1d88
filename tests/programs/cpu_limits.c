/* SPDX-License-Identifier: MIT
 *
 * tests/programs/cpu_limits.c - programs that are too much for a profiler, for the tests of the CPU
 * collector
 *
 *	cpu_limits forks N MS          N children in MS milliseconds, each of which ends at once
 *	cpu_limits threads N           N threads at the same time, each with some work and some
 *	                               sleep
 *	cpu_limits libraries N FOLDER  maps N files as code, and runs in the last one
 *	cpu_limits churn N FOLDER      maps N times, each somewhere else, has 100 at a time, and
 *	                               runs in the last one
 *	cpu_limits hold N FOLDER       the same with all N at a time
 *	cpu_limits spawn MS            for MS of processor time: threads that work 20 ms each, two
 *	                               at a time
 *	cpu_limits daemon MS           a grandchild whose parent has ended works for MS; waits for
 *	                               it through a pipe
 *	cpu_limits again MS            works for MS, then calls exec of itself as "again_b", which
 *	                               does so too
 *	cpu_limits faults N            touches N pages of memory
 *	cpu_limits busy MS             works, until MS of wall time are over
 *	cpu_limits doze N              N times: works for 5 ms, sleeps for 10
 *	cpu_limits shut N              the same, with debuggers shut out
 *
 * Prints what it did, the same each time; with "spawn", "daemon", "busy", "doze" and "shut"
 * nanoseconds of processor time.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, CODE_BYTES = 2 * PAGE, KEPT = 100 };

static volatile uint64_t sink;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Position-independent and without calls: it works wherever its bytes are. */
__attribute__((noinline, aligned(64))) static uint64_t turn_around(uint64_t rounds)
{
	uint64_t value = rounds;

	for (uint64_t i = 0; i < rounds; i++)
		__asm__ volatile("" : "+r"(value));
	return value;
}

__attribute__((noinline)) static void work(uint64_t ns)
{
	uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin < ns)
		sink += turn_around(20000);
}

static int forks(int count, uint64_t ms)
{
	uint64_t begin = clock_ns(CLOCK_MONOTONIC);

	for (int i = 0; i < count; i++) {
		pid_t pid = fork();
		uint64_t due, now;

		if (pid == 0)
			_exit(0);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return 1;
		due = begin + ms * 1000000 * (uint64_t)i / (uint64_t)count;
		now = clock_ns(CLOCK_MONOTONIC);
		if (now < due)
			usleep((useconds_t)((due - now) / 1000));
	}
	printf("%d children\n", count);
	return 0;
}

static void *work_and_sleep(void *argument)
{
	pthread_barrier_wait(argument);
	for (int i = 0; i < 4; i++) {
		work(200000);
		usleep(10000);
	}
	return NULL;
}

static int threads(int count)
{
	pthread_t *ids = calloc((size_t)count, sizeof(*ids));
	pthread_barrier_t together;
	pthread_attr_t small;

	pthread_barrier_init(&together, NULL, (unsigned)count);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (int i = 0; i < count; i++)
		if (pthread_create(&ids[i], &small, work_and_sleep, &together))
			return 1;
	for (int i = 0; i < count; i++)
		pthread_join(ids[i], NULL);
	printf("%d threads\n", count);
	free(ids);
	return 0;
}

/* ---- code ------------------------------------------------------------------------------------ */

/* Where in our own file the code lies; by /proc/self/maps. */
static int find_code(uint64_t *ret_offset)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, end, offset;
	uintptr_t code = (uintptr_t)turn_around;
	char line[4096];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 && code >= start &&
		    code < end) {
			*ret_offset = code - start + offset;
			fclose(maps);
			return 0;
		}
	}
	return -1;
}

static int copy_self(const char *to)
{
	int from = open("/proc/self/exe", O_RDONLY),
	    out = open(to, O_CREAT | O_RDWR | O_TRUNC, 0755);
	char bytes[65536];
	ssize_t got;

	while (from >= 0 && out >= 0 && (got = read(from, bytes, sizeof(bytes))) > 0)
		if (write(out, bytes, (size_t)got) != got)
			return -1;
	close(from);
	return out;
}

/* Calls the code in a mapping of two pages from the one on in which it begins. */
static void work_in(const char *mapping, uint64_t offset, uint64_t ns)
{
	uint64_t (*code)(uint64_t), begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	const char *at = mapping + offset % PAGE;

	memcpy(&code, &at, sizeof(code));
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin < ns)
		sink += code(20000);
}

static void *map_code(int fd, uint64_t offset, void *where)
{
	return mmap(where, CODE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | (where ? MAP_FIXED : 0),
		    fd, (off_t)(offset / PAGE * PAGE));
}

static int libraries(int count, const char *folder)
{
	char first[4096], path[4096];
	void *mapping = NULL;
	uint64_t offset;

	snprintf(first, sizeof(first), "%s/first.so", folder);
	if (find_code(&offset) || copy_self(first) < 0)
		return 1;
	for (int i = 0; i < count; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/library_%d.so", folder, i);
		if (link(first, path) < 0)
			return 1;
		fd = open(path, O_RDONLY);
		mapping = map_code(fd, offset, NULL);
		close(fd);
		if (mapping == MAP_FAILED)
			return 1;
	}
	work_in(mapping, offset, 300000000);
	printf("%d libraries\n", count);
	return 0;
}

static int hold(int count, const char *folder)
{
	char *mapping = NULL, path[4096];
	uint64_t offset;
	int fd;

	snprintf(path, sizeof(path), "%s/held.so", folder);
	if (find_code(&offset) || (fd = copy_self(path)) < 0)
		return 1;
	for (int i = 0; i < count; i++) {
		mapping = map_code(fd, offset, NULL);
		if (mapping == MAP_FAILED)
			return 1;
	}
	work_in(mapping, offset, 300000000);
	printf("%d at a time\n", count);
	return 0;
}

static int churn(int count, const char *folder)
{
	char first[4096], *reserved, *at = NULL;
	uint64_t offset;
	int fd;

	snprintf(first, sizeof(first), "%s/churned.so", folder);
	if (find_code(&offset) || (fd = copy_self(first)) < 0)
		return 1;
	reserved = mmap(NULL, (size_t)count * 2 * CODE_BYTES, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (reserved == MAP_FAILED)
		return 1;
	for (int i = 0; i < count; i++) {
		at = reserved + (size_t)i * 2 * CODE_BYTES;
		if (map_code(fd, offset, at) == MAP_FAILED)
			return 1;
		if (i >= KEPT)
			munmap(at - (size_t)KEPT * 2 * CODE_BYTES, 2 * CODE_BYTES);
	}
	work_in(at, offset, 300000000);
	printf("%d mappings\n", count);
	return 0;
}

/* ---- who starts whom ------------------------------------------------------------------------- */

static void *work_shortly(void *argument)
{
	work(20000000);
	return argument;
}

static int spawn(uint64_t ms)
{
	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < ms * 1000000) {
		pthread_t ids[2];

		for (int i = 0; i < 2; i++)
			if (pthread_create(&ids[i], NULL, work_shortly, NULL))
				return 1;
		for (int i = 0; i < 2; i++)
			pthread_join(ids[i], NULL);
	}
	printf("%llu\n", (unsigned long long)clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}

static int daemonize(uint64_t ms)
{
	int ends[2];
	uint64_t ns = 0;

	if (pipe(ends))
		return 1;
	if (fork() == 0) {
		if (fork() == 0) {
			setsid();
			work(ms * 1000000);
			ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
			_exit(write(ends[1], &ns, sizeof(ns)) != sizeof(ns));
		}
		_exit(0);
	}
	wait(NULL);
	if (read(ends[0], &ns, sizeof(ns)) != sizeof(ns))
		return 1;
	printf("%llu\n", (unsigned long long)ns);
	return 0;
}

static int again(const char *name, const char *ms)
{
	work(strtoull(ms, NULL, 10) * 1000000);
	if (strcmp(name, "again_b") == 0) {
		printf("again\n");
		return 0;
	}
	execl("/proc/self/exe", "again_b", "again", ms, (char *)NULL);
	return 1;
}

static int faults(long count)
{
	char *memory = mmap(NULL, (size_t)count * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return 1;
	madvise(memory, (size_t)count * PAGE, MADV_NOHUGEPAGE);
	for (long i = 0; i < count; i++)
		memory[i * PAGE] = 1;
	printf("%ld pages\n", count);
	return 0;
}

static int busy(uint64_t ms)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + ms * 1000000;

	while (clock_ns(CLOCK_MONOTONIC) < end)
		work(1000000);
	printf("%llu\n", (unsigned long long)clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}

static int doze(int count)
{
	for (int i = 0; i < count; i++) {
		work(5000000);
		usleep(10000);
	}
	printf("%llu\n", (unsigned long long)clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}

static int shut(int count)
{
	return prctl(PR_SET_DUMPABLE, 0) || doze(count);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "forks") && argc == 4)
		return forks(atoi(argv[2]), strtoull(argv[3], NULL, 10));
	if (!strcmp(what, "threads") && argc == 3)
		return threads(atoi(argv[2]));
	if (!strcmp(what, "libraries") && argc == 4)
		return libraries(atoi(argv[2]), argv[3]);
	if (!strcmp(what, "churn") && argc == 4)
		return churn(atoi(argv[2]), argv[3]);
	if (!strcmp(what, "hold") && argc == 4)
		return hold(atoi(argv[2]), argv[3]);
	if (!strcmp(what, "doze") && argc == 3)
		return doze(atoi(argv[2]));
	if (!strcmp(what, "shut") && argc == 3)
		return shut(atoi(argv[2]));
	if (!strcmp(what, "spawn") && argc == 3)
		return spawn(strtoull(argv[2], NULL, 10));
	if (!strcmp(what, "daemon") && argc == 3)
		return daemonize(strtoull(argv[2], NULL, 10));
	if (!strcmp(what, "again") && argc == 3)
		return again(argv[0], argv[2]);
	if (!strcmp(what, "faults") && argc == 3)
		return faults(atol(argv[2]));
	if (!strcmp(what, "busy") && argc == 3)
		return busy(strtoull(argv[2], NULL, 10));
	return 2;
}
