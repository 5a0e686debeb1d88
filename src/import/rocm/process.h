/* SPDX-License-Identifier: MIT
 *
 * import/rocm/process.h - what the importers of ROCm's recordings know of one process
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/pair_map.h"
#include "import/rocm/agents.h"
#include "import/rocm/join.h"
#include "import/rocm/kernels.h"

struct import_target;

struct rocm_process {
	struct import_target *target;
	struct rocm_join *join;
	struct rocm_agents agents;
	struct rocm_kernels kernels;
	uint32_t id;
	struct pair_map queues; /* (process and device, stream or hardware queue) -> id */
	struct string_table texts;
	struct hash_map streams, hardware_queues; /* names in texts by number */
	uint64_t rounded;                         /* number of counter values with a fraction */
};

/* A command as the file describes it. Absent: 0, "" */
struct rocm_command {
	uint64_t begin, end, queued, seen;
	uint64_t link, part;
	uint32_t tid, command, kernel, device; /* kernel, device: ids in the trace */
	uint64_t bytes;
	uint64_t global[3], local[3];
	uint64_t stream; /* 0: the default, or not known */
	uint64_t hardware_queue;
	bool has_hardware_queue;
	uint32_t source_device, destination_device; /* both ends of a copy */
};

void rocm_process_fini(struct rocm_process *process);

/* Sets the clock of the file, which is that of one machine; "": not known. Errors: those of
 * import_target_clock. */
int rocm_process_set_clock(struct rocm_process *process, const char *machine);

/* Names a stream or hardware queue; otherwise it is "stream 7". Errors: -ENOMEM. */
int rocm_process_name_queue(struct rocm_process *process, struct hash_map *names, uint64_t number,
			    const char *name);

/* Errors: -EBADMSG with a text for an end before the start. The caller adds the place. */
int rocm_process_check_times(uint64_t begin, uint64_t end);

/* Adds rows to the join. type: ROCM_COMMAND or ROCM_REPEATED. Errors: those of the join and the
 * target. */
int rocm_process_add_command(struct rocm_process *process, enum rocm_row_type type,
			     const struct rocm_command *command);
int rocm_process_add_call(struct rocm_process *process, uint32_t tid, const char *function,
			  uint64_t link, uint64_t begin, uint64_t end);
int rocm_process_add_detailed_call(struct rocm_process *process, uint32_t tid, const char *function,
				   uint64_t link, uint64_t begin, uint64_t end,
				   const struct rocm_detail *detail);

/* A value of a hardware counter over one command. */
int rocm_process_add_value(struct rocm_process *process, const struct rocm_command *command,
			   const char *counter, double value);

/* A value of a counter at a time, of no command. device 0: the host. */
int rocm_process_write_level(struct rocm_process *process, uint32_t device, const char *counter,
			     double value, uint64_t time);

/* An allocation or a free, by the name of the operation. */
int rocm_process_add_allocation(struct rocm_process *process, const char *operation, uint64_t time,
				struct rocm_allocation *allocation);

/* A range; `function` of roctx made it. */
int rocm_process_write_range(struct rocm_process *process, uint32_t tid, const char *domain,
			     const char *function, const char *name, uint64_t begin, uint64_t end);

/* Adds the notes at the end. */
void rocm_process_put_notes(const struct rocm_process *process);
