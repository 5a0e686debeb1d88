/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/cuda.h - how CUDA's guest comes into a program, and what to do where it is refused something
 */
#ifndef COLLECT_NVIDIA_CUDA_H
#define COLLECT_NVIDIA_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/session.h"

struct collector_guest;
struct entering_outcome;
struct environment;
struct recording;

/* A program may launch 100,000 kernels in the time in which a loaded machine gives the recorder no processor. */
enum { CUDA_RING_BYTES = 16 << 20 };

/* Whether the driver can be told to load the guest. False: *ret_why says why. */
bool cuda_can_load(const struct session_options *session, const char **ret_why);

/* As in struct collector. */
int cuda_arm(struct recording *recording, const struct session_options *session,
	     struct environment *environment, bool *ret_armed);
bool cuda_enter(const struct session_options *session, pid_t pid, bool is_alone,
		struct collector_guest *ret_guest, char *ret_why, size_t size);
uint32_t cuda_entered(const struct session_options *session, const struct entering_outcome *outcome,
		      char *ret_text, size_t size);
/* It runs CUDA, and nothing can be brought into it. */
bool cuda_is_without_cupti(pid_t pid);
bool cuda_tell_missing(const struct session_options *session, bool has_guest, bool has_device,
		       char *ret_text, size_t size);

/* What CUPTI's function answered, as a sentence with what to do about it (explain_refusal). result: cupti_result; with
 * function "libcupti" there is none. */
void cuda_explain(const char *function, int32_t result, const char *holder, char *ret_text,
		  size_t size);

/* What to do about a result of CUPTI's, and its name; NULL: not known here. */
const char *cuda_result_advice(int32_t result, const char **ret_name);

#endif
