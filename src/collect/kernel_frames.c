/* SPDX-License-Identifier: MIT
 *
 * collect/kernel_frames.c - the operating system's kernel in stacks: its frames, and their names at the end
 *
 * Runs in:  the recorder
 * Gets:     addresses   Gives: frames of the trace
 * Owns:     the addresses that were met, the list of the kernel's modules
 * Fails:    with frames without names
 * Why:      to read what the kernel has for names takes 50 ms, so that it is done once, at the end.
 */
#include "collect/kernel_frames.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "collect/recording.h"
#include "symbol/kallsyms.h"

void kernel_frames_init(struct kernel_frames *frames, struct recording *recording)
{
	*frames = (struct kernel_frames){.recording = recording};
}

void kernel_frames_fini(struct kernel_frames *frames)
{
	if (!frames)
		return;
	free(frames->all);
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

int kernel_frames_name(struct kernel_frames *frames)
{
	struct trace_writer *writer;
	struct kallsyms *symbols = NULL;
	char name[512];
	int error;

	if (!frames->count)
		return 0;
	error = kallsyms_open(NULL, &symbols);
	if (error)
		return error;
	if (kernel_modules_look(&frames->modules, NULL))
		error_clear();
	writer = frames->recording->writer;
	for (size_t i = 0; i < frames->count; i++)
		if (kernel_modules_name(&frames->modules, symbols, frames->all[i].address, name,
					sizeof(name)))
			trace_writer_name_frame(writer, frames->all[i].id,
						recording_string(frames->recording, name));
	kallsyms_close(symbols);
	return 0;
}
