/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/cpp/sort_names.cpp - std::sort of strings, whose templates are compiled into the program
 */
#include "diagnosis.h"

#include <algorithm>
#include <string>
#include <vector>

static void rank_candidates(uint64_t ns);

PLANT(.name = "sort_names", .kinds = "computing", .words = "rank_candidates",
      .act = rank_candidates);

NOINLINE static void rank_candidates(uint64_t ns)
{
	static std::vector<std::string> names(400);

	PLANT_BEGIN();
	for (uint64_t end = cpu_ns() + ns; cpu_ns() < end;) {
		for (unsigned i = 0; i < names.size(); i++)
			names[i] = "candidate number " + std::to_string(i * 2654435761u);
		std::sort(names.begin(), names.end());
	}
	PLANT_END();
}
