/* SPDX-License-Identifier: MIT
 *
 * Matching of two profiles: real names of kernels, small programs whose changes are known, random
 * profiles, and names that only look like names.
 */
#include "analyze/compare/match/match.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analyze/compare/match/map.h"
#include "analyze/compare/match/names.h"
#include "base/array.h"
#include "base/error.h"
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

/* ---- rows as text ---------------------------------------------------------------------------- */

/* "exact a=a;gone b=;" in the order of rows. */
static const char *describe(const struct match_item *base, const struct match_item *changed,
			    const struct match *match)
{
	static char text[4096];
	const struct match_row *rows;
	const size_t count = match_rows(match, &rows);
	size_t size = 0;

	text[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		size += (size_t)snprintf(text + size, sizeof(text) - size, "%s ",
					 match_reason_name(rows[i].reason));
		for (size_t j = 0; j < rows[i].base_count; j++)
			size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%s",
						 j ? "+" : "", base[rows[i].base[j]].name);
		size += (size_t)snprintf(text + size, sizeof(text) - size, "=");
		for (size_t j = 0; j < rows[i].changed_count; j++)
			size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%s",
						 j ? "+" : "", changed[rows[i].changed[j]].name);
		size += (size_t)snprintf(text + size, sizeof(text) - size, ";");
	}
	return text;
}

static const char *match_text(const struct match_item *base, size_t base_count,
			      const struct match_item *changed, size_t changed_count,
			      const struct match_map *map)
{
	struct match *match = make(base, base_count, changed, changed_count, map);
	const char *text = describe(base, changed, match);

	match_free(match);
	return text;
}

#define MATCH_TEXT(base, changed, map) \
	match_text(base, ARRAY_COUNT(base), changed, ARRAY_COUNT(changed), map)

TEST(scopes_stay_apart)
{
	struct match_item base[] = {kernel("a", 1, 1, 1), kernel("a", 1, 1, 1)};
	struct match_item changed[] = {kernel("a", 1, 1, 1)};

	base[1].scope = 2;
	changed[0].scope = 2;
	CHECK_TEXT(MATCH_TEXT(base, changed, NULL), "exact a=a;gone a=;");
}

TEST(items_that_are_no_kernels)
{
	struct match_item base[] = {kernel("step 12", 0, 1, 1), kernel("hipMemcpy2D", 0, 1, 1),
				    kernel("f<int>(int)", 0, 1, 1), kernel("copy", 0, 1, 1)};
	struct match_item changed[] = {kernel("step 13", 0, 1, 1), kernel("hipMemcpy3D", 0, 1, 1),
				       kernel("f<long>(int)", 0, 1, 1), kernel("copy", 0, 1, 1)};

	for (size_t i = 0; i < ARRAY_COUNT(base); i++)
		base[i].is_kernel = changed[i].is_kernel = false;
	CHECK_TEXT(MATCH_TEXT(base, changed, NULL),
		   "variant step 12=step 13;exact copy=copy;gone hipMemcpy2D=;gone f<int>(int)=;"
		   "new =hipMemcpy3D;new =f<long>(int);");
}

TEST(variants_pair_in_order)
{
	const struct match_item base[] = {kernel("triton_poi_fused_add_0", 4, 10, 1),
					  kernel("triton_poi_fused_add_1", 2, 20, 1)};
	const struct match_item changed[] = {kernel("triton_poi_fused_add_5", 3, 20, 1),
					     kernel("triton_poi_fused_add_6", 9, 10, 1)};
	const struct match_item uneven[] = {kernel("triton_poi_fused_add_5", 3, 5, 1),
					    kernel("triton_poi_fused_add_6", 9, 100, 1)};

	CHECK_TEXT(MATCH_TEXT(base, changed, NULL),
		   "variant triton_poi_fused_add_0=triton_poi_fused_add_6;"
		   "variant triton_poi_fused_add_1=triton_poi_fused_add_5;");
	CHECK_TEXT(MATCH_TEXT(base, uneven, NULL),
		   "variant triton_poi_fused_add_0+triton_poi_fused_add_1="
		   "triton_poi_fused_add_5+triton_poi_fused_add_6;");
}

/* ---- call paths ------------------------------------------------------------------------------ */

static const struct match_stack main_path[] = {{7, 10, 0}}, loop_path[] = {{8, 10, 0}};

