/* SPDX-License-Identifier: MIT
 *
 * collect/counter/source_group.h - the sources of one sampler
 */
#pragma once

#include "collect/counter/sampler.h"
#include "collect/counter/source.h"

struct group_options {
	enum group_id id;
	const char *name; /* name of its thread */
	uint32_t hz;
	const struct source_list *sources; /* shared by all groups */
	void *sources_context;
	const char *root;        /* "": the real /proc and /sys */
	struct tracked *tracked; /* borrowed; NULL: no processes */
	const pid_t *pids;       /* borrowed; running processes that the user gave */
	size_t pids_count;       /* 0: none */
	bool smaps;
	struct counter_choice choice;
	/* Called for a source whose files exist but cannot be read. */
	void (*on_absent)(void *context, const struct source *source, const char *why);
	void *context;
};

struct group {
	struct group_options options;
	struct series series;
	struct sampler sampler;
	struct tick tick;
	struct source_state *states; /* owned */
	size_t count;
	uint32_t hz;
	uint64_t interval_ns;
};

/* Max rate of a source, if its collector's rate is at most max_hz. */
uint32_t group_source_hz(const struct source *source, uint32_t max_hz);

/* Opens the sources that exist; nothing is read yet. Errors: -ENOMEM. */
int group_open(struct group *group, const struct group_options *options);
int group_start(struct group *group);
/* Reads all sources that are due. */
void group_tick(void *group);
/* Call it after the sampler was stopped. NULL-safe. */
void group_close(struct group *group);
