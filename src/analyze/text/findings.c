/* SPDX-License-Identifier: MIT
 *
 * analyze/text/findings.c - findings: probable problems in a recording, with their numbers
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     a finished analysis
 * Gives:    findings: failures first, the others by falling cost
 * Owns:     the list
 * Fails:    -ENOMEM; a rule whose numbers were not measured finds nothing
 * Why thresholds: users ignore a report that always finds something. Each rule computes the time
 *           that a change would save and gives no finding below 1 % of the wall time, because two
 *           runs of one program differ by as much. Rules with weaker assumptions need a larger
 *           share.
 */
#include "analyze/text/findings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/text/findings_private.h"
#include "analyze/verdict/verdict.h"
#include "base/array.h"
#include "base/number.h"

#define MIN_SMALL       100 /* transfers: fewer cannot save a millisecond at 10 us each */
#define MIN_TINY        100
#define MIN_PROMPT      100 /* launches: with fewer, the 99th percentile is simply the slowest one */
#define MIN_COPIES      10 /* enough for a pattern, not only copies at the program's start and end */
#define MIN_SERIAL      20
#define MIN_COLLECTIVES 5 /* the first ones of a run also wait for the ranks to start */
#define MIN_BUILDS      10 /* with fewer, only builds of a second in total: each program builds once */
#define MIN_BUILDS_NS   UINT64_C(1000000000)

const char *finding_id(enum finding_kind kind)
{
#define FINDING_ID(KIND, name) #name,
	static const char *const ids[] = {FINDING_KINDS(FINDING_ID)};

	return array_text(ids, ARRAY_COUNT(ids), kind, "other");
}

static uint64_t wall_of(const struct analysis *analysis)
{
	return analysis->to_ns - analysis->from_ns;
}

/* Whether part is at least `percent` of the whole. The 128-bit product cannot overflow. */
static bool is_share(uint64_t part, uint64_t whole, unsigned int percent)
{
	return (unsigned __int128)part * 100 >= (unsigned __int128)whole * percent;
}

const char *finding_severity(const struct analysis *analysis, const struct finding *finding)
{
	bool is_early = finding->kind <= FINDING_SMALL_TRANSFERS; /* those have no cost */

	return is_early || is_share(finding->cost_ns, wall_of(analysis), 10) ? "warning" : "info";
}

uint64_t finding_value(const struct finding *finding, const char *name)
{
	for (size_t i = 0; i < finding->numbers_count; i++)
		if (strcmp(finding->numbers[i].name, name) == 0)
			return finding->numbers[i].value;
	return 0;
}

static bool is_cpu(const struct analysis_device *device)
{
	return device->device && device->device->type == DEVICE_CPU;
}

/* ---- rules for devices: each fills in the finding, or returns false -------------------------- */

static uint64_t copies_ns(const struct analysis *analysis, size_t device)
{
	uint64_t total_ns = 0;

	for (size_t i = 0; i < analysis->copies_count; i++) {
		const struct analysis_copy *copy = &analysis->copies[i];

		if (copy->device == device && analysis_class(copy->command) == ACCOUNT_COPY)
			total_ns += copy->total_ns;
	}
	return total_ns;
}

static bool find_small_transfers(const struct analysis *analysis, size_t device,
				 struct finding *finding)
{
	const struct analysis_transfers *small = &analysis->devices[device].small;
	uint64_t all_ns;

	if (small->count < MIN_SMALL)
		return false;
	all_ns = copies_ns(analysis, device);
	if (!is_share(small->total_ns, all_ns, 10) ||
	    !is_share(small->total_ns + small->calls_ns, wall_of(analysis), 1))
		return false;
	finding_add_number(finding, "limit_bytes", ANALYSIS_SMALL_BYTES);
	finding_add_number(finding, "count", small->count);
	finding_add_number(finding, "bytes", small->bytes);
	finding_add_number(finding, "total_ns", small->total_ns);
	finding_add_number(finding, "calls_ns", small->calls_ns);
	finding_add_number(finding, "copies_ns", all_ns);
	return true;
}

