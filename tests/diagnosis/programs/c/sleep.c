/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/c/sleep.c - a pause that was left in the loop
 */
#include "diagnosis.h"

static void throttle_requests(uint64_t ns);

PLANT(.name = "sleep", .kinds = "sleep", .words = "throttle_requests sleep slept",
      .act = throttle_requests);

NOINLINE static void throttle_requests(uint64_t ns)
{
	PLANT_BEGIN();
	sleep_ns(ns);
	PLANT_END();
}
