// SPDX-License-Identifier: MIT
//
// tests/programs/hsa_kernels.cl - the kernels of hsa_work.c and hip_work.cpp's modules
//
// Compiled for an AMD GPU without a library: built-in functions of the compiler say which work-item this is.
// sim/amd/execute.c executes the first two.

enum { GROUP = 64 };

#define ITEM (__builtin_amdgcn_workgroup_id_x() * GROUP + __builtin_amdgcn_workitem_id_x())

kernel void fill(global uint *out, uint value, uint count)
{
	if (ITEM < count)
		out[ITEM] = value;
}

kernel void vector_add(global const float *a, global const float *b, global float *out, uint count)
{
	if (ITEM < count)
		out[ITEM] = a[ITEM] + b[ITEM];
}

kernel void idle(void)
{
}
