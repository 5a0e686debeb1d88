/* SPDX-License-Identifier: MIT
 *
 * ui/table.c - make the rows of a view, filter and sort them
 *
 * Runs in:  our own process, in duet top
 * Gets:     a snapshot, the state of the screen
 * Gives:    rows of texts
 * Owns:     the rows
 * Fails:    -ENOMEM
 * Why keys: a row moves when the order changes. The chosen row is found again by its key, such as
 *           the pid, so that the mark stays on one process
 */
#include "ui/table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/format.h"
#include "base/string.h"
#include "live/snapshot.h"
#include "ui/idle_text.h"

/* ---- cells ----------------------------------------------------------------------------------- */

static double seconds_of(const struct live_snapshot *snapshot)
{
	const uint64_t wall_ns = snapshot->end_ns - snapshot->begin_ns;

	return wall_ns ? (double)wall_ns / 1e9 : 1;
}

static struct ui_cell cell_text(const char *text)
{
	struct ui_cell cell = {.sort = 0};

	string_make_printable(text, cell.text, sizeof(cell.text));
	return cell;
}

static struct ui_cell cell_number(double value)
{
	struct ui_cell cell = {.sort = value};

	snprintf(cell.text, sizeof(cell.text), "%.*f", value < 10 && value != floor(value) ? 1 : 0,
		 value);
	return cell;
}

static struct ui_cell cell_rate(const struct live_snapshot *snapshot, uint64_t count)
{
	return cell_number((double)count / seconds_of(snapshot));
}

static struct ui_cell cell_share(const struct live_snapshot *snapshot, uint64_t ns)
{
	const double share = (double)ns / 1e9 / seconds_of(snapshot);
	struct ui_cell cell = {.sort = share, .share = share > 1 ? 1 : share};

	snprintf(cell.text, sizeof(cell.text), "%.1f %%", 100 * share);
	return cell;
}

static struct ui_cell cell_time(uint64_t ns)
{
	struct ui_cell cell = {.sort = (double)ns};

	snprintf(cell.text, sizeof(cell.text), "%s", ns ? format_duration(ns).text : "-");
	return cell;
}

static struct ui_cell cell_size(double bytes)
{
	struct ui_cell cell = {.sort = bytes};

	snprintf(cell.text, sizeof(cell.text), "%s", bytes > 0 ? format_size(bytes).text : "-");
	return cell;
}

/* Four digits. */
static struct ui_cell cell_value(double value)
{
	const double size = fabs(value);
	const int digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
	struct ui_cell cell = {.sort = value};

	if (isnan(value))
		return cell_text("-");
	snprintf(cell.text, sizeof(cell.text), "%.*f", digits, value);
	return cell;
}

const char *ui_device_name(const struct live_snapshot *snapshot, uint32_t index, char *ret_text,
			   size_t size)
{
	if (index >= snapshot->devices_count)
		snprintf(ret_text, size, "%s", "");
	else if (snapshot->devices_count > 1)
		snprintf(ret_text, size, "%u: %s", index, snapshot->devices[index].name);
	else
		snprintf(ret_text, size, "%s", snapshot->devices[index].name);
	return ret_text;
}

static struct ui_cell cell_device(const struct live_snapshot *snapshot, uint32_t index)
{
	char name[LIVE_NAME + 16];

	return cell_text(ui_device_name(snapshot, index, name, sizeof(name)));
}

/* ---- rows ------------------------------------------------------------------------------------ */

static uint64_t hash_text(const char *text, uint64_t number)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ number;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash ? hash : 1;
}

/* "python3 train.py --fast": the first two words without their folders. */
static struct ui_cell cell_command(const char *command)
{
	char text[LIVE_NAME];
	size_t used = 0, words = 0;