static uint64_t steady_wall_of(const struct account *account)
{
	return account->steady.end - account->steady.begin;
}

/* Whether one cause's idle time is at least `percent` of the steady part: start-up would hide each
 * cause in a short run. */
static bool find_cause(const struct analysis *analysis, size_t device, enum account_cause cause,
		       unsigned int percent, struct finding *finding)
{
	static const char *const names[CAUSE_COUNT] = {[CAUSE_PREEMPTED] = "preempted_ns",
						       [CAUSE_ON_CPU] = "on_cpu_ns",
						       [CAUSE_BLOCKED] = "blocked_ns"};
	const struct account *account = &analysis->devices[device].account;
	const uint64_t wall_ns = steady_wall_of(account);

	finding->cost_ns = account->steady.causes[cause];
	if (!account->commands || !finding->cost_ns ||
	    !is_share(finding->cost_ns, wall_ns, percent))
		return false;
	finding_add_number(finding, names[cause], finding->cost_ns);
	finding_add_number(finding, "idle_ns", wall_ns - account->steady.busy_ns);
	finding_add_number(finding, "wall_ns", wall_ns);
	return true;
}

static bool find_preemption(const struct analysis *analysis, size_t device, struct finding *finding)
{
	return find_cause(analysis, device, CAUSE_PREEMPTED, 2, finding);
}

/* The time in which the launching thread computed, or was blocked. */
static bool find_state(const struct analysis *analysis, size_t device, struct finding *finding)
{
	const bool is_starved = finding->kind == FINDING_STARVED_QUEUE;

	return find_cause(analysis, device, is_starved ? CAUSE_ON_CPU : CAUSE_BLOCKED, 10, finding);
}

static bool find_shared(const struct analysis *analysis, size_t device, struct finding *finding)
{
	const struct overlap *overlap = &analysis->devices[device].overlap;
	const struct account *account = &analysis->devices[device].account;

	const uint64_t most_ns = overlap->processes_ns > overlap->waited_ns ? overlap->processes_ns
									    : overlap->waited_ns;

	if (overlap->users_count < 2 || !most_ns || !is_share(most_ns, account->busy_ns, 5) ||
	    !is_share(most_ns, wall_of(analysis), 1))
		return false;
	finding->cost_ns = most_ns;
	finding_add_number(finding, "overlap_ns", overlap->processes_ns);
	finding_add_number(finding, "waited_ns", overlap->waited_ns);
	finding_add_number(finding, "busy_ns", account->busy_ns);
	finding_add_number(finding, "wall_ns", account->wall_ns);
	return true;
}

/* Number of timed copies, or of timed kernels. */
static uint64_t count_class(const struct analysis *analysis, size_t device, bool is_copy)
{
	uint64_t count = 0;

	for (size_t i = 0; is_copy && i < analysis->copies_count; i++)
		if (analysis->copies[i].device == device &&
		    analysis_class(analysis->copies[i].command) == ACCOUNT_COPY)
			count += analysis->copies[i].timed;
	for (size_t i = 0; !is_copy && i < analysis->kernels_count; i++)
		if (analysis->kernels[i].device == device)
			count += analysis->kernels[i].timed;
	return count;
}

struct queues_of {
	size_t used, out_of_order;
};

static struct queues_of count_queues(const struct analysis *analysis, size_t device)
{
	struct queues_of queues = {0};

	for (size_t i = 0; i <= analysis->queues_count; i++) {
		const struct analysis_queue *queue = &analysis->queues[i];

		if (queue->device != device || !queue->account.commands)
			continue;
		queues.used++;
		queues.out_of_order += queue->queue && queue->queue->flags & QUEUE_OUT_OF_ORDER;
	}
	return queues;
}

/* Whether copies and kernels take at least 5 % of the wall time each but hardly ever run at the
 * same time. */
