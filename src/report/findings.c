/* SPDX-License-Identifier: MIT
 *
 * report/findings.c - the findings as sentences, for text and JSON
 *
 * Runs in:  our own process
 * Gets:     findings
 * Gives:    a sentence for each, or the JSON list "findings"
 * Owns:     nothing
 * Fails:    -ENOMEM
 * Why one sentence for both outputs: it ends with the remedy, which must be the same in text and
 *           JSON. Programs read the numbers from "evidence" and need not parse the sentence.
 */
#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/text/findings.h"
#include "base/json.h"
#include "base/string.h"
#include "report/verdict/cause.h"
#include "report/verdict/sentence.h"
#include "report/table.h"
#include "trace/reader.h"

enum { NAME_LENGTH = SENTENCE_NAME, USERS_SHOWN = 3 };

static struct number time_of(const struct finding *finding, const char *name)
{
	return format_duration(finding_value(finding, name));
}

/* ---- one function per kind ---------------------------------------------------------------------
 * */

static void say_transfers(const struct report *report, const struct finding *finding,
			  struct sentence *sentence)
{
	say(sentence,
	    "%" PRIu64 " transfers up to %s: %s of %s copy time, %s in their calls; batch them",
	    finding_value(finding, "count"), format_size(ANALYSIS_SMALL_BYTES).text,
	    time_of(finding, "total_ns").text, time_of(finding, "copies_ns").text,
	    time_of(finding, "calls_ns").text);
}

static void say_idle(const struct finding *finding, struct sentence *sentence, const char *what)
{
	say(sentence, "the device idled %s (%s of the steady part) while its launching thread %s",
	    format_duration(finding->cost_ns).text,
	    format_percent(finding->cost_ns, finding_value(finding, "wall_ns")).text, what);
}

/* The time in the function that has most of a cause; 0: no function is known. */
static uint64_t say_culprit(const struct report *report, const struct finding *finding,
			    enum account_cause cause, struct sentence *sentence,
			    struct verdict_place *ret_place)
{
	uint64_t ns = 0;

	if (!report_find_culprit(report, finding->device, cause, ret_place, &ns))
		return 0;
	say(sentence, ", %s of it", format_duration(ns).text);
	say_in(sentence, "in", ret_place);
	return ns;
}

static void say_preemption(const struct report *report, const struct finding *finding,
			   struct sentence *sentence)
{
	struct verdict_place place;
	const char *by;
	uint64_t by_ns;

	say_idle(finding, sentence, "was preempted");
	if (report_find_preemptor(report, finding->device, &by, &by_ns))
		say(sentence, ", %s of it by %.*s", format_duration(by_ns).text, NAME_LENGTH, by);
	say_culprit(report, finding, CAUSE_PREEMPTED, sentence, &place);
	say(sentence, "; give the thread its own processor, or move the threads that preempt it");
}

/* Names the wait of the culprit, or of all waiting threads, if one wait took at least half of the
 * time. */
static void say_wait(const struct report *report, const struct report_wait *wait, uint64_t whole_ns,
		     struct sentence *sentence)
{
	if (wait->wait_ns < whole_ns / 2)
		return;
	say(sentence, ", ");
	if (wait->wait_ns < whole_ns - whole_ns / 100)
		say(sentence, "%s of that ", format_duration(wait->wait_ns).text);
	if (analysis_is_gil(wait->wait))
		say(sentence, "waiting for the Python GIL");
	else
		say(sentence, "waiting %s %.*s", wait->holder ? "for a" : "in", NAME_LENGTH,
		    wait->wait);
	if (wait->holder)
		say(sentence, ", which thread %" PRIu32 " (%.*s) held%s", wait->holder->tid,
		    NAME_LENGTH, model_text(report->model, wait->holder->name_string, "thread"),
		    wait->holder_ns < wait->wait_ns ? " most of the time" : "");
}

static void say_starved(const struct report *report, const struct finding *finding,
			struct sentence *sentence)
{
	struct verdict_place place;

	say_idle(finding, sentence, "computed");
	say_culprit(report, finding, CAUSE_ON_CPU, sentence, &place);
	say(sentence, "; launch the next commands before that work, or do it in another thread");
}

