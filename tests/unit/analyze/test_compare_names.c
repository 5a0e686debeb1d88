/* SPDX-License-Identifier: MIT
 *
 * Names in the matching of two profiles: real names of kernels that must match or must not, and
 * texts that only look like names.
 */
#include "analyze/compare/match/names.h"

#include <string.h>
#include <time.h>

#include "analyze/compare/match/match.h"
#include "base/array.h"
#include "harness.h"

/* ---- pairs of names -------------------------------------------------------------------------- */

#define COPY(kernel, numbers, lambda)                                                     \
	"void at::native::" kernel "<" numbers ", at::native::gpu_kernel_impl_nocast<"    \
	"at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::"    \
	"operator()() const::{lambda()#12}::operator()() const::{lambda(" lambda ")#1}>(" \
	"at::TensorIteratorBase&, int)::{lambda(int)#1}>(int)"
#define ADD(width, type)                                        \
	"void at::native::vectorized_elementwise_kernel<" width \
	", at::native::CUDAFunctor_add<" type                   \
	">, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<" type ">)"
#define CUTLASS(name) "void cutlass::Kernel2<" name ">(" name "::Params)"
#define TENSILE(tile) \
	"Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_" tile "_MI16x16x1_SN_LDSB0_AFC1_WG16_4_4"
#define FLASH(space, numbers)                                                               \
	"void " space "::flash_fwd_kernel<" space "::Flash_fwd_kernel_traits<" numbers ", " \
	"cutlass::bfloat16_t>, false, true>(" space "::Flash_fwd_params)"