static bool takes_turns(const struct analysis *analysis, size_t device, uint64_t *ret_saved_ns)
{
	const struct analysis_device *at = &analysis->devices[device];
	const struct overlap *overlap = &at->overlap;

	*ret_saved_ns =
		overlap->copies_ns < overlap->kernels_ns ? overlap->copies_ns : overlap->kernels_ns;
	return !is_cpu(at) && *ret_saved_ns && is_share(*ret_saved_ns, wall_of(analysis), 5) &&
	       !is_share(overlap->both_ns, *ret_saved_ns, 1) &&
	       count_class(analysis, device, true) >= MIN_COPIES &&
	       count_class(analysis, device, false) >= MIN_COPIES;
}

static void note_turns(const struct analysis *analysis, size_t device, struct finding *finding)
{
	const struct overlap *overlap = &analysis->devices[device].overlap;

	finding_add_number(finding, "copies_ns", overlap->copies_ns);
	finding_add_number(finding, "kernels_ns", overlap->kernels_ns);
	finding_add_number(finding, "both_ns", overlap->both_ns);
	finding_add_number(finding, "saved_at_most_ns", finding->cost_ns);
}

/* Applies only if most copies are asynchronous. Otherwise find_sync_copies reports, because that is
 * to be changed first. */
static bool find_no_overlap(const struct analysis *analysis, size_t device, struct finding *finding)
{
	struct queues_of queues;

	if (!takes_turns(analysis, device, &finding->cost_ns) ||
	    is_share(analysis->devices[device].sync.device_ns, copies_ns(analysis, device), 50))
		return false;
	queues = count_queues(analysis, device);
	note_turns(analysis, device, finding);
	finding_add_number(finding, "queues", queues.used);
	finding_add_number(finding, "out_of_order_queues", queues.out_of_order);
	return true;
}

static bool find_sync_copies(const struct analysis *analysis, size_t device,
			     struct finding *finding)
{
	const struct analysis_sync *sync = &analysis->devices[device].sync;

	if (sync->count < MIN_COPIES || !takes_turns(analysis, device, &finding->cost_ns) ||
	    !is_share(sync->device_ns, copies_ns(analysis, device), 50) ||
	    !is_share(sync->calls_ns, wall_of(analysis), 10))
		return false;
	finding_add_number(finding, "count", sync->count);
	finding_add_number(finding, "bytes", sync->bytes);
	finding_add_number(finding, "waited_ns", sync->calls_ns);
	finding_add_number(finding, "device_ns", sync->device_ns);
	note_turns(analysis, device, finding);
	return true;
}

/* The direction with at least half of the device's copy time; NULL: none. */
static const struct analysis_copy *find_main_copy(const struct analysis *analysis, size_t device)
{
	const uint64_t all_ns = copies_ns(analysis, device);

	for (size_t i = 0; i < analysis->copies_count; i++) {
		const struct analysis_copy *copy = &analysis->copies[i];

		if (copy->device == device && analysis_class(copy->command) == ACCOUNT_COPY &&
		    is_share(copy->total_ns, all_ns, 50))
			return copy;
	}
	return NULL;
}

/* Gives way to the findings about copies that have a more precise remedy. */
static bool find_copy_bound(const struct analysis *analysis, size_t device, struct finding *finding)
{
	const struct analysis_device *at = &analysis->devices[device];
	const uint64_t copied_ns = at->overlap.copies_ns, busy_ns = at->account.busy_ns;
	struct finding other = {0};

	if (is_cpu(at) || !copied_ns || !is_share(copied_ns, busy_ns, 50) ||
	    !is_share(busy_ns, wall_of(analysis), 10) ||
	    count_class(analysis, device, true) < MIN_COPIES ||
	    find_small_transfers(analysis, device, &other) ||
	    find_no_overlap(analysis, device, &other) || find_sync_copies(analysis, device, &other))
		return false;
	finding->cost_ns = copied_ns;
	finding->copy = find_main_copy(analysis, device);
	finding_add_number(finding, "copies_ns", copied_ns);
	finding_add_number(finding, "kernels_ns", at->overlap.kernels_ns);
	finding_add_number(finding, "both_ns", at->overlap.both_ns);
	finding_add_number(finding, "busy_ns", busy_ns);
	finding_add_number(finding, "wall_ns", wall_of(analysis));
	if (finding->copy) {
		finding_add_number(finding, "bytes", finding->copy->moved_bytes);
		finding_add_number(finding, "bytes_ns", finding->copy->moved_ns);
	}
	return true;
}

