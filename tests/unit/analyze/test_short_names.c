/* SPDX-License-Identifier: MIT
 *
 * Short names: the real names of kernels of PyTorch, cuDNN, rocBLAS and MIOpen, and texts that only
 * look like names.
 */
#include "analyze/text/short_names.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"

#define COPY(lambda)                                                                      \
	"void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<" \
	"at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::"    \
	"operator()() const::" lambda ">(at::TensorIteratorBase&, int)::{lambda(int)#1}>(int)"
#define FILL(size, type)                                                                         \
	"void at::native::vectorized_elementwise_kernel<" size ", at::native::FillFunctor<" type \
	">, std::array<char*, 1ul> >(int, at::native::FillFunctor<" type                         \
	">, std::array<char*, 1ul>)"
#define TENSILE(tile, last) \
	"Cijk_Ailk_Bljk_HHS_BH_" tile "_MI16x16x16x1_SN_1LDSB0_APM1_ABV0_ACED0_" last "_WG64"

static const struct {
	const char *full, *wanted;
} alone[] = {
	{"diffuse", "diffuse"},
	{"", ""},
	{"volta_sgemm_128x64_nn", "volta_sgemm_128x64_nn"},
	{FILL("4", "float"), "vectorized_elementwise_kernel"},
	{"void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(int)",
	 "winogradForwardData4x4"},
	{"void (anonymous namespace)::softmax_warp_forward<float, 10>(float*, float const*)",
	 "softmax_warp_forward"},
	{"at::native::(anonymous namespace)::reduce(int) [clone .kd]", "reduce"},
	{"unsigned long hash::mix(unsigned long)", "mix"},
	{"a::Matrix::operator()(int) const", "Matrix"},
	{"a::Matrix<float>::operator<<(int)", "operator<<"},
	{"a::operator bool(int)", "operator bool"},
	{"std::vector<int> build<int>()", "build"},
	{TENSILE("MT16x16x64", "GSU1"), "Cijk_Ailk_Bljk_HHS_BH_MT16x16x64\u2026"},
};

static const char *name_of(const char *const *names, size_t count, size_t index)
{
	static char text[2000];
	struct short_names *made = NULL;

	CHECK_EQUAL(short_names_new(names, count, &made), 0);
	snprintf(text, sizeof(text), "%s", short_names_at(made, index));
	short_names_free(made);
	return text;
}

TEST(a_name_alone_is_its_function)
{
	for (size_t i = 0; i < sizeof(alone) / sizeof(alone[0]); i++)
		CHECK_TEXT(name_of(&alone[i].full, 1, 0), alone[i].wanted);
}

static void check_group(const char *const *names, size_t count, const char *const *wanted)
{
	for (size_t i = 0; i < count; i++)
		CHECK_TEXT(name_of(names, count, i), wanted[i]);
}

TEST(arguments_tell_instances_apart)
{
	const char *const fills[] = {FILL("4", "float"), FILL("4", "c10::Half"), FILL("8", "float"),
				     "f(int)"};
	const char *const wanted[] = {"vectorized_elementwise_kernel<4, FillFunctor<float>>",
				      "vectorized_elementwise_kernel<FillFunctor<Half>>",
				      "vectorized_elementwise_kernel<8, FillFunctor<float>>", "f"};

	check_group(fills, 4, wanted);
}

TEST(types_are_preferred_to_numbers)
{
	const char *const names[] = {"void n::scan<1, n::Sum>(int)",
				     "void n::scan<2, n::Max>(int)"};
	const char *const wanted[] = {"scan<Sum>", "scan<Max>"};

	check_group(names, 2, wanted);
}

TEST(lambdas_are_named_by_their_function_and_parameters)
{
	const char *const names[] = {
		COPY("{lambda()#7}::operator()() const::{lambda(float)#1}"),
		COPY("{lambda()#9}::operator()() const::{lambda(c10::Half)#1}"),
		"void at::native::elementwise_kernel<128, 4, at::Neg>(int)"};

	CHECK_TEXT(name_of(names, 3, 2), "elementwise_kernel<Neg>");
	CHECK(strstr(name_of(names, 3, 0), "direct_copy_kernel_cuda(float)") != NULL);
	CHECK(strstr(name_of(names, 3, 1), "direct_copy_kernel_cuda(c10::Half)") != NULL);
}

TEST(words_tell_long_flat_names_apart)
{
	const char *const names[] = {TENSILE("MT16x16x64", "GSU1"), TENSILE("MT16x16x64", "GSU2"),
				     TENSILE("MT32x16x64", "GSU1")};
	const char *const wanted[] = {"Cijk_Ailk_Bljk_HHS_BH_MT16x16x64\u2026GSU1\u2026",
				      "Cijk_Ailk_Bljk_HHS_BH_MT16x16x64\u2026GSU2\u2026",
				      "Cijk_Ailk_Bljk_HHS_BH_MT32x16x64\u2026"};

	check_group(names, 3, wanted);
}