static struct match_item at_path(const struct match_stack *path, const char *name,
				 uint32_t position, uint64_t count, uint64_t time)
{
	struct match_item item = kernel(name, position, count, time);

	item.stacks = path;
	item.stacks_count = 1;
	return item;
}

TEST(renamed_kernels)
{
	const struct match_item base[] = {at_path(loop_path, "advect", 1, 10, 500),
					  at_path(main_path, "setup", 2, 1, 50)};
	const struct match_item changed[] = {at_path(loop_path, "transport", 1, 10, 400),
					     at_path(main_path, "setup", 2, 1, 50)};
	const struct match_item elsewhere[] = {at_path(main_path, "transport", 1, 10, 400)};
	const struct match_item rare[] = {at_path(loop_path, "transport", 1, 3, 400)};

	CHECK_TEXT(MATCH_TEXT(base, changed, NULL), "renamed advect=transport;exact setup=setup;");
	CHECK_TEXT(match_text(base, 1, elsewhere, 1, NULL), "gone advect=;new =transport;");
	CHECK_TEXT(match_text(base, 1, rare, 1, NULL), "gone advect=;new =transport;");
}

TEST(counts_scale_with_the_length_of_a_run)
{
	const struct match_item base[] = {at_path(loop_path, "advect", 1, 10, 500),
					  at_path(main_path, "step", 2, 10, 50)};
	const struct match_item changed[] = {at_path(loop_path, "transport", 1, 40, 2000),
					     at_path(main_path, "step", 2, 40, 200)};

	CHECK_TEXT(MATCH_TEXT(base, changed, NULL), "renamed advect=transport;exact step=step;");
}

/* Three kernels of one path, with names that say which is which, and one pair that they do not. */
TEST(several_renamed_kernels_of_one_path)
{
	const struct match_item base[] = {at_path(main_path, "advect_velocity", 1, 10, 500),
					  at_path(main_path, "pressure_solve", 2, 10, 500),
					  at_path(main_path, "qqq", 3, 10, 500)};
	const struct match_item changed[] = {at_path(main_path, "solve_pressure_fast", 1, 10, 450),
					     at_path(main_path, "advect_velocity_v", 2, 10, 600),
					     at_path(main_path, "xxx", 3, 10, 500)};

	CHECK_TEXT(MATCH_TEXT(base, changed, NULL),
		   "renamed advect_velocity=advect_velocity_v;"
		   "renamed pressure_solve=solve_pressure_fast;renamed qqq=xxx;");
}

/* Nothing tells these four apart, and many others run from there, too. */
TEST(ambiguous_kernels_stay_unmatched)
{
	const struct match_item base[] = {
		at_path(main_path, "aa", 1, 10, 500), at_path(main_path, "bb", 2, 10, 500),
		at_path(main_path, "k1", 3, 10, 500), at_path(main_path, "k2", 4, 10, 500),
		at_path(main_path, "k3", 5, 10, 500)};
	const struct match_item changed[] = {
		at_path(main_path, "k1", 3, 10, 500), at_path(main_path, "xx", 1, 10, 500),
		at_path(main_path, "k2", 4, 10, 500), at_path(main_path, "yy", 6, 10, 500),
		at_path(main_path, "k3", 5, 10, 500)};

	CHECK_TEXT(MATCH_TEXT(base, changed, NULL),
		   "exact k1=k1;exact k2=k2;exact k3=k3;gone aa=;gone bb=;new =xx;new =yy;");
}

TEST(neighbours_find_a_renamed_kernel_without_stacks)
{
	const struct match_item base[] = {kernel("k1", 1, 10, 500), kernel("old", 2, 10, 500),
					  kernel("k2", 3, 10, 500), kernel("last", 4, 10, 500)};
	const struct match_item changed[] = {kernel("k1", 1, 10, 500), kernel("new", 2, 10, 500),
					     kernel("k2", 3, 10, 500), kernel("tail", 4, 10, 500)};

	CHECK_TEXT(MATCH_TEXT(base, changed, NULL),
		   "exact k1=k1;renamed old=new;exact k2=k2;gone last=;new =tail;");
}

