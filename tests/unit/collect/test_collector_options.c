/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_collector_options.c - words of --collect, and what they leave in the
 * options of each collector
 */
#include <errno.h>

#include "harness.h"

#include "abi/amd_options.h"
#include "abi/level_zero_options.h"
#include "base/array.h"
#include "base/error.h"
#include "collect/collector.h"
#include "collect/nvidia/options.h"

/* The collector's own struct after the list; NULL: the list is refused. */
static const void *choose(const char *list, const char *name, struct session_options *ret_options)
{
	*ret_options = (struct session_options){.any = false};
	error_clear();
	return collectors_choose(list, NULL, ret_options) ? NULL
							  : collector_options(ret_options, name);
}

TEST(words_and_rates_of_cuda)
{
	enum { CUDA = NVIDIA_CUDA | NVIDIA_CUDA_ASKED, BOTH = NVIDIA_CUDA | NVIDIA_COUNTERS_ASKED };
	static const struct {
		const char *list;
		uint32_t words, hz, pm_hz, pc_exponent;
	} cases[] = {
		{"nvidia", BOTH, 10, 0, 0},
		{"nvidia:20", NVIDIA_COUNTERS_ASKED, 20, 0, 0},
		{"nvidia:cuda", CUDA, 0, 0, 0},
		{"nvidia,nvidia:cuda", BOTH | CUDA, 10, 0, 0},
		{"nvidia:cuda,nvidia:7Hz", CUDA | NVIDIA_COUNTERS_ASKED, 7, 0, 0},
		{"nvidia,nvidia:-cuda", NVIDIA_COUNTERS_ASKED, 10, 0, 0},
		{"nvidia:graphs,nvidia:latency",
		 CUDA | NVIDIA_OPTION_GRAPHS | NVIDIA_OPTION_LATENCY, 0, 0, 0},
		{"nvidia,nvidia:graphs,nvidia:-graphs", BOTH | CUDA, 10, 0, 0},
		{"nvidia:pc=17", CUDA | NVIDIA_OPTION_PC, 0, 0, 17},
		{"nvidia,nvidia:pc-exact,nvidia:-pc", BOTH | CUDA, 10, 0, 0},
		{"nvidia:idle-subscribed",
		 NVIDIA_CUDA | NVIDIA_OPTION_IDLE | NVIDIA_OPTION_SUBSCRIBED, 0, 0, 0},
		{"nvidia:pm=20kHz", NVIDIA_PM, 0, 20000, 0},
		{"nvidia:pc=17,-nvidia,nvidia:cuda", CUDA, 0, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct session_options options;
		const struct nvidia_options *own = choose(cases[i].list, "nvidia", &options);

		REQUIRE(own);
		CHECK_EQUAL(own->choice.words, cases[i].words);
		CHECK_EQUAL(own->choice.hz, cases[i].hz);
		CHECK_EQUAL(own->pm_hz, cases[i].pm_hz);
		CHECK_EQUAL(own->pc_exponent, cases[i].pc_exponent);
		CHECK(session_collects(&options, "nvidia"));
	}
}

TEST(options_of_others)
{
	static const struct {
		const char *list, *name, *option;
		bool has;
	} cases[] = {
		{"level_zero:host", "level_zero", "host", true},
		{"level_zero:host,level_zero", "level_zero", "host", false},
		{"ranges:roctx", "ranges", "roctx", true},
		{"ranges:roctx,ranges", "ranges", "roctx", false},
		{"cpu:nofaults,cpu:bpf", "cpu", "nofaults", true},
		{"cpu:nofaults,cpu:bpf", "cpu", "bpf", true},
		{"cpu:irq,cpu:nobpf", "cpu", "bpf", false},
		{"cpu:bpf,cpu", "cpu", "bpf", false},
		{"drm", "drm", "jobs", true},
		{"drm:engines", "drm", "jobs", false},
		{"drm,drm:-jobs", "drm", "jobs", false},
		{"intel:debug-stop=0", "intel", "debug-stop=PID", true},
		{"intel:-driver", "intel", "driver", false},
		{"intel", "intel", "driver", true},
		{"intel:500,intel", "intel", "CYCLES", false},
		{"opencl", "intel", "driver", false},
		{"opencl", "opencl", "no such", false},
	};

	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct session_options options;

		REQUIRE(choose(cases[i].list, cases[i].name, &options));
		CHECK_EQUAL(session_has_option(&options, cases[i].name, cases[i].option),
			    cases[i].has);
	}
}

