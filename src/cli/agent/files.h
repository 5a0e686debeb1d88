/* SPDX-License-Identifier: MIT
 *
 * cli/agent/files.h - list the recordings of a spool
 */
#pragma once

#include <stdint.h>

/* Prints the end in local time, duration, size and path of each. since_ns: only those that ended in
 * this time before now; 0: all. Errors: -errno with the error chain. */
int agent_print_files(const char *spool, uint64_t since_ns);
