/* SPDX-License-Identifier: MIT
 *
 * tests/unit/agent/test_filter.c - rules that include and exclude processes
 */
#include "agent/filter.h"

#include "harness.h"

static const struct agent_subject train = {{"python3", "/kubepods/pod1", "ml"}};
static const struct agent_subject shell = {{"bash", "/user.slice", "root"}};

TEST(no_rule_accepts_everything)
{
	struct agent_filter filter = {0};

	CHECK(agent_filter_accepts(&filter, &train));
	CHECK(!agent_filter_needs(&filter, AGENT_COMMAND));
}

TEST(include_refuses_others)
{
	struct agent_filter filter = {0};

	agent_filter_add_rule(&filter, false);
	agent_filter_add_pattern(&filter, AGENT_COMMAND, "py*");
	CHECK(agent_filter_accepts(&filter, &train));
	CHECK(!agent_filter_accepts(&filter, &shell));
	CHECK(agent_filter_needs(&filter, AGENT_COMMAND));
	CHECK(!agent_filter_needs(&filter, AGENT_USER));
	agent_filter_fini(&filter);
}

TEST(fields_of_a_rule_must_all_match)
{
	struct agent_filter filter = {0};

	agent_filter_add_rule(&filter, false);
	agent_filter_add_pattern(&filter, AGENT_COMMAND, "py*");
	agent_filter_add_pattern(&filter, AGENT_USER, "root");
	CHECK(!agent_filter_accepts(&filter, &train));
	agent_filter_add_pattern(&filter, AGENT_USER, "m?");
	CHECK(agent_filter_accepts(&filter, &train));
	agent_filter_fini(&filter);
}

TEST(rules_are_alternatives)
{
	struct agent_filter filter = {0};

	agent_filter_add_rule(&filter, false);
	agent_filter_add_pattern(&filter, AGENT_USER, "nobody");
	agent_filter_add_rule(&filter, false);
	agent_filter_add_pattern(&filter, AGENT_COMMAND, "bash");
	CHECK(agent_filter_accepts(&filter, &shell));
	CHECK(!agent_filter_accepts(&filter, &train));
	agent_filter_fini(&filter);
}

TEST(exclude_wins)
{
	struct agent_filter filter = {0};

	agent_filter_add_rule(&filter, false);
	agent_filter_add_pattern(&filter, AGENT_COMMAND, "*");
	agent_filter_add_rule(&filter, true);
	agent_filter_add_pattern(&filter, AGENT_CGROUP, "/kubepods*");
	CHECK(!agent_filter_accepts(&filter, &train));
	CHECK(agent_filter_accepts(&filter, &shell));
	agent_filter_fini(&filter);
}

TEST(exclude_alone_accepts_others)
{
	struct agent_filter filter = {0};

	agent_filter_add_rule(&filter, true);
	agent_filter_add_pattern(&filter, AGENT_COMMAND, "bash");
	CHECK(agent_filter_accepts(&filter, &train));
	CHECK(!agent_filter_accepts(&filter, &shell));
	agent_filter_fini(&filter);
}

TEST(empty_rule_matches_nothing)
{
	struct agent_filter filter = {0};

	agent_filter_add_rule(&filter, true);
	CHECK(agent_filter_accepts(&filter, &train));
	agent_filter_fini(&filter);
	agent_filter_add_rule(&filter, false);
	CHECK(!agent_filter_accepts(&filter, &train));
	agent_filter_fini(&filter);
}

int main(void)
{
	RUN(no_rule_accepts_everything);
	RUN(include_refuses_others);
	RUN(fields_of_a_rule_must_all_match);
	RUN(rules_are_alternatives);
	RUN(exclude_wins);
	RUN(exclude_alone_accepts_others);
	RUN(empty_rule_matches_nothing);
	return harness_end();
}
