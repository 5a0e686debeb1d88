/* SPDX-License-Identifier: MIT
 *
 * collect/injected_code.h - what is executed in a process that a library is brought into (x86-64)
 */
#ifndef COLLECT_INJECTED_CODE_H
#define COLLECT_INJECTED_CODE_H

#include <stddef.h>
#include <stdint.h>

enum injected_stage {
	INJECTED_NOT_YET,
	INJECTED_RUNS,        /* the new thread is there */
	INJECTED_WANTS_FILE,  /* memory_fd is to be filled, then path and has_file to be set */
	INJECTED_HAS_NO_FILE, /* nobody did */
	INJECTED_FAILED,      /* why has the loader's own words */
	INJECTED_DONE         /* result has what the entry function returned */
};

/* Memory of the process that its new thread and the recorder share. All addresses are the process's own. */
struct injected_block {
	/* the C library's */
	uint64_t pthread_create, pthread_self, pthread_detach, dlopen, dlsym, dlerror, munmap;
	uint64_t frame;            /* where the thread that was borrowed finds what it did before */
	uint64_t code, code_bytes; /* to be unmapped at the end … */
	uint64_t data, data_bytes; /* … this block included */
	uint64_t thread;           /* a pthread_t */
	uint64_t function; /* the entry, where it is loaded already; 0: path is loaded first */
	uint32_t pid, tid,
		signal;      /* of the borrowed thread, as the process counts; what it stops by */
	int32_t created;     /* what pthread_create returned; -1: it was not called */
	uint32_t stage;      /* enum injected_stage */
	int32_t memory_fd;   /* -1: none */
	uint32_t wants_file; /* 0: path is the library's */
	uint32_t has_file;
	uint32_t is_released; /* by the recorder: it has seen enough */
	uint32_t has_left;    /* the borrowed thread went its way alone, as the recorder had gone */
	int32_t result;
	uint32_t reserved;
	char path[1024], entry[64], argument[512], why[256];
};

/* Position independent; begins with what the borrowed thread executes, with the block's address in rbx. It stops itself
 * at `stop`. */
extern const uint8_t injected_code_begin[], injected_code_stop[], injected_code_end[];

static inline size_t injected_code_bytes(void)
{
	return (size_t)(injected_code_end - injected_code_begin);
}

#endif
