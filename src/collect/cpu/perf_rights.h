/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/perf_rights.h - why perf events or ptrace access are refused, and the commands that
 * allow them
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The command that allows perf events to all users of the machine, without its level. */
#define PERF_SYSCTL "sudo sysctl kernel.perf_event_paranoid="

/* kernel.perf_event_paranoid; -1: not known. */
int perf_paranoid(void);

/* The same with its level: "sudo sysctl kernel.perf_event_paranoid=LEVEL". */
void perf_rights_sysctl(int level, char *ret_text, size_t size);

/* End of a sentence: "run '…sysctl…', or give duet alone the right: '…setcap…'". */
void perf_rights_text(int level, char *ret_text, size_t size);

/* kernel.yama.ptrace_scope; -1: the kernel lacks Yama. */
int ptrace_scope(void);

/* Whether this scope prevents the recorder from inspecting some programs of its user. */
bool ptrace_is_limited(int scope);

/* End of a sentence: why inspection was refused with `error`, and how to allow it. is_ours: the
 *                    program was started by this duet. */
void ptrace_rights_text(int scope, bool is_ours, int error, char *ret_text, size_t size);

/* Sets the error chain for an error of perf_event_open(2): reason and remedy. Returns `error`,
 * which is < 0. */
int perf_refused(int error);
