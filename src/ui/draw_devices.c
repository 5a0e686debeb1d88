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
#include "ui/idle_text.h"

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
	NOTE_ROWS = 4,
	MAX_CAUSES = 6,
	TALL = 40 /* rows of a screen on which each cause has a row of its own */
};

/* The columns of one screen width. */
struct columns {
	int name, bar, percent, rate, flight, memory, power;
	bool has_counters; /* memory or power of some device */
};

static struct columns columns_of(int width, bool has_counters)
{
	struct columns columns = {.name = MIN_NAME, .bar = MIN_BAR, .has_counters = has_counters};
	int rest = width - (MIN_NAME + MIN_BAR + PERCENT + RATE + FLIGHT +
			    (has_counters ? MEMORY + POWER : 0));

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
 * The lower number comes first among equal causes. */
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

/* Details of the largest cause: the object of the wait, and since when there was no command.
 * DETAIL_OTHER: it is another cause. */
enum detail { DETAIL_WAIT, DETAIL_SINCE, DETAIL_NONE, DETAIL_OTHER };

static void append_cause(const struct live_snapshot *snapshot, const struct live_device *device,
			 unsigned int cause, enum detail detail, struct string_builder *text)
{
	const bool is_first = detail != DETAIL_OTHER;
	const double percent = 100 * share_of(snapshot, device->causes[cause]);
	char name[96];

	ui_format_cause(device, cause, name, sizeof(name));
	if (!is_first)
		string_builder_append(text, "; ");
	else
		string_builder_appendf(text, "%s%s%s", device->is_so_far ? "so far: " : "",
				       device->place, *device->place ? ": " : "");
	string_builder_append(text, name);
	if (detail == DETAIL_WAIT && *device->wait)
		string_builder_appendf(text, ": %s", device->wait);
	string_builder_appendf(text, " %.*f %%", percent < 10 ? 1 : 0, percent);
	if (is_first && detail != DETAIL_NONE && device->is_so_far && cause != CAUSE_UNKNOWN) {
		ui_format_no_command(device, name, sizeof(name));
		string_builder_appendf(text, " (%s)", name);
	}
}

/* Causes above 0.5 % of the time, at most MAX_CAUSES. */
static size_t list_causes(const struct live_snapshot *snapshot, const struct live_device *device,
			  unsigned int causes[MAX_CAUSES])
{
	const uint64_t least_ns = (snapshot->end_ns - snapshot->begin_ns) / 200;
	unsigned int cause = next_cause(device, CAUSE_COUNT);
	size_t count = 0;

	for (; cause != CAUSE_COUNT && count < MAX_CAUSES; cause = next_cause(device, cause)) {
		if (count && device->causes[cause] < least_ns)
			break;
		causes[count++] = cause;
	}
	return count;
}

/* With as many details as there is room for. */
static void append_first(const struct live_snapshot *snapshot, const struct live_device *device,
			 unsigned int cause, int room, struct string_builder *text)
{
	for (int detail = DETAIL_WAIT; detail <= DETAIL_NONE; detail++) {
		string_builder_fini(text);
		append_cause(snapshot, device, cause, (enum detail)detail, text);
		if (canvas_text_width(string_builder_text(text)) <= room)
			return;
	}
}

/* The place and the largest cause, then the other causes that fit. */
static void append_causes(const struct live_snapshot *snapshot, const struct live_device *device,
			  int room, struct string_builder *text)
{
	unsigned int causes[MAX_CAUSES];
	const size_t count = list_causes(snapshot, device, causes);

	if (count)
		append_first(snapshot, device, causes[0], room, text);
	for (size_t i = 1; i < count; i++) {
		struct string_builder longer = {0};

		string_builder_append(&longer, string_builder_text(text));
		append_cause(snapshot, device, causes[i], DETAIL_OTHER, &longer);
		if (canvas_text_width(string_builder_text(&longer)) <= room) {
			string_builder_fini(text);
			*text = longer;
		} else {
			string_builder_fini(&longer);
		}
	}
}

/* The first command of all may still run. */
static void put_unmeasured(struct canvas *canvas, int row, const struct live_device *device)
{
	char text[128] = "load not known: its commands have no device times (duet report explains "
			 "it)";

	if (!device->executions && device->in_flight && device->in_flight_ns >= UI_LONG_NS) {
		ui_format_long(device, text, sizeof(text));
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "; the load is known when it has ended");
	}
	canvas_put(canvas, row, 3, canvas->columns - 3, STYLE_FAINT, text);
}

static void put_idle(struct canvas *canvas, int row, const struct live_snapshot *snapshot,
		     const struct live_device *device)
{
	const double idle = 100 * share_of(snapshot, device->idle_ns);
	struct string_builder text = {0};
	char head[32];
	int used;

	if (!device->is_measured) {
		put_unmeasured(canvas, row, device);
		return;
	}
	if (!device->idle_ns) {
		canvas_put(canvas, row, 3, canvas->columns - 3, STYLE_FAINT, "never idle");
		return;
	}
	snprintf(head, sizeof(head), "idle %.*f %%  ", idle < 10 ? 1 : 0, idle);
	used = canvas_put(canvas, row, 3, canvas->columns - 3, STYLE_PLAIN, head);
	append_causes(snapshot, device, canvas->columns - 3 - used, &text);
	canvas_put(canvas, row, 3 + used, canvas->columns - 3 - used, STYLE_CAUSE,
		   string_builder_text(&text));
	string_builder_fini(&text);
}

static size_t causes_count(const struct live_snapshot *snapshot, const struct live_device *device)
{
	unsigned int causes[MAX_CAUSES];

	return list_causes(snapshot, device, causes);
}

