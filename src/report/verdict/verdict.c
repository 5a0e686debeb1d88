/* SPDX-License-Identifier: MIT
 *
 * report/verdict/verdict.c - how busy the device was, and the largest causes of its idle time
 *
 * Runs in:  our own process
 * Gets:     the causes of a device's idle time
 * Gives:    at most three sentences, or the key "verdict"; functions below the account's causes
 * Owns:     the causes while they are printed
 * Fails:    -ENOMEM
 * Why:      three sentences, because a reader who reads only them must know what to change first.
 *           All that follows in the report is evidence.
 */
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/text/findings.h"
#include "analyze/text/incomplete.h"
#include "base/array.h"
#include "base/json.h"
#include "base/number.h"
#include "base/string.h"
#include "report/table.h"
#include "report/verdict/cause.h"
#include "report/verdict/sentence.h"

enum {
	SENTENCES = 3,
	CAUSES_WRITTEN = 10,
	PLACES_SHOWN = 5,
	MAX_PLACES = 12,  /* as many as needed until the others have less than MAX_OTHERS */
	MAX_OTHERS = 20,  /* percent of the cause */
	MIN_OUTSIDE = 20, /* 1 / MIN_OUTSIDE of the steady part's time */
	CAUSES_SHOWN = 6,
	CAUSES_INDENT = 1,
	SLOWEST_INDENT = 6
};

struct sentences {
	struct sentence list[SENTENCES];
	size_t count;
};

static size_t device_of(const struct report *report)
{
	return report->device == ALL_DEVICES ? verdict_device(report->analysis) : report->device;
}

static const char *device_noun(const struct report *report, size_t device)
{
	const struct event_device *row = report->analysis->devices[device].device;

	if (row && row->type == DEVICE_GPU)
		return "GPU";
	return row && row->type == DEVICE_CPU ? "CPU device" : "device";
}

/* Rows of threads are missing, so their states may be wrong. */
static bool has_lost_states(const struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->losses_count; i++) {
		const struct analysis_loss *loss = &analysis->losses[i];

		if (loss->reason == LOSS_LIMIT)
			continue;
		if (loss->kind == EVENT_API || loss->kind == EVENT_LAUNCH ||
		    (loss->kind == EVENT_SWITCH && loss->reason != LOSS_UNSEEN &&
		     loss->is_unbounded))
			return true;
	}
	return false;
}

/* Why the sentences may be wrong; NULL: they are certain. */
static const char *doubt_of(const struct report *report, size_t device)
{
	if (!analysis_is_complete(report->analysis))
		return "The recording is incomplete";
	if (has_lost_states(report->analysis))
		return "Rows of threads were lost";
	return findings_has_hidden(report->analysis, device) ? "Launches were missed" : NULL;
}

/* False: there is no measured device with a command. */
static bool has_verdict(const struct report *report, size_t device)
{
	const struct analysis *analysis = report->analysis;

	return device < analysis_devices_shown(analysis) && analysis->devices[device].is_measured &&
	       analysis->devices[device].account.commands &&
	       analysis->devices[device].account.steady.end >
		       analysis->devices[device].account.steady.begin;
}

/* "the GPU", or of several "GPU 1 (NVIDIA A100)" */
static void say_device_name(const struct report *report, size_t device, bool is_first,
			    struct sentence *sentence)
{
	const char *name = report->analysis->devices[device].name;
	char plain[32];

	if (analysis_devices_shown(report->analysis) < 2) {
		say(sentence, "%s %s", is_first ? "The" : "the", device_noun(report, device));
		return;
	}
	snprintf(plain, sizeof(plain), "%s %zu", device_noun(report, device), device);
	say(sentence, "%s", plain);
	if (name && *name && strcmp(name, plain) != 0)
		say(sentence, " (%.60s)", name);
}

static struct number steady_percent(const struct report *report, size_t device)
{
	const struct account_steady *steady = &report->analysis->devices[device].account.steady;

	return format_percent(steady->busy_ns, steady->end - steady->begin);
}

static bool is_busier(const struct report *report, size_t device, size_t than)
{
	const struct account_steady *a = &report->analysis->devices[device].account.steady;
	const struct account_steady *b = &report->analysis->devices[than].account.steady;

	return (double)a->busy_ns * (double)(b->end - b->begin) >
	       (double)b->busy_ns * (double)(a->end - a->begin);
}

