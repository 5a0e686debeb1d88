/* SPDX-License-Identifier: MIT
 *
 * cli/record/triggers.c - write the seconds around a trigger's firing into a file of their own
 *
 * Runs in:  the recorder, in its loop every 100 ms
 * Gets:     firings from the watcher, signals, the program's status
 * Gives:    trace files, lines on stderr, notes in the trace
 * Owns:     the watcher, a copy that is being written, the firings that wait for it
 * Fails:    a file that cannot be written is reported, and the recording goes on
 * Why the recorder cuts: only the writer knows which segments are complete. It copies STEP_BYTES in
 *           each tick, which takes 3 ms, so that the rings are read meanwhile
 */
#include "cli/record/triggers.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock_ns.h"
#include "base/error.h"
#include "base/format.h"
#include "base/number.h"
#include "cli/command.h"
#include "cli/record/output_name.h"
#include "cli/record/watcher.h"

enum {
	MAX_PENDING = 20,
	FOR_EXPLICIT = 4, /* places of MAX_PENDING */
	STEP_BYTES = 4 << 20,
	LAST_MS = 2000, /* for the watcher to evaluate the last rows */
	/* Id of our note. The recorder counts its own from 1 on. */
	SKIPS_NOTE = 1 << 30
};
#define SEGMENT_NS UINT64_C(500000000)
#define FLUSH_NS   UINT64_C(200000000)
/* Older rows than --keep in the ring, for the time until a firing is known. */
#define RESERVE_NS UINT64_C(3000000000)

/* A handler has no context. Bits 1 << signal; atomic, so that no signal is lost while they are
 * taken. */
static int received_signals;

struct triggers {
	struct triggers_options options;
	const char *output;
	struct watcher watcher;
	bool has_begun;
	uint64_t begin_ns; /* start of the recording */
	struct trigger_firing pending[MAX_PENDING];
	size_t pending_count;
	struct trace_cutting *cutting; /* NULL: none */
	char *path;                    /* owned; name of the copy */
	uint64_t last_ns;              /* the last firing that is written or pending; 0: none */
	uint64_t written_ns;           /* the last firing that is written; 0: none */
	unsigned int files;            /* written, pending or failed */
	unsigned int explicit_files;   /* those of is_explicit */
	unsigned int failed, explicit_failed; /* that could not be written */
	uint64_t too_close, too_many;         /* firings that are not written */
	uint64_t skips, skipped_ns;           /* times at which the watcher looked too late */
	bool has_new_skip;                    /* since the last note */
};

/* ---- firings --------------------------------------------------------------------------------- */

/* "trigger 'idle > 50ms' at 12.3 s: REASON" */
static struct shown describe(const struct triggers *triggers, const struct trigger_firing *firing)
{
	struct shown shown;
	uint64_t at_ns = firing->end_ns - smaller(triggers->begin_ns, firing->end_ns);

	snprintf(shown.text, sizeof(shown.text), "trigger '%s' at %.1f s: %s",
		 triggers->options.exprs[firing->expr].text, (double)at_ns / 1e9, firing->reason);
	return format_text(shown.text);
}

/* Events that the user caused are written even if they come soon after another one, or if the
 * others have all files: a crash is not missed because of many slow iterations before it. */
static bool is_explicit(const struct triggers *triggers, const struct trigger_firing *firing)
{
	enum trigger_subject subject = triggers->options.exprs[firing->expr].subject;

	return subject == TRIGGER_SIGNAL || subject == TRIGGER_EXIT_STATUS;
}

static bool is_too_close(const struct triggers *triggers, const struct trigger_firing *firing)
{
	uint64_t distance_ns = larger(firing->end_ns, triggers->last_ns) -
			       smaller(firing->end_ns, triggers->last_ns);

	return triggers->last_ns && distance_ns < triggers->options.interval_ns &&
	       !is_explicit(triggers, firing);
}

