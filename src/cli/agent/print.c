/* SPDX-License-Identifier: MIT
 *
 * cli/agent/print.c - print the status of an agent
 *
 * Runs in:  our own process
 * Gets:     a copy of the status
 * Gives:    a page of text, or a document, on stdout
 * Owns:     nothing
 * Fails:    -errno of the document
 * Why:      times are ages, because the agent's clock (CLOCK_BOOTTIME) has no date, and the
 *           machine's clock may have been set meanwhile
 */
#include "cli/agent/print.h"

#include <inttypes.h>
#include <stdio.h>

#include "agent/spool.h"
#include "base/format.h"
#include "base/json.h"

static uint64_t age_ns(uint64_t boot_ns)
{
	const uint64_t now_ns = (uint64_t)spool_now_ns();

	return now_ns > boot_ns ? now_ns - boot_ns : 0;
}

static double percent(uint64_t part_ns, uint64_t whole_ns)
{
	return whole_ns ? 100.0 * (double)part_ns / (double)whole_ns : 0;
}

static uint64_t uptime_ns(const struct agent_status *status)
{
	return status->now_boot_ns - status->start_boot_ns;
}

/* ---- errors ---------------------------------------------------------------------------------- */

enum { ERROR_LISTS = 3 };

/* Errors that are not printed yet. */
struct error_cursor {
	const struct agent_errors *lists[ERROR_LISTS];
	uint64_t left[ERROR_LISTS];
};

static struct error_cursor begin_errors(const struct agent_status *status)
{
	struct error_cursor cursor = {
		.lists = {&status->errors, &status->recorder_errors, &status->metrics_errors}};

	for (int i = 0; i < ERROR_LISTS; i++)
		cursor.left[i] = cursor.lists[i]->count;
	return cursor;
}

/* The newest error of all lists. */
static const struct agent_error *next_error(struct error_cursor *cursor)
{
	const struct agent_error *newest = NULL;
	int list = 0;

	for (int i = 0; i < ERROR_LISTS; i++) {
		const struct agent_errors *errors = cursor->lists[i];
		const uint64_t left = cursor->left[i];
		const struct agent_error *error = left && errors->count - left < AGENT_ERRORS
							  ? &errors->all[(left - 1) % AGENT_ERRORS]
							  : NULL;

		if (error && (!newest || error->boot_ns > newest->boot_ns)) {
			newest = error;
			list = i;
		}
	}
	if (newest)
		cursor->left[list]--;
	return newest;
}

static void print_errors(const struct agent_status *status)
{
	struct error_cursor cursor = begin_errors(status);
	const struct agent_error *error;

	for (int i = 0; i < AGENT_ERRORS && (error = next_error(&cursor)); i++)
		printf("%s  %s ago: %s\n", i ? "" : "\nlast errors\n",
		       format_duration(age_ns(error->boot_ns)).text, format_text(error->text).text);
}