/* ", the other 7 devices 91.0 % to 97.3 %" */
static void say_others(const struct report *report, size_t device, struct sentence *sentence)
{
	size_t count = 0, least = device, most = device;

	for (size_t i = 0; i < analysis_devices_shown(report->analysis); i++) {
		if (i == device || !has_verdict(report, i))
			continue;
		if (!count++)
			least = most = i;
		else if (is_busier(report, i, most))
			most = i;
		else if (is_busier(report, least, i))
			least = i;
	}
	if (!count)
		return;
	if (count == 1)
		say(sentence, ", the other device %s", steady_percent(report, least).text);
	else
		say(sentence, ", the other %zu devices %s", count,
		    steady_percent(report, least).text);
	if (least != most)
		say(sentence, " to %s", steady_percent(report, most).text);
}

static void say_busy(const struct report *report, const struct verdict *verdict,
		     struct sentence *sentence)
{
	const struct account_steady *steady = verdict->steady;
	const uint64_t wall_ns = steady->end - steady->begin;
	const uint64_t busy_ns = report->analysis->devices[verdict->device].account.busy_ns;
	const char *doubt = doubt_of(report, verdict->device);

	if (doubt)
		say(sentence, "%s, so this may be wrong: ", doubt);
	say_device_name(report, verdict->device, !doubt, sentence);
	say(sentence, " was busy %s of the steady part (%s of %s)",
	    format_percent(steady->busy_ns, wall_ns).text, format_duration(steady->busy_ns).text,
	    format_duration(wall_ns).text);
	if (report->device == ALL_DEVICES)
		say_others(report, verdict->device, sentence);
	say(sentence, ".");
	if (steady->busy_ns < busy_ns / 2)
		say(sentence, " Only %s of its work was in that part.",
		    format_percent(steady->busy_ns, busy_ns).text);
}

/* A cause takes the place of the second one if it is twice as long and longer than the first. */
static bool is_worth_more(const struct verdict_cause *cause, const struct verdict *verdict)
{
	const uint64_t first_ns = verdict->count ? verdict->causes[0].ns : 0;
	const uint64_t second_ns = verdict->count > 1 ? verdict->causes[1].ns : 0;

	return cause->kind != VERDICT_UNKNOWN && cause->ns > first_ns && cause->ns / 2 >= second_ns;
}

/* The largest cause outside of the steady part, if it matters more than the causes inside. */
static int say_outside(const struct report *report, const struct verdict *verdict,
		       struct sentences *sentences)
{
	const uint64_t wall_ns = verdict->steady->end - verdict->steady->begin;
	struct verdict outside;
	int error = verdict_make(report->analysis, report->frames, verdict->device, VERDICT_BESIDE,
				 &outside);

	if (!error && outside.count && outside.causes[0].ns >= wall_ns / MIN_OUTSIDE &&
	    is_worth_more(&outside.causes[0], verdict)) {
		struct sentence *sentence;

		sentences->count = smaller(sentences->count, SENTENCES - 1);
		sentence = &sentences->list[sentences->count++];
		*sentence = (struct sentence){0};
		say(sentence, "Outside of the steady part: ");
		say_cause(report, &outside.causes[0], sentence);
		say(sentence, ", %s.", format_duration(outside.causes[0].ns).text);
	}
	verdict_fini(&outside);
	return error;
}

static int make_sentences(const struct report *report, const struct verdict *verdict,
			  struct sentences *ret_sentences)
{
	static const char *const begins[] = {"Largest cause of idle: ", "Next: "};
	const uint64_t wall_ns = verdict->steady->end - verdict->steady->begin;

	*ret_sentences = (struct sentences){.count = 1};
	say_busy(report, verdict, &ret_sentences->list[0]);
	for (size_t i = 0; i < verdict->count && i < ARRAY_COUNT(begins); i++) {
		struct sentence *sentence;

		if (i && verdict->causes[i].ns < wall_ns / 100)
			break;
		sentence = &ret_sentences->list[ret_sentences->count++];
		say(sentence, "%s", begins[i]);
		say_cause(report, &verdict->causes[i], sentence);
		say(sentence, ", %s.", format_percent(verdict->causes[i].ns, wall_ns).text);
	}
	return say_outside(report, verdict, ret_sentences);
}

