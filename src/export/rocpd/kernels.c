/* SPDX-License-Identifier: MIT
 *
 * export/rocpd/kernels.c - the code objects and kernels of a rocpd export
 *
 * Runs in:  our own process
 * Gets:     code rows of a model
 * Gives:    rows of rocpd_info_code_object, …_kernel_symbol
 * Owns:     nothing
 * Fails:    like the SQLite writer
 */
#include <inttypes.h>

#include "analyze/model.h"
#include "base/json.h"
#include "export/rocpd/database.h"
#include "export/rocpd/entities.h"

static int put_object(struct rocpd *rocpd, const struct event_code *row)
{
	struct sqlite_writer *writer = &rocpd->writer;
	int error = rocpd_begin(rocpd, ROCPD_CODE_OBJECT);

	if (error)
		return error;
	sqlite_writer_u64(writer, row->id);
	sqlite_writer_u64(writer, rocpd_node(rocpd, row->process));
	sqlite_writer_u64(writer, rocpd_process(rocpd, row->process));
	sqlite_writer_u64(writer, row->device);
	sqlite_writer_text(writer, model_text(rocpd->model, row->name_string, ""));
	sqlite_writer_known(writer, row->address);
	sqlite_writer_known(writer, row->size_bytes);
	sqlite_writer_known(writer, row->address);
	return sqlite_writer_end(writer);
}

static void describe_kernel(struct rocpd *rocpd, const struct event_code *row)
{
	struct json_writer json;

	string_builder_clear(&rocpd->text);
	json_init_text(&json, &rocpd->text);
	json_object_begin(&json);
	json_pair_u64(&json, "kernel_id", row->id);
	json_pair_text(&json, "formatted_kernel_name", model_kernel_name(rocpd->model, row->id));
	if (row->address) {
		json_pair_object(&json, "kernel_address");
		json_pair_u64(&json, "handle", row->address);
		json_object_end(&json);
	}
	json_object_end(&json);
}

static int put_kernel(struct rocpd *rocpd, const struct event_code *row)
{
	const bool has_needs = row->group_most || row->registers;
	struct sqlite_writer *writer = &rocpd->writer;
	int error = rocpd_begin(rocpd, ROCPD_KERNEL_SYMBOL);

	if (error)
		return error;
	describe_kernel(rocpd, row);
	sqlite_writer_u64(writer, row->id);
	sqlite_writer_u64(writer, rocpd_node(rocpd, row->process));
	sqlite_writer_u64(writer, rocpd_process(rocpd, row->process));
	sqlite_writer_u64(writer, row->parent);
	sqlite_writer_text(writer, model_text(rocpd->model, row->name_string, ""));
	sqlite_writer_text(writer, model_code_name(rocpd->model, row, "[unknown kernel]"));
	sqlite_writer_known(writer, row->handle);
	sqlite_writer_optional(writer, has_needs, (int64_t)row->local_bytes);
	sqlite_writer_optional(writer, has_needs, (int64_t)row->private_bytes);
	sqlite_writer_known(writer, row->registers);
	sqlite_writer_text(writer, string_builder_text(&rocpd->text));
	return sqlite_writer_end(writer);
}

/* The kernel 0 stands for kernels that the trace does not describe. */
int rocpd_kernels(struct rocpd *rocpd)
{
	const struct event_code unknown = {.type = CODE_KERNEL}, *rows = NULL;
	size_t count = model_entities(rocpd->model, EVENT_CODE, &rows);
	int error = put_object(rocpd, &unknown);

	if (!error)
		error = put_kernel(rocpd, &unknown);
	for (size_t i = 0; i < count && !error; i++) {
		if (rows[i].type == CODE_KERNEL)
			error = put_kernel(rocpd, &rows[i]);
		else if (rows[i].type != CODE_BUILD_LOG)
			error = put_object(rocpd, &rows[i]);
	}
	return error;
}
