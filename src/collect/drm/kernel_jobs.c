/* SPDX-License-Identifier: MIT
 *
 * collect/drm/kernel_jobs.c - records jobs of GPUs from the kernel's scheduler and fence events
 *
 * Runs in:  the recorder
 * Gets:     records of src/bpf/drm.bpf.c
 * Gives:    rows (job_rows.c)
 * Owns:     the BPF programs, the open jobs
 * Fails:    with a note of what is missing and how to enable it
 */
#include "collect/drm/kernel_jobs.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "bpf/objects.h"
#include "collect/drm/job_rows.h"
#include "collect/drm/jobs.h"
#include "collect/host_clocks.h"
#include "collect/kernel/program_load.h"

struct kernel_jobs {
	struct recording *recording; /* borrowed */
	struct kernel_load *load;    /* owned; NULL: the load was refused */
	bool is_ready;
	uint64_t begin_ns;
	struct jobs *jobs;     /* owned */
	struct job_rows *rows; /* owned */
};

/* A scheduler's events have one of two names, depending on the kernel; i915 has a third. */
enum { OF_FENCES = 9 }; /* index of the first program that serves fences, not schedulers */
static const struct kernel_program programs[] = {
	{"on_job_queue", NULL, NULL},
	{"on_job_run", NULL, NULL},
	{"on_job_done", NULL, NULL},
	{"on_old_job_queue", NULL, NULL},
	{"on_old_job_run", NULL, NULL},
	{"on_old_job_done", NULL, NULL},
	{"on_request_queue", NULL, NULL},
	{"on_request_add", NULL, NULL},
	{"on_request_retire", NULL, NULL},
	{"on_fence_init", NULL, "jobs of drivers without the kernel's GPU scheduler"},
	{"on_fence_emit", NULL, NULL},
	{"on_fence_signaled", NULL,
	 "the ends of jobs of drivers without the kernel's GPU scheduler"},
	{"on_fence_names", NULL,
	 "jobs of drivers without the kernel's GPU scheduler (duet identifies them by the names of "
	 "their fences)"},
};

static void on_job(void *context, const struct job *job)
{
	job_rows_put(((struct kernel_jobs *)context)->rows, job);
}

static void on_record(void *context, const void *record, size_t size)
{
	jobs_take(((struct kernel_jobs *)context)->jobs, record, size);
}

int kernel_jobs_open(struct recording *recording, const struct cards *cards,
		     struct kernel_jobs **ret_jobs)
{
	struct kernel_jobs *jobs = calloc(1, sizeof(*jobs));
	const struct kernel_load_options options = {
		.object = {.name = "drm",
			   .elf = bpf_drm,
			   .elf_bytes = bpf_drm_size,
			   .programs = programs,
			   .programs_count = ARRAY_COUNT(programs),
			   .looks_first = true},
		.on_record = on_record,
		.context = jobs};
	int error = 0;

	if (jobs) {
		jobs->recording = recording;
		jobs->begin_ns = host_clocks_now_ns();
		jobs->jobs = jobs_new(on_job, jobs);
		jobs->rows = job_rows_new(recording, cards);
	}
	if (!jobs || !jobs->jobs || !jobs->rows)
		error = error_set(-ENOMEM, "jobs of GPUs: out of memory");
	else
		error = kernel_load_start(&options, &jobs->load);
	if (error) {
		kernel_jobs_close(jobs);
		return error;
	}
	*ret_jobs = jobs;
	return 0;
}

/* ---- becoming ready -------------------------------------------------------------------------- */

static void put_note(struct kernel_jobs *jobs, uint32_t state, const char *text)
{
	recording_note(jobs->recording, "drm", state, 0, text);
}

static void note_refused(struct kernel_jobs *jobs, const char *reason)
{
	char text[PATH_MAX + 800];

	snprintf(text, sizeof(text), "jobs of GPUs are not recorded: %s", reason);
	put_note(jobs, COLLECTOR_PARTIAL, text);
	recording_hint(jobs->recording, text);
}

