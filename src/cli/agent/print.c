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

/* The newest error first, of both lists. */
static const struct agent_error *next_error(const struct agent_status *status, uint64_t *first,
					    uint64_t *second)
{
	const struct agent_errors *lists[2] = {&status->errors, &status->recorder_errors};
	uint64_t *left[2] = {first, second};
	const struct agent_error *newest = NULL;
	int list = 0;

	for (int i = 0; i < 2; i++) {
		const struct agent_error *error =
			*left[i] && lists[i]->count - *left[i] < AGENT_ERRORS
				? &lists[i]->all[(*left[i] - 1) % AGENT_ERRORS]
				: NULL;

		if (error && (!newest || error->boot_ns > newest->boot_ns)) {
			newest = error;
			list = i;
		}
	}
	if (newest)
		(*left[list])--;
	return newest;
}

static void print_errors(const struct agent_status *status)
{
	uint64_t first = status->errors.count, second = status->recorder_errors.count;
	const struct agent_error *error;

	if (!first && !second)
		return;
	printf("\nlast errors\n");
	for (int i = 0; i < AGENT_ERRORS && (error = next_error(status, &first, &second)); i++)
		printf("  %s ago: %s\n", format_duration(age_ns(error->boot_ns)).text,
		       format_text(error->text).text);
}

static void write_errors(const struct agent_status *status, struct json_writer *json)
{
	uint64_t first = status->errors.count, second = status->recorder_errors.count;
	const struct agent_error *error;

	json_pair_array(json, "errors");
	for (int i = 0; i < AGENT_ERRORS && (error = next_error(status, &first, &second)); i++) {
		json_object_begin(json);
		json_pair_u64(json, "age_ns", age_ns(error->boot_ns));
		json_pair_text(json, "text", error->text);
		json_object_end(json);
	}
	json_array_end(json);
}

/* ---- text ------------------------------------------------------------------------------------ */

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
	printf("  killed   %" PRIu64 " recorders, %s without a recorder, %" PRIu64 " rings saved\n",
	       spool->killed, format_duration(spool->killed_ns).text, spool->salvaged);
	if (spool->rows_lost)
		printf("  lost     %" PRIu64 " rows that could not be written\n", spool->rows_lost);
}

static void print_recorded(const struct agent_status *status)
{
	const struct agent_counts *counts = &status->counts;

	printf("\nrecorded   %" PRIu64 " %s, %" PRIu64 " rows", counts->processes,
	       format_noun(counts->processes, "process", "processes"), counts->rows);
	if (counts->refused)
		printf("; %" PRIu64 " requests of programs refused by filters or sampling",
		       counts->refused);
	if (counts->refused_full)
		printf(", %" PRIu64 " of them because the sampling has too many processes",
		       counts->refused_full);
	printf("\nrecorder   %" PRIu64 " restarts, %" PRIu64 " replaced for memory, %" PRIu64
	       " for the size of its file, %" PRIu64 " reloads, %" PRIu64 " reloads refused\n",
	       status->recorder_restarts, status->recorder_recycles, status->recorder_turns,
	       status->reloads, status->reloads_refused);
	if (status->recorder_hangs)
		printf("  killed   %" PRIu64 " times because it did not answer\n",
		       status->recorder_hangs);
	if (status->metrics_pid || status->metrics_restarts)
		printf("endpoints  %" PRIu64 " restarts, %" PRIu64 " replaced for memory, %" PRIu64
		       " killed because they did not answer\n",
		       status->metrics_restarts, status->metrics_recycles, status->metrics_hangs);
}

void agent_print_text(const struct agent_status *status, bool is_running)
{
	printf("agent      %s, duet %s, pid %d, %s %s\n", is_running ? "running" : "not running",
	       format_text(status->duet_version).text, status->pid,
	       is_running ? "up for" : "ran for", format_duration(uptime_ns(status)).text);
	printf("config     %s\n",
	       status->config[0] ? format_text(status->config).text : "defaults");
	printf("cost       %.2f %% of a core (%.2f %% in the last minute), %s of memory (max %s)\n",
	       percent(status->cpu_ns, uptime_ns(status)),
	       percent(status->recent_cpu_ns, status->recent_ns),
	       format_size((double)status->resident_bytes).text,
	       format_size((double)status->max_resident_bytes).text);
	print_recorded(status);
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

static void write_endpoints(const struct agent_status *status, struct json_writer *json)
{
	json_pair_object(json, "endpoints");
	json_pair_i64(json, "pid", status->metrics_pid);
	json_pair_u64(json, "restarts", status->metrics_restarts);
	json_pair_u64(json, "replaced_for_memory", status->metrics_recycles);
	json_pair_u64(json, "hangs", status->metrics_hangs);
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