/* Whether idle time is not known because no collector recorded threads. */
static bool lacks_threads(const struct report *report, const struct verdict *verdict)
{
	return verdict->causes[0].kind == VERDICT_UNKNOWN &&
	       verdict->causes[0].cause == CAUSE_HOST && !model_imported_from(report->model) &&
	       !model_has(report->model, EVENT_SWITCH) &&
	       !model_has(report->model, EVENT_CPU_SAMPLE);
}

void report_put_cause(const struct report *report, const struct verdict_cause *cause,
		      uint64_t wall_ns, size_t indent)
{
	const size_t before = indent + 2 * TABLE_CELL + 2; /* columns before the text */
	struct sentence sentence = {0};

	say_cause(report, cause, &sentence);
	printf("%*s", (int)indent, "");
	table_put_cell(format_duration(cause->ns));
	table_put_cell(format_percent(cause->ns, wall_ns));
	printf("  ");
	sentence_put_wrapped(sentence.text, before, before, report_columns(report));
	printf("\n");
}

/* The causes with at least 1 % of the steady part, with their times. */
static void put_causes(const struct report *report, const struct verdict *verdict)
{
	const uint64_t wall_ns = verdict->steady->end - verdict->steady->begin;
	size_t shown = 0;

	for (size_t i = 0; i < verdict->count && shown < CAUSES_SHOWN; i++) {
		const struct verdict_cause *cause = &verdict->causes[i];

		if (cause->ns < wall_ns / 100)
			break;
		if (!shown++)
			printf("\nCAUSES OF IDLE TIME IN THE STEADY PART\n");
		report_put_cause(report, cause, wall_ns, CAUSES_INDENT);
	}
	if (shown && lacks_threads(report, verdict))
		report_put_hint(report,
				"no threads were recorded, so what they did is not known; duet "
				"record --collect opencl,cpu records them, with -a --collect "
				"opencl,cpu:bpf");
	if (shown)
		report_put_hint(report,
				"duet flame --view idle shows their stacks, duet view their "
				"places in time");
}

/* Without a device of which there is a verdict, steady is NULL. The caller frees the verdict. */
static int make_verdict(const struct report *report, struct verdict *ret_verdict,
			struct sentences *ret_sentences)
{
	const size_t device = device_of(report);
	int error;

	*ret_verdict = (struct verdict){0};
	if (!has_verdict(report, device))
		return 0;
	error = verdict_make(report->analysis, report->frames, device, VERDICT_STEADY, ret_verdict);
	if (!error)
		error = make_sentences(report, ret_verdict, ret_sentences);
	if (error)
		verdict_fini(ret_verdict);
	return error;
}

int report_put_verdict(const struct report *report)
{
	struct sentences sentences;
	struct verdict verdict;
	int error = make_verdict(report, &verdict, &sentences);

	if (error || !verdict.steady)
		return error;
	printf("\n");
	for (size_t i = 0; i < sentences.count; i++) {
		sentence_put_wrapped(sentences.list[i].text, 0, 2, report_columns(report));
		printf("\n");
	}
	put_causes(report, &verdict);
	verdict_fini(&verdict);
	return 0;
}

/* ---- functions below a cause of the account ------------------------------------------------- */

static bool has_other(enum verdict_kind kind)
{
	return kind == VERDICT_PYTHON_GIL || kind == VERDICT_LOCK || kind == VERDICT_THREAD_WAIT;
}

/* The first column of a row: the function, wait or program. */
static void name_cause(const struct verdict_cause *cause, struct sentence *name)
{
	if ((verdict_is_call(cause->kind) || cause->kind == VERDICT_PREEMPTED) && *cause->what) {
		say_what(cause, name);
		if (cause->kind == VERDICT_COMMAND_BUFFER_FULL)
			say(name, " (command buffer full)");
	} else if (has_other(cause->kind)) {
		say(name, "%s",
		    cause->kind == VERDICT_PYTHON_GIL ? "Python GIL"
		    : cause->kind == VERDICT_LOCK     ? "lock"
						      : "another thread");
		say_in(name, "in", &cause->place);
	} else if (cause->cause == CAUSE_BLOCKED && *cause->what) {
		say(name, "%.*s", SENTENCE_NAME, cause->what);
	} else if (cause->place.function && cause->kind == VERDICT_PAGE_FAULT) {
		say(name, "page faults");
		say_in(name, "in", &cause->place);
	} else if (cause->kind == VERDICT_STREAM_CAPTURE) {
		say(name, "%s", *cause->what ? cause->what : "stream capture");
		say_in(name, "in", &cause->place);
	} else if (cause->place.function && cause->kind == VERDICT_GARBAGE_COLLECTION) {
		say(name, "garbage collection");
		say_in(name, "in", &cause->place);
	} else if (cause->place.function) {
		say_place(name, cause->place.function, cause->place.file, cause->place.line);
	} else {
		say(name, "[unknown stack]");
	}
}

