/* SPDX-License-Identifier: MIT
 *
 * live/snapshot_kernels.c - the kernels and call stacks of a snapshot
 *
 * Runs in:  our own process, in the viewer of a running recording
 * Gets:     kernels and paths of an analysis
 * Gives:    kernels, the largest share first, of all processes or of one; launching stacks
 * Owns:     rows while they are sorted
 * Fails:    -ENOMEM
 * Why kernels of a process come from paths: an analysis counts kernels by device. Its paths are
 *           separate for each process if it was made by_thread. They lack the longest execution,
 *           which live/watch.c finds while the analysis runs
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/frames.h"
#include "analyze/model.h"
#include "base/array.h"
#include "base/number.h"
#include "base/pair_map.h"
#include "base/string.h"
#include "live/snapshot_private.h"

enum { DEFAULT_STACKS = 200 };

/* ---- kernels --------------------------------------------------------------------------------- */

/* Borrowed names. */
struct kernel_row {
	const char *name;
	size_t device;
	uint64_t count, share_ns, total_ns, max_ns;
};

struct kernel_rows {
	struct kernel_row *all;
	size_t count, capacity;
};

static int compare_kernels(const void *left, const void *right)
{
	const struct kernel_row *a = left, *b = right;

	if (a->share_ns != b->share_ns)
		return a->share_ns < b->share_ns ? 1 : -1;
	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	return strcmp(a->name, b->name);
}

static int list_all_kernels(const struct analysis *analysis, struct kernel_rows *rows)
{
	int error = 0;

	for (size_t i = 0; i < analysis->kernels_count && !error; i++) {
		const struct analysis_kernel *kernel = &analysis->kernels[i];

		error = array_append(
			rows->all, rows->capacity, rows->count,
			(struct kernel_row){.name = *kernel->name ? kernel->name : kernel->symbol,
					    .device = kernel->device,
					    .count = kernel->count,
					    .share_ns = kernel->share_ns,
					    .total_ns = kernel->total_ns,
					    .max_ns = kernel->max_ns});
	}
	return error;
}

static bool is_of_pid(const struct snapshot_maker *maker, const struct analysis_path *path)
{
	return !maker->options->pid || model_pid(maker->analysis->model, path->whom.process) ==
					       (uint32_t)maker->options->pid;
}

static int add_path_kernel(struct kernel_rows *rows, struct pair_map *index,
			   const struct analysis_path *path, uint64_t max_ns)
{
	const uint32_t at =
		pair_map_add(index, path->row, path->device, rows->all, rows->capacity, rows->count,
			     (struct kernel_row){path->name, path->device, 0, 0, 0, 0});

	if (at == PAIR_MAP_NONE)
		return -ENOMEM;
	rows->all[at].count += path->count;
	rows->all[at].share_ns += path->share_ns;
	rows->all[at].total_ns += path->total_ns;
	rows->all[at].max_ns = larger(rows->all[at].max_ns, max_ns);
	return 0;
}

static int list_process_kernels(const struct snapshot_maker *maker, struct kernel_rows *rows)
{
	const struct analysis *analysis = maker->analysis;
	struct pair_map index = {0};
	int error = 0;

	for (size_t i = 0; i < analysis->paths_count && !error; i++) {
		const struct analysis_path *path = &analysis->paths[i];

		if (path->name && path->class == ACCOUNT_KERNEL && path->count &&
		    is_of_pid(maker, path))
			error = add_path_kernel(rows, &index, path,
						i < maker->options->path_max_count
							? maker->options->path_max_ns[i]
							: 0);
	}
	pair_map_fini(&index);
	return error;
}

/* Sums up the rows from `kept` on, one row per device. They are sorted by device in place of the
 * rows that they replace. */
static void sum_up_others(struct kernel_rows *rows, size_t kept)
{
	size_t used = kept;

	for (size_t i = kept; i < rows->count; i++) {
		const struct kernel_row row = rows->all[i];
		size_t at = kept;

		while (at < used && rows->all[at].device != row.device)
			at++;
		if (at == used)
			rows->all[used++] =
				(struct kernel_row){.name = "other", .device = row.device};
		rows->all[at].count += row.count;
		rows->all[at].share_ns += row.share_ns;
		rows->all[at].total_ns += row.total_ns;
		if (row.max_ns > rows->all[at].max_ns)
			rows->all[at].max_ns = row.max_ns;
	}
	rows->count = used;
}

static int keep_kernels(struct snapshot_maker *maker, const struct kernel_rows *rows)
{
	struct live_snapshot *snapshot = maker->snapshot;

	snapshot->kernels = calloc(rows->count + 1, sizeof(*snapshot->kernels));
	if (!snapshot->kernels)
		return -ENOMEM;
	for (size_t i = 0; i < rows->count; i++) {
		const struct kernel_row *row = &rows->all[i];

		snapshot->kernels[i] = (struct live_kernel){
			.name = snapshot_keep_text(*row->name ? row->name : "[kernel]"),
			.device = maker_device(maker, row->device),
			.count = row->count,
			.share_ns = row->share_ns,
			.total_ns = row->total_ns,
			.max_ns = row->max_ns};
		snapshot->kernels_count++;
		if (!snapshot->kernels[i].name)
			return -ENOMEM;
	}
	return 0;
}

