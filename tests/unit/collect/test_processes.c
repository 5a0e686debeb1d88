/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_processes.c - one id for each process and thread, whoever sees it first
 */
#include "harness.h"

#include "bench.h"
#include "collect/proc.h"
#include "collect/processes.h"

enum { PID = 4000001, OTHER = 4000002, TID = 4000003 }; /* above any pid that there is */

static struct event_process row_of(struct bench *bench, uint32_t id)
{
	const struct event_process *found = trace_reader_entity(bench->reader, EVENT_PROCESS, id);

	return found ? *found : (struct event_process){0};
}

TEST(is_written_when_something_is)
{
	struct bench bench;
	struct processes *processes;
	struct process *process;
	struct process_thread *thread;
	uint32_t before;

	bench_open(&bench);
	processes = bench.recording->processes;
	before = bench.recording->last_process;
	process = processes_begin(processes, PID, 100);
	REQUIRE(process != NULL);
	CHECK(processes_find(processes, PID) == process);
	CHECK_EQUAL(bench.recording->last_process, before);
	thread = process_thread(processes, process, TID, 200);
	REQUIRE(thread != NULL);
	CHECK(process_thread(processes, process, TID, 300) == thread);
	CHECK_EQUAL(process_thread_describe(processes, process, thread), thread->row.id);
	CHECK_EQUAL(process_thread_describe(processes, process, thread), thread->row.id);
	CHECK_EQUAL(process_describe(processes, process), before + 1);
	CHECK_EQUAL(thread->row.process, before + 1);
	process_thread_end(processes, process, TID, 400);
	CHECK_EQUAL(process->living, 0);
	CHECK(process_thread(processes, process, TID, 410) == thread); /* its last switch */
	processes_begin(processes, OTHER, 450);                        /* never written */
	processes_end(processes, OTHER, 460);
	processes_end(processes, PID, 500);
	processes_forget(processes, 500 + PROCESSES_LINGER_NS);
	CHECK(processes_find(processes, PID) == process);
	processes_forget(processes, 501 + PROCESSES_LINGER_NS);
	CHECK(processes_find(processes, PID) == NULL && processes_find(processes, OTHER) == NULL);
	bench_read(&bench);
	CHECK_EQUAL(row_of(&bench, before + 1).pid, PID);
	CHECK_EQUAL(row_of(&bench, before + 1).end_ns, 500);
	CHECK_EQUAL(row_of(&bench, before + 2).pid, 0);
	bench_close(&bench);
}

TEST(an_exec_is_another_image)
{
	struct bench bench;
	struct processes *processes;
	struct process *first, *second;

	bench_open(&bench);
	processes = bench.recording->processes;
	first = process_get(processes_begin(processes, PID, 100));
	process_describe(processes, first);
	first->row.uid = 77;
	second = processes_begin(processes, PID, 200);
	CHECK(first != second && processes_find(processes, PID) == second);
	CHECK_EQUAL(first->row.end_ns, 200);
	process_inherit(second, first, false);
	CHECK_EQUAL(second->row.uid, 77);
	CHECK_EQUAL(second->row.parent, first->row.parent);
	process_put(first);
	CHECK(process_describe(processes, second) > 0);
	bench_read(&bench);
	bench_close(&bench);
}

/* A guest says hello after the kernel has told of its process, and the other way round. */
TEST(is_adopted_once)
{
	struct bench bench;
	struct processes *processes;
	struct event_process row = {.pid = PID, .begin_ns = 300}, again = row;
	struct event_thread thread = {.tid = TID, .begin_ns = 300};
	struct process_thread *known;
	struct process *process;

	bench_open(&bench);
	processes = bench.recording->processes;
	process = processes_begin(processes, PID, 100);
	known = process_thread(processes, process, TID, 100);
	process_thread_describe(processes, process, known);
	process_adopt(processes, PID, &row);
	CHECK_EQUAL(row.id, process->row.id);
	CHECK_EQUAL(row.begin_ns, 100);
	thread.process = row.id;
	process_thread_adopt(processes, PID, &thread);
	CHECK_EQUAL(thread.id, known->row.id);
	/* twice: there was an exec that nobody told of */
	process_adopt(processes, PID, &again);
	CHECK(again.id != row.id);
	row.end_ns = 400;
	process_abandon(processes, &row); /* the older image's end */
	CHECK(!processes_find(processes, PID)->has_ended);
	again.end_ns = 500;
	process_abandon(processes, &again);
	processes_forget(processes, 501 + PROCESSES_LINGER_NS);
	CHECK(processes_find(processes, PID) == NULL);
	bench_read(&bench);
	bench_close(&bench);
}

static const char *kept(const char *text)
{
	static char buffer[256];

	snprintf(buffer, sizeof(buffer), "%s", text);
	proc_keep_group(buffer);
	return buffer;
}

/* Whoever sees a process first, the session attaches the collectors to it once, and again only if
 * another process has its pid. */
TEST(is_attached_once)
{
	struct event_process row = {.pid = PID, .begin_ns = 150};
	struct process *parent, *child;
	struct processes *processes;
	struct bench bench;

	bench_open(&bench);
	processes = bench.recording->processes;
	parent = process_get(processes_begin(processes, PID, 100)); /* by another collector */
	process_adopt(processes, PID, &row);
	CHECK(processes_begin_attaching(processes, PID));
	CHECK(!processes_begin_attaching(processes, PID));
	row.begin_ns = 200; /* its guest comes back, as an image of its own */
	process_adopt(processes, PID, &row);
	CHECK(processes_find(processes, PID) != parent);
	CHECK(!processes_begin_attaching(processes, PID));
	processes_pause(processes, PID, true);
	child = processes_begin(processes, OTHER, 300);
	process_inherit(child, processes_find(processes, PID), true);
	CHECK(!processes_begin_attaching(processes, OTHER)); /* the kernel follows forks */
	CHECK(!child->is_paused);
	process_put(parent);
	parent = process_get(processes_find(processes, PID));
	process_inherit(processes_begin(processes, PID, 350), parent, false); /* an exec */
	CHECK(processes_find(processes, PID)->is_paused);
	CHECK(!processes_begin_attaching(processes, PID));
	processes_end(processes, PID, 400);
	row.begin_ns = 500;
	process_adopt(processes, PID, &row);
	CHECK(processes_begin_attaching(processes, PID));
	process_put(parent);
	bench_read(&bench);
	bench_close(&bench);
}

TEST(the_longest_group_is_kept)
{
	CHECK_TEXT(kept("0::/user.slice\n"), "0::/user.slice");
	CHECK_TEXT(kept("9:name=systemd:/\n4:memory:/job/1\n0::/\n"), "4:memory:/job/1");
	CHECK_TEXT(kept("3:cpu:/a\n2:memory:/b"), "3:cpu:/a");
	CHECK_TEXT(kept("\n\n1:x:/a\n"), "1:x:/a");
	CHECK_TEXT(kept(""), "");
}

int main(void)
{
	RUN(is_written_when_something_is);
	RUN(an_exec_is_another_image);
	RUN(is_adopted_once);
	RUN(is_attached_once);
	RUN(the_longest_group_is_kept);
	return harness_end();
}