TEST(overloads_and_namespaces_get_numbers)
{
	const char *const names[] = {"a::f(int)", "b::f(int)", "b::f(int)", "f(float)"};
	const char *const wanted[] = {"f", "f #2", "f #2", "f #3"};

	check_group(names, 4, wanted);
}

/* Random brackets, colons and words: no two different texts share a name, and none is lost. */
TEST(any_text_gets_a_name_of_its_own)
{
	static const char *const pieces[] = {"<",     ">", "(",        ")",        "::",  ", ",
					     "f",     "g", "operator", "{lambda(", "#1}", " ",
					     "const", "[", "]",        "_",        "8"};
	static char texts[400][200];
	const char *names[400];
	struct short_names *made = NULL;
	uint32_t random = 1;

	for (size_t i = 0; i < 400; i++) {
		size_t length = 0;

		for (size_t j = 0; j < i % 40; j++) {
			random = random * 1664525 + 1013904223;
			length += (size_t)snprintf(texts[i] + length, sizeof(texts[i]) - length,
						   "%s", pieces[(random >> 16) % 17]);
			if (length >= sizeof(texts[i]))
				break;
		}
		names[i] = texts[i];
	}
	CHECK_EQUAL(short_names_new(names, 400, &made), 0);
	for (size_t i = 0; i < 400; i++)
		for (size_t j = 0; j < i; j++)
			CHECK((strcmp(short_names_at(made, i), short_names_at(made, j)) == 0) ==
			      (strcmp(names[i], names[j]) == 0));
	short_names_free(made);
}

TEST(functions_of_the_host_keep_their_class)
{
	static const struct {
		const char *full, *wanted;
	} cases[] = {
		{"clblast::Program::_M_dispose()", "clblast::Program::_M_dispose"},
		{"void std::sort<int*, std::less<int> >(int*, int*, std::less<int>)", "std::sort"},
		{"std::vector<int, std::allocator<int> >::push_back(int const&)",
		 "std::vector::push_back"},
		{"(anonymous namespace)::Parser::next() const", "Parser::next"},
		{"a::Matrix<float>::operator()(int, int) const", "a::Matrix::operator()"},
		{"run(int)::{lambda(int)#1}::operator()(int) const",
		 "run::{lambda(int)#1}::operator()"},
		{"main.(*T).Method", "main.(*T).Method"},
		{"<alloc::vec::Vec<T> as core::ops::Drop>::drop",
		 "<alloc::vec::Vec<T> as core::ops::Drop>::drop"},
		{"Loader.parse.<locals>.<listcomp>", "Loader.parse.<locals>.<listcomp>"},
		{"<module>", "<module>"},
		{"[libfoo.so]+0x12", "[libfoo.so]+0x12"},
		{"guard variable for x", "guard variable for x"},
		{"", ""},
	};
	const char *names[sizeof(cases) / sizeof(cases[0])];
	struct short_names *made = NULL;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		names[i] = cases[i].full;
	CHECK_EQUAL(short_functions_new(names, sizeof(cases) / sizeof(cases[0]), &made), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_TEXT(short_names_at(made, i), cases[i].wanted);
	short_names_free(made);
}

TEST(overloaded_functions_keep_their_parameters)
{
	const char *const names[] = {"a::f(int)", "a::f(float)", "a::f(int)", "a::g(int)"};
	struct short_names *made = NULL;

	CHECK_EQUAL(short_functions_new(names, 4, &made), 0);
	CHECK_TEXT(short_names_at(made, 0), "a::f(int)");
	CHECK_TEXT(short_names_at(made, 1), "a::f(float)");
	CHECK_TEXT(short_names_at(made, 2), "a::f(int)");
	CHECK_TEXT(short_names_at(made, 3), "a::g");
	short_names_free(made);
}

TEST(names_are_found_by_their_full_text)
{
	const char *const names[] = {"void n::scan<1, n::Sum>(int)", "void n::scan<2, n::Max>(int)",
				     "f"};
	struct short_names *made = NULL;

	CHECK_EQUAL(short_names_new(names, 3, &made), 0);
	CHECK_TEXT(short_names_find(made, names[1]), "scan<Max>");
	CHECK_TEXT(short_names_find(made, "void n::scan<3, n::Min>(int)"),
		   "void n::scan<3, n::Min>(int)");
	CHECK_TEXT(short_names_find(NULL, names[1]), names[1]);
	CHECK_TEXT(short_names_find(made, ""), "");
	short_names_free(made);
}

int main(void)
{
	RUN(a_name_alone_is_its_function);
	RUN(arguments_tell_instances_apart);
	RUN(types_are_preferred_to_numbers);
	RUN(lambdas_are_named_by_their_function_and_parameters);
	RUN(words_tell_long_flat_names_apart);
	RUN(overloads_and_namespaces_get_numbers);
	RUN(any_text_gets_a_name_of_its_own);
	RUN(functions_of_the_host_keep_their_class);
	RUN(overloaded_functions_keep_their_parameters);
	RUN(names_are_found_by_their_full_text);
	return harness_end();
}
