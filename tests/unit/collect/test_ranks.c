/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_ranks.c - what launchers of jobs tell their processes
 */
#include "collect/start/ranks.h"

#include "harness.h"

#define PARSE(text) ranks_parse(text, sizeof(text))

static void check(struct rank got, uint32_t rank, uint32_t local_rank, uint32_t count)
{
	CHECK_EQUAL(got.rank, rank);
	CHECK_EQUAL(got.local_rank, local_rank);
	CHECK_EQUAL(got.count, count);
}

TEST(launchers)
{
	check(PARSE("HOME=/\0RANK=3\0LOCAL_RANK=1\0WORLD_SIZE=8"), 4, 2, 8);
	check(PARSE("OMPI_COMM_WORLD_SIZE=2\0OMPI_COMM_WORLD_RANK=0\0OMPI_COMM_WORLD_LOCAL_RANK=0"),
	      1, 1, 2);
	check(PARSE("MV2_COMM_WORLD_RANK=5"), 6, 0, 0);
	check(PARSE("PMI_SIZE=4\0PMI_RANK=2\0MPI_LOCALRANKID=0"), 3, 1, 4);
	check(PARSE("SLURM_PROCID=17\0SLURM_LOCALID=1\0SLURM_STEP_NUM_TASKS=32"), 18, 2, 32);
	/* mpirun below srun sets both: the nearest one's counts */
	check(PARSE("SLURM_PROCID=0\0SLURM_STEP_NUM_TASKS=1\0RANK=7\0WORLD_SIZE=8"), 8, 0, 8);
}

TEST(what_is_none)
{
	check(ranks_parse("", 0), 0, 0, 0);
	check(PARSE("HOME=/\0PATH=/bin"), 0, 0, 0);
	check(PARSE("RANK=3"), 0, 0, 0);
	check(PARSE("SLURM_PROCID=0\0SLURM_NTASKS=32"), 0, 0, 0);
	check(PARSE("MY_RANK=3\0WORLD_SIZE=8"), 0, 0, 0);
	check(PARSE("RANKS=3\0WORLD_SIZE=8"), 0, 0, 0);
	check(PARSE("RANK=\0WORLD_SIZE=8"), 0, 0, 0);
	check(PARSE("RANK=-1\0WORLD_SIZE=8"), 0, 0, 0);
	check(PARSE("RANK=1x\0WORLD_SIZE=8"), 0, 0, 0);
	check(PARSE("RANK=99999999999999999999\0WORLD_SIZE=8"), 0, 0, 0);
	/* an environment that was cut off: 1 may have been 12 */
	check(ranks_parse("WORLD_SIZE=16\0RANK=1", 20), 0, 0, 0);
}

int main(void)
{
	RUN(launchers);
	RUN(what_is_none);
	return harness_end();
}
