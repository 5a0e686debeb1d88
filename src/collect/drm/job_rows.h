/* SPDX-License-Identifier: MIT
 *
 * collect/drm/job_rows.h - jobs of GPUs as rows of a recording
 */
#ifndef COLLECT_DRM_JOB_ROWS_H
#define COLLECT_DRM_JOB_ROWS_H

#include <stdint.h>

#include "collect/drm/cards.h"
#include "collect/drm/jobs.h"
#include "collect/recording.h"

struct job_rows;

struct job_rows_counts {
	uint64_t ownerless; /* jobs that nobody saw queued: there is no row of them */
	uint64_t
		told; /* … of processes whose runtime tells of its own commands on the device: theirs are rows already */
	uint64_t crowded; /* … of the 1025th process and ring, and so on */
};

/* cards: those of this machine, described; borrowed. NULL: out of memory. */
struct job_rows *job_rows_new(struct recording *recording, const struct cards *cards);
void job_rows_free(struct job_rows *rows); /* NULL-safe */

/* A launch and an execution, of a queue that is its process's part of the ring. */
void job_rows_put(struct job_rows *rows, const struct job *job);

/* Processes that are not recorded and have ended are forgotten. */
void job_rows_each_second(struct job_rows *rows, uint64_t now_ns);

const struct job_rows_counts *job_rows_counted(const struct job_rows *rows);

#endif