static void write_errors(const struct agent_status *status, struct json_writer *json)
{
	struct error_cursor cursor = begin_errors(status);
	const struct agent_error *error;

	json_pair_array(json, "errors");
	for (int i = 0; i < AGENT_ERRORS && (error = next_error(&cursor)); i++) {
		json_object_begin(json);
		json_pair_u64(json, "age_ns", age_ns(error->boot_ns));
		json_pair_text(json, "text", error->text);
		json_object_end(json);
	}
	json_array_end(json);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* "once", "twice", "3 times" */
static struct shown times(uint64_t count)
{
	struct shown shown;

	if (count == 1 || count == 2)
		return format_text(count == 1 ? "once" : "twice");
	snprintf(shown.text, sizeof(shown.text), "%" PRIu64 " times", count);
	return shown;
}

static void print_killed(const struct agent_spool_state *spool)
{
	if (!spool->killed)
		return;
	printf("  The recorder was killed %s; %s are missing; ", times(spool->killed).text,
	       format_duration(spool->killed_ns).text);
	if (spool->salvaged >= spool->killed)
		printf("the rest was saved.\n");
	else
		printf("the rest was saved %s.\n",
		       spool->salvaged ? times(spool->salvaged).text : "never");
}

static void print_spool(const struct agent_status *status)
{
	const struct agent_spool_state *spool = &status->spool_state;

	printf("\nspool      %s\n", format_text(status->spool).text);
	printf("  size     %s", format_size((double)(spool->bytes + spool->ring_bytes)).text);
	if (status->max_disk_bytes)
		printf(" (limit %s)", format_size((double)status->max_disk_bytes).text);
	printf(" in %" PRIu64 " files and the ring (%s)\n", spool->files,
	       format_size((double)spool->ring_bytes).text);
	printf("  written  %" PRIu64 " files, %s\n", spool->added,
	       format_size((double)spool->added_bytes).text);
	printf("  dropped  %" PRIu64 " files, %s", spool->dropped,
	       format_size((double)spool->dropped_bytes).text);
	if (spool->dropped_full)
		printf(", %" PRIu64 " of them because the disk was full", spool->dropped_full);
	printf("\n  skipped  %" PRIu64 " files, %s of recorded time\n", spool->skipped,
	       format_duration(spool->skipped_ns).text);
	print_killed(spool);
	if (spool->rows_lost)
		printf("  lost     %" PRIu64 " rows that could not be written\n", spool->rows_lost);
}

/* Restarts and the like of a process of the agent, by reason. */
struct agent_event {
	uint64_t count;
	const char *text; /* with %s for "once"; NULL: the end of a list */
};

__attribute__((format_arg(1))) static const char *event_format(const char *text)
{
	return text;
}

static void print_events(const char *name, const struct agent_event *events)
{
	bool has_any = false;

	printf("%-10s ", name);
	for (; events->text; events++) {
		if (!events->count)
			continue;
		printf("%s", has_any ? "; " : "");
		printf(event_format(events->text), times(events->count).text);
		has_any = true;
	}
	printf("%s\n", has_any ? "" : "never restarted or replaced");
}

static void print_recorded(const struct agent_status *status)
{
	const struct agent_counts *counts = &status->counts;

	printf("\nrecorded   %" PRIu64 " %s, %" PRIu64 " rows", counts->processes,
	       format_noun(counts->processes, "process", "processes"), counts->rows);
	if (counts->refused)
		printf("; %" PRIu64 " %s refused by filters or sampling", counts->refused,
		       format_noun(counts->refused, "process", "processes"));
	if (counts->refused_full)
		printf("; the sampling had too many processes %s",
		       times(counts->refused_full).text);
	putchar('\n');
	print_events(
		"recorder",
		(const struct agent_event[]){
			{status->recorder_restarts, "restarted %s after its end"},
			{status->recorder_hangs, "killed %s because it did not answer"},
			{status->recorder_recycles, "replaced %s because of its memory"},
			{status->recorder_turns, "replaced %s because of the size of its file"},
			{0, NULL}});
}

/* ---- endpoints ---- */

static void print_receiver(const struct agent_receiver *receiver)
{
	printf("  %s to %s: %" PRIu64 " sent, %" PRIu64 " dropped, %" PRIu64 " waiting",
	       format_text(receiver->name).text, format_text(receiver->url).text, receiver->sent,
	       receiver->dropped, receiver->waiting);
	if (!receiver->is_on)
		printf("; switched off, because the receiver does not take these data");
	if (receiver->error_boot_ns)
		printf("; %s %s ago: %s", receiver->is_failing ? "fails, last" : "last error",
		       format_duration(age_ns(receiver->error_boot_ns)).text,
		       format_text(receiver->error).text);
	putchar('\n');
}

static void print_endpoints(const struct agent_status *status)
{
	const struct agent_endpoints *endpoints = &status->endpoints;

	if (!status->metrics_pid && !status->metrics_restarts && !endpoints->count &&
	    !endpoints->listen[0])
		return;
	print_events("endpoints",
		     (const struct agent_event[]){
			     {status->metrics_restarts, "restarted %s after their end"},
			     {status->metrics_hangs, "killed %s because they did not answer"},
			     {status->metrics_recycles, "replaced %s because of their memory"},
			     {0, NULL}});
	if (endpoints->listen[0])
		printf("  /metrics and /healthz at %s\n", format_text(endpoints->listen).text);
	for (uint32_t i = 0; i < endpoints->count; i++)
		print_receiver(&endpoints->all[i]);
}

void agent_print_text(const struct agent_status *status, bool is_running)
{
	printf("agent      %s, duet %s, pid %d, %s %s\n", is_running ? "running" : "not running",
	       format_text(status->duet_version).text, status->pid,
	       is_running ? "up for" : "ran for", format_duration(uptime_ns(status)).text);
	printf("config     %s", status->config[0] ? format_text(status->config).text : "defaults");
	if (status->reloads)
		printf("; read again %s", times(status->reloads).text);
	if (status->reloads_refused)
		printf("; refused %s because of mistakes", times(status->reloads_refused).text);
	putchar('\n');
	printf("cost       %.2f %% of a core (%.2f %% in the last minute), %s of memory (max %s)\n",
	       percent(status->cpu_ns, uptime_ns(status)),
	       percent(status->recent_cpu_ns, status->recent_ns),
	       format_size((double)status->resident_bytes).text,
	       format_size((double)status->max_resident_bytes).text);
	print_recorded(status);
	print_endpoints(status);
	print_spool(status);
	print_errors(status);
}

/* ---- document -------------------------------------------------------------------------------- */

static void write_spool(const struct agent_status *status, struct json_writer *json)
{
	const struct agent_spool_state *spool = &status->spool_state;

	json_pair_object(json, "spool");
	json_pair_text(json, "path", status->spool);
	json_pair_u64(json, "max_bytes", status->max_disk_bytes);
	json_pair_u64(json, "bytes", spool->bytes + spool->ring_bytes);
	json_pair_u64(json, "ring_bytes", spool->ring_bytes);
	json_pair_u64(json, "files", spool->files);
	json_pair_u64(json, "next_sequence", spool->next_sequence);
	json_pair_u64(json, "written", spool->added);
	json_pair_u64(json, "written_bytes", spool->added_bytes);
	json_pair_u64(json, "dropped", spool->dropped);
	json_pair_u64(json, "dropped_bytes", spool->dropped_bytes);
	json_pair_u64(json, "dropped_disk_full", spool->dropped_full);
	json_pair_u64(json, "skipped", spool->skipped);
	json_pair_u64(json, "skipped_ns", spool->skipped_ns);
	json_pair_u64(json, "killed", spool->killed);
	json_pair_u64(json, "killed_ns", spool->killed_ns);
	json_pair_u64(json, "rings_saved", spool->salvaged);
	json_pair_u64(json, "rows_lost", spool->rows_lost);
	json_object_end(json);
}

static void write_cost(const struct agent_status *status, struct json_writer *json)
{
	json_pair_object(json, "cost");
	json_pair_u64(json, "cpu_ns", status->cpu_ns);
	json_pair_double(json, "cpu_percent", percent(status->cpu_ns, uptime_ns(status)));
	json_pair_double(json, "recent_cpu_percent",
			 percent(status->recent_cpu_ns, status->recent_ns));
	json_pair_u64(json, "resident_bytes", status->resident_bytes);
	json_pair_u64(json, "max_resident_bytes", status->max_resident_bytes);
	json_pair_u64(json, "private_bytes", status->private_bytes);
	json_pair_u64(json, "max_memory_bytes", status->max_memory_bytes);
	json_object_end(json);
}

static void write_recorder(const struct agent_status *status, struct json_writer *json)
{
	json_pair_object(json, "recorder");
	json_pair_i64(json, "pid", status->recorder_pid);
	json_pair_bool(json, "ready", status->is_ready != 0);
	json_pair_u64(json, "restarts", status->recorder_restarts);
	json_pair_u64(json, "replaced_for_memory", status->recorder_recycles);
	json_pair_u64(json, "replaced_for_file_size", status->recorder_turns);
	json_pair_u64(json, "hangs", status->recorder_hangs);
	json_pair_u64(json, "reloads", status->reloads);
	json_pair_u64(json, "reloads_refused", status->reloads_refused);
	json_pair_u64(json, "processes", status->counts.processes);
	json_pair_u64(json, "refused", status->counts.refused);
	json_pair_u64(json, "refused_full", status->counts.refused_full);
	json_pair_u64(json, "rows", status->counts.rows);
	json_object_end(json);
}

static void write_receiver(const struct agent_receiver *receiver, struct json_writer *json)
{
	json_object_begin(json);
	json_pair_text(json, "name", receiver->name);
	json_pair_text(json, "url", receiver->url);
	json_pair_bool(json, "enabled", receiver->is_on != 0);
	json_pair_bool(json, "failing", receiver->is_failing != 0);
	json_pair_u64(json, "sent", receiver->sent);
	json_pair_u64(json, "dropped", receiver->dropped);
	json_pair_u64(json, "waiting", receiver->waiting);
	if (receiver->error_boot_ns) {
		json_pair_text(json, "last_error", receiver->error);
		json_pair_u64(json, "last_error_age_ns", age_ns(receiver->error_boot_ns));
	}
	json_object_end(json);
}

static void write_endpoints(const struct agent_status *status, struct json_writer *json)
{
	json_pair_object(json, "endpoints");
	json_pair_i64(json, "pid", status->metrics_pid);
	json_pair_u64(json, "restarts", status->metrics_restarts);
	json_pair_u64(json, "replaced_for_memory", status->metrics_recycles);
	json_pair_u64(json, "hangs", status->metrics_hangs);
	json_pair_text(json, "listen",
		       status->endpoints.listen[0] ? status->endpoints.listen : NULL);
	json_pair_array(json, "receivers");
	for (uint32_t i = 0; i < status->endpoints.count; i++)
		write_receiver(&status->endpoints.all[i], json);
	json_array_end(json);
	json_object_end(json);
}

int agent_print_json(const struct agent_status *status, bool is_running)
{
	struct json_writer json;

	json_init_file(&json, stdout);
	json_object_begin(&json);
	json_pair_text(&json, "schema", "duet.agent/1");
	json_pair_bool(&json, "running", is_running);
	json_pair_text(&json, "version", status->duet_version);
	json_pair_i64(&json, "pid", status->pid);
	json_pair_u64(&json, "uptime_ns", uptime_ns(status));
	json_pair_text(&json, "config", status->config[0] ? status->config : NULL);
	write_recorder(status, &json);
	write_endpoints(status, &json);
	write_cost(status, &json);
	write_spool(status, &json);
	write_errors(status, &json);
	json_object_end(&json);
	putchar('\n');
	return json_error(&json);
}
