/* SPDX-License-Identifier: MIT
 *
 * inject/level_zero/next.c - the functions of Level Zero that the wrappers call
 *
 * Runs in:  the profiled process
 * Gets:     nothing
 * Gives:    the table; level_zero.c fills it
 * Owns:     the table
 * Fails:    never
 */
#include "inject/level_zero/level_zero.h"

struct level_zero_functions next;
zel_translate_handle *level_zero_translate;