TEST(split_and_fused_kernels)
{
	const struct match_item whole[] = {at_path(loop_path, "update", 1, 10, 1000)};
	const struct match_item parts[] = {at_path(loop_path, "gather", 1, 10, 400),
					   at_path(loop_path, "apply", 2, 20, 700)};
	const struct match_item rare[] = {at_path(loop_path, "gather", 1, 10, 400),
					  at_path(loop_path, "apply", 2, 4, 700)};
	const struct match_item slow[] = {at_path(loop_path, "gather", 1, 10, 40000),
					  at_path(loop_path, "apply", 2, 10, 70000)};

	CHECK_TEXT(MATCH_TEXT(whole, parts, NULL), "split update=gather+apply;");
	CHECK_TEXT(MATCH_TEXT(parts, whole, NULL), "fused gather+apply=update;");
	CHECK(!strstr(MATCH_TEXT(whole, rare, NULL), "split"));
	CHECK(!strstr(MATCH_TEXT(whole, slow, NULL), "split"));
}

TEST(one_kernel_per_path_in_place_of_one_for_all)
{
	static const struct match_stack both[] = {{7, 6, 0}, {8, 4, 0}};
	struct match_item base[] = {kernel("product", 1, 10, 1000)};
	const struct match_item changed[] = {at_path(main_path, "small", 1, 6, 400),
					     at_path(loop_path, "large", 2, 4, 700)};

	base[0].stacks = both;
	base[0].stacks_count = 2;
	CHECK_TEXT(MATCH_TEXT(base, changed, NULL), "split product=small+large;");
}

TEST(regrouped_kernels)
{
	const struct match_item base[] = {at_path(loop_path, "aa", 1, 10, 500),
					  at_path(loop_path, "bb", 2, 10, 500)};
	const struct match_item changed[] = {at_path(loop_path, "xx", 1, 10, 300),
					     at_path(loop_path, "yy", 2, 10, 300),
					     at_path(loop_path, "zz", 3, 10, 300)};

	CHECK_TEXT(MATCH_TEXT(base, changed, NULL), "regrouped aa+bb=xx+yy+zz;");
}

TEST(a_kernel_absorbs_its_neighbour)
{
	const struct match_item base[] = {at_path(loop_path, "f", 1, 10, 500),
					  at_path(loop_path, "g", 2, 10, 400)};
	const struct match_item fused[] = {at_path(loop_path, "f", 1, 10, 850)};
	const struct match_item same[] = {at_path(loop_path, "f", 1, 10, 520)};
	const struct match_item slow[] = {at_path(loop_path, "f", 1, 10, 1900)};
	struct match *match = make(base, 2, fused, 1, NULL);
	const struct match_row *rows;

	match_rows(match, &rows);
	CHECK(rows->confidence < 0.4);
	match_free(match);
	CHECK_TEXT(MATCH_TEXT(base, fused, NULL), "fused f+g=f;");
	CHECK_TEXT(MATCH_TEXT(fused, base, NULL), "split f=f+g;");
	CHECK_TEXT(MATCH_TEXT(base, same, NULL), "exact f=f;gone g=;");
	CHECK_TEXT(MATCH_TEXT(base, slow, NULL), "exact f=f;gone g=;");
}

/* ---- map files ------------------------------------------------------------------------------- */

static const char map_path[] = "test_compare_match.map";

static struct match_map *read_map(const char *text)
{
	struct match_map *map = NULL;

	harness_write_text(map_path, text);
	error_clear();
	match_map_read(map_path, &map);
	unlink(map_path);
	return map;
}

TEST(maps)
{
	const struct match_item base[] = {kernel("a", 1, 1, 1),     kernel("b<int>(int)", 2, 1, 1),
					  kernel("c", 3, 1, 1),     kernel("debug_1", 4, 1, 1),
					  kernel("old_x", 5, 1, 1), kernel("old_y", 6, 1, 1),
					  kernel("p + q", 7, 1, 1)};
	const struct match_item changed[] = {kernel("c", 1, 1, 1),       kernel("d", 2, 1, 1),
					     kernel("debug_1", 3, 1, 1), kernel("new_y", 4, 1, 1),
					     kernel("new_x", 5, 1, 1),   kernel("r", 6, 1, 1)};
	struct match_map *map = read_map("# a comment\r\n"
					 "  a + b => d\n\n"
					 "debug_* => -\n"
					 "- => debug_*\n"
					 "old_* => new_*\n"
					 "\"p + q\" => r\n"
					 "nothing => c");

	REQUIRE(map);
	CHECK_TEXT(MATCH_TEXT(base, changed, map),
		   "map a+b<int>(int)=d;exact c=c;map old_x=new_x;map old_y=new_y;map p + q=r;"
		   "gone debug_1=;new =debug_1;");
	match_map_free(map);
}

