/* SPDX-License-Identifier: MIT
 *
 * abi/itt.h - the part of ITT's binary interface that the guest uses
 *
 * Our own declarations, so that building duet needs no header of ITT. Source: Intel's ittnotify.h
 * and ittnotify_config.h (interface version 3).
 */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <wchar.h>

struct itt_domain {
	volatile int flags; /* 0: the domain is switched off */
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

/* A function of the part of ITT that is linked into the program, and the pointers that it calls. */
struct itt_function {
	const char *name;
	void **pointer;
	void *initial; /* target that looks for a tool first */
	void *none;    /* target without a tool */
	uint32_t group;
};

#define ITT_MAGIC "\xed\xab\xab\xec\x0d\xee\xda\x30"

enum { ITT_MAJOR = 3 };

/* Global data of the part that is linked into the program. */
struct itt_global {
	unsigned char magic[8];
	unsigned long version_major, version_minor, version_build;
	volatile long is_initialized, has_mutex, counter;
	pthread_mutex_t mutex;
	void *collector;
	void *error_handler;
	const char **library_path;
	struct itt_function *functions; /* ends with a NULL name */
};
