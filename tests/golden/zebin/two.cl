/* Two kernels and a function that is called, each on lines of its own. */
__attribute__((noinline)) float weigh(float value, int steps)
{
	float sum = 0;

	for (int i = 0; i < steps; i++)
		sum = sum * 0.5f + native_cos(value);
	return sum;
}

__kernel void first(__global float *data, int steps)
{
	int i = get_global_id(0);

	data[i] = weigh(data[i], steps);
}

__kernel void second(__global int *data, __local int *shared)
{
	int i = get_local_id(0);

	shared[i] = data[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	if (shared[i] > 7)
		data[get_global_id(0)] = shared[i ^ 1] + 3;
	else
		data[get_global_id(0)] = shared[i ^ 2] * 5;
}
