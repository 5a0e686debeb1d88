// SPDX-License-Identifier: MIT
//
// tests/unit/isa/amdgpu.cl - instructions of many kinds, for test_amdgpu.c; compiled for a GPU without a library

#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#define ITEM (__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x())

kernel void integers(global ulong *out, global const uint *in, uint count)
{
	ulong sum = 0x123456789abcdef0;

	for (uint i = 0; i < count; i++) {
		switch (in[i] % 7) {
		case 0:
			sum += in[i] / (i + 1);
			break;
		case 1:
			sum ^= (ulong)in[i] * 0xdeadbeef;
			break;
		case 2:
			sum = sum << (in[i] & 63) | sum >> 7;
			break;
		default:
			sum -= __builtin_popcount(in[i]);
		}
	}
	out[ITEM] = sum;
}

kernel void numbers(global double *out, global const float *in, float scale)
{
	double value = in[ITEM] * scale + 0.15915494f;

	if (value > 1.5)
		value = 1.0 / value;
	out[ITEM] = __builtin_fma(value, 3.25, in[ITEM + 1]);
}

kernel void shared(global uint *out, global uint *counter, local uint *words)
{
	uint item = __builtin_amdgcn_workitem_id_x();

	words[item] = out[ITEM];
	__builtin_amdgcn_s_barrier();
	if (item < 32)
		words[item] += words[item + 32];
	__builtin_amdgcn_s_barrier();
	if (item == 0)
		__atomic_fetch_add((global uint *)counter, words[0], __ATOMIC_RELAXED);
	out[ITEM] = __builtin_amdgcn_ds_bpermute(item << 2, words[63 - item]);
}
