/* SPDX-License-Identifier: MIT
 *
 * export/perfetto/slice.c - write the packet of a row of the timeline
 *
 * Runs in:  our own process
 * Gets:     a row: call, launch, execution, range or loss
 * Gives:    category, name, flow and arguments in the current event packet
 * Owns:     nothing
 * Fails:    never; errors are kept in the packets
 * Why sizes are not formatted by printf: printf took a twentieth of an export's time
 */
#include "export/perfetto/slice.h"

#include <stdio.h>

#include "analyze/analysis.h"
#include "analyze/join/commands.h"
#include "analyze/model.h"
#include "base/number.h"
#include "export/perfetto/packets.h"
#include "perfetto_trace.numbers.h"

static void put_sizes(struct packets *packets, enum packets_key key, const uint64_t sizes[3],
		      uint32_t count)
{
	char text[80] = "", *at = text + sizeof(text) - 1;

	if (!count || !sizes[0])
		return;
	for (uint32_t i = count < 3 ? count : 3; i-- > 0;) {
		at = number_digits(at, sizes[i]);
		if (i)
			*--at = 'x';
	}
	packets_text(packets, key, at);
}

static void put_command(const struct slice_writer *writer, const struct event_launch *launch)
{
	struct packets *packets = writer->packets;

	if (launch->bytes)
		packets_u64(packets, KEY_BYTES, launch->bytes);
	put_sizes(packets, KEY_GLOBAL, launch->global_size, launch->dimensions);
	put_sizes(packets, KEY_LOCAL, launch->local_size, launch->dimensions);
}

static const char *launch_name(const struct slice_writer *writer, const struct event_launch *launch)
{
	const char *kernel = model_kernel_name(writer->model, launch->kernel);

	if (*kernel)
		return kernel;
	return analysis_command_name(analysis_launch_command(writer->model, launch));
}

static void put_api(const struct slice_writer *writer, const struct slice *slice)
{
	const struct event_api *row = &slice->row.api;
	struct packets *packets = writer->packets;

	packets_category(packets, row->type == API_TYPE_WAIT   ? CATEGORY_WAIT
				  : row->type == API_TYPE_DUET ? CATEGORY_META
							       : CATEGORY_API);
	packets_known_name(packets, model_text(writer->model, row->function_string, "[unknown]"));
	if (row->result)
		packets_i64(packets, KEY_RESULT, row->result);
	if (row->argument)
		packets_u64(packets, KEY_ARGUMENT, row->argument);
}

/* The arguments of the command are written at its execution, or at the launch if it has no
 * execution. */
static void put_launch(const struct slice_writer *writer, const struct slice *slice)
{
	const struct event_launch *row = &slice->row.launch;
	const char *why = verdict_text(slice->verdict);
	struct packets *packets = writer->packets;

	packets_category(packets, CATEGORY_LAUNCH);
	if (row->flags & LAUNCH_BLOCKING)
		packets_category(packets, CATEGORY_WAIT);
	packets_known_name(packets, model_text(writer->model, row->function_string, "[unknown]"));
	if (slice->flow)
		protobuf_fixed64(&packets->packet, PF_TRACK_EVENT_FLOW_IDS, slice->flow);
	packets_known(packets, KEY_COMMAND, launch_name(writer, row));
	if (row->correlation)
		packets_u64(packets, KEY_CORRELATION, row->correlation);
	if (row->result)
		packets_i64(packets, KEY_RESULT, row->result);
	/* a further launch of the same call: a reader must not count the call twice */
	if (row->flags & LAUNCH_FURTHER)
		packets_bool(packets, KEY_FURTHER, true);
	if (why) {
		packets_known(packets, KEY_NO_EXECUTION, why);
		put_command(writer, row);
	}
}

static enum packets_category category_of(const struct slice_writer *writer,
					 const struct slice *slice)
{
	enum account_class class = ACCOUNT_OTHER;

	if (ledger_rejects(&slice->row.execution))
		return CATEGORY_REJECTED;
	if (slice->has_launch)
		class = analysis_class(
			analysis_launch_command(writer->model, &slice->launched.row));
	if (class == ACCOUNT_KERNEL)
		return CATEGORY_KERNEL;
	return class == ACCOUNT_COPY ? CATEGORY_COPY : CATEGORY_OTHER;
}

