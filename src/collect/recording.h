/* SPDX-License-Identifier: MIT
 *
 * collect/recording.h - one recording: the writer, the ids given out, what was seen before
 */
#ifndef COLLECT_RECORDING_H
#define COLLECT_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "collect/driver_calls.h"
#include "collect/kept.h"
#include "collect/submissions.h"
#include "trace/writer.h"

struct processes;

enum { RECORDING_FUNCTIONS = 1152 };

/* What a text costs beside its length, an identity with its id, a thing in the writer's tables, the place of a
 * content, a frame with what finds it, a node of a stack: what is kept is counted with it. */
enum {
	TEXT_BYTES = 56,
	IDENTITY_BYTES = 96,
	THING_BYTES = 192,
	CONTENT_BYTES = 160,
	FRAME_BYTES = 128,
	NODE_BYTES = 40
};

/* Identities and their ids, so that the same thing met again is the same id. */
struct identities {
	struct string_table keys;
	struct hash_map ids; /* by key's id */
};

void identities_init(struct identities *identities);
void identities_fini(struct identities *identities); /* NULL-safe */

/* The id under which a key was remembered; 0: never. */
uint32_t identities_find(const struct identities *identities, const char *key);
void identities_remember(struct identities *identities, const char *key, uint32_t id);

struct recording {
	struct trace_writer *writer; /* borrowed */
	struct processes *processes; /* owned; all that were seen */
	struct processes
		*others; /* owned; that are not recorded, and use GPUs beside those that are */
	bool tsc;
	char *const *command; /* borrowed; what is started to be recorded; NULL: nothing */
	const char *mark; /* borrowed; "NAME=VALUE" in its environment, ours alone; NULL: none */
	uint32_t guest_clock; /* domain of the times in guests' records */
	uint32_t host;
	/* The last id given out of each kind of thing. */
	uint32_t last_process, last_thread, last_device, last_context, last_queue, last_clock,
		last_code, last_collector, last_series;
	struct identities devices; /* collect/devices.h */
	struct hash_map
		sketches; /* of them, those that nobody but who counts them has described: id -> begin */
	struct hash_map device_users;                /* id << 32 | process: collect/devices.h */
	uint32_t functions[RECORDING_FUNCTIONS];     /* function id of a guest -> string id */
	struct event_clock_pair first_tsc, last_tsc; /* the recorder's own readings */
	uint32_t last_string, last_frame, last_stack;
	uint64_t kept_bytes; /* of all that stays in memory to the end */
	/* The recorder has as much memory as it may: whoever can do without more, and count what is left out, does. */
	bool is_memory_full;
	/* With --archive: what may lose its path before the archive is made. */
	bool keeps_files;
	struct kept_files kept;
	struct identities gone; /* paths of which it was noted that their files are not there */
	uint32_t gone_count;
	struct hash_map pythons; /* path string << 32 | build id string -> enum stack_python */
	/* What a user should see at once, and what one who looks would like to know; NULL: nobody listens. */
	void (*on_warning)(void *context, const char *text);
	void (*on_hint)(void *context, const char *text);
	void *warning_context;
	/* A guest's runtime has refused it all, in a process; NULL: nobody does anything about it. */
	void (*on_refused)(void *context, const char *collector, uint32_t pid);
	void *refused_context;
	struct submissions submissions; /* to GPUs; none where no driver's calls are recorded */
	struct driver_calls
		driver_calls; /* of threads that guests tell of; none where no driver's calls are recorded */
	uint32_t lookups;       /* in /proc, that may still be made in this second */
	uint64_t scratch[8192]; /* one record, the largest there is */
};

enum { RECORDING_GONE = 64 };

int recording_init(struct recording *recording, struct trace_writer *writer);
void recording_fini(struct recording *recording); /* NULL-safe */

/* The host's row; end_ns 0 while the recording runs. */
int recording_describe_host(struct recording *recording, uint64_t begin_ns, uint64_t end_ns);

uint32_t recording_string(struct recording *recording, const char *text);

/* Frames and stacks of the trace, each once for all processes; they stay to its end. 0: no memory. */
uint32_t recording_frame(struct recording *recording, const struct event_frame *row);
uint32_t recording_stack(struct recording *recording, uint32_t caller, uint32_t frame);

/* What a guest's record would say now. */
uint64_t recording_now(const struct recording *recording);

/* CLOCK_MONOTONIC of a time in a guest's record, from the recorder's own readings, of which one more is
 * taken where the time is far behind them; *ret_error_ns: how far it may be off. */
uint64_t recording_host_ns(struct recording *recording, uint64_t time, uint64_t *ret_error_ns);
/* How long so many ticks of the guests' clock are; 0 while its rate is not known. */
uint64_t recording_ticks_ns(struct recording *recording, uint64_t ticks);

/* A second begins: files of /proc may be looked at again (RECORDING_LOOKUPS; one costs some 30 us). */
enum { RECORDING_LOOKUPS = 4096 };
void recording_begin_second(struct recording *recording);

/* A collector's state, for `duet report`. process 0: the whole recording. Returns the note's id. */
uint32_t recording_note(struct recording *recording, const char *collector, uint32_t state,
			uint32_t process, const char *reason);

void recording_warn(const struct recording *recording, const char *text);
void recording_hint(const struct recording *recording, const char *text);

/* Name of a function by its number in event/opencl_calls.h and its like, "" where there is none. */
const char *guest_function_name(uint32_t function);

#endif
