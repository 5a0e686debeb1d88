/* SPDX-License-Identifier: MIT
 *
 * page/scope/scope.h - a page with a heat map of a flame graph's values over time, in cells shorter
 * than a second, and the flame graph of any selected range
 *
 * 	scope_new(&(struct scope_grid){.row_ns = 20000000, .rows = 50}, view, &scope);
 * 	scope_observe(scope, &observer);
 * 	analysis_new(model, &(struct analysis_options){.observer = &observer}, &analysis);
 * 	scope_write(scope, &drawing, &about, file);
 * 	scope_free(scope);
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

struct analysis_observer;
struct drawing;
struct flame_view;
struct scope;

/* Max cells, and max values in all cells. Above either, each two cells are joined. */
#define MAX_SCOPE_CELLS  ((uint32_t)60000)
#define MAX_SCOPE_VALUES UINT32_C(2000000)
/* Max functions in all stacks together. Above it, the inner functions of further stacks are left
 * out. */
#define MAX_SCOPE_NODES  ((uint32_t)1000000)

struct scope_grid {
	uint64_t row_ns;     /* duration of a cell; 0: at most 20 ms, shorter for a short trace */
	uint32_t rows;       /* cells per column */
	uint32_t max_values; /* above it, each two cells are joined; 0: MAX_SCOPE_VALUES */
};

/* Texts of the page. */
struct scope_about {
	const char *title, *version;
	const char *warning; /* warnings for the reader, one per line; "": none */
};

/* view: the values that scope_write will need; NULL: all. Errors: -ENOMEM. */
int scope_new(const struct scope_grid *grid, const struct flame_view *view,
	      struct scope **ret_scope);
void scope_free(struct scope *scope); /* NULL-safe */

/* Sets the observer's callbacks, which fill the cells. */
void scope_observe(struct scope *scope, struct analysis_observer *ret_observer);

/* Writes the whole page after the observed analysis has finished. drawing: opened for that
 * analysis, and not drawn yet. Errors: -errno with a text. */
int scope_write(struct scope *scope, struct drawing *drawing, const struct scope_about *about,
		FILE *file);

/* Writes only the sections of such a page: the stacks as element `head`, the cells as element
 * `cells`. The head also has the busy stack of each path, which is in no cell if the scope keeps
 * idle time only. May be called again with another device of the drawing. Errors: as above. */
int scope_write_sections(struct scope *scope, struct drawing *drawing, const char *head,
			 const char *cells, FILE *file);

/* The present grid; cells may have been joined. */
struct scope_grid scope_grid(const struct scope *scope);
/* Duration of a cell before cells were joined. */
uint64_t scope_asked_row_ns(const struct scope *scope);
