/* SPDX-License-Identifier: MIT
 *
 * symbol/remote/python_threads.c - find the CPython thread state of a thread of another process
 *
 * Runs in:  the recorder
 * Gets:     _PyRuntime's address, thread ids
 * Gives:    addresses of thread states
 * Owns:     cached threads
 * Fails:    -EAGAIN, -ENOMEM, -ESRCH, -EPERM
 * Why:      before 3.11 a state has no thread id, only the address of glibc's struct pthread. The
 *           position of the id in struct pthread is private to glibc (720 in all of 2.10 to 2.41).
 *           An offset is accepted if the numbers there differ from thread to thread, and exactly
 * one thread has the id of the wanted one
 */
#include "symbol/remote/python_threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/cleanup.h"

enum {
	MAX_STATES = 4096,
	MAX_THREADS = 4096,
	MAX_PATIENCE = 32,
	GLIBC_TID_AT = 720,
	PTHREAD_BYTES = 1024,
	MAX_TID = 1 << 22
};

void python_threads_init(struct python_threads *threads, struct remote_memory *memory,
			 const struct python_offsets *offsets, uint64_t runtime)
{
	*threads =
		(struct python_threads){.memory = memory, .offsets = offsets, .runtime = runtime};
	hash_map_init(&threads->by_tid);
}

static void forget_all(struct python_threads *threads)
{
	size_t cursor = 0;
	uint64_t value;

	while (hash_map_next(&threads->by_tid, &cursor, NULL, &value)) {
		struct python_thread *thread = (struct python_thread *)(uintptr_t)value;

		remote_windows_fini(&thread->windows);
		free(thread);
	}
	hash_map_clear(&threads->by_tid);
}

void python_threads_fini(struct python_threads *threads)
{
	forget_all(threads);
	hash_map_fini(&threads->by_tid);
	free(threads->states);
}

/* In a container a thread has another id: the last number of NSpid. */
static uint32_t inner_tid(uint32_t pid, uint32_t tid)
{
	char path[64], line[256];
	auto_fclose FILE *file = NULL;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/status", pid, tid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		const char *last = strrchr(line, '\t');

		if (strncmp(line, "NSpid:", 6) == 0 && last)
			return (uint32_t)strtoul(last, NULL, 10);
	}
	return tid;
}

struct python_thread *python_threads_get(struct python_threads *threads, uint32_t tid)
{
	struct python_thread *thread = hash_map_find_pointer(&threads->by_tid, tid);

	if (thread)
		return thread;
	if (threads->by_tid.count >= MAX_THREADS)
		forget_all(threads);
	thread = calloc(1, sizeof(*thread));
	if (!thread || hash_map_put_pointer(&threads->by_tid, tid, thread)) {
		free(thread);
		return NULL;
	}
	thread->tid = tid;
	thread->inner_tid = inner_tid(threads->memory->pid, tid);
	return thread;
}

/* ---- lists of interpreters and states -------------------------------------------------------- */

static int add_states(struct python_threads *threads, uint64_t state)
{
	const struct python_offsets *at = threads->offsets;
	const uint16_t identity_at = at->thread_native_id ? at->thread_native_id : at->thread_id;

	while (state) {
		const struct remote_piece pieces[] = {{state + at->thread_next, 8},
						      {state + identity_at, 8}};
		uint64_t words[2];
		int64_t got = remote_memory_gather(threads->memory, pieces, 2, words);

		if (got < 0)
			return (int)got;
		if (got != sizeof(words) || threads->state_count >= MAX_STATES)
			return -EAGAIN;
		if (array_append(threads->states, threads->state_capacity, threads->state_count,
				 (struct python_state){
					 .address = state,
					 .identity = words[1],
					 .tid = at->thread_native_id ? (uint32_t)words[1] : 0,
				 }))
			return -ENOMEM;
		state = words[0];
	}
	return 0;
}

/* The main interpreter comes last, and a thread's oldest state comes last. If several states have a
 * thread's identity, the last one is its own, because a new thread's state first carries the
 * identity of its creator. */
static int list_states(struct python_threads *threads)
{
	const struct python_offsets *at = threads->offsets;
	uint64_t interpreter;
	int r = remote_memory_read(threads->memory, threads->runtime + at->runtime_interpreters,
				   &interpreter, sizeof(interpreter));

	threads->state_count = 0;
	for (size_t i = 0; !r && interpreter; i++) {
		const struct remote_piece pieces[] = {{interpreter + at->interpreter_next, 8},
						      {interpreter + at->interpreter_threads, 8}};
		uint64_t words[2];
		int64_t got = remote_memory_gather(threads->memory, pieces, 2, words);

		if (got < 0)
			return (int)got;
		if (got != sizeof(words) || i == PYTHON_MAX_INTERPRETERS)
			return -EAGAIN;
		r = add_states(threads, words[1]);
		if (!words[0])
			threads->newest_at = interpreter + at->interpreter_threads;
		interpreter = words[0];
	}
	return r == -EFAULT ? -EAGAIN : r;
}

/* ---- thread ids before 3.11 ------------------------------------------------------------------ */

