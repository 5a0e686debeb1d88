/* SPDX-License-Identifier: MIT
 *
 * lib/duet.c - the functions of duet.h
 *
 * Runs in:  the user's program
 * Gets:     calls of the program
 * Gives:    one record per call in the calling thread's ring
 * Owns:     struct duet, from open to close
 * Fails:    start and stop with -errno and a message; records that do not fit into a ring are
 *           counted in the ring
 * Why an existing recorder is used before a new one is started: a program that records itself may
 *           be run under `duet record` by a user who wants more detail, and one trace of the run is
 *           more useful than two halves
 */
#include <duet.h>

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "lib/handle.h"
#include "ring/record_text.h"

enum { START_WAIT_MS = 10000 };

static const char default_domain[] = "duet";

_Static_assert(HANDLE_IDLE == 1 && offsetof(struct duet, page.mode) == 0, "as duet.h says");

/* ---- open and close -------------------------------------------------------------------------- */

static int copy_path(const char *path, char *copy, size_t size)
{
	size_t length = path ? strlen(path) : 0;

	if (length >= size)
		return -ENAMETOOLONG;
	memcpy(copy, path ? path : "", length + 1);
	return 0;
}

static int init(struct duet *duet, const char *config, const char *output, uint32_t flags)
{
	int error = copy_path(config, duet->config, sizeof(duet->config));

	if (!error)
		error = copy_path(output, duet->output, sizeof(duet->output));
	/* Linux 4.14. Without it a forked child would write into its parent's rings. */
	if (!error && madvise(duet, sizeof(duet->page), MADV_WIPEONFORK) < 0)
		error = -ENOSYS;
	if (!error)
		error = -pthread_key_create(&duet->key, open_handles_on_thread_exit);
	if (error)
		return error;
	duet->flags = flags;
	duet->generation = 1;
	duet->hello.fd = -1;
	atomic_store(&duet->page.generation, 1);
	handshake_read_environment(&duet->other);
	handle_set_idle(duet, HANDLE_IDLE);
	error = open_handles_add(duet, &duet->place);
	if (error)
		pthread_key_delete(duet->key);
	return error;
}

struct duet *duet_open(const char *config, const char *output, uint32_t flags)
{
	struct duet *duet;
	int error = flags == 0 || flags == DUET_JOIN || flags == DUET_OWN ? 0 : EINVAL;

