/* SPDX-License-Identifier: MIT
 *
 * inject/amd/hsa_copies.c - track each copy of memory
 *
 * Runs in:  the profiled process, around the calls that copy
 * Gets:     a copy's agents, bytes and signal
 * Gives:    a launch record, later an execution record
 * Owns:     the times of the last copies, for the program's own queries
 * Fails:    by passing a copy on unchanged, untimed and counted
 * Why:      the runtime keeps the times of a copy beside its signal, in memory that tools cannot
 *           write. So a signal of the guest replaces the program's, and the guest answers queries
 *           for the times of the program's signal. This happens in every mode, unlike dispatches,
 *           because the runtime's own thread ends a copy in any case if a program reads its times.
 */
#include <errno.h>
#include <string.h>

#include "inject/amd/hsa.h"

/* Several entries per hash row. With one, two of 12 copies had the same row in every 60th run, and
 * the program's query for the times of the first failed. */
enum { ROWS_BITS = 11, ROW_TIMES = 8 };

/* Times of a copy, for queries of the program by its signal. */
struct copy_times {
	_Atomic uint64_t signal;
	_Atomic uint64_t start, end;
};

static struct times_row {
	struct copy_times times[ROW_TIMES];
	_Atomic uint32_t next; /* only grows; selects the entry that a new one replaces */
} rows[1 << ROWS_BITS];

static struct times_row *row_of(hsa_signal signal)
{
	return &rows[(signal.handle >> 6) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - ROWS_BITS)];
}

/* NULL: the times were not stored, or were replaced. */
static struct copy_times *find_times(hsa_signal signal)
{
	struct times_row *row = row_of(signal);

	for (int i = 0; i < ROW_TIMES; i++)
		if (atomic_load(&row->times[i].signal) == signal.handle)
			return &row->times[i];
	return NULL;
}

void hsa_copy_ended(hsa_signal original, const struct hsa_times *times)
{
	struct copy_times *place = find_times(original);

	if (!place)
		place = &row_of(original)
				 ->times[atomic_fetch_add(&row_of(original)->next, 1) % ROW_TIMES];
	atomic_store(&place->signal, 0);
	atomic_store(&place->start, times->start);
	atomic_store(&place->end, times->end);
	atomic_store(&place->signal, original.handle);
}

/* Removes the times of an earlier copy, because the program reuses its signals, maybe for a copy
 * that is not tracked. */
static void forget_times(hsa_signal signal)
{
	struct copy_times *place = signal.handle ? find_times(signal) : NULL;

	if (place)
		atomic_store(&place->signal, 0);
}

static hsa_status own_copy_time(hsa_signal signal, struct hsa_times *times)
{
	bool is_asked = times && signal.handle && hsa_signal_is_alive(signal);
	struct copy_times *place = is_asked ? find_times(signal) : NULL;
	struct hsa_times found;

	if (!place)
		return hsa_next.copy_time(signal, times);
	found = (struct hsa_times){atomic_load(&place->start), atomic_load(&place->end)};
	if (atomic_load(&place->signal) != signal.handle || !found.end)
		return hsa_next.copy_time(signal, times);
	*times = found;
	return HSA_SUCCESS;
}

/* ---- a copy while its call runs -------------------------------------------------------------- */

struct copy {
	struct guest_thread *thread; /* NULL: not recorded */
	struct hsa_slot *slot;       /* NULL: not timed */
	struct hsa_launch launch;
};

/* One end of a copy. An agent does not show whether memory of the host is pinned. */
struct copy_side {
	uint32_t memory; /* enum event_memory */
	uint32_t device; /* id; 0: the host, or not known */
};

static struct copy_side end_at(const struct hsa_device *device)
{
	return device ? (struct copy_side){MEMORY_DEVICE, device->id} : (struct copy_side){0};
}

/* Type of a copy, its ends, and the device whose engine does it; device NULL: no GPU takes part. */
struct kind_of_copy {
	uint32_t function, command;
	const struct hsa_device *device;
	struct copy_side to, from;
	uint64_t bytes;
};

/* Describes the copy in a slot. */
static void fill_slot(struct hsa_slot *slot, const struct copy *copy,
		      const struct kind_of_copy *kind)
{
	const struct record_transfer transfer = {.source_device = kind->from.device,
						 .destination_device = kind->to.device,
						 .source_memory = (uint8_t)kind->from.memory,
						 .destination_memory = (uint8_t)kind->to.memory};

	slot->queue_id = copy->launch.queue_id;
	slot->mode = copy->thread->mode;
	slot->is_copy = true;
	slot->agent = kind->device->agent;
	slot->correlation = copy->launch.correlation;
	hsa_slot_set_parts(slot, 0, 0, &transfer);
}

