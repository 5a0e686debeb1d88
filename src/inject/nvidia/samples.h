/* SPDX-License-Identifier: MIT
 *
 * inject/nvidia/samples.h - sessions of PC sampling
 *
 * Shared by samples.c (sessions) and sample_records.c (their samples) only.
 */
#pragma once

#include "inject/nvidia/cuda.h"

#pragma GCC visibility push(hidden)

enum { PCS = 4096 /* samples read at a time */, MAX_REASONS = 128, VERSION_12_4 = 22 };

struct cuda_pcs {
	struct cupti_pc_sampling_data data;
	size_t stride;
	void *memory;
	size_t memory_bytes;
};

/* Stall reasons of one chip that count each sample once. */
struct cuda_reasons {
	uint32_t indices[MAX_REASONS];
	uint32_t names[MAX_REASONS]; /* indices of the names of all chips */
	uint32_t count, all_count;
};

struct cuda_session {
	CUcontext _Atomic context; /* written under the lock; NULL: free */
	/* equals `context` once CUPTI may not be called for the context any more */
	CUcontext _Atomic gone;
	struct cuda_pcs drain, configured;
	struct cuda_reasons reasons;
	bool is_on;
	uint32_t device, restarts;
	uint64_t period; /* cycles between two samples; 0: unknown */
	uint64_t begin;  /* when sampling was enabled, by CUPTI's clock */
	uint64_t read;   /* when CUPTI last gave samples */
};

/* Sampling has ended for good in this process: the names of functions take too much memory. */
extern bool cuda_samples_are_over;
/* Kernels are serialised, so that each sample has the id of its launch. */
extern bool cuda_samples_are_exact;

extern bool cuda_samples_refusal_is_reported;
/* Reports a refusal of CUPTI; only the first one, because all contexts get the same one. */
void cuda_samples_refused(struct guest_thread *thread, const char *function, cupti_result result);
/* Calls a function of CUPTI; false: it was refused. */
#define CUDA_SAMPLES_CALL(thread, function, params) \
	cuda_samples_was_done(thread, #function, cuda_cupti.function(params))
bool cuda_samples_was_done(struct guest_thread *thread, const char *function, cupti_result result);

static inline struct cupti_pc_data *cuda_pc_at(const struct cuda_pcs *pcs, size_t index)
{
	return (struct cupti_pc_data *)(void *)((char *)pcs->data.pcs + index * pcs->stride);
}

/* Queries the stall reasons of the session's chip. False: refused, or there are none. */
bool cuda_find_reasons(struct guest_thread *thread, struct cuda_session *session);
/* Records the samples of a buffer; end: the latest time at which they were taken. */
void cuda_put_pcs(struct guest_thread *thread, const struct cuda_session *session,
		  const struct cuda_pcs *pcs, uint64_t end);
/* Time of CUPTI's clock. */
uint64_t cuda_samples_now(void);

#pragma GCC visibility pop
