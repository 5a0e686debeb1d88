/* SPDX-License-Identifier: MIT
 *
 * collect/start/ranks.c - rank of a process in its job, from the variables of launchers (torchrun,
 * MPI, Slurm)
 *
 * Runs in:  the recorder, once per process
 * Gets:     an environment; any bytes
 * Gives:    rank, local rank, number of processes
 * Owns:     nothing
 * Fails:    never; ignores values that are not numbers, and numbers above 2^28
 * Why:      only the rank distinguishes eight processes with the same name and command. A fixed
 *           order decides: torchrun, MPI, Slurm, because that is the usual nesting from inside to
 *           outside. Inside a Slurm job, torchrun gives each process its own rank, while Slurm
 *           gives all of them the same. RANK counts only together with WORLD_SIZE, because a script
 *           may set RANK for other purposes.
 */
#include "collect/start/ranks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { MAX_RANKS = 1 << 28 };

/* In the order of precedence. needs_count: the rank is used only if the count is present, too. */
static const struct launcher {
	const char *rank, *local_rank, *count;
	bool needs_count;
} launchers[] = {
	{"RANK", "LOCAL_RANK", "WORLD_SIZE", true},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE", false},
	{"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_SIZE", false},
	{"PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", false},
	{"PMIX_RANK", "PMIX_LOCAL_RANK", "PMIX_SIZE", false},
	/* the job's batch script also has SLURM_PROCID 0, but is not a rank */
	{"SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_NUM_TASKS", true},
};

/* False: the variable is missing, or not a number. */
static bool find_number(const char *environment, size_t size, const char *name, uint32_t *ret_value)
{
	const size_t length = strlen(name);
	const char *end = environment + size, *text = environment;

	while (text < end) {
		const char *zero = memchr(text, 0, (size_t)(end - text));
		const char *value = text + length + 1;
		unsigned long long number;
		char *rest;

		/* the block was cut off here, so the value may be incomplete */
		if (!zero)
			return false;
		if ((size_t)(zero - text) > length + 1 && memcmp(text, name, length) == 0 &&
		    text[length] == '=' && *value >= '0' && *value <= '9') {
			number = strtoull(value, &rest, 10);
			if (*rest || number > MAX_RANKS)
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
	for (size_t i = 0; environment && i < ARRAY_COUNT(launchers); i++) {
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
