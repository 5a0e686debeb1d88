/* SPDX-License-Identifier: MIT
 *
 * cli/top/explain.c - sentences for the user of duet top
 *
 * Runs in:  our own process, in duet top
 * Gets:     pids, messages of the recorder
 * Gives:    one line
 * Owns:     nothing
 * Fails:    never; "" if there is nothing to explain
 * Why every process is looked at with -a: a process without the guest does not reach the recorder,
 *           so that no row names it
 */
#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/format.h"
#include "cli/top/explain.h"
#include "collect/collector.h"
#include "collect/proc.h"

static const struct guest_way *find_way(const char *collect)
{
	for (size_t i = 0; i < collectors_count; i++) {
		const struct guest_way *way = collectors[i]->way;

		if (way && way->why_unrecorded &&
		    (!collect || strstr(collect, collectors[i]->name)))
			return way;
	}
	return NULL;
}

static void explain_process(const struct guest_way *way, pid_t pid, char *ret_text, size_t size)
{
	char name[64];

	proc_thread_name((uint32_t)pid, (uint32_t)pid, name);
	if (*name)
		snprintf(ret_text, size, "process %d (%s) %s", (int)pid, format_text(name).text,
			 way->why_unrecorded(pid));
}

/* A process with the runtime's library and without its guest. The first one stands for all. */
static void explain_any(const struct guest_way *way, pid_t own, char *ret_text, size_t size)
{
	DIR *folder = opendir("/proc");
	const struct dirent *entry;

	while (folder && !*ret_text && (entry = readdir(folder))) {
		const pid_t pid = isdigit((unsigned char)*entry->d_name) ? atoi(entry->d_name) : 0;

		if (pid > 0 && pid != own && pid != getpid() &&
		    proc_maps_word((uint32_t)pid, way->library) &&
		    !proc_maps_word((uint32_t)pid, way->file))
			explain_process(way, pid, ret_text, size);
	}
	if (folder)
		closedir(folder);
}

void top_explain_missing(const struct top_missing *missing, char *ret_text, size_t size)
{
	const struct guest_way *way = find_way(missing->collect);

	*ret_text = '\0';
	if (way && missing->pids)
		explain_process(way, atoi(missing->pids), ret_text, size);
	else if (way && way->library && way->file)
		explain_any(way, missing->own, ret_text, size);
}

bool top_explain_message(const char *message, char *ret_text, size_t size)
{
	unsigned int pid;
	char name[64];
	int recorder;

	if (sscanf(message,
		   "the calls of process %u are taken over from the recorder in process %d", &pid,
		   &recorder) != 2) {
		snprintf(ret_text, size, "%s", message);
		return false;
	}
	proc_thread_name(pid, pid, name);
	snprintf(ret_text, size,
		 "The calls of %s (%u) arrive up to 1.3 s late: another recorder (process %d) has "
		 "them first. End it for live data.",
		 *name ? format_text(name).text : "the process", pid, recorder);
	return true;
}
