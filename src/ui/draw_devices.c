/* SPDX-License-Identifier: MIT
 *
 * ui/draw_devices.c - the devices at the top of the screen: load, and why they are idle
 *
 * Runs in:  our own process, in duet top
 * Gets:     a snapshot
 * Gives:    two rows per device, a third one with engines where they are counted
 * Owns:     nothing
 * Fails:    never; devices that do not fit are counted in the last row
 * Why the place comes first: the reader looks for the line to change. The cause explains it
 */
#include "ui/draw_private.h"

#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "base/string.h"
#include "live/snapshot.h"

enum {
	PERCENT = 8,
	RATE = 11,
	FLIGHT = 10,
	MEMORY = 13,
	POWER = 8,
	GAPS = 6,
	MIN_NAME = 18,
	MAX_NAME = 48,
	MIN_BAR = 8,
	MAX_BAR = 40,
	NOTE_ROWS = 4
};

/* The columns of one screen width. */
struct columns {
	int name, bar, percent, rate, flight, memory, power;
};

static struct columns columns_of(int width)
{
	struct columns columns = {.name = MIN_NAME, .bar = MIN_BAR};
	int rest = width - (MIN_NAME + MIN_BAR + PERCENT + RATE + FLIGHT + MEMORY + POWER);

	while (rest > 0 && (columns.name < MAX_NAME || columns.bar < MAX_BAR)) {
		if (columns.name < MAX_NAME && (rest % 2 || columns.bar == MAX_BAR))
			columns.name++;
		else if (columns.bar < MAX_BAR)
			columns.bar++;
		else
			columns.name++;
		rest--;
	}
	columns.percent = columns.name + columns.bar;
	columns.rate = columns.percent + PERCENT;
	columns.flight = columns.rate + RATE;
	columns.memory = columns.flight + FLIGHT;
	columns.power = columns.memory + MEMORY;
	return columns;
}

static double share_of(const struct live_snapshot *snapshot, uint64_t ns)
{
	const uint64_t wall_ns = snapshot->end_ns - snapshot->begin_ns;

	return wall_ns ? (double)ns / (double)wall_ns : 0;
}

/* ---- counters of a device -------------------------------------------------------------------- */

static const struct live_metric *find_metric(const struct live_snapshot *snapshot, uint32_t device,
					     const char *name)
{
	for (size_t i = 0; i < snapshot->metrics_count; i++) {
		const struct live_metric *metric = &snapshot->metrics[i];

		if (metric->device == device && metric->process == LIVE_NO_INDEX &&
		    strcmp(metric->name, name) == 0)
			return metric;
	}
	return NULL;
}

/* The unit is the one that `duet report` shows. */
static void put_metric(struct canvas *canvas, int row, int column, int width,
		       const struct live_metric *metric)
{
	char text[48] = "-";

	if (metric)
		snprintf(text, sizeof(text), "%.*f %s", metric->mean < 10 ? 1 : 0, metric->mean,
			 metric->unit);
	canvas_put_right(canvas, row, column, width, STYLE_PLAIN, text);
}

static const struct live_metric *find_power(const struct live_snapshot *snapshot, uint32_t device)
{
	static const char *const names[] = {"gpu.power", "gpu.power.average", "gpu.energy"};
	const struct live_metric *metric = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !metric; i++)
		metric = find_metric(snapshot, device, names[i]);
	return metric;
}

/* "engines: rcs0 41 %, bcs0 3 %"; "" without counters of engines. */
static void format_engines(const struct live_snapshot *snapshot, uint32_t device, char *ret_text,
			   size_t size)
{
	size_t used = 0;

	*ret_text = '\0';
	for (size_t i = 0; i < snapshot->metrics_count && used < size; i++) {
		const struct live_metric *metric = &snapshot->metrics[i];

		if (metric->device != device || strcmp(metric->name, "gpu.engine.busy") != 0)
			continue;
		used += (size_t)snprintf(
			ret_text + used, size - used, "%s%s %.0f %s",
			used ? ", " : "engines: ", *metric->instance ? metric->instance : "engine",
			metric->mean, metric->unit);
	}
}

/* ---- idle time ------------------------------------------------------------------------------- */

