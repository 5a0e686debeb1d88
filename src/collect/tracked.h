/* SPDX-License-Identifier: MIT
 *
 * collect/tracked.h - the processes whose counters are read: the main thread says which, samplers look
 */
#ifndef COLLECT_TRACKED_H
#define COLLECT_TRACKED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRACKED_MOST = 1024 }; /* the note in counters.c says it */

struct tracked_place {
	uint32_t pid;        /* 0: nobody */
	uint32_t generation; /* another one each time somebody comes */
	uint32_t process;    /* the trace's */
	uint64_t since_ns;   /* it was born after that; 0: it was there before the recording */
};

/* The most that was resident of a process, as far as anybody has read it. */
struct tracked_peak {
	uint32_t generation; /* whose it is */
	uint64_t bytes;
};

struct tracked {
	pthread_mutex_t lock; /* of places and count */
	struct tracked_place places[TRACKED_MOST];
	size_t count; /* places that were ever taken */
	uint32_t last_generation;
	_Atomic uint64_t version;                /* of what stands there */
	struct tracked_peak peaks[TRACKED_MOST]; /* the thread's that reads both files that tell */
};

/* What a source saw the last time. */
struct tracked_view {
	struct tracked_place places[TRACKED_MOST];
	size_t count;
	uint64_t version;
};

void tracked_init(struct tracked *tracked);
void tracked_fini(struct tracked *tracked);

/* Where it is now; TRACKED_MOST: there are too many. */
size_t tracked_add(struct tracked *tracked, uint32_t pid, uint32_t process, uint64_t since_ns);
void tracked_remove(struct tracked *tracked, size_t place);

/* Brings a view up to date; calls changed for each place where another process is than before, or nobody. */
void tracked_look(struct tracked *tracked, struct tracked_view *view,
		  void (*changed)(void *context, size_t place), void *context);

/* What is known with another reading of the process at a place. */
uint64_t tracked_raise_peak(struct tracked *tracked, const struct tracked_view *view, size_t place,
			    uint64_t bytes);

#endif
