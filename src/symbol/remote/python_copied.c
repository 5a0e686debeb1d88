/* SPDX-License-Identifier: MIT
 *
 * symbol/remote/python_copied.c - Python frames that a BPF program copied
 *
 * Runs in:  the recorder
 * Gets:     frames as they lay in the memory of the interpreter's process
 * Gives:    functions, files, lines
 * Owns:     nothing; the buffers belong to struct python_remote
 * Fails:    -EAGAIN if a code object was freed since
 * Why:      the program runs in the thread itself, so the frames are complete. Their code objects
 *           are read some milliseconds later. A process that has ended since keeps the code objects
 *           that are known from earlier stacks.
 */
#include <errno.h>

#include "base/array.h"
#include "symbol/remote/python_private.h"

enum {
	FRAME_BYTES_MAX = 127, /* limit in src/bpf/python.bpf.h */
	TAG_BITS = 7           /* low bits of an object pointer */
};

int python_remote_places(struct python_remote *remote, struct kernel_python *ret_places)
{
	const struct python_offsets *at = &remote->at;
	struct kernel_python places = {.thread_next = at->thread_next,
				       .thread_id = at->thread_id,
				       .thread_frame = at->thread_frame,
				       .cframe = at->cframe,
				       .cframe_frame = at->cframe_frame,
				       .frame_bytes = (uint16_t)remote->frame_bytes,
				       .frame_previous = at->frame_previous,
				       .frame_code = at->frame_code,
				       .frame_instruction = at->frame_instruction,
				       .frame_owner = at->frame_owner,
				       .frame_entry = at->frame_entry,
				       .thread_interpreter = at->thread_interpreter,
				       .interpreter_lock = at->interpreter_lock,
				       .lock_holder = at->lock_holder,
				       .lock_taken = at->lock_taken};
	uint64_t newest_at;
	int r = remote->frame_bytes > FRAME_BYTES_MAX
			? -ENOTSUP
			: python_threads_newest_at(&remote->threads, &newest_at);

	if (r)
		return r;
	places.newest_at = newest_at;
	if (at->runtime_collector)
		places.collecting_at = python_collecting_at(remote);
	else
		places.interpreter_collecting = at->interpreter_collector + at->collector_runs;
	if (at->runtime_lock)
		places.lock_at = remote->threads.runtime + at->runtime_lock;
	*ret_places = places;
	return 0;
}

static int set_raw(struct python_remote *remote, const struct kernel_python_stack *copied)
{
	const enum python_layout layout = (enum python_layout)remote->at.layout;
	struct python_raw_frames *raw = &remote->raw[0];

	raw->count = 0;
	if (array_grow(raw->frames, raw->capacity, copied->count))
		return -ENOMEM;
	for (size_t i = 0; i < copied->count; i++) {
		const struct kernel_python_frame *frame = &copied->frames[i];

		raw->frames[raw->count++] = (struct python_raw_frame){
			.address = frame->address,
			.code = frame->code & ~(uint64_t)TAG_BITS,
			.instruction = layout == PYTHON_LAYOUT_OBJECTS
					       ? (uint32_t)frame->instruction
					       : frame->instruction,
			.owner = layout == PYTHON_LAYOUT_OBJECTS ? 0 : frame->owner,
			.entry = layout == PYTHON_LAYOUT_ENTRY && frame->entry};
	}
	return 0;
}

static bool are_all_known(const struct python_raw_frames *raw)
{
	for (size_t i = 0; i < raw->count; i++)
		if (raw->frames[i].known && !raw->frames[i].known->is_known)
			return false;
	return true;
}

int python_remote_copied(struct python_remote *remote, const struct kernel_python_stack *copied,
			 struct python_remote_frame *frames, size_t most,
			 struct python_remote_gap *ret_gap)
{
	struct python_remote_gap gap = {0};
	int r = set_raw(remote, copied);

	if (!r)
		r = python_frames_ask_codes(remote);
	if (r == -ESRCH && are_all_known(&remote->raw[0]))
		r = 0;
	gap.is_collecting = copied->is_collecting;
	if (r >= 0)
		r = python_frames_return(remote, frames, most, &gap);
	if (r > 0)
		*ret_gap = gap;
	return r;
}
