/* SPDX-License-Identifier: MIT
 *
 * export/rocpd/rocpd.c - export to the SQLite format of rocprofv3, schema 3
 *
 * Runs in:  our own process
 * Gets:     a model and filters
 * Gives:    one SQLite database in a regular file, which tools for rocprofv3's files read
 * Owns:     nothing
 * Fails:    like the SQLite writer; errors of the reader; -ENOMEM
 * Why absolute times: the format's times are those of the machine's clock, and its readers unite
 *           files of several processes.
 */
#include "analyze/join/commands.h"
#include "analyze/model.h"
#include "export/formats.h"
#include "export/rocpd/database.h"
#include "export/rocpd/entities.h"
#include "export/rocpd/rows.h"

static int on_launch(void *context, const struct event_launch *row, uint64_t number,
		     uint64_t *ret_tag)
{
	struct rocpd *rocpd = context;

	return filter_has_thread(&rocpd->filter, row->thread) ? rocpd_launch(rocpd, row, ret_tag)
							      : 0;
}

static int on_command(void *context, const struct command *command)
{
	struct rocpd *rocpd = context;

	if (!command->execution || !filter_has_kind(&rocpd->filter, EVENT_EXECUTION) ||
	    !filter_has_time(&rocpd->filter, command_time(command)) ||
	    !filter_has_process(&rocpd->filter, command->process))
		return 0;
	return rocpd_command(rocpd, command);
}

static int on_row(void *context, const struct order_item *item)
{
	struct rocpd *rocpd = context;

	if (!filter_has_item(&rocpd->filter, item))
		return 0;
	if (item->kind == EVENT_API)
		return rocpd_call(rocpd, item->row);
	return item->kind == EVENT_RANGE ? rocpd_range(rocpd, item->row)
					 : rocpd_cpu_sample(rocpd, item->row);
}

static int write_tables(struct rocpd *rocpd)
{
	const struct commands_visitor visitor = {.on_launch = on_launch,
						 .on_command = on_command,
						 .more_kinds = 1u << EVENT_API | 1u << EVENT_RANGE |
							       1u << EVENT_CPU_SAMPLE,
						 .on_row = on_row};
	int error = rocpd_entities(rocpd);

	if (!error)
		error = rocpd_agents(rocpd);
	if (!error)
		error = rocpd_kernels(rocpd);
	if (!error)
		error = commands_each(rocpd->model, &visitor, rocpd);
	if (!error)
		error = rocpd_counters(rocpd);
	return error ? error : rocpd_finish(rocpd);
}

static int write_rocpd(const struct model *model, const struct output_options *options, FILE *file,
		       uint64_t *ret_rows)
{
	struct rocpd rocpd;
	int error = rocpd_open(&rocpd, model, options, file);

	if (!error)
		error = write_tables(&rocpd);
	*ret_rows = rocpd.rows;
	rocpd_close(&rocpd);
	return error;
}

const struct exporter export_rocpd = {
	.name = "rocpd",
	.help = "the SQLite database of rocprofv3 (rocpd, schema 3; needs libsqlite3.so.0)",
	.kinds = "api, launch, execution, cpu_sample, range, counter",
	.is_binary = true,
	.has_no_instructions = true,
	.needs_file = true,
	.write = write_rocpd,
};