/* "own thread 12 (worker-3)", "own threads (worker-*)" */
static void say_own_thread(const struct report *report, const struct verdict_cause *cause,
			   struct sentence *origin)
{
	char name[NAME_PATTERN_BYTES];

	say(origin, "own ");
	if (cause->others.count < 2) {
		say_one_thread(report, origin, cause->other_thread);
		return;
	}
	group_name(thread_name(report, cause->other_thread), &cause->others, name);
	say(origin, *name ? "threads (%s)" : "threads", name);
}

/* The other thread, rank or device, or the calling function. */
static void say_origin(const struct report *report, const struct verdict_cause *cause,
		       struct sentence *origin)
{
	if (has_other(cause->kind)) {
		if (!cause->other_thread)
			return;
		say(origin, " %s ", cause->kind == VERDICT_THREAD_WAIT ? "for" : "held by");
		say_thread(report, origin, cause->other_thread, &cause->others);
		say_in(origin, "in", &cause->other);
	} else if (cause->kind == VERDICT_OTHER_RANK) {
		if (say_late_rank(report, origin, cause))
			say_in(origin, "in", &cause->other);
	} else if (cause->kind == VERDICT_OTHER_DEVICE && cause->other_device) {
		say(origin, " for ");
		say_device(report, origin, cause->other_device);
		say_in(origin, "in", &cause->place);
	} else if (cause->kind == VERDICT_PREEMPTED && cause->other_thread) {
		say(origin, " ");
		say_own_thread(report, cause, origin);
	} else if (verdict_is_call(cause->kind) || cause->kind == VERDICT_PREEMPTED ||
		   (cause->cause == CAUSE_BLOCKED && *cause->what)) {
		say_in(origin, "in", &cause->place);
	}
}

/* The last column. Rows of a device that several processes use begin with the process. */
static void name_origin(const struct report *report, const struct verdict *verdict,
			const struct verdict_cause *cause, struct sentence *origin)
{
	struct sentence rest = {0};

	if (report->analysis->devices[verdict->device].overlap.users_count > 1)
		say_waiting_process(report, origin, cause);
	say_origin(report, cause, &rest);
	say(origin, "%s%s", origin->length && rest.length ? "," : "",
	    rest.text + (!origin->length && rest.length));
}

/* Sums up the rows of a cause; 0: none has a name. */
static uint64_t sum_places(const struct verdict *verdict, enum account_cause cause)
{
	uint64_t sum_ns = 0;
	size_t named = 0;

	for (size_t i = 0; i < verdict->count; i++) {
		const struct verdict_cause *row = &verdict->causes[i];

		if (row->cause != cause)
			continue;
		sum_ns += row->ns;
		named += row->place.function || *row->what;
	}
	return named ? sum_ns : 0;
}

static bool has_room(size_t shown, uint64_t rest_ns, uint64_t sum_ns)
{
	return shown < PLACES_SHOWN || (shown < MAX_PLACES && rest_ns > sum_ns / 100 * MAX_OTHERS);
}

void report_put_idle_places(const struct report *report, const struct verdict *verdict,
			    enum account_cause cause, report_put_row put)
{
	const uint64_t wall_ns = report->analysis->devices[verdict->device].account.wall_ns;
	const uint64_t sum_ns = sum_places(verdict, cause);
	uint64_t rest_ns = sum_ns;
	size_t shown = 0;

