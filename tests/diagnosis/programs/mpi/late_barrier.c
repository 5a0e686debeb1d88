/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/mpi/late_barrier.c - the other rank comes late to a barrier
 */
#include "diagnosis.h"

#include <mpi.h>

static void start_ranks(void);
static void join_ranks(uint64_t ns);
static void stop_ranks(void);

PLANT(.name = "late_barrier", .kinds = "other_rank", .words = "rank MPI_Barrier refine_mesh",
      .prepare = start_ranks, .act = join_ranks, .finish = stop_ranks);

static volatile uint32_t cells;

NOINLINE static void refine_mesh(uint64_t ns)
{
	GUILTY_BEGIN();
	for (uint64_t end = cpu_ns() + ns; cpu_ns() < end;)
		for (int i = 0; i < 4096; i++)
			cells = cells * 1664525 + 1013904223;
	GUILTY_END();
}

static void start_ranks(void)
{
	uint64_t ns;
	int rank;

	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0)
		return;
	for (;;) {
		MPI_Recv(&ns, 1, MPI_UINT64_T, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (!ns)
			break;
		refine_mesh(ns);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	refine_mesh(0);
	MPI_Send(&plant.guilty.first, 2, MPI_INT, 0, 0, MPI_COMM_WORLD);
	MPI_Finalize();
	exit(0);
}

NOINLINE static void join_ranks(uint64_t ns)
{
	WAIT_BEGIN();
	MPI_Send(&ns, 1, MPI_UINT64_T, 1, 0, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	WAIT_END();
}

static void stop_ranks(void)
{
	uint64_t stop = 0;

	place_begin(&plant.guilty, "refine_mesh", __FILE__, 0);
	MPI_Send(&stop, 1, MPI_UINT64_T, 1, 0, MPI_COMM_WORLD);
	MPI_Recv(&plant.guilty.first, 2, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Finalize();
}
