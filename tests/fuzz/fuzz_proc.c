/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz/fuzz_proc.c - libFuzzer target: any bytes as any file of /proc and /sys that counters
 * are read from
 *
 *	fuzz_proc --seed FOLDER		writes this machine's own files as seeds
 *	fuzz_proc FOLDER		fuzzes
 *
 * The first byte chooses the file. Nothing may be read behind the text, and no more be found than
 * there is room for.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/drm/fdinfo.h"
#include "collect/system/formats.h"

static bool next_cpu(struct scan *rest, struct format_row *ret_row)
{
	return stat_next_cpu(rest, 100, ret_row);
}

static uint64_t parse_limit(const char *text, size_t length, uint64_t *values)
{
	return cpu_max_parse(text, length, values);
}

static uint64_t parse_path(const char *text, size_t length, uint64_t *values)
{
	static const char *const controllers[] = {"", "memory", "cpu"};
	struct scan path;

	for (size_t i = 0; i < ARRAY_COUNT(controllers); i++)
		if (cgroup_path(text, length, controllers[i], &path) &&
		    (path.at < text || path.end > text + length || path.end < path.at))
			abort();
	values[0] = 0;
	return 0;
}

/* A driver writes it, which may be anybody's. */
static uint64_t parse_fdinfo(const char *text, size_t length, uint64_t *values)
{
	struct fdinfo fdinfo;

	fdinfo_parse(text, length, &fdinfo);
	if (fdinfo.engines_count > MAX_FDINFO_ENGINES || fdinfo.regions_count > MAX_FDINFO_REGIONS)
		abort();
	for (size_t i = 0; i < fdinfo.engines_count; i++)
		if (!fdinfo.engines[i].capacity ||
		    strnlen(fdinfo.engines[i].name, FDINFO_NAME_BYTES) == FDINFO_NAME_BYTES)
			abort();
	values[0] = 0;
	return 0;
}

static const struct {
	const char *file; /* a seed */
	uint64_t (*parse)(const char *text, size_t length, uint64_t *values);
	bool (*next)(struct scan *rest, struct format_row *ret_row); /* of a list */
} formats[] = {
	{"/proc/stat", .next = next_cpu},
	{"/proc/stat", .parse = stat_parse},
	{"/proc/pressure/memory", .parse = pressure_parse},
	{"/proc/loadavg", .parse = loadavg_parse},
	{"/proc/meminfo", .parse = meminfo_parse},
	{"/proc/vmstat", .parse = vmstat_parse},
	{"/proc/diskstats", .next = diskstats_next},
	{"/sys/block/vda/inflight", .parse = inflight_parse},
	{"/proc/net/dev", .next = netdev_next},
	{"/proc/self/schedstat", .parse = schedstat_parse},
	{"/proc/self/statm", .parse = statm_parse},
	{"/proc/self/io", .parse = io_parse},
	{"/proc/self/status", .parse = status_parse},
	{"/proc/self/smaps_rollup", .parse = smaps_rollup_parse},
	{"/proc/sys/kernel/pid_max", .parse = number_parse},
	{"/proc/sys/kernel/pid_max", .parse = temperature_parse},
	{"/proc/self/cgroup", .parse = parse_path},
	{"/sys/fs/cgroup/cpu.stat", .parse = cpu_stat_parse},
	{"/sys/fs/cgroup/cpu.max", .parse = parse_limit},
	{"/proc/self/fdinfo/0", .parse = parse_fdinfo},
};

/* A bit for which there is no value would be read behind the values. */
static void check(uint64_t valid)
{
	if (valid >> MAX_METRICS)
		abort();
}

static void parse_list(size_t index, struct scan text)
{
	struct scan rest = text;
	struct format_row row;

	while (formats[index].next(&rest, &row)) {
		if (row.name && (row.name < text.at || row.name + row.name_length > text.end))
			abort();
		check(row.valid);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	uint64_t values[MAX_METRICS] = {0};
	/* In memory of its own, so that the sanitizer sees a read behind the end. */
	char *text = malloc(size);
	size_t index = size ? bytes[0] % ARRAY_COUNT(formats) : 0;

	if (text && size) {
		memcpy(text, bytes + 1, size - 1);
		text = realloc(text, size > 1 ? size - 1 : 1);
		if (text && formats[index].next)
			parse_list(index, scan_of(text, size - 1));
		else if (text)
			check(formats[index].parse(text, size - 1, values));
	}
	free(text);
	return 0;
}

static void write_seed(const char *folder, size_t index)
{
	char path[512], text[16384] = {(char)index};
	int from = open(formats[index].file, O_RDONLY | O_CLOEXEC), to;
	ssize_t size = from < 0 ? 0 : read(from, text + 1, sizeof(text) - 1);

	if (from >= 0)
		close(from);
	snprintf(path, sizeof(path), "%s/%zu", folder, index);
	to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (to < 0 || write(to, text, (size_t)(size < 0 ? 0 : size) + 1) < 0)
		perror(path);
	if (to >= 0)
		close(to);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	if (*argc < 3 || strcmp((*argv)[1], "--seed") != 0)
		return 0;
	mkdir((*argv)[2], 0777);
	for (size_t i = 0; i < ARRAY_COUNT(formats); i++)
		write_seed((*argv)[2], i);
	exit(0);
}
