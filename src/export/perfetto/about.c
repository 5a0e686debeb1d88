/* SPDX-License-Identifier: MIT
 *
 * export/perfetto/about.c - describe the recording in a Perfetto trace: completeness, ledger,
 * clocks
 *
 * Runs in:  our own process
 * Gets:     a model
 * Gives:    clock snapshots and instants on the track "duet"
 * Owns:     nothing
 * Fails:    -ENOMEM, errors of writing
 * Why the checksums of all chunks are checked first: the start of the file states whether the
 *           recording is complete, but most chunks are decoded only after it is written.
 */
#include "export/perfetto/about.h"

#include "analyze/analysis.h"
#include "analyze/ledger.h"
#include "analyze/model.h"
#include "base/array.h"
#include "export/perfetto/packets.h"
#include "perfetto_trace.numbers.h"

void about_window(struct about *about, const struct model *model, const struct order *order)
{
	uint64_t first = order_begin_ns(order), end_ns;
	const void *hosts = NULL;

	model_window(model, order, &about->window_begin_ns, &end_ns);
	about->begin_ns = first < about->window_begin_ns ? first : about->window_begin_ns;
	about->has_begin = first != UINT64_MAX || model_entities(model, EVENT_HOST, &hosts);
	about->end_ns = end_ns;
	about->has_end = end_ns != UINT64_MAX && end_ns > about->begin_ns;
}

/* ---- clocks ---- */

static const struct {
	uint32_t type;
	unsigned int number; /* Perfetto's number of the clock */
} host_clocks[] = {
	{CLOCK_TYPE_REALTIME, PF_BUILTIN_CLOCK_REALTIME},
	{CLOCK_TYPE_MONOTONIC_RAW, PF_BUILTIN_CLOCK_MONOTONIC_RAW},
	{CLOCK_TYPE_BOOTTIME, PF_BUILTIN_CLOCK_BOOTTIME},
};

static void put_clock(struct packets *packets, unsigned int number, uint64_t time_ns)
{
	size_t clock = protobuf_begin(&packets->packet, PF_CLOCK_SNAPSHOT_CLOCKS);

	protobuf_u64(&packets->packet, PF_CLOCK_CLOCK_ID, number);
	protobuf_u64(&packets->packet, PF_CLOCK_TIMESTAMP, time_ns);
	protobuf_end(&packets->packet, clock);
}

static bool can_be_shown(const struct clocks_domain *domain)
{
	return domain->certificate.method != CLOCK_METHOD_NONE && !domain->certificate.violations;
}

/* The first or last domain of a type; after a suspend of the machine there are several. */
static const struct clocks_domain *find_domain(const struct model *model, uint32_t type,
					       bool is_last)
{
	const struct clocks_domain *found = NULL;

	for (size_t i = 0; i < clocks_count(model->clocks); i++) {
		const struct clocks_domain *domain = clocks_at(model->clocks, i);

		if (domain->clock.type == type && can_be_shown(domain) && (!found || is_last))
			found = domain;
	}
	return found;
}

void about_boottime(const struct about *about, const struct model *model, uint64_t *ret_host_ns,
		    uint64_t *ret_boot_ns)
{
	const struct clocks_domain *domain = find_domain(model, CLOCK_TYPE_BOOTTIME, false);

	*ret_host_ns = about->begin_ns;
	*ret_boot_ns = domain ? clocks_from_host(model->clocks, domain->id, about->begin_ns)
			      : about->begin_ns;
}

/* The viewer converts the times of switches by CLOCK_BOOTTIME. If the trace lacks it, it is written
 * as on a machine that was never suspended: equal to CLOCK_MONOTONIC. */
static bool needs_boottime(const struct model *model)
{
	return model_has(model, EVENT_SWITCH) && !find_domain(model, CLOCK_TYPE_BOOTTIME, false);
}

