/* SPDX-License-Identifier: MIT
 *
 * collect/system/process_files.c - a file of each recorded process, read again and again
 *
 * Runs in:  a sampler's thread; it is opened in the main thread
 * Gets:     the processes that are recorded   Gives: a thing for each, with what its file says
 * Owns:     a descriptor for each process
 * Fails:    who has ended cannot be read: its series end. What is not ours to read is absent, which is noted once for
 *           each process
 * Why a descriptor: a number is somebody else's as soon as its process is gone; a file is the process's own
 */
#include "collect/system/process_files.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "collect/sampler.h"

static void close_file(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void note_refused(const struct process_files *files, size_t place)
{
	if (errno == EACCES && files->refused)
		series_note(files->tick->series, files->refused, files->view.places[place].process);
}

static void meet(void *context, size_t place)
{
	struct process_files *files = context;
	uint32_t pid = files->view.places[place].pid;

	close_file(&files->fds[place]);
	files->next[place] = 0;
	if (!pid)
		return;
	files->fds[place] = tick_open(files->tick, "/proc/%u/%s", pid, files->name);
	if (files->fds[place] < 0)
		note_refused(files, place);
}

/* Some kernels let anybody open a file, and refuse to read. */
static long read_file_of(struct process_files *files, struct tick *tick, size_t place)
{
	long length = tick_read(tick, files->fds[place]);

	if (length < 0) {
		note_refused(files, place);
		close_file(&files->fds[place]);
	}
	return length;
}

static struct thing *thing_of(struct source_state *state, const struct tracked_place *who)
{
	bool is_new;
	struct thing *thing = things_numbered(&state->things, who->generation, &is_new);

	if (!thing)
		return NULL;
	thing->of.process = who->process;
	if (is_new && who->since_ns)
		thing_was_born(&state->things, thing, who->since_ns);
	return thing;
}

/* Who lives for less than the time between two readings has the first one. */
static bool is_due(const struct source_state *state, const struct tick *tick, size_t place)
{
	const struct process_files *files = state->own;

	return !state->source->is_paced || state->ticks >= files->next[place] ||
	       tick->sampler->is_extra;
}

void process_files_read(struct source_state *state, struct tick *tick,
			uint64_t (*parse)(struct source_state *state, struct tick *tick,
					  size_t place, size_t length, uint64_t *values))
{
	struct process_files *files = state->own;

	files->tick = tick;
	tracked_look(tick->tracked, &files->view, meet, files);
	things_begin_round(&state->things);
	for (size_t i = 0; i < files->view.count; i++) {
		uint64_t values[METRICS_MOST] = {0}, valid;
		struct thing *thing;
		long length;

		if (files->fds[i] >= 0 && !is_due(state, tick, i)) {
			thing_of(state, &files->view.places[i]);
			continue;
		}
		length = files->fds[i] < 0 ? -1 : read_file_of(files, tick, i);
		if (length <= 0)
			continue;
		files->next[i] = state->ticks + state->divisor;
		valid = parse(state, tick, i, (size_t)length, values);
		thing = thing_of(state, &files->view.places[i]);
		if (thing)
			thing_sample(&state->things, thing, tick->time_ns, values, valid);
	}
	things_end_round(&state->things, tick->time_ns);
}

bool process_files_open(struct source_state *state, const struct tick *tick)
{
	struct process_files *files = state->own;

	for (size_t i = 0; i < TRACKED_MOST; i++)
		files->fds[i] = -1;
	files->name = strrchr(state->source->file, '/') + 1;
	return tick->tracked != NULL;
}

void process_files_close(struct source_state *state)
{
	struct process_files *files = state->own;

	for (size_t i = 0; i < TRACKED_MOST; i++)
		close_file(&files->fds[i]);
}
