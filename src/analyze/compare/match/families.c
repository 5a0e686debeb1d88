/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/match/families.c - the table of patterns in names of kernels
 *
 * Runs in:  our own process, in duet diff
 * Gets:     names and words of names
 * Gives:    the family of a name
 * Owns:     nothing
 * Fails:    never
 * Why a table: libraries and compilers change their names with each release. A new name is a row
 *           here, with a pair in test_compare_names.c. docs/design/compare-matching.md lists it.
 */
#include "analyze/compare/match/families.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/array.h"

#define TILES "#x# #x#x# #x#x#x# "
#define TYPES                                                                                     \
	"f16 f32 f64 bf16 fp8 i8 i32 i64 s8 s32 u8 f16f16 bf16bf16 f16f32 bf16f32 f32f32 f64f64 " \
	"tf32 tf32f32 h s d f8 b bs hhs bbs ss dd BBS HHS HSS SS DD BSS B BS H HS S BH HPA "

/* The first row whose pattern covers the name counts. */
static const struct flat_family flat_families[] = {
	{"triton", "triton_*", "# 0d*", NULL, "poi red per", false, false},
	{"triton kernels", "*matmul_ogs_*", TILES "# num_stages*", NULL, TYPES, false, false},
	{"tensile", "Cijk_* Cijkl_*", "UserArgs", "MT#*", TYPES, true, true},
	{"cutlass", "cutlass_*",
	 TILES
	 "# align# stage# stages tensorop wmma simt optimized analytic unity* warpspecialized* "
	 "pingpong cooperative epi* sm#",
	 NULL, TYPES, true, false},
	{"cublas", "sm#_xmma_*gemm* *_xmma_gemm_*",
	 TILES "sm# tilesize* stage# warpsize* warpgroupsize* tensor#* execute segment off kernel "
	       "cublas cudnn # k # 5x beta# split* splitK* bstages* ctasize* cga*",
	 NULL, TYPES, true, false},
	{"cublas", "nvjet_*", TILES "#cta v h bz sm# splitK* #", NULL, "tst hsh ssh qqtst *", true,
	 false},
	{"cudnn",
	 "cudnn_*scudnn_* *_scudnn_* *_hcudnn_* *_fp16_*cudnn_* *_xmma_fprop_* *_xmma_dgrad_* "
	 "*_xmma_wgrad_* *_engine_* *_cask_*",
	 TILES
	 "cudnn volta turing ampere hopper maxwell pascal sm# xmma v# ldg# small medium large "
	 "interior xregs exp sliced* splitK tile# tile#t # stage# stages tilesize* warpsize* "
	 "tensor#* kernel trt",
	 NULL, TYPES, false, false},
	{"cublas",
	 "ampere_*gemm* volta_*gemm* turing_*gemm* maxwell_*gemm* pascal_*gemm* hopper_*gemm* "
	 "kepler_*gemm* ada_*gemm* blackwell_*gemm*",
	 TILES
	 "ampere volta turing maxwell pascal hopper kepler ada blackwell ldg# f2f stages sliced* "
	 "splitK* #",
	 NULL, TYPES, true, false},
	{"trtllm", "bmm_* gemm_*_sm#* fmhaSm#*",
	 TILES "t#x* m#x* et#x* s# cga* 16dp* sm#* sched* tma tmaOpt clmp rM bM bN", NULL, NULL,
	 false, false},
	{"nccl", "nccl*Kernel* rcclGeneric* nccl*Kernel_*",
	 "ncclDevKernel ncclKernel ncclDevKernelDebug RING TREE NVLS NVLSTREE COLLNET* PAT LL LL# "
	 "SIMPLE #",
	 NULL, TYPES, false, false},
	{"miopen",
	 "igemm_* MIOpen* miopen* mlopen* batched_transpose_* SubTensorOp* gridwise_* naive_conv_*",
	 TILES "bx# ex# bt#* wt#* ws#* wr#* ta#* tb#* vs# me mh pta gkgs gtcx# gtcx gtc #", NULL,
	 TYPES, false, false},
	{"onednn",
	 "gen_conv* gen_gemm* gemm_kernel* ref_*_kernel* simple_*_kernel* gen9_*_kernel* "
	 "xe_*_kernel*",
	 "#", NULL, NULL, false, false},
	{"pocl", "_pocl_kernel_* __pocl_* _pocl_launcher_*",
	 "pocl kernel launcher workgroup argbuffer fast #", NULL, NULL, false, false},
	{"tvm", "tvmgen_* *default_function_kernel* fused_*_kernel#*", "# tvmgen default", NULL,
	 NULL, false, false},
	{"halide", "*_s#_*___block_id_* kernel_*_s#_*", "# block id", NULL, NULL, false, false},
	{"jax", "jit_* pmap_* jit(*", "#", NULL, NULL, false, false},
	{"xla",
	 "fusion fusion_# fusion.# *_fusion *_fusion_# *_fusion.# input_*fusion* "
	 "loop_*fusion* wrapped_* gemm_fusion_*",
	 "#", NULL, NULL, false, false},
};

