/* SPDX-License-Identifier: MIT
 *
 * export/rocpd/entities.h - the info tables of a rocpd export: machines, processes, threads,
 * devices, streams, counters, kernels
 */
#pragma once

#include <stdint.h>

struct command;
struct rocpd;

/* The agent of the host's processors. */
#define ROCPD_HOST_AGENT 0

/* Errors: those of the writer. */
int rocpd_entities(struct rocpd *rocpd);
int rocpd_agents(struct rocpd *rocpd);
int rocpd_kernels(struct rocpd *rocpd);

/* The id of a command's queue in rocpd_info_queue: its hardware queue's, if it is known, otherwise
 * its stream's. Describes it at its first use. Errors: those of the writer. */
int rocpd_queue(struct rocpd *rocpd, const struct command *command, uint64_t *ret_queue);
