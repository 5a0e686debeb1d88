/* SPDX-License-Identifier: MIT
 *
 * collect/counter/source.c - functions for sources: files that are read repeatedly
 *
 * Runs in:  a sampler's thread; opened in the main thread
 * Gets:     paths and descriptors
 * Gives:    texts, and their times
 * Owns:     nothing
 * Fails:    with errno; a source that cannot be read has no row
 * Why:      Files stay open if possible: reading an open file of /proc takes 1 to 8 us on our
 *           machines, and opening it again would add 3 to 5 us
 */
#include "collect/counter/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "collect/host_clocks.h"

enum { PIECE_BYTES = 2048 };

static void note_exhaustion(const struct tick *tick, int error)
{
	if (error == EMFILE)
		series_note(tick->series,
			    "some counters are absent, because the recorder has reached its limit "
			    "of open files; raise it (ulimit -Hn), or record fewer processes",
			    0);
	if (error == ENFILE)
		series_note(tick->series,
			    "some counters are absent, because the machine has reached its limit "
			    "of open files; raise fs.file-max (sysctl), or record fewer processes",
			    0);
}

int tick_open(const struct tick *tick, const char *format, ...)
{
	char path[512];
	va_list arguments;
	int used = snprintf(path, sizeof(path), "%s", tick->root), more, fd;

	va_start(arguments, format);
	more = vsnprintf(path + used, sizeof(path) - (size_t)used, format, arguments);
	va_end(arguments);
	if (used + more >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		note_exhaustion(tick, errno);
	return fd;
}

/* The kernel returns long files in pieces, and ends a piece when the next line does not fit into a
 * page. So a piece of less than half a page is the last one, and no further read is needed. The
 * text was written between the two readings of the clock. */
long tick_read(struct tick *tick, int fd)
{
	uint64_t before_ns = host_clocks_now_ns();
	size_t used = 0;
	ssize_t got;

	do {
		got = pread(fd, tick->text + used, tick->text_bytes - used, (off_t)used);
		used += got > 0 ? (size_t)got : 0;
	} while (got >= PIECE_BYTES && used < tick->text_bytes);
	tick->time_ns = before_ns + (host_clocks_now_ns() - before_ns) / 2;
	tick->length = used;
	return got < 0 ? -1 : (long)used;
}

bool tick_wants(const struct name_patterns *patterns, const char *name, size_t length)
{
	char cut[SERIES_NAME_BYTES];

	if (name_patterns_is_empty(patterns))
		return true;
	snprintf(cut, sizeof(cut), "%.*s", (int)length, name);
	return name_patterns_match(patterns, cut);
}

bool one_file_open(struct source_state *state, const struct tick *tick)
{
	struct one_file *own = state->own;

	own->fd = tick_open(tick, "%s", state->source->file);
	if (own->fd < 0 && (errno == EACCES || errno == EPERM))
		state->why = "this user may not read it";
	return own->fd >= 0;
}

void one_file_close(struct source_state *state)
{
	close(((struct one_file *)state->own)->fd);
}

void one_file_read(struct source_state *state, struct tick *tick)
{
	uint64_t values[MAX_METRICS] = {0}, valid;
	struct metric_instances *instances = &state->instances;
	long length = tick_read(tick, ((struct one_file *)state->own)->fd);
	struct metric_instance *instance;
	bool is_new;

	metric_instances_begin_round(instances);
	instance = metric_instances_numbered(instances, 0, &is_new);
	valid = length > 0 ? state->source->parse(tick->text, (size_t)length, values) : 0;
	if (instance)
		metric_instance_sample(instances, instance, tick->time_ns, values, valid);
}
