/* SPDX-License-Identifier: MIT
 *
 * import/nvvp/nvvp.c - import a file of nvprof, which NVIDIA's Visual Profiler reads
 *
 * Runs in:  our own process
 * Gets:     a database with a table for each kind of record of CUPTI
 * Gives:    calls, commands, ranges, samples of instructions, counters
 * Owns:     the open database
 * Fails:    -EBADMSG with the table, the row, the expected and the actual value
 * Why every column may be absent: the tables are CUPTI's structs, which each version of CUDA made
 *           longer, and other programs write a part of the tables. A table without a column that
 * its rows need is left out.
 */
#include "import/nvvp/import.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "import/common/probe.h"
#include "import/formats.h"
#include "import/source.h"
#include "import/target.h"

/* ---- tables that are left out ---- */

#define TABLE(kind, text)                                                          \
	{                                                                          \
		"CUPTI_ACTIVITY_KIND_" kind, "row of " kind, "rows of " kind, text \
	}

static int on_left_out(void *context, const struct sqlite_cursor *row)
{
	(*(uint64_t *)context)++;
	return 0;
}

static int note_left_out(struct nvvp *nvvp)
{
	static const char *const columns[] = {"correlationId"};
	static const struct {
		const char *table, *one, *many, *text;
	} rows[] = {
		TABLE("EVENT", "left out: the file has no names of events"),
		TABLE("METRIC", "left out: the file has no names of metrics"),
		TABLE("GLOBAL_ACCESS", "left out"),
		TABLE("SHARED_ACCESS", "left out"),
		TABLE("BRANCH", "left out"),
		TABLE("OPENACC_DATA", "left out"),
		TABLE("OPENACC_LAUNCH", "left out"),
		TABLE("OPENACC_OTHER", "left out"),
	};
	int error = 0;

	for (size_t i = 0; i < ARRAY_COUNT(rows) && !error; i++) {
		const struct sqlite_query query = {rows[i].table, SQLITE_COLUMNS(columns, 0), NULL,
						   NULL};
		uint64_t count = 0;

		error = nvvp_each_row(nvvp, &query, on_left_out, &count);
		import_target_note_count(nvvp->target, count, rows[i].one, rows[i].many,
					 rows[i].text);
	}
	if (nvvp->machine.has_pthreads)
		import_target_note(nvvp->target, "the numbers of threads are those of pthreads, "
						 "of which nvprof stores the lower half");
	return error;
}

/* ---- the file ---- */

static int open_texts(struct nvvp *nvvp)
{
	const struct {
		const char *text;
		uint32_t *string;
	} units[] = {{"cycles", &nvvp->cycles},
		     {"samples", &nvvp->samples},
		     {"instructions", &nvvp->instructions}};
	bool has;
	int error = sqlite_file_has_table(&nvvp->file, "StringTable", &has);

	if (!error && !has)
		error = error_set(-EBADMSG, "expected a database of nvprof: no such table: "
					    "StringTable");
	if (!error)
		error = import_strings_open(&nvvp->strings, &nvvp->file, "StringTable", "_id_",
					    "value");
	for (size_t i = 0; i < ARRAY_COUNT(units) && !error; i++)
		error = import_target_text(nvvp->target, units[i].text, units[i].string);
	return error;
}

/* Code comes before samples. Ranges come last, because open ones end with the recording. */
static int read_tables(struct nvvp *nvvp)
{
	static int (*const steps[])(struct nvvp *) = {
		open_texts,       nvvp_machine_open,  nvvp_code_read,   nvvp_read_calls,
		nvvp_read_memory, nvvp_read_counters, nvvp_read_ranges, note_left_out};
	int error = 0;

	for (size_t i = 0; i < ARRAY_COUNT(steps) && !error; i++)
		error = steps[i](nvvp);
	return error;
}

static void nvvp_fini(struct nvvp *nvvp)
{
	import_cuda_join_close(&nvvp->join);
	import_strings_close(&nvvp->strings);
	nvvp_code_close(nvvp);
	nvvp_machine_close(nvvp);
	pair_map_fini(&nvvp->kernels);
	free(nvvp->calls[0]);
	free(nvvp->calls[1]);
	sqlite_file_close(&nvvp->file);
}

static int read_nvvp(struct import_source *source, struct import_target *target)
{
	struct nvvp nvvp = {.target = target, .faults = {target, "row", "rows"}};
	int error = sqlite_file_open(&nvvp.file, import_source_path(source));

	if (!error)
		error = import_cuda_join_open(&nvvp.join, target);
	if (!error)
		error = read_tables(&nvvp);
	if (!error)
		error = import_faults_end(&nvvp.faults, nvvp.rows, "row");
	if (!error)
		import_cuda_join_put_notes(&nvvp.join);
	nvvp_fini(&nvvp);
	return error;
}

static bool recognize_nvvp(const struct import_probe *probe)
{
	static const char *const tables[] = {
		"CUPTI_ACTIVITY_KIND_RUNTIME",     "CUPTI_ACTIVITY_KIND_DRIVER",
		"CUPTI_ACTIVITY_KIND_KERNEL",      "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
		"CUPTI_ACTIVITY_KIND_MEMCPY",      "CUPTI_ACTIVITY_KIND_MARKER",
		"CUPTI_ACTIVITY_KIND_PC_SAMPLING",
	};
	bool has = false;

	for (size_t i = 0; i < ARRAY_COUNT(tables); i++)
		has |= import_probe_has_table(probe, tables[i]);
	return has && import_probe_has_table(probe, "StringTable") &&
	       !import_probe_has_table(probe, "StringIds");
}

const struct importer import_nvvp = {
	.name = "nvvp",
	.help = "files of nvprof and NVIDIA's Visual Profiler: kernels, CUDA calls, NVTX, PC "
		"samples with code",
	.read = read_nvvp,
	.recognize = recognize_nvvp,
};