static void note_missing(struct kernel_jobs *jobs)
{
	size_t count;
	const struct kernel_program_report *reports = kernel_load_reports(jobs->load, &count);
	bool has_scheduler = false;
	const char *refused = NULL;
	char text[600];

	for (size_t i = 0; i < count; i++) {
		has_scheduler |= i < OF_FENCES && reports[i].state == KERNEL_PROGRAM_RUNS;
		if (i < OF_FENCES && reports[i].state == KERNEL_PROGRAM_REFUSED)
			refused = reports[i].reason;
		if (reports[i].state == KERNEL_PROGRAM_RUNS || !reports[i].lacks)
			continue;
		snprintf(text, sizeof(text), "%s are not recorded: the kernel %s%s%s",
			 reports[i].lacks,
			 reports[i].state == KERNEL_PROGRAM_ABSENT ? "has no attach point for them"
								   : "refused the BPF program",
			 reports[i].reason[0] ? ": " : "", reports[i].reason);
		put_note(jobs, COLLECTOR_PARTIAL, text);
	}
	if (refused) {
		snprintf(text, sizeof(text),
			 "some jobs of i915 and of drivers with the kernel's GPU scheduler are not "
			 "recorded: %s",
			 refused);
		put_note(jobs, COLLECTOR_PARTIAL, text);
	} else if (!has_scheduler)
		put_note(jobs, COLLECTOR_PARTIAL,
			 "jobs of GPUs have no start times: no loaded driver uses the kernel's GPU "
			 "scheduler, so only the fences of jobs are seen");
}

/* Notes from when on jobs are known, because programs use the GPU during the load. */
static void note_blind(struct kernel_jobs *jobs)
{
	char text[200];

	snprintf(text, sizeof(text),
		 "jobs of GPUs are known from %.1f ms on, when the BPF programs had been loaded",
		 (double)(host_clocks_now_ns() - jobs->begin_ns) / 1e6);
	put_note(jobs, COLLECTOR_AVAILABLE, text);
}

static void look_whether_ready(struct kernel_jobs *jobs)
{
	const char *reason;

	switch (kernel_load_state(jobs->load, &reason)) {
	case KERNEL_LOAD_GOES_ON:
		return;
	case KERNEL_LOAD_REFUSED:
		note_refused(jobs, reason);
		kernel_load_stop(jobs->load);
		jobs->load = NULL;
		return;
	case KERNEL_LOAD_READY:
		jobs->is_ready = true;
		note_missing(jobs);
		note_blind(jobs);
	}
}

void kernel_jobs_drain(struct kernel_jobs *jobs)
{
	if (jobs->load && !jobs->is_ready)
		look_whether_ready(jobs);
	if (!jobs->is_ready)
		return;
	kernel_load_drain(jobs->load);
	job_rows_retry(jobs->rows, false);
}

/* ---- losses ---------------------------------------------------------------------------------- */

static void put_lost(struct kernel_jobs *jobs, uint64_t now_ns)
{
	const struct job_rows_lost lost = {.records = kernel_load_lost(jobs->load),
					   .unended = jobs_counted(jobs->jobs)->unended};

	job_rows_put_lost(jobs->rows, &lost, now_ns);
}

void kernel_jobs_each_second(struct kernel_jobs *jobs, uint64_t now_ns)
{
	if (jobs->is_ready)
		put_lost(jobs, now_ns);
	job_rows_each_second(jobs->rows, now_ns);
}

static void note_counts(struct kernel_jobs *jobs)
{
	const struct job_rows_counts *rows = job_rows_counted(jobs->rows);
	const struct jobs_counts *counts = jobs_counted(jobs->jobs);
	const bool is_partial = rows->crowded || counts->unended || counts->malformed;
	char text[600];

	snprintf(text, sizeof(text),
		 "jobs of GPUs: %" PRIu64 " in all; %" PRIu64
		 " left out because the thread that queued them is unknown, %" PRIu64
		 " because their process's runtime is recorded, %" PRIu64
		 " because there are too many processes and rings; %" PRIu64
		 " without an end; %" PRIu64 " ends without a job; %" PRIu64
		 " fences without a name; %" PRIu64 " malformed records",
		 counts->emitted, rows->ownerless, rows->has_runtime, rows->crowded,
		 counts->unended, counts->unseen, counts->unnamed, counts->malformed);
	if (counts->emitted || counts->unseen || counts->unnamed || counts->malformed)
		put_note(jobs, is_partial ? COLLECTOR_PARTIAL : COLLECTOR_AVAILABLE, text);
}

void kernel_jobs_close(struct kernel_jobs *jobs)
{
	if (!jobs)
		return;
	kernel_jobs_drain(jobs);
	if (jobs->is_ready) {
		jobs_end(jobs->jobs);
		job_rows_retry(jobs->rows, true);
		put_lost(jobs, host_clocks_now_ns());
		note_counts(jobs);
	}
	kernel_load_stop(jobs->load);
	jobs_free(jobs->jobs);
	job_rows_free(jobs->rows);
	free(jobs);
}
