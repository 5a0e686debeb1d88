/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/batches.h - the account of each batch of iterations of one run
 *
 * A batch is a group of neighbouring iterations. The means of batches are the values from which a
 * comparison of one run a side estimates its noise (docs/design/compare-statistics.md).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/account/account.h"

struct analysis;
struct analysis_observer;
struct batches;

enum {
	BATCHES_MAX = 40,
	BATCHES_MIN = 5 /* fewer iterations give no values */
};

struct batches *batches_new(void);          /* NULL: no memory */
void batches_free(struct batches *batches); /* NULL-safe */

/* The observer for analysis_options. It lives as long as the batches. */
const struct analysis_observer *batches_observer(const struct batches *batches);

/* Number of batches; 0: the run has too few iterations. */
size_t batches_count(const struct batches *batches);
/* Wall time, ns per iteration of a batch. */
double batches_wall(const struct batches *batches, size_t batch);
/* Number of iterations in a batch. */
uint64_t batches_size(const struct batches *batches, size_t batch);
/* Adds a path's busy time (ns) and executions, per iteration of each batch. NULL: not wanted. */
void batches_add_path(const struct batches *batches, uint32_t path, double *inout_ns,
		      double *inout_counts);
/* Adds a device's idle time of a cause, ns per iteration of each batch. */
void batches_add_idle(const struct batches *batches, size_t device, enum account_cause cause,
		      double *inout_ns);
/* Order of the first execution of a path in the run, from 1; 0: none was seen. */
uint32_t batches_position(const struct batches *batches, uint32_t path);