static void begin_slot(struct copy *copy, const struct kind_of_copy *kind, hsa_signal *completion)
{
	struct hsa_slot *slot;

	if (!hsa_signals_take(HSA_WAKING, 1, &slot))
		return;
	fill_slot(slot, copy, kind);
	slot->original = *completion;
	if (!hsa_expect(slot)) {
		hsa_signals_give(&slot, 1);
		return;
	}
	copy->slot = slot;
	*completion = slot->signal;
}

static void begin_untimed(struct copy *copy, const struct kind_of_copy *kind)
{
	int saved = errno;

	*copy = (struct copy){.thread = kind->device ? guest_enter() : NULL};
	if (!copy->thread) {
		if (kind->device)
			guest_missed(RING_TROUBLE_NO_RING_LAUNCH);
		return;
	}
	hsa_describe_devices(copy->thread);
	copy->launch = (struct hsa_launch){
		.command = kind->command,
		.flags = LAUNCH_UNTIMED,
		.queue_id = kind->device->copy_queue,
		.correlation = guest_new_correlation(copy->thread),
		.bytes = kind->bytes,
	};
	hsa_launch_begin(copy->thread, &copy->launch, kind->function);
	errno = saved;
}

static void begin_copy(struct copy *copy, const struct kind_of_copy *kind, hsa_signal *completion)
{
	int saved = errno;

	forget_times(*completion);
	begin_untimed(copy, kind);
	/* The runtime completes no signal if it copies no bytes. Invalid signals are left for the
	 * runtime to refuse. */
	if (!copy->thread || !kind->bytes || !completion->handle ||
	    !hsa_signal_is_alive(*completion))
		return;
	begin_slot(copy, kind, completion);
	if (copy->slot) {
		copy->launch.flags &= ~(uint32_t)LAUNCH_UNTIMED;
	} else {
		guest_trouble(AMD_TROUBLE_SIGNALS);
	}
	errno = saved;
}

/* A refused copy completes nothing. Our signal is completed here, and the program's is not
 * touched. */
static void cancel(struct hsa_slot *slot)
{
	slot->original.handle = 0;
	slot->mode = 0;
	hsa_next.subtract(slot->signal, 1);
}

/* A copy without times has its ends all the same. */
static void put_untimed_copy(struct copy *copy, const struct kind_of_copy *kind)
{
	static const struct hsa_times unknown;
	struct hsa_slot slot;

	copy->launch.flags |= RECORD_LAUNCH_EXECUTED;
	hsa_put_launch(copy->thread, &copy->launch);
	fill_slot(&slot, copy, kind);
	hsa_put_execution(copy->thread, &slot, &unknown);
}

static void end_copy(struct copy *copy, const struct kind_of_copy *kind, hsa_status status)
{
	int saved = errno;

	if (!copy->thread)
		return;
	if (status != HSA_SUCCESS) {
		if (copy->slot)
			cancel(copy->slot);
		copy->launch.correlation = 0;
		copy->launch.result = (int32_t)status;
	}
	if (status == HSA_SUCCESS && !copy->slot)
		put_untimed_copy(copy, kind);
	else
		hsa_put_launch(copy->thread, &copy->launch);
	hsa_read_clock(copy->thread, false);
	errno = saved;
}

/* The copy engine is the source's if the source is a GPU. */
static void set_direction(struct kind_of_copy *kind, const struct hsa_device *to,
			  const struct hsa_device *from)
{
	kind->command = !from && to ? COMMAND_WRITE : from && !to ? COMMAND_READ : COMMAND_COPY;
	kind->device = from ? from : to;
}

static void set_ends(struct kind_of_copy *kind, const struct hsa_device *to,
		     const struct hsa_device *from)
{
	set_direction(kind, to, from);
	kind->to = end_at(to);
	kind->from = end_at(from);
}

/* ---- the calls ------------------------------------------------------------------------------- */

static hsa_status own_async_copy(void *to, hsa_agent to_agent, const void *from,
				 hsa_agent from_agent, size_t size, uint32_t waits_count,
				 const hsa_signal *waits, hsa_signal completion)
{
	struct kind_of_copy kind = {.function = HSA_CALL_COPY, .bytes = size};
	struct copy copy;
	hsa_status status;

	set_ends(&kind, hsa_device_of(to_agent), hsa_device_of(from_agent));
	begin_copy(&copy, &kind, &completion);
	status = hsa_next.async_copy(to, to_agent, from, from_agent, size, waits_count, waits,
				     completion);
	end_copy(&copy, &kind, status);
	return status;
}

