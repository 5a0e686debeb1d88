/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz/trace_mutator.h - changes traces so that what is behind their checksums is reached;
 * links LLVMFuzzerCustomMutator
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of LLVMFuzzerInitialize. of_rows: most changes are of fields of rows, in chunks that stay sound.
 * "--seed FOLDER" writes seeds and ends the process. */
void trace_mutator_start(int argc, char **argv, bool of_rows);
