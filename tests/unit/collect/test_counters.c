/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_counters.c - when counters look at /proc, and when they must not
 */
#include "harness.h"

#include <signal.h>
#include <sys/wait.h>

#include "bench.h"
#include "collect/counter/counters.h"
#include "collect/processes.h"

static void wait_ms(long ms)
{
	const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

/* Becomes another program when it may read. */
static pid_t start_child(int *ret_go)
{
	int ends[2];
	char byte;
	pid_t pid;

	if (pipe(ends) < 0 || (pid = fork()) < 0)
		abort();
	if (pid == 0) {
		if (read(ends[0], &byte, 1) == 1)
			execlp("sleep", "sleep", "1000", NULL);
		_exit(1);
	}
	close(ends[0]);
	*ret_go = ends[1];
	return pid;
}

static bool has_become_sleep(pid_t pid)
{
	char path[64], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return true;
	if (!fgets(name, sizeof(name), file))
		*name = 0;
	fclose(file);
	return strcmp(name, "sleep\n") == 0;
}

static uint32_t id_of(const struct bench *bench, pid_t pid)
{
	const struct process *process = processes_find(bench->recording->processes, (uint32_t)pid);

	return process ? process->row.id : 0;
}

/* The answer lets the process of a guest go on: what it does then must not count as what it did
 * before. */
TEST(an_exec_is_seen_by_a_look_and_not_by_what_follows_an_answer)
{
	const struct counters_options options = {.collector = "system", .has_processes = true};
	struct counters *counters = NULL;
	struct bench bench;
	uint32_t before;
	int go;
	pid_t pid = start_child(&go);

	bench_open(&bench);
	CHECK_EQUAL(counters_open(bench.recording, &options, &counters), 0);
	CHECK_EQUAL(counters_attach(counters, pid, -1), 0);
	before = id_of(&bench, pid);
	CHECK(before != 0);
	CHECK_EQUAL(write(go, "", 1), 1);
	while (!has_become_sleep(pid))
		wait_ms(1);
	wait_ms(300); /* a look is due */
	counters_catch_up(counters, host_clocks_now_ns());
	CHECK_EQUAL(id_of(&bench, pid), before);
	for (int i = 0; i < 1000 && id_of(&bench, pid) == before; i++) {
		counters_look(counters);
		wait_ms(10);
	}
	CHECK(id_of(&bench, pid) != before);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(go);
	counters_close(counters);
	bench_read(&bench);
	bench_close(&bench);
}

int main(void)
{
	RUN(an_exec_is_seen_by_a_look_and_not_by_what_follows_an_answer);
	return harness_end();
}
