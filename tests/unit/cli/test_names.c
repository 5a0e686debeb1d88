/* SPDX-License-Identifier: MIT
 *
 * tests/unit/cli/test_names.c - every table of names has a text for every number
 *
 * Usage: test_names SOURCES - also searches the headers below SOURCES for functions that take a
 * number and return a text: one that is missing here fails the test.
 */
#include <stdio.h>
#include <string.h>

#include "agent/endpoints/options.h"
#include "agent/endpoints/profiles.h"
#include "agent/endpoints/prometheus.h"
#include "agent/endpoints/streams.h"
#include "agent/endpoints/totals.h"
#include "agent/filter.h"
#include "analyze/account/account.h"
#include "analyze/analysis.h"
#include "analyze/clocks.h"
#include "analyze/collectors.h"
#include "analyze/compare/gate/gate.h"
#include "analyze/iterations/iterations.h"
#include "analyze/text/findings.h"
#include "analyze/verdict/verdict.h"
#include "base/array.h"
#include "base/json_reader.h"
#include "analyze/cost.h"
#include "collect/limit/limit.h"
#include "collect/start/program.h"
#include "collect/recording.h"
#include "analyze/compare/comparison.h"
#include "analyze/join/commands.h"
#include "flame/colour.h"
#include "analyze/join/launch_outcomes.h"
#include "harness.h"
#include "import/overhead.h"
#include "isa/batch.h"
#include "isa/isa.h"
#include "ui/table.h"

#define TABLES(TABLE)                   \
	TABLE(account_cause_meaning)    \
	TABLE(account_cause_name)       \
	TABLE(account_cause_text)       \
	TABLE(agent_field_name)         \
	TABLE(analysis_command_name)    \
	TABLE(analysis_kind_name)       \
	TABLE(analysis_loss_name)       \
	TABLE(analysis_memory_name)     \
	TABLE(analysis_migration_name)  \
	TABLE(analysis_mode_name)       \
	TABLE(analysis_range_type)      \
	TABLE(analysis_series_type)     \
	TABLE(analysis_switch_name)     \
	TABLE(analysis_zone_name)       \
	TABLE(batch_command_name)       \
	TABLE(batch_generation_devices) \
	TABLE(batch_generation_name)    \
	TABLE(batch_kind_name)          \
	TABLE(clocks_method_name)       \
	TABLE(collectors_state_name)    \
	TABLE(commands_state_name)      \
	TABLE(compare_proof_name)       \
	TABLE(compare_source_name)      \
	TABLE(compare_table_name)       \
	TABLE(finding_id)               \
	TABLE(flame_class_word)         \
	TABLE(gate_outcome_name)        \
	TABLE(gate_part_name)           \
	TABLE(cost_level_name)          \
	TABLE(cost_level_text)          \
	TABLE(gate_quantity_name)       \
	TABLE(guest_function_name)      \
	TABLE(import_overhead_name)     \
	TABLE(iterations_method_name)   \
	TABLE(json_token_name)          \
	TABLE(limit_level_name)         \
	TABLE(match_reason_name)        \
	TABLE(match_reason_text)        \
	TABLE(pprof_receiver_name)      \
	TABLE(profile_content_type)     \
	TABLE(prometheus_content_type)  \
	TABLE(stream_kind_name)         \
	TABLE(totals_state_name)        \
	TABLE(ui_view_empty)            \
	TABLE(ui_view_name)             \
	TABLE(verdict_kind_name)

/* NULL is an answer of these: there is no such processor, and no reason to give. They must not read
 * beyond their table. */
#define SEARCHES(SEARCH)             \
	SEARCH(isa_amdgpu_processor) \
	SEARCH(program_kind_text)    \
	SEARCH(verdict_text)

static const uint32_t beyond[] = {1u << 8,   1u << 12,       1u << 16,       1u << 30,
				  INT32_MAX, INT32_MAX + 1u, UINT32_MAX - 1, UINT32_MAX};

#define CHECK_TABLE(name)                                    \
	for (uint32_t i = 0; i < 2000; i++)                  \
		CHECK((name)(i) && strlen((name)(i)) < 100); \
	for (size_t i = 0; i < ARRAY_COUNT(beyond); i++)     \
		CHECK((name)(beyond[i]) && strlen((name)(beyond[i])) < 100);

TEST(no_table_returns_null){TABLES(CHECK_TABLE)}

#define CHECK_SEARCH(name)                               \
	for (size_t i = 0; i < ARRAY_COUNT(beyond); i++) \
		CHECK(!(name)(beyond[i]) || strlen((name)(beyond[i])) < 100);

TEST(searches_stay_in_their_table)
{
	SEARCHES(CHECK_SEARCH)
}

#define IS_NAMED(known) || !strcmp(name, #known)

static bool is_known(const char *name)
{
	return false TABLES(IS_NAMED) SEARCHES(IS_NAMED);
}

static const char *sources;

TEST(every_table_is_tested)
{
	char command[1024], line[256];
	FILE *found;
	int count = 0;

	if (!sources)
		SKIP("the sources were not named");
	snprintf(command, sizeof(command),
		 "grep -rhE --include='*.h' '^const char \\*[a-z_0-9]+\\((const )?(enum "
		 "[a-z_]+|u?int[0-9]+_t|int|"
		 "unsigned int|size_t)( [a-z_]+)?\\);' '%s' | sed 's/^const char .//; s/(.*//'",
		 sources);
	found = popen(command, "r");
	CHECK(found != NULL);
	while (found && fgets(line, sizeof(line), found)) {
		line[strcspn(line, "\n")] = '\0';
		if (!is_known(line))
			printf("# %s is not in the table of this test\n", line);
		CHECK(is_known(line));
		count++;
	}
	if (found)
		pclose(found);
	CHECK(count >= 25);
}

int main(int argc, char **argv)
{
	sources = argc > 1 ? argv[1] : NULL;
	RUN(no_table_returns_null);
	RUN(searches_stay_in_their_table);
	RUN(every_table_is_tested);
	return harness_end();
}
