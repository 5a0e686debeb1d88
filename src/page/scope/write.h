/* SPDX-License-Identifier: MIT
 *
 * page/scope/write.h - write the page of a heat map; used by scope.c only
 */
#ifndef PAGE_SCOPE_WRITE_H
#define PAGE_SCOPE_WRITE_H

#include <stdio.h>

struct drawing;
struct scope_about;
struct scope_cells;

/* cells: finished; drawing: opened for the analysis that filled them. Errors: -ENOMEM, -errno with
 * a text. */
int scope_write_page(const struct scope_cells *cells, struct drawing *drawing,
		     const struct scope_about *about, FILE *file);

#endif