static void say_blocked(const struct report *report, const struct finding *finding,
			struct sentence *sentence)
{
	struct verdict_place place;
	struct report_wait wait;
	uint64_t ns;

	say_idle(finding, sentence, "was blocked");
	ns = say_culprit(report, finding, CAUSE_BLOCKED, sentence, &place);
	if (report_find_wait(report, finding->device, ns ? place.function : NULL, &wait))
		say_wait(report, &wait, ns ? ns : finding->cost_ns, sentence);
	say(sentence, "; launch the next commands before it waits, or wait in another thread");
}

/* The processes with the largest shares of the device, the largest first. */
static size_t list_users(const struct overlap *overlap,
			 const struct overlap_user *ret_users[USERS_SHOWN])
{
	size_t count = 0;

	for (size_t i = 0; i < overlap->users_count; i++) {
		const struct overlap_user *user = &overlap->users[i];
		size_t at = count < USERS_SHOWN ? count++ : USERS_SHOWN;

		for (; at && ret_users[at - 1]->share_ns < user->share_ns; at--)
			if (at < USERS_SHOWN)
				ret_users[at] = ret_users[at - 1];
		if (at < USERS_SHOWN)
			ret_users[at] = user;
	}
	return count;
}

static void say_shared(const struct report *report, const struct finding *finding,
		       struct sentence *sentence)
{
	const struct analysis *analysis = report->analysis;
	const struct overlap *overlap = &analysis->devices[finding->device].overlap;
	const struct overlap_user *users[USERS_SHOWN];
	size_t count = list_users(overlap, users);

	say(sentence,
	    "%zu processes used the device, two or more at the same time for %s (%s of its busy "
	    "time)",
	    overlap->users_count, time_of(finding, "overlap_ns").text,
	    format_percent(finding_value(finding, "overlap_ns"), finding_value(finding, "busy_ns"))
		    .text);
	if (overlap->waited_ns)
		say(sentence, ", and processes waited %s for another one",
		    time_of(finding, "waited_ns").text);
	say(sentence, ":");
	for (size_t i = 0; i < count; i++) {
		const struct analysis_process *process = &analysis->processes[users[i]->process];

		say(sentence, "%s %.40s", i ? "," : "", process->name);
		if (process->process)
			say(sentence, " (pid %" PRIu32 ")", process->process->pid);
		say(sentence, " has %s",
		    format_percent(users[i]->share_ns, finding_value(finding, "busy_ns")).text);
		if (users[i]->waited_ns)
			say(sentence, " and waited %s", format_duration(users[i]->waited_ns).text);
	}
	say(sentence, "; run them one after another, or give each its own device");
}

static void say_turns(const struct finding *finding, struct sentence *sentence)
{
	say(sentence, "; this saves at most %s", time_of(finding, "saved_at_most_ns").text);
}

static void say_no_overlap(const struct report *report, const struct finding *finding,
			   struct sentence *sentence)
{
	uint64_t queues = finding_value(finding, "queues");

	say(sentence,
	    "copies (%s) and kernels (%s) %snever ran at the same time, all in %" PRIu64
	    " %s%s; copy the data of the next step in a separate queue while this step computes",
	    time_of(finding, "copies_ns").text, time_of(finding, "kernels_ns").text,
	    finding_value(finding, "both_ns") ? "almost " : "", queues,
	    queues == 1 && !finding_value(finding, "out_of_order_queues") ? "in-order " : "",
	    table_noun(queues, "queue", "queues"));
	say_turns(finding, sentence);
}

static void say_sync_copies(const struct report *report, const struct finding *finding,
			    struct sentence *sentence)
{
	say(sentence,
	    "%" PRIu64
	    " blocking copies of %s in total took the program %s, and no kernel ran at the "
	    "same time; copy without blocking in a separate queue, and wait where the data is "
	    "needed",
	    finding_value(finding, "count"),
	    format_size((double)finding_value(finding, "bytes")).text,
	    time_of(finding, "waited_ns").text);
	say_turns(finding, sentence);
}

