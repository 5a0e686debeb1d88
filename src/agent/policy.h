/* SPDX-License-Identifier: MIT
 *
 * agent/policy.h - record each process for a part of its life only
 *
 * Each process is recorded for sample_ns at the start of each interval_ns of its own life. Its
 * weight is the observed time by the recorded time: sums over the recorded time, multiplied by it,
 * estimate sums over the observed time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

struct policy_options {
	uint64_t sample_ns;   /* 0: every process is recorded all the time */
	uint64_t interval_ns; /* 0: 1 h */
};

/* Times of one process, in ns. */
struct policy_times {
	uint64_t observed_ns, recorded_ns;
};

struct policy {
	struct policy_options options;
	struct hash_map by_pid; /* pid -> struct policy_process *, owned */
	uint64_t refused;       /* processes that were not recorded because the list was full */
};

void policy_init(struct policy *policy, const struct policy_options *options);
void policy_fini(struct policy *policy); /* NULL-safe */

/* No further process can be recorded before policy_forget. */
bool policy_is_full(const struct policy *policy);

/* Whether a process is to be recorded now. start_ticks distinguishes processes with one pid.
 * is_recorded: it is being recorded. Call it at each hello of the process and each second. */
bool policy_wants(struct policy *policy, uint32_t pid, uint64_t start_ticks, bool is_recorded,
		  uint64_t now_ns);

/* Times of a process until now; false: it is not known, or the policy is off. */
bool policy_find_times(const struct policy *policy, uint32_t pid, uint64_t start_ticks,
		       uint64_t now_ns, struct policy_times *ret_times);

/* Forgets processes that have ended. is_alive: whether the pid still has this start. */
void policy_forget(struct policy *policy, bool (*is_alive)(uint32_t pid, uint64_t start_ticks));
