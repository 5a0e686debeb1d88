/* SPDX-License-Identifier: MIT
 *
 * collect/proc.h - facts about processes from /proc, and translation of thread ids from pid
 * namespaces
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/start/ranks.h"

enum { PROC_COMMAND_BYTES = 4096 };

struct proc_info {
	uint32_t pid, parent_pid, uid;
	uint32_t ns_pid; /* pid in its own namespace; 0: not known */
	uint64_t start_ticks;
	char name[64];
	char exe[4096];
	char command[PROC_COMMAND_BYTES]; /* arguments, quoted for a shell */
	char cgroup[4096];                /* proc_keep_group of /proc/PID/cgroup */
	struct rank rank;
};

/* False if the process has ended, even as a zombie. pid_fd -1: checks the pid, which may have been
 * reused. */
bool proc_is_alive(int pid_fd, uint32_t pid);

/* Start time of a process in kernel ticks. It distinguishes two processes with one pid. 0: no such
 * process. */
uint64_t proc_start_ticks(uint32_t pid);

/* Whether we may read /proc/PID/exe; samples of the process need the same right. Errors: -EACCES,
 * -EPERM: no right; otherwise -errno: the process is gone, or is a kernel thread. */
int proc_try(uint32_t pid);

/* Reads what is readable; texts of a process that is gone are empty. Errors: -ESRCH: no such
 * process. */
int proc_read(uint32_t pid, struct proc_info *ret_info);

/* Keeps the line with the longest path of a text like /proc/PID/cgroup. With control groups of
 * version 1 each controller has a line, and a job or container is not in all of them. */
void proc_keep_group(char *text);

/* Quotes NULL-terminated arguments for a shell, cut at `most` bytes. */
void proc_quote(char *const *arguments, char *command, size_t most);

/* Returns the tid of a thread of process `pid` whose tid in its namespace is ns_tid. Returns ns_tid
 * itself if pids are not translated (ns_pid == pid), if the thread is gone, or if *inout_files
 * reaches 0 before it is found. Each file that is read decrements *inout_files. */
uint32_t proc_thread(uint32_t pid, uint32_t ns_pid, uint32_t ns_tid, uint32_t *inout_files);

/* Reads the name of a thread; "": it is gone. */
void proc_thread_name(uint32_t pid, uint32_t tid, char name[64]);

/* How long a thread was ready to run and had no processor, since its start. False: it is gone, or
 * the kernel does not count it. */
bool proc_waited_ns(uint32_t pid, uint32_t tid, uint64_t *ret_ns);

/* Seccomp mode of a process: 0 none, 1 strict, 2 filter; -1: not known. ret_filters: number of
 * filters; -1 before Linux 5.9. */
int proc_seccomp(uint32_t pid, int *ret_filters);

/* Whether one of the process's first PROC_MAPPINGS mappings is a shared one of the file with this
 * inode. */
enum { PROC_MAPPINGS = 8192 };
bool proc_has_mapping(uint32_t pid, uint64_t inode);

/* Whether our pids are those of the first pid namespace, which the kernel and its drivers use.
 * False in containers with a pid namespace of their own. */
bool proc_counts_as_machine(void);

/* Whether "NAME=VALUE" was in the process's environment at its start; NULL, "": false. */
bool proc_has_variable(uint32_t pid, const char *variable);

/* Whether the process's mappings contain the word, for example the path of a loaded library. */
bool proc_maps_word(uint32_t pid, const char *word);

/* Bytes of private anonymous memory of the recorder in RAM; 0: not known. Measured instead of added
 * up, because the memory grows in dozens of places, and in libraries. */
uint64_t own_memory_bytes(void);