static const char *direction_of(uint32_t command)
{
	return command == COMMAND_READ    ? "device to host"
	       : command == COMMAND_WRITE ? "host to device"
	       : command == COMMAND_COPY  ? "device to device"
					  : analysis_command_name(command);
}

static bool is_within_device(const struct analysis_copy *copy)
{
	return copy && (copy->command == COMMAND_COPY || copy->command == COMMAND_FILL);
}

static void say_copy_bound(const struct report *report, const struct finding *finding,
			   struct sentence *sentence)
{
	const uint64_t copies_ns = finding_value(finding, "copies_ns");
	const uint64_t busy_ns = finding_value(finding, "busy_ns");
	const struct analysis_copy *copy = finding->copy;
	const double rate = copy ? report_copy_rate(report, copy) : 0;

	say(sentence,
	    "copies took %s of the %s in which the device was busy (%s), and no kernel ran "
	    "meanwhile",
	    format_duration(copies_ns).text, format_duration(busy_ns).text,
	    format_percent(copies_ns, busy_ns).text);
	if (copy)
		say(sentence, "; most of that time was %s", direction_of(copy->command));
	if (rate > 0)
		say(sentence, ": %s at %s/s", format_size((double)copy->moved_bytes).text,
		    format_size(rate).text);
	say(sentence, is_within_device(copy)
			      ? "; work in place, or copy while kernels run"
			      : "; keep data on the device, or copy it while kernels run");
}

static void say_serial(const struct report *report, const struct finding *finding,
		       struct sentence *sentence)
{
	say(sentence,
	    "%" PRIu64 " queues, but their commands ran one after another: %" PRIu64 " of %" PRIu64
	    " that followed one of another queue were ready before that one ended; this device or "
	    "its driver runs one command at a time, so more than one queue gains nothing here",
	    finding_value(finding, "queues"), finding_value(finding, "waited"),
	    finding_value(finding, "switches"));
}

/* The place of the wait before most of the launches. */
static bool find_wait_place(const struct report *report, const struct analysis_waited *row,
			    struct verdict_place *ret_place)
{
	const uint32_t stack = row->stack ? row->stack : report->analysis->paths[row->path].stack;

	return report_place_of(report, stack, ret_place);
}

static void say_launch_bound(const struct report *report, const struct finding *finding,
			     struct sentence *sentence)
{
	const struct analysis_path *path = &report->analysis->paths[finding->waited->path];
	struct verdict_place place;

	say(sentence,
	    "launch-bound: %" PRIu64 " launches were each followed by a wait, the longest in %.*s",
	    finding_value(finding, "launches"), NAME_LENGTH,
	    model_text(report->model, finding->waited->function_string, "a call"));
	if (find_wait_place(report, finding->waited, &place))
		say_in(sentence, "called from", &place);
	say(sentence, "; the device idled %s (%s of the steady part) until the next ",
	    format_duration(finding->cost_ns).text,
	    format_percent(finding->cost_ns, finding_value(finding, "wall_ns")).text);
	say(sentence, *path->function ? "%.*s had started its command" : "command started",
	    NAME_LENGTH, path->function);
	say(sentence,
	    ", %s each time; launch the next commands before waiting, and wait only where a result "
	    "is needed",
	    time_of(finding, "mean_ns").text);
}

static void say_tiny(const struct report *report, const struct finding *finding,
		     struct sentence *sentence)
{
	say(sentence,
	    "%" PRIu64 " of %" PRIu64
	    " kernels took less time (%s on average) than their launching call "
	    "(%s), most often %.*s: %s of calls for %s of work; give each launch more work, or "
	    "merge the kernels",
	    finding_value(finding, "count"), finding_value(finding, "kernels"),
	    time_of(finding, "mean_ns").text, time_of(finding, "mean_call_ns").text, NAME_LENGTH,
	    report_kernel_name(report, finding->kernel->name), time_of(finding, "calls_ns").text,
	    time_of(finding, "total_ns").text);
}

static void say_occupancy(const struct report *report, const struct finding *finding,
			  struct sentence *sentence)
{
	uint64_t groups = finding_value(finding, "groups"), items = finding_value(finding, "items");
	uint64_t units = finding_value(finding, "units");
	const char *comma = ":";

