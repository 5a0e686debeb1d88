/* SPDX-License-Identifier: MIT
 *
 * inject/hsa_order.c - the guest's place among the tools that HSA_TOOLS_LIB names
 *
 * Runs in:  the profiled process, before its main, where the guest is preloaded
 * Gets:     HSA_TOOLS_LIB   Gives: the same names with the guest's first
 * Owns:     nothing
 * Fails:    by leaving the variable as it is: dispatches then have no device times, and the report says so
 * Why:      the runtime calls the handlers of a queue in the reverse order of their registration, so the tool that is
 *           loaded first is next to the device. A tool there that replaces completion signals (rocm-trace-lite) keeps
 *           their times for itself; we pass them on. duet record puts the guest first, but a wrapper in between may
 *           put its own tool before what it finds, or name nothing else (`rtl trace` of rocm-trace-lite).
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/hsa.h"

enum { TOOLS_BYTES = 8192 };

/* The guest among names with spaces between them; NULL: it is not there. */
static const char *find_entry(const char *tools, const char *guest)
{
	size_t length = strlen(guest);

	for (const char *at = tools + strspn(tools, " "); *at; at += strspn(at, " ")) {
		size_t entry = strcspn(at, " ");

		if (entry == length && memcmp(at, guest, length) == 0)
			return at;
		at += entry;
	}
	return NULL;
}

bool hsa_order_tools(const char *tools, const char *guest, char *ret_tools, size_t size)
{
	const char *entry = find_entry(tools, guest), *rest = "";
	size_t before = entry ? (size_t)(entry - tools) : strlen(tools), first = strspn(tools, " ");
	int length;

	/* The runtime loads no tools, or ours first. */
	if (!tools[first] || (entry && first == before))
		return false;
	if (entry)
		rest = entry + strlen(guest) + strspn(entry + strlen(guest), " ");
	length = snprintf(ret_tools, size, "%s %.*s%s", guest, (int)before, tools, rest);
	return length > 0 && (size_t)length < size;
}

bool hsa_is_others(const void *function, const void *runtime)
{
	Dl_info own, about;

	return function && dladdr(runtime, &own) && dladdr(function, &about) &&
	       own.dli_fbase != about.dli_fbase;
}

static __attribute__((constructor)) void order_tools(void)
{
	const char *tools = getenv("HSA_TOOLS_LIB");
	char ordered[TOOLS_BYTES];
	int saved = errno;
	Dl_info about;

	if (tools && dladdr((const void *)hsa_order_tools, &about) && about.dli_fname &&
	    hsa_order_tools(tools, about.dli_fname, ordered, sizeof(ordered)))
		setenv("HSA_TOOLS_LIB", ordered, 1);
	errno = saved;
}
