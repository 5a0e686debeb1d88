/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_who.c - what rows say of who waits, of whom and what for, from what the kernel told
 */
#include "harness.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"
#include "collect/cpu/cpu_private.h"

/* ---- what a look found, and what the kernel told ----------------------------------------------- */

enum { LOOKED_STACK = 11, LOOKED_WORDS, LOOKED_HOLDER, TOLD_STACK, TOLD_WORDS, TOLD_HOLDER };

static struct event_switch say(const struct thread_wait *wait, bool is_look_valid)
{
	struct event_switch row = {0};

	cpu_say_wait(wait, is_look_valid, &row);
	return row;
}

#define CHECK_WAIT(row, its_stack, words, its_holder)                                              \
	do {                                                                                       \
		const struct event_switch said = (row);                                            \
                                                                                                   \
		CHECK_EQUAL(said.stack, its_stack);                                                \
		CHECK_EQUAL(said.wait_string, words);                                              \
		CHECK_EQUAL(said.holder, its_holder);                                              \
	} while (0)

TEST(told_words_need_no_stack)
{
	struct thread_wait wait = {.told_string = TOLD_WORDS, .told_holder = TOLD_HOLDER};

	CHECK_WAIT(say(&wait, true), 0, TOLD_WORDS, TOLD_HOLDER);
	CHECK_WAIT(say(&wait, false), 0, TOLD_WORDS, TOLD_HOLDER);
	wait.told_stack = TOLD_STACK;
	CHECK_WAIT(say(&wait, false), TOLD_STACK, TOLD_WORDS, TOLD_HOLDER);
	/* the call's name is less than what the kernel says of it */
	wait = (struct thread_wait){.stack = LOOKED_STACK,
				    .wait_string = LOOKED_WORDS,
				    .told_string = TOLD_WORDS,
				    .told_holder = TOLD_HOLDER};
	CHECK_WAIT(say(&wait, true), LOOKED_STACK, TOLD_WORDS, TOLD_HOLDER);
}

TEST(an_interpreters_lock_stays)
{
	struct thread_wait wait = {.stack = LOOKED_STACK,
				   .wait_string = LOOKED_WORDS,
				   .is_interpreters = true,
				   .told_string = TOLD_WORDS,
				   .told_holder = TOLD_HOLDER};

	CHECK_WAIT(say(&wait, true), LOOKED_STACK, LOOKED_WORDS, 0);
	wait.holder = LOOKED_HOLDER;
	CHECK_WAIT(say(&wait, true), LOOKED_STACK, LOOKED_WORDS, LOOKED_HOLDER);
	/* of a later wait: what the kernel told is of this one */
	CHECK_WAIT(say(&wait, false), 0, TOLD_WORDS, TOLD_HOLDER);
	wait.told_string = 0;
	CHECK_WAIT(say(&wait, false), 0, 0, 0);
}

int main(void)
{
	RUN(told_words_need_no_stack);
	RUN(an_interpreters_lock_stays);
	return harness_end();
}
