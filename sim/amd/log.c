/* SPDX-License-Identifier: MIT
 *
 * sim/amd/log.c - a log of the correct times of all work, for tests; a trace for debugging
 *
 * Runs in:  a program that uses ROCr; only the thread of the GPU writes the log
 * Gives:    lines of SIM_KFD's log=FILE; each is one write, so several processes may share the file
 * Owns:     the file, from the first line on
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim.h"

void sim_log(const struct sim_truth *truth)
{
	static int file = -1;
	char *line; /* names of C++ are as long as they like */
	int length;

	if (!sim_options()->log[0])
		return;
	if (file < 0)
		file = open(sim_options()->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	length = asprintf(
		&line, "%s %d %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n",
		truth->kind, (int)getpid(), truth->gpu, truth->queue_id, truth->packet,
		sim_system_ns(truth->start_ns), sim_system_ns(truth->end_ns), truth->amount,
		truth->name && truth->name[0] ? truth->name : "-");
	if (length < 0 || file < 0 || write(file, line, (size_t)length) != length)
		sim_die("cannot write '%s', which SIM_KFD names as log", sim_options()->log);
	free(line);
}

void sim_trace(int level, const char *format, ...)
{
	char text[512];
	va_list arguments;

	if (sim_options()->trace < level)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	dprintf(STDERR_FILENO, "sim-kfd: %s\n", text);
}

void sim_die(const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	dprintf(STDERR_FILENO, "sim-kfd: %s\n", text);
	abort();
}