int snapshot_add_kernels(struct snapshot_maker *maker)
{
	const size_t max = maker->options->max_kernels;
	struct kernel_rows rows = {0};
	int error = maker->options->pid ? list_process_kernels(maker, &rows)
					: list_all_kernels(maker->analysis, &rows);

	if (!error && rows.count) {
		qsort(rows.all, rows.count, sizeof(*rows.all), compare_kernels);
		if (max && rows.count > max)
			sum_up_others(&rows, max);
	}
	if (!error)
		error = keep_kernels(maker, &rows);
	free(rows.all);
	return error;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

struct stack_row {
	const struct analysis_path *path; /* the first of its paths */
	uint64_t busy_ns, idle_ns, count;
};

struct stack_rows {
	struct stack_row *all;
	size_t count, capacity;
};

static int compare_stacks(const void *left, const void *right)
{
	const struct stack_row *a = left, *b = right;
	const uint64_t a_ns = a->busy_ns + a->idle_ns, b_ns = b->busy_ns + b->idle_ns;

	if (a_ns != b_ns)
		return a_ns < b_ns ? 1 : -1;
	return (a->path->stack > b->path->stack) - (a->path->stack < b->path->stack);
}

static int add_path(struct stack_rows *rows, struct pair_map *index,
		    const struct analysis_path *path)
{
	const uint32_t at =
		pair_map_add(index, (uint64_t)path->stack << 32 | path->row,
			     (uint64_t)path->whom.process << 32 | path->device, rows->all,
			     rows->capacity, rows->count, (struct stack_row){path, 0, 0, 0});

	if (at == PAIR_MAP_NONE)
		return -ENOMEM;
	rows->all[at].busy_ns += path->share_ns;
	rows->all[at].count += path->count;
	for (unsigned int cause = 0; cause < CAUSE_COUNT; cause++)
		rows->all[at].idle_ns += path->causes[cause];
	return 0;
}

static int list_stacks(const struct snapshot_maker *maker, struct stack_rows *rows)
{
	const struct analysis *analysis = maker->analysis;
	struct pair_map index = {0};
	int error = 0;

	for (size_t i = 0; i < analysis->paths_count && !error; i++)
		if (analysis->paths[i].name && is_of_pid(maker, &analysis->paths[i]))
			error = add_path(rows, &index, &analysis->paths[i]);
	pair_map_fini(&index);
	if (!error && rows->count)
		qsort(rows->all, rows->count, sizeof(*rows->all), compare_stacks);
	return error;
}

/* Frames of Python with file and line, because Python's frames have both in the trace. */
static void append_frame(struct string_builder *text, const struct frame_name *name)
{
	string_builder_appendf(text, "%s%s", text->length ? ";" : "", name->function);
	if (name->class == FRAME_CLASS_PYTHON && name->file && name->line)
		string_builder_appendf(text, " (%s:%u)", path_base(name->file), name->line);
}

/* NULL: out of memory. */
static char *format_stack(struct frames *frames, const struct analysis_path *path)
{
	const struct frame_name *names;
	struct string_builder text = {0};
	char *kept = NULL;
	size_t count, callers;

	if (frames_of_call(frames, path->stack, path->function, &names, &count, &callers))
		return NULL;
	for (size_t i = 0; i < count; i++)
		append_frame(&text, &names[i]);
	if (!text.error)
		kept = snapshot_keep_text(count ? string_builder_text(&text) : frames_none(frames));
	string_builder_fini(&text);
	return kept;
}

static int keep_stack(struct snapshot_maker *maker, struct frames *frames,
		      const struct stack_row *row)
{
	struct live_stack *stack = &maker->snapshot->stacks[maker->snapshot->stacks_count++];
	bool is_own;

	*stack = (struct live_stack){.device = maker_device(maker, row->path->device),
				     .process = maker_process(maker, row->path->whom.process),
				     .text = format_stack(frames, row->path),
				     .kernel = snapshot_keep_text(row->path->name),
				     .busy_ns = row->busy_ns,
				     .idle_ns = row->idle_ns,
				     .count = row->count};
	if (!stack->text || !stack->kernel)
		return -ENOMEM;
	return snapshot_name_place(frames, row->path->stack, stack->place, sizeof(stack->place),
				   &is_own);
}

static int keep_stacks(struct snapshot_maker *maker, const struct stack_rows *rows)
{
	const size_t max = maker->options->max_stacks ? maker->options->max_stacks : DEFAULT_STACKS;
	const size_t count = rows->count < max ? rows->count : max;
	struct frames *frames;
	int error = maker_frames(maker, &frames);

	maker->snapshot->stacks = calloc(count + 1, sizeof(*maker->snapshot->stacks));
	if (!maker->snapshot->stacks)
		return -ENOMEM;
	for (size_t i = 0; i < count && !error; i++)
		error = keep_stack(maker, frames, &rows->all[i]);
	return error;
}

int snapshot_add_stacks(struct snapshot_maker *maker)
{
	struct stack_rows rows = {0};
	int error = list_stacks(maker, &rows);

	if (!error)
		error = keep_stacks(maker, &rows);
	free(rows.all);
	return error;
}
