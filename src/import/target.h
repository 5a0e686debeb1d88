/* SPDX-License-Identifier: MIT
 *
 * import/target.h - build a trace from a foreign file
 *
 * The first use of a key describes its entity; later uses return the same id. Times are the file's
 * own, in ns, and are stored as CLOCK_MONOTONIC; those of several files are moved into one clock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "trace/writer.h"

struct import_result;
struct import_target;

/* Creates the trace at `path`. Errors: -errno with a text. */
int import_target_open(const char *path, struct import_target **ret_target);

/* Begins one of `count` files. Keys name entities of this file alone. Exception: a device whose key
 * contains a UUID is the same in all files. Errors: -ENOMEM. */
int import_target_begin_file(struct import_target *target, const char *format, const char *path,
			     size_t count);

/* Whether the import has several files. */
bool import_target_has_several(const struct import_target *target);

/* The clock of the file's times: time 0 of the file is zero_ns of this clock. name:
 * IMPORT_CLOCK_UTC (ns since 1970), or a text that identifies a clock of one boot of one machine.
 * To be called before the first row. If the import has several files, their times are moved into
 * this clock; a file without a clock, or with another clock than the first file, is refused
 * (-EBADMSG). Otherwise nothing is done. */
#define IMPORT_CLOCK_UTC "UTC"
int import_target_clock(struct import_target *target, const char *name, int64_t zero_ns);

/* Ends the trace: writes the host with the window, the origin of the trace and the notes. Frees the
 * target. ret_result may be NULL; the caller frees its texts. Errors: -ENODATA if the times of the
 * files are far apart, -ENOMEM, -errno of a write with a text. */
int import_target_finish(struct import_target *target, struct import_result *ret_result);

/* Closes without a trace; the file is removed. NULL-safe. */
void import_target_abandon(struct import_target *target);

/* A note about the import, reported once: "no times: …". */
__attribute__((format(printf, 2, 3))) void import_target_note(struct import_target *target,
							      const char *format, ...);

/* A note that begins with a number of things, "7 samples", followed by `text`; none for 0. */
void import_target_note_count(struct import_target *target, uint64_t count, const char *one,
			      const char *many, const char *text);

/* An invalid part of the file that is left out, reported once: "left out line 7: …". */
__attribute__((format(printf, 2, 3))) void import_target_fault(struct import_target *target,
							       const char *format, ...);

/* Id of a text; 0 for "". Errors: -ENOMEM. */
int import_target_text(struct import_target *target, const char *text, uint32_t *ret_string);

/* The same for bytes that no NUL ends. */
int import_target_bytes(struct import_target *target, const char *text, size_t length,
			uint32_t *ret_string);

/* Ids of entities, new or known. name "": unknown. Errors: -ENOMEM, -errno of a write with a
 * text. */
int import_target_process(struct import_target *target, const char *key, uint32_t pid,
			  const char *name, uint32_t *ret_process);
/* The same with further members of the row: rank, parent. */
int import_target_describe_process(struct import_target *target, const char *key, const char *name,
				   const struct event_process *process, uint32_t *ret_process);
int import_target_thread(struct import_target *target, uint32_t process, uint32_t tid,
			 const char *name, uint32_t *ret_thread);
int import_target_device(struct import_target *target, const char *key, const char *name,
			 enum event_device_type type, uint32_t *ret_device);
/* The same with further members of the row: vendor, memory, parent. */
int import_target_describe_device(struct import_target *target, const char *key, const char *name,
				  const struct event_device *device, uint32_t *ret_device);
/* green: number of the green context plus 1, or 0. */
int import_target_context(struct import_target *target, uint32_t process, uint64_t handle,
			  uint32_t green, uint32_t *ret_context);
int import_target_queue(struct import_target *target, uint32_t process, uint32_t device,
			const char *key, uint32_t *ret_queue);
/* The same with further members of the row: context, name, flags. */
int import_target_describe_queue(struct import_target *target, const char *key,
				 const struct event_queue *queue, uint32_t *ret_queue);
/* A kernel of a program file; file "": unknown. */
int import_target_kernel(struct import_target *target, uint32_t process, const char *file,
			 const char *name, uint32_t *ret_kernel);

/* A code object with these bytes, which are copied. The row's hash, size and id are set; the same
 * bytes on the same device are the same code object. */
int import_target_binary(struct import_target *target, const void *bytes, size_t size,
			 struct event_code *row);

/* Id of the entity of any kind with this key. A new one is described by `row`, a struct event_… of
 * the kind, whose id is set. The key must differ from those of the functions above. */
int import_target_entity(struct import_target *target, enum event_kind kind, const char *key,
			 void *row, uint32_t *ret_id);

/* A counter series of a device, in a base unit. */
int import_target_series(struct import_target *target, const char *metric, const char *unit,
			 enum event_series_type type, uint32_t device, uint32_t *ret_series);
/* The same for a series of the process and device of *row, whose other members are set. */
int import_target_describe_series(struct import_target *target, const char *metric,
				  const char *unit, struct event_series *row, uint32_t *ret_series);

/* Id of a frame of host code. type: NATIVE, JIT or KERNEL; flags: FRAME_INLINED. Errors:
 * -ENOMEM. */
int import_target_frame(struct import_target *target, enum event_frame_type type, uint32_t flags,
			const char *function, const char *module, uint32_t *ret_frame);

/* Sets *stack to the stack of caller *stack and a frame. Errors: -ENOMEM. */
int import_target_push_id(struct import_target *target, uint32_t frame, uint32_t *stack);

/* The same for a frame that is described. */
int import_target_push(struct import_target *target, enum event_frame_type type, uint32_t flags,
		       const char *function, const char *module, uint32_t *stack);

/* The same for a frame of any type. */
int import_target_push_frame(struct import_target *target, const struct event_frame *row,
			     uint32_t *stack);
/* Copies the row of an entity / replaces it, to set members that the functions above leave 0. The
 * row is the kind's struct. Errors: -ENOENT, those of a write. */
int import_target_get(const struct import_target *target, enum event_kind kind, uint32_t id,
		      void *ret_row);
int import_target_update(struct import_target *target, enum event_kind kind, const void *row);

/* The wall-clock time (ns since 1970) of a time of the file; only the first one is kept. To be
 * called after import_target_clock. */
int import_target_wall_clock(struct import_target *target, uint64_t time_ns, uint64_t realtime_ns);

/* The latest time of all rows so far, in the file's clock. */
uint64_t import_target_end(const struct import_target *target);

/* Returns an unused correlation id. */
uint64_t import_target_correlation(struct import_target *target);

/* Write one row. Errors: -errno of a write with a text. */
int import_target_call(struct import_target *target, const struct event_api *row);
int import_target_launch(struct import_target *target, const struct event_launch *row);
int import_target_execution(struct import_target *target, const struct event_execution *row);
int import_target_range(struct import_target *target, const struct event_range *row);
int import_target_sample(struct import_target *target, const struct event_cpu_sample *row);
int import_target_instruction(struct import_target *target,
			      const struct event_instruction_sample *row);
int import_target_counter(struct import_target *target, const struct event_counter *row);
int import_target_switch(struct import_target *target, const struct event_switch *row);
int import_target_collective(struct import_target *target, const struct event_collective *row);
/* Rows that the recording itself reports as lost. */
int import_target_loss(struct import_target *target, const struct event_loss *row);
