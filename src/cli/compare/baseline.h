/* SPDX-License-Identifier: MIT
 *
 * cli/compare/baseline.h - a folder of accepted recordings, by device and command
 *
 * DIR/KEY/HASH.duet is a recording. KEY is a hash of the devices' names and the command,
 * DIR/KEY/about.json contains them. HASH is the XXH3-128 of the file.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/compare/side.h"
#include "cli/compare/sides.h"

struct baseline {
	char *folder; /* owned: DIR/KEY */
	char **paths; /* owned: recordings whose content agrees with their name; sorted */
	size_t count, capacity;
	size_t damaged; /* files whose content does not agree */
	int lock_fd;    /* shared with other readers until fini; -1: none */
};

struct baseline_accepted {
	size_t added, present, removed; /* recordings: new, already there, beyond the limit */
	size_t kept;                    /* in the folder now */
};

/* Whether the recordings of a side have one key. */
bool baseline_is_one_key(const struct compare_sides *sides);

/* Lists the accepted recordings for a recording; a missing folder has none. Errors: -errno with the
 * error chain. */
int baseline_open(const char *dir, const struct compare_side *side, struct baseline *ret_baseline);
void baseline_close(struct baseline *baseline); /* half-built-safe */

/* Ends the reading of the listed recordings: from here on other jobs may remove some. */
void baseline_unlock(struct baseline *baseline);

/* Copies recordings into the folder and removes the oldest beyond `keep`. Errors: -errno with the
 * error chain. */
int baseline_accept(struct baseline *baseline, const struct compare_sides *sides, uint64_t keep,
		    struct baseline_accepted *ret_accepted);