static const struct carrier_family carriers[] = {
	{"pytorch elementwise", "at::native::vectorized_elementwise_kernel", "vectorized", false},
	{"pytorch elementwise", "at::native::unrolled_elementwise_kernel", "unrolled", false},
	{"pytorch elementwise",
	 "at::native::elementwise_kernel at::native::elementwise_kernel_manual_unroll "
	 "at::native::legacy_elementwise_kernel "
	 "at::native::legacy_elementwise_kernel_manual_unroll",
	 "strided", false},
	{"pytorch elementwise", "at::native::index_elementwise_kernel", "index", false},
	{"pytorch elementwise", "at::native::reduce_kernel", "reduce", false},
	{"pytorch elementwise", "at::native::multi_tensor_apply_kernel multi_tensor_apply_kernel",
	 "multi_tensor", false},
	{"pytorch elementwise", "at::native::*elementwise_kernel*", NULL, false},
	{"cutlass", "cutlass::Kernel cutlass::Kernel2 cutlass__#x_*::Kernel cutlass*::Kernel", NULL,
	 true},
	{"cutlass", "cutlass::device_kernel", "cutlass", false},
	{"ck", "ck::*kernel_* ck_tile::kentry", NULL, false},
	{"cub", "cub::* hipcub::* rocprim::* thrust::*", NULL, false},
	{"kokkos", "Kokkos::Impl::*launch* Kokkos::Impl::*parallel*", "kokkos", false},
	{"raja", "RAJA::* camp::*", NULL, false},
};

/* Estimates: how surely equal keys of a family are one kernel. Only their order matters. */
static const struct {
	const char *pattern;
	double confidence;
} confidences[] = {
	{"ck", 0.75},
	{"counter", 0.5},
	{"cub", 0.85},
	{"cublas", 0.8},
	{"cudnn", 0.8},
	{"cutlass", 0.8},
	{"flash attention", 0.85},
	{"halide", 0.7},
	{"hash", 0.85},
	{"jax", 0.6},
	{"kokkos", 0.85},
	{"mangled", 0.85},
	{"matrix product", 0.6},
	{"miopen", 0.8},
	{"nccl", 0.9},
	{"numbers", 0.6},
	{"runtime", 0.8},
	{"onednn", 0.7},
	{"pocl", 0.8},
	{"pytorch elementwise", 0.9},
	{"raja", 0.85},
	{"tensile", 0.8},
	{"triton", 0.85},
	{"triton kernels", 0.85},
	{"trtllm", 0.75},
	{"tvm", 0.7},
	{"xla", 0.5},
};

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

/* Goes back to the last "*" only, so it takes size * length steps at most. */
static bool covers(const char *pattern, size_t length, const char *text, size_t size)
{
	size_t p = 0, t = 0, star = SIZE_MAX, retry = 0;

	while (t < size) {
		if (p < length && pattern[p] == '*') {
			star = p++;
			retry = t;
		} else if (p < length && pattern[p] == '#' && is_digit(text[t])) {
			while (t < size && is_digit(text[t]))
				t++;
			p++;
		} else if (p < length && pattern[p] == text[t]) {
			p++;
			t++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			t = ++retry;
		} else {
			return false;
		}
	}
	while (p < length && pattern[p] == '*')
		p++;
	return p == length;
}

bool patterns_cover(const char *patterns, const char *text, size_t size)
{
	const char *end;

	for (const char *at = patterns; at && *at; at = end) {
		while (*at == ' ')
			at++;
		for (end = at; *end && *end != ' ';)
			end++;
		if (end > at && covers(at, (size_t)(end - at), text, size))
			return true;
	}
	return false;
}

const struct flat_family *flat_family_find(const char *name)
{
	const size_t size = strlen(name);

	for (size_t i = 0; i < ARRAY_COUNT(flat_families); i++)
		if (patterns_cover(flat_families[i].names, name, size))
			return &flat_families[i];
	return NULL;
}

const struct carrier_family *carrier_family_find(const char *function)
{
	const size_t size = strlen(function);

	for (size_t i = 0; i < ARRAY_COUNT(carriers); i++)
		if (patterns_cover(carriers[i].names, function, size))
			return &carriers[i];
	return NULL;
}

double family_confidence(const char *pattern)
{
	for (size_t i = 0; i < ARRAY_COUNT(confidences); i++)
		if (strcmp(confidences[i].pattern, pattern) == 0)
			return confidences[i].confidence;
	return 0.5;
}
