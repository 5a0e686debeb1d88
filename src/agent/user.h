/* SPDX-License-Identifier: MIT
 *
 * agent/user.h - become an ordinary user and keep the rights that a recording needs
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct agent_user {
	bool is_set;
	uid_t uid;
	gid_t gid;
	bool keeps_events; /* rights to open perf events and to read BPF maps */
};

/* Finds a user by name. Errors: -errno with the error chain. */
int agent_user_find(const char *name, struct agent_user *ret_user);

/* To be called before threads start. The user becomes the saved one, which each thread can enter
 * without a right and with its capabilities. Errors: -errno with the error chain. */
int agent_user_prepare(const struct agent_user *user);

/* Changes this thread to the user and reduces its capabilities. No program that it starts gets
 * more. Samplers change themselves (collect/counter/sampler.c). Errors: -errno with the error
 * chain. */
int agent_user_enter(const struct agent_user *user);
/* The same for a process that only reads files: it keeps no other capability. */
int agent_user_enter_reader(const struct agent_user *user);
