/* SPDX-License-Identifier: MIT
 *
 * inject/nvidia/refusals.c - report CUPTI's refusals to each recorder
 *
 * Runs in:  the profiled process, in the thread whose call CUPTI refused
 * Gets:     function, result and consequence of a refusal
 * Gives:    a record in the thread's ring
 * Owns:     the first refusals, for a recorder that takes over
 * Fails:    by not repeating refusals beyond the first 16
 * Why:      a second recorder finds CUPTI as the first one left it. It must get the list of missing
 *           data, although the refused calls are not made again.
 */
#include <string.h>

#include "inject/describe.h"
#include "inject/nvidia/cuda.h"

enum { REFUSALS_KEPT = 16 };

static struct {
	struct refusal {
		enum record_refusal refusal;
		const char *function; /* lives as long as the guest; NULL: it was requested again */
		cupti_result result;
	} kept[REFUSALS_KEPT];
	_Atomic uint32_t count;
} refusals;

static void put_refused(struct guest_thread *thread, enum record_refusal refusal,
			const char *function, cupti_result result, const char *holder)
{
	struct record_refused record = {.head = {.kind = RECORD_REFUSED, .detail = refusal},
					.result = result};
	const char *texts[] = {function, holder};
	const struct guest_tail tail = {.texts = texts, .text_count = 2};

	guest_put_with_texts(thread, &record.head, offsetof(struct record_refused, texts), &tail);
}

void cuda_refused(struct guest_thread *thread, enum record_refusal refusal, const char *function,
		  cupti_result result, const char *holder)
{
	uint32_t place = atomic_fetch_add(&refusals.count, 1);

	if (place < REFUSALS_KEPT)
		refusals.kept[place] = (struct refusal){refusal, function, result};
	if (thread)
		put_refused(thread, refusal, function, result, holder);
}

void cuda_forget_refusals(const char *begin)
{
	for (uint32_t i = 0; i < REFUSALS_KEPT; i++)
		if (refusals.kept[i].function &&
		    strncmp(refusals.kept[i].function, begin, strlen(begin)) == 0)
			refusals.kept[i].function = NULL;
}

void cuda_repeat_refusals(struct guest_thread *thread)
{
	for (uint32_t i = 0; i < REFUSALS_KEPT; i++) {
		const struct refusal *refusal = &refusals.kept[i];

		if (refusal->function && refusal->refusal != REFUSED_END)
			put_refused(thread, refusal->refusal, refusal->function, refusal->result,
				    "");
	}
}

void cuda_reset_refusals(void)
{
	memset(refusals.kept, 0, sizeof(refusals.kept));
	atomic_store(&refusals.count, 0);
}
