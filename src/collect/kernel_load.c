/* SPDX-License-Identifier: MIT
 *
 * collect/kernel_load.c - an object of ours that goes into the kernel beside the program's start, and what it tells
 *
 * Runs in:  the recorder; loading in a thread of its own, which has no rights but to do that
 * Gets:     an object   Gives: its records, in the order in which the kernel wrote them
 * Owns:     the object, its ring, the thread
 * Fails:    to load: with the reason, and nothing is told
 */
#include "collect/kernel_load.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/thread.h"
#include "collect/rights.h"

enum { PROCESSORS_MOST = 1024 };

struct kernel_load {
	pthread_t thread;
	struct kernel_load_options options;
	_Atomic enum kernel_load_state state;
	char reason[PATH_MAX + 600];
	struct kernel_object *object; /* owned */
	struct ring_buffer *ring;     /* owned */
	int counts_fd, processors;
	uint32_t left; /* of a drain */
};

static int on_record(void *context, void *data, size_t size)
{
	struct kernel_load *load = context;

	load->options.on_record(load->options.context, data, size);
	/* others have their turn too, however fast the kernel writes */
	return --load->left ? 0 : -EAGAIN;
}

static int open_ring(struct kernel_load *load)
{
	const struct bpf_map *records = kernel_object_map(load->object, "records");
	const struct bpf_map *counts = kernel_object_map(load->object, "counts");

	load->processors = libbpf_num_possible_cpus();
	load->counts_fd = counts ? bpf_map__fd(counts) : -1;
	load->ring = records ? ring_buffer__new(bpf_map__fd(records), on_record, load, NULL) : NULL;
	return load->ring ? 0
			  : error_set(-ENOMEM, "programs inside the kernel (BPF): no memory for "
					       "their records");
}

static void *run(void *argument)
{
	struct kernel_load *load = argument;
	int error;

	rights_keep_loading(true);
	error = kernel_object_open(&load->options.object, &load->object);
	if (!error)
		error = open_ring(load);
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
		return error_set(-ENOMEM, "programs inside the kernel (BPF): out of memory");
	load->options = *options;
	load->counts_fd = -1;
	if (!thread_start(&load->thread, run, load)) {
		free(load);
		return error_set(-EAGAIN,
				 "programs inside the kernel (BPF): no thread to load them");
	}
	*ret_load = load;
	return 0;
}

void kernel_load_stop(struct kernel_load *load)
{
	if (!load)
		return;
	/* What goes on inside libbpf cannot be stopped; nobody waits for it: it is the recorder's last second anyway. */
	if (load->state == KERNEL_LOAD_GOES_ON) {
		pthread_detach(load->thread);
		return;
	}
	pthread_join(load->thread, NULL);
	ring_buffer__free(load->ring);
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
	load->left = KERNEL_LOAD_RECORDS;
	ring_buffer__consume(load->ring);
	return !load->left;
}

uint64_t kernel_load_counted(const struct kernel_load *load, uint32_t key)
{
	uint64_t values[PROCESSORS_MOST], sum = 0;

	if (load->counts_fd < 0 || load->processors > (int)ARRAY_COUNT(values) ||
	    bpf_map_lookup_elem(load->counts_fd, &key, values))
		return 0;
	for (int i = 0; i < load->processors; i++)
		sum += values[i];
	return sum;
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
