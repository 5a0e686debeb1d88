/* SPDX-License-Identifier: MIT
 *
 * symbol/python_evaluation.h - where an interpreter's evaluation function lies
 */
#ifndef SYMBOL_PYTHON_EVALUATION_H
#define SYMBOL_PYTHON_EVALUATION_H

#include <stdint.h>

/* In the process; end 0: none. Compilers move what they think is rarely run out of a function. */
struct python_evaluation {
	uint64_t hot_begin, hot_end, cold_begin, cold_end;
};

/* Looks for the cold part of the hot one. fd: the file that has the function; load_address: see python_remote_file. */
void python_evaluation_find_cold(struct python_evaluation *evaluation, int fd,
				 uint64_t load_address);

#endif