/* Whether the program lets queues of CUDA or HIP wait for each other. No interface says which
 * commands wait then. */
static bool has_queue_waits(const struct analysis *analysis)
{
	const struct analysis_program *program = &analysis->program;

	for (size_t i = 0; i < program->calls_count; i++)
		if (program->calls[i].class == ANALYSIS_CALL_RUNTIME &&
		    strstr(program->calls[i].name, "StreamWait"))
			return true;
	return false;
}

static bool find_serial(const struct analysis *analysis, size_t device, struct finding *finding)
{
	const struct analysis_serial *serial = &analysis->devices[device].serial;
	const struct overlap *overlap = &analysis->devices[device].overlap;
	const struct account *account = &analysis->devices[device].account;
	struct queues_of queues;

	if (serial->count < MIN_SERIAL || !is_share(serial->count, serial->switches, 25) ||
	    is_share(overlap->several_ns, account->busy_ns, 1) ||
	    !is_share(account->busy_ns, wall_of(analysis), 5) ||
	    !is_share(serial->waited_ns, account->busy_ns, 10) || has_queue_waits(analysis))
		return false;
	queues = count_queues(analysis, device);
	finding_add_number(finding, "queues", queues.used);
	finding_add_number(finding, "waited", serial->count);
	finding_add_number(finding, "switches", serial->switches);
	finding_add_number(finding, "waited_ns", serial->waited_ns);
	finding_add_number(finding, "several_ns", overlap->several_ns);
	finding_add_number(finding, "busy_ns", account->busy_ns);
	return true;
}

static bool find_launch_bound(const struct analysis *analysis, size_t device,
			      struct finding *finding)
{
	const struct account *account = &analysis->devices[device].account;
	struct verdict_launch_bound bound;

	if (!verdict_launch_bound(analysis, device, &bound))
		return false;
	finding->cost_ns = bound.ns;
	finding->waited = bound.row;
	finding_add_number(finding, "count", bound.gaps);
	finding_add_number(finding, "launches", analysis->devices[device].waited_launches);
	finding_add_number(finding, "idle_ns", bound.ns);
	finding_add_number(finding, "mean_ns", bound.ns / bound.gaps);
	finding_add_number(finding, "wall_ns", steady_wall_of(account));
	return true;
}

/* Whether most of these launches came after a wait, which is to be changed first. */
static bool is_waiting(const struct analysis *analysis, size_t device, uint64_t launches)
{
	struct verdict_launch_bound bound;

	return is_share(analysis->devices[device].waited_launches, launches, 50) &&
	       verdict_launch_bound(analysis, device, &bound);
}

static bool find_tiny(const struct analysis *analysis, size_t device, struct finding *finding)
{
	const struct account *account = &analysis->devices[device].account;
	struct analysis_part tiny = {0};
	uint64_t calls_ns = 0;

	for (size_t i = 0; account->commands && i < analysis->kernels_count; i++) {
		const struct analysis_kernel *kernel = &analysis->kernels[i];

		if (kernel->device != device || !kernel->tiny.count)
			continue;
		if (!finding->kernel || kernel->tiny.count > finding->kernel->tiny.count)
			finding->kernel = kernel;
		tiny.count += kernel->tiny.count;
		tiny.total_ns += kernel->tiny.total_ns;
		calls_ns += kernel->tiny_calls_ns;
	}
	if (tiny.count < MIN_TINY ||
	    !is_share(tiny.count, count_class(analysis, device, false), 50) ||
	    !is_share(calls_ns, wall_of(analysis), 5) ||
	    !is_share(account->idle_ns, account->wall_ns, 10) ||
	    is_waiting(analysis, device, tiny.count))
		return false;
	finding->cost_ns = calls_ns - tiny.total_ns;
	finding_add_number(finding, "count", tiny.count);
	finding_add_number(finding, "kernels", count_class(analysis, device, false));
	finding_add_number(finding, "total_ns", tiny.total_ns);
	finding_add_number(finding, "mean_ns", tiny.total_ns / tiny.count);
	finding_add_number(finding, "calls_ns", calls_ns);
	finding_add_number(finding, "mean_call_ns", calls_ns / tiny.count);
	return true;
}