/* The engine is left out: its number may also be that of an HSA queue of the device. */
static hsa_status own_async_copy_on_engine(void *to, hsa_agent to_agent, const void *from,
					   hsa_agent from_agent, size_t size, uint32_t waits_count,
					   const hsa_signal *waits, hsa_signal completion,
					   uint32_t engine, bool force)
{
	struct kind_of_copy kind = {.function = HSA_CALL_COPY_ON_ENGINE, .bytes = size};
	struct copy copy;
	hsa_status status;

	set_ends(&kind, hsa_device_of(to_agent), hsa_device_of(from_agent));
	begin_copy(&copy, &kind, &completion);
	status = hsa_next.async_copy_on_engine(to, to_agent, from, from_agent, size, waits_count,
					       waits, completion, engine, force);
	end_copy(&copy, &kind, status);
	return status;
}

/* The agent does the copy; the memory may be another device's. */
static struct copy_side end_of_box(bool is_device)
{
	return (struct copy_side){.memory = is_device ? MEMORY_DEVICE : MEMORY_UNKNOWN};
}

static hsa_status own_async_copy_rect(const void *to, const struct hsa_extent *to_offset,
				      const void *from, const struct hsa_extent *from_offset,
				      const struct hsa_extent *range, hsa_agent agent,
				      uint32_t direction, uint32_t waits_count,
				      const hsa_signal *waits, hsa_signal completion)
{
	const struct kind_of_copy kind = {
		.function = HSA_CALL_COPY_RECT,
		.command = direction == HSA_COPY_HOST_TO_DEVICE   ? COMMAND_WRITE
			   : direction == HSA_COPY_DEVICE_TO_HOST ? COMMAND_READ
								  : COMMAND_COPY,
		.device = hsa_device_of(agent),
		.to = end_of_box(direction == HSA_COPY_HOST_TO_DEVICE ||
				 direction == HSA_COPY_DEVICE_TO_DEVICE),
		.from = end_of_box(direction == HSA_COPY_DEVICE_TO_HOST ||
				   direction == HSA_COPY_DEVICE_TO_DEVICE),
		.bytes = range ? (uint64_t)range->x * range->y * range->z : 0,
	};
	struct copy copy;
	hsa_status status;

	begin_copy(&copy, &kind, &completion);
	status = hsa_next.async_copy_rect(to, to_offset, from, from_offset, range, agent, direction,
					  waits_count, waits, completion);
	end_copy(&copy, &kind, status);
	return status;
}

/* ---- copies without times -------------------------------------------------------------------- */

static bool is_processor(hsa_agent agent)
{
	uint32_t type = UINT32_MAX;

	return hsa_next.agent_get_info(agent, HSA_AGENT_DEVICE, &type) == HSA_SUCCESS &&
	       type == HSA_DEVICE_CPU;
}

/* Locked memory belongs to the host, whichever device uses it. Memory of an unknown type may be
 * pageable, or SVM memory that has moved. ret_device: NULL if the memory is not known to be that of
 * a GPU. */
static struct copy_side ask_about_memory(const void *memory, const struct hsa_device **ret_device)
{
	struct hsa_pointer_info info = {.size = sizeof(info)};
	int saved = errno;
	bool is_known = hsa_next.pointer_info &&
			hsa_next.pointer_info(memory, &info, NULL, NULL, NULL) == HSA_SUCCESS;
	bool is_of_runtime =
		is_known && (info.type == HSA_POINTER_HSA || info.type == HSA_POINTER_IPC);
	bool is_pinned = is_known && (info.type == HSA_POINTER_LOCKED ||
				      (is_of_runtime && is_processor(info.owner)));

	errno = saved;
	*ret_device = is_of_runtime ? hsa_device_of(info.owner) : NULL;
	return is_pinned ? (struct copy_side){.memory = MEMORY_PINNED} : end_at(*ret_device);
}

static hsa_status own_memory_copy(void *to, const void *from, size_t size)
{
	struct kind_of_copy kind = {.function = HSA_CALL_MEMORY_COPY, .bytes = size};
	const struct hsa_device *to_device, *from_device;
	struct copy copy;
	hsa_status status;

	if (guest_is_idle())
		return hsa_next.memory_copy(to, from, size);
	kind.to = ask_about_memory(to, &to_device);
	kind.from = ask_about_memory(from, &from_device);
	set_direction(&kind, to_device, from_device);
	begin_untimed(&copy, &kind);
	copy.launch.flags |= LAUNCH_BLOCKING;
	status = hsa_next.memory_copy(to, from, size);
	end_copy(&copy, &kind, status);
	return status;
}

