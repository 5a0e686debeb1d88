/* SPDX-License-Identifier: MIT
 *
 * export/scope.h - when what a flame graph shows was: a heat map of cells shorter than a second, and the graph of any range
 * of them, in one page
 *
 *	scope_new(&(struct scope_grid){.row_ns = 20000000, .rows = 50}, view, &scope);
 *	scope_observe(scope, &observer);
 *	analysis_new(model, &(struct analysis_options){.observer = &observer}, &analysis);
 *	scope_write(scope, &drawing, &about, file);
 *	scope_free(scope);
 */
#ifndef EXPORT_SCOPE_H
#define EXPORT_SCOPE_H

#include <stdint.h>
#include <stdio.h>

struct analysis_observer;
struct drawing;
struct flame_view;
struct scope;

/* More cells than these, or more values in all of them, and cells are joined two by two. */
#define SCOPE_CELLS_MOST  ((uint32_t)60000)
#define SCOPE_VALUES_MOST ((size_t)2000000)
/* More functions in all stacks together, and the innermost of what comes then are left out. */
#define SCOPE_NODES_MOST  ((uint32_t)1000000)

struct scope_grid {
	uint64_t row_ns; /* of a cell */
	uint32_t rows;   /* cells of a column */
};

/* What the page says about itself. */
struct scope_about {
	const char *title, *version;
	const char *warning; /* what a reader must know first, lines; "": nothing */
};

/* view: what it will be asked for; NULL: any. -ENOMEM. */
int scope_new(const struct scope_grid *grid, const struct flame_view *view,
	      struct scope **ret_scope);
void scope_free(struct scope *scope); /* NULL-safe */

/* What fills it. */
void scope_observe(struct scope *scope, struct analysis_observer *ret_observer);

/* The whole page, once the analysis that it observed is there: drawing is of that analysis, open, and nothing is drawn yet.
 * Errors: -errno with a text. */
int scope_write(struct scope *scope, struct drawing *drawing, const struct scope_about *about,
		FILE *file);

/* As it is: cells may have been joined. */
struct scope_grid scope_grid(const struct scope *scope);

#endif
