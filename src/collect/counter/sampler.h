/* SPDX-License-Identifier: MIT
 *
 * collect/counter/sampler.h - a thread that ticks at a fixed interval and measures its own lateness
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/start/rights.h"

struct sampler_options {
	const char *name;
	uint64_t interval_ns;
	void (*tick)(void *context);
	void *context;
	enum rights_kept rights; /* rights that the thread keeps */
};

struct sampler {
	struct sampler_options options;
	pthread_t thread;
	pthread_mutex_t lock; /* held during a tick */
	/* Number of requests to the thread; the futex on which it sleeps. */
	_Atomic uint32_t changes;
	bool is_running, is_stopping;
	uint64_t extras_wanted;  /* number of extra ticks requested */
	_Atomic uint64_t extras; /* number of extra ticks done */
	/* State of the present tick. */
	bool is_extra;     /* an extra tick, which has no deadline */
	uint64_t late_ns;  /* lateness */
	uint64_t overruns; /* deadlines that passed without a tick, since the start */
};

/* The first tick comes at once. Errors: -EAGAIN: the thread cannot be started. */
int sampler_start(struct sampler *sampler, const struct sampler_options *options);

/* Requests an extra tick and waits for it. False: it was not done within wait_ns. */
bool sampler_tick_now(struct sampler *sampler, uint64_t wait_ns);

/* False: a tick still runs after wait_ns, and the thread's memory must stay. Does nothing if the
 * sampler was not started. */
bool sampler_stop(struct sampler *sampler, uint64_t wait_ns);

/* CPU time of its thread. */
uint64_t sampler_cpu_ns(const struct sampler *sampler);
