/* SPDX-License-Identifier: MIT
 *
 * export/scope_write.h - the page of a heat map; of scope.c only
 */
#ifndef EXPORT_SCOPE_WRITE_H
#define EXPORT_SCOPE_WRITE_H

#include <stdio.h>

struct drawing;
struct scope_about;
struct scope_cells;

/* Finished cells and the analysis that they are of. Errors: -ENOMEM, -errno with a text. */
int scope_write_page(const struct scope_cells *cells, struct drawing *drawing,
		     const struct scope_about *about, FILE *file);

#endif