/* The cause with most of the time after those that are larger than `below_ns`; CAUSE_COUNT: none.
 * Equal ones are told apart by their number. */
static unsigned int next_cause(const struct live_device *device, unsigned int before)
{
	unsigned int best = CAUSE_COUNT;

	for (unsigned int cause = 0; cause < CAUSE_COUNT; cause++) {
		const uint64_t ns = device->causes[cause];
		const bool is_later = before == CAUSE_COUNT || ns < device->causes[before] ||
				      (ns == device->causes[before] && cause > before);

		if (ns && is_later && (best == CAUSE_COUNT || ns > device->causes[best]))
			best = cause;
	}
	return best;
}

static const char *cause_text(unsigned int cause)
{
	return cause == CAUSE_UNKNOWN ? "not known why"
				      : account_cause_text((enum account_cause)cause);
}

static void append_cause(const struct live_snapshot *snapshot, const struct live_device *device,
			 unsigned int cause, bool is_first, struct string_builder *text)
{
	const double percent = 100 * share_of(snapshot, device->causes[cause]);

	if (!is_first)
		string_builder_append(text, "; ");
	else if (*device->place)
		string_builder_appendf(text, "%s: ", device->place);
	string_builder_appendf(text, "%s %.*f %%", cause_text(cause), percent < 10 ? 1 : 0,
			       percent);
}

/* The place and the largest cause, then other causes above 0.5 % of the time. */
static void append_causes(const struct live_snapshot *snapshot, const struct live_device *device,
			  struct string_builder *text)
{
	const uint64_t least_ns = (snapshot->end_ns - snapshot->begin_ns) / 200;
	unsigned int cause = next_cause(device, CAUSE_COUNT);

	for (bool is_first = true; cause != CAUSE_COUNT; is_first = false) {
		if (!is_first && device->causes[cause] < least_ns)
			return;
		append_cause(snapshot, device, cause, is_first, text);
		cause = next_cause(device, cause);
	}
}

static void put_idle(struct canvas *canvas, int row, const struct live_snapshot *snapshot,
		     const struct live_device *device)
{
	const double idle = 100 * share_of(snapshot, device->idle_ns);
	struct string_builder text = {0};
	char head[32];
	int used;

	if (!device->is_measured) {
		canvas_put(canvas, row, 3, canvas->columns - 3, STYLE_FAINT,
			   "load not known: no command of it has times");
		return;
	}
	if (!device->idle_ns) {
		canvas_put(canvas, row, 3, canvas->columns - 3, STYLE_FAINT, "never idle");
		return;
	}
	snprintf(head, sizeof(head), "idle %.*f %%  ", idle < 10 ? 1 : 0, idle);
	used = canvas_put(canvas, row, 3, canvas->columns - 3, STYLE_PLAIN, head);
	append_causes(snapshot, device, &text);
	canvas_put(canvas, row, 3 + used, canvas->columns - 3 - used, STYLE_CAUSE,
		   string_builder_text(&text));
	string_builder_fini(&text);
}

/* ---- a device -------------------------------------------------------------------------------- */

static void put_load(struct canvas *canvas, int row, const struct columns *columns,
		     const struct live_snapshot *snapshot, const struct live_device *device)
{
	const uint64_t other_ns = device->busy_ns - device->kernel_ns - device->copy_ns;
	const struct canvas_part parts[] = {{share_of(snapshot, device->kernel_ns), STYLE_KERNEL},
					    {share_of(snapshot, device->copy_ns), STYLE_COPY},
					    {share_of(snapshot, other_ns), STYLE_OTHER}};
	char text[16] = "-";

	if (device->is_measured) {
		canvas_put_bar(canvas, row, columns->name, columns->bar, parts, 3);
		snprintf(text, sizeof(text), "%.1f %%", 100 * share_of(snapshot, device->busy_ns));
	}
	canvas_put_right(canvas, row, columns->percent, PERCENT, STYLE_PLAIN, text);
}

