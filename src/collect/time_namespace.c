/* SPDX-License-Identifier: MIT
 *
 * collect/time_namespace.c - the shift of a process's clocks by its time namespace
 *
 * Runs in:  the recorder
 * Gets:     /proc/PID/timens_offsets
 * Gives:    nanoseconds
 * Owns:     nothing
 * Fails:    returns 0 if the process has ended
 * Why:      Records of perf and BPF use the kernel's CLOCK_MONOTONIC, but processes in a time
 *           namespace read a shifted one. With unshare -T --monotonic 10000, switches appeared 9999
 *           s before the calls of the same threads.
 */
#include "collect/time_namespace.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"

enum { LINK_BYTES = 64, OFFSETS_BYTES = 256 };

static void name_file(uint32_t pid, const char *name, char *ret_path, size_t size)
{
	if (pid)
		snprintf(ret_path, size, "/proc/%u/%s", pid, name);
	else
		snprintf(ret_path, size, "/proc/self/%s", name);
}

static bool is_same(uint32_t pid, const char *name, uint32_t other_pid, const char *other_name)
{
	char path[64], links[2][LINK_BYTES] = {"", ""};

	name_file(pid, name, path, sizeof(path));
	if (readlink(path, links[0], LINK_BYTES - 1) < 0)
		return false;
	name_file(other_pid, other_name, path, sizeof(path));
	return readlink(path, links[1], LINK_BYTES - 1) >= 0 && strcmp(links[0], links[1]) == 0;
}

/* The file describes the namespace of the process's children. It is the process's own unless it has
 * just called unshare. */
static int64_t read_shift(uint32_t pid)
{
	auto_free char *text = NULL;
	int64_t seconds = 0, ns = 0;
	char path[64];

	name_file(pid, "timens_offsets", path, sizeof(path));
	if (read_file(path, OFFSETS_BYTES, &text, NULL)) {
		error_clear();
		return 0;
	}
	if (sscanf(text, "monotonic %" SCNd64 " %" SCNd64, &seconds, &ns) != 2)
		return 0;
	return seconds * 1000000000 + ns;
}

int64_t time_namespace_shift_ns(uint32_t pid)
{
	if (pid && is_same(pid, "ns/time", 0, "ns/time"))
		pid = 0;
	if (!pid && !is_same(0, "ns/time", 0, "ns/time_for_children"))
		return 0;
	return read_shift(pid);
}
