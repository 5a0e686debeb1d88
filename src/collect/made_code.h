/* SPDX-License-Identifier: MIT
 *
 * collect/made_code.h - frames in code that a process makes while it runs, and their names
 */
#ifndef COLLECT_MADE_CODE_H
#define COLLECT_MADE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/images.h"
#include "collect/recording.h"

/* A frame that has no name yet. */
struct made_frame {
	uint64_t address; /* in the code: before a return address */
	uint64_t seen_ns;
	uint32_t id; /* the trace's */
};

/* Of one process. All zero: none. */
struct made_code {
	struct made_frame *frames; /* owned */
	size_t count, capacity;
	size_t looked_for;              /* of them, already in vain */
	uint64_t next_ns;               /* not looked for again before */
	bool has_files;                 /* the descriptors are set */
	int map_fd, dump_fd;            /* owned; -1: not there, or not yet */
	uint64_t map_bytes, dump_bytes; /* when they were last read */
	uint64_t lost;                  /* frames that there was no memory for */
};

/* Whose, and where its files may be. */
struct made_code_owner {
	struct recording *recording;
	struct images *images;
	struct images_process process;
	uint32_t ns_pid, uid;
	uint32_t process_id;  /* the trace's */
	uint64_t start_ticks; /* a file that is older is another process's; 0: not known */
	bool is_last;         /* nothing comes behind it */
	bool is_limited;      /* its user may take only so much of our time */
};

/* Frees what it has; frames without a name stay without one. */
void made_code_fini(struct made_code *code);

/* The trace's frame of a program counter; 0: no memory. */
uint32_t made_code_frame(struct made_code *code, struct recording *recording, uint32_t process_id,
			 uint64_t pc, uint32_t flags);

/* Whether it is time to look for names again. */
static inline bool made_code_is_due(const struct made_code *code, uint64_t now_ns)
{
	return code->count && now_ns >= code->next_ns;
}

/* Looks for names in the files of the process, as far as they have changed or something is new. */
void made_code_name(struct made_code *code, const struct made_code_owner *owner);

/* Only opens the files, which a process may delete before its user's turn comes. */
void made_code_hold(struct made_code *code, const struct made_code_owner *owner);

/* The last time, and how many frames have no name. *ret_is_refused: no time of its user's was left to look. */
size_t made_code_finish(struct made_code *code, const struct made_code_owner *owner,
			bool *ret_is_refused);

#endif
