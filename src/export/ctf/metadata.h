/* SPDX-License-Identifier: MIT
 *
 * export/ctf/metadata.h - describe the streams of a CTF trace: events, fields, clocks
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct filter;

enum ctf_event {
	CTF_CALL_BEGIN,
	CTF_CALL_END,
	CTF_LAUNCH_BEGIN,
	CTF_LAUNCH_END,
	CTF_COMMAND_COMPLETE,
	CTF_CPU_SAMPLE,
	CTF_LOST,
	CTF_RANGE_BEGIN,
	CTF_RANGE_END,
	CTF_MARK,
	CTF_COUNTER,
	/* events of processors, named as the kernel's */
	CTF_SCHED_WAKEUP,
	CTF_SCHED_SWITCH,
	/* device events */
	CTF_COMMAND_QUEUED,
	CTF_COMMAND_SUBMITTED,
	CTF_COMMAND_STARTED,
	CTF_COMMAND_ENDED,
	CTF_EVENT_COUNT
};

#define CTF_STREAM_HOST    0u
#define CTF_STREAM_CPUS    1u
#define CTF_STREAM_DEVICES 2u /* the first of them */

struct output_folder;

/* Writes FOLDER/metadata in TSDL. Stream 0 is the host's, stream 1 that of processors (has_cpus);
 * stream 2 + i has the device events of clocks[i]. Errors: -errno with a text. */
int ctf_metadata_write(struct output_folder *folder, const struct filter *filter,
		       const uint8_t *uuid, bool has_cpus, const uint32_t *clocks,
		       size_t clocks_count);
