/* SPDX-License-Identifier: MIT
 *
 * tests/apps/programs/boost_compute.cpp - Boost.Compute: sort, reduce and transform
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <boost/compute.hpp>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace compute = boost::compute;

int main()
{
	compute::device device = compute::system::default_device();
	compute::context context(device);
	compute::command_queue queue(context, device);
	std::vector<float> host(100000);
	compute::vector<float> values(host.size(), context);
	float sum = 0;

	for (size_t i = 0; i < host.size(); i++)
		host[i] = static_cast<float>(i * 7919 % 10007);
	compute::copy(host.begin(), host.end(), values.begin(), queue);
	compute::sort(values.begin(), values.end(), queue);
	compute::reduce(values.begin(), values.end(), &sum, queue);
	compute::transform(values.begin(), values.end(), values.begin(), compute::sqrt<float>(), queue);
	compute::copy(values.begin(), values.end(), host.begin(), queue);
	printf("%.0f %.3f %d\n", sum, host[50000], std::is_sorted(host.begin(), host.end()));
	return 0;
}
