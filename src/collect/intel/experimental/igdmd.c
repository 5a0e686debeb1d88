/* SPDX-License-Identifier: MIT
 *
 * collect/intel/experimental/igdmd.c - names of a GPU's OA metric sets and counters, from Intel's
 * library
 *
 * Runs in:  the recorder and duet list
 * Gets:     libigdmd.so.1, by dlopen
 * Gives:    sets, names of counters; adds a set to the driver's list
 * Owns:     the objects opened in the library, which stays loaded
 * Fails:    with a message; a library with an unexpected layout is not used
 * Why:      The library is needed, because it alone has the registers that select the counters of
 *           each set and generation. Only names and these registers are taken from it, because duet
 *           knows the report formats and streams of each driver.
 *
 * Not run with the real library and a GPU yet.
 */
#include "collect/intel/experimental/igdmd.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/igdmd.h"

#define LIBRARY "libigdmd.so.1"

enum { MAX_ADAPTERS = 64, MAX_GROUPS = 64, MAX_SETS = 512, MAX_METRICS_OF_A_SET = 1024 };

struct igdmd {
	struct md_adapters *adapters; /* owned */
	struct md_adapter *adapter;   /* belongs to the library */
	struct md_device *device;     /* owned */
	struct md_group *group;       /* belongs to the device; the group of OA sets */
};

/* ---- finding the GPU ------------------------------------------------------------------------- */

static bool is_at(const struct md_adapter_facts *facts, bool has_domain, const char *address)
{
	char text[32];

	snprintf(text, sizeof(text), "%04x:%02x:%02x.%x", has_domain ? facts->domain : 0,
		 facts->bus, facts->slot, facts->function);
	return strcmp(has_domain ? text : strchr(text, ':'),
		      has_domain || strlen(address) < 5 ? address : address + 4) == 0;
}

static struct md_adapter *find_adapter(struct md_adapters *adapters, const char *address)
{
	const struct md_adapters_facts *facts = adapters->table->facts(adapters);
	const bool has_domain = facts->version.minor >= MD_MINOR_DOMAIN;

	for (uint32_t i = 0; i < facts->count && i < MAX_ADAPTERS; i++) {
		struct md_adapter *adapter = adapters->table->adapter(adapters, i);
		const struct md_adapter_facts *of = adapter ? adapter->table->facts(adapter) : NULL;

		if (of && is_at(of, has_domain, address))
			return adapter;
	}
	return NULL;
}

static struct md_group *find_group(struct md_device *device)
{
	const struct md_device_facts *facts = device->table->facts(device);

	for (uint32_t i = 0; facts && i < facts->groups && i < MAX_GROUPS; i++) {
		struct md_group *group = device->table->group(device, i);
		const struct md_group_facts *of = group ? group->table->facts(group) : NULL;

		if (of && of->symbol && strcmp(of->symbol, "OA") == 0 &&
		    (of->measures & MD_MEASURES_STREAMS))
			return group;
	}
	return NULL;
}

/* Returns NULL and sets *ret_why if the library is missing or unexpected. */
static struct md_adapters *open_library(char *ret_why, size_t size)
{
	const char *named = secure_getenv("DUET_IGDMD");
	const char *name = named && *named ? named : LIBRARY;
	void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	md_open *open_all = handle ? (md_open *)dlsym(handle, MD_OPEN) : NULL;
	struct md_adapters *adapters = NULL;
	const struct md_adapters_facts *facts;
	int32_t result;

	if (!open_all) {
		snprintf(ret_why, size, "%s, Intel's library of metric sets, %s", name,
			 handle ? "is too old; version 1.6 or later is needed" : "was not found");
		return NULL;
	}
	result = open_all(&adapters);
	facts = adapters ? adapters->table->facts(adapters) : NULL;
	if ((result == MD_OK || result == MD_ALREADY_INITIALIZED) && facts &&
	    facts->version.major == MD_MAJOR && facts->version.minor >= MIN_MD_MINOR)
		return adapters;
	if (facts)
		snprintf(ret_why, size, "%s has version %u.%u, which duet does not know", name,
			 facts->version.major, facts->version.minor);
	else
		snprintf(ret_why, size, "%s finds no Intel GPU (%d)", name, result);
	if (adapters)
		adapters->table->close(adapters);
	return NULL;
}

