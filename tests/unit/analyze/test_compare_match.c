/* SPDX-License-Identifier: MIT
 *
 * Matching of two profiles: small programs whose changes are known, files of --map, and random
 * profiles.
 */
#include "analyze/compare/match/match.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analyze/compare/match/map.h"
#include "base/array.h"
#include "base/error.h"
#include "harness.h"

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

TEST(functions_of_other_runtimes)
{
	struct match_item base[] = {kernel("cudaLaunchKernelExC called from f", 0, 1, 1),
				    kernel("cudaMemcpyAsync", 0, 1, 1),
				    kernel("customLaunch", 0, 1, 1)};
	struct match_item changed[] = {kernel("hipExtModuleLaunchKernel called from f", 0, 1, 1),
				       kernel("hipMemcpyAsync", 0, 1, 1),
				       kernel("tomLaunch", 0, 1, 1)};

	for (size_t i = 0; i < ARRAY_COUNT(base); i++)
		base[i].is_kernel = changed[i].is_kernel = false;
	CHECK_TEXT(
		MATCH_TEXT(base, changed, NULL),
		"variant cudaLaunchKernelExC called from f=hipExtModuleLaunchKernel called from f;"
		"variant cudaMemcpyAsync=hipMemcpyAsync;gone customLaunch=;new =tomLaunch;");
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

/* ---- size ------------------------------------------------------------------------------------ */

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

int main(void)
{
	RUN(scopes_stay_apart);
	RUN(items_that_are_no_kernels);
	RUN(functions_of_other_runtimes);
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
	return harness_end();
}
