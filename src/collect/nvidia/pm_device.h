/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/pm_device.h - PM sampling of one GPU, in a thread of its own
 */
#ifndef COLLECT_NVIDIA_PM_DEVICE_H
#define COLLECT_NVIDIA_PM_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/nvidia/cupti.h"
#include "collect/nvidia/pm_gpus.h"
#include "collect/nvidia/pm_samples.h"

enum pm_state { PM_OPENING, PM_SAMPLING, PM_REFUSED, PM_ENDED };

/* What can be noted of a GPU while it is sampled. */
enum pm_note { PM_NOTE_OVERFLOW, PM_NOTE_CLOCK, PM_NOTE_END, PM_NOTES };
enum { PM_TEXT_BYTES = 768 };

/* Between two looks at the clocks a sample lies. */
struct pm_moment {
	uint64_t cupti, wall; /* cuptiGetTimestamp; CLOCK_REALTIME */
};

struct pm_device {
	/* Written before it starts. */
	struct cupti cupti; /* a copy, for what failed last */
	struct pm_gpu gpu;
	uint32_t hz;
	/* Of both threads. */
	uint32_t device;      /* the trace's, … */
	uint32_t clock;       /* … and its domain of what cuptiGetTimestamp says: before … */
	atomic_bool is_known; /* … this is said, and no row comes earlier */
	struct series series;
	atomic_uint rows_clock; /* the domain of the rows' times; 0: not known yet */
	atomic_int state;       /* enum pm_state */
	atomic_bool is_stopping;
	pthread_t thread;
	bool is_started;
	char refusal[512]; /* once it is PM_REFUSED: a sentence without its end */
	/* The thread's own, readable for others once it is not PM_OPENING any more. */
	char chip[32];
	enum pm_trigger trigger;
	uint64_t cycles; /* PM_TRIGGER_CYCLE: between two samples */
	struct pm_set set;
	cupti_pm_sampling_object object;
	uint8_t *image; /* owned */
	size_t image_bytes;
	struct pm_samples samples;
	struct pm_moment from; /* before it was started last */
	bool is_first;         /* the next sample is the first since then */
	bool has_no_clock;     /* its times cannot be placed */
	uint32_t failures, restarts;
	char notes[PM_NOTES][PM_TEXT_BYTES];
	uint64_t wait_ns; /* between two decodings */
};

/* Waits until it samples or was refused; rows come once pm_device_tell has said whose they are. Errors: -EAGAIN, -ENOMEM, -EIO where CUPTI refused it, -ETIMEDOUT: it still tries;
 * each with what to do in the error chain. */
int pm_device_start(struct pm_device *device);

/* The trace's ids of the device and of the clock. */
void pm_device_tell(struct pm_device *device, uint32_t id, uint32_t clock);

/* Takes what is left and gives the GPU's counters back. False: it hangs in the driver after wait_ns, and all that it works
 * with must stay. */
bool pm_device_stop(struct pm_device *device, uint64_t wait_ns);

void pm_device_free(struct pm_device *device); /* NULL-safe; of one that does not run */

#endif
