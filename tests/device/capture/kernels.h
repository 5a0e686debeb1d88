/* SPDX-License-Identifier: MIT
 *
 * tests/device/capture/kernels.h - kernels of known behaviour, in PTX: the driver compiles them, no
 * nvcc is needed
 *
 *	duet_empty()                        nothing
 *	duet_add(x, y, n)                   y[i] += x[i], one element a thread
 *	duet_chase(table, out, steps)       each load waits for the one before: stalled on
 *	                                    long_scoreboard
 *	duet_barrier(out, steps)            a barrier a step: stalled on barrier
 *	duet_fma(out, steps)                dependent multiply-adds: stalled on wait
 *	duet_spin(out, cycles)              busy for that many cycles of its multiprocessor
 *
 * and in a module of its own, as older GPUs cannot have it:
 *
 *	duet_tensor(out, steps)             two chains of 16 x 8 x 16 products of halves by the
 *	                                    tensor cores
 */
#pragma once

static const char capture_kernels[] =
	".version 7.0\n"
	".target sm_70\n"
	".address_size 64\n"
	".visible .entry duet_empty() { ret; }\n"

	".visible .entry duet_add(.param .u64 x, .param .u64 y, .param .u32 n) {\n"
	" .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %d<6>; .reg .f32 %f<4>;\n"
	" ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; ld.param.u32 %r1, [n];\n"
	" mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
	" mad.lo.u32 %r5, %r2, %r3, %r4;\n"
	" setp.ge.u32 %p, %r5, %r1; @%p bra done;\n"
	" cvta.to.global.u64 %d1, %d1; cvta.to.global.u64 %d2, %d2;\n"
	" mul.wide.u32 %d3, %r5, 4; add.u64 %d4, %d1, %d3; add.u64 %d5, %d2, %d3;\n"
	" ld.global.f32 %f1, [%d4]; ld.global.f32 %f2, [%d5]; add.f32 %f3, %f1, %f2;\n"
	" st.global.f32 [%d5], %f3;\n"
	"done: ret; }\n"

	".visible .entry duet_chase(.param .u64 table, .param .u64 out, .param .u32 steps) {\n"
	" .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %d<6>;\n"
	" ld.param.u64 %d1, [table]; ld.param.u64 %d2, [out]; ld.param.u32 %r1, [steps];\n"
	" cvta.to.global.u64 %d1, %d1; cvta.to.global.u64 %d2, %d2;\n"
	" mov.u32 %r2, %tid.x; mov.u32 %r3, 0;\n"
	"again: mul.wide.u32 %d3, %r2, 4; add.u64 %d4, %d1, %d3; ld.global.u32 %r2, [%d4];\n"
	" add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, %r1; @%p bra again;\n"
	" st.global.u32 [%d2], %r2; ret; }\n"

	".visible .entry duet_barrier(.param .u64 out, .param .u32 steps) {\n"
	" .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %d<3>;\n"
	" ld.param.u64 %d1, [out]; ld.param.u32 %r1, [steps]; cvta.to.global.u64 %d1, %d1;\n"
	" mov.u32 %r2, 0; mov.u32 %r3, %tid.x;\n"
	"again: bar.sync 0; add.u32 %r3, %r3, %r2; add.u32 %r2, %r2, 1;\n"
	" setp.lt.u32 %p, %r2, %r1; @%p bra again;\n"
	" st.global.u32 [%d1], %r3; ret; }\n"

	".visible .entry duet_fma(.param .u64 out, .param .u32 steps) {\n"
	" .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d<3>; .reg .f32 %f<3>;\n"
	" ld.param.u64 %d1, [out]; ld.param.u32 %r1, [steps]; cvta.to.global.u64 %d1, %d1;\n"
	" mov.u32 %r2, %tid.x; cvt.rn.f32.u32 %f1, %r2; mov.u32 %r3, 0;\n"
	"again: fma.rn.f32 %f1, %f1, %f1, %f1; fma.rn.f32 %f1, %f1, %f1, %f1;\n"
	" fma.rn.f32 %f1, %f1, %f1, %f1; fma.rn.f32 %f1, %f1, %f1, %f1;\n"
	" add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, %r1; @%p bra again;\n"
	" st.global.f32 [%d1], %f1; ret; }\n"

	".visible .entry duet_spin(.param .u64 out, .param .u64 cycles) {\n"
	" .reg .pred %p; .reg .b64 %d<6>;\n"
	" ld.param.u64 %d1, [out]; ld.param.u64 %d2, [cycles]; cvta.to.global.u64 %d1, %d1;\n"
	" mov.u64 %d3, %clock64;\n"
	"again: mov.u64 %d4, %clock64; sub.u64 %d5, %d4, %d3; setp.lt.u64 %p, %d5, %d2;\n"
	" @%p bra again;\n"
	" st.global.u64 [%d1], %d5; ret; }\n";

static const char capture_tensor_kernel[] =
	".version 7.0\n"
	".target sm_80\n"
	".address_size 64\n"
	".visible .entry duet_tensor(.param .u64 out, .param .u32 steps) {\n"
	" .reg .pred %p; .reg .b32 %r<10>; .reg .b64 %d<3>; .reg .f32 %f<9>;\n"
	" ld.param.u64 %d1, [out]; ld.param.u32 %r1, [steps]; cvta.to.global.u64 %d1, %d1;\n"
	" mov.u32 %r2, 0; mov.b32 %r3, 0x3c003c00; mov.b32 %r4, 0x38003800;\n"
	" mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;\n"
	" mov.f32 %f5, %f1; mov.f32 %f6, %f1; mov.f32 %f7, %f1; mov.f32 %f8, %f1;\n"
	"again:\n"
	" mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4},"
	" {%r3,%r3,%r3,%r3}, {%r4,%r4}, {%f1,%f2,%f3,%f4};\n"
	" mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f5,%f6,%f7,%f8},"
	" {%r4,%r4,%r4,%r4}, {%r3,%r3}, {%f5,%f6,%f7,%f8};\n"
	" add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, %r1; @%p bra again;\n"
	" add.f32 %f1, %f1, %f5; st.global.f32 [%d1], %f1; ret; }\n";