/* One row per cause: the place first, then the cause and its meaning. Returns the rows. */
static int put_causes(struct canvas *canvas, int row, const struct live_snapshot *snapshot,
		      const struct live_device *device)
{
	unsigned int causes[MAX_CAUSES];
	const size_t count = list_causes(snapshot, device, causes);
	const double idle = 100 * share_of(snapshot, device->idle_ns);
	const int room = canvas->columns - 14;
	char text[96 + LIVE_NAME];
	int at;

	snprintf(text, sizeof(text), "idle %.*f %%, because:", idle < 10 ? 1 : 0, idle);
	canvas_put(canvas, row, 3, canvas->columns - 3, STYLE_PLAIN, text);
	for (size_t i = 0; i < count; i++) {
		const enum account_cause cause = (enum account_cause)causes[i];
		const int line = row + 1 + (int)i;

		snprintf(text, sizeof(text), "%.1f %%",
			 100 * share_of(snapshot, device->causes[cause]));
		canvas_put_right(canvas, line, 3, PERCENT, STYLE_PLAIN, text);
		ui_format_place(device, cause, text, sizeof(text));
		at = canvas_put(canvas, line, 13, room, STYLE_CAUSE, text);
		ui_format_meaning(device, cause, text, sizeof(text));
		canvas_put(canvas, line, 13 + at, room - at, STYLE_FAINT, text);
	}
	return 1 + (int)count;
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
	char text[LIVE_NAME + 16];

	ui_device_name(snapshot, index, text, sizeof(text));
	canvas_put(canvas, row, 1, columns->name - 2, STYLE_PLAIN, text);
	put_load(canvas, row, columns, snapshot, device);
	snprintf(text, sizeof(text), "%.0f",
		 (double)device->launches / (seconds > 0 ? seconds : 1));
	canvas_put_right(canvas, row, columns->rate, RATE, STYLE_PLAIN, text);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)device->in_flight);
	canvas_put_right(canvas, row, columns->flight, FLIGHT, STYLE_PLAIN, text);
	if (!columns->has_counters)
		return;
	put_metric(canvas, row, columns->memory, MEMORY,
		   find_metric(snapshot, index, "gpu.memory.used"));
	put_metric(canvas, row, columns->power, POWER, find_power(snapshot, index));
}

static bool has_counters(const struct live_snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->devices_count; i++)
		if (find_metric(snapshot, i, "gpu.memory.used") || find_power(snapshot, i))
			return true;
	return false;
}

/* All that is shown of a device. Returns the rows that it takes. */
static int put_all(struct canvas *canvas, int row, const struct columns *columns,
		   const struct live_snapshot *snapshot, uint32_t index, bool is_tall)
{
	const struct live_device *device = &snapshot->devices[index];
	const int first = row;
	char engines[256];

	put_device(canvas, row++, columns, snapshot, index);
	format_engines(snapshot, index, engines, sizeof(engines));
	if (*engines)
		canvas_put(canvas, row++, 3, canvas->columns - 3, STYLE_PLAIN, engines);
	if (is_tall && device->is_measured && device->idle_ns)
		return row + put_causes(canvas, row, snapshot, device) - first;
	put_idle(canvas, row++, snapshot, device);
	return row - first;
}

static int rows_of(const struct live_snapshot *snapshot, uint32_t index, bool is_tall)
{
	const struct live_device *device = &snapshot->devices[index];
	char engines[16];
	int rows = 2;

	format_engines(snapshot, index, engines, sizeof(engines));
	if (is_tall && device->is_measured && device->idle_ns)
		rows = 2 + (int)causes_count(snapshot, device);
	return rows + (*engines != '\0');
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

int ui_devices_rows(const struct live_snapshot *snapshot, bool is_tall)
{
	int rows = snapshot->devices_count ? 1 : 1 + NOTE_ROWS;

	for (uint32_t i = 0; i < snapshot->devices_count; i++)
		rows += rows_of(snapshot, i, is_tall);
	return rows;
}

static void put_heading(struct canvas *canvas, int row, const struct columns *columns)
{
	canvas_paint(canvas, row, 0, canvas->columns, STYLE_HEADING);
	canvas_put(canvas, row, 1, columns->name - 2, STYLE_HEADING, "DEVICE");
	canvas_put(canvas, row, columns->name, columns->bar, STYLE_HEADING, "BUSY");
	canvas_put_right(canvas, row, columns->rate, RATE, STYLE_HEADING, "LAUNCHES/s");
	canvas_put_right(canvas, row, columns->flight, FLIGHT, STYLE_HEADING, "IN FLIGHT");
	if (!columns->has_counters)
		return;
	canvas_put_right(canvas, row, columns->memory, MEMORY, STYLE_HEADING, "MEMORY");
	canvas_put_right(canvas, row, columns->power, POWER, STYLE_HEADING, "POWER");
}

int ui_draw_devices(struct canvas *canvas, int row, int max_rows,
		    const struct live_snapshot *snapshot, const char *note)
{
	const struct columns columns = columns_of(canvas->columns, has_counters(snapshot));
	const bool is_tall = max_rows >= ui_devices_rows(snapshot, true) && canvas->rows >= TALL;
	const int first = row;
	uint32_t i = 0;
	char text[256];

	put_heading(canvas, row++, &columns);
	for (; i < snapshot->devices_count; i++) {
		const int rows = rows_of(snapshot, i, is_tall);
		const bool is_last = i + 1 == snapshot->devices_count;

		if (row + rows + !is_last > first + max_rows)
			break;
		row += put_all(canvas, row, &columns, snapshot, i, is_tall);
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
