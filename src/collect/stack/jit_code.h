/* SPDX-License-Identifier: MIT
 *
 * collect/stack/jit_code.h - frames in JIT code, and their names from perf maps and jitdumps
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/recording.h"
#include "collect/stack/images.h"

/* A frame that has no name yet. */
struct made_frame {
	uint64_t address; /* the instruction's; a return address minus 1 */
	uint64_t seen_ns;
	uint32_t id; /* the trace's frame id */
};

/* The unnamed JIT frames of a process and its open files. All zero: none. */
struct jit_code {
	struct made_frame *frames; /* owned */
	size_t count, capacity;
	size_t looked_for;   /* number of frames that were searched for without success */
	uint64_t next_ns;    /* earliest time of the next search */
	bool has_files;      /* the descriptors are set */
	int map_fd, dump_fd; /* owned; perf map, jitdump; -1: not found yet */
	/* clock of the process's time namespace (used in the dump) minus the kernel's */
	int64_t shift_ns;
	uint64_t map_bytes, dump_bytes; /* sizes of the files when they were last read */
	/* number of frames that were not kept, because memory ran out */
	uint64_t lost;
};

/* The process of the frames. */
struct jit_code_owner {
	struct recording *recording;
	struct images *images;
	struct images_process process;
	uint32_t ns_pid, uid;
	uint32_t process_id;  /* in the trace */
	uint64_t start_ticks; /* older files belong to an earlier process; 0: not known */
	bool is_last;         /* the process has ended: last search */
	bool is_limited;      /* another user's process: lower reading limits */
};

/* Frees everything; the remaining frames stay without a name. */
void jit_code_fini(struct jit_code *code);

/* Finds or creates the trace's frame of a program counter; 0: out of memory. */
uint32_t jit_code_frame(struct jit_code *code, struct recording *recording, uint32_t process_id,
			uint64_t pc, uint32_t flags);

/* Whether unnamed frames exist and the next search is due. */
static inline bool jit_code_is_due(const struct jit_code *code, uint64_t now_ns)
{
	return code->count && now_ns >= code->next_ns;
}

/* Searches the process's files for names, if the files have changed or frames are new. */
void jit_code_name(struct jit_code *code, const struct jit_code_owner *owner);

/* Only opens the files, because the process may delete them before the next search is due. */
void jit_code_hold(struct jit_code *code, const struct jit_code_owner *owner);

/* Searches once more; returns the number of frames without a name. *ret_is_refused: the time budget
 * of the process's user was spent, so no search was made. */
size_t jit_code_finish(struct jit_code *code, const struct jit_code_owner *owner,
		       bool *ret_is_refused);
