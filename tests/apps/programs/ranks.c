/* SPDX-License-Identifier: MIT
 *
 * tests/apps/programs/ranks.c - MPI: rank N launches 100 * (N + 1) kernels, rank 0 prints the sum
 * of all results
 */
#include "launches.h"

#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int rank;
	double sum, total = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	sum = launches_run(100 * (rank + 1));
	MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("sum %.0f\n", total);
	MPI_Finalize();
	return 0;
}
