/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep_contradictions.c - samples in kernels while the account has their device idle
 *
 * Runs in:  the readers
 * Gets:     commands of the account, samples of instructions   Gives: how many samples contradict the account
 * Owns:     the samples whose surroundings are not all swept yet
 * Fails:    -ENOMEM
 * Why a millisecond: PoCL stamps a command before its first and behind its last work-group, and a sample's time and
 *           registers are of one interrupt, so both agree to the clocks' error. In 50 recordings of kernels of 0.1 to
 *           1 ms on two processors with a load of 17 no sample was outside by more.
 */
#include "analyze/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/number.h"

#define SLACK_NS 1000000

struct stretch {
	uint64_t begin, end;
};

/* Of a device: when it was busy, as far back as a sample may still ask. */
struct device_busy {
	uint64_t first_ns;         /* start of its first command; UINT64_MAX: none yet */
	struct stretch *stretches; /* owned; without overlap, in the order of time */
	size_t first, count, capacity;
};

struct waiting_sample {
	uint64_t begin, end; /* with the slack */
	uint64_t count;
	size_t device;
};

struct contradictions {
	struct device_busy *busy; /* owned; by device index */
	size_t *device_of; /* owned; by process index: the only device on whose threads its kernels run; or none */
	struct waiting_sample *waiting; /* owned; in the order of their begin */
	size_t first, count, capacity;
};

/* ---- devices ----------------------------------------------------------------------------------- */

/* A process with queues on several CPU devices: its samples name no device. */
enum { NO_DEVICE_YET = -1, SEVERAL_DEVICES = -2 };

static void add_queue(struct sweep *sweep, struct contradictions *contradictions,
		      const struct analysis_queue *queue)
{
	const struct event_device *device = sweep->analysis->devices[queue->device].device;
	size_t *known;

	if (!queue->queue || !device || device->type != DEVICE_CPU)
		return;
	known = &contradictions->device_of[things_index(&sweep->processes, queue->queue->process)];
	if (*known == (size_t)NO_DEVICE_YET)
		*known = queue->device;
	else if (*known != queue->device)
		*known = (size_t)SEVERAL_DEVICES;
}

int sweep_make_contradictions(struct sweep *sweep)
{
	const struct analysis *analysis = sweep->analysis;
	struct contradictions *made;

	if (!sweep->has_instructions)
		return 0;
	made = sweep->contradictions = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->busy = calloc(analysis->devices_count + 1, sizeof(*made->busy));
	made->device_of = calloc(analysis->processes_count + 1, sizeof(*made->device_of));
	if (!made->busy || !made->device_of)
		return -ENOMEM;
	for (size_t i = 0; i <= analysis->devices_count; i++)
		made->busy[i].first_ns = UINT64_MAX;
	for (size_t i = 0; i <= analysis->processes_count; i++)
		made->device_of[i] = (size_t)NO_DEVICE_YET;
	for (size_t i = 0; i < analysis->queues_count; i++)
		add_queue(sweep, made, &analysis->queues[i]);
	return 0;
}

void sweep_contradictions_fini(struct sweep *sweep)
{
	if (!sweep->contradictions)
		return;
	for (size_t i = 0; sweep->contradictions->busy && i <= sweep->analysis->devices_count; i++)
		free(sweep->contradictions->busy[i].stretches);
	free(sweep->contradictions->busy);
	free(sweep->contradictions->device_of);
	free(sweep->contradictions->waiting);
	free(sweep->contradictions);
	sweep->contradictions = NULL;
}

/* ---- busy time --------------------------------------------------------------------------------- */

/* Samples come later than executions, and those that wait are in the order of their begin. */
static void forget_stretches(const struct sweep *sweep, struct device_busy *busy, uint64_t started)
{
	const struct contradictions *contradictions = sweep->contradictions;
	const uint64_t slack = sweep->delay_ns + SLACK_NS;
	uint64_t needed_ns = started > slack ? started - slack : 0;

	if (contradictions->count)
		needed_ns =
			smaller(needed_ns, contradictions->waiting[contradictions->first].begin);
	while (busy->count > 1 && busy->stretches[busy->first].end < needed_ns) {
		busy->first++;
		busy->count--;
	}
	if (busy->first > busy->count) {
		memmove(busy->stretches, busy->stretches + busy->first,
			busy->count * sizeof(*busy->stretches));
		busy->first = 0;
	}
}