/* Host clocks are in ns, which is Perfetto's default unit. */
static void put_clocks(const struct model *model, struct packets *packets, uint64_t host_ns,
		       bool is_last)
{
	put_clock(packets, PF_BUILTIN_CLOCK_MONOTONIC, host_ns);
	for (size_t i = 0; i < ARRAY_COUNT(host_clocks); i++) {
		const struct clocks_domain *domain =
			find_domain(model, host_clocks[i].type, is_last);

		if (domain)
			put_clock(packets, host_clocks[i].number,
				  clocks_from_host(model->clocks, domain->id, host_ns));
	}
	if (needs_boottime(model))
		put_clock(packets, PF_BUILTIN_CLOCK_BOOTTIME, host_ns);
}

/* Writes a clock snapshot. Without a time it still sets the file's primary clock. */
static int write_snapshot(const struct model *model, struct packets *packets,
			  const uint64_t *host_ns, bool is_last)
{
	struct protobuf *packet = &packets->packet;
	size_t snapshot;

	packets_begin(packets);
	snapshot = protobuf_begin(packet, PF_TRACE_PACKET_CLOCK_SNAPSHOT);
	if (host_ns)
		put_clocks(model, packets, *host_ns, is_last);
	protobuf_u64(packet, PF_CLOCK_SNAPSHOT_PRIMARY_TRACE_CLOCK, PF_BUILTIN_CLOCK_MONOTONIC);
	protobuf_end(packet, snapshot);
	return packets_end(packets);
}

int about_write_begin(const struct about *about, const struct model *model, struct packets *packets)
{
	return write_snapshot(model, packets, about->has_begin ? &about->begin_ns : NULL, false);
}

int about_write_end(const struct about *about, const struct model *model, struct packets *packets)
{
	return about->has_end ? write_snapshot(model, packets, &about->end_ns, true) : 0;
}

static void begin_instant(const struct about *about, struct packets *packets, uint64_t track,
			  const char *what, const char *which)
{
	char name[256];

	snprintf(name, sizeof(name), *which ? "%s: %s" : "%s", what, which);
	packets_event_begin(packets, about->begin_ns, PF_TYPE_INSTANT, track);
	packets_category(packets, CATEGORY_META);
	packets_name(packets, name);
}

static int write_clock(const struct about *about, const struct model *model,
		       struct packets *packets, uint64_t track, const struct clocks_domain *domain)
{
	const struct clock_certificate *certificate = &domain->certificate;
	const struct clocks_domain *same =
		certificate->candidate >= 0
			? clocks_at(model->clocks, (size_t)certificate->candidate)
			: NULL;

	begin_instant(about, packets, track, "clock",
		      clocks_name(model->clocks, model->reader, domain));
	packets_constant(packets, KEY_METHOD, clocks_method_name(certificate->method));
	if (same)
		packets_constant(packets, KEY_IS, clocks_name(model->clocks, model->reader, same));
	if (certificate->method != CLOCK_METHOD_NONE) {
		packets_i64(packets, KEY_OFFSET, certificate->offset_ns);
		if (certificate->has_drift)
			packets_i64(packets, KEY_DRIFT, certificate->drift_ppb);
	}
	if (certificate->error_ns != UINT64_MAX)
		packets_u64(packets, KEY_ERROR, certificate->error_ns);
	packets_u64(packets, KEY_BOUNDS, certificate->bounds);
	packets_u64(packets, KEY_VIOLATIONS, certificate->violations);
	return packets_event_end(packets);
}

static int write_clocks(const struct about *about, const struct model *model,
			struct packets *packets, uint64_t track)
{
	int error = 0;

	for (size_t i = 0; i < clocks_count(model->clocks) && !error; i++) {
		const struct clocks_domain *domain = clocks_at(model->clocks, i);

		if (domain->clock.type != CLOCK_TYPE_MONOTONIC)
			error = write_clock(about, model, packets, track, domain);
	}
	return error;
}

/* ---- the recording ---- */

