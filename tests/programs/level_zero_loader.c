/* SPDX-License-Identifier: MIT
 *
 * tests/programs/level_zero_loader.c - plays a loader of Level Zero of another version, which asks
 * its layer for tables
 *
 *	level_zero_loader MAJOR.MINOR
 *
 * Loads the layer as the real loader does, gives it tables of this version that hold one function
 * of its own in each slot, and says in which tables the layer has changed slots. Then it calls
 * through them: whoever is in between, each call comes to its own function.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "abi/level_zero.h"

enum { SLOTS = 64 };

static int calls;

static ze_result own(void)
{
	calls++;
	return ZE_SUCCESS;
}

typedef ze_result get_table(uint32_t version, void **functions);
typedef ze_result no_arguments(uintptr_t);

/* How many slots are others behind it; -1: the layer has no such table. */
static int ask(void *layer, const char *name, uint32_t version, void **functions)
{
	get_table *get = (get_table *)dlsym(layer, name);
	int changed = 0;

	for (int i = 0; i < SLOTS; i++)
		functions[i] = (void *)own;
	if (!get || get(version, functions) != ZE_SUCCESS)
		return -1;
	for (int i = 0; i < SLOTS; i++)
		changed += functions[i] != (void *)own;
	return changed;
}

int main(int argc, char **argv)
{
	const char *wanted = getenv("ZE_ENABLE_VALIDATION_LAYER");
	void *global[SLOTS], *lists[SLOTS];
	unsigned int major = 0, minor = 0;
	void *layer;

	if (argc < 2 || sscanf(argv[1], "%u.%u", &major, &minor) != 2)
		return 99;
	layer = wanted ? dlopen("libze_validation_layer.so.1", RTLD_LAZY | RTLD_LOCAL) : NULL;
	if (!layer) {
		printf("no layer\n");
		return 0;
	}
	printf("global %d", ask(layer, "zeGetGlobalProcAddrTable", major << 16 | minor, global));
	printf(", command_list %d\n",
	       ask(layer, "zeGetCommandListProcAddrTable", major << 16 | minor, lists));
	((no_arguments *)global[0])(0);
	((no_arguments *)lists[3])(0);
	printf("calls %d\n", calls);
	return 0;
}
