/* SPDX-License-Identifier: MIT
 *
 * inject/ranges/itt.c - ranges of ITT: tasks, regions, frames and markers
 *
 * Runs in:  the profiled process; the part of ITT that is linked into the program loads the guest
 *           at the first call (INTEL_LIBITTNOTIFY64)
 * Gets:     the program's calls
 * Gives:    their ranges
 * Owns:     nothing: domains and texts are the program's, and stay
 * Fails:    never for the program: functions that the guest does not provide behave as without a
 *           tool
 */
#include <stdbool.h>
#include <string.h>

#include "abi/itt.h"
#include "inject/ranges/ranges.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void __itt_api_init(struct itt_global *global, uint32_t groups);

static struct record_text domain_of(const struct itt_domain *domain, struct range_wide *wide)
{
	return domain->name ? record_text_of(domain->name)
			    : record_text_wide(domain->name_wide, wide);
}

static struct record_text text_of(const struct itt_string *string, struct range_wide *wide)
{
	if (!string)
		return (struct record_text){0};
	return string->text ? record_text_of(string->text)
			    : record_text_wide(string->text_wide, wide);
}

static bool is_wanted(const struct itt_domain *domain)
{
	return domain && domain->flags;
}

/* An id has three words, of which programs set the first or the second. */
static uint64_t number_of(struct itt_id id)
{
	return id.d1 * UINT64_C(0x9e3779b97f4a7c15) + id.d2 * UINT64_C(0xc2b2ae3d27d4eb4f) + id.d3;
}

static void task_begin(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
		       const struct itt_string *name)
{
	struct range_wide wide[2];

	if (is_wanted(domain))
		ranges_push(RANGE_OF_ITT, domain_of(domain, &wide[0]), text_of(name, &wide[1]),
			    NULL);
}

static void task_end(const struct itt_domain *domain)
{
	struct range_wide wide;

	if (is_wanted(domain))
		ranges_pop(RANGE_OF_ITT, domain_of(domain, &wide));
}

/* For overlapping tasks and regions. */
static void begin_task(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
		       const struct itt_string *name)
{
	struct range_wide wide[2];

	if (is_wanted(domain))
		ranges_start(RANGE_OF_ITT, domain_of(domain, &wide[0]), text_of(name, &wide[1]),
			     NULL, number_of(id));
}

static void end_task(const struct itt_domain *domain, struct itt_id id)
{
	struct range_wide wide;

	if (is_wanted(domain))
		ranges_stop(RANGE_OF_ITT, domain_of(domain, &wide), number_of(id));
}

/* Number of a frame; without an id, the frame that is open in the domain. */
static uint64_t frame_number(const struct itt_domain *domain, const struct itt_id *id)
{
	return id ? number_of(*id) : (uint64_t)(uintptr_t)domain;
}

static void frame_begin(const struct itt_domain *domain, const struct itt_id *id)
{
	struct range_wide wide;

	if (is_wanted(domain))
		ranges_start(RANGE_OF_ITT, domain_of(domain, &wide), record_text_of("frame"), NULL,
			     frame_number(domain, id));
}

static void frame_end(const struct itt_domain *domain, const struct itt_id *id)
{
	struct range_wide wide;

	if (is_wanted(domain))
		ranges_stop(RANGE_OF_ITT, domain_of(domain, &wide), frame_number(domain, id));
}

static void marker(const struct itt_domain *domain, struct itt_id id, const struct itt_string *name,
		   int scope)
{
	struct range_wide wide[2];

	if (is_wanted(domain))
		ranges_mark(RANGE_OF_ITT, domain_of(domain, &wide[0]), text_of(name, &wide[1]),
			    NULL);
}

static void *find_function(const char *name)
{
	static const struct {
		const char *name;
		void *function;
	} functions[] = {
		{"__itt_task_begin", (void *)task_begin},
		{"__itt_task_end", (void *)task_end},
		{"__itt_task_begin_overlapped", (void *)begin_task},
		{"__itt_task_end_overlapped", (void *)end_task},
		{"__itt_region_begin", (void *)begin_task},
		{"__itt_region_end", (void *)end_task},
		{"__itt_frame_begin_v3", (void *)frame_begin},
		{"__itt_frame_end_v3", (void *)frame_end},
		{"__itt_marker", (void *)marker},
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (strcmp(functions[i].name, name) == 0)
			return functions[i].function;
	return NULL;
}

/* Functions that are not set here, for example for domains and string handles, behave as without a
 * tool: the program's own part of ITT makes them. */
void __itt_api_init(struct itt_global *global, uint32_t groups)
{
	if (!global || memcmp(global->magic, ITT_MAGIC, sizeof(global->magic)) != 0 ||
	    global->version_major != ITT_MAJOR)
		return;
	ranges_prepare();
	for (struct itt_function *row = global->functions; row->name; row++) {
		void *function = find_function(row->name);

		*row->pointer = function ? function : row->none;
	}
}
