/* SPDX-License-Identifier: MIT
 *
 * collect/group.h - the sources of one sampler
 */
#ifndef COLLECT_GROUP_H
#define COLLECT_GROUP_H

#include "collect/sampler.h"
#include "collect/source.h"

struct group_options {
	enum group_id id;
	const char *name; /* of its thread */
	uint32_t hz;
	const struct source_list *sources; /* of all groups */
	void *sources_context;
	const char *root;        /* "": the machine's own /proc and /sys */
	struct tracked *tracked; /* borrowed; NULL: no processes */
	const pid_t *pids;       /* borrowed: running processes that the user named … */
	size_t pids_count;       /* … 0: none */
	bool smaps;
	/* What cannot be read although it is there. */
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
	uint64_t interval_ns;
};

/* How often a group is read where the user wants hz. */
uint32_t group_hz(enum group_id id, uint32_t hz);
/* How often a source is read at most, where its collector may be asked for most_hz. */
uint32_t group_source_hz(const struct source *source, uint32_t most_hz);

/* Opens what there is; nothing is read yet. -ENOMEM. */
int group_open(struct group *group, const struct group_options *options);
int group_start(struct group *group);
/* Reads all sources that are due. */
void group_tick(void *group);
/* The sampler is stopped before. NULL-safe. */
void group_close(struct group *group);

#endif