	for (const char *at = command; *at && used + 1 < sizeof(text);) {
		const size_t length = strcspn(at, " ");
		const char *name = at;

		for (size_t i = 0; words < 2 && i + 1 < length; i++)
			if (at[i] == '/')
				name = at + i + 1;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.*s",
					 words++ ? " " : "", (int)(at + length - name), name);
		at += length + (at[length] == ' ');
	}
	text[used < sizeof(text) ? used : sizeof(text) - 1] = '\0';
	return cell_text(text);
}

static void make_process(const struct live_snapshot *snapshot, size_t index, struct ui_row *row)
{
	const struct live_process *process = &snapshot->processes[index];
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)process->pid);
	snprintf(row->name, sizeof(row->name), "%s", process->name);
	if (process->rank)
		snprintf(row->name, sizeof(row->name), "%s, rank %u", process->name,
			 process->rank - 1);
	row->pid = process->pid;
	row->key = hash_text("process", (uint64_t)process->pid);
	row->cells[1] = cell_share(snapshot, process->busy_ns);
	row->cells[2] = cell_text(pid);
	row->cells[2].sort = -process->pid;
	row->cells[3] = cell_rate(snapshot, process->launches);
	row->cells[4] = cell_share(snapshot, process->calls_ns);
	row->cells[5] =
		process->has_times ? cell_share(snapshot, process->on_cpu_ns) : cell_text("-");
	row->cells[6] =
		process->has_times ? cell_share(snapshot, process->blocked_ns) : cell_text("-");
	row->cells[7] = cell_command(process->command);
}

static void make_kernel(const struct live_snapshot *snapshot, size_t index, struct ui_row *row)
{
	const struct live_kernel *kernel = &snapshot->kernels[index];

	snprintf(row->name, sizeof(row->name), "%s", kernel->name);
	row->key = hash_text(kernel->name, kernel->device);
	row->cells[1] = cell_share(snapshot, kernel->share_ns);
	row->cells[2] = cell_rate(snapshot, kernel->count);
	row->cells[3] = cell_time(kernel->count ? kernel->total_ns / kernel->count : 0);
	row->cells[4] = cell_time(kernel->max_ns);
	row->cells[5] = cell_device(snapshot, kernel->device);
}

static void make_queue(const struct live_snapshot *snapshot, size_t index, struct ui_row *row)
{
	const struct live_queue *queue = &snapshot->queues[index];

	snprintf(row->name, sizeof(row->name), "queue %u", queue->id);
	if (queue->process < snapshot->processes_count)
		snprintf(row->name, sizeof(row->name), "queue %u of %.100s %d", queue->id,
			 snapshot->processes[queue->process].name,
			 (int)snapshot->processes[queue->process].pid);
	row->key = hash_text("queue", queue->id);
	row->cells[1] = cell_value(queue->mean_depth);
	row->cells[2] = cell_number((double)queue->max_depth);
	row->cells[3] = cell_rate(snapshot, queue->launches);
	row->cells[4] = cell_rate(snapshot, queue->executions);
	row->cells[5] = cell_device(snapshot, queue->device);
}

static const char *direction_of(const char *command)
{
	static const struct {
		const char *command, *text;
	} texts[] = {{"read", "read (device to host)"},
		     {"write", "write (host to device)"},
		     {"copy", "copy (on the device)"}};

	for (size_t i = 0; i < ARRAY_COUNT(texts); i++)
		if (strcmp(texts[i].command, command) == 0)
			return texts[i].text;
	return command;
}

static void make_copy(const struct live_snapshot *snapshot, size_t index, struct ui_row *row)
{
	const struct live_copy *copy = &snapshot->copies[index];
	const double bytes = (double)copy->bytes;

	/* A narrow screen has no column of devices. */
	if (snapshot->devices_count > 1 && copy->device < snapshot->devices_count)
		snprintf(row->name, sizeof(row->name), "%u: %s", copy->device,
			 direction_of(copy->name));
	else
		snprintf(row->name, sizeof(row->name), "%s", direction_of(copy->name));
	row->key = hash_text(copy->name, copy->device);
	row->cells[1] = cell_size(bytes / seconds_of(snapshot));
	row->cells[2] = cell_rate(snapshot, copy->count);
	row->cells[3] = cell_size(copy->count ? bytes / (double)copy->count : 0);
	row->cells[4] = cell_share(snapshot, copy->total_ns);
	row->cells[5] = cell_device(snapshot, copy->device);
}

