/* SPDX-License-Identifier: MIT
 *
 * collect/system/net.c - /proc/net/dev: what interfaces received and sent
 *
 * Runs in:  a sampler's thread; it is opened in the main thread
 * Gets:     cumulated bytes and packets of the recorder's own network name space   Gives: them, by interface
 * Owns:     a descriptor
 * Fails:    an interface that went has no row; the 65th is not counted
 * Why no row for the idle: as with disks
 */
#include "base/array.h"
#include "collect/system/formats.h"
#include "collect/source.h"

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
	[RECEIVED] = {"net.receive", "bytes", "received", .kind = METRIC_TOTAL},
	[RECEIVED_PACKETS] = {"net.receive.packets", "packets", "received", .kind = METRIC_TOTAL},
	[RECEIVE_ERRORS] = {"net.receive.errors", "packets", "errs", .kind = METRIC_TOTAL},
	[RECEIVE_DROPS] = {"net.receive.drops", "packets", "drop", .kind = METRIC_TOTAL},
	[SENT] = {"net.transmit", "bytes", "sent", .kind = METRIC_TOTAL},
	[SENT_PACKETS] = {"net.transmit.packets", "packets", "sent", .kind = METRIC_TOTAL},
	[SEND_ERRORS] = {"net.transmit.errors", "packets", "errs", .kind = METRIC_TOTAL},
	[SEND_DROPS] = {"net.transmit.drops", "packets", "drop", .kind = METRIC_TOTAL},
};

/* bytes packets errs drop fifo frame compressed multicast; the same of what was sent from the ninth on */
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
	/* Numbers may follow the colon at once. The two lines of headings have none. */
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

	things_begin_round(&state->things);
	while (netdev_next(&rest, &row)) {
		struct thing *thing;
		bool is_new;

		if (!row.valid)
			continue;
		thing = things_named(&state->things, row.name, row.name_length, &is_new);
		if (thing && is_idle(&row))
			thing_was_born(&state->things, thing, tick->time_ns);
		else if (thing)
			thing_sample(&state->things, thing, tick->time_ns, row.values, row.valid);
	}
	things_end_round(&state->things, tick->time_ns);
}

extern const struct source net_source;
const struct source net_source = {
	.name = "net",
	.file = "/proc/net/dev",
	SOURCE_METRICS(metrics),
	.most_hz = 100,
	.things_most = INTERFACES,
	.own_bytes = sizeof(struct one_file),
	.open = one_file_open,
	.read = read_interfaces,
	.close = one_file_close,
};