/* Samples of one kernel without a visible launch may come from one that runs for a long time. */
bool findings_has_hidden(const struct analysis *analysis, size_t device)
{
	const struct analysis_hidden *hidden = &analysis->devices[device].hidden;

	return hidden->samples && is_share(hidden->hidden, hidden->samples, 10) &&
	       (hidden->kernels >= 2 || is_share(hidden->never_launched, hidden->samples, 10));
}

static bool find_hidden(const struct analysis *analysis, size_t device, struct finding *finding)
{
	const struct analysis_hidden *hidden = &analysis->devices[device].hidden;

	if (!findings_has_hidden(analysis, device))
		return false;
	finding_add_number(finding, "samples", hidden->samples);
	finding_add_number(finding, "hidden", hidden->hidden);
	finding_add_number(finding, "never_launched", hidden->never_launched);
	finding_add_number(finding, "kernels", hidden->kernels);
	return true;
}

/* Idle time that only the recording has. Below 1 % of the wall it does not matter. */
static bool find_profiler(const struct analysis *analysis, size_t device, struct finding *finding)
{
	const struct account *account = &analysis->devices[device].account;
	const uint64_t ns = finding->cost_ns = account->causes[CAUSE_PROFILER_OVERHEAD];

	finding_add_number(finding, "overhead_ns", ns);
	finding_add_number(finding, "idle_ns", account->idle_ns);
	finding_add_number(finding, "wall_ns", account->wall_ns);
	return ns && is_share(ns, account->idle_ns, 5) && is_share(ns, account->wall_ns, 1);
}

static const struct {
	enum finding_kind kind;
	bool (*find)(const struct analysis *analysis, size_t device, struct finding *finding);
} device_rules[] = {
	{FINDING_SMALL_TRANSFERS, find_small_transfers},
	{FINDING_CPU_PREEMPTION, find_preemption},
	{FINDING_STARVED_QUEUE, find_state},
	{FINDING_BLOCKED_HOST, find_state},
	{FINDING_DEVICE_SHARED, find_shared},
	{FINDING_NO_OVERLAP, find_no_overlap},
	{FINDING_SYNC_COPIES, find_sync_copies},
	{FINDING_SERIAL_QUEUES, find_serial},
	{FINDING_LAUNCH_BOUND, find_launch_bound},
	{FINDING_TINY_KERNELS, find_tiny},
	{FINDING_HIDDEN_LAUNCHES, find_hidden},
	{FINDING_COPY_BOUND, find_copy_bound},
	{FINDING_PROFILER_OVERHEAD, find_profiler},
};

static int find_of_devices(const struct analysis *analysis, struct findings *findings)
{
	for (size_t rule = 0; rule < ARRAY_COUNT(device_rules); rule++) {
		for (size_t i = 0; i <= analysis->devices_count; i++) {
			struct finding found = {.kind = device_rules[rule].kind, .device = i};

			if (device_rules[rule].find(analysis, i, &found) &&
			    findings_append(findings, &found))
				return -ENOMEM;
		}
	}
	return 0;
}

/* ---- rules for kernels, queues and processes ------------------------------------------------- */

/* The device time that the kernel's executions leave idle, for the largest single reason. */
static uint64_t lost_ns(const struct analysis_fill *fill)
{
	uint64_t lost_ns = fill->few_lost_ns + fill->tail_lost_ns;

	return lost_ns > fill->odd_lost_ns ? lost_ns : fill->odd_lost_ns;
}

/* Whether the part is at least half of the kernel's time. */
static bool is_mostly(const struct analysis_part *part, const struct analysis_fill *fill)
{
	return part->count && is_share(part->total_ns, fill->known.total_ns, 50);
}

/* Whether a unit has room for only one work-group, of at most half the possible size. While its
 * work items wait for memory, nothing else runs on that unit. The cost is not known. */
