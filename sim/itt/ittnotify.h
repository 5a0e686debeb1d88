/* SPDX-License-Identifier: MIT
 *
 * sim/itt/ittnotify.h - a stand-in for the part of ITT that is linked into a program
 *
 * The first call loads the tool that INTEL_LIBITTNOTIFY64 names and passes it a list of functions
 * to fill in; without a tool a call does nothing. This header creates domains and string handles.
 * It has only the functions that the test programs use.
 */
#pragma once

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#include "abi/itt.h"

typedef struct itt_domain __itt_domain;
typedef struct itt_string __itt_string_handle;
typedef struct itt_id __itt_id;
typedef enum { __itt_scope_task = 4 } __itt_scope;

static const __itt_id __itt_null;

typedef void sim_itt_begin(const __itt_domain *, __itt_id, __itt_id, __itt_string_handle *);
typedef void sim_itt_end(const __itt_domain *);
typedef void sim_itt_end_id(const __itt_domain *, __itt_id);
typedef void sim_itt_frame(const __itt_domain *, __itt_id *);
typedef void sim_itt_mark(const __itt_domain *, __itt_id, __itt_string_handle *, __itt_scope);

enum {
	SIM_ITT_TASK_BEGIN,
	SIM_ITT_TASK_END,
	SIM_ITT_OVERLAPPED_BEGIN,
	SIM_ITT_OVERLAPPED_END,
	SIM_ITT_FRAME_BEGIN,
	SIM_ITT_FRAME_END,
	SIM_ITT_MARKER,
	SIM_ITT_DETACH, /* one that a tool does not have */
	SIM_ITT_COUNT
};

static void *sim_itt_pointers[SIM_ITT_COUNT];

static inline void *sim_itt_find(int which)
{
	static struct itt_function functions[] = {
		{"__itt_task_begin", &sim_itt_pointers[SIM_ITT_TASK_BEGIN], NULL, NULL, 0},
		{"__itt_task_end", &sim_itt_pointers[SIM_ITT_TASK_END], NULL, NULL, 0},
		{"__itt_task_begin_overlapped", &sim_itt_pointers[SIM_ITT_OVERLAPPED_BEGIN], NULL,
		 NULL, 0},
		{"__itt_task_end_overlapped", &sim_itt_pointers[SIM_ITT_OVERLAPPED_END], NULL, NULL,
		 0},
		{"__itt_frame_begin_v3", &sim_itt_pointers[SIM_ITT_FRAME_BEGIN], NULL, NULL, 0},
		{"__itt_frame_end_v3", &sim_itt_pointers[SIM_ITT_FRAME_END], NULL, NULL, 0},
		{"__itt_marker", &sim_itt_pointers[SIM_ITT_MARKER], NULL, NULL, 0},
		{"__itt_detach", &sim_itt_pointers[SIM_ITT_DETACH], NULL, NULL, 0},
		{NULL, NULL, NULL, NULL, 0},
	};
	static struct itt_global global = {
		.magic = {0xed, 0xab, 0xab, 0xec, 0x0d, 0xee, 0xda, 0x30},
		.version_major = ITT_MAJOR,
		.version_build = 20240101,
		.functions = functions,
	};
	const char *path = getenv("INTEL_LIBITTNOTIFY64");
	void (*init)(struct itt_global *, uint32_t);

	if (!global.is_initialized && path)
		global.collector = dlopen(path, RTLD_LAZY);
	if (!global.is_initialized && global.collector) {
		init = (void (*)(struct itt_global *, uint32_t))dlsym(global.collector,
								      "__itt_api_init");
		if (init)
			init(&global, UINT32_MAX);
	}
	global.is_initialized = 1;
	return sim_itt_pointers[which];
}

static inline __itt_domain *__itt_domain_create(const char *name)
{
	__itt_domain *domain = calloc(1, sizeof(*domain));

	domain->flags = 1;
	domain->name = name;
	return domain;
}

static inline __itt_string_handle *__itt_string_handle_create(const char *text)
{
	__itt_string_handle *string = calloc(1, sizeof(*string));

	string->text = text;
	return string;
}

static inline __itt_id __itt_id_make(void *address, unsigned long long extra)
{
	return (__itt_id){(unsigned long long)(uintptr_t)address, extra, 0};
}

static inline void __itt_task_begin(const __itt_domain *domain, __itt_id id, __itt_id parent,
				    __itt_string_handle *name)
{
	sim_itt_begin *function = (sim_itt_begin *)sim_itt_find(SIM_ITT_TASK_BEGIN);

	if (function)
		function(domain, id, parent, name);
}

static inline void __itt_task_end(const __itt_domain *domain)
{
	sim_itt_end *function = (sim_itt_end *)sim_itt_find(SIM_ITT_TASK_END);

	if (function)
		function(domain);
}

static inline void __itt_task_begin_overlapped(const __itt_domain *domain, __itt_id id,
					       __itt_id parent, __itt_string_handle *name)
{
	sim_itt_begin *function = (sim_itt_begin *)sim_itt_find(SIM_ITT_OVERLAPPED_BEGIN);

	if (function)
		function(domain, id, parent, name);
}

static inline void __itt_task_end_overlapped(const __itt_domain *domain, __itt_id id)
{
	sim_itt_end_id *function = (sim_itt_end_id *)sim_itt_find(SIM_ITT_OVERLAPPED_END);

	if (function)
		function(domain, id);
}

static inline void __itt_frame_begin_v3(const __itt_domain *domain, __itt_id *id)
{
	sim_itt_frame *function = (sim_itt_frame *)sim_itt_find(SIM_ITT_FRAME_BEGIN);

	if (function)
		function(domain, id);
}

static inline void __itt_frame_end_v3(const __itt_domain *domain, __itt_id *id)
{
	sim_itt_frame *function = (sim_itt_frame *)sim_itt_find(SIM_ITT_FRAME_END);

	if (function)
		function(domain, id);
}

static inline void __itt_marker(const __itt_domain *domain, __itt_id id, __itt_string_handle *name,
				__itt_scope scope)
{
	sim_itt_mark *function = (sim_itt_mark *)sim_itt_find(SIM_ITT_MARKER);

	if (function)
		function(domain, id, name, scope);
}
