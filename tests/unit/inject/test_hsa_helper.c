/* SPDX-License-Identifier: MIT
 *
 * tests/unit/inject/test_hsa_helper.c - the thread that looks after dispatches, and what it is not
 * like: its maker
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness.h"

#include "inject/amd/hsa.h"

/* ---- the rest of the guest ------------------------------------------------------------------- */

struct guest_page guest_page;
_Thread_local struct guest_thread *guest_self __attribute__((tls_model("initial-exec")));

_Atomic bool guest_exit_begun;

struct guest_thread *guest_enter_slow(void)
{
	return NULL;
}

static uint32_t missing;

void guest_trouble(uint32_t trouble)
{
	missing += trouble == AMD_TROUBLE_NO_HELPER;
}

static bool has_no_threads;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*run)(void *argument), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*run)(void *argument), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*run)(void *argument), void *argument)
{
	return has_no_threads ? EAGAIN : __real_pthread_create(thread, attributes, run, argument);
}

static _Atomic uint32_t looks;
static _Atomic bool is_held; /* a look takes long, as where the helper has no processor */

uint32_t hsa_harvest(struct guest_thread *thread)
{
	(void)thread;
	atomic_fetch_add(&looks, 1);
	while (atomic_load(&is_held))
		usleep(100);
	return 0;
}

bool hsa_is_pending(void)
{
	return false;
}

static _Atomic bool any_not_followed;
static _Atomic uint32_t counts;

bool hsa_any_not_followed(void)
{
	return any_not_followed;
}

void hsa_count_not_followed(void)
{
	atomic_fetch_add(&counts, 1);
}

void hsa_read_clock(struct guest_thread *thread, bool is_end)
{
	(void)thread;
	(void)is_end;
}

static _Atomic uint64_t finished_ms;
static _Atomic uint32_t finishes;

void hsa_finish(uint64_t last_ms)
{
	finished_ms = last_ms;
	atomic_fetch_add(&finishes, 1);
}

/* ---- the thread, as the kernel shows it ------------------------------------------------------ */

static bool read_line(const char *thread, const char *file, const char *key, char line[256])
{
	char path[320];
	bool is_found = false;
	FILE *stream;

	snprintf(path, sizeof(path), "/proc/self/task/%s/%s", thread, file);
	stream = fopen(path, "r");
	while (stream && !is_found && fgets(line, 256, stream))
		is_found = strncmp(line, key, strlen(key)) == 0;
	if (stream)
		fclose(stream);
	return is_found;
}

/* 0: there is none. */
static pid_t find_helper(void)
{
	DIR *threads = opendir("/proc/self/task");
	struct dirent *entry;
	char line[256];
	pid_t helper = 0;

	while (threads && !helper && (entry = readdir(threads)))
		if (read_line(entry->d_name, "comm", "duet-amd\n", line))
			helper = atoi(entry->d_name);
	if (threads)
		closedir(threads);
	return helper;
}

static uint64_t blocked_signals(pid_t thread)
{
	char name[16], line[256];

	snprintf(name, sizeof(name), "%d", (int)thread);
	return read_line(name, "status", "SigBlk:", line) ? strtoull(line + 7, NULL, 16) : 0;
}

