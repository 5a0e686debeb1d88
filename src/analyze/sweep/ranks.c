/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/ranks.c - the late rank of an MPI job, while a launching thread waits in MPI
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     ranks of processes; samples and intervals off the processor of all threads
 * Gives:    rows of the stacks of late ranks (struct analysis_holding, wait 0)
 * Owns:     the threads of the ranks, and which stacks are inside of the MPI library
 * Fails:    -ENOMEM
 * Why by place, not by waker: ranks on one host pass messages through shared memory and poll, so no
 *           wake-up connects them. A rank is late if it alone is outside of MPI while all others
 *           are inside. Nothing is named if several are outside, or if the state of one is unknown.
 */
#include "analyze/sweep/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/string.h"

enum { MAX_RANKS = 128, MAX_STEPS = 16 };
#define STEP_NS      2000000u  /* an interval off the processor is looked at once in this time */
#define NEAR_NS      20000000u /* the longest time to a sample that shows what a thread did */
#define RANK_NONE    UINT32_MAX
#define RANK_SEVERAL (UINT32_MAX - 1) /* several threads of a rank call MPI */

static uint32_t rank_of(const struct sweep *sweep, size_t thread)
{
	const struct event_process *process = entity_index_row(
		&sweep->entities.processes, sweep->entities.thread_process[thread]);

	return process && process->rank ? process->rank - 1 : RANK_NONE;
}

/* The number of ranks of the only job in the trace; 0: there is none, or several. */
static uint32_t count_ranks(const struct sweep *sweep)
{
	uint32_t count = 0;

	for (size_t i = 0; i < sweep->entities.processes.count; i++) {
		const struct event_process *row = entity_index_row(&sweep->entities.processes, i);

		if (!row->rank)
			continue;
		if (!row->rank_count || (count && count != row->rank_count))
			return 0;
		count = row->rank_count;
	}
	return count >= 2 && count <= MAX_RANKS ? count : 0;
}

int sweep_make_ranks(struct sweep *sweep)
{
	struct sweep_ranks *ranks = &sweep->ranks_of_job;
	const uint32_t count = count_ranks(sweep);

	if (!count)
		return 0;
	ranks->threads = malloc(count * sizeof(*ranks->threads));
	if (!ranks->threads)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		ranks->threads[i] = RANK_NONE;
	ranks->count = count;
	return 0;
}

void sweep_ranks_fini(struct sweep_ranks *ranks)
{
	free(ranks->threads);
	pair_map_fini(&ranks->stacks);
}

/* ---- inside of MPI --------------------------------------------------------------------------- */

/* All implementations name their library libmpi…: libmpi.so, libmpich.so, libmpi_mpifh.so. */
static bool has_mpi(const struct model *model, uint32_t stack)
{
	const struct event_stack *node;

	for (; (node = trace_reader_stack(model->reader, stack)); stack = node->caller) {
		const struct event_frame *frame = trace_reader_frame(model->reader, node->frame);

		if (frame && frame->type == FRAME_NATIVE &&
		    strncmp(path_base(model_text(model, frame->module_string, "")), "libmpi", 6) ==
			    0)
			return true;
	}
	return false;
}

static bool is_in_mpi(struct sweep *sweep, uint32_t stack)
{
	struct pair_map *stacks = &sweep->ranks_of_job.stacks;
	uint32_t is_inside = pair_map_find(stacks, stack, 0);

	if (is_inside == PAIR_MAP_NONE) {
		is_inside = has_mpi(sweep->analysis->model, stack);
		pair_map_put(stacks, stack, 0,
			     is_inside); /* without memory it is looked up again */
	}
	return is_inside;
}

void sweep_see_rank(struct sweep *sweep, size_t thread, uint32_t stack)
{
	const struct sweep_ranks *ranks = &sweep->ranks_of_job;
	uint32_t rank, *known;

	if (!ranks->count || !stack)
		return;
	rank = rank_of(sweep, thread);
	if (rank >= ranks->count)
		return;
	known = &ranks->threads[rank];
	if (*known != thread && *known != RANK_SEVERAL && is_in_mpi(sweep, stack))
		*known = *known == RANK_NONE ? (uint32_t)thread : RANK_SEVERAL;
}

/* ---- the state of a rank ----------------------------------------------------------------------
 */