	for (size_t i = 0; i < verdict->count && sum_ns && has_room(shown, rest_ns, sum_ns); i++) {
		const struct verdict_cause *row = &verdict->causes[i];
		struct sentence name = {0}, origin = {0};

		if (row->cause != cause)
			continue;
		name_cause(row, &name);
		name_origin(report, verdict, row, &origin);
		put(report, name.text, row->ns, wall_ns, origin.text);
		rest_ns -= row->ns;
		shown++;
	}
	if (rest_ns)
		put(report, "others", rest_ns, wall_ns, "");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static uint64_t idle_of(const struct account_steady *steady)
{
	return steady->end - steady->begin - steady->busy_ns;
}

/* The keys of a cause. */
static void write_cause(const struct report *report, const struct verdict *verdict,
			const struct verdict_cause *cause, struct json_writer *json)
{
	const uint64_t idle_ns = idle_of(verdict->steady);
	struct sentence sentence = {0};

	say_cause(report, cause, &sentence);
	json_pair_text(json, "text", sentence.text);
	json_pair_text(json, "kind", verdict_kind_name(cause->kind));
	if (cause->kind == VERDICT_PREEMPTED)
		json_pair_text(json, "own_kind", verdict_kind_name(cause->own_kind));
	json_pair_text(json, "cause", account_cause_name(cause->cause));
	json_pair_u64(json, "ns", cause->ns);
	if (cause->preempted_ns)
		json_pair_u64(json, "preempted_ns", cause->preempted_ns);
	json_pair_double(json, "share", idle_ns ? (double)cause->ns / (double)idle_ns : 0);
	if (cause->thread)
		json_pair_text(json, "thread", thread_name(report, cause->thread));
	if (cause->threads.count > 1)
		json_pair_u64(json, "threads", cause->threads.count);
	report_write_place(&cause->place, json);
	if (*cause->what)
		json_pair_text(json, "what", cause->what);
	if (cause->other_device)
		json_pair_text(
			json, "other_device",
			report_device_key(&report->analysis->devices[cause->other_device - 1]));
	if (cause->other_thread) {
		json_pair_object(json, "holder");
		json_pair_text(json, "thread", thread_name(report, cause->other_thread));
		report_write_place(&cause->other, json);
		if (cause->other_named_ns > cause->ns / 2) {
			json_pair_text(json, "wait", verdict_kind_name(cause->other_kind));
			if (*cause->other_what)
				json_pair_text(json, "object", cause->other_what);
		}
		if (cause->kind == VERDICT_OTHER_RANK)
			json_pair_u64(json, "ns", cause->other_ns);
		json_object_end(json);
	}
}

/* The account's time that no thread and no command explains. */
static void add_unknown(const struct account *account,
			uint64_t sums[CAUSE_COUNT][VERDICT_KIND_COUNT])
{
	for (unsigned int cause = 0; cause < CAUSE_COUNT; cause++) {
		uint64_t known = 0;

		for (unsigned int kind = 0; kind < VERDICT_KIND_COUNT; kind++)
			known += sums[cause][kind];
		if (account->causes[cause] > known)
			sums[cause][VERDICT_UNKNOWN] += account->causes[cause] - known;
	}
}

/* The time of each kind in each cause: {"blocked": {"python_gil": 12}, …}. */
int report_write_idle_kinds(const struct report *report, size_t device, struct json_writer *json)
{
	uint64_t sums[CAUSE_COUNT][VERDICT_KIND_COUNT] = {{0}};
	struct verdict verdict;
	int error = verdict_make(report->analysis, report->frames, device, VERDICT_WHOLE, &verdict);

	if (error)
		return error;
	for (size_t i = 0; i < verdict.count; i++)
		sums[verdict.causes[i].cause][verdict.causes[i].kind] += verdict.causes[i].ns;
	verdict_fini(&verdict);
	add_unknown(&report->analysis->devices[device].account, sums);
	json_pair_object(json, "idle_kinds");
	for (unsigned int cause = 0; cause < CAUSE_COUNT; cause++) {
		if (!report->analysis->devices[device].account.causes[cause])
			continue;
		json_pair_object(json, account_cause_name((enum account_cause)cause));
		for (unsigned int kind = 0; kind < VERDICT_KIND_COUNT; kind++)
			if (sums[cause][kind])
				json_pair_u64(json, verdict_kind_name((enum verdict_kind)kind),
					      sums[cause][kind]);
		json_object_end(json);
	}
	json_object_end(json);
	return 0;
}

static void write_steady(const struct account_steady *steady, struct json_writer *json)
{
	json_pair_object(json, "steady");
	json_pair_u64(json, "begin_ns", steady->begin);
	json_pair_u64(json, "end_ns", steady->end);
	json_pair_u64(json, "wall_ns", steady->end - steady->begin);
	json_pair_u64(json, "busy_ns", steady->busy_ns);
	json_pair_u64(json, "idle_ns", idle_of(steady));
	json_object_end(json);
}

static void write_sentences(const struct sentences *sentences, struct json_writer *json)
{
	char text[SENTENCES * sizeof(struct sentence)] = "";
	size_t length = 0;

	for (size_t i = 0; i < sentences->count; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s",
					   i ? " " : "", sentences->list[i].text);
	json_pair_text(json, "text", text);
	json_pair_array(json, "sentences");
	for (size_t i = 0; i < sentences->count; i++)
		json_string(json, sentences->list[i].text);
	json_array_end(json);
}

static void write_other_causes(const struct verdict *verdict, struct json_writer *json)
{
	uint64_t ns = 0, count = 0;

	for (size_t i = CAUSES_WRITTEN; i < verdict->count; i++, count++)
		ns += verdict->causes[i].ns;
	if (!count)
		return;
	json_pair_object(json, "other_causes");
	json_pair_u64(json, "count", count);
	json_pair_u64(json, "ns", ns);
	json_object_end(json);
}

int report_write_verdict(const struct report *report, struct json_writer *json)
{
	struct sentences sentences;
	struct verdict verdict;
	int error = make_verdict(report, &verdict, &sentences);

	if (error || !verdict.steady)
		return error;
	json_newline(json);
	json_pair_object(json, "verdict");
	write_sentences(&sentences, json);
	json_pair_bool(json, "certain", !doubt_of(report, verdict.device));
	json_pair_text(json, "device",
		       report_device_key(&report->analysis->devices[verdict.device]));
	write_steady(verdict.steady, json);
	json_line_array(json, "causes");
	for (size_t i = 0; i < verdict.count && i < CAUSES_WRITTEN; i++) {
		json_line_begin(json);
		write_cause(report, &verdict, &verdict.causes[i], json);
		json_object_end(json);
	}
	json_array_end(json);
	write_other_causes(&verdict, json);
	json_object_end(json);
	verdict_fini(&verdict);
	return 0;
}

/* ---- the slowest iteration --------------------------------------------------------------------
 */

/* -ENOENT: no measured device ran a command in it. */
static int make_slowest(const struct report *report, struct verdict *ret_verdict)
{
	const size_t device = device_of(report);
	const struct account_steady *slowest;

	if (!has_verdict(report, device))
		return -ENOENT;
	slowest = &report->analysis->devices[device].account.slowest;
	if (slowest->end <= slowest->begin)
		return -ENOENT;
	return verdict_make(report->analysis, report->frames, device, VERDICT_SLOWEST, ret_verdict);
}

int report_put_slowest_cause(const struct report *report)
{
	struct sentence sentence = {0};
	struct verdict verdict;
	int error = make_slowest(report, &verdict);
	uint64_t wall_ns;

	if (error)
		return error == -ENOENT ? 0 : error;
	wall_ns = smaller(verdict.steady->to, report->analysis->to_ns) - verdict.steady->from;
	say_device_name(report, verdict.device, false, &sentence);
	say(&sentence, " was busy %s of it", format_percent(verdict.steady->busy_ns, wall_ns).text);
	if (verdict.count) {
		say(&sentence, "; largest cause of idle: ");
		say_cause(report, &verdict.causes[0], &sentence);
		say(&sentence, ", %s", format_percent(verdict.causes[0].ns, wall_ns).text);
	}
	printf("%*s", SLOWEST_INDENT, "");
	sentence_put_wrapped(sentence.text, SLOWEST_INDENT, SLOWEST_INDENT, report_columns(report));
	putchar('\n');
	verdict_fini(&verdict);
	return 0;
}

int report_write_slowest_cause(const struct report *report, struct json_writer *json)
{
	struct verdict verdict;
	int error = make_slowest(report, &verdict);

	if (error)
		return error == -ENOENT ? 0 : error;
	json_pair_u64(json, "busy_ns", verdict.steady->busy_ns);
	if (verdict.count) {
		json_pair_object(json, "cause");
		write_cause(report, &verdict, &verdict.causes[0], json);
		json_object_end(json);
	}
	verdict_fini(&verdict);
	return 0;
}
