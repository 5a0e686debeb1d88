/* SPDX-License-Identifier: MIT
 *
 * analyze/verdict/parts.c - the different threads and objects that one cause joins
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     causes of the first step, and the causes of the second step that joined them
 * Gives:    numbers of threads, of other threads and of objects of each cause
 * Owns:     the list
 * Fails:    -ENOMEM
 * Why:      a cause of a thousand threads must not be charged to the one that came first
 */
#include "analyze/verdict/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/model.h"
#include "analyze/text/name_pattern.h"
#include "analyze/verdict/verdict.h"
#include "base/array.h"

static int add_part(struct verdict_parts *parts, const struct verdict_part *part)
{
	const uint64_t value = part->what ? (uintptr_t)part->what : part->thread;
	const uint64_t key = (uint64_t)part->cause * PART_KIND_COUNT + part->kind;

	if (!value)
		return 0;
	return pair_map_add(&parts->seen, key, value, parts->list, parts->capacity, parts->count,
			    *part) == PAIR_MAP_NONE
		       ? -ENOMEM
		       : 0;
}

int verdict_parts_add(struct verdict_parts *parts, uint32_t id, const struct verdict_cause *cause)
{
	const struct verdict_part added[] = {
		{id, PART_THREAD, cause->thread, NULL},
		{id, PART_OTHER_THREAD, cause->other_thread, NULL},
		{id, PART_WHAT, 0, *cause->what ? cause->what : NULL},
	};
	int error = 0;

	for (size_t i = 0; i < ARRAY_COUNT(added) && !error; i++)
		error = add_part(parts, &added[i]);
	return error;
}

static bool has_same_pattern(const char *one, const char *other)
{
	char first[NAME_PATTERN_BYTES], second[NAME_PATTERN_BYTES];

	name_pattern(one, first);
	name_pattern(other, second);
	return strcmp(first, second) == 0;
}

static const char *name_of(const struct analysis *analysis, uint32_t id)
{
	const struct event_thread *thread = model_entity(analysis->model, EVENT_THREAD, id);

	return thread ? model_text(analysis->model, thread->name_string, "") : "";
}

static void count_thread(const struct analysis *analysis, uint32_t first, uint32_t thread,
			 struct verdict_group *group)
{
	const char *one = name_of(analysis, first), *other = name_of(analysis, thread);

	group->count++;
	group->has_other_names |= strcmp(one, other) != 0;
	group->has_other_patterns |= !has_same_pattern(one, other);
	group->has_other_processes |= model_process_of(analysis->model, first) !=
				      model_process_of(analysis->model, thread);
}

static bool has_same_name(const char *one, const char *other)
{
	char first[NAME_PATTERN_BYTES], second[NAME_PATTERN_BYTES];

	name_without_process(one, first);
	name_without_process(other, second);
	return strcmp(first, second) == 0;
}

static void count_part(const struct analysis *analysis, const struct verdict_part *part,
		       struct verdict_cause *cause)
{
	struct verdict_group *whats = &cause->whats;

	if (part->kind == PART_THREAD) {
		count_thread(analysis, cause->thread, part->thread, &cause->threads);
	} else if (part->kind == PART_OTHER_THREAD) {
		count_thread(analysis, cause->other_thread, part->thread, &cause->others);
	} else if (cause->kind != VERDICT_PREEMPTED || has_same_pattern(cause->what, part->what)) {
		whats->count++;
		whats->has_other_names |= !has_same_name(cause->what, part->what);
		whats->has_other_patterns |=
			strcmp(name_process_of(cause->what), name_process_of(part->what)) != 0;
		if (!cause->also && strcmp(cause->what, part->what) != 0)
			cause->also = part->what;
	}
}

int verdict_parts_count(const struct verdict_parts *parts, const struct analysis *analysis,
			const uint32_t *index, struct verdict_cause *causes)
{
	struct pair_map counted = {0};
	int error = 0;

	for (size_t i = 0; i < parts->count && !error; i++) {
		const struct verdict_part *part = &parts->list[i];
		const uint64_t value = part->what ? (uintptr_t)part->what : part->thread;
		const uint64_t key = (uint64_t)index[part->cause] * PART_KIND_COUNT + part->kind;

		if (pair_map_find(&counted, key, value) != PAIR_MAP_NONE)
			continue;
		error = pair_map_put(&counted, key, value, 0);
		if (!error)
			count_part(analysis, part, &causes[index[part->cause]]);
	}
	pair_map_fini(&counted);
	return error;
}

void verdict_parts_fini(struct verdict_parts *parts)
{
	pair_map_fini(&parts->seen);
	free(parts->list);
	*parts = (struct verdict_parts){0};
}
