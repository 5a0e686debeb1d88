/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/contradictions.c - counts samples in kernels while the account has their device
 * idle
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     commands of the account, instruction samples
 * Gives:    the number of samples that contradict the account
 * Owns:     the samples that later executions may still cover
 * Fails:    -ENOMEM
 * Why a tolerance of 1 ms (SLACK_NS): PoCL timestamps a command before its first and after its last
 *           work-group, and one interrupt takes both a sample's time and its registers. So a sample
 *           in a kernel lies within the command's times, up to the error of the clocks. In 50
 *           recordings of kernels of 0.1 to 1 ms, on two processors with a load average of 17, no
 *           sample was more than 1 ms outside.
 */
#include "analyze/sweep/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/number.h"

#define SLACK_NS 1000000

struct stretch {
	uint64_t begin, end;
};

/* The busy time of one device, as far back as the samples that still wait need it. */
struct device_busy {
	uint64_t first_ns;         /* start of its first command; UINT64_MAX: none yet */
	struct stretch *stretches; /* owned; disjoint, in the order of time */
	size_t first, count, capacity;
};

struct waiting_sample {
	uint64_t begin, end; /* with the slack */
	uint64_t count;
	size_t device;
	uint32_t process, code; /* ids */
};

struct contradictions {
	struct device_busy *busy; /* owned; by device index */
	size_t *device_of; /* owned; by process index: its only CPU device, or NO_DEVICE_YET or
			      SEVERAL_DEVICES */
	bool *is_older; /* owned; by process index: it may have launched work before the recording
			   began */
	struct waiting_sample *waiting; /* owned; in the order of their begin */
	size_t first, count, capacity;
};

/* ---- devices --------------------------------------------------------------------------------- */

/* Samples on CPU devices do not contain the device. It is known only if the process has queues on
 * one CPU device alone. */
enum { NO_DEVICE_YET = -1, SEVERAL_DEVICES = -2 };

static void add_queue(struct sweep *sweep, struct contradictions *contradictions,
		      const struct analysis_queue *queue)
{
	const struct event_device *device = sweep->analysis->devices[queue->device].device;
	size_t *known;

	if (!queue->queue || !device || device->type != DEVICE_CPU)
		return;
	known = &contradictions->device_of[entity_index_find(&sweep->entities.processes,
							     queue->queue->process)];
	if (*known == (size_t)NO_DEVICE_YET)
		*known = queue->device;
	else if (*known != queue->device)
		*known = (size_t)SEVERAL_DEVICES;
}

bool sweep_is_older(const struct analysis *analysis, const struct event_process *process)
{
	const uint64_t started_ns = model_process_started_ns(analysis->model, process);

	return started_ns && add_saturated(started_ns, MODEL_TICK_NS) <= analysis->begin_ns;
}

int sweep_make_contradictions(struct sweep *sweep)
{
	const struct analysis *analysis = sweep->analysis;
	struct contradictions *made;

	if (!sweep->trace.has_instructions)
		return 0;
	made = sweep->contradictions = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->busy = calloc(analysis->devices_count + 1, sizeof(*made->busy));
	made->device_of = calloc(analysis->processes_count + 1, sizeof(*made->device_of));
	made->is_older = calloc(analysis->processes_count + 1, sizeof(*made->is_older));
	if (!made->busy || !made->device_of || !made->is_older)
		return -ENOMEM;
	for (size_t i = 0; i <= analysis->devices_count; i++)
		made->busy[i].first_ns = UINT64_MAX;
	for (size_t i = 0; i <= analysis->processes_count; i++) {
		made->device_of[i] = (size_t)NO_DEVICE_YET;
		made->is_older[i] = sweep_is_older(analysis, analysis->processes[i].process);
	}
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
	free(sweep->contradictions->is_older);
	free(sweep->contradictions->waiting);
	free(sweep->contradictions);
	sweep->contradictions = NULL;
}

/* ---- busy time ------------------------------------------------------------------------------- */

/* Drops the intervals that no sample needs: waiting samples are sorted by begin, and later samples
 * are not before `started` less the slack. */
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

/* Excludes samples that a command outside of the trace may explain: those before the device's first
 * known command, which may have begun before the recording, and those of a kernel that no known
 * command has run yet. */
static bool is_idle(const struct sweep *sweep, const struct waiting_sample *sample)
{
	const struct device_busy *busy = &sweep->contradictions->busy[sample->device];
	const uint64_t slack = sweep->delay_ns + SLACK_NS;

	if (busy->first_ns > sample->begin || is_busy(busy, sample) ||
	    sweep_first_run(sweep, sample->process, sample->code) > sample->begin)
		return false;
	return !sweep->untimed.uses_intervals ||
	       !untimed_intervals_inside(&sweep->untimed.intervals[sample->device],
					 sample->begin + slack, sample->end - slack + 1);
}

/* ---- samples --------------------------------------------------------------------------------- */

static size_t device_of(const struct sweep *sweep, const struct event_instruction_sample *row)
{
	if (row->device)
		return entity_index_find(&sweep->entities.devices, row->device);
	return sweep->contradictions
		->device_of[entity_index_find(&sweep->entities.processes, row->process)];
}

/* Only samples of a known process and code count, because other programs may use the device unseen.
 * A process older than the recording does not count either: its earlier launches may run at any
 * time, on a queue that the trace does not contain. */
static bool may_contradict(const struct sweep *sweep, const struct event_instruction_sample *row)
{
	return row->process && row->code && row->end >= row->begin &&
	       !sweep->contradictions
			->is_older[entity_index_find(&sweep->entities.processes, row->process)];
}

int sweep_add_sampled(struct sweep *sweep, const struct event_instruction_sample *row)
{
	struct contradictions *contradictions = sweep->contradictions;
	const uint64_t slack = sweep->delay_ns + SLACK_NS;
	size_t device;

	if (!contradictions || !may_contradict(sweep, row))
		return 0;
	device = device_of(sweep, row);
	if (device >= sweep->analysis->devices_count ||
	    !analysis_shows(sweep->analysis, row->begin, row->begin))
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
					.device = device,
					.process = row->process,
					.code = row->code};
	return 0;
}

/* Waits for delay_ns more, because executions may come later by the error of their clocks. */
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

/* Lost commands would explain the samples, so then there are no contradictions. */
void sweep_close_contradictions(struct sweep *sweep, bool is_whole)
{
	struct analysis_ledger *ledger = &sweep->analysis->ledger;

	sweep_release_sampled(sweep, UINT64_MAX);
	if (ledger->lost_executions || ledger->dropped_launches || ledger->commands_uncounted ||
	    !is_whole)
		ledger->contradictions = 0;
}