/* A call of a runtime around this moment; NULL: none. */
static const struct thread_call *call_at(const struct thread_called *called, uint64_t time_ns)
{
	for (size_t i = called->count; i-- > 0 && called->calls[i].end > time_ns;)
		if (called->calls[i].begin <= time_ns)
			return &called->calls[i];
	return NULL;
}

/* The interval off the processor around a moment, otherwise the nearest sample; NULL: none. */
static const struct thread_moment *moment_at(const struct thread_state *state, uint64_t time_ns)
{
	const struct thread_moment *nearest = NULL;
	uint64_t nearest_ns = NEAR_NS;

	for (size_t i = sweep_first_moment(state, time_ns > NEAR_NS ? time_ns - NEAR_NS : 0);
	     i < state->moments_count && state->moments[i].begin < time_ns + NEAR_NS; i++) {
		const struct thread_moment *moment = &state->moments[i];
		const uint64_t away_ns =
			larger(moment->begin, time_ns) - smaller(moment->begin, time_ns);

		if (moment->begin != moment->end) {
			if (moment->begin <= time_ns && time_ns < moment->end)
				return moment;
		} else if (away_ns < nearest_ns) {
			nearest_ns = away_ns;
			nearest = moment;
		}
	}
	return nearest;
}

/* stack 0: not known. */
static struct sweep_holding doing_at(const struct sweep *sweep, uint32_t thread, uint64_t time_ns)
{
	const struct thread_state *state = &sweep->per_thread.states[thread];
	const struct event_thread *row = entity_index_row(&sweep->entities.threads, thread);
	const struct thread_call *call = call_at(&state->called, time_ns);
	const struct thread_moment *moment;
	struct sweep_holding doing = {.thread = row ? row->id : 0};

	if (call) {
		doing.stack = call->stack;
		doing.is_away = call->is_wait;
	} else if (state->since_ns <= time_ns) {
		doing.stack = state->stack;
		doing.is_away = !state->is_preempted;
	} else if ((moment = moment_at(state, time_ns))) {
		doing.stack = moment->stack;
		doing.is_away = moment->begin != moment->end && !moment->is_preempted;
	}
	return doing;
}

/* The state of the only rank outside of MPI; stack 0: there is none, or it is not known. */
static struct sweep_holding find_late(struct sweep *sweep, uint32_t own, uint64_t time_ns)
{
	const struct sweep_ranks *ranks = &sweep->ranks_of_job;
	static const struct sweep_holding none;
	struct sweep_holding late = none;

	for (uint32_t rank = 0; rank < ranks->count; rank++) {
		struct sweep_holding doing;

		if (rank == own)
			continue;
		if (ranks->threads[rank] >= RANK_SEVERAL)
			return none;
		doing = doing_at(sweep, ranks->threads[rank], time_ns);
		if (!doing.stack)
			return none;
		if (is_in_mpi(sweep, doing.stack))
			continue;
		if (late.stack)
			return none;
		late = doing;
	}
	return late;
}

int sweep_count_ranks(struct sweep *sweep, size_t device, const struct account_piece *piece,
		      const struct thread_moment *moment)
{
	const uint64_t begin = larger(moment->begin, piece->begin);
	const uint64_t length = thread_moment_overlap(moment, piece->begin, piece->end);
	const uint64_t steps = smaller(length / STEP_NS + 1, MAX_STEPS);
	const struct sweep_waiter waiter = {.device = device,
					    .behind = moment->stack,
					    .is_preempted = moment->is_preempted,
					    .is_steady = piece->is_steady,
					    .is_slowest = piece->is_slowest};
	uint32_t own;
	int error = 0;

	if (!sweep->ranks_of_job.count || !moment->stack || !is_in_mpi(sweep, moment->stack))
		return 0;
	own = rank_of(sweep, piece->thread);
	if (own >= sweep->ranks_of_job.count)
		return 0;
	for (uint64_t i = 0; i < steps && !error; i++) {
		struct sweep_holding late =
			find_late(sweep, own, begin + length * (2 * i + 1) / (2 * steps));

		if (!late.stack)
			late.thread = 0;
		late.weight = moment->begin == moment->end ? moment->weight : length / steps;
		error = sweep_add_holding(sweep, &waiter, late);
	}
	return error;
}
