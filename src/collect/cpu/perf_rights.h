/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/perf_rights.h - what rights are missing, and the commands that give them
 */
#ifndef COLLECT_CPU_PERF_RIGHTS_H
#define COLLECT_CPU_PERF_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>

/* The command for the whole machine, without its level. */
#define PERF_SYSCTL "sudo sysctl kernel.perf_event_paranoid="

/* kernel.perf_event_paranoid; -1: not known. */
int perf_paranoid(void);

/* The command for the whole machine: "sudo sysctl kernel.perf_event_paranoid=LEVEL". */
void perf_rights_sysctl(int level, char *ret_text, size_t size);

/* "run '…sysctl…', or give duet alone the right: '…setcap…'", for a sentence of which it is the end. */
void perf_rights_text(int level, char *ret_text, size_t size);

/* kernel.yama.ptrace_scope; -1: there is none. */
int ptrace_scope(void);

/* Whether that scope leaves us less than all programs of the user to look at. */
bool ptrace_is_limited(int scope);

/* Why looks at threads are refused with `error`, and what would mend it, for a sentence of which it is the end. is_ours:
 * of a program that was started by us. */
void ptrace_rights_text(int scope, bool is_ours, int error, char *ret_text, size_t size);

/* Sets the error chain by what perf_event_open said: why, and what would mend it. Returns `error`, which is < 0. */
int perf_refused(int error);

#endif