static void put_device(struct canvas *canvas, int row, const struct columns *columns,
		       const struct live_snapshot *snapshot, uint32_t index)
{
	const struct live_device *device = &snapshot->devices[index];
	const double seconds = (double)(snapshot->end_ns - snapshot->begin_ns) / 1e9;
	char text[32];

	canvas_put(canvas, row, 1, columns->name - 2, STYLE_PLAIN, device->name);
	put_load(canvas, row, columns, snapshot, device);
	snprintf(text, sizeof(text), "%.0f",
		 (double)device->launches / (seconds > 0 ? seconds : 1));
	canvas_put_right(canvas, row, columns->rate, RATE, STYLE_PLAIN, text);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)device->in_flight);
	canvas_put_right(canvas, row, columns->flight, FLIGHT, STYLE_PLAIN, text);
	put_metric(canvas, row, columns->memory, MEMORY,
		   find_metric(snapshot, index, "gpu.memory.used"));
	put_metric(canvas, row, columns->power, POWER, find_power(snapshot, index));
	put_idle(canvas, row + 1, snapshot, device);
}

static int rows_of(const struct live_snapshot *snapshot, uint32_t device)
{
	char engines[16];

	format_engines(snapshot, device, engines, sizeof(engines));
	return *engines ? 3 : 2;
}

/* Length of the first line of a text that is broken at blanks. */
static size_t line_length(const char *text, size_t width)
{
	size_t length = strlen(text);

	if (length <= width)
		return length;
	for (length = width; length && text[length] != ' ';)
		length--;
	return length ? length : width;
}

static int put_note(struct canvas *canvas, int row, int end, const char *note)
{
	const size_t width = canvas->columns > 2 ? (size_t)canvas->columns - 2 : 1;

	canvas_put(canvas, row++, 1, (int)width, STYLE_FAINT, "no device so far");
	while (*note && row < end) {
		const size_t length = line_length(note, width);
		char line[512];

		snprintf(line, sizeof(line), "%.*s", (int)length, note);
		canvas_put(canvas, row++, 1, (int)width, STYLE_WARNING, line);
		note += length + (note[length] == ' ');
	}
	return row;
}

int ui_devices_rows(const struct live_snapshot *snapshot)
{
	int rows = snapshot->devices_count ? 1 : 1 + NOTE_ROWS;

	for (uint32_t i = 0; i < snapshot->devices_count; i++)
		rows += rows_of(snapshot, i);
	return rows;
}

static void put_heading(struct canvas *canvas, int row, const struct columns *columns)
{
	canvas_paint(canvas, row, 0, canvas->columns, STYLE_HEADING);
	canvas_put(canvas, row, 1, columns->name - 2, STYLE_HEADING, "DEVICE");
	canvas_put(canvas, row, columns->name, columns->bar, STYLE_HEADING, "BUSY");
	canvas_put_right(canvas, row, columns->rate, RATE, STYLE_HEADING, "LAUNCHES/s");
	canvas_put_right(canvas, row, columns->flight, FLIGHT, STYLE_HEADING, "IN FLIGHT");
	canvas_put_right(canvas, row, columns->memory, MEMORY, STYLE_HEADING, "MEMORY");
	canvas_put_right(canvas, row, columns->power, POWER, STYLE_HEADING, "POWER");
}

int ui_draw_devices(struct canvas *canvas, int row, int max_rows,
		    const struct live_snapshot *snapshot, const char *note)
{
	const struct columns columns = columns_of(canvas->columns);
	const int first = row;
	uint32_t i = 0;
	char text[256];

	put_heading(canvas, row++, &columns);
	for (; i < snapshot->devices_count; i++) {
		const int rows = rows_of(snapshot, i);
		const bool is_last = i + 1 == snapshot->devices_count;

		if (row + rows + !is_last > first + max_rows)
			break;
		put_device(canvas, row, &columns, snapshot, i);
		format_engines(snapshot, i, text, sizeof(text));
		canvas_put(canvas, row + 2, 3, canvas->columns - 3, STYLE_PLAIN, text);
		row += rows;
	}
	if (i < snapshot->devices_count) {
		snprintf(text, sizeof(text), "… %zu more: enlarge the window",
			 snapshot->devices_count - i);
		canvas_put(canvas, row++, 1, canvas->columns - 1, STYLE_FAINT, text);
	}
	if (!snapshot->devices_count)
		row = put_note(canvas, row, first + max_rows, note);
	return row - first;
}
