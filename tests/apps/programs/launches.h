/* SPDX-License-Identifier: MIT
 *
 * tests/apps/programs/launches.h - a known number of commands, for programs in several languages
 */
#pragma once

/* Opens OpenCL, launches count kernels and reads the result: count + 1 commands. Returns the sum of
 * the result, or a negative number where a call failed. Threads may call it beside each other. */
double launches_run(int count);