	say(sentence, "%.*s does not fill the device", NAME_LENGTH,
	    report_kernel_name(report, finding->kernel->name));
	if (finding_value(finding, "few_groups")) {
		say(sentence, "%s %" PRIu64 " %s for %" PRIu64 " compute units", comma, groups,
		    table_noun(groups, "work-group", "work-groups"), units);
		comma = ",";
	}
	if (finding_value(finding, "tail")) {
		say(sentence,
		    "%s %" PRIu64 " work-groups for %" PRIu64
		    " compute units do not divide evenly, so units are idle at the end",
		    comma, groups, units);
		comma = ",";
	}
	if (finding_value(finding, "odd_size")) {
		say(sentence, "%s work-groups of %" PRIu64 " items, not a multiple of %" PRIu64,
		    comma, items, finding_value(finding, "group_multiple"));
		comma = ",";
	}
	if (finding_value(finding, "local_bytes"))
		say(sentence,
		    "%s a work-group of %" PRIu64
		    " items takes %s of a unit's %s local memory, so only one runs at a time",
		    comma, items, format_size((double)finding_value(finding, "local_bytes")).text,
		    format_size((double)finding_value(finding, "unit_local_bytes")).text);
	if (finding->cost_ns)
		say(sentence, "; about %s of %s are lost", format_duration(finding->cost_ns).text,
		    time_of(finding, "total_ns").text);
	say(sentence, "; change the work-group size or the work of a work item");
}

static void say_latency(const struct report *report, const struct finding *finding,
			struct sentence *sentence)
{
	char name[96];

	report_name_queue(report, finding->queue, name, sizeof(name));
	say(sentence,
	    "%s: commands launched to an idle device start after %s (median), but 1 %% of them "
	    "after "
	    "%s or more (at most %s), %s above the median in total; flush after launching, and "
	    "check what else ran at that time",
	    name, time_of(finding, "p50_ns").text, time_of(finding, "p99_ns").text,
	    time_of(finding, "max_ns").text, time_of(finding, "above_p50_ns").text);
}

static void say_gil(const struct report *report, const struct finding *finding,
		    struct sentence *sentence)
{
	struct verdict_place place;

	say(sentence, "%.*s", NAME_LENGTH, finding->gil->name);
	if (report_place_of(report, finding->gil->stack, &place))
		say_in(sentence, "from", &place);
	say(sentence,
	    " waited for the device while it held the Python GIL: other threads waited at least %s "
	    "for the GIL; release it around the call (ctypes: CDLL, not PyDLL)",
	    time_of(finding, "blocked_ns").text);
}

/* "44.0 % of the wall"; more than the wall: several threads built at the same time. */
static void say_share_of_wall(const struct finding *finding, struct sentence *sentence)
{
	const uint64_t wall_ns = finding_value(finding, "wall_ns");

	if (finding->cost_ns <= wall_ns)
		say(sentence, "%s of the wall", format_percent(finding->cost_ns, wall_ns).text);
	else
		say(sentence, "%.1f times the wall, on several threads",
		    (double)finding->cost_ns / (double)wall_ns);
}

static void say_compile(const struct report *report, const struct finding *finding,
			struct sentence *sentence)
{
	struct verdict_place place;
	const uint64_t count = finding_value(finding, "count");
	const uint64_t queries = finding_value(finding, "queries");

	say(sentence, "building programs took %s (", time_of(finding, "total_ns").text);
	say_share_of_wall(finding, sentence);
	say(sentence, ") in %" PRIu64 " %s, most in %.*s", count,
	    table_noun(count, "call", "calls"), NAME_LENGTH, finding->call->name);
	if (report_find_call_place(report, finding->call->name, finding->call->longest_stack,
				   &place))
		say_in(sentence, "from", &place);
	if (queries)
		say(sentence,
		    ", and %" PRIu64 " of clGetProgramInfo (%s), in which the runtime compiles",
		    queries, time_of(finding, "queries_ns").text);
	say(sentence, "; build each program once, and keep its binary for the next run");
}

