/* SPDX-License-Identifier: MIT
 *
 * collect/kernel_frames.c - the operating system's kernel in stacks: its frames, and their names at the end
 *
 * Runs in:  the recorder
 * Gets:     addresses   Gives: frames of the trace
 * Owns:     the addresses that were met, the list of the kernel's modules, the program that names addresses
 * Fails:    with frames without names
 * Why:      a name is needed once per address, so that all are asked for together, at the end. With rights the kernel
 *           names 62 of them in 0.2 ms; without, /proc/kallsyms takes 24 ms or more.
 */
#include "collect/kernel_frames.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collect/kernel/namer.h"
#include "collect/recording.h"
#include "symbol/kallsyms.h"

void kernel_frames_init(struct kernel_frames *frames, struct recording *recording)
{
	*frames = (struct kernel_frames){.recording = recording};
}

void kernel_frames_load_namer(struct kernel_frames *frames)
{
	if (!frames->namer && kernel_namer_open(&frames->namer))
		frames->namer = NULL; /* /proc/kallsyms it is */
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

/* A return address is that of the instruction before. */
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
	if (kernel_modules_look(&frames->modules, NULL))
		error_clear();
}

static int compare_addresses(const void *left, const void *right)
{
	const struct kernel_frame *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

/* Of each frame, in the order of addresses. */
static int find_symbols(struct kernel_frames *frames, struct kernel_symbol *symbols)
{
	kernel_frames_load_namer(frames);
	for (size_t i = 0; i < frames->count; i++)
		symbols[i].address = frames->all[i].address;
	if (frames->namer && kernel_namer_find(frames->namer, symbols, frames->count) == 0)
		return 0;
	return kallsyms_name(NULL, symbols, frames->count);
}

int kernel_frames_name(struct kernel_frames *frames)
{
	struct recording *recording = frames->recording;
	auto_free struct kernel_symbol *symbols = calloc(frames->count + 1, sizeof(*symbols));
	char name[512];
	int error;

	if (!frames->count)
		return 0;
	if (!symbols)
		return error_set(-ENOMEM, "names of the kernel's functions: out of memory");
	qsort(frames->all, frames->count, sizeof(*frames->all), compare_addresses);
	error = find_symbols(frames, symbols);
	if (error)
		return error;
	if (kernel_modules_look(&frames->modules, NULL))
		error_clear();
	for (size_t i = 0; i < frames->count; i++)
		if (kernel_modules_name(&frames->modules, &symbols[i], name, sizeof(name)))
			trace_writer_name_frame(recording->writer, frames->all[i].id,
						recording_string(recording, name));
	return 0;
}
