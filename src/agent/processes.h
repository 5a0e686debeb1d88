/* SPDX-License-Identifier: MIT
 *
 * agent/processes.h - which processes the recorder records, and what it adds to their rows
 */
#pragma once

#include "agent/labels.h"
#include "agent/policy.h"
#include "agent/settings.h"
#include "agent/status.h"

struct event_process;
struct trace_writer;

enum { AGENT_USERS = 64 };

/* Names of users, so that each is looked up once. */
struct agent_user_name {
	uint32_t uid;
	char name[33]; /* "": the slot is free */
};

struct agent_processes {
	const struct agent_settings *settings; /* borrowed */
	struct agent_status *status;           /* borrowed */
	struct agent_seen *seen;               /* borrowed */
	struct label_cache *labels;            /* owned */
	struct policy policy;                  /* owned */
	uint64_t next_forget_ns;               /* when the full policy forgets again */
	struct agent_user_name users[AGENT_USERS];
};

/* Errors: -ENOMEM. */
int agent_processes_init(struct agent_processes *processes, const struct agent_settings *settings,
			 struct agent_status *status, struct agent_seen *seen);
void agent_processes_fini(struct agent_processes *processes);

/* Callbacks of a session (collect/session.h); context: the struct above. */
bool agent_processes_want(void *context, pid_t pid, uid_t uid, bool is_recorded);
void agent_processes_describe(void *context, struct trace_writer *writer, struct event_process *row,
			      bool is_new);

/* Call it now and then. */
void agent_processes_forget(struct agent_processes *processes);
