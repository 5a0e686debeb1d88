/* SPDX-License-Identifier: MIT
 *
 * inject/amd/hsa_order.c - put the guest first among the tools of HSA_TOOLS_LIB
 *
 * Runs in:  the profiled process, before its main, if the guest is preloaded
 * Gets:     HSA_TOOLS_LIB
 * Gives:    the same names with the guest's first
 * Owns:     nothing
 * Fails:    by leaving the variable unchanged: dispatches then have no device times, and the report
 *           mentions it
 * Why:      the runtime calls the handlers of a queue in the reverse order of their registration,
 *           so the tool that is loaded first is next to the device. A tool next to the device that
 *           replaces completion signals (rocm-trace-lite) does not pass their times on to other
 *           tools; the guest does. duet record puts the guest first, but a wrapper in between may
 *           put its own tool in front, or replace the list (`rtl trace` of rocm-trace-lite).
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/amd/hsa.h"

enum { TOOLS_BYTES = 8192 };

/* Returns the guest's entry among names separated by spaces; NULL: not there. */
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

	/* The runtime loads no tools, or loads ours first. */
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

static bool has_address(const struct dl_phdr_info *info, uintptr_t address)
{
	for (uint32_t i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    address - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr <
			    info->dlpi_phdr[i].p_memsz)
			return true;
	return false;
}

struct order {
	uintptr_t guest, library;
	bool is_guest_first;
};

/* Ends at the guest or at the C library, whichever comes first. */
static int find_first(struct dl_phdr_info *info, size_t size, void *data)
{
	struct order *order = data;

	order->is_guest_first = has_address(info, order->guest);
	return order->is_guest_first || has_address(info, order->library);
}

/* A preloaded library comes before the C library. A library that is loaded later comes behind it,
 * and threads of the program may read the environment by then. */
static bool is_preloaded(void)
{
	struct order order = {(uintptr_t)hsa_order_tools, (uintptr_t)dlsym(RTLD_NEXT, "setenv"),
			      false};

	dl_iterate_phdr(find_first, &order);
	return order.is_guest_first;
}

static __attribute__((constructor)) void order_tools(void)
{
	const char *tools = getenv("HSA_TOOLS_LIB");
	char ordered[TOOLS_BYTES];
	int saved = errno;
	Dl_info about;

	if (tools && is_preloaded() && dladdr((const void *)hsa_order_tools, &about) &&
	    about.dli_fname && hsa_order_tools(tools, about.dli_fname, ordered, sizeof(ordered)))
		setenv("HSA_TOOLS_LIB", ordered, 1);
	errno = saved;
}
