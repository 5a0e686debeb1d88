/* SPDX-License-Identifier: MIT
 *
 * agent/policy.c - record each process for a part of its life only
 *
 * Runs in:  the agent's recorder
 * Gets:     questions of the session: at each hello, and each second for recorded processes
 * Gives:    whether a process is recorded now, and its observed and recorded time
 * Owns:     one entry per process, at most MAX_PROCESSES
 * Fails:    never; a process beyond the limit, or without memory, is not recorded and counted
 *
 * Why:      the interval begins with the first look at the process, not with the hour: otherwise
 *           all processes of a machine would be recorded at the same time
 */
#include "agent/policy.h"

#include <stdlib.h>

#include "base/cleanup.h"

enum { MAX_PROCESSES = 4096 };
#define HOUR_NS (UINT64_C(3600) * 1000000000)

struct policy_process {
	uint64_t start_ticks;
	uint64_t first_ns, interval_begin_ns;
	uint64_t since_ns; /* recorded since then, not counted yet; 0: not recorded */
	uint64_t recorded_ns, recorded_in_interval_ns;
};

void policy_init(struct policy *policy, const struct policy_options *options)
{
	*policy = (struct policy){.options = *options};
	if (!policy->options.interval_ns)
		policy->options.interval_ns = HOUR_NS;
	hash_map_init(&policy->by_pid);
}

void policy_fini(struct policy *policy)
{
	size_t cursor = 0;
	uint64_t value;

	if (!policy)
		return;
	while (hash_map_next(&policy->by_pid, &cursor, NULL, &value))
		free((void *)(uintptr_t)value);
	hash_map_fini(&policy->by_pid);
}

static struct policy_process *find_process(const struct policy *policy, uint32_t pid,
					   uint64_t start_ticks)
{
	struct policy_process *process = hash_map_find_pointer(&policy->by_pid, pid);

	return process && process->start_ticks == start_ticks ? process : NULL;
}

/* NULL: no room. */
static struct policy_process *add_process(struct policy *policy, uint32_t pid, uint64_t start_ticks,
					  uint64_t now_ns)
{
	struct policy_process *process = hash_map_find_pointer(&policy->by_pid, pid);
	const bool is_known = process != NULL;

	if (!process && policy->by_pid.count < MAX_PROCESSES)
		process = malloc(sizeof(*process));
	if (!process)
		return NULL;
	*process = (struct policy_process){
		.start_ticks = start_ticks, .first_ns = now_ns, .interval_begin_ns = now_ns};
	if (is_known || hash_map_put_pointer(&policy->by_pid, pid, process) == 0)
		return process;
	free(process);
	return NULL;
}

static void count_time(const struct policy *policy, struct policy_process *process,
		       bool is_recorded, uint64_t now_ns)
{
	const uint64_t interval_ns = policy->options.interval_ns;

	if (process->since_ns && is_recorded) {
		process->recorded_ns += now_ns - process->since_ns;
		process->recorded_in_interval_ns += now_ns - process->since_ns;
	}
	process->since_ns = process->since_ns && is_recorded ? now_ns : 0;
	if (now_ns - process->interval_begin_ns < interval_ns)
		return;
	process->interval_begin_ns +=
		(now_ns - process->interval_begin_ns) / interval_ns * interval_ns;
	process->recorded_in_interval_ns = 0;
}

bool policy_wants(struct policy *policy, uint32_t pid, uint64_t start_ticks, bool is_recorded,
		  uint64_t now_ns)
{
	struct policy_process *process;

	if (!policy->options.sample_ns)
		return true;
	process = find_process(policy, pid, start_ticks);
	if (!process)
		process = add_process(policy, pid, start_ticks, now_ns);
	if (!process) {
		policy->refused++;
		return false;
	}
	count_time(policy, process, is_recorded, now_ns);
	if (process->recorded_in_interval_ns >= policy->options.sample_ns) {
		process->since_ns = 0;
		return false;
	}
	if (!process->since_ns)
		process->since_ns = now_ns;
	return true;
}

bool policy_find_times(const struct policy *policy, uint32_t pid, uint64_t start_ticks,
		       uint64_t now_ns, struct policy_times *ret_times)
{
	const struct policy_process *process = find_process(policy, pid, start_ticks);

	if (!process)
		return false;
	*ret_times = (struct policy_times){
		.observed_ns = now_ns - process->first_ns,
		.recorded_ns = process->recorded_ns +
			       (process->since_ns ? now_ns - process->since_ns : 0)};
	return true;
}

bool policy_is_full(const struct policy *policy)
{
	return policy->by_pid.count >= MAX_PROCESSES;
}

/* In two passes, because the map must not change while it is walked. */
void policy_forget(struct policy *policy, bool (*is_alive)(uint32_t pid, uint64_t start_ticks))
{
	auto_free uint64_t *gone = calloc(policy->by_pid.count + 1, sizeof(*gone));
	uint64_t pid, value;
	size_t cursor = 0, count = 0;

	while (gone && hash_map_next(&policy->by_pid, &cursor, &pid, &value)) {
		const struct policy_process *process = (void *)(uintptr_t)value;

		if (!is_alive((uint32_t)pid, process->start_ticks))
			gone[count++] = pid;
	}
	for (size_t i = 0; i < count; i++)
		if (hash_map_remove(&policy->by_pid, gone[i], &value))
			free((void *)(uintptr_t)value);
}
