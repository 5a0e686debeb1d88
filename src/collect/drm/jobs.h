/* SPDX-License-Identifier: MIT
 *
 * collect/drm/jobs.h - jobs of GPUs, put together from what the kernel tells of their states
 */
#ifndef COLLECT_DRM_JOBS_H
#define COLLECT_DRM_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/drm_record.h"

/* Fences that are open at a time, of all GPUs; a scheduler has three for a job. */
enum { JOBS_OPEN_MOST = 8192 };

enum job_flags {
	JOB_IS_FENCE =
		1 << 0, /* no scheduler told of it: its fence was made, emitted and signaled */
	JOB_ENDED_BEFORE =
		1 << 1, /* done_ns is when the driver came to look: it was done before that */
};

/* Times: CLOCK_MONOTONIC, in this order; 0: nobody saw it, or this driver does not tell. */
struct job {
	uint64_t queued_ns, run_ns, done_ns;
	uint64_t context, number; /* its fence */
	uint64_t scheduler;       /* of its ring: as in event/drm_record.h */
	uint64_t client;          /* drm-client-id of fdinfo; 0: not known */
	uint32_t tgid, tid;       /* who queued it; 0: nobody saw it */
	uint32_t flags;           /* enum job_flags */
	char thread[KERNEL_NAME_BYTES];
	char driver[DRM_NAME_BYTES];
	char device[DRM_NAME_BYTES]; /* as the bus calls it, "0000:03:00.0"; "": a fence */
	char ring[DRM_NAME_BYTES];   /* … or timeline */
};

struct jobs_counts {
	uint64_t told;     /* jobs */
	uint64_t unqueued; /* … of which nobody saw who queued them */
	uint64_t
		unended; /* … whose end nobody saw; those that the end of recording cut off are not among them */
	uint64_t unseen;    /* ends of jobs of which nothing else was seen */
	uint64_t late;      /* states of jobs that had already ended */
	uint64_t unnamed;   /* fences of unknown drivers */
	uint64_t malformed; /* records */
};

struct jobs;

typedef void (*jobs_on_job)(void *context, const struct job *job);

/* on_job is called for each job once nothing more is to be learnt of it. NULL: out of memory. */
struct jobs *jobs_new(jobs_on_job on_job, void *context);
void jobs_free(struct jobs *jobs); /* NULL-safe; what is open is not told */

/* A record of event/drm_record.h, in the order in which the kernel gave them. */
void jobs_take(struct jobs *jobs, const void *record, size_t size);

/* Recording ends: tells jobs that have not. */
void jobs_end(struct jobs *jobs);

const struct jobs_counts *jobs_counted(const struct jobs *jobs);

#endif
