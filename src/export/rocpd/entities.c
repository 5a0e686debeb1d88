/* SPDX-License-Identifier: MIT
 *
 * export/rocpd/entities.c - the machines, processes and threads of a rocpd export
 *
 * Runs in:  our own process
 * Gets:     entities of a model
 * Gives:    rows of rocpd_info_node, …_process, …_thread
 * Owns:     nothing
 * Fails:    like the SQLite writer
 * Why a process and a thread 0: the format's views leave out rows whose process or thread is not
 *           described.
 */
#include "export/rocpd/entities.h"

#include <inttypes.h>
#include <stdio.h>

#include "analyze/model.h"
#include "export/rocpd/database.h"

static int put_node(struct rocpd *rocpd, uint32_t id, const struct event_host *host)
{
	const struct model *model = rocpd->model;
	struct sqlite_writer *writer = &rocpd->writer;
	const char *boot_id = host ? model_text(model, host->boot_id_string, "unknown") : "unknown";
	char machine[160];
	int error = rocpd_begin(rocpd, ROCPD_NODE);

	if (error)
		return error;
	/* the schema demands that machines differ, which rows of damaged files may not do */
	snprintf(machine, sizeof(machine), id > 1 ? "%.128s/%" PRIu32 : "%.128s", boot_id, id);
	sqlite_writer_u64(writer, id);
	sqlite_writer_u64(writer, id);
	sqlite_writer_text(writer, machine);
	sqlite_writer_text(writer, "Linux");
	sqlite_writer_text(writer, host ? model_text(model, host->name_string, "") : "");
	sqlite_writer_text(writer, host ? model_text(model, host->kernel_string, "") : "");
	return sqlite_writer_end(writer);
}

static int put_nodes(struct rocpd *rocpd)
{
	const struct event_host *rows = NULL;
	size_t count = model_entities(rocpd->model, EVENT_HOST, &rows);
	int error = count ? 0 : put_node(rocpd, 1, NULL);

	for (size_t i = 0; i < count && !error; i++)
		error = put_node(rocpd, rows[i].id, &rows[i]);
	return error;
}

static int put_process(struct rocpd *rocpd, const struct event_process *row)
{
	const struct model *model = rocpd->model;
	struct sqlite_writer *writer = &rocpd->writer;
	const uint64_t times[] = {row->begin_ns, row->end_ns, row->begin_ns, row->end_ns};
	int error = rocpd_begin(rocpd, ROCPD_PROCESS);

	if (error)
		return error;
	sqlite_writer_u64(writer, rocpd_process(rocpd, row->id));
	sqlite_writer_u64(writer, rocpd_node(rocpd, row->id));
	sqlite_writer_known(writer, row->parent_pid);
	sqlite_writer_u64(writer, row->pid);
	for (int i = 0; i < 4; i++)
		sqlite_writer_known(writer, times[i]);
	sqlite_writer_text(writer, model_text(model, row->command_string,
					      model_text(model, row->name_string, "")));
	string_builder_clear(&rocpd->text);
	string_builder_append(&rocpd->text, "{}");
	if (row->rank) {
		string_builder_clear(&rocpd->text);
		string_builder_appendf(&rocpd->text, "{\"rank\": %u, \"rank_count\": %u}",
				       row->rank - 1, row->rank_count);
	}
	sqlite_writer_text(writer, string_builder_text(&rocpd->text));
	return sqlite_writer_end(writer);
}

static int put_thread(struct rocpd *rocpd, const struct event_thread *row)
{
	const struct event_process *process =
		model_entity(rocpd->model, EVENT_PROCESS, row->process);
	struct sqlite_writer *writer = &rocpd->writer;
	int error = rocpd_begin(rocpd, ROCPD_THREAD);

	if (error)
		return error;
	sqlite_writer_u64(writer, rocpd_thread(rocpd, row->id));
	sqlite_writer_u64(writer, rocpd_node(rocpd, row->process));
	sqlite_writer_known(writer, process ? process->parent_pid : 0);
	sqlite_writer_u64(writer, rocpd_process(rocpd, row->process));
	sqlite_writer_u64(writer, row->tid);
	sqlite_writer_text(writer, model_text(rocpd->model, row->name_string, ""));
	sqlite_writer_known(writer, row->begin_ns);
	sqlite_writer_known(writer, row->end_ns);
	return sqlite_writer_end(writer);
}

int rocpd_entities(struct rocpd *rocpd)
{
	const struct event_process no_process = {0}, *processes = NULL;
	const struct event_thread no_thread = {0}, *threads = NULL;
	size_t processes_count = model_entities(rocpd->model, EVENT_PROCESS, &processes);
	size_t threads_count = model_entities(rocpd->model, EVENT_THREAD, &threads);
	int error = put_nodes(rocpd);

	if (!error)
		error = put_process(rocpd, &no_process);
	for (size_t i = 0; i < processes_count && !error; i++)
		error = put_process(rocpd, &processes[i]);
	if (!error)
		error = put_thread(rocpd, &no_thread);
	for (size_t i = 0; i < threads_count && !error; i++)
		error = put_thread(rocpd, &threads[i]);
	return error;
}
