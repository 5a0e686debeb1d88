/* SPDX-License-Identifier: MIT
 *
 * collect/system/process_io.c - /proc/PID/io: disk traffic of each recorded process
 *
 * Runs in:  a sampler's thread
 * Gets:     read_bytes and write_bytes
 * Gives:    bytes
 * Owns:     nothing beside process_files.c
 * Fails:    as process_files.c; only the same user or root may read it
 * Why:      rchar and wchar are not used, because they include the page cache and pipes. max_hz
 *           limits the rate, because the kernel sums over the process's threads at each reading,
 *           which takes 10 us for 50 threads
 */
#include "base/array.h"
#include "collect/system/formats.h"
#include "collect/system/process_files.h"
#include "collect/system/sources.h"

enum { READ, WRITTEN };
static const struct metric metrics[] = {
	[READ] = {"process.io.read", "bytes",
		  "bytes that the process read from disks, reads from the page cache excluded "
		  "(read_bytes)",
		  .kind = METRIC_TOTAL},
	[WRITTEN] = {"process.io.write", "bytes",
		     "bytes that the process wrote and that go to disks (write_bytes)",
		     .kind = METRIC_TOTAL},
};

uint64_t io_parse(const char *text, size_t length, uint64_t *values)
{
	static const struct scan_field fields[] = {{"read_bytes", 1}, {"write_bytes", 1}};

	return scan_fields(text, length, fields, ARRAY_COUNT(fields), values);
}

const struct source process_io_source = {
	.name = "io",
	.file = "/proc/[pid]/io",
	SOURCE_METRICS(metrics),
	.group = GROUP_PROCESSES,
	.max_hz = 10,
	.is_paced = true,
	.parse = io_parse,
	.refused = "disk traffic of a process is absent, because /proc/PID/io belongs to another "
		   "user; record as root",
	PROCESS_FILES_SOURCE,
};
