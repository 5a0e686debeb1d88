/* SPDX-License-Identifier: MIT
 *
 * inject/ranges/ranges.c - the ranges guest: write the program's ranges to the ring
 *
 * Runs in:  the profiled process, in calls of roctx, NVTX and ITT
 * Gets:     starts, ends and marks
 * Gives:    a record each
 * Owns:     for each thread the number of ranges that it has open while recording
 * Fails:    never for the program; records that do not fit into the ring are counted in the ring
 * Why separate records for start and end: the recorder then knows the open ranges of a killed
 *           program, and the guest stores no ranges
 */
#include "inject/ranges/ranges.h"

#include "inject/guest.h"
#include "shared/utf8.h"

enum { IDLE_CALLS = 64 }; /* at least this many calls between two searches for a recorder */

/* Ranges pushed and not popped, over all domains, since the thread got its ring in the recording of
 * that number (mode). The recorder uses the number to detect missing records. */
static _Thread_local struct {
	uint32_t mode, depth;
} self __attribute__((tls_model("initial-exec")));

_Thread_local uint32_t ranges_idle_left __attribute__((tls_model("initial-exec")));

struct record_text record_text_wide(const wchar_t *text, struct range_wide *to)
{
	size_t length = 0;

	for (; text && *text && length <= RECORD_RANGE_TEXT_BYTES; text++)
		length += utf8_encode((uint32_t)*text, to->text + length);
	return (struct record_text){to->text, length};
}

static struct guest_thread *enter_guest(void)
{
	struct guest_thread *thread;

	if (ranges_are_idle())
		return NULL;
	if (guest_is_idle()) {
		ranges_idle_left = IDLE_CALLS;
		guest_look_for_recorder();
	}
	thread = guest_enter();
	if (GUEST_UNLIKELY(!thread))
		guest_missed(RING_TROUBLE_NO_RING);
	else if (GUEST_UNLIKELY(self.mode != thread->mode)) {
		self.mode = thread->mode;
		self.depth = 0;
	}
	return thread;
}

static void put_range_record(struct guest_thread *thread, uint32_t detail, uint64_t id,
			     struct record_text domain, struct record_text name,
			     const struct record_text *attributes)
{
	const uint64_t time = guest_now(thread);
	const size_t more = attributes ? record_text_bytes(attributes) : 0;
	struct record_range *record = guest_reserve(
		thread, EVENT_RANGE, record_bytes_with(sizeof(*record) + more, &domain, &name),
		detail | (attributes ? RECORD_RANGE_ATTRIBUTES : 0));
	char *end;

	if (GUEST_UNLIKELY(!record))
		return;
	record->time = time;
	record->id = id;
	end = record_put_texts(record->texts, &domain, &name);
	if (attributes)
		record_text_put(end, attributes);
	ring_commit(&thread->writer);
}

void ranges_push(enum record_range_of of, struct record_text domain, struct record_text name,
		 const struct record_text *attributes)
{
	struct guest_thread *thread = enter_guest();

	if (thread)
		put_range_record(thread, record_range_detail(of, RANGE_PUSH), ++self.depth, domain,
				 name, attributes);
}

/* Does nothing for a range that was pushed before recording started. */
void ranges_pop(enum record_range_of of, struct record_text domain)
{
	struct guest_thread *thread = enter_guest();

	if (!thread)
		return;
	put_range_record(thread, record_range_detail(of, RANGE_PUSH) | RECORD_RANGE_END, self.depth,
			 domain, (struct record_text){0}, NULL);
	self.depth -= self.depth != 0;
}

void ranges_start(enum record_range_of of, struct record_text domain, struct record_text name,
		  const struct record_text *attributes, uint64_t id)
{
	struct guest_thread *thread = enter_guest();

	if (thread)
		put_range_record(thread, record_range_detail(of, RANGE_START), id, domain, name,
				 attributes);
}

void ranges_stop(enum record_range_of of, struct record_text domain, uint64_t id)
{
	struct guest_thread *thread = enter_guest();

	if (thread)
		put_range_record(thread, record_range_detail(of, RANGE_START) | RECORD_RANGE_END,
				 id, domain, (struct record_text){0}, NULL);
}

void ranges_mark(enum record_range_of of, struct record_text domain, struct record_text name,
		 const struct record_text *attributes)
{
	struct guest_thread *thread = enter_guest();

	if (thread)
		put_range_record(thread, record_range_detail(of, RANGE_MARK), 0, domain, name,
				 attributes);
}

uint64_t ranges_new_id(void)
{
	static _Atomic uint64_t last;

	return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

/* Runs before main if the guest is preloaded; the environment is still as the recorder set it. */
__attribute__((constructor)) void ranges_prepare(void)
{
	static const struct guest_backend backend = {.name = "ranges"};
	static _Atomic bool is_prepared;

	if (!atomic_exchange(&is_prepared, true))
		guest_init(&backend);
}
