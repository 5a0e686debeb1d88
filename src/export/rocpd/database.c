/* SPDX-License-Identifier: MIT
 *
 * export/rocpd/database.c - the state of an export to rocprofv3's SQLite format: rows are inserted
 * into its tables by name
 *
 * Runs in:  our own process
 * Gets:     a model and filters
 * Gives:    tables, strings and views
 * Owns:     the database while it is written, the texts
 * Fails:    like the SQLite writer; -ENOMEM
 * Why one guid: the format has a database per process, and unites them by a guid. A trace has its
 *           processes in one file, so the guid stands for the trace.
 */
#include "export/rocpd/database.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/frames.h"
#include "analyze/model.h"
#include "analyze/output_options.h"
#include "export/common/trace_uuid.h"
#include "export/rocpd/schema.h"

static const struct {
	const char *name, *columns;
} tables[ROCPD_TABLES] = {
	[ROCPD_METADATA] = {"metadata", "tag,value"},
	[ROCPD_STRING] = {"string", "id,string"},
	[ROCPD_NODE] = {"info_node", "id,hash,machine_id,system_name,hostname,release"},
	[ROCPD_PROCESS] = {"info_process",
			   "id,nid,ppid,pid,init,fini,start,\"end\",command,extdata"},
	[ROCPD_THREAD] = {"info_thread", "id,nid,ppid,pid,tid,name,start,\"end\""},
	[ROCPD_AGENT] = {"info_agent",
			 "id,nid,pid,type,absolute_index,logical_index,type_index,uuid,name,"
			 "model_name,vendor_name,product_name,user_name,extdata"},
	[ROCPD_QUEUE] = {"info_queue", "id,nid,pid,name"},
	[ROCPD_STREAM] = {"info_stream", "id,nid,pid,name,extdata"},
	[ROCPD_PMC] = {"info_pmc", "id,nid,pid,agent_id,target_arch,name,symbol,description,"
				   "component,units,value_type,is_constant,is_derived"},
	[ROCPD_CODE_OBJECT] = {"info_code_object",
			       "id,nid,pid,agent_id,uri,load_base,load_size,load_delta"},
	[ROCPD_KERNEL_SYMBOL] = {"info_kernel_symbol",
				 "id,nid,pid,code_object_id,kernel_name,display_name,"
				 "kernel_object,group_segment_size,private_segment_size,"
				 "arch_vgpr_count,extdata"},
	[ROCPD_TRACK] = {"track", "id,nid,pid,tid,name_id"},
	[ROCPD_EVENT] = {"event", "id,category_id,stack_id,parent_stack_id,correlation_id,"
				  "call_stack,extdata"},
	[ROCPD_PMC_EVENT] = {"pmc_event", "id,event_id,pmc_id,value"},
	[ROCPD_REGION] = {"region", "id,nid,pid,tid,start,\"end\",name_id,event_id"},
	[ROCPD_SAMPLE] = {"sample", "id,track_id,timestamp,event_id"},
	[ROCPD_DISPATCH] = {"kernel_dispatch",
			    "id,nid,pid,tid,agent_id,kernel_id,dispatch_id,queue_id,stream_id,"
			    "start,\"end\",private_segment_size,group_segment_size,"
			    "workgroup_size_x,workgroup_size_y,workgroup_size_z,grid_size_x,"
			    "grid_size_y,grid_size_z,region_name_id,event_id"},
	[ROCPD_COPY] = {"memory_copy",
			"id,nid,pid,tid,start,\"end\",name_id,dst_agent_id,src_agent_id,size,"
			"queue_id,stream_id,event_id"},
};

/* ---- rows ---- */

static int prepare(struct rocpd *rocpd, enum rocpd_table table)
{
	char sql[512];
	int used = snprintf(sql, sizeof(sql), "INSERT INTO \"rocpd_%s%s\" (%s) VALUES (?",
			    tables[table].name, rocpd->suffix, tables[table].columns);

	for (const char *at = tables[table].columns; (at = strchr(at, ',')); at++)
		used += snprintf(sql + used, sizeof(sql) - (size_t)used, ",?");
	snprintf(sql + used, sizeof(sql) - (size_t)used, ")");
	return sqlite_writer_prepare(&rocpd->writer, sql, &rocpd->inserts[table]);
}

int rocpd_begin(struct rocpd *rocpd, enum rocpd_table table)
{
	int error = rocpd->inserts[table] ? 0 : prepare(rocpd, table);

	sqlite_writer_begin(&rocpd->writer, rocpd->inserts[table]);
	return error;
}

uint64_t rocpd_string(struct rocpd *rocpd, const char *text)
{
	struct string_builder valid = {0};
	uint32_t id;

	/* two invalid texts may become the same one, and each text has one row */
	string_builder_append_utf8(&valid, text);
	id = valid.error
		     ? 0
		     : string_table_add(&rocpd->strings, string_builder_text(&valid), valid.length);
	string_builder_fini(&valid);
	return id || !*text ? id + UINT64_C(1) : 0;
}

static int put_strings(struct rocpd *rocpd)
{
	int error = 0;

	for (uint32_t id = 0; id <= rocpd->strings.count && !error; id++) {
		error = rocpd_begin(rocpd, ROCPD_STRING);
		if (error)
			return error;
		sqlite_writer_u64(&rocpd->writer, id + UINT64_C(1));
		sqlite_writer_text(&rocpd->writer, string_table_text(&rocpd->strings, id, NULL));
		error = sqlite_writer_end(&rocpd->writer);
	}
	return error;
}