static bool is_alone(const struct analysis_device *device, const struct analysis_fill *fill)
{
	return is_mostly(&fill->local, fill) && !is_cpu(device) && fill->units &&
	       fill->groups >= 2 * fill->units && fill->items <= fill->group_most / 2;
}

static void note_fill(struct finding *finding, const char *name, const char *lost_name,
		      const struct analysis_part *part, uint64_t lost_ns)
{
	if (!part->count)
		return;
	finding_add_number(finding, name, part->count);
	finding_add_number(finding, lost_name, lost_ns);
}

/* Kernels of NCCL and RCCL use few work-groups on purpose, and wait for other ranks. */
static bool is_collective(const struct analysis_kernel *kernel)
{
	return strncmp(kernel->name, "nccl", 4) == 0 || strncmp(kernel->name, "rccl", 4) == 0;
}

static bool find_fill(const struct analysis *analysis, const struct analysis_kernel *kernel,
		      struct finding *finding)
{
	const struct analysis_fill *fill = &kernel->fill;
	bool is_few = is_mostly(&fill->few, fill), is_odd = is_mostly(&fill->odd, fill);
	bool is_tail = is_mostly(&fill->tail, fill);
	bool is_lone = is_alone(&analysis->devices[kernel->device], fill);

	if (is_collective(kernel))
		return false;
	finding->kernel = kernel;
	if (is_few || is_odd || is_tail)
		finding->cost_ns = lost_ns(fill);
	if (!(finding->cost_ns && is_share(finding->cost_ns, wall_of(analysis), 5)) && !is_lone)
		return false;
	if (!is_share(kernel->share_ns, wall_of(analysis), 10))
		return false;
	finding_add_number(finding, "executions", fill->known.count);
	finding_add_number(finding, "total_ns", fill->known.total_ns);
	finding_add_number(finding, "groups", fill->groups);
	finding_add_number(finding, "items", fill->items);
	finding_add_number(finding, "units", fill->units);
	if (fill->group_multiple)
		finding_add_number(finding, "group_multiple", fill->group_multiple);
	if (fill->group_most)
		finding_add_number(finding, "group_most", fill->group_most);
	if (is_lone) {
		finding_add_number(finding, "local_bytes", fill->local_bytes);
		finding_add_number(finding, "unit_local_bytes", fill->unit_local_bytes);
	}
	note_fill(finding, "few_groups", "few_groups_lost_ns", &fill->few, fill->few_lost_ns);
	note_fill(finding, "tail", "tail_lost_ns", &fill->tail, fill->tail_lost_ns);
	note_fill(finding, "odd_size", "odd_size_lost_ns", &fill->odd, fill->odd_lost_ns);
	return true;
}

/* Whether work-groups fill lanes of the device. On a CPU the preferred multiple is a vector width,
 * and kernels that use vectors themselves do not need it. */
static bool has_lanes(const struct analysis_device *device)
{
	return device->device && device->device->type == DEVICE_GPU;
}

static int find_of_kernels(const struct analysis *analysis, struct findings *findings)
{
	for (size_t i = 0; i < analysis->kernels_count; i++) {
		struct finding found = {.kind = FINDING_LOW_OCCUPANCY,
					.device = analysis->kernels[i].device};

		if (has_lanes(&analysis->devices[found.device]) &&
		    find_fill(analysis, &analysis->kernels[i], &found) &&
		    findings_append(findings, &found))
			return -ENOMEM;
	}
	return 0;
}

/* quantile_get sorts the values, which does not change the result of later calls. So the cast is
 * safe. */
static uint64_t quantile_of(const struct quantile *quantile, unsigned int percent)
{
	return quantile_get((struct quantile *)quantile, percent, 100);
}

static bool find_latency(const struct analysis *analysis, const struct analysis_queue *queue,
			 struct finding *finding)
{
	const struct quantile *prompt = &queue->prompt;
	uint64_t middle, slow, usual_ns;

