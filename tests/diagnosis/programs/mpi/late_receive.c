/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/mpi/late_receive.c - a message of a rank that sleeps first
 */
#include "diagnosis.h"

#include <mpi.h>

static void start_ranks(void);
static void receive_halo(uint64_t ns);
static void stop_ranks(void);

PLANT(.name = "late_receive", .kinds = "other_rank", .words = "rank MPI_Recv pack_halo",
      .prepare = start_ranks, .act = receive_halo, .finish = stop_ranks);

NOINLINE static void pack_halo(uint64_t ns)
{
	GUILTY_BEGIN();
	sleep_ns(ns);
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
	do {
		MPI_Recv(&ns, 1, MPI_UINT64_T, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		pack_halo(ns);
		MPI_Send(&plant.guilty.first, 2, MPI_INT, 0, 0, MPI_COMM_WORLD);
	} while (ns);
	MPI_Finalize();
	exit(0);
}

NOINLINE static void receive_halo(uint64_t ns)
{
	WAIT_BEGIN();
	MPI_Send(&ns, 1, MPI_UINT64_T, 1, 0, MPI_COMM_WORLD);
	MPI_Recv(&plant.guilty.first, 2, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	WAIT_END();
}

static void stop_ranks(void)
{
	uint64_t stop = 0;

	place_begin(&plant.guilty, "pack_halo", __FILE__, 0);
	MPI_Send(&stop, 1, MPI_UINT64_T, 1, 0, MPI_COMM_WORLD);
	MPI_Recv(&plant.guilty.first, 2, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Finalize();
}
