/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/cupti.h - CUDA's driver and libcupti in the recorder itself, for counters of whole GPUs
 */
#ifndef COLLECT_NVIDIA_CUPTI_H
#define COLLECT_NVIDIA_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/cuda_abi.h"
#include "event/cupti_abi.h"

enum {
	CUPTI_WITH_PM_SAMPLING = 24, /* of CUDA 12.6 */
	CUPTI_WITH_APPEND_MODE = 26  /* … 12.8 */
};

struct cupti {
	void *driver_handle, *handle; /* neither is closed: their threads and memory stay */
	struct cuda_functions driver; /* what this release has not is NULL, as below */
	struct cupti_functions call;
	uint32_t version;
	int driver_version;  /* 13000 of 13.0 */
	const char *why;     /* cupti_call: the function that failed last … */
	cupti_result result; /* … and what it returned */
};

/* libcuda.so.1, initialised; -ENOENT: there is none, -ENODEV: it shows no GPU; with what to do in the error chain. */
int cupti_open_driver(struct cupti *cupti);

/* The metrics' half, which needs no driver: libcupti alone. -ENOENT where none is found, or none that has what
 * `needs` (a version) asks for. */
int cupti_open_library(struct cupti *cupti, uint32_t needs);

/* Remembers who failed. Returns whether nobody did. */
bool cupti_has_worked(struct cupti *cupti, const char *function, cupti_result result);

/* CUPTI_CALL(cupti, cuptiPmSamplingStart, &params): whether it worked. What this release lacks has not. */
#define CUPTI_CALL(cupti, name, ...)                                          \
	cupti_has_worked((cupti), #name,                                      \
			 (cupti)->call.name ? (cupti)->call.name(__VA_ARGS__) \
					    : (cupti_result)CUPTI_ERROR_API_NOT_IMPLEMENTED)

/* What failed last, as a sentence without its end, with what to do about it. */
void cupti_format_failure(const struct cupti *cupti, char *ret_text, size_t size);

/* 13 of 130001, 12 of 19 to 28. */
uint32_t cupti_major(uint32_t version);

#endif