	if (prompt->count < MIN_PROMPT || is_cpu(&analysis->devices[queue->device]))
		return false;
	middle = quantile_of(prompt, 50);
	slow = quantile_of(prompt, 99);
	usual_ns = prompt->count * middle;
	finding->cost_ns = prompt->sum > usual_ns ? prompt->sum - usual_ns : 0;
	finding->queue = queue;
	if (slow < 10 * middle || slow <= analysis->clock_error_ns || !finding->cost_ns ||
	    !is_share(finding->cost_ns, wall_of(analysis), 2))
		return false;
	if (queue->queue)
		finding_add_number(finding, "queue", queue->queue->id);
	finding_add_number(finding, "launches", prompt->count);
	finding_add_number(finding, "p50_ns", middle);
	finding_add_number(finding, "p99_ns", slow);
	finding_add_number(finding, "max_ns", prompt->max);
	finding_add_number(finding, "above_p50_ns", finding->cost_ns);
	return true;
}

static int find_of_queues(const struct analysis *analysis, struct findings *findings)
{
	for (size_t i = 0; i <= analysis->queues_count; i++) {
		struct finding found = {.kind = FINDING_LAUNCH_LATENCY,
					.device = analysis->queues[i].device};

		if (find_latency(analysis, &analysis->queues[i], &found) &&
		    findings_append(findings, &found))
			return -ENOMEM;
	}
	return 0;
}

static int find_gil(const struct analysis *analysis, struct findings *findings)
{
	struct finding found = {.kind = FINDING_WAIT_UNDER_GIL, .device = FINDING_NO_DEVICE};
	uint64_t count = 0;

	for (size_t i = 0; i < analysis->cpu.gils_count; i++) {
		const struct analysis_gil *gil = &analysis->cpu.gils[i];

		if (!found.gil || gil->blocked_ns > found.gil->blocked_ns)
			found.gil = gil;
		count += gil->count;
		found.cost_ns += gil->blocked_ns;
	}
	if (!found.gil || !is_share(found.cost_ns, wall_of(analysis), 1))
		return 0;
	finding_add_number(&found, "count", count);
	finding_add_number(&found, "blocked_ns", found.cost_ns);
	finding_add_number(&found, "wall_ns", wall_of(analysis));
	return findings_append(findings, &found);
}

/* A query of the binary, for which a runtime may compile. Fast ones do not matter. */
static bool is_slow_query(const struct analysis *analysis, const struct analysis_call *call)
{
	return strcmp(call->name, "clGetProgramInfo") == 0 &&
	       is_share(call->total_ns, wall_of(analysis), 1);
}

static int find_compile_time(const struct analysis *analysis, struct findings *findings)
{
	struct finding found = {.kind = FINDING_COMPILE_TIME, .device = FINDING_NO_DEVICE};
	uint64_t count = 0, queries = 0, queries_ns = 0;

	for (size_t i = 0; i < analysis->program.calls_count; i++) {
		const struct analysis_call *call = &analysis->program.calls[i];

		if (verdict_is_build(call->name)) {
			found.call = found.call ? found.call : call; /* the largest comes first */
			count += call->count;
		} else if (is_slow_query(analysis, call)) {
			queries += call->count;
			queries_ns += call->total_ns;
		} else {
			continue;
		}
		found.cost_ns += call->total_ns;
	}
	if (!found.call || !is_share(found.cost_ns, wall_of(analysis), 10) ||
	    (count < MIN_BUILDS && found.cost_ns < MIN_BUILDS_NS))
		return 0;
	finding_add_number(&found, "count", count);
	finding_add_number(&found, "total_ns", found.cost_ns);
	finding_add_number(&found, "wall_ns", wall_of(analysis));
	if (queries) {
		finding_add_number(&found, "queries", queries);
		finding_add_number(&found, "queries_ns", queries_ns);
	}
	return findings_append(findings, &found);
}

/* Idle time of a device while a launch waited because a command buffer was full: another device's,
 * or its own while the commands in it wait for something. */
static uint64_t idle_for_full_buffers(const struct analysis *analysis, size_t device)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < analysis->cpu.states_count; i++) {
		const struct analysis_state *state = &analysis->cpu.states[i];

		ns += state->is_full && state->device == device ? state->idle_ns : 0;
	}
	for (size_t i = 0; i < analysis->paths_count; i++)
		ns += analysis->paths[i].device == device ? analysis->paths[i].full.ns : 0;
	return ns;
}