static bool has_room(const struct triggers *triggers, const struct trigger_firing *firing)
{
	const unsigned int all = triggers->files - triggers->failed;
	const unsigned int explicit = triggers->explicit_files - triggers->explicit_failed;

	if (is_explicit(triggers, firing))
		return explicit < triggers->options.max_files &&
		       triggers->pending_count < MAX_PENDING;
	return all - explicit < triggers->options.max_files &&
	       triggers->pending_count < MAX_PENDING - FOR_EXPLICIT;
}

static void add_firing(struct triggers *triggers, const struct trigger_firing *firing)
{
	bool is_close = is_too_close(triggers, firing);

	if (is_close || !has_room(triggers, firing)) {
		*(is_close ? &triggers->too_close : &triggers->too_many) += 1;
		if (triggers->options.is_verbose)
			fprintf(stderr, "duet: %s; not written\n", describe(triggers, firing).text);
		return;
	}
	triggers->pending[triggers->pending_count++] = *firing;
	triggers->last_ns = firing->end_ns;
	triggers->files++;
	triggers->explicit_files += is_explicit(triggers, firing);
}

static void add_own(struct triggers *triggers, uint32_t expr, uint64_t now_ns, const char *reason)
{
	struct trigger_firing firing = {.expr = expr, .begin_ns = now_ns, .end_ns = now_ns};

	snprintf(firing.reason, sizeof(firing.reason), "%s", reason);
	add_firing(triggers, &firing);
}

/* The first one is printed at once, all of them at the end. */
static void add_skip(struct triggers *triggers, const struct trigger_firing *skip)
{
	const uint64_t lasted_ns = skip->end_ns - smaller(skip->begin_ns, skip->end_ns);
	const uint64_t at_ns = skip->begin_ns - smaller(triggers->begin_ns, skip->begin_ns);

	triggers->skips++;
	triggers->skipped_ns += lasted_ns;
	triggers->has_new_skip = true;
	if (triggers->skips == 1)
		fprintf(stderr,
			"duet: triggers: %s from %.1f s on were not looked at, because the machine "
			"is too busy; triggers in this time are missed. A longer --keep allows "
			"longer delays\n",
			format_duration(lasted_ns).text, (double)at_ns / 1e9);
}

static void handle_event(struct triggers *triggers, enum watcher_event event,
			 const struct trigger_firing *firing)
{
	if (event == WATCHER_FIRED && firing->expr < triggers->options.count)
		add_firing(triggers, firing);
	else if (event == WATCHER_PROBLEM)
		fprintf(stderr, "duet: trigger %s\n", format_text(firing->reason).text);
	else if (event == WATCHER_SKIPPED)
		add_skip(triggers, firing);
	else if (event == WATCHER_DROPPED)
		*(triggers->options.interval_ns ? &triggers->too_close : &triggers->too_many) +=
			firing->end_ns;
	else if (event == WATCHER_ENDED)
		fprintf(stderr, "duet: triggers: the process that looks for them has ended "
				"unexpectedly; only "
				"signal and exit-status fire from now on\n");
}

static void read_watcher(struct triggers *triggers)
{
	struct trigger_firing firing;
	enum watcher_event event;

	while ((event = watcher_next(&triggers->watcher, 0, &firing)) != WATCHER_NOTHING)
		handle_event(triggers, event, &firing);
}

/* ---- signals and the exit status ------------------------------------------------------------- */

static void on_signal(int number)
{
	__atomic_fetch_or(&received_signals, 1 << number, __ATOMIC_RELAXED);
}

/* A signal that the parent ignores stays ignored, because the program would inherit a default
 * otherwise. */
static int catch_signal(const struct trigger_expr *expr)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, found;

	if (sigaction(expr->signal, NULL, &found) == 0 && found.sa_handler == SIG_IGN)
		return error_set(-EINVAL,
				 "--trigger '%s': the parent process ignores this signal; start "
				 "duet without nohup or trap",
				 expr->text);
	sigaction(expr->signal, &action, NULL);
	return 0;
}

