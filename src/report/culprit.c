/* SPDX-License-Identifier: MIT
 *
 * report/culprit.c - the function in which launching threads were while a device was idle
 *
 * Runs in:  our own process
 * Gets:     states of an analysis (idle time by cause and stack of the launching thread) in the
 *           steady part, frames
 * Gives:    the program's own function that has most of a cause's time, otherwise the function of
 *           other code that has most; at most the 512 longest states are counted
 * Owns:     nothing that outlives a call
 * Fails:    out of memory: returns no function and sets the report's state->error
 * Why by function: samples of a loop hit a hundred places, and no single stack has a tenth of the
 *           loop's time
 * Why beside the verdict: its causes join preempted code with code that ran, and the waits for one
 *           thread wherever they are; a finding is about one cause of the account
 */
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/verdict/verdict.h"
#include "base/json.h"
#include "report/verdict/cause.h"

enum { MAX_STACKS = 512 }; /* stacks looked at, the longest first */

/* A function, and the idle time that it explains. */
struct culprit {
	struct verdict_place place;
	uint64_t ns;
};

bool report_place_of(const struct report *report, uint32_t stack, struct verdict_place *ret_place)
{
	if (verdict_find_place(report->frames, stack, ret_place)) {
		report->state->error = -ENOMEM;
		return false;
	}
	return ret_place->function != NULL;
}

static int compare_states(const void *left, const void *right)
{
	const struct analysis_state *a = *(const struct analysis_state *const *)left;
	const struct analysis_state *b = *(const struct analysis_state *const *)right;

	if (a->steady_ns != b->steady_ns)
		return a->steady_ns < b->steady_ns ? 1 : -1;
	return (a->stack > b->stack) - (a->stack < b->stack);
}

static size_t list_states(const struct report *report, size_t device, enum account_cause cause,
			  const struct analysis_state **ret_states)
{
	const struct analysis *analysis = report->analysis;
	size_t count = 0;

	for (size_t i = 0; i < analysis->cpu.states_count; i++) {
		const struct analysis_state *state = &analysis->cpu.states[i];

		if (state->device == device && state->cause == cause && state->steady_ns)
			ret_states[count++] = state;
	}
	qsort(ret_states, count, sizeof(*ret_states), compare_states);
	return count < MAX_STACKS ? count : MAX_STACKS;
}

static void add_place(struct culprit *culprits, size_t *count, const struct verdict_place *place,
		      uint64_t ns)
{
	size_t i = 0;

	while (i < *count && strcmp(culprits[i].place.function, place->function) != 0)
		i++;
	if (i == *count)
		culprits[(*count)++] = (struct culprit){.place = *place};
	culprits[i].ns += ns;
}

/* A function of the program is better than any other: stacks without one lack frames, and the user
 * cannot change the code that they show. */
static bool is_worse(const struct culprit *left, const struct culprit *right)
{
	return left->place.is_own != right->place.is_own ? right->place.is_own
							 : left->ns < right->ns;
}

bool report_find_culprit(const struct report *report, size_t device, enum account_cause cause,
			 struct verdict_place *ret_place, uint64_t *ret_ns)
{
	const struct analysis *analysis = report->analysis;
	const struct analysis_state **states;
	struct culprit culprits[MAX_STACKS];
	struct verdict_place place;
	size_t count, known = 0, best = 0;

	states = calloc(analysis->cpu.states_count + 1, sizeof(*states));
	if (!states) {
		report->state->error = -ENOMEM;
		return false;
	}
	count = list_states(report, device, cause, states);
	for (size_t i = 0; i < count; i++)
		if (report_place_of(report, states[i]->stack, &place))
			add_place(culprits, &known, &place, states[i]->steady_ns);
	free(states);
	for (size_t i = 1; i < known; i++)
		if (is_worse(&culprits[best], &culprits[i]))
			best = i;
	if (!known)
		return false;
	*ret_place = culprits[best].place;
	*ret_ns = culprits[best].ns;
	return true;
}

void report_write_culprit(const struct report *report, const struct verdict_place *place,
			  uint64_t ns, struct json_writer *json)
{
	report_write_place(place, json);
	if (ns)
		json_pair_u64(json, "function_ns", ns);
	report_write_frames(report, place->stack, json);
}
