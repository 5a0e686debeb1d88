/* SPDX-License-Identifier: MIT
 *
 * live/follow.c - read a trace file that a recorder is still writing
 *
 * Runs in:  our own process: duet top, the agent's endpoints, the watcher of triggers
 * Gets:     a growing file; gives the analysis of its newest seconds
 * Owns:     the descriptor; a window owns its bytes and its analysis
 * Fails:    -errno with the error chain; -ENODATA if nothing was recorded at that time
 * Why a new analysis each time: it is the one of `duet report --from --to`, so both show the same
 *           numbers. Segments of half a second keep the amount that must be read small.
 */
#include "live/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/model.h"
#include "base/error.h"
#include "base/number.h"
#include "trace/reader.h"
#include "trace/tail.h"

#define BEFORE_NS UINT64_C(2000000000)
#define MAX_BYTES ((uint64_t)256 << 20)

struct live_follow {
	struct trace_tail *tail;
	uint64_t end_ns; /* end of the recording; 0: it has not ended, or is not known */
};

int live_follow_new(int fd, struct live_follow **ret_follow)
{
	struct live_follow *follow = calloc(1, sizeof(*follow));
	int error = trace_tail_new(fd, follow ? &follow->tail : &(struct trace_tail *){NULL});

	if (!follow || error) {
		free(follow);
		return error_set(-ENOMEM, "follow a recording: out of memory");
	}
	*ret_follow = follow;
	return 0;
}

int live_follow_open(const char *path, struct live_follow **ret_follow)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return error_set(-errno, "open '%s': %s", path, strerror(errno));
	return live_follow_new(fd, ret_follow);
}

void live_follow_free(struct live_follow *follow)
{
	if (!follow)
		return;
	trace_tail_free(follow->tail);
	free(follow);
}

/* The end of the recording as analysis_new finds it, from the last segment. Rows whose times are
 * ticks of a counter have no place in CLOCK_MONOTONIC without its clock pairs. */
static int find_end(struct live_follow *follow)
{
	struct live_window window = {0};
	uint8_t *bytes;
	int error = trace_tail_read(follow->tail, UINT64_MAX, MAX_BYTES, &bytes, &window.size);

	if (error)
		return error == -ENODATA ? 0 : error;
	window.bytes = bytes;
	error = model_open_memory(window.bytes, window.size, &window.model);
	if (!error)
		error = analysis_new(window.model, NULL, &window.analysis);
	if (!error)
		follow->end_ns = window.analysis->end_ns;
	live_window_fini(&window);
	return error;
}

int live_follow_update(struct live_follow *follow, uint64_t *ret_newest_ns)
{
	int error = trace_tail_update(follow->tail);

	if (error)
		return error_set(error, "read the recording: %s", strerror(-error));
	if (!trace_tail_has_ended(follow->tail) && !trace_tail_is_abandoned(follow->tail))
		follow->end_ns = 0;
	else if (!follow->end_ns)
		error = find_end(follow);
	if (ret_newest_ns)
		*ret_newest_ns =
			follow->end_ns ? follow->end_ns : trace_tail_newest_ns(follow->tail);
	return error;
}

uint64_t live_follow_written_ns(const struct live_follow *follow)
{
	return trace_tail_written_ns(follow->tail);
}

uint64_t live_follow_start_ns(const struct live_follow *follow)
{
	return trace_tail_start_ns(follow->tail);
}

bool live_follow_has_ended(const struct live_follow *follow)
{
	return trace_tail_has_ended(follow->tail);
}

bool live_follow_is_abandoned(const struct live_follow *follow)
{
	return !trace_tail_has_ended(follow->tail) && trace_tail_is_abandoned(follow->tail);
}

/* The start of the recording as analysis_new finds it; times of a window count from there. */
static uint64_t begin_of(const struct model *model)
{
	const struct event_host *hosts;
	size_t count = model_entities(model, EVENT_HOST, &hosts);
	uint64_t begin_ns = count ? hosts[0].begin_ns : 0;

	for (size_t i = 1; i < count; i++)
		begin_ns = smaller(begin_ns, hosts[i].begin_ns);
	return larger(begin_ns, trace_reader_begin_ns(model->reader));
}

static int analyse(const struct live_window_options *options, struct live_window *window)
{
	struct analysis_options chosen = {.has_from = true,
					  .has_to = true,
					  .by_thread = options->by_thread,
					  .observer = options->observer,
					  .finds_iterations = options->finds_iterations,
					  .arrived_ns = options->end_ns,
					  .is_brief = options->is_brief};
	uint64_t begin_ns;
	int error = model_open_memory(window->bytes, window->size, &window->model);

	if (error)
		return error;
	window->reader = window->model->reader;
	begin_ns = begin_of(window->model);
	if (begin_ns >= options->end_ns)
		return -ENODATA;
	chosen.from_ns = larger(options->begin_ns, begin_ns) - begin_ns;
	chosen.to_ns = options->end_ns - begin_ns;
	return analysis_new(window->model, &chosen, &window->analysis);
}

int live_follow_analyse(struct live_follow *follow, const struct live_window_options *options,
			struct live_window *ret_window)
{
	const uint64_t before_ns = options->before_ns ? options->before_ns : BEFORE_NS;
	const uint64_t from_ns = options->begin_ns - smaller(before_ns, options->begin_ns);
	struct live_window window = {0};
	uint8_t *bytes;
	int error = trace_tail_read(follow->tail, from_ns,
				    options->max_bytes ? options->max_bytes : MAX_BYTES, &bytes,
				    &window.size);

	if (error)
		return error == -ENODATA
			       ? error
			       : error_set(error, "read the recording: %s", strerror(-error));
	window.bytes = bytes;
	error = analyse(options, &window);
	if (error) {
		live_window_fini(&window);
		return error;
	}
	*ret_window = window;
	return 0;
}

void live_window_fini(struct live_window *window)
{
	analysis_free(window->analysis);
	model_close(window->model);
	free(window->bytes);
	*window = (struct live_window){0};
}
