/* SPDX-License-Identifier: MIT
 *
 * collect/counter/sampled_processes.h - the list of processes whose counters are read
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_TRACKED = 1024 }; /* also in a note of counters.c */

struct tracked_place {
	uint32_t pid;        /* 0: the slot is free */
	uint32_t generation; /* differs for each process */
	uint32_t process;    /* id of the trace */
	/* The process started after this time; 0: it existed before the recording. */
	uint64_t since_ns;
};

/* The max resident memory of a process in any reading. */
struct tracked_peak {
	uint32_t generation; /* generation of its process */
	uint64_t bytes;
};

struct tracked {
	pthread_mutex_t lock; /* protects places and count */
	struct tracked_place places[MAX_TRACKED];
	size_t count; /* number of slots that were ever used */
	uint32_t last_generation;
	_Atomic uint64_t version; /* changes with each change of a slot */
	/* Written by the thread that reads both files of the process. */
	struct tracked_peak peaks[MAX_TRACKED];
};

/* A source's last view of the list. */
struct tracked_view {
	struct tracked_place places[MAX_TRACKED];
	size_t count;
	uint64_t version;
};

void tracked_init(struct tracked *tracked);
void tracked_fini(struct tracked *tracked);

/* Returns its slot; MAX_TRACKED: too many. */
size_t tracked_add(struct tracked *tracked, uint32_t pid, uint32_t process, uint64_t since_ns);
void tracked_remove(struct tracked *tracked, size_t place);

/* Updates a view and calls `changed` for each slot whose process has changed or ended. */
void tracked_look(struct tracked *tracked, struct tracked_view *view,
		  void (*changed)(void *context, size_t place), void *context);

/* Raises the peak of the slot's process to a new reading; returns the peak. */
uint64_t tracked_raise_peak(struct tracked *tracked, const struct tracked_view *view, size_t place,
			    uint64_t bytes);
