/* SPDX-License-Identifier: MIT
 *
 * collect/drm/jobs.h - assembles jobs of GPUs from the kernel's records of their states
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/drm_record.h"

/* Max number of open fences of all GPUs; a scheduler has three per job. */
enum { MAX_JOBS_OPEN = 8192 };

enum job_flags {
	/* Not reported by a scheduler: its fence was created, emitted and signaled. */
	JOB_IS_FENCE = 1 << 0,
	/* done_ns is the time when the driver noticed the end, which was earlier. */
	JOB_ENDED_BEFORE = 1 << 1,
};

/* Times of CLOCK_MONOTONIC, in this order; 0: not seen, or not reported by this driver. */
struct job {
	uint64_t queued_ns, run_ns, done_ns;
	uint64_t context, number; /* the numbers of its fence */
	uint64_t scheduler;       /* identifies its ring, as in event/drm_record.h */
	uint64_t client;          /* drm-client-id of fdinfo; 0: unknown */
	uint32_t tgid, tid;       /* thread that queued the job; 0: not seen */
	uint32_t flags;           /* enum job_flags */
	char thread[KERNEL_NAME_BYTES];
	char driver[DRM_NAME_BYTES];
	char device[DRM_NAME_BYTES]; /* bus address, "0000:03:00.0"; "": the job is a fence */
	char ring[DRM_NAME_BYTES];   /* name of the ring or timeline */
};

struct jobs_counts {
	uint64_t emitted;  /* jobs delivered */
	uint64_t unqueued; /* jobs without a thread that queued them */
	/* Jobs without an end, except those cut off by the end of the recording. */
	uint64_t unended;
	uint64_t unseen;    /* ends of jobs without any other record */
	uint64_t late;      /* states of jobs that had ended already */
	uint64_t unnamed;   /* fences of unknown drivers */
	uint64_t malformed; /* malformed records */
};

struct jobs;

typedef void (*jobs_on_job)(void *context, const struct job *job);

/* on_job is called for each job when nothing more can be learnt about it. NULL: out of memory. */
struct jobs *jobs_new(jobs_on_job on_job, void *context);
void jobs_free(struct jobs *jobs); /* NULL-safe; open jobs are dropped */

/* Takes a record of event/drm_record.h, in the order of the kernel. */
void jobs_take(struct jobs *jobs, const void *record, size_t size);

/* Delivers jobs that have not ended, at the end of the recording. */
void jobs_end(struct jobs *jobs);

const struct jobs_counts *jobs_counted(const struct jobs *jobs);
