/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/switch_losses.c - the intervals in which rows of switches were lost
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     losses of the trace; for each thread, the times of its rows
 * Gives:    for each row, the time before it in which the state of its thread is not known
 * Owns:     the list of intervals
 * Fails:    -ENOMEM
 * Why until the next row: a lost row may have been of any thread. After the interval no row is
 *           missing, so the next row of a thread shows what it did since the end of the interval: a
 *           thread that leaves its processor, runs or calls was on it. A thread that gets a
 *           processor was off it, and only a waker shows that it was blocked.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/sweep/sweep.h"
#include "base/array.h"

bool sweep_is_bounded_loss(const struct event_loss *loss)
{
	return loss->kind == EVENT_SWITCH && loss->bounded && loss->begin < loss->end;
}

/* Losses come in the order of their begin. */
static int add_interval(struct sweep_switch_losses *losses, const struct event_loss *loss)
{
	struct switch_loss *last = losses->count ? &losses->list[losses->count - 1] : NULL;

	if (last && loss->begin <= last->end) {
		last->end = larger(last->end, loss->end);
		return 0;
	}
	return array_append(losses->list, losses->capacity, losses->count,
			    (struct switch_loss){loss->begin, loss->end});
}

int sweep_make_switch_losses(struct sweep *sweep)
{
	const struct event_loss *losses = NULL;
	const size_t count = trace_reader_losses(sweep->analysis->model->reader, &losses);
	int error = 0;

	for (size_t i = 0; i < count && !error; i++)
		if (sweep_is_bounded_loss(&losses[i]) &&
		    (!losses[i].process ||
		     model_has_process(sweep->analysis->model, losses[i].process)))
			error = add_interval(&sweep->switch_losses, &losses[i]);
	return error;
}

struct switch_gap sweep_pass_losses(const struct sweep *sweep, struct loss_cursor *cursor,
				    const struct thread_row *row)
{
	const struct sweep_switch_losses *losses = &sweep->switch_losses;
	struct switch_gap gap = {.until = row->time};
	const struct switch_loss *last;

	if (cursor->next == losses->count || losses->list[cursor->next].begin >= row->time)
		return (struct switch_gap){0};
	gap.from = larger(cursor->from, losses->list[cursor->next].begin);
	while (cursor->next + 1 < losses->count && losses->list[cursor->next + 1].begin < row->time)
		cursor->next++;
	last = &losses->list[cursor->next];
	gap.has_any = true;
	gap.is_inside = row->time < last->end;
	cursor->from = row->time;
	if (gap.is_inside)
		return gap;
	cursor->next++;
	if (!row->is_entry || row->is_woken)
		gap.until = last->end;
	return gap;
}

void sweep_switch_losses_fini(struct sweep_switch_losses *losses)
{
	free(losses->list);
}
