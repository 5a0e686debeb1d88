/* SPDX-License-Identifier: MIT
 *
 * collect/proc.h - what /proc says of a process, and of its threads behind a pid namespace
 */
#ifndef COLLECT_PROC_H
#define COLLECT_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/ranks.h"

enum { PROC_COMMAND_BYTES = 4096 };

struct proc_info {
	uint32_t pid, parent_pid, uid;
	uint32_t ns_pid; /* as it counts itself; 0: not known */
	uint64_t start_ticks;
	char name[64];
	char exe[4096];
	char command[PROC_COMMAND_BYTES]; /* arguments as a shell would need them */
	char cgroup[4096];
	struct rank rank;
};

/* False for a process that has ended, also where its parent has not waited for it. pid_fd -1: the number is
 * asked, which may be another's by now. */
bool proc_is_alive(int pid_fd, uint32_t pid);

/* When the process began, in ticks of the kernel: of two with one number it tells which it is. 0: there is none. */
uint64_t proc_start_ticks(uint32_t pid);

/* Whether we may see what a process is (/proc/PID/exe), the right that samples of it need too. Errors: -EACCES, -EPERM:
 * we may not; else -errno: it is gone, or a thread of the kernel. */
int proc_try(uint32_t pid);

/* Fills in what can be read; a process that is gone leaves empty texts. Errors: -ESRCH where there is
 * no such process. */
int proc_read(uint32_t pid, struct proc_info *ret_info);

/* NULL-terminated arguments as a shell would need them, cut at `most` bytes. */
void proc_quote(char *const *arguments, char *command, size_t most);

/* The thread of process `pid` that counts itself as ns_tid; ns_tid itself where pids are not translated
 * (ns_pid == pid), the thread is gone, or it is not among the first *inout_files that are looked at. */
uint32_t proc_thread(uint32_t pid, uint32_t ns_pid, uint32_t ns_tid, uint32_t *inout_files);

/* Name of a thread, "" where it is gone. */
void proc_thread_name(uint32_t pid, uint32_t tid, char name[64]);

/* Seccomp mode of a process: 0 none, 1 strict, 2 filter; -1 not known. ret_filters: how many filters it has;
 * -1 before Linux 5.9. */
int proc_seccomp(uint32_t pid, int *ret_filters);

/* Whether one of the first PROC_MAPPINGS mappings of a process is of this file, by its inode, and shared. */
enum { PROC_MAPPINGS = 8192 };
bool proc_has_mapping(uint32_t pid, uint64_t inode);

/* Whether our own numbers of processes are those of the whole machine, as the kernel and its drivers count: not so in a pid
 * namespace of its own, as containers have. */
bool proc_counts_as_machine(void);

/* Whether "NAME=VALUE" stands in the environment with which a process began; NULL, "": never. */
bool proc_has_variable(uint32_t pid, const char *variable);

/* Whether the word stands among them: the path of a library that is loaded does. */
bool proc_maps_word(uint32_t pid, const char *word);

#endif
