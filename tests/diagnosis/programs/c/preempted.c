/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/c/preempted.c - a more urgent process takes the launching thread's
 * processor
 */
#include "diagnosis.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static void start_hog(void);
static void normalise(uint64_t ns);

PLANT(.name = "preempted", .kinds = "preempted", .words = "preempted", .measure = MEASURE_DELAY,
      .prepare = start_hog, .act = normalise);

static _Atomic uint64_t *burst;
static volatile float mean;

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void hog(void)
{
	for (;;) {
		uint64_t ns = atomic_load(burst);

		if (!ns) {
			sleep_ns(100000);
			continue;
		}
		for (uint64_t end = cpu_ns() + ns; cpu_ns() < end;)
			;
		atomic_store(burst, 0);
	}
}

static void start_hog(void)
{
	burst = (_Atomic uint64_t *)mmap(NULL, sizeof(*burst), PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	check(burst != MAP_FAILED, "mmap");
	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "hog");
	pin(0);
	if (setpriority(PRIO_PROCESS, 0, -10)) {
		atomic_store(burst, UINT64_MAX);
		_exit(STATUS_SKIPPED);
	}
	hog();
}

NOINLINE static void normalise(uint64_t ns)
{
	if (atomic_load(burst) == UINT64_MAX)
		exit(STATUS_SKIPPED); /* nice -10 needs CAP_SYS_NICE */
	pin(0);
	PLANT_BEGIN();
	atomic_store(burst, ns);
	while (atomic_load(burst))
		for (int i = 0; i < 1000; i++)
			mean = mean * 0.99f + (float)i;
	PLANT_END();
}
