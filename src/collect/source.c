/* SPDX-License-Identifier: MIT
 *
 * collect/source.c - what sources have in common: files that are read again and again
 *
 * Runs in:  a sampler's thread; opening in the main thread
 * Gets:     paths and descriptors   Gives: texts, and the moment they are of
 * Owns:     nothing
 * Fails:    with errno; a source that cannot read has no row
 * Why:      files stay open where they can: of what reading one of /proc costs (1 to 8 us here), opening it anew would
 *           add 3 to 5 us
 */
#include "collect/source.h"

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
			    "some counters are absent: the recorder has as many files open as it "
			    "may; raise its limit (ulimit -Hn), or record fewer processes",
			    0);
	if (error == ENFILE)
		series_note(tick->series,
			    "some counters are absent: the machine has as many files open as it "
			    "may; raise fs.file-max (sysctl), or record fewer processes",
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

/* The kernel gives long files in pieces, and ends one where the next line does not fit into its page: a piece of less than
 * half a page is the last, and need not be asked what comes behind it. What it wrote it wrote somewhere between the two looks at the clock. */
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
	return got < 0 ? -1 : (long)used;
}

bool one_file_open(struct source_state *state, const struct tick *tick)
{
	struct one_file *own = state->own;

	own->fd = tick_open(tick, "%s", state->source->file);
	if (own->fd < 0 && (errno == EACCES || errno == EPERM))
		state->why = "it is not ours to read";
	return own->fd >= 0;
}

void one_file_close(struct source_state *state)
{
	close(((struct one_file *)state->own)->fd);
}

void one_file_read(struct source_state *state, struct tick *tick,
		   uint64_t (*parse)(const char *text, size_t length, uint64_t *values))
{
	uint64_t values[METRICS_MOST] = {0}, valid;
	struct things *things = &state->things;
	long length = tick_read(tick, ((struct one_file *)state->own)->fd);
	struct thing *thing;
	bool is_new;

	things_begin_round(things);
	thing = things_numbered(things, 0, &is_new);
	valid = length > 0 ? parse(tick->text, (size_t)length, values) : 0;
	if (thing)
		thing_sample(things, thing, tick->time_ns, values, valid);
}