TEST(what_is_refused_and_why)
{
	static const struct {
		const char *list, *text;
	} cases[] = {
		{"nvidia:101", "reads 1 to 100 times a second"},
		{"nvidia:pc=4", "it is pc=N"},
		{"nvidia:pm=1", "nvidia:pm=1: the rate is from 10"},
		{"nvidia:idle,nvidia:cuda", "record nothing of CUDA"},
		{"nvidia:smaps", "(system:smaps has)"},
		{"nvidia:none", "there are: nvidia:HZ nvidia:cuda nvidia:-cuda nvidia:graphs"},
		{"intel:0", "1 to 100000"},
		{"intel:oa=2000", "1 to 1000 times a second"},
		{"intel:ring=3", "a power of two"},
		{"intel:debug-stop=x", "it is debug-stop=PID"},
		{"intel:none", "intel:driver intel:ring=MIB intel:syscalls"},
		{"amd:lite,amd:full", "two modes of amd"},
		{"system:metric=disk.reed", "did you mean 'disk.read'?; there are: disk.read "},
		{"system:metric=none*", "there are: cpu.* switches forks"},
		{"system:metric=cpu.busy@1001", "the rate is 1 to 1000 readings a second"},
		{"system:metric=cpu.busy@0", "the rate is 1 to 1000"},
		{"system:metric=cpu.busy@x", "the rate is 1 to 1000"},
		{"system:metric=gpu.power", "collector 'system' has no metric 'gpu.power'"},
		{"system:disk=", "give a name or a glob, such as disk=*"},
		{"system:disks=sda", "system:disk=GLOB system:interface=GLOB"},
		{"nvidia:metric=cpu.busy", "collector 'nvidia' has no metric 'cpu.busy'"},
		{"nvidia:metric=gpu.pm.sm.*", "add nvidia:pm=HZ"},
		{"nvidia:pm,nvidia:metric=gpu.power", "add nvidia:metric=gpu.pm.*"},
		{"drm:metric=cpu.busy", "collector 'drm' has no metric 'cpu.busy'"},
	};

	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct session_options options;

		CHECK(!choose(cases[i].list, "opencl", &options));
		if (!strstr(error_text(), cases[i].text))
			CHECK_TEXT(error_text(), cases[i].text);
	}
	error_clear();
}

/* The next pattern may not fit any more, and then changes nothing. */
TEST(patterns_of_counters)
{
	struct name_patterns patterns = {0};
	const char *last = NULL;
	size_t count = 0;

	CHECK(name_patterns_match(&patterns, "any"));
	CHECK_EQUAL(name_patterns_read("metric=x", "disk", &patterns), -ENOENT);
	CHECK_EQUAL(name_patterns_read("disk=nvme*", "disk", &patterns), 0);
	CHECK_EQUAL(name_patterns_read("disk=sd[ab]", "disk", &patterns), 0);
	CHECK(name_patterns_match(&patterns, "sdb") && name_patterns_match(&patterns, "nvme0n1"));
	CHECK(!name_patterns_match(&patterns, "sdc") && !name_patterns_match(&patterns, "sdb1"));
	while (!name_patterns_read("disk=a-name-of-20-letters", "disk", &patterns))
		REQUIRE(++count < PATTERN_BYTES);
	CHECK(strstr(error_text(), "longer than"));
	while ((last = name_patterns_next(&patterns, last)))
		count--;
	CHECK_EQUAL(count, (size_t)-2);
	error_clear();
}

/* A refused option leaves what was there. */
TEST(a_refused_option_changes_nothing)
{
	struct session_options options;
	const struct nvidia_options *own = choose("nvidia:pc=17", "nvidia", &options);

	REQUIRE(own);
	for (size_t i = 0; i < collectors_count; i++) {
		struct collector_slot *slot = &options.collected[i];

		if (strcmp(collectors[i]->name, "nvidia") != 0)
			continue;
		CHECK_EQUAL(collector_option_apply(collectors[i], "pc=32", slot), -EINVAL);
		CHECK_EQUAL(collector_option_apply(collectors[i], "none", slot), -ENOENT);
	}
	CHECK_EQUAL(own->pc_exponent, 17);
	CHECK_EQUAL(own->choice.words, NVIDIA_CUDA | NVIDIA_CUDA_ASKED | NVIDIA_OPTION_PC);
	error_clear();
}

/* Guests of one runtime get their own bits, and nothing of another's. */
TEST(options_of_guests)
{
	uint32_t numbers[RING_NUMBERS] = {0};
	struct session_options options;
	const struct collector_choice *level_zero;

	level_zero =
		choose("nvidia:pc=17,nvidia:waits,amd:full,level_zero", "level_zero", &options);
	REQUIRE(level_zero);
	CHECK_EQUAL(level_zero->words & RING_OPTIONS_OF_GUEST, LEVEL_ZERO_OPTION_TIME);
	for (size_t i = 0; i < collectors_count; i++) {
		if (strcmp(collectors[i]->name, "nvidia") == 0)
			CHECK_EQUAL(collectors[i]->way->options(&options, numbers),
				    NVIDIA_OPTION_PC | NVIDIA_OPTION_WAITS);
		if (strcmp(collectors[i]->name, "amd") == 0)
			CHECK_EQUAL(collectors[i]->way->options(&options, numbers),
				    AMD_OPTION_FULL);
	}
	CHECK_EQUAL(numbers[NVIDIA_NUMBER_PC_EXPONENT], 17);
}

int main(void)
{
	RUN(words_and_rates_of_cuda);
	RUN(options_of_others);
	RUN(what_is_refused_and_why);
	RUN(patterns_of_counters);
	RUN(a_refused_option_changes_nothing);
	RUN(options_of_guests);
	return harness_end();
}
