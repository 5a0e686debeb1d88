/* SPDX-License-Identifier: MIT
 *
 * analyze/sample/code_sites.h - selects the kernels at an address that may have run in a time
 * window
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/sample/code_index.h"

/* If an address has no code in a window, code that is loaded there within this time after the
 * window counts as its code. */
#define CODE_LATE_NS UINT64_C(30000000000)

struct code_sites;
struct event_instruction_sample;
struct model;

enum code_role {
	SITE_NOW,     /* loaded at the address during the window */
	SITE_TWIN,    /* the same code as the site before it, reported by another source with fewer
			 details */
	SITE_REPLACED /* other code of its process was loaded at its address before the window. If a
			 later launch shows that the code is still loaded, the two have different
			 address spaces */
};

struct code_site {
	const struct code_range *range;
	enum code_role role;
	uint64_t replaced_ns; /* SITE_REPLACED: when the latest code before the window was loaded */
};

/* The sites that may have run at an address in a window, grouped by process. Equal sets have one
 * number. */
struct code_set {
	const struct code_site *sites; /* count 0: unknown code */
	size_t count;
	bool is_late;
	uint64_t begin_ns; /* is_late: when its code was loaded */
	uint32_t next;     /* next set with the same hash; UINT32_MAX: none */
};

/* index is borrowed. Errors: -ENOMEM. */
int code_sites_new(struct code_index *index, struct code_sites **ret_sites);
/* As code_sites_new, but makes and owns the code index. */
int code_sites_of_model(const struct model *model, struct code_sites **ret_sites);
void code_sites_free(struct code_sites *sites); /* NULL-safe */

/* Finds the set for an address. device: id. begin, end: the window in host ns, equal for a moment.
 * *ret_set: numbered from 0 without gaps, see code_sites_set. *ret_place: number, from 0 without
 * gaps, of the stretch of device addresses with the same code. If more code was at the address than
 * the limits allow, the set is empty (unknown code). Calls in the order of addresses are fast,
 * because neighbours share the answer. */
int code_sites_find(struct code_sites *sites, uint32_t device, uint64_t address, uint64_t begin,
		    uint64_t end, uint32_t *ret_set, uint32_t *ret_place);

/* For exports of single rows: if a row has only an address and exactly one kernel can be there,
 * sets the row's code, process and offset. Errors: -ENOMEM. */
int code_sites_resolve(struct code_sites *sites, struct event_instruction_sample *row);

/* The set with this number. Valid until the next code_sites_find. */
const struct code_set *code_sites_set(const struct code_sites *sites, uint32_t set);
