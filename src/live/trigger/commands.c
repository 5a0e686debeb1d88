/* SPDX-License-Identifier: MIT
 *
 * live/trigger/commands.c - long executions of kernels, and idle gaps of devices
 *
 * Runs in:  the watcher of `duet record --trigger`
 * Gets:     launches and executions
 * Gives:    findings for expressions of kernels and of idle time
 * Owns:     launches in flight, and times of devices that are not final yet
 * Fails:    -ENOMEM
 * Why gaps wait: executions arrive after their end, those of another queue perhaps later. A gap is
 *           final when every earlier launch of the device has its execution. A launch that never
 *           executes would hold all gaps, so it is given up after hold_ns, or when a later command
 * of its in-order queue was executed
 */
#include "live/trigger/private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model.h"
#include "base/array.h"
#include "base/number.h"
#include "base/string.h"

/* Rows with earlier times than this before the newest row have arrived: a row is written when it is
 * 0.2 s old. */
#define SETTLED_NS UINT64_C(1000000000)

enum { MAX_KERNELS = 65536, MAX_QUEUES = 65536, ORPHAN_FEEDS = 10 };

void commands_fini(struct commands *commands)
{
	for (size_t i = 0; i < commands->timelines_count; i++)
		free(commands->timelines[i].waiting);
	commands->timelines_count = 0;
	free(commands->launches);
	commands->launches = NULL;
	hash_map_fini(&commands->places);
	hash_map_fini(&commands->kernels);
	hash_map_fini(&commands->queues);
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* Bits of the expressions that the kernel's name matches. */
static uint64_t match_kernel(struct trigger_set *set, const struct model *model, uint32_t kernel)
{
	struct commands *commands = &set->commands;
	const uint64_t *known = hash_map_find(&commands->kernels, kernel);
	const char *name;
	uint64_t bits = 0;

	if (known)
		return *known;
	name = model_kernel_name(model, kernel);
	for (uint32_t i = 0; i < set->count; i++)
		if (set->exprs[i].subject == TRIGGER_KERNEL && *name &&
		    text_matches(set->exprs[i].name, name, strlen(name)))
			bits |= UINT64_C(1) << i;
	if (commands->kernels.count >= MAX_KERNELS)
		hash_map_clear(&commands->kernels);
	/* without memory it is found again each time */
	(void)hash_map_put(&commands->kernels, kernel, bits);
	return bits;
}

static void judge_kernel(struct trigger_set *set, const struct model *model,
			 const struct in_flight *launch, uint64_t begin_ns, uint64_t end_ns)
{
	const uint32_t kernel = launch->kernel;
	uint64_t bits = match_kernel(set, model, kernel);
	char what[160];
	const struct trigger_finding finding = {begin_ns, end_ns, launch->process, what};

	if (!bits)
		return;
	set->matched |= bits;
	snprintf(what, sizeof(what), "kernel %.140s", model_kernel_name(model, kernel));
	for (uint32_t i = 0; i < set->count; i++) {
		struct trigger_baseline *baseline = NULL;

		if (!(bits & UINT64_C(1) << i))
			continue;
		if (set->exprs[i].limit == TRIGGER_LIMIT_MULTIPLE) {
			baseline = baselines_find(&set->baselines, i, text_hash(what));
			if (!baseline)
				firings_add_problem(&set->firings,
						    "'%s' matches more than %d kernels; write a "
						    "longer name",
						    set->exprs[i].text, MAX_BASELINES);
		}
		firings_judge(&set->firings, set->exprs, i, baseline, &finding);
		/* without memory there is no statistic */
		if (baseline)
			(void)baseline_add(baseline, end_ns - begin_ns);
	}
}

/* ---- launches in flight ---------------------------------------------------------------------- */

static uint64_t place_of(uint32_t process, uint64_t correlation)
{
	return correlation ^ process * UINT64_C(0x9e3779b97f4a7c15);
}

static struct in_flight *find_launch(const struct commands *commands, uint32_t process,
				     uint64_t correlation)
{
	const uint64_t *index = hash_map_find(&commands->places, place_of(process, correlation));
	struct in_flight *launch = index ? &commands->launches[*index] : NULL;

	return launch && launch->process == process && launch->correlation == correlation ? launch
											  : NULL;
}

static void remove_launch(struct commands *commands, struct in_flight *launch)
{
	hash_map_remove(&commands->places, place_of(launch->process, launch->correlation), NULL);
	launch->process = 0;
}

int commands_add_launch(struct trigger_set *set, const struct model *model,
			const struct event_launch *row, uint64_t enter_ns)
{
	struct commands *commands = &set->commands;
	const struct event_queue *queue = model_entity(model, EVENT_QUEUE, row->queue);
	uint32_t process = model_process_of(model, row->thread);
	struct in_flight *launch;

	if (!process || row->result || !row->correlation || (row->flags & LAUNCH_PART))
		return 0;
	if (!set->uses[TRIGGER_IDLE] && (!row->kernel || !match_kernel(set, model, row->kernel)))
		return 0;
	if (!commands->launches)
		commands->launches = calloc(MAX_IN_FLIGHT, sizeof(*commands->launches));
	if (!commands->launches)
		return -ENOMEM;
	launch = &commands->launches[commands->next];
	if (launch->process) {
		firings_add_problem(&set->firings,
				    "limits: more than %d launches wait for their execution; the "
				    "oldest ones are not checked",
				    MAX_IN_FLIGHT);
		remove_launch(commands, launch);
	}
	*launch = (struct in_flight){.enter_ns = enter_ns,
				     .correlation = row->correlation,
				     .process = process,
				     .kernel = row->kernel,
				     .queue = row->queue,
				     .device = queue ? queue->device : 0};
	if (hash_map_put(&commands->places, place_of(process, row->correlation), commands->next)) {
		launch->process = 0;
		return -ENOMEM;
	}
	commands->next = (commands->next + 1) % MAX_IN_FLIGHT;
	return 0;
}

/* ---- devices --------------------------------------------------------------------------------- */

static struct timeline *find_timeline(struct commands *commands, uint32_t device)
{
	for (size_t i = 0; i < commands->timelines_count; i++)
		if (commands->timelines[i].device == device)
			return &commands->timelines[i];
	if (commands->timelines_count == MAX_TIMELINES)
		return NULL;
	commands->timelines[commands->timelines_count] = (struct timeline){.device = device};
	return &commands->timelines[commands->timelines_count++];
}

static int add_interval(struct trigger_set *set, uint32_t device,
			const struct trigger_interval *times)
{
	struct timeline *timeline = find_timeline(&set->commands, device);

	if (!timeline) {
		firings_add_problem(&set->firings,
				    "limits: more than %d devices; idle times of the later ones "
				    "are not checked",
				    MAX_TIMELINES);
		return 0;
	}
	return array_append(timeline->waiting, timeline->capacity, timeline->count, *times);
}

/* Commands of this in-order queue that were launched before are over. */
static int note_order(struct commands *commands, const struct model *model,
		      const struct in_flight *launch)
{
	const struct event_queue *queue = model_entity(model, EVENT_QUEUE, launch->queue);
	uint64_t last_ns = hash_map_get(&commands->queues, launch->queue, 0);

	if (!queue || (queue->flags & QUEUE_OUT_OF_ORDER) || launch->enter_ns <= last_ns)
		return 0;
	/* a launch of a queue that is not known any more is given up later */
	if (commands->queues.count >= MAX_QUEUES)
		hash_map_clear(&commands->queues);
	return hash_map_put(&commands->queues, launch->queue, launch->enter_ns);
}

static void add_orphan(struct commands *commands, const struct event_execution *row,
		       const struct trigger_interval *times)
{
	if (commands->orphans_count == MAX_ORPHANS)
		return;
	commands->orphans[commands->orphans_count++] =
		(struct orphan){.correlation = row->correlation,
				.process = row->process,
				.begin_ns = times->begin_ns,
				.end_ns = times->end_ns};
}

int commands_add_execution(struct trigger_set *set, const struct model *model,
			   const struct event_execution *row, const struct trigger_interval *times,
			   bool is_placed)
{
	struct commands *commands = &set->commands;
	const struct event_queue *queue = model_entity(model, EVENT_QUEUE, row->queue);
	struct in_flight *launch = find_launch(commands, row->process, row->correlation);
	bool is_timed = (row->valid & EXECUTION_STARTED) && (row->valid & EXECUTION_ENDED) &&
			times->end_ns >= times->begin_ns;
	int error = 0;

	if (set->uses[TRIGGER_IDLE] && is_timed && is_placed && queue && queue->device)
		error = add_interval(set, queue->device, times);
	if (launch && launch->kernel && is_timed && set->uses[TRIGGER_KERNEL])
		judge_kernel(set, model, launch, times->begin_ns, times->end_ns);
	if (launch && !error && set->uses[TRIGGER_IDLE])
		error = note_order(commands, model, launch);
	if (launch)
		remove_launch(commands, launch);
	else if (is_timed && set->uses[TRIGGER_KERNEL])
		add_orphan(commands, row, times);
	return error;
}

/* Executions whose launch was written after them. */
static void judge_orphans(struct trigger_set *set, const struct model *model)
{
	struct commands *commands = &set->commands;
	size_t kept = 0;

	for (size_t i = 0; i < commands->orphans_count; i++) {
		struct orphan orphan = commands->orphans[i];
		struct in_flight *launch =
			find_launch(commands, orphan.process, orphan.correlation);

		if (launch) {
			if (launch->kernel)
				judge_kernel(set, model, launch, orphan.begin_ns, orphan.end_ns);
			remove_launch(commands, launch);
		} else if (++orphan.feeds < ORPHAN_FEEDS) {
			commands->orphans[kept++] = orphan;
		}
	}
	commands->orphans_count = kept;
}

/* ---- gaps ------------------------------------------------------------------------------------ */

/* Gives up launches that never execute. Sets the time before which each device's commands are
 * known. */
static void find_settled(struct commands *commands, uint64_t newest_ns,
			 uint64_t settled_ns[MAX_TIMELINES])
{
	for (size_t i = 0; i < commands->timelines_count; i++)
		settled_ns[i] = newest_ns == UINT64_MAX
					? newest_ns
					: newest_ns - smaller(newest_ns, SETTLED_NS);
	for (size_t i = 0; commands->launches && i < MAX_IN_FLIGHT; i++) {
		struct in_flight *launch = &commands->launches[i];
		bool is_old = launch->enter_ns + SETTLED_NS < newest_ns;

		if (!launch->process)
			continue;
		if (launch->enter_ns + commands->hold_ns < newest_ns ||
		    (is_old &&
		     hash_map_get(&commands->queues, launch->queue, 0) > launch->enter_ns)) {
			remove_launch(commands, launch);
			continue;
		}
		for (size_t j = 0; j < commands->timelines_count; j++)
			if (commands->timelines[j].device == launch->device)
				settled_ns[j] = smaller(settled_ns[j], launch->enter_ns);
	}
}

static void judge_gap(struct trigger_set *set, const struct model *model, uint32_t device,
		      uint64_t begin_ns, uint64_t end_ns)
{
	const struct event_device *row = model_entity(model, EVENT_DEVICE, device);
	char what[160];
	const struct trigger_finding finding = {begin_ns, end_ns, 0, what};

	snprintf(what, sizeof(what), "idle time of %.130s",
		 row ? model_text(model, row->name_string, "a device") : "a device");
	for (uint32_t i = 0; i < set->count; i++)
		if (set->exprs[i].subject == TRIGGER_IDLE)
			firings_judge(&set->firings, set->exprs, i, NULL, &finding);
}

/* Takes the intervals that start before the settled time, in their order. */
static void settle_timeline(struct trigger_set *set, const struct model *model,
			    struct timeline *timeline, uint64_t settled_ns)
{
	size_t taken = 0;

	if (!timeline->count)
		return;
	for (uint32_t i = 0; i < set->count; i++)
		set->matched |= (uint64_t)(set->exprs[i].subject == TRIGGER_IDLE) << i;
	qsort(timeline->waiting, timeline->count, sizeof(*timeline->waiting), compare_u64);
	while (taken < timeline->count && timeline->waiting[taken].begin_ns <= settled_ns) {
		const struct trigger_interval *interval = &timeline->waiting[taken++];

		if (timeline->busy_until_ns && interval->begin_ns > timeline->busy_until_ns)
			judge_gap(set, model, timeline->device, timeline->busy_until_ns,
				  interval->begin_ns);
		timeline->busy_until_ns = larger(timeline->busy_until_ns, interval->end_ns);
	}
	timeline->count -= taken;
	memmove(timeline->waiting, timeline->waiting + taken,
		timeline->count * sizeof(*timeline->waiting));
}

/* With too many intervals the gaps among the oldest ones are not judged. */
static void bound_timeline(struct timeline *timeline)
{
	size_t excess = timeline->count > MAX_WAITING ? timeline->count - MAX_WAITING / 2 : 0;

	for (size_t i = 0; i < excess; i++)
		timeline->busy_until_ns =
			larger(timeline->busy_until_ns, timeline->waiting[i].end_ns);
	timeline->count -= excess;
	if (excess)
		memmove(timeline->waiting, timeline->waiting + excess,
			timeline->count * sizeof(*timeline->waiting));
}

int commands_evaluate(struct trigger_set *set, const struct model *model, uint64_t newest_ns)
{
	struct commands *commands = &set->commands;
	uint64_t settled_ns[MAX_TIMELINES];

	judge_orphans(set, model);
	if (!set->uses[TRIGGER_IDLE])
		return 0;
	find_settled(commands, newest_ns, settled_ns);
	for (size_t i = 0; i < commands->timelines_count; i++) {
		settle_timeline(set, model, &commands->timelines[i], settled_ns[i]);
		bound_timeline(&commands->timelines[i]);
	}
	return 0;
}