static int put_metadata(struct rocpd *rocpd)
{
	const char *const rows[][2] = {
		{"schema_version", "3"}, {"uuid", rocpd->suffix}, {"guid", rocpd->guid}};
	int error = 0;

	for (size_t i = 0; i < 3 && !error; i++) {
		error = rocpd_begin(rocpd, ROCPD_METADATA);
		if (error)
			return error;
		sqlite_writer_text(&rocpd->writer, rows[i][0]);
		sqlite_writer_text(&rocpd->writer, rows[i][1]);
		error = sqlite_writer_end(&rocpd->writer);
	}
	return error;
}

/* ---- ids ---- */

/* Processes and threads keep their numbers, as in rocprofv3's files; a number that is used again
 * gets one that no process of Linux has. */
static uint64_t assign_id(struct hash_map *taken, uint64_t wanted, uint32_t id)
{
	uint64_t number =
		wanted && !hash_map_find(taken, wanted) ? wanted : (UINT64_C(1) << 32) + id;

	return hash_map_put(taken, number, 1) ? 0 : number;
}

static int assign_ids(struct rocpd *rocpd)
{
	const struct entity_index *threads = &rocpd->nesting.threads;
	struct hash_map pids = {0}, tids = {0};

	for (size_t i = 0; i < rocpd->processes.count; i++) {
		const struct event_process *row = entity_index_row(&rocpd->processes, i);

		rocpd->process_ids[i] = assign_id(&pids, row->pid, row->id);
	}
	for (size_t i = 0; i < threads->count; i++) {
		const struct event_thread *row = entity_index_row(threads, i);

		rocpd->thread_ids[i] = assign_id(&tids, row->tid, row->id);
	}
	hash_map_fini(&pids);
	hash_map_fini(&tids);
	return 0;
}

uint64_t rocpd_process(const struct rocpd *rocpd, uint32_t process)
{
	return rocpd->process_ids[entity_index_find(&rocpd->processes, process)];
}

uint64_t rocpd_thread(const struct rocpd *rocpd, uint32_t thread)
{
	return rocpd->thread_ids[entity_index_find(&rocpd->nesting.threads, thread)];
}

uint64_t rocpd_node(const struct rocpd *rocpd, uint32_t process)
{
	const struct event_process *row = entity_index_get(&rocpd->processes, process);

	return row && row->host ? row->host : 1;
}

/* ---- the database ---- */

static void make_guid(struct rocpd *rocpd)
{
	uint8_t uuid[16];
	char *at = rocpd->guid;

	trace_uuid(rocpd->model, rocpd->filter.begin_ns, uuid);
	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*at++ = '-';
		at += snprintf(at, 3, "%02x", uuid[i]);
	}
	snprintf(rocpd->suffix, sizeof(rocpd->suffix), "_%s", rocpd->guid);
	for (at = rocpd->suffix; *at; at++)
		if (*at == '-')
			*at = '_';
}

/* Puts the suffix for '@' and the guid for '#'. */
static int make_tables(struct rocpd *rocpd)
{
	struct string_builder sql = {0};
	int error;

	for (const char *at = rocpd_tables; *at; at++) {
		if (*at == '@')
			string_builder_append(&sql, rocpd->suffix);
		else if (*at == '#')
			string_builder_append(&sql, rocpd->guid);
		else
			string_builder_append_char(&sql, *at);
	}
	error = sql.error ? sql.error
			  : sqlite_writer_execute(&rocpd->writer, string_builder_text(&sql));
	string_builder_fini(&sql);
	if (!error)
		error = sqlite_writer_execute(&rocpd->writer, "BEGIN");
	return error ? error : put_metadata(rocpd);
}

static int allocate(struct rocpd *rocpd)
{
	int error = thread_nesting_init(&rocpd->nesting, rocpd->model);
	size_t threads = rocpd->nesting.threads.count + 1;

	entity_index_init(&rocpd->processes, rocpd->model->reader, EVENT_PROCESS);
	rocpd->process_ids = calloc(rocpd->processes.count + 1, sizeof(*rocpd->process_ids));
	rocpd->thread_ids = calloc(threads, sizeof(*rocpd->thread_ids));
	rocpd->calls = calloc(threads, sizeof(*rocpd->calls));
	if (error || !rocpd->process_ids || !rocpd->thread_ids || !rocpd->calls)
		return -ENOMEM;
	return assign_ids(rocpd);
}

int rocpd_open(struct rocpd *rocpd, const struct model *model, const struct output_options *options,
	       FILE *file)
{
	const struct frames_options names = filter_names(options);
	int error;

	*rocpd = (struct rocpd){.model = model};
	error = sqlite_writer_open(&rocpd->writer, file);
	if (!error)
		error = filter_open(&rocpd->filter, model, options);
	if (!error)
		error = frames_new(model, &names, &rocpd->frames);
	if (!error)
		error = allocate(rocpd);
	make_guid(rocpd);
	return error ? error : make_tables(rocpd);
}

int rocpd_finish(struct rocpd *rocpd)
{
	int error = put_strings(rocpd);

	if (!error)
		error = sqlite_writer_execute(&rocpd->writer, rocpd_views);
	return error ? error : sqlite_writer_execute(&rocpd->writer, "COMMIT");
}

void rocpd_close(struct rocpd *rocpd)
{
	for (size_t i = 0; i < ROCPD_TABLES; i++)
		sqlite_writer_finalize(&rocpd->writer, rocpd->inserts[i]);
	sqlite_writer_close(&rocpd->writer);
	string_table_fini(&rocpd->strings);
	pair_map_fini(&rocpd->queues);
	hash_map_fini(&rocpd->tracks);
	pair_map_fini(&rocpd->dispatches);
	thread_nesting_fini(&rocpd->nesting);
	string_builder_fini(&rocpd->text);
	string_builder_fini(&rocpd->extdata);
	frames_free(rocpd->frames);
	free(rocpd->process_ids);
	free(rocpd->thread_ids);
	free(rocpd->calls);
}
