/* SPDX-License-Identifier: MIT
 *
 * symbol/remote/python_evaluation.h - find an interpreter's evaluation function
 */
#pragma once

#include <stdint.h>

/* Addresses in the process; end 0: none. Compilers move code that they expect to run rarely out of
 * a function. */
struct python_evaluation {
	uint64_t hot_begin, hot_end, cold_begin, cold_end;
};

/* Searches the cold part that belongs to the hot one. fd: the file that contains the function;
 * load_address: see python_remote_file. */
void python_evaluation_find_cold(struct python_evaluation *evaluation, int fd,
				 uint64_t load_address);
