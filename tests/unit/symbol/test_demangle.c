/* SPDX-License-Identifier: MIT
 *
 * Names of C++ and Rust, and names that are made to cost time and memory.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "harness.h"
#include "symbol/demangle.h"

static struct demangler *demangler;

static void check(const char *name, const char *want)
{
	char *got = demangler_find(demangler, name);

	if (want)
		CHECK_TEXT(got, want);
	else
		CHECK(!got);
	free(got);
}

TEST(cxx)
{
	check("_ZN2ns3fooIiEEvT_", "void ns::foo<int>(int)");
	check("_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f()");
	check("_Z1fv.cold", "f() [clone .cold]");
	check("_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const");
	check("_ZTV4base", "vtable for base");
	check("main", NULL);
	check("_Zoo", "operator||");
	check("_Zq", NULL);
	check("_Z", NULL);
	check("", NULL);
	check("_", NULL);
	check("_ZN", NULL);
}

/* Mangled by rustc 1.95, printed by binutils 2.40 but for hashes and types of constants. */
TEST(rust_new)
{
	check("_RNvC1r4main", "r::main");
	check("_RNvCskwGfYPst2Cb_3foo16example_function", "foo::example_function");
	check("_RNvMs_Cs4Cv8Wi1oAIB_1rNtB4_1S3new", "<r::S>::new");
	check("_RNvMC1rNtB9_1S3new", NULL); /* a back reference to what comes later */
	check("_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>");
	check("_RNCNvC1r4main0", "r::main::{closure#0}");
	check("_RNCNvC1r4mains_0", "r::main::{closure#1}");
	check("_RNvMC1rNtB2_1S3new", "<r::S>::new");
	check("_RNvXC1rNtB2_1SNtB2_1T2go", "<r::S as r::T>::go");
	check("_RNvYNtC1r1SNtB4_1T2go", "<r::S as r::T>::go");
	check("_RINvC1r1fAhj4_E", "r::f::<[u8; 4]>");
	check("_RINvC1r1fTlEE", "r::f::<(i32,)>");
	check("_RINvC1r1fTlmEE", "r::f::<(i32, u32)>");
	check("_RINvC1r1fReE", "r::f::<&str>");
	check("_RINvC1r1fQShE", "r::f::<&mut [u8]>");
	check("_RINvC1r1fPhOhE", "r::f::<*const u8, *mut u8>");
	check("_RINvC1r1fFUKClEzE", "r::f::<unsafe extern \"C\" fn(i32) -> !>");
	check("_RINvC1r1fFhEuE", "r::f::<fn(u8)>");
	check("_RINvC1r1fFG_RL0_hEBa_E", "r::f::<for<'a> fn(&'a u8) -> &'a u8>");
	check("_RINvC1r1fDNtB2_1TEL_E", "r::f::<dyn r::T>");
	check("_RINvC1r1fDNtB2_1TNtB2_1UEL_E", "r::f::<dyn r::T + r::U>");
	check("_RINvC1r1fDINtB2_1ThEp4ItemlEL_E", "r::f::<dyn r::T<u8, Item = i32>>");
	check("_RINvC1r1cKc27_Kb1_Kan3_E", "r::c::<'\\'', true, -3>");
	check("_RINvC1r1cKoffffffffffffffffff_E", "r::c::<0xffffffffffffffffff>");
	check("_RNvNtC1ru8gdel_5qau10nchste_5wa", "r::gödel::nchòste");
	check("_RNvC1ru30____7hkackfecea1cbdathfdh9hlq6y", "r::საჭმელად_გემრიელი_სადილი");
	check("_RNvC1r4main.llvm.123", "r::main");
	check("_RNvC1r4mainC3abc", "r::main");
	check("_RNvC1r4mainx", NULL);
	check("_R", NULL);
	check("_R0NvC1r4main", NULL);
}

TEST(rust_old)
{
	check("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write");
	check("_ZN60_$LT$$RF$T$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE", NULL);
	check("_ZN42_$LT$$RF$T$u20$as$u20$core..fmt..Debug$GT$3fmt17h4819d9ec2db1a450E",
	      "<&T as core::fmt::Debug>::fmt");
	check("_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17ha86af84d9cc65291E",
	      "std::rt::lang_start::{{closure}}");
	check("_ZN3foo17h0123456789abcdefE.llvm.77", "foo");
	/* without a hash it is C++ */
	check("_ZN3foo3barE", "foo::bar");
}

