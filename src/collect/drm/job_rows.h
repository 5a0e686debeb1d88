/* SPDX-License-Identifier: MIT
 *
 * collect/drm/job_rows.h - jobs of GPUs as rows of a recording
 */
#ifndef COLLECT_DRM_JOB_ROWS_H
#define COLLECT_DRM_JOB_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/drm/cards.h"
#include "collect/drm/jobs.h"
#include "collect/recording.h"

/* Processes and rings at a time; a process that has ended leaves room. */
enum { JOB_QUEUES_MOST = 1024 };

struct job_rows;

struct job_rows_counts {
	uint64_t ownerless; /* jobs that nobody saw queued: there is no row of them */
	uint64_t
		told; /* … of processes whose runtime tells of its own commands on the device: theirs are rows already */
	uint64_t crowded; /* … of one more process and ring than JOB_QUEUES_MOST */
};

/* So far, of what comes before rows. */
struct job_rows_lost {
	uint64_t records; /* of the kernel's that had no room */
	uint64_t unended; /* jobs whose end will not be seen */
};

/* cards: those of this machine, described; borrowed. NULL: out of memory. */
struct job_rows *job_rows_new(struct recording *recording, const struct cards *cards);
void job_rows_free(struct job_rows *rows); /* NULL-safe */

/* A launch and an execution, of a queue that is its process's part of the ring. */
void job_rows_put(struct job_rows *rows, const struct job *job);
/* Those that may be the work of a call that was not over then; is_last: no more of it will be told. */
void job_rows_retry(struct job_rows *rows, bool is_last);

/* Processes that are not recorded and have ended are forgotten, and queues of all that have. */
void job_rows_each_second(struct job_rows *rows, uint64_t now_ns);

/* Writes what was lost since it was last called, and what is crowded. */
void job_rows_put_lost(struct job_rows *rows, const struct job_rows_lost *lost, uint64_t now_ns);

const struct job_rows_counts *job_rows_counted(const struct job_rows *rows);

#endif