static int refuse(struct igdmd *library, char *ret_why, size_t size, const char *why)
{
	snprintf(ret_why, size, "Intel's library of metric sets %s", why);
	igdmd_close(library);
	return -ENODEV;
}

int igdmd_open(const char *address, struct igdmd **ret_library, char *ret_why, size_t size)
{
	struct igdmd *library = calloc(1, sizeof(*library));

	snprintf(ret_why, size, "out of memory");
	if (!library)
		return -ENOMEM;
	library->adapters = open_library(ret_why, size);
	if (!library->adapters) {
		free(library);
		return -ENOENT;
	}
	library->adapter = find_adapter(library->adapters, address);
	if (!library->adapter)
		return refuse(library, ret_why, size, "does not know this GPU");
	if (library->adapter->table->open(library->adapter, &library->device) != MD_OK ||
	    !library->device)
		return refuse(library, ret_why, size,
			      "cannot open this GPU; that needs the right to observe it");
	library->group = find_group(library->device);
	if (!library->group)
		return refuse(library, ret_why, size, "has no set of this GPU's OA unit");
	*ret_library = library;
	return 0;
}

void igdmd_close(struct igdmd *library)
{
	if (!library)
		return;
	if (library->device)
		library->adapter->table->close(library->adapter, library->device);
	library->adapters->table->close(library->adapters);
	free(library);
}

/* ---- sets ------------------------------------------------------------------------------------ */

static struct md_set *set_of(const struct igdmd *library, uint32_t index)
{
	const struct md_group_facts *facts = library->group->table->facts(library->group);

	return index < facts->sets && index < MAX_SETS
		       ? library->group->table->set(library->group, index)
		       : NULL;
}

bool igdmd_set(const struct igdmd *library, uint32_t index, const char **ret_name,
	       const char **ret_text)
{
	struct md_set *set = set_of(library, index);
	const struct md_set_facts *facts = set ? set->table->facts(set) : NULL;

	if (!facts || !facts->symbol)
		return false;
	*ret_name = facts->symbol;
	*ret_text = facts->name ? facts->name : "";
	return true;
}

/* Whether a metric is one counter of the report, and not computed from several. */
static bool reads(struct md_equation *equation, const struct oa_place *place)
{
	static const int32_t types[] = {
		[OA_32] = MD_READ_UINT32, [OA_40] = MD_READ_40_BITS, [OA_64] = MD_READ_UINT64};
	const struct md_element *element;

	if (!equation || equation->table->count(equation) != 1)
		return false;
	element = equation->table->element(equation, 0);
	/* for a counter of 40 bits, some sets read only the lower 32 */
	return element && element->read.offset == place->offset &&
	       (element->type == types[place->width] ||
		(place->width == OA_40 && element->type == MD_READ_UINT32));
}

const char *igdmd_counter(const struct igdmd *library, uint32_t index, const struct oa_place *place)
{
	struct md_set *set = set_of(library, index);
	const struct md_set_facts *facts = set ? set->table->facts(set) : NULL;

	for (uint32_t i = 0; facts && i < facts->metrics && i < MAX_METRICS_OF_A_SET; i++) {
		struct md_metric *metric = set->table->metric(set, i);
		const struct md_metric_facts *of = metric ? metric->table->facts(metric) : NULL;

		if (of && of->symbol && reads(of->read, place))
			return of->symbol;
	}
	return NULL;
}

int igdmd_begin(const struct igdmd *library, uint32_t index)
{
	struct md_set *set = set_of(library, index);
	const int32_t result = set ? set->table->activate(set) : -1;

	if (result == MD_OK)
		return 0;
	return result == MD_ACCESS_DENIED ? -EACCES : -EPROTO;
}

void igdmd_end(const struct igdmd *library, uint32_t index)
{
	struct md_set *set = set_of(library, index);

	if (set)
		set->table->deactivate(set);
}
