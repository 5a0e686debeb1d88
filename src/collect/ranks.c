/* SPDX-License-Identifier: MIT
 *
 * collect/ranks.c - which of a job's processes one is, from the variables that launchers set
 *
 * Runs in:  the recorder, once per process that is described
 * Gets:     an environment, any bytes   Gives: numbers
 * Owns:     nothing
 * Fails:    a value that is no number is none
 * Why:      of eight processes with one name and one command the rank is what tells the slow one. The nearest launcher
 *           counts: torchrun in a job of Slurm's gives each of its processes a rank of its own, and Slurm all of them
 *           the same. RANK alone is a word that any script may use; torchrun sets WORLD_SIZE beside it.
 */
#include "collect/ranks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { RANKS_MOST = 1 << 28 };

/* The first whose rank is there counts. */
static const struct launcher {
	const char *rank, *local_rank, *count;
	bool needs_count;
} launchers[] = {
	{"RANK", "LOCAL_RANK", "WORLD_SIZE", true},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE", false},
	{"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_SIZE", false},
	{"PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", false},
	{"PMIX_RANK", "PMIX_LOCAL_RANK", "PMIX_SIZE", false},
	/* A job's own script has SLURM_PROCID 0 too, and is no rank of it. */
	{"SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_NUM_TASKS", true},
};

/* False: it is not there, or no number. */
static bool find_number(const char *environment, size_t size, const char *name, uint32_t *ret_value)
{
	const size_t length = strlen(name);
	const char *end = environment + size, *text = environment;

	while (text < end) {
		const char *zero = memchr(text, 0, (size_t)(end - text));
		const char *value = text + length + 1;
		unsigned long long number;
		char *rest;

		/* Cut off: its value may be longer. */
		if (!zero)
			return false;
		if ((size_t)(zero - text) > length + 1 && memcmp(text, name, length) == 0 &&
		    text[length] == '=' && *value >= '0' && *value <= '9') {
			number = strtoull(value, &rest, 10);
			if (*rest || number > RANKS_MOST)
				return false;
			*ret_value = (uint32_t)number;
			return true;
		}
		text = zero + 1;
	}
	return false;
}

struct rank ranks_parse(const char *environment, size_t size)
{
	for (size_t i = 0; i < ARRAY_COUNT(launchers); i++) {
		const struct launcher *launcher = &launchers[i];
		struct rank rank = {0};
		uint32_t number;

		if (!find_number(environment, size, launcher->rank, &number))
			continue;
		rank.rank = number + 1;
		if (!find_number(environment, size, launcher->count, &rank.count) &&
		    launcher->needs_count)
			continue;
		if (find_number(environment, size, launcher->local_rank, &number))
			rank.local_rank = number + 1;
		return rank;
	}
	return (struct rank){0};
}
