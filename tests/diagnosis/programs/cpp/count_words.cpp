/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/cpp/count_words.cpp - a map of strings: libstdc++ and malloc below the user's class
 */
#include "diagnosis.h"

#include <map>
#include <string>

static void count_words(uint64_t ns);

PLANT(.name = "count_words", .kinds = "computing", .words = "Vocabulary", .act = count_words);

class Vocabulary {
public:
	NOINLINE void count(uint64_t ns)
	{
		PLANT_BEGIN();
		for (uint64_t end = cpu_ns() + ns; cpu_ns() < end;) {
			counts.clear();
			for (unsigned i = 0; i < 200; i++)
				counts["a word of the text " + std::to_string(i * 7919 % 150)]++;
		}
		PLANT_END();
	}

private:
	std::map<std::string, int> counts;
};

static void count_words(uint64_t ns)
{
	static Vocabulary vocabulary;

	vocabulary.count(ns);
}