	if (error) {
		errno = error;
		return NULL;
	}
	duet = mmap(NULL, sizeof(*duet), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (duet == MAP_FAILED)
		return NULL;
	error = init(duet, config, output, flags);
	if (!error)
		return duet;
	munmap(duet, sizeof(*duet));
	errno = -error;
	return NULL;
}

void duet_close(struct duet *duet)
{
	if (!duet)
		return;
	duet_stop(duet);
	pthread_key_delete(duet->key);
	open_handles_remove(duet->place);
	handle_unmap(duet);
}

/* ---- start and stop -------------------------------------------------------------------------- */

/* Sets the message for duet_error, valid until the next call that sets it. */
static int __attribute__((format(printf, 3, 4)))
fail(struct duet *duet, int error, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	vsnprintf(duet->error, sizeof(duet->error), format, values);
	va_end(values);
	return error;
}

static void succeed(struct duet *duet)
{
	duet->error[0] = '\0';
}

static int fail_to_attach(struct duet *duet, int error)
{
	switch (error) {
	case -EACCES:
		return fail(duet, -EPERM,
			    "the program has installed a seccomp filter, which may kill it for "
			    "a socket: call duet_start before that");
	case -ETIMEDOUT:
		return fail(duet, error, "the recorder does not answer: is it stopped?");
	default:
		return fail(duet, error, "no rings from the recorder: %s", strerror(-error));
	}
}

/* Returns DUET_JOINED; -ECONNREFUSED: no recorder to join; other errors as duet_start. */
static int join(struct duet *duet)
{
	const bool is_any = duet->flags & DUET_JOIN;
	int error = -ECONNREFUSED;

	if (handle_resume(duet))
		return DUET_JOINED;
	/* A child gets its recorder from its parent, also one that the environment does not name.
	 * */
	if (duet->recorded_by)
		error = handle_attach(duet, duet->recorded_by, false, START_WAIT_MS);
	if (!error)
		return DUET_JOINED;
	if (is_any || duet->other.names[0])
		error = handle_attach(duet, &duet->other, is_any, START_WAIT_MS);
	/* A recorder of other programs may be followed by one of this program. */
	if (error == -ECONNREFUSED || (error == -ENODATA && is_any))
		return -ECONNREFUSED;
	/* A recorder that leaves ranges out is still joined. */
	if (error && error != -ENODATA)
		return fail_to_attach(duet, error);
	return DUET_JOINED;
}

static int stop_own(struct duet *duet)
{
	struct recorder_text text;
	int error = recorder_stop(&duet->recorder, &text);

	handle_hang_up(duet);
	handle_abandon(duet);
	return error ? fail(duet, error, "%s", text.text) : 0;
}

static int start_own(struct duet *duet)
{
	const struct recorder_options options = {duet->config, duet->output, duet->recordings + 1};
	struct recorder_text text;
	int error;

	handshake_take_own_filters(&duet->own);
	error = recorder_start(&duet->recorder, &options, duet->own.names, &text);
	if (error)
		return fail(duet, error, "%s", text.text);
	duet->recordings++;
	error = handle_attach(duet, &duet->own, false, START_WAIT_MS);
	if (error && error != -ENODATA) {
		stop_own(duet);
		return fail_to_attach(duet, error);
	}
	return 0;
}

static int start(struct duet *duet)
{
	int result;

	/* Environment variables choose the program that is run and the address to connect to. */
	if (getauxval(AT_SECURE))
		return fail(duet, -EPERM,
			    "the program runs with another user's rights (setuid): such are not "
			    "recorded");
	if (duet->recorder.pid && !recorder_is_there(&duet->recorder))
		stop_own(duet); /* it has died */
	if (duet->recorder.pid || (duet_is_recording(duet) && handle_is_read(duet)))
		return fail(duet, -EALREADY, "it is already recording");
	/* A handle that joined a recorder also joins the next one. */
	handle_set_idle(duet, HANDLE_LOOKING);
	result = duet->flags & DUET_OWN ? -ECONNREFUSED : join(duet);
	if (result == -ECONNREFUSED && duet->flags & DUET_JOIN)
		return DUET_LOOKING;
	if (result > 0)
		return result;
	handle_hang_up(duet);
	handle_set_idle(duet, HANDLE_IDLE);
	return result == -ECONNREFUSED ? start_own(duet) : result;
}

int duet_start(struct duet *duet)
{
	int result, cancel;

	if (!duet)
		return -EINVAL;
	handle_lock(duet, &cancel);
	result = start(duet);
	if (result >= 0)
		succeed(duet);
	handle_unlock(duet, cancel);
	return result;
}

int duet_stop(struct duet *duet)
{
	int error = 0, cancel;

	if (!duet)
		return 0;
	handle_lock(duet, &cancel);
	handle_hang_up(duet);
	handle_set_idle(duet, HANDLE_IDLE);
	duet->recorded_by = NULL;
	if (duet->recorder.pid)
		error = stop_own(duet);
	if (!error)
		succeed(duet);
	handle_unlock(duet, cancel);
	return error;
}

int duet_is_recording(const struct duet *duet)
{
	return duet &&
	       atomic_load_explicit(&duet->page.mode, memory_order_relaxed) >= HANDLE_RECORDING;
}

const char *duet_error(const struct duet *duet)
{
	return duet ? duet->error : "no handle: duet_open failed, and errno said why";
}

/* ---- ranges, marks and counters ------------------------------------------------------------- */

/* For programs that call without duet.h's inline functions. The rest is in functions of its own,
 * otherwise each call would save registers for it. */
static inline bool is_idle(const struct duet *duet)
{
	return LIB_UNLIKELY(!duet) ||
	       LIB_LIKELY(atomic_load_explicit(&duet->page.mode, memory_order_relaxed) ==
			  HANDLE_IDLE);
}

static void put_range(struct handle_thread *thread, uint32_t type, uint64_t id, const char *domain,
		      const char *name)
{
	const uint64_t time = ring_now(thread->clock);
	const struct record_text texts[] = {record_text_of(domain ? domain : default_domain),
					    record_text_of(name)};
	struct record_range *record =
		handle_reserve(thread, EVENT_RANGE,
			       record_bytes_with(sizeof(struct record_range), &texts[0], &texts[1]),
			       record_range_detail(RANGE_OF_LIBDUET, type));

	if (LIB_UNLIKELY(!record))
		return;
	record->time = time;
	record->id = id;
	record_put_texts(record->texts, &texts[0], &texts[1]);
	ring_commit(&thread->writer);
}

static __attribute__((noinline)) void push(struct duet *duet, const char *domain, const char *name)
{
	struct handle_thread *thread = handle_enter(duet, RING_TROUBLE_NO_RING);

	if (thread)
		put_range(thread, RANGE_PUSH, ++thread->depth, domain, name);
}

void duet_range_push(struct duet *duet, const char *domain, const char *name)
{
	if (!is_idle(duet))
		push(duet, domain, name);
}

/* Does nothing for a range that was pushed before recording started. */
static __attribute__((noinline)) void pop(struct duet *duet, const char *domain)
{
	struct handle_thread *thread = handle_enter(duet, RING_TROUBLE_NO_RING);

	if (!thread)
		return;
	put_range(thread, RANGE_PUSH | RECORD_RANGE_END, thread->depth, domain, NULL);
	thread->depth -= thread->depth != 0;
}

void duet_range_pop(struct duet *duet, const char *domain)
{
	if (!is_idle(duet))
		pop(duet, domain);
}

static __attribute__((noinline)) uint64_t start_range(struct duet *duet, const char *domain,
						      const char *name)
{
	struct handle_thread *thread = handle_enter(duet, RING_TROUBLE_NO_RING);
	uint64_t id;

	if (!thread)
		return 0;
	id = atomic_fetch_add_explicit(&duet->last_id, 1, memory_order_relaxed) + 1;
	put_range(thread, RANGE_START, id, domain, name);
	return id;
}

uint64_t duet_range_start(struct duet *duet, const char *domain, const char *name)
{
	return is_idle(duet) ? 0 : start_range(duet, domain, name);
}

static __attribute__((noinline)) void stop_range(struct duet *duet, uint64_t id)
{
	struct handle_thread *thread = id ? handle_enter(duet, RING_TROUBLE_NO_RING) : NULL;

	if (thread)
		put_range(thread, RANGE_START | RECORD_RANGE_END, id, NULL, NULL);
}

void duet_range_stop(struct duet *duet, uint64_t id)
{
	if (!is_idle(duet))
		stop_range(duet, id);
}

static __attribute__((noinline)) void mark(struct duet *duet, const char *domain, const char *name)
{
	struct handle_thread *thread = handle_enter(duet, RING_TROUBLE_NO_RING);

	if (thread)
		put_range(thread, RANGE_MARK, 0, domain, name);
}

void duet_mark(struct duet *duet, const char *domain, const char *name)
{
	if (!is_idle(duet))
		mark(duet, domain, name);
}

static void put_counter(struct handle_thread *thread, const char *name, const char *unit,
			int64_t value)
{
	const uint64_t time = ring_now(thread->clock);
	const struct record_text texts[] = {record_text_of(name), record_text_of(unit)};
	struct record_counter *record = handle_reserve(
		thread, EVENT_COUNTER,
		record_bytes_with(sizeof(struct record_counter), &texts[0], &texts[1]), 0);

	if (LIB_UNLIKELY(!record))
		return;
	record->time = time;
	record->value = value;
	record_put_texts(record->texts, &texts[0], &texts[1]);
	ring_commit(&thread->writer);
}

static __attribute__((noinline)) void count(struct duet *duet, const char *name, const char *unit,
					    int64_t value)
{
	/* A counter without a name has no series. */
	struct handle_thread *thread =
		name && *name ? handle_enter(duet, RING_TROUBLE_NO_RING_COUNTER) : NULL;

	if (thread)
		put_counter(thread, name, unit, value);
}

void duet_counter(struct duet *duet, const char *name, const char *unit, int64_t value)
{
	if (!is_idle(duet))
		count(duet, name, unit, value);
}
