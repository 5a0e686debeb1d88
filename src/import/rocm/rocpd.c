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
#include "import/rocm/rocpd_tables.h"

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

static void rocpd_fini(struct rocpd_import *rocpd)
{
	rocm_side_close(&rocpd->events);
	import_strings_close(&rocpd->strings);
	rocm_process_fini(&rocpd->process);
	string_table_fini(&rocpd->texts);
	hash_map_fini(&rocpd->processes);
	hash_map_fini(&rocpd->threads);
	hash_map_fini(&rocpd->counters);
	hash_map_fini(&rocpd->agents);
}

static void put_notes(const struct rocpd_import *rocpd)
{
	rocm_process_put_notes(&rocpd->process);
	import_target_note_count(rocpd->target, rocpd->samples, "sample", "samples",
				 "without a counter value left out");
}

/* A recording that has no dispatches and no regions has at least these two tables. */
static int check_tables(struct rocpd_import *rocpd, const char *strings)
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

static int read_recording(struct rocpd_import *rocpd)
{
	char strings[128];
	int error;

	snprintf(strings, sizeof(strings), "rocpd_string%s", rocpd->uuid);
	error = check_tables(rocpd, strings);
	if (!error)
		error = import_strings_open(&rocpd->strings, rocpd->file, strings, "id", "string");
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
		struct rocpd_import rocpd = {.target = target,
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
