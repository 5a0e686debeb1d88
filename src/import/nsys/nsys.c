/* SPDX-License-Identifier: MIT
 *
 * import/nsys/nsys.c - import the SQLite file that Nsight Systems exports
 *
 * Runs in:  our own process
 * Gets:     a database of nsys 2020 to 2026
 * Gives:    calls, commands, ranges, samples, switches, counters
 * Owns:     the open database
 * Fails:    -EBADMSG with the table, the row, the expected and the actual value
 * Why every column may be absent: nsys writes no table that would be empty, each version adds
 *           columns, and other programs write reduced files
 */
#include "import/nsys/import.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/format.h"
#include "import/formats.h"
#include "import/common/probe.h"
#include "import/source.h"
#include "import/target.h"

/* A report of nsys itself: only nsys can read it. */
static int refuse_report(struct import_source *source)
{
	static const char magic[] = "SQLite format 3"; /* with its NUL */
	const char *bytes;
	size_t size;
	int error = import_source_peek(source, &bytes, &size);

	if (error || (size >= sizeof(magic) && memcmp(bytes, magic, sizeof(magic)) == 0))
		return error;
	return error_set(-EBADMSG,
			 "expected a SQLite database of Nsight Systems; convert a report with: "
			 "nsys export --type sqlite REPORT.nsys-rep");
}

static int read_tables(struct nsys *nsys)
{
	static int (*const steps[])(struct nsys *) = {
		nsys_texts_open,  nsys_read_start,        nsys_machine_open,
		nsys_read_calls,  nsys_read_cpu,          nsys_read_counters,
		nsys_read_ranges, nsys_collectives_write, nsys_read_notes};
	bool has;
	int error = nsys_has_table(nsys, "StringIds", &has);

	if (!error && !has)
		return error_set(-EBADMSG, "expected a database of Nsight Systems: no such table: "
					   "StringIds");
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps) && !error; i++)
		error = steps[i](nsys);
	return error;
}

static int read_nsys(struct import_source *source, struct import_target *target)
{
	struct nsys nsys = {.target = target, .faults = {target, "row", "rows"}};
	int error = refuse_report(source);

	if (error)
		return error;
	error = sqlite_file_open(&nsys.file, import_source_path(source));
	if (!error)
		error = import_cuda_join_open(&nsys.join, target);
	if (!error)
		error = read_tables(&nsys);
	if (!error)
		error = import_faults_end(&nsys.faults, nsys.rows, "row");
	if (!error)
		import_cuda_join_put_notes(&nsys.join);
	import_cuda_join_close(&nsys.join);
	nsys_texts_close(&nsys);
	nsys_machine_close(&nsys);
	nsys_collectives_fini(&nsys.collectives);
	hash_map_fini(&nsys.frames);
	sqlite_file_close(&nsys.file);
	return error;
}

static bool recognize_nsys(const struct import_probe *probe)
{
	return import_probe_has_table(probe, "StringIds") &&
	       (import_probe_has_table(probe, "ThreadNames") ||
		import_probe_has_table(probe, "PROCESSES") ||
		import_probe_has_table(probe, "CUPTI_ACTIVITY_KIND_RUNTIME") ||
		import_probe_has_table(probe, "CUPTI_ACTIVITY_KIND_KERNEL"));
}

const struct importer import_nsys = {
	.name = "nsys",
	.help = "SQLite files of Nsight Systems (nsys export --type sqlite): NVIDIA GPUs, CUDA "
		"calls, NVTX, the program's threads",
	.read = read_nsys,
	.recognize = recognize_nsys,
};