static hsa_status own_memory_fill(void *to, uint32_t value, size_t words_count)
{
	struct kind_of_copy kind = {.function = HSA_CALL_MEMORY_FILL,
				    .command = COMMAND_FILL,
				    .bytes = words_count * sizeof(value)};
	struct copy copy;
	hsa_status status;

	if (guest_is_idle())
		return hsa_next.memory_fill(to, value, words_count);
	kind.to = ask_about_memory(to, &kind.device);
	begin_untimed(&copy, &kind);
	copy.launch.flags |= LAUNCH_BLOCKING;
	status = hsa_next.memory_fill(to, value, words_count);
	end_copy(&copy, &kind, status);
	return status;
}

static uint64_t bytes_of(const struct hsa_copy_piece *piece)
{
	uint64_t bytes = 0;

	if (piece->type > HSA_PIECE_LAST)
		return 0;
	if (piece->type == HSA_PIECE_BROADCAST)
		return piece->size * (uint64_t)piece->entries;
	if (!piece->entries)
		return piece->size + (piece->type == HSA_PIECE_SWAP ? piece->size_back : 0);
	for (uint32_t i = 0; i < piece->entries && piece->sizes; i++)
		bytes += piece->sizes[i];
	return piece->type == HSA_PIECE_SWAP ? 2 * bytes : bytes;
}

/* Returns the device of the copy's first entry. */
static const struct hsa_device *target_of(const struct hsa_copy_piece *piece)
{
	if (!piece->entries)
		return hsa_device_of(piece->to_agent);
	return piece->to_agents ? hsa_device_of(piece->to_agents[0]) : NULL;
}

/* Called before the runtime's function, because the memory that the piece points to may be gone
 * afterwards. The copy keeps the program's signals: the interface does not define how often each is
 * completed. */
static void put_piece(const struct hsa_copy_piece *piece)
{
	struct kind_of_copy kind = {.function = HSA_CALL_COPY_BATCH, .bytes = bytes_of(piece)};
	struct copy copy;

	if (piece->type <= HSA_PIECE_LAST)
		set_ends(&kind, target_of(piece), hsa_device_of(piece->from_agent));
	if (piece->entries > 1)
		kind.to = (struct copy_side){.memory = MEMORY_UNKNOWN};
	begin_untimed(&copy, &kind);
	end_copy(&copy, &kind, HSA_SUCCESS);
}

static hsa_status own_copy_batch(const struct hsa_copy_piece *pieces, uint32_t count,
				 uint32_t waits_count, const hsa_signal *waits)
{
	for (uint32_t i = 0; i < count && pieces; i++) {
		forget_times(pieces[i].completion);
		if (!guest_is_idle())
			put_piece(&pieces[i]);
	}
	return hsa_next.copy_batch(pieces, count, waits_count, waits);
}

/* Ignores a request to disable, because the switch applies to the whole process and the guest needs
 * the times. */
static hsa_status own_async_copy_enable(bool enable)
{
	return enable ? hsa_next.async_copy_enable(true) : HSA_SUCCESS;
}

void hsa_copies_hook(struct hsa_tables *tables)
{
	hsa_hook_amd(tables, AMD_ASYNC_COPY, (void *)own_async_copy);
	hsa_hook_amd(tables, AMD_ASYNC_COPY_ENABLE, (void *)own_async_copy_enable);
	hsa_hook_amd(tables, AMD_COPY_TIME, (void *)own_copy_time);
	if (hsa_next.async_copy_on_engine)
		hsa_hook_amd(tables, AMD_ASYNC_COPY_ON_ENGINE, (void *)own_async_copy_on_engine);
	if (hsa_next.async_copy_rect)
		hsa_hook_amd(tables, AMD_ASYNC_COPY_RECT, (void *)own_async_copy_rect);
	if (hsa_next.copy_batch)
		hsa_hook_amd(tables, AMD_COPY_BATCH, (void *)own_copy_batch);
	hsa_hook_core(tables, CORE_MEMORY_COPY, (void *)own_memory_copy);
	hsa_hook_amd(tables, AMD_MEMORY_FILL, (void *)own_memory_fill);
	hsa_next.async_copy_enable(true);
}