/* Estimated waits do not count: a long launch may have been preempted. */
static int find_full_buffers(const struct analysis *analysis, struct findings *findings)
{
	const struct analysis_full *full = &analysis->program.full;
	struct finding found = {.kind = FINDING_COMMAND_BUFFER_FULL, .device = FINDING_NO_DEVICE};

	if (!full->is_reported || !is_share(full->thread_ns, wall_of(analysis), 10))
		return 0;
	for (size_t i = 0; i <= analysis->devices_count; i++)
		found.cost_ns = larger(found.cost_ns, idle_for_full_buffers(analysis, i));
	finding_add_number(&found, "launches", full->launches);
	finding_add_number(&found, "waited_ns", full->ns);
	finding_add_number(&found, "longest_ns", full->longest_ns);
	finding_add_number(&found, "idle_ns", found.cost_ns);
	finding_add_number(&found, "wall_ns", wall_of(analysis));
	return findings_append(findings, &found);
}

/* A stable sort: findings of the same cost stay in the order of the rules. */
static void sort_by_cost(struct finding *list, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct finding moved = list[i];
		size_t at = i;

		for (; at && list[at - 1].cost_ns < moved.cost_ns; at--)
			list[at] = list[at - 1];
		list[at] = moved;
	}
}

/* The rank that arrived last most often, except `other`. */
static const struct collectives_rank *find_last(const struct collectives *collectives,
						const struct collectives_rank *other)
{
	const struct collectives_rank *found = NULL;

	for (size_t i = 0; i < collectives->ranks_count; i++) {
		const struct collectives_rank *rank = &collectives->ranks[i];

		if (rank != other && (!found || rank->last_count > found->last_count))
			found = rank;
	}
	return found;
}

/* A second rank is named if it is last half as often as the first. */
static int find_late_ranks(const struct analysis *analysis, struct findings *findings)
{
	const struct collectives *collectives = &analysis->program.collectives;
	const struct collectives_rank *first = find_last(collectives, NULL);
	const struct collectives_rank *second = find_last(collectives, first);
	struct finding found = {.kind = FINDING_LATE_RANKS, .device = FINDING_NO_DEVICE};

	if (collectives->operations < MIN_COLLECTIVES || !second ||
	    !collectives_is_aligned(collectives) ||
	    !is_share(collectives->starts_apart_ns, wall_of(analysis), 1))
		return 0;
	found.cost_ns = collectives->starts_apart_ns;
	found.rank = first;
	found.other_rank = second->last_count * 2 >= first->last_count ? second : NULL;
	finding_add_number(&found, "operations", collectives->operations);
	finding_add_number(&found, "ranks", collectives->ranks_count);
	finding_add_number(&found, "starts_apart_ns", collectives->starts_apart_ns);
	finding_add_number(&found, "max_waited_ns", collectives->max_waited_ns);
	finding_add_number(&found, "wall_ns", wall_of(analysis));
	return findings_append(findings, &found);
}

int findings_find(const struct analysis *analysis, struct findings *ret_findings)
{
	struct findings findings = {0};
	size_t failures;
	int error = findings_add_failures(analysis, &findings);

	failures = findings.count;
	if (!error)
		error = find_of_devices(analysis, &findings);
	if (!error)
		error = find_of_kernels(analysis, &findings);
	if (!error)
		error = find_of_queues(analysis, &findings);
	if (!error)
		error = find_gil(analysis, &findings);
	if (!error)
		error = find_compile_time(analysis, &findings);
	if (!error)
		error = find_late_ranks(analysis, &findings);
	if (!error)
		error = find_full_buffers(analysis, &findings);
	if (error) {
		findings_fini(&findings);
		return error;
	}
	if (findings.count > failures)
		sort_by_cost(findings.list + failures, findings.count - failures);
	*ret_findings = findings;
	return 0;
}

void findings_fini(struct findings *findings)
{
	if (!findings)
		return;
	free(findings->list);
	*findings = (struct findings){0};
}
