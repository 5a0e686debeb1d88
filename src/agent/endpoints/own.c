/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/own.c - metrics of duet itself: its cost, its spool, its pushes
 *
 * Runs in:  our own process, the agent's child for endpoints
 * Gets:     counts of the pushers, /proc, the agent's spool
 * Gives:    families and points to a visitor
 * Owns:     nothing
 * Fails:    a process that is gone keeps its last values
 * Why on the same page: a number without its cost and its losses cannot be trusted.
 */
#include "agent/endpoints/own.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock_ns.h"

/* Both times are since the machine's start, in which suspended time counts. */
static uint64_t start_of(const struct real_clock *clock, uint64_t started_ns)
{
	const uint64_t up_ns = clock_ns(CLOCK_BOOTTIME);
	const uint64_t age_ns = up_ns > started_ns ? up_ns - started_ns : 0;

	return real_clock_at(clock, clock_ns(CLOCK_MONOTONIC)) - age_ns;
}

bool own_read_process(pid_t pid, const struct real_clock *clock, struct own_process *process)
{
	char path[64], text[1024];
	uint64_t user, system, children_user, children_system, start,
		tick_ns = UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
	long pages;
	const char *after;
	FILE *file;
	size_t size;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	size = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[size] = '\0';
	/* The name may contain blanks and parentheses; the fields follow its last parenthesis. */
	after = strrchr(text, ')');
	if (!after || sscanf(after + 1,
			     " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
			     " %" SCNu64 " %" SCNu64 " %*d %*d %*d %*d %" SCNu64 " %*u %ld",
			     &user, &system, &children_user, &children_system, &start, &pages) != 6)
		return false;
	if (process->pid != pid)
		process->ended_ns = process->cpu_ns;
	if (!process->start_ns)
		process->start_ns = start_of(clock, start * tick_ns);
	process->pid = pid;
	process->cpu_ns =
		process->ended_ns + (user + system + children_user + children_system) * tick_ns;
	process->resident_bytes = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return true;
}

#define SECONDS(name_, otlp_name_, help_)                                             \
	{                                                                             \
		.name = name_ "_seconds", .otlp_name = otlp_name_, .unit = "seconds", \
		.otlp_unit = "ns", .help = help_, .is_ns = true                       \
	}
#define SECONDS_GAUGE(name_, otlp_name_, help_)                                       \
	{                                                                             \
		.name = name_ "_seconds", .otlp_name = otlp_name_, .unit = "seconds", \
		.otlp_unit = "ns", .help = help_, .is_ns = true, .type = METRIC_GAUGE \
	}
#define BYTES(name_, otlp_name_, type_, help_)                                    \
	{                                                                         \
		.name = name_ "_bytes", .otlp_name = otlp_name_, .unit = "bytes", \
		.otlp_unit = "By", .help = help_, .type = type_                   \
	}
#define COUNT(name_, otlp_name_, what_, type_, help_)                                           \
	{                                                                                       \
		.name = name_, .otlp_name = otlp_name_, .unit = "", .otlp_unit = "{" what_ "}", \
		.help = help_, .type = type_                                                    \
	}

/* ---- processes ---- */

static const struct {
	size_t member;
	struct metric_family family;
} process_families[] = {
	{offsetof(struct own_process, cpu_ns),
	 SECONDS("duet_own_cpu", "duet.own.cpu", "Processor time of duet's own processes")},
	{offsetof(struct own_process, resident_bytes),
	 BYTES("duet_own_resident", "duet.own.resident", METRIC_GAUGE,
	       "Memory of duet's own processes")},
};

static uint64_t member_of(const void *object, size_t offset)
{
	uint64_t value;

	memcpy(&value, (const char *)object + offset, sizeof(value));
	return value;
}

static void visit_processes(const struct own *own, const struct metric_visitor *visitor)
{
	for (size_t i = 0; i < ARRAY_COUNT(process_families); i++) {
		const struct metric_family *family = &process_families[i].family;

		visitor->on_family(visitor->context, family);
		for (size_t k = 0; k < OWN_ROLES; k++) {
			const struct own_process *process = &own->processes[k];
			const struct metric_point point = {
				.labels = {{"role", process->role}},
				.labels_count = 1,
				.value = member_of(process, process_families[i].member),
				.born_ns = process->start_ns};

			if (process->role)
				visitor->on_point(visitor->context, family, &point);
		}
	}
}

/* ---- spool and reading ---- */

static const struct {
	size_t member;
	struct metric_family family;
} spool_families[] = {
	{offsetof(struct endpoints_spool, files),
	 COUNT("duet_spool_files", "duet.spool.files", "file", METRIC_GAUGE,
	       "Recordings in the spool folder")},
	{offsetof(struct endpoints_spool, bytes),
	 BYTES("duet_spool_used", "duet.spool.used", METRIC_GAUGE, "Size of the spool folder")},
	{offsetof(struct endpoints_spool, max_bytes),
	 BYTES("duet_spool_limit", "duet.spool.limit", METRIC_GAUGE,
	       "Limit of the size of the spool folder")},
	{offsetof(struct endpoints_spool, added),
	 COUNT("duet_spool_files_added", "duet.spool.files.added", "file", METRIC_COUNTER,
	       "Recordings that were added to the spool folder")},
	{offsetof(struct endpoints_spool, dropped),
	 COUNT("duet_spool_files_dropped", "duet.spool.files.dropped", "file", METRIC_COUNTER,
	       "Oldest recordings that were removed from the spool folder")},
	{offsetof(struct endpoints_spool, dropped_bytes),
	 BYTES("duet_spool_dropped", "duet.spool.dropped", METRIC_COUNTER,
	       "Size of the recordings that were removed")},
	{offsetof(struct endpoints_spool, skipped),
	 COUNT("duet_spool_files_skipped", "duet.spool.files.skipped", "file", METRIC_COUNTER,
	       "Recordings that could not be written")},
	{offsetof(struct endpoints_spool, skipped_ns),
	 SECONDS("duet_spool_skipped", "duet.spool.skipped",
		 "Time of the recordings that could not be written")},
};