TEST(bad_maps)
{
	static const struct {
		const char *text, *problem;
	} bad[] = {
		{"\n\nfoo bar\n", "line 3: no => between two names"},
		{"a => b => c\n", "line 1: more than one =>"},
		{"- => -\n", "line 1: both sides are -"},
		{"# x\na +  + b => c\n", "line 2: a name is missing"},
		{"a =>  \n", "line 1: no => between"},
		{"\"a => b\n", "line 1: no => between"},
		{"\"a\"x => b\n", "line 1: a quote is not closed"},
	};

	for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
		CHECK(!read_map(bad[i].text));
		CHECK(strstr(error_text(), map_path) == error_text());
		CHECK(strstr(error_text(), bad[i].problem));
		if (harness_failed)
			printf("#   %s\n", error_text());
	}
	error_clear();
	CHECK_EQUAL(match_map_read("/nonexistent/map", &(struct match_map *){NULL}), -ENOENT);
	CHECK(strstr(error_text(), "/nonexistent/map"));
	error_clear();
}

/* ---- random profiles ------------------------------------------------------------------------- */

enum { RANDOM_ITEMS = 60, RANDOM_RUNS = 100, STACKS = 3, LARGE = 20000 };

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

struct profile {
	struct match_item items[RANDOM_ITEMS];
	char names[RANDOM_ITEMS][64];
	struct match_stack stacks[RANDOM_ITEMS][STACKS];
	size_t count;
};

static void fill_name(char *name, size_t size, uint64_t random)
{
	static const char *const forms[] = {
		"k%u",  "triton_poi_fused_add_%u", "void f<float, %u>(int)", "volta_sgemm_%ux64_tn",
		"g_%u", "h<%u, at::Half>(int)"};

	snprintf(name, size, forms[random % ARRAY_COUNT(forms)], (unsigned int)(random >> 8) % 7);
}

static bool has_name(const struct profile *profile, const char *name, uint32_t scope)
{
	for (size_t i = 0; i < profile->count; i++)
		if (profile->items[i].scope == scope && strcmp(profile->names[i], name) == 0)
			return true;
	return false;
}

static void fill_profile(struct profile *profile, uint64_t *state)
{
	profile->count = 0;
	for (size_t i = 0; i < RANDOM_ITEMS; i++) {
		const size_t at = profile->count;
		const uint32_t scope = (uint32_t)(next_random(state) % 2);
		char name[64];

		fill_name(name, sizeof(name), next_random(state));
		if (has_name(profile, name, scope))
			continue;
		memcpy(profile->names[at], name, sizeof(name));
		profile->items[at] =
			(struct match_item){.name = profile->names[at],
					    .scope = scope,
					    .is_kernel = next_random(state) % 8 != 0,
					    .position = (uint32_t)i + 1,
					    .count = 1 + next_random(state) % 3,
					    .time_ns = next_random(state) % 1000,
					    .stacks = profile->stacks[at],
					    .stacks_count = next_random(state) % (STACKS + 1)};
		for (size_t j = 0; j < STACKS; j++)
			profile->stacks[at][j] = (struct match_stack){
				j * 10 + next_random(state) % 4, 1 + next_random(state) % 3, 1};
		profile->count++;
	}
}

static void check_once(const struct match *match, size_t base_count, size_t changed_count)
{
	size_t base[RANDOM_ITEMS] = {0}, changed[RANDOM_ITEMS] = {0};
	const struct match_row *rows;
	const size_t count = match_rows(match, &rows);

	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < rows[i].base_count; j++)
			base[rows[i].base[j]]++;
		for (size_t j = 0; j < rows[i].changed_count; j++)
			changed[rows[i].changed[j]]++;
		CHECK((rows[i].reason == MATCH_GONE) == !rows[i].changed_count);
		CHECK((rows[i].reason == MATCH_NEW) == !rows[i].base_count);
		CHECK(rows[i].confidence >= 0 && rows[i].confidence <= 1);
	}
	for (size_t i = 0; i < base_count; i++)
		CHECK_EQUAL(base[i], 1);
	for (size_t i = 0; i < changed_count; i++)
		CHECK_EQUAL(changed[i], 1);
}