/* pattern NULL: none. MATCH_GONE: the two must not match. */
static const struct {
	const char *base, *changed;
	enum match_reason reason;
	const char *pattern;
} pairs[] = {
	{"diffuse", "diffuse", MATCH_EXACT, NULL},
	{"void scale<float, 128>(float*, int)", "void scale<float, 256>(float*, long)",
	 MATCH_TEMPLATE, NULL},
	{"void scale<float>(float*)", "void scale<double>(double*)", MATCH_TEMPLATE, NULL},
	{"void scale<(Type)2>(int)", "void scale<(Type)3>(int)", MATCH_TEMPLATE, NULL},
	{"void (anonymous namespace)::mix(int)", "mix(int, int)", MATCH_TEMPLATE, NULL},
	{"at::native::reduce(int) [clone .kd]", "at::native::reduce", MATCH_TEMPLATE, NULL},
	{"triton_poi_fused_add_mul_3", "triton_poi_fused_add_mul_17", MATCH_VARIANT, "triton"},
	{"triton_poi_fused_add_0_0d1d2de", "triton_poi_fused_add_4", MATCH_VARIANT, "triton"},
	{"triton_red_fused_mean_0", "triton_per_fused_mean_2", MATCH_VARIANT, "triton"},
	{"_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1",
	 "_matmul_ogs_NNT_bf16xbf16xmxfp4_32x128x256x1", MATCH_VARIANT, "triton kernels"},
	{CUTLASS("cutlass_80_tensorop_f16_s16816gemm_f16_128x64_32x6_nn_align8"),
	 CUTLASS("cutlass_80_tensorop_f16_s16816gemm_f16_256x128_64x3_nn_align2"), MATCH_VARIANT,
	 "cutlass"},
	{"cutlass_80_tensorop_f16_s16816gemm_f16_128x64_32x6_nn_align8",
	 "cutlass_80_wmma_tensorop_f16_s161616gemm_f16_32x32_32x1_nn_align8", MATCH_VARIANT,
	 "cutlass"},
	{"ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn",
	 "ampere_fp16_s1688gemm_fp16_256x64_ldg8_f2f_tn", MATCH_VARIANT, "cublas"},
	{"sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize192x128x32_stage4_warpsize4x2x1_"
	 "tensor16x8x16_kernel",
	 "sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize64x64x64_warpgroupsize1x1x1_execute_"
	 "segment_k_off_"
	 "kernel__5x_cublas",
	 MATCH_VARIANT, "cublas"},
	{"nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT",
	 "nvjet_tst_64x16_64x16_2x4_2cta_h_bz_bias_TNT", MATCH_VARIANT, "cublas"},
	{"volta_sgemm_128x64_tn", "volta_sgemm_32x32_sliced1x4_tn", MATCH_VARIANT, "cublas"},
	{"ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn", "ampere_sgemm_128x64_tn",
	 MATCH_VARIANT, "matrix product"},
	{"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_warpgroupsize1x1x1_kernel",
	 TENSILE("MT16x16x128"), MATCH_VARIANT, "matrix product"},
	{TENSILE("MT16x16x128"), TENSILE("MT32x64x128"), MATCH_VARIANT, "tensile"},
	{"cudnn_volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1",
	 "volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", MATCH_VARIANT, "cudnn"},
	{"void wgrad_alg0_engine<float, 128, 6>(int)",
	 "void cudnn::cnn::wgrad_alg0_engine<float, 128, 5>(int)", MATCH_VARIANT, "cudnn"},
	{FLASH("flash", "128, 128, 64"), FLASH("flash", "128, 64, 64"), MATCH_TEMPLATE, NULL},
	{FLASH("flash", "128, 128, 64"), FLASH("pytorch_flash", "64, 128, 128"), MATCH_VARIANT,
	 "flash attention"},
	{ADD("4", "c10::BFloat16"), ADD("8", "c10::BFloat16"), MATCH_VARIANT,
	 "pytorch elementwise"},
	{ADD("4", "c10::BFloat16"), ADD("4", "float"), MATCH_VARIANT, "pytorch elementwise"},
	{COPY("elementwise_kernel", "128, 4", "c10::BFloat16"),
	 COPY("elementwise_kernel_manual_unroll", "128, 8", "c10::BFloat16"), MATCH_VARIANT,
	 "pytorch elementwise"},
	{"void ck::kernel_gemm_xdl<ck::GridwiseGemm<128, 64, float>, true>(int)",
	 "void ck::kernel_gemm_xdl<ck::GridwiseGemm<256, 32, float>, false>(int)", MATCH_VARIANT,
	 "ck"},
	{"void cub::CUB_200200_800_NS::DeviceScanKernel<cub::Policy<int, 4> >(int)",
	 "void cub::CUB_300100_900_NS::DeviceScanKernel<cub::Policy<int, 8> >(int)", MATCH_VARIANT,
	 "cub"},
	{"void Kokkos::Impl::cuda_parallel_launch_local_memory<Kokkos::Impl::ParallelFor<Force, "
	 "128> >(int)",
	 "void Kokkos::Impl::hip_parallel_launch_constant_memory<Kokkos::Impl::ParallelFor<Force> "
	 ">(int)",
	 MATCH_VARIANT, "kokkos"},
	{"ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
	 "ncclDevKernel_AllReduce_Sum_f16_TREE_LL128(ncclDevComm*, unsigned long, ncclWork*)",
	 MATCH_VARIANT, "nccl"},
	{"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
	 "ncclDevKernel_AllReduce_Sum_f32_RING_SIMPLE(ncclDevKernelArgsStorage<4096ul>)",
	 MATCH_VARIANT, "nccl"},
	{"igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x64x32_wt32x32x8_ws1x1_wr1x2_ta1x16x1x1_1x2x4x32_"
	 "pta",
	 "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt256x128x32_wt32x32x8_ws2x1_wr2x2_ta1x8x4x1_1x4x1x64",
	 MATCH_VARIANT, "miopen"},
	{"batched_transpose_32x16_half", "batched_transpose_256x4_half", MATCH_VARIANT, "miopen"},
	{"ref_convolution_kernel__2", "ref_convolution_kernel__11", MATCH_VARIANT, "onednn"},
	{"_pocl_kernel_saxpy_workgroup", "_pocl_kernel_saxpy_workgroup_argbuffer", MATCH_VARIANT,
	 "pocl"},
	{"loop_add_fusion_3", "loop_add_fusion_12", MATCH_VARIANT, "xla"},
	{"input_fusion_reduce_4", "input_fusion_reduce_7", MATCH_VARIANT, "xla"},
	{"tvmgen_default_fused_nn_dense_3_kernel0", "fused_nn_dense_7_kernel0", MATCH_VARIANT,
	 "tvm"},
	{"scale_3f2a9c01", "scale_b81d77e0", MATCH_VARIANT, "hash"},
	{"my_kernel_12", "my_kernel_13", MATCH_VARIANT, "counter"},
	{"_ZN5aiter3addIDF16bLi256EEEvPT_", "_ZN5aiter3addIDF16bLi64EEEvPT_", MATCH_VARIANT,
	 "mangled"},

	{"diffuse", "advect", MATCH_GONE, NULL},
	{"Fan1", "Fan2", MATCH_GONE, NULL},
	{"conv_3x3", "conv_5x5", MATCH_GONE, NULL},
	{"", "", MATCH_GONE, NULL},
	{"add_deadbeef", "add_cafebabe", MATCH_GONE, NULL}, /* words, not hashes */
	{"triton_poi_fused_add_mul_3", "triton_poi_fused_add_sub_3", MATCH_GONE, NULL},
	{"triton__0d1d2d3de", "triton__0d1d2de", MATCH_GONE, NULL},
	{"tvmgen_default_fused_nn_dense_kernel0", "tvmgen_default_fused_nn_dense_kernel1",
	 MATCH_GONE, NULL},
	{"volta_sgemm_128x64_tn", "volta_sgemm_128x64_nn", MATCH_GONE, NULL},
	{ADD("4", "float"),
	 "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
	 "std::array<char*, 1ul> >(int)",
	 MATCH_GONE, NULL},
	{"ncclDevKernel_AllReduce_Sum_f16_RING_LL(int)",
	 "ncclDevKernel_ReduceScatter_Sum_f16_RING_LL(int)", MATCH_GONE, NULL},
	{"igemm_fwd_gtcx3_nhwc_bf16_bx0_bt128x64x32", "igemm_bwd_gtcx3_nhwc_bf16_bx0_bt128x64x32",
	 MATCH_GONE, NULL},
	{"a::mix(int)", "b::mix(int)", MATCH_GONE, NULL},
};

