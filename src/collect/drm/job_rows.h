/* SPDX-License-Identifier: MIT
 *
 * collect/drm/job_rows.h - writes jobs of GPUs as rows of a recording
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/drm/cards.h"
#include "collect/drm/jobs.h"
#include "collect/recording.h"

/* Max number of (process, ring) pairs at a time; pairs of ended processes are freed. */
enum { MAX_JOB_QUEUES = 1024 };

struct job_rows;

struct job_rows_counts {
	uint64_t ownerless;   /* jobs without a thread that queued them; they have no row */
	uint64_t has_runtime; /* jobs of processes whose runtime a guest records */
	uint64_t crowded;     /* jobs beyond MAX_JOB_QUEUES pairs of process and ring */
};

/* Losses before rows are made, counted from the start. */
struct job_rows_lost {
	uint64_t records; /* records without room in the kernel's ring */
	uint64_t unended; /* jobs without an end */
};

/* cards: borrowed; the described cards of this machine. NULL: out of memory. */
struct job_rows *job_rows_new(struct recording *recording, const struct cards *cards);
void job_rows_free(struct job_rows *rows); /* NULL-safe */

/* Writes a launch and an execution, in a queue for this process and ring. */
void job_rows_put(struct job_rows *rows, const struct job *job);
/* Writes jobs that waited for the end of a call; is_last: no further call will be reported. */
void job_rows_retry(struct job_rows *rows, bool is_last);

/* Drops ended processes that are not recorded, and ends the queues of all ended processes. */
void job_rows_each_second(struct job_rows *rows, uint64_t now_ns);

/* Writes losses since the last call, and crowded jobs. */
void job_rows_put_lost(struct job_rows *rows, const struct job_rows_lost *lost, uint64_t now_ns);

const struct job_rows_counts *job_rows_counted(const struct job_rows *rows);
