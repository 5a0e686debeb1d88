/* SPDX-License-Identifier: MIT
 *
 * collect/kernel/ring.c - reads the records and loss counts that BPF programs write
 *
 * Runs in:  the recorder
 * Gets:     a loaded BPF object
 * Gives:    its records, in the order in which the kernel wrote them
 * Owns:     the libbpf reader of its ring buffers
 * Fails:    -ENOMEM
 * Why:      At most 32768 records are read at a time. Otherwise BPF programs that write as fast as
 *           the recorder reads would stop all other work of the recorder.
 */
#include "collect/kernel/ring.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"

enum { MAX_OTHERS = 2, MAX_PROCESSORS = 1024 };

struct source {
	struct kernel_ring *ring;
	kernel_ring_record *on_record;
};

struct kernel_ring {
	struct ring_buffer *buffer; /* owned */
	void *context;              /* borrowed */
	struct source first, others[MAX_OTHERS];
	size_t others_count;
	uint32_t left; /* records left in this round */
};

static int on_first(void *context, void *data, size_t size)
{
	const struct source *source = context;

	source->on_record(source->ring->context, data, size);
	return --source->ring->left ? 0 : -EAGAIN;
}

static int on_other(void *context, void *data, size_t size)
{
	const struct source *source = context;

	source->on_record(source->ring->context, data, size);
	return 0;
}

static int out_of_memory(void)
{
	return error_set(-ENOMEM, "BPF programs: no memory for their records");
}

int kernel_ring_open(const struct kernel_object *object, const char *map,
		     kernel_ring_record *on_record, void *context, struct kernel_ring **ret_ring)
{
	const struct bpf_map *records = kernel_object_map(object, map);
	struct kernel_ring *ring = calloc(1, sizeof(*ring));

	if (ring) {
		ring->context = context;
		ring->first = (struct source){ring, on_record};
		if (records)
			ring->buffer = ring_buffer__new(bpf_map__fd(records), on_first,
							&ring->first, NULL);
	}
	if (!ring || !ring->buffer) {
		kernel_ring_close(ring);
		return out_of_memory();
	}
	*ret_ring = ring;
	return 0;
}

int kernel_ring_add(struct kernel_ring *ring, const struct kernel_object *object, const char *map,
		    kernel_ring_record *on_record)
{
	const struct bpf_map *records = kernel_object_map(object, map);
	struct source *source = &ring->others[ring->others_count];

	if (!records || ring->others_count == MAX_OTHERS)
		return out_of_memory();
	*source = (struct source){ring, on_record};
	if (ring_buffer__add(ring->buffer, bpf_map__fd(records), on_other, source))
		return out_of_memory();
	ring->others_count++;
	return 0;
}

void kernel_ring_close(struct kernel_ring *ring)
{
	if (!ring)
		return;
	ring_buffer__free(ring->buffer);
	free(ring);
}

bool kernel_ring_drain(struct kernel_ring *ring)
{
	ring->left = KERNEL_RING_RECORDS;
	ring_buffer__consume(ring->buffer);
	return !ring->left;
}

uint64_t kernel_ring_sum(int counts_fd, uint32_t key)
{
	const int processors = libbpf_num_possible_cpus();
	uint64_t values[MAX_PROCESSORS], sum = 0;

	if (processors > (int)ARRAY_COUNT(values) || bpf_map_lookup_elem(counts_fd, &key, values))
		return 0;
	for (int i = 0; i < processors; i++)
		sum += values[i];
	return sum;
}

uint64_t kernel_ring_counted(const struct kernel_object *object, uint32_t key)
{
	const struct bpf_map *counts = kernel_object_map(object, "counts");

	return counts ? kernel_ring_sum(bpf_map__fd(counts), key) : 0;
}
