/* SPDX-License-Identifier: MIT
 *
 * collect/rights.h - what the recorder may do beyond its user (capabilities), and how it gives that up
 *
 * Rights are a thread's, and it can only lose them: each of ours gives up its own.
 */
#ifndef COLLECT_RIGHTS_H
#define COLLECT_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>

/* What a thread of ours keeps of them. */
enum rights_kept {
	RIGHTS_RECORDING, /* rights_keep_recording */
	RIGHTS_OBSERVING, /* rights_keep_observing */
	RIGHTS_ALL
};

/* Whether programs may be loaded into the kernel that look at threads: cap_bpf with cap_perfmon, or cap_sys_admin. The
 * kernel has the last word: root of a container has the name of rights that it has not. */
bool rights_can_load(void);

/* Whether what all users do may be observed: cap_perfmon, or cap_sys_admin. */
bool rights_can_observe(void);

/* Keeps of the calling thread's rights those to load programs into the kernel, and no other. of_modules: programs that
 * are attached to places in modules, whose types the kernel shows to cap_sys_admin alone. */
void rights_keep_loading(bool of_modules);

/* … that to observe what all users do, and no other: cap_perfmon, or cap_sys_admin where that is what there is. For threads that
 * open a stream of a driver again. */
void rights_keep_observing(void);

/* … none of all. */
void rights_keep_none(void);

/* … those that a recording needs after all is opened, which are none to load, to attach or to open events by:
 * to read other users' programs and files, to write its file into anybody's folder, to pass on a signal, to read the
 * kernel's names. keeps_bpf: cap_bpf too, for kernels that ask for it at each look at a map. What is given up cannot come
 * back by an exec either. */
void rights_keep_recording(bool keeps_bpf);

/* What more than samples of the kernel, with its functions' names, a user wants duet to be allowed. */
enum rights_further {
	RIGHTS_BPF = 1 << 0,  /* to load programs into the kernel */
	RIGHTS_LOOKS = 1 << 1 /* to look at threads as a debugger does */
};

/* "give duet alone the right: 'sudo setcap cap_perfmon,cap_syslog… +ep FILE'", with what that file gives already, as the
 * command replaces it. further: of enum rights_further, 0: none. */
void rights_setcap_text(unsigned int further, char *ret_text, size_t size);

#endif