static void say_late_ranks(const struct report *report, const struct finding *finding,
			   struct sentence *sentence)
{
	char first[48], second[48];

	report_rank_label(finding->rank, first, sizeof(first));
	say(sentence, "%s arrived last in %" PRIu64 " of %" PRIu64 " collective operations", first,
	    finding->rank->last_count, finding_value(finding, "operations"));
	if (finding->other_rank)
		say(sentence, " and %s in %" PRIu64,
		    report_rank_label(finding->other_rank, second, sizeof(second)),
		    finding->other_rank->last_count);
	say(sentence,
	    "; the first rank to arrive waited for the last %s in all and at most %s; compare the "
	    "work of these ranks before the operations (--by rank, --rank N)",
	    time_of(finding, "starts_apart_ns").text, time_of(finding, "max_waited_ns").text);
}

/* A device whose queue is full has work, so the wait costs no device time unless another one needed
 * the thread. */
static void say_full_buffers(const struct report *report, const struct finding *finding,
			     struct sentence *sentence)
{
	report_say_full(report, sentence);
	if (finding->cost_ns >= finding_value(finding, "wall_ns") / 100)
		say(sentence, ", and a device idled %s of that; launch its work in another thread",
		    format_duration(finding->cost_ns).text);
	else
		say(sentence,
		    ", so the device had work meanwhile and is slower than the launching thread; "
		    "launching faster gains nothing: shorten the device's work");
}

static void say_hidden(const struct report *report, const struct finding *finding,
		       struct sentence *sentence)
{
	const uint64_t kernels = finding_value(finding, "kernels");
	const double share = 100.0 * (double)finding_value(finding, "hidden") /
			     (double)finding_value(finding, "samples");

	if (report->analysis->devices[finding->device].hidden.is_by_name) {
		say(sentence,
		    "%.1f %% of the samples with known code belong to %" PRIu64
		    " %s without a recorded launch: other kernels launched them, or a graph whose "
		    "kernels have no records, so the device was busy for longer than shown here; "
		    "launch them from the program to record their times",
		    share, kernels, table_noun(kernels, "kernel", "kernels"));
		return;
	}
	say(sentence,
	    "%.1f %% of the samples with known code belong to %" PRIu64
	    " %s without a recorded launch in the second before: the driver gives work to the GPU "
	    "without a system call (direct submission), or they run for longer than a second; "
	    "record with --collect level_zero, which records each launch, or run the program with "
	    "NEOReadDebugKeys=1 EnableDirectSubmission=0",
	    share, kernels, table_noun(kernels, "kernel", "kernels"));
}

static void say_profiler(const struct report *report, const struct finding *finding,
			 struct sentence *sentence)
{
	const uint64_t ns = finding_value(finding, "overhead_ns");

	(void)report;
	say(sentence,
	    "the recording tool itself held launching threads for %s of the idle time (%.1f %% of "
	    "the wall): the program without it has fewer and shorter gaps, so do not compare these "
	    "times with those of other runs; record fewer kinds of events, or start after its "
	    "initialization",
	    format_duration(ns).text,
	    100.0 * (double)ns / (double)finding_value(finding, "wall_ns"));
}

static const struct {
	void (*say)(const struct report *report, const struct finding *finding,
		    struct sentence *sentence);
} sentences[FINDING_COUNT] = {
	[FINDING_FAILED_LAUNCHES] = {report_say_failure},
	[FINDING_FAILED_BUILDS] = {report_say_failure},
	[FINDING_FAILED_ALLOCATIONS] = {report_say_failure},
	[FINDING_FAILED_COMMANDS] = {report_say_failure},
	[FINDING_SMALL_TRANSFERS] = {say_transfers},
	[FINDING_CPU_PREEMPTION] = {say_preemption},
	[FINDING_STARVED_QUEUE] = {say_starved},
	[FINDING_BLOCKED_HOST] = {say_blocked},
	[FINDING_DEVICE_SHARED] = {say_shared},
	[FINDING_NO_OVERLAP] = {say_no_overlap},
	[FINDING_SYNC_COPIES] = {say_sync_copies},
	[FINDING_SERIAL_QUEUES] = {say_serial},
	[FINDING_TINY_KERNELS] = {say_tiny},
	[FINDING_LOW_OCCUPANCY] = {say_occupancy},
	[FINDING_LAUNCH_LATENCY] = {say_latency},
	[FINDING_WAIT_UNDER_GIL] = {say_gil},
	[FINDING_HIDDEN_LAUNCHES] = {say_hidden},
	[FINDING_COMPILE_TIME] = {say_compile},
	[FINDING_LATE_RANKS] = {say_late_ranks},
	[FINDING_LAUNCH_BOUND] = {say_launch_bound},
	[FINDING_COMMAND_BUFFER_FULL] = {say_full_buffers},
	[FINDING_PROFILER_OVERHEAD] = {say_profiler},
	[FINDING_COPY_BOUND] = {say_copy_bound},
};

