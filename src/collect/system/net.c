/* SPDX-License-Identifier: MIT
 *
 * collect/system/net.c - /proc/net/dev: traffic of network interfaces
 *
 * Runs in:  a sampler's thread; opened in the main thread
 * Gets:     cumulative bytes and packets of the recorder's own network namespace
 * Gives:    differences per interface
 * Owns:     a descriptor
 * Fails:    a removed interface has no row; the 65th interface is not counted
 * Why:      Idle interfaces have no rows, as idle disks
 */
#include "base/array.h"
#include "collect/counter/source.h"
#include "collect/system/formats.h"
#include "collect/system/sources.h"

enum {
	RECEIVED,
	RECEIVED_PACKETS,
	RECEIVE_ERRORS,
	RECEIVE_DROPS,
	SENT,
	SENT_PACKETS,
	SEND_ERRORS,
	SEND_DROPS
};
enum { INTERFACES = 64 };

static const struct metric metrics[] = {
	[RECEIVED] = {"net.receive", "bytes", "bytes that one network interface received",
		      .kind = METRIC_TOTAL},
	[RECEIVED_PACKETS] = {"net.receive.packets", "packets",
			      "packets that one network interface received", .kind = METRIC_TOTAL},
	[RECEIVE_ERRORS] = {"net.receive.errors", "packets",
			    "packets that one network interface received with errors (errs)",
			    .kind = METRIC_TOTAL},
	[RECEIVE_DROPS] = {"net.receive.drops", "packets",
			   "packets that one network interface received and dropped (drop)",
			   .kind = METRIC_TOTAL},
	[SENT] = {"net.transmit", "bytes", "bytes that one network interface sent",
		  .kind = METRIC_TOTAL},
	[SENT_PACKETS] = {"net.transmit.packets", "packets",
			  "packets that one network interface sent", .kind = METRIC_TOTAL},
	[SEND_ERRORS] = {"net.transmit.errors", "packets",
			 "packets that one network interface failed to send (errs)",
			 .kind = METRIC_TOTAL},
	[SEND_DROPS] = {"net.transmit.drops", "packets",
			"packets that one network interface dropped instead of sending them (drop)",
			.kind = METRIC_TOTAL},
};

/* received: bytes packets errs drop fifo frame compressed multicast; sent: the same, from the ninth
 * column on */
static const int8_t columns[] = {
	RECEIVED, RECEIVED_PACKETS, RECEIVE_ERRORS, RECEIVE_DROPS, -1, -1, -1, -1,
	SENT,     SENT_PACKETS,     SEND_ERRORS,    SEND_DROPS};

bool netdev_next(struct scan *rest, struct format_row *ret_row)
{
	struct format_row row = {0};
	struct scan line;
	const char *colon;
	uint64_t number;

	if (!scan_line(rest, &line))
		return false;
	*ret_row = row;
	scan_blanks(&line);
	/* A number may follow the colon without a blank. The two header lines have no colon. */
	colon = memchr(line.at, ':', (size_t)(line.end - line.at));
	if (!colon)
		return true;
	row.name = line.at;
	row.name_length = (size_t)(colon - line.at);
	line.at = colon + 1;
	for (size_t i = 0; i < ARRAY_COUNT(columns) && scan_u64(&line, &number); i++)
		if (columns[i] >= 0) {
			row.values[columns[i]] = number;
			row.valid |= 1u << columns[i];
		}
	*ret_row = row;
	return true;
}

static bool is_idle(const struct format_row *row)
{
	return !row->values[RECEIVED_PACKETS] && !row->values[SENT_PACKETS];
}

static void read_interfaces(struct source_state *state, struct tick *tick)
{
	long length = tick_read(tick, ((struct one_file *)state->own)->fd);
	struct scan rest = scan_of(tick->text, length > 0 ? (size_t)length : 0);
	struct format_row row;

	metric_instances_begin_round(&state->instances);
	while (netdev_next(&rest, &row)) {
		struct metric_instance *instance;
		bool is_new;

		if (!row.valid || !tick_wants(&tick->choice->interfaces, row.name, row.name_length))
			continue;
		instance = metric_instances_named(&state->instances, row.name, row.name_length,
						  &is_new);
		if (instance && is_idle(&row))
			metric_instance_was_born(&state->instances, instance, tick->time_ns);
		else if (instance)
			metric_instance_sample(&state->instances, instance, tick->time_ns,
					       row.values, row.valid);
	}
	metric_instances_end_round(&state->instances, tick->time_ns);
}

const struct source net_source = {
	.name = "net",
	.file = "/proc/net/dev",
	SOURCE_METRICS(metrics),
	.max_hz = 100,
	.max_instances = INTERFACES,
	.own_bytes = sizeof(struct one_file),
	.open = one_file_open,
	.read = read_interfaces,
	.close = one_file_close,
};
