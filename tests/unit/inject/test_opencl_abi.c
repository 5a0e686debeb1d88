/* SPDX-License-Identifier: MIT
 *
 * tests/unit/inject/test_opencl_abi.c - our declarations of OpenCL against the real headers
 *
 * Argument: the path of src/abi/opencl.h, so that a constant added there is not forgotten here.
 */
#include <ctype.h>
#include <stdlib.h>

#include "harness.h"
#include "opencl_facts.h"

static const char *abi_path;

TEST(numbers_and_names_are_unique)
{
	int rows = 0;

	for (int i = 0; i < FUNCTIONS; i++) {
		if (!ours_slots[i].name)
			continue;
		rows++;
		CHECK(strncmp(ours_slots[i].name, "cl", 2) == 0);
		/* A number used twice leaves a row that lies behind its place. 149 is not given
		 * out. */
		CHECK_EQUAL(ours_slots[i].value, i < 149 ? i : i - 1);
		for (int k = 0; k < i; k++)
			CHECK(!ours_slots[k].name ||
			      strcmp(ours_slots[k].name, ours_slots[i].name) != 0);
	}
	/* … and no number between the first and the last is free */
	for (int i = 0; i <= rows; i++)
		CHECK((ours_slots[i].name != NULL) == (i != 149));
}

TEST(every_constant_is_compared)
{
	FILE *file = abi_path ? fopen(abi_path, "r") : NULL;
	char line[256], name[128];
	int found = 0;

	REQUIRE(file);
	while (fgets(line, sizeof(line), file)) {
		bool listed = false;

		if (sscanf(line, "\t%127[A-Z0-9_] =", name) != 1 || strncmp(name, "CL_", 3) != 0 ||
		    !strstr(line, " = "))
			continue;
		found++;
		for (const struct fact *fact = ours_facts; fact->name; fact++)
			listed = listed || strcmp(fact->name, name) == 0;
		CHECK(listed);
		if (!listed)
			printf("#   %s is not in opencl_constants.inc\n", name);
	}
	fclose(file);
	CHECK(found > 40);
}

#ifdef HAVE_OPENCL_HEADERS
TEST(constants_and_sizes)
{
	const struct fact *ours = ours_facts, *real = real_facts;

	for (; ours->name && real->name; ours++, real++) {
		CHECK_TEXT(ours->name, real->name);
		CHECK_EQUAL(ours->value, real->value);
		if (ours->value != real->value)
			printf("#   %s\n", ours->name);
	}
	CHECK(!ours->name && !real->name);
}

TEST(slots_of_the_dispatch_table)
{
	CHECK_EQUAL(real_slot_count, 149);
	for (int i = 0; i < 149; i++) {
		REQUIRE(ours_slots[i].name && real_slots[i].name);
		CHECK_TEXT(ours_slots[i].name, real_slots[i].name);
		CHECK_EQUAL(real_slots[i].value, i);
	}
}

TEST(types_of_the_functions)
{
	int rows = 0, compared = 0;

	for (int i = 0; i < FUNCTIONS; i++) {
		int compatible = real_is_compatible(i);

		rows += ours_slots[i].name != NULL;
		compared += compatible >= 0;
		CHECK(compatible != 0);
		if (compatible == 0)
			printf("#   %s\n", ours_slots[i].name);
	}
	/* all but the 16 of Direct3D and 10 that changed between versions of
	 * cl_khr_command_buffer */
	CHECK_EQUAL(compared, rows - 26);
}
#else
TEST(constants_and_sizes)
{
	SKIP("the OpenCL headers (ocl-icd-opencl-dev) are not installed");
}
#endif

int main(int argc, char **argv)
{
	abi_path = argc > 1 ? argv[1] : NULL;
	RUN(numbers_and_names_are_unique);
	RUN(every_constant_is_compared);
	RUN(constants_and_sizes);
#ifdef HAVE_OPENCL_HEADERS
	RUN(slots_of_the_dispatch_table);
	RUN(types_of_the_functions);
#endif
	return harness_end();
}
