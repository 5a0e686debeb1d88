/* SPDX-License-Identifier: MIT
 *
 * cli/remote/machine.h - the other machine: whether duet runs there, and a copy of it
 */
#pragma once

#include <limits.h>

#include "cli/remote/ssh.h"

struct machine {
	char name[128];       /* its own host name */
	char cache[PATH_MAX]; /* duet's folder there; only characters that no shell interprets */
	char duet[PATH_MAX];  /* the program there */
};

/* Finds duet of this version there, or copies the running duet there if may_copy is set. Errors:
 * -errno with the error chain. */
int machine_open(const struct ssh *ssh, const char *version, bool may_copy,
		 struct machine *ret_machine);

struct machine_forgotten {
	unsigned count;      /* copies that were removed */
	unsigned used_count; /* copies that are in use, and stay */
	char used[64];       /* name of one of them */
};

/* Removes all copies of duet there that no process uses. Errors: -errno with the error chain. */
int machine_forget(const struct ssh *ssh, const struct machine *machine,
		   struct machine_forgotten *ret_forgotten);