static void make_counter(const struct live_snapshot *snapshot, size_t index, struct ui_row *row)
{
	const struct live_metric *metric = &snapshot->metrics[index];
	char process[UI_CELL], device[24] = "";

	/* As in the report: there are several rows with one name. */
	if (snapshot->devices_count > 1 && metric->device < snapshot->devices_count)
		snprintf(device, sizeof(device), " device %u", metric->device);
	snprintf(row->name, sizeof(row->name), "%s%s%s%s", metric->name,
		 *metric->instance ? " " : "", metric->instance, device);
	row->key = hash_text(row->name, (uint64_t)metric->device << 32 | metric->process);
	row->cells[1] = cell_value(metric->mean);
	row->cells[2] = cell_value(metric->max);
	row->cells[3] = cell_text(metric->unit);
	row->cells[4] = cell_value(metric->limit);
	row->cells[5] = cell_device(snapshot, metric->device);
	if (metric->process >= snapshot->processes_count)
		return;
	snprintf(process, sizeof(process), "%.14s %d", snapshot->processes[metric->process].name,
		 (int)snapshot->processes[metric->process].pid);
	row->cells[5] = cell_text(process);
}

/* As in the report's table: without single processors, zeros and duet's own. */
static bool is_counter_shown(const struct live_metric *metric)
{
	return !metric->cpu && (metric->mean != 0 || metric->max != 0) &&
	       strncmp(metric->name, "duet.", 5) != 0;
}

static void make_idle(const struct live_snapshot *snapshot, size_t index, struct ui_row *row)
{
	const uint32_t at = (uint32_t)(index / CAUSE_COUNT);
	const struct live_device *device = &snapshot->devices[at];
	const enum account_cause cause = (enum account_cause)(index % CAUSE_COUNT);

	ui_idle_text(device, cause, row->name, sizeof(row->name));
	row->key = hash_text("idle", index);
	row->cells[1] = cell_share(snapshot, device->causes[cause]);
	row->cells[2] = cell_device(snapshot, at);
}

static void make_stack(const struct live_snapshot *snapshot, size_t index, struct ui_row *row)
{
	const struct live_stack *stack = &snapshot->stacks[index];

	snprintf(row->name, sizeof(row->name), "%s",
		 *stack->place ? stack->place : "[no function of the program]");
	row->key = hash_text(stack->text, hash_text(stack->kernel, stack->device));
	row->cells[1] = cell_share(snapshot, stack->busy_ns);
	row->cells[2] = cell_share(snapshot, stack->idle_ns);
	row->cells[3] = cell_rate(snapshot, stack->count);
	row->cells[4] = cell_text(stack->kernel);
}

/* ---- the views ------------------------------------------------------------------------------- */

static size_t items_of(const struct live_snapshot *snapshot, enum ui_view view)
{
	const size_t counts[VIEW_COUNT] = {[VIEW_PROCESSES] = snapshot->processes_count,
					   [VIEW_KERNELS] = snapshot->kernels_count,
					   [VIEW_QUEUES] = snapshot->queues_count,
					   [VIEW_COPIES] = snapshot->copies_count,
					   [VIEW_COUNTERS] = snapshot->metrics_count,
					   [VIEW_IDLE] = snapshot->devices_count * CAUSE_COUNT,
					   [VIEW_STACKS] = snapshot->stacks_count};

	return counts[view];
}