/* Whether two items are in one row; equal names of one scope must be. */
static bool is_together(const struct match *match, uint32_t base, uint32_t changed)
{
	const struct match_row *rows;
	const size_t count = match_rows(match, &rows);
	bool has_base = false, has_changed = false;

	for (size_t i = 0; i < count && !has_base; i++) {
		has_changed = false;
		for (size_t j = 0; j < rows[i].base_count; j++)
			has_base |= rows[i].base[j] == base;
		for (size_t j = 0; j < rows[i].changed_count; j++)
			has_changed |= rows[i].changed[j] == changed;
	}
	return has_base && has_changed;
}

static void reverse(struct profile *profile)
{
	for (size_t i = 0, j = profile->count; i + 1 < j; i++) {
		const struct match_item item = profile->items[i];

		profile->items[i] = profile->items[--j];
		profile->items[j] = item;
	}
}

TEST(random_profiles)
{
	static struct profile base, changed;
	uint64_t state = 88172645463325252u;

	for (int run = 0; run < RANDOM_RUNS; run++) {
		struct match *match, *reversed;
		size_t differing = 0;

		fill_profile(&base, &state);
		fill_profile(&changed, &state);
		match = make(base.items, base.count, changed.items, changed.count, NULL);
		check_once(match, base.count, changed.count);
		reverse(&base);
		reverse(&changed);
		reversed = make(base.items, base.count, changed.items, changed.count, NULL);
		for (uint32_t i = 0; i < base.count; i++)
			for (uint32_t j = 0; j < changed.count; j++) {
				const uint32_t i_before = (uint32_t)base.count - 1 - i;
				const uint32_t j_before = (uint32_t)changed.count - 1 - j;
				const bool is_pair = is_together(reversed, i, j);

				differing += is_pair != is_together(match, i_before, j_before);
				if (base.items[i].scope == changed.items[j].scope &&
				    strcmp(base.items[i].name, changed.items[j].name) == 0)
					CHECK(is_pair);
			}
		CHECK_EQUAL(differing, 0);
		match_free(match);
		match_free(reversed);
	}
}

/* ---- size and hostile names ------------------------------------------------------------------ */

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* All names differ. is_crowded: all run from one path; otherwise 20 from each. */
static double match_large(bool is_crowded)
{
	static struct match_item items[2][LARGE];
	static struct match_stack stacks[2][LARGE];
	static char names[2][LARGE][96];
	const double start = seconds();

	for (size_t side = 0; side < 2; side++)
		for (size_t i = 0; i < LARGE; i++) {
			snprintf(names[side][i], sizeof(names[side][i]),
				 "void ns%zu::kernel_%zu_of<float, 128>(float*, int)", side, i);
			stacks[side][i] = (struct match_stack){is_crowded ? 1 : i / 20, 10, 1};
			items[side][i] = at_path(&stacks[side][i], names[side][i], (uint32_t)i + 1,
						 10, 1000);
		}
	match_free(make(items[0], LARGE, items[1], LARGE, NULL));
	return seconds() - start;
}

TEST(large_profiles_take_less_than_a_second)
{
	const double limit = HARNESS_IS_SLOW ? 8 : 1;

	CHECK(match_large(true) < limit);
	CHECK(match_large(false) < limit);
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
	RUN(scopes_stay_apart);
	RUN(items_that_are_no_kernels);
	RUN(variants_pair_in_order);
	RUN(renamed_kernels);
	RUN(counts_scale_with_the_length_of_a_run);
	RUN(several_renamed_kernels_of_one_path);
	RUN(ambiguous_kernels_stay_unmatched);
	RUN(neighbours_find_a_renamed_kernel_without_stacks);
	RUN(split_and_fused_kernels);
	RUN(one_kernel_per_path_in_place_of_one_for_all);
	RUN(regrouped_kernels);
	RUN(a_kernel_absorbs_its_neighbour);
	RUN(maps);
	RUN(bad_maps);
	RUN(random_profiles);
	RUN(large_profiles_take_less_than_a_second);
	RUN(hostile_names);
	RUN(keys_that_do_not_fit_stay_different);
	return harness_end();
}