static int processors_of(pid_t thread)
{
	cpu_set_t set;

	return sched_getaffinity(thread, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
}

/* False: it does not run, ten seconds after it was started. */
static bool has_looked(void)
{
	for (int i = 0; i < 10000 && !atomic_load(&looks); i++)
		usleep(1000);
	return atomic_load(&looks) > 0;
}

/* A thread that has bound itself to one processor, and is of no importance. */
static void *start_bound(void *unused)
{
	const struct sched_param none = {0};
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	CHECK_EQUAL(sched_setaffinity(0, sizeof(one), &one), 0);
	CHECK_EQUAL(sched_setscheduler(0, SCHED_BATCH, &none), 0);
	hsa_helper_start();
	return unused;
}

TEST(the_helper_is_not_like_its_maker)
{
	const uint64_t kill_and_stop = 1u << (SIGKILL - 1) | 1u << (SIGSTOP - 1);
	/* and those that the C library keeps for itself */
	const uint64_t others = UINT64_C(3) << 31 | kill_and_stop;
	pthread_t maker;
	pid_t helper;

	pthread_create(&maker, NULL, start_bound, NULL);
	pthread_join(maker, NULL);
	REQUIRE(has_looked());
	helper = find_helper();
	REQUIRE(helper);
	CHECK_EQUAL(sched_getscheduler(helper), SCHED_OTHER);
	CHECK(processors_of(helper) >= processors_of(0));
	CHECK_EQUAL(blocked_signals(helper) | others, UINT64_MAX);
	CHECK(hsa_helper_stop(77, 10000));
	CHECK_EQUAL(finished_ms, 77);
	finished_ms = 0;
}

static _Thread_local volatile char much[400 << 10];

/* Thread-local variables lie in a thread's stack. */
TEST(a_program_with_many_thread_local_variables)
{
	much[0] = 1;
	atomic_store(&looks, 0);
	hsa_helper_start();
	CHECK(has_looked());
	CHECK(hsa_helper_stop(77, 10000));
	CHECK_EQUAL(finished_ms, 77);
	finished_ms = 0;
}

/* Nothing else tells of what is written into them, and the program may be killed. */
TEST(queues_that_are_not_followed_are_looked_at_though_nothing_is_pending)
{
	const uint32_t while_it_falls_asleep = 100;

	atomic_store(&any_not_followed, true);
	atomic_store(&counts, 0);
	hsa_helper_start();
	for (int ms = 0; ms < 60000 && atomic_load(&counts) <= while_it_falls_asleep; ms++)
		usleep(1000);
	CHECK(atomic_load(&counts) > while_it_falls_asleep);
	CHECK(hsa_helper_stop(77, 10000));
	CHECK_EQUAL(finished_ms, 77);
	finished_ms = 0;
}

/* Who waited in vain may end the runtime: it is asked nothing by a helper that comes back. */
TEST(a_late_helper_asks_nothing)
{
	uint32_t before;

	looks = 0;
	is_held = true;
	REQUIRE(hsa_helper_start());
	REQUIRE(has_looked());
	before = finishes;
	CHECK(!hsa_helper_stop(0, 1));
	CHECK(hsa_helper_is_abandoned());
	is_held = false;
	for (int i = 0; i < 10000 && find_helper(); i++)
		usleep(1000);
	CHECK_EQUAL(find_helper(), 0);
	CHECK_EQUAL(finishes, before);
	CHECK(hsa_helper_stop(0, 1000));
}

/* The program's own calls look instead, as long as exit has not begun. */
TEST(a_program_without_room_for_a_thread)
{
	atomic_store(&looks, 0);
	has_no_threads = true;
	CHECK(!hsa_helper_start());
	CHECK(!hsa_helper_start());
	CHECK_EQUAL(missing, 1);
	CHECK(hsa_helper_is_asleep());
	hsa_helper_wake();
	CHECK(hsa_helper_is_asleep());
	hsa_helper_wake();
	CHECK_EQUAL(looks, 2);
	atomic_store(&guest_exit_begun, true);
	hsa_helper_wake();
	CHECK(hsa_helper_stop(0, 1000));
	CHECK_EQUAL(looks, 2);
	atomic_store(&guest_exit_begun, false);
	has_no_threads = false;
	/* The runtime begins again. */
	CHECK(hsa_helper_start());
	CHECK(has_looked());
	CHECK(hsa_helper_stop(0, 10000));
	CHECK_EQUAL(missing, 1);
}

int main(void)
{
	RUN(the_helper_is_not_like_its_maker);
	RUN(a_program_with_many_thread_local_variables);
	RUN(queues_that_are_not_followed_are_looked_at_though_nothing_is_pending);
	RUN(a_late_helper_asks_nothing);
	RUN(a_program_without_room_for_a_thread);
	return harness_end();
}
