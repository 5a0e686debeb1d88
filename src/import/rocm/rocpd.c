/* SPDX-License-Identifier: MIT
 *
 * import/rocm/rocpd.c - import a database of rocprofv3 or rocprof-sys (rocpd, schema 3)
 *
 * Runs in:  our own process
 * Gets:     a database
 * Gives:    calls, launches, executions, ranges, counter values
 * Owns:     the open database
 * Fails:    -EBADMSG with the table, the row's id, the expected and the actual value
 * Why tables and not the views: rocpd_region and its kin are views over a table for each recording,
 *           and duet executes no view of a file
 */
#include "import/rocm/rocpd.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "import/common/probe.h"
#include "import/formats.h"
#include "import/source.h"
#include "import/target.h"

#define MAX_UUID       64
#define MAX_RECORDINGS 4096
#define METADATA       "rocpd_metadata"

struct recordings {
	char (*uuids)[MAX_UUID];
	size_t count, capacity;
};

/* ---- tables ---- */

int rocpd_cursor_open(struct rocpd *rocpd, const struct rocpd_query *query,
		      struct sqlite_cursor *cursor, char table[128], bool *ret_exists)
{
	const struct sqlite_query whole = {table, query->columns, query->where, query->order};
	enum sqlite_table found;
	int error;

	snprintf(table, 128, "%s%s", query->table, rocpd->uuid);
	error = sqlite_file_find_table(rocpd->file, table, &found);
	*ret_exists = found == SQLITE_TABLE_PLAIN;
	if (error || found == SQLITE_TABLE_ABSENT)
		return error;
	if (found == SQLITE_TABLE_COMPUTED)
		return error_set(-EBADMSG,
				 "expected a plain table '%s', found a view, a virtual table or "
				 "generated columns; duet does not execute them",
				 table);
	return sqlite_cursor_open(cursor, rocpd->file, &whole);
}

int rocpd_side_open(struct rocpd *rocpd, const struct rocpd_query *query, struct rocm_side *side,
		    char table[128])
{
	bool exists = false;
	int error = rocpd_cursor_open(rocpd, query, &side->cursor, table, &exists);

	if (error || !exists)
		return error;
	side->status = sqlite_cursor_next(&side->cursor);
	return side->status < 0 ? side->status : 0;
}

int rocpd_each_row_with(struct rocpd *rocpd, const struct rocpd_query *query, void *context,
			int (*on_row)(void *context, const struct sqlite_cursor *row))
{
	char table[128];
	const struct sqlite_query whole = {table, query->columns, query->where, query->order};
	struct sqlite_cursor cursor = {0};
	bool exists = false;
	int error = rocpd_cursor_open(rocpd, query, &cursor, table, &exists);

	sqlite_cursor_close(&cursor);
	return error || !exists
		       ? error
		       : sqlite_file_each_row(rocpd->file, &whole, rocpd->faults, on_row, context);
}

int rocpd_each_row(struct rocpd *rocpd, const struct rocpd_query *query,
		   int (*on_row)(void *context, const struct sqlite_cursor *row))
{
	return rocpd_each_row_with(rocpd, query, rocpd, on_row);
}

/* ---- recordings ---- */

static int on_metadata(void *context, const char *name)
{
	struct recordings *recordings = context;
	const char *uuid = name + strlen(METADATA);

	if (strlen(uuid) >= MAX_UUID || recordings->count == MAX_RECORDINGS)
		return error_set(-EBADMSG,
				 "expected at most %d tables %s… with a uuid below %d bytes",
				 MAX_RECORDINGS, METADATA, MAX_UUID);
	if (array_grow(recordings->uuids, recordings->capacity, recordings->count + 1))
		return -ENOMEM;
	snprintf(recordings->uuids[recordings->count++], MAX_UUID, "%s", uuid);
	return 0;
}