static struct match *make(const struct match_item *base, size_t base_count,
			  const struct match_item *changed, size_t changed_count,
			  const struct match_map *map)
{
	struct match *match = NULL;

	CHECK_EQUAL(match_make(base, base_count, changed, changed_count, map, &match), 0);
	return match;
}

static struct match_item kernel(const char *name, uint32_t position, uint64_t count, uint64_t time)
{
	return (struct match_item){.name = name,
				   .scope = 1,
				   .is_kernel = true,
				   .position = position,
				   .count = count,
				   .time_ns = time};
}

TEST(pairs_of_names)
{
	for (size_t i = 0; i < ARRAY_COUNT(pairs); i++) {
		const struct match_item base = kernel(pairs[i].base, 0, 10, 100);
		const struct match_item changed = kernel(pairs[i].changed, 0, 10, 100);
		struct match *match = make(&base, 1, &changed, 1, NULL);
		const struct match_row *rows;

		CHECK_EQUAL(match_rows(match, &rows), pairs[i].reason == MATCH_GONE ? 2 : 1);
		CHECK_TEXT(match_reason_name(rows->reason), match_reason_name(pairs[i].reason));
		if (pairs[i].pattern)
			CHECK_TEXT(rows->pattern, pairs[i].pattern);
		else
			CHECK(!rows->pattern);
		CHECK((rows->confidence > 0) == (pairs[i].reason != MATCH_GONE));
		if (harness_failed)
			printf("#   '%s' and '%s'\n", pairs[i].base, pairs[i].changed);
		match_free(match);
	}
}

TEST(confidence_falls_with_evidence)
{
	static const char *const names[] = {ADD("4", "float"), ADD("8", "float"),
					    ADD("8", "c10::Half")};
	double before = 1.01;

	for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
		const struct match_item base = kernel(names[0], 0, 1, 1);
		const struct match_item changed = kernel(names[i], 0, 1, 1);
		struct match *match = make(&base, 1, &changed, 1, NULL);
		const struct match_row *rows;

		match_rows(match, &rows);
		CHECK(rows->confidence < before);
		before = rows->confidence;
		match_free(match);
	}
}

/* ---- hostile names --------------------------------------------------------------------------- */

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

TEST(hostile_names)
{
	enum { LENGTH = 100000 };
	static const char *const units[] = {"<",        "(",        ">",       "a<",   "operator<",
					    "{lambda(", ")<",       "_",       "1x",   "a,",
					    "::",       "\xff\xfe", "triton_", "f<g(", "*"};
	static const char *const heads[] = {"",     "at::native::reduce_kernel<", "Cijk_",
					    "_ZN5", "cutlass::Kernel2<cutlass_",  "igemm_"};
	static char name[LENGTH + 64];
	const double start = seconds();

	for (size_t head = 0; head < ARRAY_COUNT(heads); head++)
		for (size_t unit = 0; unit < ARRAY_COUNT(units); unit++) {
			size_t size = strlen(heads[head]);
			struct match_item base, changed = kernel("f", 1, 1, 1);

			memcpy(name, heads[head], size + 1);
			for (const size_t step = strlen(units[unit]); size + step < LENGTH;
			     size += step)
				memcpy(name + size, units[unit], step);
			name[size] = '\0';
			base = kernel(name, 1, 1, 1);
			match_free(make(&base, 1, &changed, 1, NULL));
		}
	CHECK(seconds() - start < (HARNESS_IS_SLOW ? 8 : 1));
}

TEST(keys_that_do_not_fit_stay_different)
{
	char left[64], right[64], name[300];
	const char *pattern;

	memset(name, 'a', sizeof(name));
	memcpy(name, "triton_poi_", 11);
	name[299] = '\0';
	CHECK_EQUAL(kernel_family(name, left, sizeof(left), &pattern), 1);
	name[298] = 'b';
	CHECK_EQUAL(kernel_family(name, right, sizeof(right), &pattern), 1);
	CHECK(strlen(left) < sizeof(left));
	CHECK(strcmp(left, right) != 0);
}

int main(void)
{
	RUN(pairs_of_names);
	RUN(confidence_falls_with_evidence);
	RUN(hostile_names);
	RUN(keys_that_do_not_fit_stay_different);
	return harness_end();
}
