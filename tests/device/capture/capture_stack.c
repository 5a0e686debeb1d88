/* SPDX-License-Identifier: MIT
 *
 * tests/device/capture/capture_stack.c - takes stacks at launches, and says how far that gets at
 * what cost
 *
 * Runs in:  the captured program, in callbacks
 * Gets:     the stack below the callback: ours <- libcupti <- libcuda <- … <- the program
 * Gives:    frames and cost to the callback's row; the median and the 99th percentile, and the
 *           frames of the first different stacks, as facts
 * Owns:     nothing that is freed
 * Fails:    with a stack of no frames
 * Why:      whether the two libraries have unwind tables is not documented, and a walk by frame
 *           pointers ends in the first function without
 */
#include "capture_agent.h"

#include "inject/unwind.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FRAMES = 256, MAX_SAMPLES = 12, SAMPLE_FRAMES = 40 };

static struct {
	pthread_mutex_t lock;
	uint64_t hashes[MAX_SAMPLES];
	_Atomic uint32_t count;
	atomic_ullong ends[3];
} samples = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void write_frame(struct agent *agent, uint32_t sample, uint32_t frame, uint64_t address)
{
	const char *module = "?", *slash;
	Dl_info info = {0};
	char key[64];

	if (dladdr((void *)(uintptr_t)address, &info) && info.dli_fname) {
		slash = strrchr(info.dli_fname, '/');
		module = slash ? slash + 1 : info.dli_fname;
	}
	snprintf(key, sizeof(key), "stack.%u.%02u", sample, frame);
	capture_fact(agent->file, key, "%s+0x%llx %s", module,
		     (unsigned long long)(address - (uint64_t)(uintptr_t)info.dli_fbase),
		     info.dli_sname ? info.dli_sname : "");
}

/* Of a stack that was not seen before, the frames. */
static void sample(struct agent *agent, const uint64_t *frames, uint32_t count, uint64_t hash,
		   const char *how)
{
	uint32_t number, shown = count < SAMPLE_FRAMES ? count : SAMPLE_FRAMES;
	char key[64];

	pthread_mutex_lock(&samples.lock);
	number = samples.count;
	for (uint32_t i = 0; i < number; i++)
		if (samples.hashes[i] == hash)
			number = MAX_SAMPLES;
	if (number < MAX_SAMPLES)
		samples.hashes[samples.count++] = hash;
	pthread_mutex_unlock(&samples.lock);
	if (number >= MAX_SAMPLES)
		return;
	snprintf(key, sizeof(key), "stack.%u", number);
	capture_fact(agent->file, key, "%s %u frames", how, count);
	for (uint32_t i = 0; i < shown; i++)
		write_frame(agent, number, i, frames[i] & ~UNWIND_EXACT);
}

static void find_bounds(struct capture_thread *thread)
{
	pthread_attr_t attributes;
	void *low = NULL;
	size_t bytes = 0;

	thread->stack_high = 1;
	if (pthread_getattr_np(pthread_self(), &attributes) != 0)
		return;
	if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
		thread->stack_low = (uint64_t)(uintptr_t)low;
		thread->stack_high = thread->stack_low + bytes;
	}
	pthread_attr_destroy(&attributes);
}

static inline __attribute__((always_inline)) uint32_t
walk_pointers(const struct capture_thread *thread, uint64_t frames[MAX_FRAMES])
{
	const uint64_t *frame = __builtin_frame_address(0);
	uint32_t count = 0;

	while (count < MAX_FRAMES && (uintptr_t)frame % 8 == 0 &&
	       (uint64_t)(uintptr_t)frame >= thread->stack_low &&
	       (uint64_t)(uintptr_t)frame + 16 <= thread->stack_high) {
		const uint64_t *outer = (const uint64_t *)(uintptr_t)frame[0];

		if (!frame[1])
			break;
		frames[count++] = frame[1];
		if (outer <= frame)
			break;
		frame = outer;
	}
	return count;
}

static void note_cost(struct capture_thread *thread, uint64_t cost_ns, uint32_t depth,
		      uint64_t ret_data[2])
{
	uint32_t at = (uint32_t)(thread->cost_count++ % CAPTURE_COSTS);

	thread->costs_ns[at] = cost_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)cost_ns;
	thread->depths[at] = depth;
	ret_data[0] = depth;
	ret_data[1] = cost_ns;
}

