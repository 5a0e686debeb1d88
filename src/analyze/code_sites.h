/* SPDX-License-Identifier: MIT
 *
 * analyze/code_sites.h - of the code that ever lay at an address, what may have run there in a window
 */
#ifndef ANALYZE_CODE_SITES_H
#define ANALYZE_CODE_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/code_index.h"

/* Code that comes within this time after a window at whose address there is none was that window's. */
#define CODE_LATE_NS UINT64_C(30000000000)

struct code_sites;
struct event_instruction_sample;
struct model;

enum code_role {
	SITE_NOW,     /* it is there */
	SITE_TWIN,    /* the same as the site before it, by another's word who knows less of it */
	SITE_REPLACED /* another one of its process came to its place before the window; two address spaces may have that place,
		       * and who was launched behind that is still there */
};

struct code_site {
	const struct code_range *range;
	enum code_role role;
	uint64_t replaced_ns; /* of a replaced one: when the latest one before the window came */
};

/* Sites of each process follow one another. Equal ones are one set. */
struct code_set {
	const struct code_site *sites; /* none: unknown code */
	size_t count;
	bool is_late;
	uint64_t begin_ns; /* of a late one: when its code came */
	uint32_t next;     /* another one of the same hash; UINT32_MAX: there is none */
};

/* index is borrowed. Errors: -ENOMEM. */
int code_sites_new(struct code_index *index, struct code_sites **ret_sites);
/* With an index of its own. */
int code_sites_of_model(const struct model *model, struct code_sites **ret_sites);
void code_sites_free(struct code_sites *sites); /* NULL-safe */

/* device: id; the window in host ns, the same for a moment. Sets count from 0, without holes, and so do the places: one for
 * each stretch of addresses of a device with the same code. Where more code was at an address than is looked at, it is unknown.
 * Who asks in the order of addresses has the answer at once where it is that of the one before. */
int code_sites_find(struct code_sites *sites, uint32_t device, uint64_t address, uint64_t begin,
		    uint64_t end, uint32_t *ret_set, uint32_t *ret_place);

/* For who shows rows as they are: a row that tells an address alone gets the code, its process and the offset in it, where
 * that is one kernel for certain. -ENOMEM. */
int code_sites_resolve(struct code_sites *sites, struct event_instruction_sample *row);

/* Valid until the next find. */
const struct code_set *code_sites_set(const struct code_sites *sites, uint32_t set);

#endif
