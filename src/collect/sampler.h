/* SPDX-License-Identifier: MIT
 *
 * collect/sampler.h - a thread that does something at equal distances in time, and knows how well
 */
#ifndef COLLECT_SAMPLER_H
#define COLLECT_SAMPLER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/rights.h"

struct sampler_options {
	const char *name;
	uint64_t interval_ns;
	void (*tick)(void *context);
	void *context;
	enum rights_kept rights; /* of the thread */
};

struct sampler {
	struct sampler_options options;
	pthread_t thread;
	pthread_mutex_t lock;     /* held while it ticks */
	_Atomic uint32_t changes; /* of what is said to the thread; it sleeps on that */
	bool is_running, is_stopping;
	uint64_t extras_wanted;  /* ticks that somebody asked for … */
	_Atomic uint64_t extras; /* … of which so many were made */
	/* Of the tick at hand. */
	bool is_extra;     /* somebody asked for it: it has no deadline */
	uint64_t late_ns;  /* behind its deadline */
	uint64_t overruns; /* deadlines that passed without a tick, since the start */
};

/* The first tick comes at once. -EAGAIN: no thread can be made. */
int sampler_start(struct sampler *sampler, const struct sampler_options *options);

/* One more tick. False: wait_ns were not enough for it, or for the one at hand. */
bool sampler_tick_now(struct sampler *sampler, uint64_t wait_ns);

/* False: it still is in a tick after wait_ns, and what it works with must stay. Nothing where it was not started. */
bool sampler_stop(struct sampler *sampler, uint64_t wait_ns);

/* Processor time of its thread. */
uint64_t sampler_cpu_ns(const struct sampler *sampler);

#endif