static void check_signals(struct triggers *triggers, uint64_t now_ns)
{
	const struct triggers_options *options = &triggers->options;
	const int received = __atomic_exchange_n(&received_signals, 0, __ATOMIC_RELAXED);

	if (!received)
		return;
	for (uint32_t i = 0; i < options->count; i++)
		if (options->exprs[i].subject == TRIGGER_SIGNAL &&
		    received & 1 << options->exprs[i].signal)
			add_own(triggers, i, now_ns, "duet received the signal");
}

static void check_status(struct triggers *triggers, uint64_t now_ns, int wait_status)
{
	const struct triggers_options *options = &triggers->options;
	bool is_killed = WIFSIGNALED(wait_status);
	int status = is_killed ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
	char reason[100];

	if (is_killed)
		snprintf(reason, sizeof(reason), "the program was killed by signal %s",
			 format_signal(WTERMSIG(wait_status)).text);
	else
		snprintf(reason, sizeof(reason), "the program exited with status %d", status);
	for (uint32_t i = 0; i < options->count; i++) {
		const struct trigger_expr *expr = &options->exprs[i];

		if (expr->subject == TRIGGER_EXIT_STATUS &&
		    trigger_compares(expr->comparison, status, expr->number))
			add_own(triggers, i, now_ns, reason);
	}
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The reason becomes a row of the trace, so the file explains itself. */
static void write_row(const struct triggers *triggers, struct trace_writer *writer,
		      const struct trigger_firing *firing, unsigned int number)
{
	const char *expression = triggers->options.exprs[firing->expr].text;
	const struct event_trigger row = {
		.id = number,
		.expression_string = trace_writer_string(writer, expression, strlen(expression)),
		.reason_string =
			trace_writer_string(writer, firing->reason, strlen(firing->reason)),
		.begin_ns = firing->begin_ns,
		.end_ns = firing->end_ns,
		.process = firing->process,
	};

	trace_writer_entity(writer, EVENT_TRIGGER, &row);
}

/* One note with all times so far. */
static void write_skips(struct triggers *triggers, struct trace_writer *writer, uint64_t now_ns)
{
	struct event_collector row = {
		.id = SKIPS_NOTE, .state = COLLECTOR_PARTIAL, .begin_ns = now_ns};
	char text[200];

	if (!triggers->has_new_skip)
		return;
	triggers->has_new_skip = false;
	snprintf(text, sizeof(text),
		 "%s of the recording, in %llu %s, were not looked at, because the machine is too "
		 "busy; triggers in this time are missed",
		 format_duration(triggers->skipped_ns).text, (unsigned long long)triggers->skips,
		 format_noun(triggers->skips, "part", "parts"));
	row.name_string = trace_writer_string(writer, "trigger", strlen("trigger"));
	row.reason_string = trace_writer_string(writer, text, strlen(text));
	trace_writer_entity(writer, EVENT_COLLECTOR, &row);
}

static unsigned int number_of_first(const struct triggers *triggers)
{
	return triggers->files - (unsigned int)triggers->pending_count + 1;
}

static void remove_first(struct triggers *triggers)
{
	triggers->pending_count--;
	memmove(triggers->pending, triggers->pending + 1,
		triggers->pending_count * sizeof(triggers->pending[0]));
	free(triggers->path);
	triggers->path = NULL;
}

/* The next firing may have a file in its place, at once. */
static void report_failure(struct triggers *triggers)
{
	fprintf(stderr, "duet: %s; not written: %s\n",
		describe(triggers, &triggers->pending[0]).text, error_text());
	error_clear();
	triggers->failed++;
	triggers->explicit_failed += is_explicit(triggers, &triggers->pending[0]);
	if (triggers->pending_count == 1)
		triggers->last_ns = triggers->written_ns;
	remove_first(triggers);
}

static void start_cut(struct triggers *triggers, struct trace_writer *writer, uint64_t now_ns,
		      bool is_last)
{
	const struct triggers_options *options = &triggers->options;
	const struct trigger_firing *firing = &triggers->pending[0];
	struct trace_cut cut = {.from_ns =
					firing->end_ns - smaller(options->keep_ns, firing->end_ns),
				.is_last = is_last};
	unsigned int number = number_of_first(triggers);
	int error;

	cut.from_ns = smaller(cut.from_ns, firing->begin_ns);
	free(triggers->path);
	triggers->path = trigger_name_expand(options->pattern, triggers->output, number);
	if (!triggers->path) {
		report_failure(triggers);
		return;
	}
	write_row(triggers, writer, firing, number);
	error = trace_cut_start(writer, now_ns, triggers->path, &cut, &triggers->cutting);
	if (error && error != -EAGAIN)
		report_failure(triggers);
	else if (error) /* the file is being shortened; the next tick tries again */
		error_clear();
}

static void finish_cut(struct triggers *triggers, int result, const struct trace_cut *cut)
{
	const struct trigger_firing *firing = &triggers->pending[0];

	triggers->cutting = NULL;
	if (result < 0) {
		report_failure(triggers);
		return;
	}
	fprintf(stderr, "duet: %s; wrote %s%s\n", describe(triggers, firing).text,
		format_text(triggers->path).text,
		cut->from_ns > firing->begin_ns ? ", which lacks the beginning of it" : "");
	if (triggers->options.command &&
	    !watcher_run(&triggers->watcher, triggers->path, describe(triggers, firing).text))
		fprintf(stderr, "duet: --trigger-run: the command could not be started for %s\n",
			format_text(triggers->path).text);
	triggers->written_ns = firing->end_ns;
	remove_first(triggers);
}

/* Starts or continues the copy of the first firing. */
static void write_files(struct triggers *triggers, struct trace_writer *writer, uint64_t now_ns,
			uint64_t bytes, bool is_last)
{
	struct trace_cut cut;
	int result;

	if (!triggers->cutting && triggers->pending_count) {
		uint64_t due_ns = triggers->pending[0].end_ns + triggers->options.after_ns;

		if (now_ns >= due_ns || is_last)
			start_cut(triggers, writer, now_ns, is_last);
	}
	if (!triggers->cutting)
		return;
	result = trace_cut_step(triggers->cutting, bytes, &cut);
	if (result)
		finish_cut(triggers, result, &cut);
}

/* ---- the session ----------------------------------------------------------------------------- */

static void begin(struct triggers *triggers, const struct trace_writer *writer, uint64_t now_ns)
{
	struct event_host host;

	triggers->has_begun = true;
	triggers->begin_ns =
		trace_writer_find_entity(writer, EVENT_HOST, 1, &host) ? host.begin_ns : now_ns;
	watcher_follow(&triggers->watcher, triggers->output);
}

static bool on_tick(void *context, struct trace_writer *writer, uint64_t now_ns)
{
	struct triggers *triggers = context;

	if (!triggers->has_begun)
		begin(triggers, writer, now_ns);
	read_watcher(triggers);
	check_signals(triggers, now_ns);
	write_skips(triggers, writer, now_ns);
	write_files(triggers, writer, now_ns, STEP_BYTES, false);
	return false;
}

/* The rows of the last 0.3 s were not evaluated yet. */
static void evaluate_rest(struct triggers *triggers, struct trace_writer *writer, uint64_t now_ns)
{
	const uint64_t end_ns = now_ns + LAST_MS * UINT64_C(1000000);
	struct trigger_firing firing;
	enum watcher_event event = WATCHER_NOTHING;

	if (!triggers->watcher.pid || triggers->watcher.has_ended ||
	    !trigger_needs_rows(triggers->options.exprs, triggers->options.count))
		return;
	trace_writer_flush_all(writer, now_ns);
	watcher_finish(&triggers->watcher);
	while (event != WATCHER_DONE && event != WATCHER_ENDED &&
	       clock_ns(CLOCK_MONOTONIC) < end_ns) {
		event = watcher_next(&triggers->watcher, 50, &firing);
		handle_event(triggers, event, &firing);
	}
}

static void on_end(void *context, struct trace_writer *writer, uint64_t now_ns,
		   const int *program_status)
{
	struct triggers *triggers = context;

	if (!triggers->has_begun)
		begin(triggers, writer, now_ns);
	evaluate_rest(triggers, writer, now_ns);
	write_skips(triggers, writer, now_ns);
	check_signals(triggers, now_ns);
	if (program_status)
		check_status(triggers, now_ns, *program_status);
	for (size_t left = 2 * MAX_PENDING; left && (triggers->cutting || triggers->pending_count);
	     left--)
		write_files(triggers, writer, clock_ns(CLOCK_MONOTONIC), UINT64_MAX, true);
}

static int start_watcher(struct triggers *triggers)
{
	const struct triggers_options *options = &triggers->options;
	const struct watcher_options watcher = {
		.exprs = options->exprs,
		.count = options->count,
		.keep_ns = options->keep_ns,
		.max_age_ns = larger(options->keep_ns, options->after_ns + RESERVE_NS),
		.command = options->command};

	if (!options->command && !trigger_needs_rows(options->exprs, options->count))
		return 0;
	return watcher_start(&watcher, &triggers->watcher);
}

int triggers_start(const struct triggers_options *options, struct session_options *session,
		   struct triggers **ret_triggers)
{
	struct triggers *triggers = calloc(1, sizeof(*triggers));
	int error;

	if (!triggers)
		return error_set(-ENOMEM, "out of memory");
	triggers->options = *options;
	triggers->output = session->output;
	/* before the signals: the watcher has no handlers */
	error = start_watcher(triggers);
	for (uint32_t i = 0; i < options->count && !error; i++)
		if (options->exprs[i].subject == TRIGGER_SIGNAL)
			error = catch_signal(&options->exprs[i]);
	if (error) {
		triggers_end(triggers);
		return error;
	}
	session->writer.is_ring = true;
	session->writer.segment_ns = SEGMENT_NS;
	session->writer.keep_ns = options->keep_ns + options->after_ns + RESERVE_NS;
	if (!session->writer.flush_ns || session->writer.flush_ns > FLUSH_NS)
		session->writer.flush_ns = FLUSH_NS;
	session->on_tick = on_tick;
	session->on_end = on_end;
	session->tick_context = triggers;
	*ret_triggers = triggers;
	return 0;
}

static void print_suppressed(const struct triggers *triggers)
{
	if (triggers->too_close)
		fprintf(stderr,
			"duet: triggers: %llu more %s no file, because less than %s had passed "
			"since "
			"another one; see --trigger-interval\n",
			(unsigned long long)triggers->too_close,
			format_noun(triggers->too_close, "firing has", "firings have"),
			format_duration(triggers->options.interval_ns).text);
	if (triggers->skips > 1)
		fprintf(stderr,
			"duet: triggers: %s in %llu parts were not looked at, and triggers in them "
			"are "
			"missed\n",
			format_duration(triggers->skipped_ns).text,
			(unsigned long long)triggers->skips);
	if (triggers->too_many)
		fprintf(stderr,
			"duet: triggers: %llu more %s no file, because %u were written or too many "
			"came at once; see --trigger-max\n",
			(unsigned long long)triggers->too_many,
			format_noun(triggers->too_many, "firing has", "firings have"),
			triggers->files - triggers->failed);
}

void triggers_end(struct triggers *triggers)
{
	struct watcher_cost cost;
	uint64_t lasted_ns;

	if (!triggers)
		return;
	lasted_ns = triggers->has_begun ? clock_ns(CLOCK_MONOTONIC) - triggers->begin_ns : 0;
	if (watcher_stop(&triggers->watcher, &cost) && triggers->options.is_verbose && lasted_ns)
		fprintf(stderr,
			"duet: triggers: looking for them took %s of processor time (%.2f %% of "
			"one "
			"processor) and %s of memory\n",
			format_duration(cost.cpu_ns).text,
			100 * (double)cost.cpu_ns / (double)lasted_ns,
			format_size((double)cost.memory_bytes).text);
	print_suppressed(triggers);
	free(triggers->path);
	free(triggers);
}
