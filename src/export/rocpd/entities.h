/* SPDX-License-Identifier: MIT
 *
 * export/rocpd/entities.h - the info tables of a rocpd export: machines, processes, threads,
 * devices, streams, counters, kernels
 */
#pragma once

#include <stdint.h>

struct rocpd;

/* The agent of the host's processors. */
#define ROCPD_HOST_AGENT 0

/* Errors: those of the writer. */
int rocpd_entities(struct rocpd *rocpd);
int rocpd_agents(struct rocpd *rocpd);
int rocpd_kernels(struct rocpd *rocpd);

/* The id of a command's queue in rocpd_info_queue: its hardware queue's (a number plus 1; 0: not
 * known), otherwise its stream's. Describes it at its first use. Errors: those of the writer. */
int rocpd_queue(struct rocpd *rocpd, uint32_t queue, uint32_t hardware_queue, uint64_t *ret_queue);