static void put_delays(const struct slice_writer *writer, const struct slice *slice)
{
	const struct event_execution *row = &slice->row.execution;
	uint64_t enter = slice->has_launch ? slice->launched.row.enter : 0;
	struct packets *packets = writer->packets;

	if (slice->has_launch && row->started >= enter)
		packets_u64(packets, KEY_ENTER_TO_STARTED, row->started - enter);
	if (!(row->valid & EXECUTION_SUBMITTED))
		return;
	if ((row->valid & EXECUTION_QUEUED) && row->submitted >= row->queued)
		packets_u64(packets, KEY_QUEUED_TO_SUBMITTED, row->submitted - row->queued);
	if (row->started >= row->submitted)
		packets_u64(packets, KEY_SUBMITTED_TO_STARTED, row->started - row->submitted);
}

static void put_execution(const struct slice_writer *writer, const struct slice *slice)
{
	const struct event_execution *row = &slice->row.execution;
	const struct executed_launch *launched = &slice->launched;
	struct packets *packets = writer->packets;

	packets_category(packets, category_of(writer, slice));
	packets_known_name(packets,
			   slice->has_launch ? launch_name(writer, &launched->row) : "[no launch]");
	if (slice->has_launch && launched->flow)
		protobuf_fixed64(&packets->packet, PF_TRACK_EVENT_TERMINATING_FLOW_IDS,
				 launched->flow);
	packets_u64(packets, KEY_CORRELATION, row->correlation);
	put_delays(writer, slice);
	if (slice->has_launch)
		put_command(writer, &launched->row);
	else
		packets_known(packets, KEY_NO_LAUNCH, "its launch is not in the trace");
	if (row->status)
		packets_i64(packets, KEY_STATUS, row->status);
	if (row->valid & ORDER_IMPOSSIBLE)
		packets_bool(packets, KEY_IMPOSSIBLE, true);
	if (command_is_estimated(writer->model, row))
		packets_bool(packets, KEY_ESTIMATED, true);
}

static void put_loss(const struct slice_writer *writer, const struct slice *slice)
{
	const struct event_loss *row = &slice->row.loss;
	const struct event_process *process =
		model_entity(writer->model, EVENT_PROCESS, row->process);
	struct packets *packets = writer->packets;
	char name[64];

	snprintf(name, sizeof(name), "lost: %s", analysis_kind_name(row->kind));
	packets_category(packets, CATEGORY_LOSS);
	packets_name(packets, name);
	if (row->count != LOSS_COUNT_UNKNOWN)
		packets_u64(packets, KEY_COUNT_LOST, row->count);
	packets_constant(packets, KEY_REASON, analysis_loss_name(row->reason));
	packets_u64(packets, KEY_DURATION, row->end - row->begin);
	if (process)
		packets_u64(packets, KEY_PID, process->pid);
}

static void put_range(const struct slice_writer *writer, const struct slice *slice)
{
	const struct event_range *row = &slice->row.range;
	struct packets *packets = writer->packets;

	packets_category(packets, CATEGORY_RANGE);
	packets_name(packets, model_range_name(writer->model, row));
	packets_constant(packets, KEY_DOMAIN, model_text(writer->model, row->domain_string, ""));
	if (row->flags & RANGE_OPEN)
		packets_bool(packets, KEY_OPEN, true);
	if (row->flags & RANGE_UNBEGUN)
		packets_bool(packets, KEY_UNBEGUN, true);
}

void slice_write(const struct slice_writer *writer, const struct slice *slice)
{
	switch (slice->kind) {
	case EVENT_API:
		put_api(writer, slice);
		break;
	case EVENT_LAUNCH:
		put_launch(writer, slice);
		break;
	case EVENT_EXECUTION:
		put_execution(writer, slice);
		break;
	case EVENT_RANGE:
		put_range(writer, slice);
		break;
	default:
		put_loss(writer, slice);
	}
}

bool slice_is_instant(const struct slice *slice)
{
	if (slice->kind == EVENT_RANGE)
		return slice->row.range.type == RANGE_MARK;
	return slice->kind != EVENT_API && slice->kind != EVENT_LAUNCH &&
	       slice->kind != EVENT_EXECUTION;
}
