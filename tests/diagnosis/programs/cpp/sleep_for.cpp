/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/cpp/sleep_for.cpp - std::this_thread::sleep_for, in a retry
 */
#include "diagnosis.h"

#include <chrono>
#include <thread>

static void retry_upload(uint64_t ns);

PLANT(.name = "sleep_for", .kinds = "sleep", .words = "retry_upload sleep slept",
      .act = retry_upload);

NOINLINE static void retry_upload(uint64_t ns)
{
	PLANT_BEGIN();
	std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
	PLANT_END();
}