int sweep_add_busy(struct sweep *sweep, size_t device, uint64_t started, uint64_t ended)
{
	struct device_busy *busy;
	struct stretch *last;

	if (!sweep->contradictions)
		return 0;
	busy = &sweep->contradictions->busy[device];
	busy->first_ns = smaller(busy->first_ns, started);
	last = busy->count ? &busy->stretches[busy->first + busy->count - 1] : NULL;
	if (last && started <= last->end) {
		last->end = larger(last->end, ended);
		return 0;
	}
	forget_stretches(sweep, busy, started);
	if (array_grow(busy->stretches, busy->capacity, busy->first + busy->count + 1))
		return -ENOMEM;
	busy->stretches[busy->first + busy->count++] = (struct stretch){started, ended};
	return 0;
}

static bool is_busy(const struct device_busy *busy, const struct waiting_sample *sample)
{
	for (size_t i = busy->count; i-- > 0;) {
		const struct stretch *stretch = &busy->stretches[busy->first + i];

		if (stretch->end < sample->begin)
			return false;
		if (stretch->begin <= sample->end)
			return true;
	}
	return false;
}

/* What ran before the first command that is known may have begun before the recording did. */
static bool is_idle(const struct sweep *sweep, const struct waiting_sample *sample)
{
	const struct device_busy *busy = &sweep->contradictions->busy[sample->device];

	if (busy->first_ns > sample->begin || is_busy(busy, sample))
		return false;
	return !sweep->uses_darks ||
	       !dark_inside(&sweep->darks[sample->device], sample->begin, sample->end + 1);
}

/* ---- samples ----------------------------------------------------------------------------------- */

static size_t device_of(const struct sweep *sweep, const struct event_instruction_sample *row)
{
	if (row->device)
		return things_index(&sweep->devices, row->device);
	return sweep->contradictions->device_of[things_index(&sweep->processes, row->process)];
}

/* Of a process and code that are known: others may use a device, unseen. */
int sweep_add_sampled(struct sweep *sweep, const struct event_instruction_sample *row)
{
	struct contradictions *contradictions = sweep->contradictions;
	const uint64_t slack = sweep->delay_ns + SLACK_NS;
	size_t device;

	if (!contradictions || !row->process || !row->code || row->end < row->begin)
		return 0;
	device = device_of(sweep, row);
	if (device >= sweep->analysis->devices_count ||
	    !is_in_window(sweep->analysis, row->begin, row->begin))
		return 0;
	if (contradictions->first > contradictions->count) {
		memmove(contradictions->waiting, contradictions->waiting + contradictions->first,
			contradictions->count * sizeof(*contradictions->waiting));
		contradictions->first = 0;
	}
	if (array_grow(contradictions->waiting, contradictions->capacity,
		       contradictions->first + contradictions->count + 1))
		return -ENOMEM;
	contradictions->waiting[contradictions->first + contradictions->count++] =
		(struct waiting_sample){.begin = row->begin > slack ? row->begin - slack : 0,
					.end = add_saturated(row->end, slack),
					.count = row->count,
					.device = device};
	return 0;
}

/* Executions come as much later as the clocks may be off. */
void sweep_release_sampled(struct sweep *sweep, uint64_t now_ns)
{
	struct contradictions *waits = sweep->contradictions;
	uint64_t *sum = &sweep->analysis->ledger.contradictions;

	if (!waits)
		return;
	while (waits->count &&
	       (now_ns == UINT64_MAX ||
		add_saturated(waits->waiting[waits->first].end, sweep->delay_ns) < now_ns)) {
		const struct waiting_sample *sample = &waits->waiting[waits->first++];

		waits->count--;
		if (is_idle(sweep, sample))
			*sum = add_saturated(*sum, sample->count);
	}
	if (!waits->count)
		waits->first = 0;
}

/* Where commands are missing, those explain it. */
void sweep_close_contradictions(struct sweep *sweep, bool is_whole)
{
	struct analysis_ledger *ledger = &sweep->analysis->ledger;

	sweep_release_sampled(sweep, UINT64_MAX);
	if (ledger->lost_executions || ledger->dropped_launches || ledger->commands_uncounted ||
	    !is_whole)
		ledger->contradictions = 0;
}