static const struct {
	size_t member;
	struct metric_family family;
} reading_families[] = {
	{offsetof(struct own, analysis_ns),
	 SECONDS("duet_own_analysis", "duet.own.analysis",
		 "Time that the endpoints spent with reading the recording")},
	{offsetof(struct own, behind_ns),
	 SECONDS_GAUGE("duet_own_behind", "duet.own.behind",
		       "Age of the newest second that the counters contain")},
};

static void visit_value(const struct metric_family *family, uint64_t value, uint64_t born_ns,
			const struct metric_visitor *visitor)
{
	const struct metric_point point = {.value = value, .born_ns = born_ns};

	visitor->on_family(visitor->context, family);
	visitor->on_point(visitor->context, family, &point);
}

/* ---- pushes ---- */

static const struct {
	const char *result; /* NULL: no label */
	size_t member;
} push_results[] = {
	{"sent", offsetof(struct push_counts, sent)},
	{"dropped_full", offsetof(struct push_counts, dropped_full)},
	{"dropped_old", offsetof(struct push_counts, dropped_old)},
	{"dropped_refused", offsetof(struct push_counts, dropped_refused)},
	{"dropped_slow", offsetof(struct push_counts, dropped_slow)},
	{"dropped_failed", offsetof(struct push_counts, dropped_failed)},
};

static const struct metric_family results_family = COUNT(
	"duet_pushes", "duet.pushes", "push", METRIC_COUNTER, "Pushes that ended, by their result");
static const struct metric_family retries_family =
	COUNT("duet_push_retries", "duet.push.retries", "push", METRIC_COUNTER,
	      "Pushes that failed and are repeated");
static const struct metric_family sent_family =
	BYTES("duet_push_sent", "duet.push.sent", METRIC_COUNTER, "Bytes of accepted pushes");
static const struct metric_family waiting_family = COUNT(
	"duet_push_waiting", "duet.push.waiting", "push", METRIC_GAUGE, "Pushes that are waiting");
static const struct metric_family on_family =
	COUNT("duet_push_enabled", "duet.push.enabled", "push", METRIC_GAUGE,
	      "1: the receiver takes this kind of data; 0: it does not, and nothing is sent");

static void visit_results(const struct own *own, const struct metric_visitor *visitor)
{
	visitor->on_family(visitor->context, &results_family);
	for (size_t i = 0; i < own->streams_count; i++)
		for (size_t k = 0; k < ARRAY_COUNT(push_results); k++) {
			const struct own_stream *stream = &own->streams[i];
			const struct metric_point point = {
				.labels = {{"stream", stream->name},
					   {"result", push_results[k].result}},
				.labels_count = 2,
				.value = member_of(&stream->counts, push_results[k].member),
				.born_ns = own->start_ns};

			visitor->on_point(visitor->context, &results_family, &point);
		}
}

static void visit_stream_values(const struct own *own, const struct metric_family *family,
				uint64_t (*read)(const struct own_stream *stream),
				const struct metric_visitor *visitor)
{
	visitor->on_family(visitor->context, family);
	for (size_t i = 0; i < own->streams_count; i++) {
		const struct metric_point point = {.labels = {{"stream", own->streams[i].name}},
						   .labels_count = 1,
						   .value = read(&own->streams[i]),
						   .born_ns = own->start_ns};

		visitor->on_point(visitor->context, family, &point);
	}
}

static uint64_t retries_of(const struct own_stream *stream)
{
	return stream->counts.retries;
}

static uint64_t sent_bytes_of(const struct own_stream *stream)
{
	return stream->counts.sent_bytes;
}

static uint64_t waiting_of(const struct own_stream *stream)
{
	return stream->counts.waiting;
}

static uint64_t is_on_of(const struct own_stream *stream)
{
	return stream->is_on;
}

void own_visit(const struct own *own, const struct metric_visitor *visitor)
{
	visit_processes(own, visitor);
	for (size_t i = 0; i < ARRAY_COUNT(reading_families); i++)
		visit_value(&reading_families[i].family, member_of(own, reading_families[i].member),
			    own->start_ns, visitor);
	for (size_t i = 0; own->has_spool && i < ARRAY_COUNT(spool_families); i++)
		visit_value(&spool_families[i].family,
			    member_of(&own->spool, spool_families[i].member), own->spool.start_ns,
			    visitor);
	visit_results(own, visitor);
	visit_stream_values(own, &retries_family, retries_of, visitor);
	visit_stream_values(own, &sent_family, sent_bytes_of, visitor);
	visit_stream_values(own, &waiting_family, waiting_of, visitor);
	visit_stream_values(own, &on_family, is_on_of, visitor);
}
