/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/pm_device.h - PM sampling of one GPU, in a thread of its own
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/nvidia/cupti.h"
#include "collect/nvidia/pm_gpus.h"
#include "collect/nvidia/pm_samples.h"

enum pm_state { PM_OPENING, PM_SAMPLING, PM_REFUSED, PM_ENDED };

/* Notes about a GPU that is being sampled. */
enum pm_note { PM_NOTE_OVERFLOW, PM_NOTE_CLOCK, PM_NOTE_END, PM_NOTES };
enum { PM_TEXT_BYTES = 768 };

/* Clock readings before and after the samples, to place them. */
struct pm_moment {
	uint64_t cupti, wall; /* cuptiGetTimestamp; CLOCK_REALTIME */
};

struct pm_device {
	/* Set before the thread starts. */
	struct cupti cupti; /* a copy, with its last failure */
	struct pm_gpu gpu;
	uint32_t hz;
	uint64_t unwanted; /* bits of metrics that the user did not choose */
	/* Used by both threads. */
	uint32_t device;      /* id of the trace, set before is_known */
	uint32_t clock;       /* clock domain of cuptiGetTimestamp's values, set before is_known */
	atomic_bool is_known; /* set by pm_device_set_id; no row is written before */
	struct series series;
	atomic_uint rows_clock; /* clock domain of the rows' times; 0: not known yet */
	atomic_int state;       /* enum pm_state */
	atomic_bool is_stopping;
	pthread_t thread;
	bool is_started;
	char refusal[512]; /* valid in the state PM_REFUSED: a sentence without its period */
	/* Set by the thread; other threads may read them after the state PM_OPENING. */
	char chip[32];
	enum pm_trigger trigger;
	uint64_t cycles; /* PM_TRIGGER_CYCLE: cycles between two samples */
	struct pm_set set;
	cupti_pm_sampling_object object;
	uint8_t *image; /* owned */
	size_t image_bytes;
	struct pm_samples samples;
	struct pm_moment from; /* before the last start */
	bool is_first;         /* the next sample is the first one after it */
	bool has_no_clock;     /* times of samples cannot be placed */
	uint32_t failures, restarts;
	char notes[PM_NOTES][PM_TEXT_BYTES];
	uint64_t wait_ns; /* time between two decodings */
};

/* Starts the thread and waits until it samples or is refused. Rows come after pm_device_set_id.
 * Errors, with the remedy in the error chain: -EAGAIN, -ENOMEM, -EIO: CUPTI refused, -ETIMEDOUT:
 * the thread is still trying. */
int pm_device_start(struct pm_device *device);

/* Sets the trace's ids of the device and of the clock. */
void pm_device_set_id(struct pm_device *device, uint32_t id, uint32_t clock);

/* Decodes the rest and releases the GPU's counters. False: the thread hangs in the driver after
 * wait_ns, and its memory must stay. */
bool pm_device_stop(struct pm_device *device, uint64_t wait_ns);

void pm_device_free(struct pm_device *device); /* NULL-safe; the thread must have stopped */
