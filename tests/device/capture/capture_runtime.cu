/* SPDX-License-Identifier: MIT
 *
 * tests/device/capture/capture_runtime.cu - launches by <<<>>>, as most CUDA programs do
 *
 *	nvcc -lineinfo -arch=sm_90 capture_runtime.cu -o capture_runtime
 *	capture_runtime [COUNT]
 *
 * What nvcc makes of <<<>>> is a call whose callback id is in no list of before 13.0.
 */
#include <cstdio>
#include <cstdlib>
#include <ctime>

__global__ void runtime_empty()
{
}

__global__ void runtime_scale(float *data, float factor, unsigned count)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		data[i] = data[i] * factor + 1.0f;
}

/* A function that is called from two lines, so that line tables have something inlined to tell. */
__device__ float poly(float x)
{
	return (x * 0.5f + 1.0f) * x;
}

__global__ void runtime_poly(float *data, unsigned count, unsigned steps)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	float x;

	if (i >= count)
		return;
	x = data[i];
	for (unsigned step = 0; step < steps; step++) {
		x = poly(x);
		if (x > 1e6f)
			x = poly(1.0f / x);
	}
	data[i] = x;
}

static double seconds()
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void check(const char *what, cudaError_t error)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "capture_runtime: %s: %s\n", what, cudaGetErrorString(error));
	exit(3);
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
	const unsigned floats = 1 << 16;
	float *data = NULL;
	double begin;

	check("cudaMalloc", cudaMalloc(&data, floats * sizeof(float)));
	check("cudaMemset", cudaMemset(data, 0, floats * sizeof(float)));
	runtime_scale<<<floats / 256, 256>>>(data, 2.0f, floats);
	runtime_poly<<<floats / 256, 256>>>(data, floats, 1000);
	check("launch", cudaDeviceSynchronize());
	begin = seconds();
	for (unsigned long i = 0; i < count; i++)
		runtime_empty<<<1, 1>>>();
	check("launches", cudaDeviceSynchronize());
	begin = seconds() - begin;
	printf("runtime launches_per_second=%.0f count=%lu seconds=%.3f\n", (double)count / begin,
	       count, begin);
	return 0;
}
