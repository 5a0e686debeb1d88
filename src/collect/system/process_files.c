/* SPDX-License-Identifier: MIT
 *
 * collect/system/process_files.c - a file of each recorded process, read repeatedly
 *
 * Runs in:  a sampler's thread; opened in the main thread
 * Gets:     the recorded processes
 * Gives:    an instance per process, with its file's values
 * Owns:     a descriptor per process
 * Fails:    an ended process cannot be read, and its series end. Values that may not be read are
 *           absent, which is noted once per process.
 * Why:      A descriptor is kept open, because a pid may be reused as soon as its process is gone;
 *           an open file still belongs to the process that it was opened for
 */
#include "collect/system/process_files.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "collect/counter/sampler.h"

static void close_file(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void note_refused(const struct process_files *files, size_t place)
{
	if (errno == EACCES && files->source->refused)
		series_note(files->tick->series, files->source->refused,
			    files->view.places[place].process);
}

static void meet_process(void *context, size_t place)
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

/* Some kernels let any user open a file, and refuse to read it. */
static long read_file_of(struct process_files *files, struct tick *tick, size_t place)
{
	long length = tick_read(tick, files->fds[place]);

	if (length < 0) {
		note_refused(files, place);
		close_file(&files->fds[place]);
	}
	return length;
}

static struct metric_instance *entity_of(struct source_state *state,
					 const struct tracked_place *who)
{
	bool is_new;
	struct metric_instance *instance =
		metric_instances_numbered(&state->instances, who->generation, &is_new);

	if (!instance)
		return NULL;
	instance->of.process = who->process;
	if (is_new && who->since_ns)
		metric_instance_was_born(&state->instances, instance, who->since_ns);
	return instance;
}

/* Whether a process is to be read. One that lives for less than the interval has only its first
 * reading. */
static bool is_due(const struct source_state *state, const struct tick *tick, size_t place)
{
	const struct process_files *files = state->own;

	return !state->source->is_paced || state->ticks >= files->next[place] ||
	       tick->sampler->is_extra;
}

void process_files_read(struct source_state *state, struct tick *tick)
{
	struct process_files *files = state->own;

	files->tick = tick;
	files->source = state->source;
	tracked_look(tick->tracked, &files->view, meet_process, files);
	metric_instances_begin_round(&state->instances);
	for (size_t i = 0; i < files->view.count; i++) {
		uint64_t values[MAX_METRICS] = {0}, valid;
		struct metric_instance *instance;
		long length;

		if (files->fds[i] >= 0 && !is_due(state, tick, i)) {
			entity_of(state, &files->view.places[i]);
			continue;
		}
		length = files->fds[i] < 0 ? -1 : read_file_of(files, tick, i);
		if (length <= 0)
			continue;
		files->next[i] = state->ticks + state->divisor;
		valid = source_values(state, tick, i, values);
		instance = entity_of(state, &files->view.places[i]);
		if (instance)
			metric_instance_sample(&state->instances, instance, tick->time_ns, values,
					       valid);
	}
	metric_instances_end_round(&state->instances, tick->time_ns);
}

bool process_files_open(struct source_state *state, const struct tick *tick)
{
	struct process_files *files = state->own;

	for (size_t i = 0; i < MAX_TRACKED; i++)
		files->fds[i] = -1;
	files->name = strrchr(state->source->file, '/') + 1;
	return tick->tracked != NULL;
}

void process_files_close(struct source_state *state)
{
	struct process_files *files = state->own;

	for (size_t i = 0; i < MAX_TRACKED; i++)
		close_file(&files->fds[i]);
}
