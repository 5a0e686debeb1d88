/* SPDX-License-Identifier: MIT
 *
 * collect/limit/waits.c - how long the threads that launch waited for a processor
 *
 * Runs in:  the recorder
 * Gets:     launches of each thread, and its wait so far (the kernel's count)
 * Gives:    the time that the program waited, as a part of the time between two looks
 * Owns:     the counts of the last look
 * Fails:    without memory a thread's wait does not count
 * Why:      A part of a program's time is a part of the time in which it could run. While other
 *           processes have its processor, wall time goes on.
 */
#include "collect/limit/waits.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

/* A look takes 5 us for each thread: 0.05 % of a processor for one thread, 0.25 % for many. */
#define LOOK_NS   UINT64_C(10000000)
#define THREAD_NS UINT64_C(2000000)

bool limit_waits_wants(const struct limit_waits *waits, size_t ring, uint32_t tid,
		       uint64_t launches)
{
	const struct limit_wait *last = ring < waits->capacity ? &waits->all[ring] : NULL;

	return tid && (!last || last->tid != tid ? launches != 0 : last->launches != launches);
}

int limit_waits_add(struct limit_waits *waits, size_t ring, uint32_t tid, uint64_t launches,
		    uint64_t waited_ns, uint64_t now_ns)
{
	struct limit_wait *last;
	double more, part;

	if (array_grow(waits->all, waits->capacity, ring + 1) < 0)
		return -ENOMEM;
	last = &waits->all[ring];
	waits->read++;
	if (last->tid == tid && launches > last->launches && waited_ns >= last->waited_ns &&
	    now_ns > last->looked_ns) {
		more = (double)(launches - last->launches);
		part = (double)(waited_ns - last->waited_ns) / (double)(now_ns - last->looked_ns);
		waits->launches += more;
		waits->waited += more * (part < 1 ? part : 1);
	}
	*last = (struct limit_wait){tid, launches, waited_ns, now_ns};
	return 0;
}

void limit_waits_end(struct limit_waits *waits, uint64_t now_ns)
{
	const uint64_t ns = now_ns - waits->looked_ns;

	if (waits->looked_ns && waits->launches > 0) {
		waits->known_ns += ns;
		waits->known_waited_ns += (uint64_t)((double)ns * waits->waited / waits->launches);
	}
	waits->looked_ns = now_ns;
	waits->due_ns = now_ns + LOOK_NS + waits->read * THREAD_NS;
	waits->read = 0;
	waits->launches = waits->waited = 0;
}

void limit_waits_fini(struct limit_waits *waits)
{
	free(waits->all);
	*waits = (struct limit_waits){0};
}