static __attribute__((noinline)) void
take_pointers(struct agent *agent, struct capture_thread *thread, uint64_t ret_data[2])
{
	uint64_t frames[MAX_FRAMES], begin_ns, hash = 0;
	uint32_t count;

	if (!thread->stack_high)
		find_bounds(thread);
	begin_ns = capture_now_ns();
	count = walk_pointers(thread, frames);
	note_cost(thread, capture_now_ns() - begin_ns, count, ret_data);
	if (samples.count >= MAX_SAMPLES)
		return;
	for (uint32_t i = 0; i < count; i++)
		hash = (hash ^ frames[i]) * UINT64_C(0x9e3779b97f4a7c15);
	sample(agent, frames, count, hash, "by frame pointers,");
}

static void take_tables(struct agent *agent, struct capture_thread *thread, uint64_t ret_data[2])
{
	static const char *const ends[] = {"complete,", "no rule,", "broken,"};
	struct unwind_thread *walker = thread->walker;
	uint64_t begin_ns, hash = 0;
	struct unwind stack;
	uint32_t depth;
	bool is_new;

	if (!walker)
		walker = thread->walker = guest_memory(sizeof(*walker));
	begin_ns = capture_now_ns();
	if (!walker || !unwind_take(walker, &hash))
		return;
	begin_ns = capture_now_ns() - begin_ns;
	depth = walker->count - walker->own;
	is_new = samples.count < MAX_SAMPLES;
	atomic_fetch_add_explicit(&samples.ends[walker->end % 3], 1, memory_order_relaxed);
	/* steps are kept of stacks that are not too deep alone */
	if (is_new || !walker->count) {
		unwind_stack(walker, &stack);
		depth = stack.count + stack.truncated;
	}
	note_cost(thread, begin_ns, depth, ret_data);
	if (is_new)
		sample(agent, stack.frames, stack.count, hash, ends[stack.end % 3]);
	unwind_done(walker);
}

void capture_stack_take(struct agent *agent, struct capture_thread *thread, uint64_t ret_data[2])
{
	if (agent->options.stack == CAPTURE_STACK_FP)
		take_pointers(agent, thread, ret_data);
	else
		take_tables(agent, thread, ret_data);
}

static int compare(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

static void percentiles(struct agent *agent, const char *what, uint32_t *values, uint64_t count)
{
	char key[64];

	qsort(values, count, sizeof(*values), compare);
	snprintf(key, sizeof(key), "stack.%s_median", what);
	capture_fact(agent->file, key, "%u", values[count / 2]);
	snprintf(key, sizeof(key), "stack.%s_p99", what);
	capture_fact(agent->file, key, "%u", values[count * 99 / 100]);
	snprintf(key, sizeof(key), "stack.%s_most", what);
	capture_fact(agent->file, key, "%u", values[count - 1]);
}

void capture_stack_facts(struct agent *agent)
{
	uint64_t total = 0, used = 0;
	uint32_t *costs, *depths;

	if (agent->options.stack == CAPTURE_STACK_NONE)
		return;
	for (struct capture_thread *at = atomic_load(&agent->threads); at; at = at->next)
		total += at->cost_count < CAPTURE_COSTS ? at->cost_count : CAPTURE_COSTS;
	costs = calloc(total + 1, sizeof(*costs));
	depths = calloc(total + 1, sizeof(*depths));
	for (struct capture_thread *at = atomic_load(&agent->threads); at && costs && depths;
	     at = at->next) {
		uint64_t count = at->cost_count < CAPTURE_COSTS ? at->cost_count : CAPTURE_COSTS;

		count = count < total - used ? count : total - used;
		memcpy(costs + used, at->costs_ns, count * sizeof(*costs));
		memcpy(depths + used, at->depths, count * sizeof(*depths));
		used += count;
	}
	capture_fact(agent->file, "stacks", "%llu", (unsigned long long)used);
	if (used) {
		percentiles(agent, "cost_ns", costs, used);
		percentiles(agent, "depth", depths, used);
	}
	if (agent->options.stack == CAPTURE_STACK_UNWIND)
		capture_fact(agent->file, "stack.ends", "complete %llu no_rule %llu broken %llu",
			     (unsigned long long)samples.ends[UNWIND_COMPLETE],
			     (unsigned long long)samples.ends[UNWIND_NO_RULE],
			     (unsigned long long)samples.ends[UNWIND_BROKEN]);
	free(costs);
	free(depths);
}