static void put_ledger(struct packets *packets, const struct analysis_ledger *ledger)
{
	packets_group_begin(packets, KEY_LEDGER);
	packets_u64(packets, KEY_LAUNCHED, ledger->launched);
	packets_u64(packets, KEY_EXECUTED, ledger->executed);
	packets_u64(packets, KEY_MATCHED, ledger->matched);
	packets_u64(packets, KEY_NOT_EXECUTED, ledger->not_executed);
	packets_u64(packets, KEY_DROPPED, ledger->dropped);
	packets_u64(packets, KEY_REJECTED, ledger->rejected);
	packets_u64(packets, KEY_IN_FLIGHT, ledger->in_flight_at_exit);
	packets_u64(packets, KEY_UNTIMED, ledger->untimed);
	packets_u64(packets, KEY_UNPLACED, ledger->unplaced);
	packets_u64(packets, KEY_ORPHANED, ledger->orphaned);
	packets_u64(packets, KEY_CONTRADICTIONS, ledger->contradictions);
	packets_group_end(packets);
}

static void put_host_text(const struct model *model, struct packets *packets, enum packets_key key,
			  uint32_t string)
{
	const char *text = model_text(model, string, "");

	if (*text)
		packets_text(packets, key, text);
}

static void put_host(const struct model *model, struct packets *packets,
		     const struct event_host *host)
{
	put_host_text(model, packets, KEY_HOST, host->name_string);
	put_host_text(model, packets, KEY_BOOT_ID, host->boot_id_string);
	put_host_text(model, packets, KEY_KERNEL_RELEASE, host->kernel_string);
	put_host_text(model, packets, KEY_CPU, host->cpu_string);
	if (host->end_ns > host->begin_ns)
		packets_u64(packets, KEY_RECORDED, host->end_ns - host->begin_ns);
}

static int write_recording(const struct about *about, const struct model *model,
			   struct packets *packets, uint64_t track,
			   const struct analysis_ledger *ledger)
{
	struct trace_damage damage;
	const struct event_host *hosts;
	const void *rows = NULL;
	size_t count = model_entities(model, EVENT_HOST, &rows);
	int error = 0;

	hosts = rows;
	for (size_t i = 1; i < count && !error; i++) {
		begin_instant(about, packets, track, "host", "");
		put_host(model, packets, &hosts[i]);
		error = packets_event_end(packets);
	}
	if (error)
		return error;
	begin_instant(about, packets, track, "recording", "");
	if (count)
		put_host(model, packets, &hosts[0]);
	trace_reader_check_rows(model->reader);
	trace_reader_damage(model->reader, &damage);
	packets_bool(packets, KEY_COMPLETE,
		     !ledger_is_incomplete(ledger) && model_is_whole(model, &damage));
	put_ledger(packets, ledger);
	if (damage.truncated)
		packets_bool(packets, KEY_TRUNCATED, true);
	if (damage.chunks)
		packets_u64(packets, KEY_DAMAGED_CHUNKS, damage.chunks);
	if (model_dropped_ns(model))
		packets_u64(packets, KEY_LEFT_OUT, model_dropped_ns(model));
	return packets_event_end(packets);
}

/* ---- collectors ---- */

static int write_collectors(const struct about *about, const struct model *model,
			    struct packets *packets, uint64_t track)
{
	const struct event_collector *collectors;
	const void *rows = NULL;
	size_t count = model_entities(model, EVENT_COLLECTOR, &rows);
	int error = 0;

	collectors = rows;
	for (size_t i = 0; i < count && !error; i++) {
		const struct event_collector *row = &collectors[i];
		const struct event_process *process =
			model_entity(model, EVENT_PROCESS, row->process);

		if (row->state == COLLECTOR_AVAILABLE)
			continue;
		begin_instant(about, packets, track, "collector",
			      model_text(model, row->name_string, "[unnamed]"));
		packets_constant(packets, KEY_STATE,
				 row->state == COLLECTOR_PARTIAL ? "partial" : "refused");
		packets_text(packets, KEY_REASON, model_text(model, row->reason_string, ""));
		if (process)
			packets_u64(packets, KEY_PID, process->pid);
		error = packets_event_end(packets);
	}
	return error;
}

int about_write(const struct about *about, const struct model *model, struct packets *packets,
		uint64_t track, const struct analysis_ledger *ledger)
{
	int error;

	if (!about->has_begin)
		return 0;
	error = write_recording(about, model, packets, track, ledger);
	if (!error)
		error = write_clocks(about, model, packets, track);
	return error ? error : write_collectors(about, model, packets, track);
}
