/* SPDX-License-Identifier: MIT
 *
 * collect/kernel/program_load.c - loads a BPF object in a thread of its own, and reads its records
 *
 * Runs in:  the recorder; the load in a thread that keeps only CAP_BPF, CAP_PERFMON and
 *           CAP_SYS_ADMIN
 * Gets:     a compiled object
 * Gives:    its records, in the order in which the kernel wrote them
 * Owns:     the object, its ring, the thread
 * Fails:    a failed load leaves a reason; there are no records then
 */
#include "collect/kernel/program_load.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/thread.h"
#include "collect/kernel/ring.h"
#include "collect/start/rights.h"

struct kernel_load {
	pthread_t thread;
	struct kernel_load_options options;
	_Atomic enum kernel_load_state state;
	char reason[PATH_MAX + 600];
	struct kernel_object *object; /* owned */
	struct kernel_ring *ring;     /* owned */
};

static void *run(void *argument)
{
	struct kernel_load *load = argument;
	int error;

	rights_keep_loading(true);
	error = kernel_object_open(&load->options.object, &load->object);
	if (!error)
		error = kernel_ring_open(load->object, "records", load->options.on_record,
					 load->options.context, &load->ring);
	if (!error && load->options.on_loaded)
		load->options.on_loaded(load->options.context, load->object);
	if (error) {
		snprintf(load->reason, sizeof(load->reason), "%s", error_text());
		error_clear();
	}
	load->state = error ? KERNEL_LOAD_REFUSED : KERNEL_LOAD_READY;
	return NULL;
}

int kernel_load_start(const struct kernel_load_options *options, struct kernel_load **ret_load)
{
	struct kernel_load *load = calloc(1, sizeof(*load));

	if (!load)
		return error_set(-ENOMEM, "BPF programs: out of memory");
	load->options = *options;
	if (!thread_start(&load->thread, run, load)) {
		free(load);
		return error_set(-EAGAIN, "BPF programs: cannot start the thread that loads them");
	}
	*ret_load = load;
	return 0;
}

void kernel_load_stop(struct kernel_load *load)
{
	if (!load)
		return;
	/* A load inside libbpf cannot be interrupted. The thread is left alone, because the
	 * recorder ends soon anyway. */
	if (load->state == KERNEL_LOAD_GOES_ON) {
		pthread_detach(load->thread);
		return;
	}
	pthread_join(load->thread, NULL);
	kernel_ring_close(load->ring);
	kernel_object_close(load->object);
	free(load);
}

enum kernel_load_state kernel_load_state(const struct kernel_load *load, const char **ret_reason)
{
	*ret_reason = load->state == KERNEL_LOAD_REFUSED ? load->reason : "";
	return load->state;
}

const struct kernel_program_report *kernel_load_reports(const struct kernel_load *load,
							size_t *ret_count)
{
	return kernel_object_reports(load->object, ret_count);
}

bool kernel_load_drain(struct kernel_load *load)
{
	return kernel_ring_drain(load->ring);
}

uint64_t kernel_load_counted(const struct kernel_load *load, uint32_t key)
{
	return kernel_ring_counted(load->object, key);
}

uint64_t kernel_load_lost(const struct kernel_load *load)
{
	return kernel_load_counted(load, 0);
}

uint64_t kernel_load_missed(const struct kernel_load *load)
{
	return kernel_object_missed(load->object);
}

int kernel_load_put(const struct kernel_load *load, const char *map, const void *key,
		    const void *value)
{
	return kernel_object_put(load->object, map, key, value);
}

int kernel_load_remove(const struct kernel_load *load, const char *map, const void *key)
{
	return kernel_object_remove(load->object, map, key);
}
