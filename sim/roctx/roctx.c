/* SPDX-License-Identifier: MIT
 *
 * sim/roctx/roctx.c - stand-in for libroctx64; it behaves as without a tool
 *
 * Runs in:  test programs
 * Gets:     ranges
 * Gives:    levels of a thread's stack of ranges, ids that count up
 */
#include <stdatomic.h>
#include <stdint.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void roctxMarkA(const char *message);
EXPORTED int roctxRangePushA(const char *message);
EXPORTED int roctxRangePop(void);
EXPORTED uint64_t roctxRangeStartA(const char *message);
EXPORTED void roctxRangeStop(uint64_t id);
EXPORTED uint64_t roctxSimCalls(void);

static _Thread_local int level;
static _Atomic uint64_t last_id = 999, calls;

void roctxMarkA(const char *message)
{
	(void)message;
	atomic_fetch_add(&calls, 1);
}

int roctxRangePushA(const char *message)
{
	(void)message;
	atomic_fetch_add(&calls, 1);
	return level++;
}

int roctxRangePop(void)
{
	atomic_fetch_add(&calls, 1);
	return level ? --level : -1;
}

uint64_t roctxRangeStartA(const char *message)
{
	(void)message;
	atomic_fetch_add(&calls, 1);
	return atomic_fetch_add(&last_id, 1) + 1;
}

void roctxRangeStop(uint64_t id)
{
	(void)id;
	atomic_fetch_add(&calls, 1);
}

/* How often the library was called: all that the program did must come here. */
uint64_t roctxSimCalls(void)
{
	return atomic_load(&calls);
}
