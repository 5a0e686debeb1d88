/* SPDX-License-Identifier: MIT
 *
 * agent/watch.c - decides whether a child of the agent must be replaced
 *
 * Runs in:  the agent
 * Gets:     the child's last sign of life, its memory, the size of its file
 * Gives:    a verdict
 * Owns:     nothing
 * Fails:    never
 * Why a limit of the file: the recorder's ring drops its oldest segments by holes, so its offsets
 *           only grow. ext4 ends at 16 TiB, which 1 MB/s reaches after 200 days
 */
#include "agent/watch.h"

#define SECOND_NS UINT64_C(1000000000)

enum {
	SILENT_S = 30,  /* a child without a beat for this time hangs */
	START_S = 300,  /* the same before its first beat: it may copy a ring that was left */
	REPLACE_S = 60, /* least time between two replacements for memory */
};

static bool is_silent(const struct agent_child *child, const struct agent_vitals *vitals,
		      uint64_t now_ns)
{
	const uint64_t beat_ns = vitals->beat_ns;
	const uint64_t since_ns = beat_ns > child->started_ns ? beat_ns : child->started_ns;
	const uint64_t limit_s = vitals->is_ready ? SILENT_S : START_S;

	return now_ns > since_ns && now_ns - since_ns > limit_s * SECOND_NS;
}

enum agent_verdict agent_watch_judge(const struct agent_child *child,
				     const struct agent_vitals *vitals,
				     const struct agent_limits *limits, uint64_t now_ns,
				     uint64_t *replaced_ns)
{
	const uint64_t limit = limits->memory_bytes;
	const bool is_recent = *replaced_ns && now_ns - *replaced_ns < REPLACE_S * SECOND_NS;

	if (!child->pid)
		return CHILD_IS_WELL;
	if (is_silent(child, vitals, now_ns))
		return CHILD_HANGS;
	if (child->kill_ns)
		return CHILD_IS_WELL;
	if (limits->file_end && vitals->file_end > limits->file_end && !is_recent) {
		*replaced_ns = now_ns;
		return CHILD_FILE_IS_LARGE;
	}
	if (!limit || vitals->private_bytes <= limit ||
	    (is_recent && vitals->private_bytes <= 2 * limit))
		return CHILD_IS_WELL;
	*replaced_ns = now_ns;
	return CHILD_IS_LARGE;
}
