/* SPDX-License-Identifier: MIT
 *
 * cli/record/output_name.h - names of the files that `duet record` writes
 */
#pragma once

#include <stdint.h>

/* The name of a recording from its pattern: expands %p, %h, %q{VAR} and %%. host: for %h; NULL:
 * this machine's name. turn: number of a repeated recording, which is inserted from 2 on:
 * run.2.duet; OPTION_UNSET: none. Freed by the caller; NULL with the error chain. */
char *record_output_name(const char *pattern, const char *host, uint64_t turn);

/* The same for the file of a trigger's firing; %n is its number, from 1. pattern NULL:
 * run.trigger-1.duet for the output run.duet. */
char *trigger_name_expand(const char *pattern, const char *output, unsigned int number);
