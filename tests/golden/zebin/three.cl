__kernel void alpha(__global float *data)
{
	data[get_global_id(0)] += 1;
}

__kernel void beta(__global float *data)
{
	data[get_global_id(0)] += 1;
}

__kernel void gamma_kernel(__global float *data, float x)
{
	data[get_global_id(0)] = native_sin(x) + data[get_global_id(0)];
}
