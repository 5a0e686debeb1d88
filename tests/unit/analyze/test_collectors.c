/* SPDX-License-Identifier: MIT
 *
 * What the notes of a collector say together: refused is it where none of its parts was recorded.
 */
#include "analyze/collectors.h"

#include "base/array.h"
#include "harness.h"

enum { OTHER = 1, NAME = 2, TEXT = 3 };

/* Of the last one of a few notes. */
#define STATE(...)                                                               \
	collectors_state((const struct event_collector[]){__VA_ARGS__},          \
			 ARRAY_COUNT(((struct event_collector[]){__VA_ARGS__})), \
			 ARRAY_COUNT(((struct event_collector[]){__VA_ARGS__})) - 1)
#define NOTE(which, text)                                                      \
	{                                                                      \
		.name_string = NAME, .state = (which), .reason_string = (text) \
	}

TEST(refused_is_all_of_it)
{
	CHECK(STATE(NOTE(COLLECTOR_REFUSED, TEXT)) == COLLECTOR_REFUSED);
	/* It began, and then its guest was refused everything. */
	CHECK(STATE(NOTE(COLLECTOR_AVAILABLE, 0), NOTE(COLLECTOR_REFUSED, TEXT)) ==
	      COLLECTOR_REFUSED);
	CHECK(STATE({.name_string = OTHER, .state = COLLECTOR_AVAILABLE, .reason_string = TEXT},
		    NOTE(COLLECTOR_REFUSED, TEXT)) == COLLECTOR_REFUSED);
}

TEST(one_part_is_refused_and_another_is_not)
{
	CHECK(STATE(NOTE(COLLECTOR_REFUSED, TEXT), NOTE(COLLECTOR_AVAILABLE, 0)) ==
	      COLLECTOR_PARTIAL);
	CHECK(STATE(NOTE(COLLECTOR_AVAILABLE, TEXT), NOTE(COLLECTOR_REFUSED, TEXT)) ==
	      COLLECTOR_PARTIAL);
	CHECK(STATE(NOTE(COLLECTOR_PARTIAL, TEXT), NOTE(COLLECTOR_REFUSED, TEXT)) ==
	      COLLECTOR_PARTIAL);
}

TEST(nothing_is_refused)
{
	CHECK(STATE(NOTE(COLLECTOR_AVAILABLE, 0)) == COLLECTOR_AVAILABLE);
	CHECK(STATE(NOTE(COLLECTOR_PARTIAL, TEXT), NOTE(COLLECTOR_AVAILABLE, 0)) ==
	      COLLECTOR_PARTIAL);
	CHECK(STATE({.name_string = OTHER, .state = COLLECTOR_REFUSED, .reason_string = TEXT},
		    NOTE(COLLECTOR_AVAILABLE, TEXT)) == COLLECTOR_AVAILABLE);
}

TEST(names)
{
	CHECK_TEXT(collectors_state_name(COLLECTOR_PARTIAL), "partial");
	CHECK_TEXT(collectors_state_name(3), "unknown");
}

int main(void)
{
	RUN(refused_is_all_of_it);
	RUN(one_part_is_refused_and_another_is_not);
	RUN(nothing_is_refused);
	RUN(names);
	return harness_end();
}
