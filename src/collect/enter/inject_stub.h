/* SPDX-License-Identifier: MIT
 *
 * collect/enter/inject_stub.h - machine code that is copied into a process to load a library
 * (x86-64)
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum injected_stage {
	INJECTED_NOT_YET,
	INJECTED_RUNS,        /* the new thread has started */
	INJECTED_WANTS_FILE,  /* the recorder shall fill memory_fd, then set path and has_file */
	INJECTED_HAS_NO_FILE, /* the recorder did not do so in time */
	INJECTED_FAILED,      /* `why` has the loader's message */
	INJECTED_DONE         /* `result` has the value that the entry function returned */
};

/* Data in the process's memory that its new thread and the recorder both use. All addresses are the
 * process's. */
struct injected_block {
	/* functions of the C library */
	uint64_t pthread_create, pthread_self, pthread_detach, dlopen, dlsym, dlerror, munmap;
	uint64_t frame; /* signal frame with which the borrowed thread returns to its own code */
	uint64_t code, code_bytes; /* unmapped at the end … */
	uint64_t data, data_bytes; /* … including this block */
	uint64_t thread;           /* a pthread_t */
	/* the entry function if the library is already loaded; 0: load `path` first */
	uint64_t function;
	/* the borrowed thread in its pid namespace; the signal that stops it */
	uint32_t pid, tid, signal;
	int32_t created;     /* result of pthread_create; -1: not called */
	uint32_t stage;      /* enum injected_stage */
	int32_t memory_fd;   /* -1: none */
	uint32_t wants_file; /* 0: `path` is the library's path */
	uint32_t has_file;
	uint32_t is_released; /* set by the recorder after it has read the result */
	/* the borrowed thread returned without the recorder, which had ended */
	uint32_t has_left;
	int32_t result;
	uint32_t reserved;
	char path[1024], entry[64], argument[512], why[256];
};

/* Position-independent code. The borrowed thread executes it from the start, with the block's
 * address in rbx, and stops itself at injected_code_stop. */
extern const uint8_t injected_code_begin[], injected_code_stop[], injected_code_end[];

static inline size_t injected_code_bytes(void)
{
	return (size_t)(injected_code_end - injected_code_begin);
}
