/* SPDX-License-Identifier: MIT
 *
 * collect/start/rights.h - the recorder's capabilities, and how it drops them
 *
 * Linux capabilities belong to a thread, and a thread can only drop its own. Each thread of the
 * recorder therefore drops its rights itself.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The capabilities that a thread of the recorder keeps. */
enum rights_kept {
	RIGHTS_RECORDING, /* rights_keep_recording */
	RIGHTS_OBSERVING, /* rights_keep_observing */
	RIGHTS_ALL
};

/* Whether the thread has the capabilities to load BPF programs: cap_bpf and cap_perfmon, or
 * cap_sys_admin. The kernel may still refuse: a container's root has these capabilities only inside
 * its user namespace. */
bool rights_can_load(void);

/* Why the kernel forbids root to inspect a process: the reason and the remedy. NULL: this is not
 * root. */
const char *rights_why_root_is_refused(void);

/* Whether all users' programs may be observed: cap_perfmon, or cap_sys_admin. */
bool rights_can_observe(void);

/* Drops all capabilities of the calling thread except those to load BPF programs. of_modules: keeps
 * cap_sys_admin, which programs attached to functions of modules need for the modules' type data
 * (BTF). */
void rights_keep_loading(bool of_modules);

/* The same, except the one to observe all users: cap_perfmon, or cap_sys_admin if cap_perfmon is
 * missing. For threads that reopen a driver's stream. */
void rights_keep_observing(void);

/* Drops all capabilities. */
void rights_keep_none(void);

/* Keeps only the capabilities that a recording needs after everything is opened: to read other
 * users' programs and files, to write the trace into any folder, to pass on a signal, to read the
 * kernel's symbols. Drops those to load BPF programs, to attach and to open events. keeps_bpf:
 * keeps cap_bpf for kernels that need it for each access to a BPF map. An exec cannot restore
 * dropped capabilities. */
void rights_keep_recording(bool keeps_bpf);

/* Keeps the capabilities with which an agent reads all users' programs. keeps_events: also those to
 * open events and to read BPF maps. */
void rights_keep_agent(bool keeps_events);

/* Keeps only the capability to read all users' files. An exec cannot restore dropped
 * capabilities. */
void rights_keep_reading(void);

/* Makes the calling thread run as its saved user and group, if the process has prepared that
 * (SECBIT_NO_SETUID_FIXUP), and drops the capabilities to change other users' files. The other
 * capabilities stay. Errors: -errno. */
int rights_enter_saved_user(void);

/* Rights that the user wants for duet in addition to kernel samples with function names. */
enum rights_further {
	RIGHTS_BPF = 1 << 0,  /* to load programs into the kernel */
	RIGHTS_LOOKS = 1 << 1 /* to inspect threads as a debugger does */
};

/* "give duet alone the right: 'sudo setcap cap_perfmon,cap_syslog… +ep FILE'". The command also
 * names the capabilities that the file already has, because setcap replaces them. further: bits of
 * enum rights_further. */
void rights_setcap_text(unsigned int further, char *ret_text, size_t size);
