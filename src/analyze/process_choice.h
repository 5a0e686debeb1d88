/* SPDX-License-Identifier: MIT
 *
 * analyze/process_choice.h - limits a model to the rows of some processes
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

struct model;
struct order_item;

/* Ids of processes. */
struct process_choice {
	struct hash_map ids;
};

/* Limits the model, until it is closed, to the processes with one of these pids and one of these
 * ranks: lists such as "12,345"; NULL: any. From then on model_order skips other processes' calls,
 * launches, executions, ranges, instruction samples and counters. It keeps switches and CPU
 * samples, because they explain what the chosen processes waited for, and the machine's counters.
 * Errors: -EINVAL for a text of another form, -ENOENT for a number without a process; both with
 * the error chain. -ENOMEM. */
int model_choose(struct model *model, const char *pids, const char *ranks,
		 struct process_choice **ret_choice);
/* The same for one process, by its id. -ENOMEM. */
int model_choose_one(struct model *model, uint32_t process, struct process_choice **ret_choice);
/* After the model. */
void process_choice_free(struct process_choice *choice); /* NULL-safe */

/* Whether the model contains the process's rows; true without a choice. */
bool model_has_process(const struct model *model, uint32_t process);
bool model_has_thread(const struct model *model, uint32_t thread);
/* The process of a row; 0: not known, or the row belongs to none. */
uint32_t model_process_of_item(const struct model *model, const struct order_item *item);
