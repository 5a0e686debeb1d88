/* SPDX-License-Identifier: MIT
 *
 * tests/device/capture/capture_cupti.h - a libcupti that is found and opened, and what its calls
 * said
 */
#pragma once

#include "capture.h"
#include "sim/nvidia/cupti_abi.h"

enum {
	CAPTURE_ABSENT = -1,    /* as a result: the library has no such function */
	CAPTURE_FAILURES = 256, /* so many failed calls are written down, the others counted */
};
#define CAPTURE_BIAS_NS UINT64_C(1000000000000000)

struct capture_cupti {
	void *handle;
	uint32_t version;
	uint32_t major; /* 13 of 130000 and 12 of 19 … 28 */
	char path[1280];
	struct cupti_all_functions call;
};

enum capture_stamp { CAPTURE_STAMP_DEFAULT, CAPTURE_STAMP_MONOTONIC, CAPTURE_STAMP_BIASED };

/* The one that is mapped already; the one that CAPTURE_CUPTI names; one beside the CUDA libraries
 * that are mapped; the loader's; the toolkit's. -ENOENT: there is none. */
int capture_cupti_open(struct capture_cupti *ret_cupti);

/* Writes a fact where the call failed. Returns whether it did not. */
bool capture_cupti_said(const struct capture_cupti *cupti, struct capture_file *file,
			const char *call, cupti_result result);

/* Calls a function of CUPTI by its name; true: it returned 0. */
#define CUPTI_CALL(cupti, file, name, ...)                                      \
	capture_cupti_said(cupti, file, #name,                                  \
			   (cupti)->call.name ? (cupti)->call.name(__VA_ARGS__) \
					      : (cupti_result)CAPTURE_ABSENT)

const char *capture_cupti_text(const struct capture_cupti *cupti, cupti_result result);

bool capture_stamp_parse(const char *text, enum capture_stamp *ret_stamp);
/* To be called before anything is enabled. */
bool capture_stamp_register(const struct capture_cupti *cupti, struct capture_file *file,
			    enum capture_stamp stamp);

void capture_clocks_read(const struct capture_cupti *cupti, struct capture_clocks *ret_clocks);
/* Reads them `count` times, one after the other, and writes the rows. */
void capture_clocks_write(const struct capture_cupti *cupti, struct capture_file *file,
			  uint32_t count);
