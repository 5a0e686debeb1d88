/* SPDX-License-Identifier: MIT
 *
 * inject/itt_abi.h - the part of ITT's binary interface that the guest touches
 *
 * Our own declarations, so that building duet needs no header of ITT. Source: Intel's ittnotify.h and
 * ittnotify_config.h (interface version 3).
 */
#ifndef INJECT_ITT_ABI_H
#define INJECT_ITT_ABI_H

#include <pthread.h>
#include <stdint.h>
#include <wchar.h>

struct itt_domain {
	volatile int flags; /* 0: nothing of it is wanted */
	const char *name;
	const wchar_t *name_wide;
	int extra1;
	void *extra2;
	struct itt_domain *next;
};

struct itt_string {
	const char *text;
	const wchar_t *text_wide;
	int extra1;
	void *extra2;
	struct itt_string *next;
};

struct itt_id {
	unsigned long long d1, d2, d3;
};

/* A function of the part that is linked into the program: what it calls for it. */
struct itt_function {
	const char *name;
	void **pointer;
	void *initial; /* looks for a tool first */
	void *none;    /* without a tool */
	uint32_t group;
};

#define ITT_MAGIC "\xed\xab\xab\xec\x0d\xee\xda\x30"

enum { ITT_MAJOR = 3 };

/* Of the part that is linked into the program. */
struct itt_global {
	unsigned char magic[8];
	unsigned long version_major, version_minor, version_build;
	volatile long is_initialized, has_mutex, counter;
	pthread_mutex_t mutex;
	void *collector;
	void *error_handler;
	const char **library_path;
	struct itt_function *functions; /* a NULL name ends */
};

#endif
