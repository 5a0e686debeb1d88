/* SPDX-License-Identifier: MIT
 *
 * collect/recording.h - one recording: the writer, the last ids, the identities
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "collect/guest/driver_calls.h"
#include "collect/stack/retained_files.h"
#include "collect/submissions.h"
#include "trace/writer.h"

struct processes;
struct stack_walker;

enum { RECORDING_FUNCTIONS = 1152 };

/* Memory that each kind costs in the recorder and in the writer's tables: a string beside its text,
 * an identity with its id, an entity, the place of a content, a frame, a node of a stack.
 * kept_bytes counts with these. */
enum {
	TEXT_BYTES = 56,
	IDENTITY_BYTES = 96,
	ENTITY_BYTES = 192,
	CONTENT_BYTES = 160,
	FRAME_BYTES = 128,
	NODE_BYTES = 40
};

/* Keys and their ids. An entity that is met again has the same key and gets the same id. */
struct identities {
	struct string_table keys;
	struct hash_map ids; /* key's id -> id in the trace */
};

void identities_init(struct identities *identities);
void identities_fini(struct identities *identities); /* NULL-safe */

/* Finds the id of a key; 0: not known. */
uint32_t identities_find(const struct identities *identities, const char *key);
void identities_remember(struct identities *identities, const char *key, uint32_t id);

/* Devices, one id for all collectors: collect/devices.h. */
struct device_table {
	struct identities known;
	/* id -> start, of devices that only a collector of counters has described. */
	struct hash_map sketches;
	struct hash_map users;   /* keys id << 32 | process */
	struct hash_map parents; /* id of a slice -> id of the whole device */
};

/* Facts about files of programs. */
struct file_notes {
	struct identities gone; /* paths whose files are missing, as was noted already */
	uint32_t gone_count;
	struct hash_map pythons; /* path string << 32 | build id string -> enum stack_python */
};

struct recording {
	struct trace_writer *writer; /* borrowed */
	struct processes *processes; /* owned; processes of the recording */
	/* owned; other processes that use GPUs and are not recorded */
	struct processes *others;
	/* Shared by the collectors that walk stacks, the last of which frees it; NULL: none. */
	struct stack_walker *walker;
	bool tsc;
	char *const *command; /* borrowed; the program to record; NULL: none */
	/* Borrowed; "NAME=VALUE" in its environment that no other recording has; NULL: none. */
	const char *mark;
	uint32_t guest_clock; /* clock domain of the times in guests' records */
	uint32_t host;
	/* The last id of each kind of entity. */
	uint32_t last_process, last_thread, last_device, last_context, last_queue, last_clock,
		last_code, last_collector, last_series;
	struct device_table device_table;
	uint32_t functions[RECORDING_FUNCTIONS]; /* function id of a guest -> id of the string */
	struct event_clock_pair first_tsc, last_tsc; /* readings by the recorder */
	uint32_t last_string, last_frame, last_stack;
	uint64_t kept_bytes; /* memory that is used until the end */
	/* The recorder has reached its limit of memory. Collectors then drop data that they can do
	 * without, and count the loss. */
	bool is_memory_full;
	/* With --archive: files that may lose their path before the archive is written. */
	bool keeps_files;
	struct retained_files kept;
	struct file_notes file_notes;
	/* Called with a message that the user should see at once, or with a hint. NULL: not
	 * called. */
	void (*on_warning)(void *context, const char *text);
	void (*on_hint)(void *context, const char *text);
	void *warning_context;
	/* Called when a runtime refused all work of a guest in a process. NULL: not called. */
	void (*on_refused)(void *context, const char *collector, uint32_t pid);
	void *refused_context;
	/* Whether rows of this collector are marked as unverified; NULL: none is. */
	bool (*is_unverified)(const char *collector);
	struct submissions submissions; /* calls of GPU drivers; empty if they are not recorded */
	/* Driver calls of threads with a guest; empty if they are not recorded. */
	struct driver_calls driver_calls;
	uint32_t lookups;       /* number of /proc files that may be read in this second */
	uint64_t scratch[8192]; /* one record of the largest size */
};

enum { RECORDING_GONE = 64 };

int recording_init(struct recording *recording, struct trace_writer *writer);
void recording_fini(struct recording *recording); /* NULL-safe */

/* Writes the host's row; end_ns 0: the recording runs. */
int recording_describe_host(struct recording *recording, uint64_t begin_ns, uint64_t end_ns);

uint32_t recording_string(struct recording *recording, const char *text);

/* Return the id of a frame or stack, which are shared by all processes and kept until the end. 0:
 * no memory. */
uint32_t recording_frame(struct recording *recording, const struct event_frame *row);
uint32_t recording_stack(struct recording *recording, uint32_t caller, uint32_t frame);

/* Returns the time that a guest would record now. */
uint64_t recording_now(const struct recording *recording);

/* Converts a time of a guest's record to CLOCK_MONOTONIC by the recorder's clock readings. If the
 * time is far behind them, one more reading is taken. *ret_error_ns: max error. */
uint64_t recording_host_ns(struct recording *recording, uint64_t time, uint64_t *ret_error_ns);
/* Converts ticks of the guests' clock to nanoseconds; 0 while its rate is not known. */
uint64_t recording_ticks_ns(struct recording *recording, uint64_t ticks);

/* Starts a second with a new budget of /proc files (RECORDING_LOOKUPS; one takes some 30 us). */
enum { RECORDING_LOOKUPS = 4096 };
void recording_begin_second(struct recording *recording);

/* Writes a note: a collector's state, for `duet report`. process 0: the whole recording. Returns
 * the note's id. */
uint32_t recording_note(struct recording *recording, const char *collector, uint32_t state,
			uint32_t process, const char *reason);

/* Writes how many rows of a kind (enum event_kind, or LOSS_KIND_STACK) are missing in a time. */
void recording_lose(struct recording *recording, uint32_t kind, uint32_t reason, uint64_t begin_ns,
		    uint64_t end_ns, uint64_t count);
/* The same for a count since the start; nothing if it has not grown since the last call. */
void recording_lose_more(struct recording *recording, uint32_t kind, uint32_t reason,
			 uint64_t begin_ns, uint64_t end_ns, uint64_t count,
			 uint64_t *inout_written);

void recording_warn(const struct recording *recording, const char *text);
void recording_hint(const struct recording *recording, const char *text);

/* Name of a function by its number in abi/function_names.h; "": no such function. */
const char *guest_function_name(uint32_t function);
