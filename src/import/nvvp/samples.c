/* SPDX-License-Identifier: MIT
 *
 * import/nvvp/samples.c - samples of instructions, and how often instructions were executed
 *
 * Runs in:  our own process
 * Gets:     rows of PC_SAMPLING, PC_SAMPLING_RECORD_INFO, INSTRUCTION_EXECUTION
 * Gives:    instruction samples, losses
 * Owns:     nothing
 * Fails:    -ENOMEM; -EBADMSG with the table and the row
 * Why the kernel's times: a row has the samples of one instruction of a whole run of its kernel
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/array.h"
#include "base/string.h"
#include "import/nvvp/commands.h"
#include "import/target.h"

/* CUpti_ActivityPCSamplingStallReason; the same words as in a live recording where the meaning is
 * the same. */
static const char *const stalls[] = {
	[1] = "selected",
	[2] = "instruction_fetch",
	[3] = "execution_dependency",
	[4] = "memory_dependency",
	[5] = "texture",
	[6] = "synchronization",
	[7] = "constant_memory_dependency",
	[8] = "pipe_busy",
	[9] = "memory_throttle",
	[10] = "not_selected",
	[11] = "other",
	[12] = "sleeping",
};

/* The window of a kernel, otherwise that of all commands so far. */
static void set_window(const struct nvvp *nvvp, const struct nvvp_sampled *sampled,
		       uint64_t *ret_begin, uint64_t *ret_end)
{
	const uint64_t last_ns = import_target_end(nvvp->target);

	*ret_begin = sampled->kernel.correlation ? sampled->kernel.started : nvvp->first_ns;
	*ret_end = sampled->kernel.correlation ? sampled->kernel.ended : last_ns;
	if (*ret_end < *ret_begin || !*ret_end)
		*ret_end = *ret_begin + 1;
}

int nvvp_samples_info(struct nvvp *nvvp, const struct sqlite_cursor *row,
		      struct nvvp_sampled *sampled)
{
	struct event_loss loss = {.process = sampled->process,
				  .kind = EVENT_INSTRUCTION_SAMPLE,
				  .reason = LOSS_GAP,
				  .count = import_cuda_positive(row, NVVP_INFO_DROPPED),
				  .bounded = sampled->kernel.correlation != 0};

	sampled->period = import_cuda_positive(row, NVVP_INFO_PERIOD);
	set_window(nvvp, sampled, &loss.begin, &loss.end);
	return loss.count ? import_target_loss(nvvp->target, &loss) : 0;
}

/* "step.cu:12" in place of the instruction, whose code the file does not have. */
static int read_place(struct nvvp *nvvp, const struct sqlite_cursor *row, uint32_t *ret_string)
{
	const struct nvvp_line *line =
		nvvp_code_line(nvvp, sqlite_cursor_number(row, NVVP_SAMPLE_LOCATOR));
	struct string_builder place = {0};
	const char *file;
	int error = line ? import_strings_find(&nvvp->strings, line->file, &file) : 0;

	if (error || !line || !*file)
		return error;
	string_builder_appendf(&place, "%s:%" PRId64, path_base(file), line->line);
	error = place.error;
	if (!error)
		error = import_target_text(nvvp->target, string_builder_text(&place), ret_string);
	string_builder_fini(&place);
	return error;
}

static int describe_kernel(struct nvvp *nvvp, const struct nvvp_function *function, uint32_t kernel)
{
	struct event_code row;
	int error = import_target_get(nvvp->target, EVENT_CODE, kernel, &row);

	if (error || row.parent)
		return error;
	row.parent = function->code;
	return import_target_update(nvvp->target, EVENT_CODE, &row);
}

/* The kernel of a function's name. */
static int find_kernel(struct nvvp *nvvp, uint32_t process, struct nvvp_function *function,
		       uint32_t *ret_kernel)
{
	const char *name = "";
	int error = 0;

	if (function && function->kernel) {
		*ret_kernel = function->kernel;
		return 0;
	}
	if (function)
		error = import_strings_find(&nvvp->strings, function->name, &name);
	if (!error)
		error = import_target_kernel(nvvp->target, process, "",
					     *name ? name : "[unknown function]", ret_kernel);
	if (error || !function)
		return error;
	function->kernel = *ret_kernel;
	return function->code ? describe_kernel(nvvp, function, *ret_kernel) : 0;
}

/* A sample belongs to the kernel that ran. If that called another function of its module, the
 * offset shows which one. */
static int find_code(struct nvvp *nvvp, const struct sqlite_cursor *row,
		     const struct nvvp_sampled *sampled, struct event_instruction_sample *sample)
{
	struct nvvp_function *function =
		nvvp_code_function(nvvp, sqlite_cursor_number(row, NVVP_SAMPLE_FUNCTION));
	int64_t offset;
	int error = sqlite_cursor_take_number(row, NVVP_SAMPLE_OFFSET, "an offset", 0, UINT32_MAX,
					      &offset);
	const bool is_placed =
		!error && function && function->code && (uint64_t)offset < function->size_bytes;

	if (error)
		return error;
	sample->offset = (uint64_t)offset + (is_placed ? function->offset : 0);
	sample->code = sampled->code;
	if (!is_placed || !sampled->code || sampled->binary != function->code)
		error = find_kernel(nvvp, sample->process, function, &sample->code);
	return error || is_placed ? error : read_place(nvvp, row, &sample->text_string);
}

int nvvp_samples_read(struct nvvp *nvvp, enum nvvp_table table, const struct sqlite_cursor *row,
		      const struct nvvp_sampled *sampled)
{
	const bool is_sample = table == NVVP_SAMPLES;
	struct event_instruction_sample sample = {
		.correlation = sampled->kernel.correlation,
		.period = is_sample && sampled->period ? sampled->period : 1,
		.period_unit_string = !is_sample        ? nvvp->instructions
				      : sampled->period ? nvvp->cycles
							: nvvp->samples,
		.process = sampled->process,
		.device = sampled->device};
	const char *stall = "";
	int64_t count;
	int error =
		sqlite_cursor_take_number(row, NVVP_SAMPLE_COUNT, "samples", 0, UINT32_MAX, &count);

	sample.count = (uint64_t)count;
	if (error || !count)
		return error;
	set_window(nvvp, sampled, &sample.begin, &sample.end);
	error = find_code(nvvp, row, sampled, &sample);
	if (is_sample) {
		sample.latency_count = import_cuda_positive(row, NVVP_SAMPLE_LATENCY);
		stall = array_text(stalls, ARRAY_COUNT(stalls),
				   (size_t)sqlite_cursor_number(row, NVVP_SAMPLE_STALL), "");
	}
	if (!error)
		error = import_target_text(nvvp->target, stall, &sample.stall_string);
	nvvp->rows += !error;
	return error ? error : import_target_instruction(nvvp->target, &sample);
}