static void describe(const struct report *report, const struct finding *finding,
		     struct sentence *ret_sentence)
{
	ret_sentence->text[0] = '\0';
	ret_sentence->length = 0;
	sentences[finding->kind].say(report, finding, ret_sentence);
	if (finding->device != FINDING_NO_DEVICE && analysis_devices_shown(report->analysis) > 1)
		say(ret_sentence, " (device %zu)", finding->device);
}

static bool is_shown(const struct report *report, const struct finding *finding)
{
	return finding->device == FINDING_NO_DEVICE || report_shows_device(report, finding->device);
}

/* ---- text ------------------------------------------------------------------------------------ */

int report_put_findings(const struct report *report)
{
	struct findings findings;
	size_t shown = 0, all = 0;
	int error = findings_find(report->analysis, &findings);

	for (size_t i = 0; !error && i < findings.count; i++) {
		struct sentence sentence;

		if (!is_shown(report, &findings.list[i]) ||
		    (all++, report_is_over_top(report, shown)))
			continue;
		if (!shown++)
			printf("\nFINDINGS\n");
		describe(report, &findings.list[i], &sentence);
		fputs("  ", stdout);
		sentence_put_wrapped(sentence.text, 2, 6, report_columns(report));
		putchar('\n');
	}
	table_put_rest(shown, all, "finding", "findings");
	if (!error)
		findings_fini(&findings);
	return error;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void write_users(const struct report *report, const struct overlap *overlap,
			struct json_writer *json)
{
	json_pair_array(json, "processes");
	for (size_t i = 0; i < overlap->users_count; i++) {
		const struct overlap_user *user = &overlap->users[i];
		const struct analysis_process *process =
			&report->analysis->processes[user->process];

		json_object_begin(json);
		json_pair_u64(json, "pid", process->process ? process->process->pid : 0);
		json_pair_text(json, "name", process->name);
		json_pair_u64(json, "commands", user->commands);
		json_pair_u64(json, "share_ns", user->share_ns);
		json_pair_u64(json, "waited_ns", user->waited_ns);
		json_pair_u64(json, "kept_waiting_ns", user->kept_ns);
		json_object_end(json);
	}
	json_array_end(json);
}

/* The longest wait in the function, and its holder. */
static void write_wait(const struct report *report, size_t device, const char *function,
		       struct json_writer *json)
{
	struct report_wait wait;

	if (!report_find_wait(report, device, function, &wait))
		return;
	json_pair_text(json, "wait", wait.wait);
	json_pair_u64(json, "wait_ns", wait.wait_ns);
	if (!wait.holder)
		return;
	json_pair_object(json, "holder");
	report_write_thread(report, wait.holder, json);
	json_pair_u64(json, "holder_ns", wait.holder_ns);
	json_object_end(json);
}

/* The launches that preemption delayed, in the order of their device's busy time; at most 10. */
static void write_delayed(const struct report *report, size_t device, struct json_writer *json)
{
	size_t shown = 0;

	json_pair_array(json, "launches");
	for (size_t i = 0; i < report->paths.count && shown < 10; i++) {
		const struct analysis_path *path = report->paths.by_share[i];

		if (path->device != device || !path->name || !path->causes[CAUSE_PREEMPTED])
			continue;
		shown++;
		json_object_begin(json);
		json_pair_text(json, "name", path->name);
		json_pair_u64(json, "preempted_ns", path->causes[CAUSE_PREEMPTED]);
		report_write_frames(report, path->stack, json);
		json_object_end(json);
	}
	json_array_end(json);
}

static void write_more(const struct report *report, const struct finding *finding,
		       struct json_writer *json)
{
	enum account_cause cause =
		finding->kind == FINDING_STARVED_QUEUE ? CAUSE_ON_CPU : CAUSE_BLOCKED;
	struct verdict_place place;
	uint64_t ns;

	switch (finding->kind) {
	case FINDING_DEVICE_SHARED:
		return write_users(report, &report->analysis->devices[finding->device].overlap,
				   json);
	case FINDING_CPU_PREEMPTION:
		return write_delayed(report, finding->device, json);
	case FINDING_STARVED_QUEUE:
	case FINDING_BLOCKED_HOST:
		place.function = NULL;
		if (report_find_culprit(report, finding->device, cause, &place, &ns))
			report_write_culprit(report, &place, ns, json);
		if (finding->kind == FINDING_BLOCKED_HOST)
			write_wait(report, finding->device, place.function, json);
		return;
	case FINDING_WAIT_UNDER_GIL:
		json_pair_text(json, "call", finding->gil->name);
		if (report_place_of(report, finding->gil->stack, &place))
			report_write_culprit(report, &place, 0, json);
		return;
	case FINDING_LAUNCH_BOUND:
		json_pair_text(json, "call",
			       model_text(report->model, finding->waited->function_string, ""));
		json_pair_text(json, "launch",
			       report->analysis->paths[finding->waited->path].function);
		if (find_wait_place(report, finding->waited, &place))
			report_write_culprit(report, &place, 0, json);
		return;
	case FINDING_COMMAND_BUFFER_FULL:
		if (report_place_of(report, report->analysis->program.full.stack, &place))
			report_write_culprit(report, &place, 0, json);
		return;
	case FINDING_COPY_BOUND:
		if (finding->copy)
			json_pair_text(json, "direction",
				       analysis_command_name(finding->copy->command));
		return;
	case FINDING_LATE_RANKS:
		report_write_late_rank("rank", finding->rank, json);
		if (finding->other_rank)
			report_write_late_rank("other_rank", finding->other_rank, json);
		return;
	case FINDING_COMPILE_TIME:
		json_pair_text(json, "call", finding->call->name);
		if (report_find_call_place(report, finding->call->name,
					   finding->call->longest_stack, &place))
			report_write_culprit(report, &place, 0, json);
		return;
	default:
		return;
	}
}

static void write_evidence(const struct report *report, const struct finding *finding,
			   struct json_writer *json)
{
	json_pair_object(json, "evidence");
	if (finding->failure) {
		report_write_failure(report, finding, json);
		json_object_end(json);
		return;
	}
	if (finding->device != FINDING_NO_DEVICE)
		json_pair_text(json, "device",
			       report_device_key(&report->analysis->devices[finding->device]));
	if (finding->kernel)
		json_pair_text(json, "kernel", finding->kernel->name);
	for (size_t i = 0; i < finding->numbers_count; i++)
		json_pair_u64(json, finding->numbers[i].name, finding->numbers[i].value);
	write_more(report, finding, json);
	json_object_end(json);
}

int report_write_findings(const struct report *report, struct json_writer *json)
{
	struct findings findings;
	int error = findings_find(report->analysis, &findings);

	json_line_array(json, "findings");
	for (size_t i = 0; !error && i < findings.count; i++) {
		struct sentence sentence;

		if (!is_shown(report, &findings.list[i]))
			continue;
		describe(report, &findings.list[i], &sentence);
		json_line_begin(json);
		json_pair_text(json, "id", finding_id(findings.list[i].kind));
		json_pair_text(json, "severity",
			       finding_severity(report->analysis, &findings.list[i]));
		json_pair_text(json, "text", sentence.text);
		write_evidence(report, &findings.list[i], json);
		json_object_end(json);
	}
	json_array_end(json);
	if (!error)
		findings_fini(&findings);
	return error;
}
