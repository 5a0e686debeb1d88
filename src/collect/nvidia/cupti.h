/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/cupti.h - CUDA's driver and libcupti in the recorder itself, for counters of whole
 * GPUs
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "abi/cupti.h"

enum {
	CUPTI_WITH_PM_SAMPLING = 24, /* CUDA 12.6 */
	CUPTI_WITH_APPEND_MODE = 26  /* CUDA 12.8 */
};

struct cupti {
	void *driver_handle, *handle; /* never closed, because their threads and memory stay */
	struct cuda_functions driver; /* functions that this release lacks are NULL */
	struct cupti_functions call;
	uint32_t version;
	int driver_version;  /* for example 13000 for 13.0 */
	const char *why;     /* cupti_call: the function that failed last */
	cupti_result result; /* its result */
};

/* Opens and initializes libcuda.so.1. Errors, with the remedy in the error chain: -ENOENT: not
 * found, -ENODEV: it shows no GPU. */
int cupti_open_driver(struct cupti *cupti);

/* Opens libcupti alone, for the metrics, which need no driver. needs: the oldest version. -ENOENT:
 * not found, or all are older. */
int cupti_open_library(struct cupti *cupti, uint32_t needs);

/* Remembers the function and its result if it failed. Returns true on success. */
bool cupti_has_worked(struct cupti *cupti, const char *function, cupti_result result);

/* CUPTI_CALL(cupti, cuptiPmSamplingStart, &params): true on success. False also if this release
 * lacks the function. */
#define CUPTI_CALL(cupti, name, ...)                                          \
	cupti_has_worked((cupti), #name,                                      \
			 (cupti)->call.name ? (cupti)->call.name(__VA_ARGS__) \
					    : (cupti_result)CUPTI_ERROR_API_NOT_IMPLEMENTED)

/* The last failure as a message without a final period, with a remedy. */
void cupti_format_failure(const struct cupti *cupti, char *ret_text, size_t size);

/* 13 of 130001, 12 of 19 to 28. */
uint32_t cupti_major(uint32_t version);
