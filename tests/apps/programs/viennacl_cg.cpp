/* SPDX-License-Identifier: MIT
 *
 * tests/apps/programs/viennacl_cg.cpp - ViennaCL: conjugate gradients over a sparse matrix
 *
 * ViennaCL keeps its programs in static objects, which release them during exit().
 */
#define VIENNACL_WITH_OPENCL
#include <viennacl/compressed_matrix.hpp>
#include <viennacl/linalg/cg.hpp>
#include <viennacl/vector.hpp>

#include <cstdio>
#include <map>
#include <vector>

int main()
{
	const unsigned int rows = 20000;
	std::vector<std::map<unsigned int, double>> entries(rows);
	std::vector<double> ones(rows, 1.0), result(rows);
	viennacl::compressed_matrix<double> matrix(rows, rows);
	viennacl::vector<double> right(rows), solution;
	double sum = 0;

	for (unsigned int i = 0; i < rows; i++) {
		entries[i][i] = 2.01;
		if (i > 0)
			entries[i][i - 1] = -1;
		if (i + 1 < rows)
			entries[i][i + 1] = -1;
	}
	viennacl::copy(entries, matrix);
	viennacl::copy(ones, right);
	solution = viennacl::linalg::solve(matrix, right, viennacl::linalg::cg_tag(1e-8, 200));
	viennacl::copy(solution, result);
	for (double value : result)
		sum += value;
	printf("%.3f\n", sum / rows);
	return 0;
}