TEST(short_names)
{
	static const char *const names[][2] = {
		{"void ns::foo<int>(int)", "ns::foo"},
		{"std::vector<int, std::allocator<int> >::push_back(int const&)",
		 "std::vector::push_back"},
		{"(anonymous namespace)::f(int) const", "(anonymous namespace)::f"},
		{"main::{lambda(int)#1}::operator()(int) const", "main::{lambda#1}::operator()"},
		{"run(int)::{lambda(auto:1)#2}::operator()<int>(int) const",
		 "run::{lambda#2}::operator()"},
		{"std::ostream& operator<< <char>(std::ostream&, char)", "operator<<"},
		{"bool operator< <int>(A<int> const&, A<int> const&)", "operator<"},
		{"A::operator unsigned long() const", "A::operator unsigned long"},
		{"A<int>::operator->() const", "A::operator->"},
		{"f() [clone .cold]", "f"},
		{"<alloc::vec::Vec<T> as core::fmt::Debug>::fmt",
		 "<alloc::vec::Vec as core::fmt::Debug>::fmt"},
		{"std::mem::align_of::<f64>", "std::mem::align_of"},
		{"r::main::{closure#0}", "r::main::{closure#0}"},
		{"main", "main"},
		{"", ""},
		{"((((", ""},
		{"<<<<", "<"},
	};
	char text[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		strcpy(text, names[i][0]);
		demangle_shorten(text);
		CHECK_TEXT(text, names[i][1]);
	}
}

/* Two kernels of one template are two kernels. */
TEST(kernels)
{
	static const char *const names[][2] = {
		{"_ZN6shapes5scaleIfEEvPT_S1_j", "shapes::scale<float>"},
		{"_Z6reduceILi256EfEvPKT0_PS0_", "reduce<256, float>"},
		{"_Z4fillPji", "fill"},
		{"_ZN2at6nativeclIiEEvT_", "at::native::operator()<int>"},
		{"_ZN12_GLOBAL__N_14copyIPFivEEEvT_", "(anonymous namespace)::copy<int (*)()>"},
	};
	struct demangler *own;

	REQUIRE(demangler_new(&(struct demangle_options){.is_kernel = true}, &own) == 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *text = demangler_find(own, names[i][0]);

		CHECK_TEXT(text, names[i][1]);
		free(text);
	}
	CHECK(!demangler_find(own, "vector_add"));
	demangler_free(own);
}

TEST(overloaded_kernels)
{
	static const char *const names[][2] = {
		{"_ZN1A1kEPf", "A::k(float*)"},
		{"_ZN1A1kEPii", "A::k(int*, int)"},
		{"_ZN6shapes5scaleIfEEvPT_S1_j",
		 "shapes::scale<float>(float*, float, unsigned int)"},
	};
	struct demangler *own;

	REQUIRE(demangler_new(&(struct demangle_options){.is_kernel = true, .has_parameters = true},
			      &own) == 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *text = demangler_find(own, names[i][0]);

		CHECK_TEXT(text, names[i][1]);
		free(text);
	}
	demangler_free(own);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* f(A<int>, B<#, #>, B<#, #>, ...), where each # is all that came before: doubles `count` times. */
static void make_doubling(unsigned int count, char *text)
{
	text += sprintf(text, "_Z1f1AIiE1BIS0_S0_E");
	for (unsigned int i = 0; i < count; i++) {
		unsigned int last = i + 1;
		char digit = (char)(last < 10 ? '0' + last : 'A' + last - 10);

		text += sprintf(text, "S1_IS%c_S%c_E", i ? digit : '2', i ? digit : '2');
		if (last > 33)
			break;
	}
}

TEST(hostile)
{
	double begin = seconds();
	char *text = malloc(200000), *at;
	uint64_t state = 3;

	REQUIRE(text);
	for (unsigned int count = 1; count < 34; count++) {
		make_doubling(count, text);
		free(demangler_find(demangler, text));
	}
	/* a back reference to a pair of back references to a pair … */
	at = text + sprintf(text, "_RINvC1r1fTllE");
	for (char digit = '8'; digit < 'z'; digit++)
		at += sprintf(at, "TB%c_B%c_E", digit, digit);
	sprintf(at, "E");
	free(demangler_find(demangler, text));
	/* deep, long */
	memset(text, 'R', 10000);
	memcpy(text, "_RINvC1r1f", 10);
	strcpy(text + 10000, "hE");
	check(text, NULL);
	memset(text, 'P', 150000);
	memcpy(text, "_Z1f", 4);
	strcpy(text + 150000, "i");
	check(text, NULL);
	/* anything */
	for (int i = 0; i < 300000; i++) {
		static const char letters[] = "_RZNCMXYIBTLKEShijuvxzs0123456789GDFApn$._";
		size_t length = 2 + (size_t)(state >> 58);

		memcpy(text, i % 2 ? "_R" : "_ZN", 3);
		for (size_t j = i % 2 ? 2 : 3; j < length; j++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			text[j] = letters[(state >> 33) % (sizeof(letters) - 1)];
		}
		text[length < 3 ? 3 : length] = '\0';
		at = demangle_rust(text);
		if (at)
			demangle_shorten(at);
		free(at);
	}
	free(text);
	printf("# %.2f s\n", seconds() - begin);
	CHECK(seconds() - begin < 20);
}

int main(void)
{
	struct demangle_options options = {0};

	if (demangler_new(&options, &demangler))
		return 1;
	RUN(cxx);
	RUN(kernels);
	RUN(overloaded_kernels);
	RUN(rust_new);
	RUN(rust_old);
	RUN(short_names);
	RUN(hostile);
	demangler_free(demangler);
	return harness_end();
}
