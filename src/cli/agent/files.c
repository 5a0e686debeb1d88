/* SPDX-License-Identifier: MIT
 *
 * cli/agent/files.c - list the recordings of a spool
 *
 * Runs in:  our own process
 * Gets:     the folder of the recordings
 * Gives:    a line per recording on stdout, the newest last
 * Owns:     nothing
 * Fails:    -errno with the error chain if the folder cannot be read; a file that is removed
 *           meanwhile is left out
 * Why:      names have UTC, and only the file itself has its duration. Files outside of the wanted
 *           time are not opened
 */
#include "cli/agent/files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "agent/spool.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/format.h"
#include "base/string.h"
#include "event/event.h"
#include "trace/reader.h"

#define NS_PER_S INT64_C(1000000000)
#define ENDING   ".duet"

struct agent_file {
	char *path;     /* owned */
	int64_t end_ns; /* CLOCK_REALTIME of its last change */
	uint64_t bytes;
};

struct agent_file_list {
	struct agent_file *all; /* owned */
	size_t count, capacity;
};

static int by_end(const void *a, const void *b)
{
	const struct agent_file *one = a, *other = b;

	if (one->end_ns != other->end_ns)
		return one->end_ns < other->end_ns ? -1 : 1;
	return strcmp(one->path, other->path);
}

static bool is_recording(const char *name)
{
	const size_t length = strlen(name), ending = strlen(ENDING);

	return length > ending && strcmp(name + length - ending, ENDING) == 0 &&
	       strcmp(name, SPOOL_RING) != 0;
}

static int add_file(struct agent_file_list *list, const char *spool, const char *name,
		    int64_t since_ns)
{
	struct string_builder path = {0};
	struct agent_file file;
	struct stat status;

	string_builder_appendf(&path, "%s/%s", spool, name);
	file.path = string_builder_take(&path);
	if (!file.path)
		return error_no_memory();
	if (stat(file.path, &status) || !S_ISREG(status.st_mode)) {
		free(file.path);
		return 0;
	}
	file.end_ns = status.st_mtim.tv_sec * NS_PER_S + status.st_mtim.tv_nsec;
	file.bytes = (uint64_t)status.st_blocks * 512;
	if (file.end_ns < since_ns || array_append(list->all, list->capacity, list->count, file)) {
		free(file.path);
		return file.end_ns < since_ns ? 0 : error_no_memory();
	}
	return 0;
}

static int read_folder(struct agent_file_list *list, const char *spool, int64_t since_ns)
{
	DIR *folder = opendir(spool);
	const struct dirent *entry;
	int error = 0;

	if (!folder)
		return error_set(-errno, "spool '%s': %s; name it: duet agent files --spool DIR",
				 spool, strerror(errno));
	while (!error && (entry = readdir(folder)))
		if (is_recording(entry->d_name))
			error = add_file(list, spool, entry->d_name, since_ns);
	closedir(folder);
	if (list->count)
		qsort(list->all, list->count, sizeof(*list->all), by_end);
	return error;
}

/* 0: the file has no end, or cannot be read. */
static uint64_t read_duration_ns(const char *path)
{
	struct trace_reader *reader;
	const struct event_host *host;
	uint64_t begin_ns, duration_ns = 0;

	if (trace_reader_open(path, &reader)) {
		error_clear();
		return 0;
	}
	if (trace_reader_entities(reader, EVENT_HOST, &host)) {
		begin_ns = trace_reader_begin_ns(reader);
		if (begin_ns < host->begin_ns)
			begin_ns = host->begin_ns;
		duration_ns = host->end_ns > begin_ns ? host->end_ns - begin_ns : 0;
	}
	trace_reader_close(reader);
	return duration_ns;
}

static void print_file(const struct agent_file *file)
{
	const uint64_t duration_ns = read_duration_ns(file->path);
	const time_t end = (time_t)(file->end_ns / NS_PER_S);
	char text[64] = "?";
	struct tm parts;

	if (localtime_r(&end, &parts))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts);
	printf("%s  %9s  %9s  %s\n", text, duration_ns ? format_duration(duration_ns).text : "?",
	       format_size((double)file->bytes).text, format_text(file->path).text);
}

int agent_print_files(const char *spool, uint64_t since_ns)
{
	struct agent_file_list list = {0};
	struct timespec now;
	int64_t oldest_ns = INT64_MIN;
	int error;

	clock_gettime(CLOCK_REALTIME, &now);
	if (since_ns)
		oldest_ns = now.tv_sec * NS_PER_S + now.tv_nsec - (int64_t)since_ns;
	error = read_folder(&list, spool, oldest_ns);
	for (size_t i = 0; i < list.count; i++) {
		if (!error)
			print_file(&list.all[i]);
		free(list.all[i].path);
	}
	free(list.all);
	return error;
}
