/* SPDX-License-Identifier: MIT
 *
 * import/perfetto/import.c - texts of events, and the keys that join commands and calls
 *
 * Runs in:  our own process
 * Gets:     events
 * Gives:    texts, keys
 * Owns:     nothing
 * Fails:    an event without a key is joined with no other
 */
#include "import/perfetto/import.h"

uint32_t perfetto_import_categories(const struct perfetto_import *import,
				    const struct perfetto_event *event)
{
	return import->tracks.is_own || (event->categories & PERFETTO_ROCPROF) ? event->categories
									       : 0;
}

const char *perfetto_import_text(const struct perfetto_import *import, uint32_t text)
{
	return string_table_text(&import->sequences.texts, text, NULL);
}

const char *perfetto_import_argument(const struct perfetto_import *import,
				     const struct perfetto_event *event,
				     enum perfetto_argument argument)
{
	return perfetto_import_text(import, event->arguments[argument].text);
}

/* Arrows are unique in duet's files. Without an arrow a correlation is unique in its process. */
static struct perfetto_key own_key(struct perfetto_import *import,
				   const struct perfetto_event *event, struct perfetto_track *track)
{
	const struct perfetto_value *correlation = &event->arguments[ARGUMENT_CORRELATION];
	uint32_t pid;

	if (event->flow)
		return (struct perfetto_key){event->flow, 0, true};
	if (!correlation->is_known || event->arguments[ARGUMENT_NO_EXECUTION].is_known)
		return (struct perfetto_key){.is_known = false};
	pid = event->categories & PERFETTO_COMMAND
		      ? perfetto_tracks_queue_pid(&import->tracks, track)
		      : perfetto_tracks_pid(&import->tracks, track);
	return (struct perfetto_key){(uint64_t)correlation->number, (uint64_t)pid + 1, true};
}

struct perfetto_key perfetto_import_key(struct perfetto_import *import,
					const struct perfetto_event *event)
{
	const struct perfetto_value *correlation = &event->arguments[ARGUMENT_CORRELATION];
	struct perfetto_track *track = perfetto_tracks_find(&import->tracks, event->track);

	if (!track || !perfetto_import_categories(import, event))
		return (struct perfetto_key){.is_known = false};
	if (import->tracks.is_own)
		return own_key(import, event, track);
	if (!correlation->is_known)
		return (struct perfetto_key){.is_known = false};
	track = perfetto_tracks_root(&import->tracks, track);
	return (struct perfetto_key){(uint64_t)correlation->number, track->uuid + 1, true};
}

uint32_t perfetto_import_call(struct perfetto_import *import, const struct perfetto_event *event)
{
	struct perfetto_key key = perfetto_import_key(import, event);
	uint32_t index =
		key.is_known ? pair_map_find(&import->keys, key.first, key.second) : PAIR_MAP_NONE;

	return index == PAIR_MAP_NONE ? 0 : index + 1;
}