static void make_row(const struct live_snapshot *snapshot, enum ui_view view, size_t index,
		     struct ui_row *row)
{
	static void (*const makers[VIEW_COUNT])(const struct live_snapshot *, size_t,
						struct ui_row *) = {
		[VIEW_PROCESSES] = make_process, [VIEW_KERNELS] = make_kernel,
		[VIEW_QUEUES] = make_queue,      [VIEW_COPIES] = make_copy,
		[VIEW_COUNTERS] = make_counter,  [VIEW_IDLE] = make_idle,
		[VIEW_STACKS] = make_stack};

	*row = (struct ui_row){.index = (uint32_t)index};
	makers[view](snapshot, index, row);
}

/* Processes of the recording's other seconds are left out. */
static bool is_active(const struct live_process *process)
{
	return process->busy_ns || process->launches || process->executions || process->calls ||
	       process->on_cpu_ns || process->blocked_ns;
}

/* Whether the view shows a row: not those for other processes or kernels. */
static bool is_shown(const struct live_snapshot *snapshot, enum ui_view view, size_t index,
		     const struct ui_state *state)
{
	if (view == VIEW_COUNTERS && !is_counter_shown(&snapshot->metrics[index]))
		return false;
	if (view == VIEW_IDLE)
		return snapshot->devices[index / CAUSE_COUNT].is_measured &&
		       snapshot->devices[index / CAUSE_COUNT].causes[index % CAUSE_COUNT];
	if (view == VIEW_PROCESSES)
		return is_active(&snapshot->processes[index]);
	if (view == VIEW_STACKS)
		return !*state->kernel || strncmp(snapshot->stacks[index].kernel, state->kernel,
						  sizeof(state->kernel) - 1) == 0;
	if (view == VIEW_QUEUES && state->pid) {
		const uint32_t process = snapshot->queues[index].process;

		return process < snapshot->processes_count &&
		       snapshot->processes[process].pid == state->pid;
	}
	return view != VIEW_KERNELS || snapshot->kernels[index].count;
}

static bool matches(const struct ui_row *row, const char *filter)
{
	if (!*filter || strcasestr(row->name, filter))
		return true;
	for (size_t i = 1; i < UI_COLUMNS; i++)
		if (strcasestr(row->cells[i].text, filter))
			return true;
	return false;
}

struct sorting {
	const struct ui_rows *rows;
	bool is_text;
};

static int compare_in_column(const struct ui_row *a, const struct ui_row *b,
			     const struct sorting *sorting)
{
	const unsigned int column = sorting->rows->column;

	if (!column)
		return strcasecmp(a->name, b->name);
	if (sorting->is_text)
		return strcasecmp(a->cells[column].text, b->cells[column].text);
	return (a->cells[column].sort < b->cells[column].sort) -
	       (a->cells[column].sort > b->cells[column].sort);
}

static int compare_rows(const void *left, const void *right, void *context)
{
	const struct sorting *sorting = context;
	const struct ui_row *a = left, *b = right;
	int order = compare_in_column(a, b, sorting);

	if (sorting->rows->is_reversed)
		order = -order;
	return order ? order : (a->index > b->index) - (a->index < b->index);
}

int ui_table_make(struct ui_table *table, enum ui_view view, const struct live_snapshot *snapshot,
		  const struct ui_state *state)
{
	const struct ui_rows *rows = &state->rows[view];
	struct sorting sorting = {.rows = rows,
				  .is_text = ui_columns(view)[rows->column].kind == COLUMN_LEFT};
	const size_t count = items_of(snapshot, view);
	struct ui_row row;
	int error = 0;

	*table = (struct ui_table){.view = view};
	for (size_t i = 0; i < count && !error; i++) {
		if (!is_shown(snapshot, view, i, state))
			continue;
		make_row(snapshot, view, i, &row);
		if (matches(&row, view == state->view ? state->filter : ""))
			error = array_append(table->rows, table->capacity, table->count, row);
	}
	if (table->count)
		qsort_r(table->rows, table->count, sizeof(*table->rows), compare_rows, &sorting);
	return error;
}

void ui_table_fini(struct ui_table *table)
{
	free(table->rows);
	*table = (struct ui_table){0};
}
