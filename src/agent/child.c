/* SPDX-License-Identifier: MIT
 *
 * agent/child.c - a process of the agent that is started again when it ends
 *
 * Runs in:  the agent
 * Gets:     a function to run in a process of its own
 * Gives:    its pid, its end, its CPU time and memory
 * Owns:     the process
 * Fails:    -errno if no process can be started; the caller tries again
 * Why:      the delay doubles from 0.1 s to 30 s, so a child that fails at once costs nothing, and
 *           one that was killed after a minute or more is back at once
 */
#include "agent/child.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

#define MIN_DELAY_NS UINT64_C(100000000)
#define MAX_DELAY_NS UINT64_C(30000000000)
#define EARLY_NS     UINT64_C(60000000000)

int agent_child_start(struct agent_child *child, const sigset_t *mask, uint64_t now_ns)
{
	const pid_t parent = getpid();
	pid_t pid = fork();

	if (pid < 0)
		return error_set(-errno, "%s: start its process: %s", child->name, strerror(errno));
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		prctl(PR_SET_NAME, child->name);
		sigprocmask(SIG_SETMASK, mask, NULL);
		if (getppid() != parent)
			_exit(EXIT_FAILURE);
		exit(child->run(child->context));
	}
	child->pid = pid;
	child->started_ns = now_ns;
	child->kill_ns = 0;
	return 0;
}

void agent_child_end(struct agent_child *child, uint64_t now_ns, uint64_t grace_ns)
{
	if (!child->pid || child->kill_ns)
		return;
	kill(child->pid, SIGTERM);
	child->kill_ns = now_ns + grace_ns;
}

void agent_child_look(struct agent_child *child, uint64_t now_ns)
{
	if (child->pid && child->kill_ns && now_ns >= child->kill_ns)
		kill(child->pid, SIGKILL);
}

static uint64_t usage_ns(const struct rusage *usage)
{
	return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000000 +
	       (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000;
}

static void set_next_start(struct agent_child *child, bool was_asked, uint64_t now_ns)
{
	const bool is_early = now_ns - child->started_ns < EARLY_NS;

	if (was_asked) {
		child->next_start_ns = now_ns;
		return;
	}
	child->next_start_ns = now_ns + (is_early ? child->delay_ns : 0);
	child->delay_ns = is_early ? 2 * child->delay_ns : MIN_DELAY_NS;
	if (child->delay_ns < MIN_DELAY_NS)
		child->delay_ns = MIN_DELAY_NS;
	if (child->delay_ns > MAX_DELAY_NS)
		child->delay_ns = MAX_DELAY_NS;
}

bool agent_child_reap(struct agent_child *child, uint64_t now_ns, int *ret_status)
{
	struct rusage usage;

	if (!child->pid || wait4(child->pid, ret_status, WNOHANG, &usage) != child->pid)
		return false;
	child->pid = 0;
	child->cpu_ns += usage_ns(&usage);
	set_next_start(child, child->kill_ns != 0, now_ns);
	child->kill_ns = 0;
	return true;
}

uint64_t agent_child_cpu_ns(const struct agent_child *child)
{
	struct timespec used;
	clockid_t clock;

	if (!child->pid || clock_getcpuclockid(child->pid, &clock) || clock_gettime(clock, &used))
		return child->cpu_ns;
	return child->cpu_ns + (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

void agent_memory(pid_t pid, uint64_t *ret_resident, uint64_t *ret_private)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t resident = 0, shared = 0;
	auto_fclose FILE *file = NULL;
	char path[64];

	*ret_resident = *ret_private = 0;
	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%*u %" SCNu64 " %" SCNu64, &resident, &shared) != 2)
		return;
	*ret_resident = resident * page;
	*ret_private = (resident > shared ? resident - shared : 0) * page;
}