/* Copies each state's struct pthread if it can be read; other states get the identity 0. */
static int read_pthreads(struct python_threads *threads, uint8_t *bytes)
{
	for (size_t i = 0; i < threads->state_count; i++) {
		struct python_state *state = &threads->states[i];
		int r = remote_memory_read(threads->memory, state->identity,
					   bytes + i * PTHREAD_BYTES, PTHREAD_BYTES);

		if (r == -EFAULT)
			state->identity = 0;
		else if (r)
			return r;
	}
	return 0;
}

/* Whether ids can be at this offset: all are possible ids, exactly one thread has the wanted one,
 * and neighbours differ. */
static bool can_be_tid(const struct python_threads *threads, const uint8_t *bytes, size_t at,
		       uint32_t wanted)
{
	uint64_t owner = 0, last_identity = 0;
	uint32_t last_tid = 0;

	for (size_t i = 0; i < threads->state_count; i++) {
		const uint32_t tid = half_at(bytes + i * PTHREAD_BYTES, at);
		const uint64_t identity = threads->states[i].identity;

		if (!identity)
			continue;
		if (tid == 0 || tid > MAX_TID || (tid == last_tid) != (identity == last_identity) ||
		    (tid == wanted && owner && owner != identity))
			return false;
		if (tid == wanted)
			owner = identity;
		last_identity = identity;
		last_tid = tid;
	}
	return owner != 0;
}

static uint32_t learn_tid_at(const struct python_threads *threads, const uint8_t *bytes,
			     uint32_t wanted)
{
	if (can_be_tid(threads, bytes, GLIBC_TID_AT, wanted))
		return GLIBC_TID_AT;
	for (uint32_t at = sizeof(uint64_t); at < PTHREAD_BYTES; at += sizeof(uint32_t))
		if (can_be_tid(threads, bytes, at, wanted))
			return at;
	return 0;
}

static int read_tids(struct python_threads *threads, uint32_t wanted)
{
	auto_free uint8_t *bytes = malloc(threads->state_count * PTHREAD_BYTES + 1);
	int r;

	if (!bytes)
		return -ENOMEM;
	r = read_pthreads(threads, bytes);
	if (r)
		return r;
	if (!threads->tid_at)
		threads->tid_at = learn_tid_at(threads, bytes, wanted);
	for (size_t i = 0; threads->tid_at && i < threads->state_count; i++)
		if (threads->states[i].identity)
			threads->states[i].tid =
				half_at(bytes + i * PTHREAD_BYTES, threads->tid_at);
	return 0;
}

/* ---- the state of a thread ------------------------------------------------------------------- */

static int find_state(struct python_threads *threads, struct python_thread *thread)
{
	int r = list_states(threads);

	if (!r && !threads->offsets->thread_native_id)
		r = read_tids(threads, thread->inner_tid);
	if (r)
		return r;
	for (size_t i = 0; i < threads->state_count; i++) {
		if (threads->states[i].tid != thread->inner_tid)
			continue;
		thread->state = threads->states[i].address;
		thread->identity = threads->states[i].identity;
	}
	return 0;
}

int python_threads_find_state(struct python_threads *threads, struct python_thread *thread,
			      uint64_t newest)
{
	int r;

	if (!newest && threads->newest_at) {
		r = remote_memory_read(threads->memory, threads->newest_at, &newest,
				       sizeof(newest));
		if (r == -ESRCH || r == -EPERM)
			return r;
	}
	if (thread->patience && newest == thread->newest && thread->asks++ < thread->patience)
		return 0;
	thread->state = 0;
	thread->asks = 0;
	thread->newest = newest;
	r = find_state(threads, thread);
	if (thread->state)
		thread->patience = 0;
	else if (thread->patience < MAX_PATIENCE)
		thread->patience = thread->patience * 2 + 1;
	return r;
}

int python_threads_newest_at(struct python_threads *threads, uint64_t *ret_address)
{
	int r = threads->newest_at ? 0 : list_states(threads);

	if (!r && !threads->newest_at)
		r = -EAGAIN;
	if (!r)
		*ret_address = threads->newest_at;
	return r;
}

/* ---- the owner of a state -------------------------------------------------------------------- */

/* In a container the number is known only for threads that were looked up. */
static uint32_t outer_tid(const struct python_threads *threads, uint32_t tid)
{
	const uint32_t pid = threads->memory->pid;
	size_t cursor = 0;
	uint64_t value;

	while (hash_map_next(&threads->by_tid, &cursor, NULL, &value)) {
		const struct python_thread *thread = (const struct python_thread *)(uintptr_t)value;

		if (thread->inner_tid == tid)
			return thread->tid;
	}
	return inner_tid(pid, pid) == pid ? tid : 0;
}

int python_threads_owner(struct python_threads *threads, uint64_t state, uint32_t *ret_tid)
{
	const struct python_offsets *at = threads->offsets;
	const uint16_t identity_at = at->thread_native_id ? at->thread_native_id : at->thread_id;
	uint64_t identity = 0;
	uint32_t tid = 0;
	int r = remote_memory_read(threads->memory, state + identity_at, &identity,
				   sizeof(identity));

	if (!r && at->thread_native_id)
		tid = (uint32_t)identity;
	else if (!r && threads->tid_at)
		r = remote_memory_read(threads->memory, identity + threads->tid_at, &tid,
				       sizeof(tid));
	if (r)
		return r == -EFAULT ? -EAGAIN : r;
	*ret_tid = tid ? outer_tid(threads, tid) : 0;
	return 0;
}