static void rocpd_fini(struct rocpd *rocpd)
{
	rocm_side_close(&rocpd->events);
	rocm_strings_close(&rocpd->strings);
	rocm_process_fini(&rocpd->process);
	string_table_fini(&rocpd->texts);
	hash_map_fini(&rocpd->processes);
	hash_map_fini(&rocpd->threads);
	hash_map_fini(&rocpd->counters);
	hash_map_fini(&rocpd->agents);
}

static void put_notes(const struct rocpd *rocpd)
{
	rocm_process_put_notes(&rocpd->process);
	import_target_note_count(rocpd->target, rocpd->samples, "sample", "samples",
				 "without a counter value left out");
}

/* A recording that has no dispatches and no regions has at least these two tables. */
static int check_tables(struct rocpd *rocpd, const char *strings)
{
	enum sqlite_table found;
	int error = sqlite_file_find_table(rocpd->file, strings, &found);

	if (!error && found == SQLITE_TABLE_PLAIN) {
		char events[128];

		snprintf(events, sizeof(events), "rocpd_event%s", rocpd->uuid);
		error = sqlite_file_find_table(rocpd->file, events, &found);
	}
	if (!error && found != SQLITE_TABLE_PLAIN)
		error = error_set(-EBADMSG,
				  "expected the plain tables rocpd_string%s and rocpd_event%s of "
				  "rocpd's schema 3; for files of rocmProfileData use --format rpd",
				  rocpd->uuid, rocpd->uuid);
	return error;
}

static int read_recording(struct rocpd *rocpd)
{
	char strings[128];
	int error;

	snprintf(strings, sizeof(strings), "rocpd_string%s", rocpd->uuid);
	error = check_tables(rocpd, strings);
	if (!error)
		error = rocm_strings_open(&rocpd->strings, rocpd->file, strings);
	if (!error)
		error = rocpd_read_descriptions(rocpd);
	if (!error)
		error = rocpd_read_rows(rocpd);
	if (!error)
		put_notes(rocpd);
	return error;
}

static int read_recordings(struct sqlite_file *file, struct import_target *target,
			   struct rocm_join *join, const struct recordings *recordings)
{
	struct import_faults faults = {target, "row", "rows"};
	uint64_t usable = 0;
	int error = 0;

	if (!recordings->count)
		return error_set(-EBADMSG, "expected a table %s_UUID, found none", METADATA);
	for (size_t i = 0; i < recordings->count && !error; i++) {
		struct rocpd rocpd = {.target = target,
				      .file = file,
				      .uuid = recordings->uuids[i],
				      .join = join,
				      .process = {.target = target,
						  .join = join,
						  .agents.target = target,
						  .kernels.target = target},
				      .faults = &faults};

		error = read_recording(&rocpd);
		usable += rocpd.usable;
		rocpd_fini(&rocpd);
	}
	if (!error)
		error = rocm_join_write(join);
	return error ? error : import_faults_end(&faults, usable, "row");
}

static int read_rocpd(struct import_source *source, struct import_target *target)
{
	struct recordings recordings = {0};
	struct rocm_join join = {0};
	struct sqlite_file file;
	int error = sqlite_file_open(&file, import_source_path(source));

	if (!error)
		error = rocm_join_init(&join, target);
	if (!error)
		error = sqlite_file_each_table(&file, METADATA, on_metadata, &recordings);
	if (!error)
		error = read_recordings(&file, target, &join, &recordings);
	rocm_join_fini(&join);
	sqlite_file_close(&file);
	free(recordings.uuids);
	return error;
}

static bool recognize_rocpd(const struct import_probe *probe)
{
	return import_probe_has_table(probe, "rocpd_kernel_dispatch") ||
	       import_probe_has_table(probe, "rocpd_region");
}

const struct importer import_rocpd = {
	.name = "rocpd",
	.help = "databases of rocprofv3 and rocprof-sys: kernels, copies, calls, ranges, counters",
	.read = read_rocpd,
	.recognize = recognize_rocpd,
};
