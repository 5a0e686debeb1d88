/* SPDX-License-Identifier: MIT
 *
 * collect/stack/kernel_frames.c - kernel frames of stacks, and their names at the end of a
 * recording
 *
 * Runs in:  the recorder
 * Gets:     instruction addresses inside the kernel
 * Gives:    frames of the trace
 * Owns:     the addresses, the list of kernel modules, the BPF program that names addresses
 * Fails:    with frames without names
 * Why:      each address needs one name, so all are looked up together at the end. A BPF program
 *           names 62 addresses in 0.2 ms; without rights for BPF, reading /proc/kallsyms takes 24
 *           ms or more.
 */
#include "collect/stack/kernel_frames.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collect/kernel/namer.h"
#include "collect/recording.h"
#include "symbol/kernel/kallsyms.h"

void kernel_frames_init(struct kernel_frames *frames, struct recording *recording)
{
	*frames = (struct kernel_frames){.recording = recording};
}

void kernel_frames_load_namer(struct kernel_frames *frames)
{
	if (!frames->namer && kernel_namer_open(&frames->namer))
		frames->namer = NULL; /* find_symbols then reads /proc/kallsyms */
}

void kernel_frames_fini(struct kernel_frames *frames)
{
	if (!frames)
		return;
	free(frames->all);
	kernel_namer_close(frames->namer);
	kernel_modules_fini(&frames->modules);
}

uint32_t kernel_frames_at(struct kernel_frames *frames, uint64_t address)
{
	const struct event_frame row = {.type = FRAME_KERNEL, .offset = address};
	struct recording *recording = frames->recording;
	uint32_t id = trace_writer_own_frame(recording->writer, &row, 0);

	if (id <= recording->last_frame)
		return id;
	recording->last_frame = id;
	recording->kept_bytes += FRAME_BYTES;
	if (array_grow(frames->all, frames->capacity, frames->count + 1) == 0)
		frames->all[frames->count++] = (struct kernel_frame){address, id};
	return id;
}

/* For a return address, subtracts 1 so that it lies in the call instruction. */
uint32_t kernel_frames_put(struct kernel_frames *frames, const uint64_t *addresses, size_t count,
			   uint32_t stack)
{
	for (size_t i = count; i-- > 0;)
		stack = recording_stack(frames->recording, stack,
					kernel_frames_at(frames, addresses[i] - (i > 0)));
	return stack;
}

void kernel_frames_look(struct kernel_frames *frames)
{
	if (frames->count == frames->modules_for)
		return;
	frames->modules_for = frames->count;
	if (kernel_modules_scan(&frames->modules, NULL))
		error_clear();
}

static int compare_addresses(const void *left, const void *right)
{
	const struct kernel_frame *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

/* Finds the symbols of frames that are sorted by address. */
static int find_symbols(struct kernel_frames *frames, const struct kernel_frame *unnamed,
			size_t count, struct kernel_symbol *symbols)
{
	kernel_frames_load_namer(frames);
	for (size_t i = 0; i < count; i++)
		symbols[i].address = unnamed[i].address;
	if (frames->namer && kernel_namer_find(frames->namer, symbols, count) == 0)
		return 0;
	return kallsyms_name(NULL, symbols, count);
}

int kernel_frames_name(struct kernel_frames *frames)
{
	struct recording *recording = frames->recording;
	const size_t count = frames->count - frames->named;
	struct kernel_frame *unnamed = frames->all ? frames->all + frames->named : NULL;
	auto_free struct kernel_symbol *symbols = calloc(count + 1, sizeof(*symbols));
	char name[512];
	int error;

	if (!count)
		return 0;
	if (!symbols)
		return error_set(-ENOMEM, "names of the kernel's functions: out of memory");
	qsort(unnamed, count, sizeof(*unnamed), compare_addresses);
	error = find_symbols(frames, unnamed, count, symbols);
	if (error)
		return error;
	if (kernel_modules_scan(&frames->modules, NULL))
		error_clear();
	for (size_t i = 0; i < count; i++)
		if (kernel_modules_name(&frames->modules, &symbols[i], name, sizeof(name)))
			trace_writer_name_frame(recording->writer, unnamed[i].id,
						recording_string(recording, name));
	frames->named = frames->count;
	return 0;
}
