/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/cuda.h - how CUDA's guest gets into a program, and advice for refusals of CUPTI
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/session.h"

struct collector_guest;
struct entering_outcome;
struct environment;
struct recording;

/* A program may launch 100,000 kernels while the recorder waits for a processor on a loaded
 * machine. */
enum { CUDA_RING_BYTES = 16 << 20 };

/* As in struct guest_way. */
int cuda_arm(struct recording *recording, const struct session_options *session,
	     struct environment *environment, bool *ret_armed, const char **ret_why);
void cuda_describe(const struct session_options *session,
		   void (*on_line)(void *context, const char *text), void *context);
bool cuda_enter(const struct session_options *session, pid_t pid, bool is_alone,
		struct collector_guest *ret_guest, char *ret_why, size_t size);
uint32_t cuda_entered(const struct session_options *session, const struct entering_outcome *outcome,
		      char *ret_text, size_t size);
/* Whether the process runs CUDA without CUPTI, so the guest cannot enter it. */
bool cuda_is_without_cupti(pid_t pid);
bool cuda_explain_missing(const struct session_options *session, bool has_guest, bool has_device,
			  char *ret_text, size_t size);

/* The message for the result of a CUPTI function, with a remedy (explain_refusal). result:
 * cupti_result; unused with function "libcupti". */
void cuda_explain(const char *function, int32_t result, const char *holder, char *ret_text,
		  size_t size);

/* The remedy for a result of CUPTI, and its name; NULL: unknown. */
const char *cuda_result_advice(int32_t result, const char **ret_name);
