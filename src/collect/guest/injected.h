/* SPDX-License-Identifier: MIT
 *
 * collect/guest/injected.h - one guest in a process: its region, its rings, its ids
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/guest/budget.h"
#include "collect/guest/graph_nodes.h"
#include "collect/guest/program_counters.h"
#include "collect/guest/ranges.h"
#include "collect/guest/region.h"
#include "collect/guest/stacks.h"
#include "collect/recording.h"
#include "ring/ring.h"

/* A code object's content that arrives in pieces. */
struct assembly {
	struct event_code row; /* written when the content is complete or given up */
	uint32_t guest_code;
	uint8_t *bytes; /* owned; NULL: none */
	size_t got;
	char *options; /* owned */
};

struct injected_ring {
	struct ring_reader reader;
	bool used;
	bool has_launched; /* noted for its present thread */
	uint64_t until;    /* end of the bytes to read from a frozen guest */
	struct event_thread thread;
	struct assembly assembly;
	struct range_list pushed; /* owned */
	struct stacks stacks;     /* owned; kept when the ring gets another thread */
	/* Owned; strings of the functions that the guest named (RECORD_FUNCTION). 0: no name; NULL:
	 * no functions. */
	uint32_t *functions;
	uint64_t lost[EVENT_KIND_COUNT],
		nested[EVENT_KIND_COUNT]; /* already written as loss rows */
};

/* Maps a guest's ids to those of the trace: items[guest id - 1]. */
struct id_map {
	uint32_t *items; /* owned */
	size_t capacity;
};

struct injected_queue {
	uint32_t id, clock;
	bool described;
};

/* An execution whose queue or devices are described in a ring that is read later in the round. */
struct waiting_execution {
	struct event_execution row;
	uint32_t guest_queue;
};

/* A queue whose device is described in a ring that is read later in the round. */
struct waiting_queue {
	struct event_queue row; /* without device and clock */
	uint32_t guest_queue, guest_device;
};

/* Tables from the guest's ids to those of the trace. */
struct guest_ids {
	struct id_map devices, device_clocks, contexts, codes;
	struct identities codes_known; /* owned */
	struct injected_queue *queues; /* owned; by guest id - 1 */
	size_t queues_capacity;
};

/* Rows that need a description from a ring that is read later in the round. */
struct pending_rows {
	struct waiting_execution *executions; /* owned */
	size_t executions_count, executions_capacity;
	struct waiting_queue *queues; /* owned */
	size_t queues_count, queues_capacity;
};

/* Records that the guest or the recorder could not keep. */
struct guest_losses {
	uint64_t trouble[RING_TROUBLE_COUNT]; /* counts of the guest that are written already */
	uint64_t facts[RING_TROUBLE_COUNT];   /* counts for the notes at the end */
	/* Not written yet: */
	uint64_t executions;  /* no room among the pending executions */
	uint64_t undescribed; /* entities without room for their description */
	uint64_t stacks;      /* stacks and their modules without room */
	uint64_t contents;    /* too large, or incomplete */
	uint64_t broken_times;
	uint64_t since_ns; /* start of the interval of the next loss rows */
};

/* Launches and calls that the guest counted and did not record (RING_DETAIL_COUNTERS). */
struct guest_left_out {
	bool is_off;
	uint64_t begin_ns, end_ns; /* the present or last interval */
	uint64_t launches, calls;  /* counts that are written already */
};

/* A process. Its guests share one row; each attachment of a guest counts its commands anew. */
struct injected_process {
	struct event_process row;
	uint32_t references;
	uint32_t attachments;      /* number so far, of all its guests */
	uint32_t yardstick_string; /* name of the ranges that --overhead-range counts; 0: none */
	uint64_t yardsticks;       /* completed ranges of this name */
	bool has_python_note;      /* the note on an unknown version of Python is written */
};

/* Writes one sentence of advice for a refusal. result: the return value of the vendor's `function`;
 * holder: the process that uses the device, "" if unknown. */
typedef void explain_refusal(const char *function, int32_t result, const char *holder,
			     char *ret_text, size_t size);

/* Trouble of a guest that is noted in words when its process ends. The note begins with the pid and
 * name of the process. */
struct guest_fact {
	uint32_t trouble; /* an index from RING_TROUBLE_GUEST on */
	bool is_loud;     /* warn the user at once */
	/* Whether launch records are missing, in known or unknown number. */
	enum { LOSES_NOTHING, LOSES_LAUNCHES, LOSES_UNKNOWN } loses;
	const char *one;  /* text without a count; NULL: use `many` */
	const char *many; /* text behind a count; both NULL: the end of the table */
};

/* Reasons why queues have no device times, and the remedy: two sentences without the last full
 * stop. */
struct untimed_reasons {
	const char *from_start; /* the program was recorded from its start */
	const char *before;     /* the program was running before */
};

/* Texts and functions that the guest's collector provides. */
struct guest_kind {
	const char *collector;                 /* borrowed; name, for example "opencl" */
	explain_refusal *explain;              /* NULL: this guest reports no refusals */
	const struct guest_fact *facts;        /* borrowed; NULL: none */
	const struct untimed_reasons *untimed; /* borrowed; NULL: no note about them */
};

/* State of the rounds in which a guest's rings are read. */
struct ring_round {
	uint32_t rings_seen; /* rings below this index have been used */
	uint32_t next_ring;  /* first ring of the next round */
	bool has_more;       /* the last round ended before all rings were empty */
	bool is_frozen;      /* only the bytes at the time of injected_freeze are read */
};

/* State of the notes about a guest. */
struct guest_notes {
	uint32_t id;             /* id of the note on a gap; 0: none */
	uint32_t untimed_queues; /* queues without device times although these were requested */
	uint32_t refusals;       /* noted so far */
	bool has_gap;            /* a gap since the attachment is recorded as a loss */
};

struct injected {
	struct recording *recording;      /* borrowed */
	struct injected_process *process; /* a reference; NULL: opening failed */
	struct guest_kind kind;
	char guest[20]; /* name that the guest sent in its hello */
	pid_t pid;
	int pid_fd; /* owned; -1: the kernel has no pidfds */
	/* Number of this attachment in its process. Each attachment counts its commands anew. */
	uint32_t attachment;
	struct guest_region region;  /* owned */
	struct injected_ring *rings; /* owned; one per ring of the region */
	struct ring_round round;
	struct guest_ids ids;        /* owned */
	struct pending_rows pending; /* owned */
	struct guest_losses losses;
	struct guest_left_out left_out;
	uint64_t harvest_ticks; /* ticks of the guest's long sections that repeat with each command
				 */
	struct guest_budget budget;
	char *exe; /* owned; path of the program */
	char name[64];
	struct guest_notes notes;
	/* The user's remaining time for files. The caller sets it before a call and takes it back
	 * afterwards. */
	struct lookup_budget looks;
	struct jit_code made;             /* owned */
	struct images images;             /* owned */
	struct ranges ranges;             /* owned */
	struct program_counters counters; /* owned */
	struct graph_nodes nodes;         /* owned */
};

/* A guest that said hello, and what its collector gives for it. */
struct injected_peer {
	struct guest_kind kind;
	const char *guest;              /* name that the guest sent in its hello */
	uint32_t ring_bytes;            /* as in struct guest_way */
	uint32_t options;               /* options for its region */
	uint32_t numbers[RING_NUMBERS]; /* the guest's own options; kept for a renewal */
	struct injected *sibling; /* another guest of the same process; NULL: this is the first */
	pid_t pid;
	uint32_t ns_pid; /* pid in its own namespace */
	uid_t uid;
	int pid_fd; /* injected_open owns it, even if it fails; -1: the kernel has no pidfds */
	struct lookup_budget looks; /* the user's remaining time for files */
	struct quota *memory;       /* borrowed; the user's quota; NULL: no limit */
	/* Called when the region exists and before /proc is read, so that the guest gets its answer
	 * early. NULL: not called. */
	void (*on_region)(void *context, const struct injected *injected, int region_fd);
	void *context;
};

/* Creates the shared region for a guest. The caller sends ret_fd to the guest and closes it. If
 * limits of the recorder refuse the full size, smaller ones are tried. Errors: -errno; -ESRCH if
 * the process has ended, which writes no rows. */
int injected_open(struct recording *recording, const struct injected_peer *peer,
		  struct injected **ret_injected, int *ret_fd);

/* Sets the parent of one of the processes if the other one is it. */
void injected_relate(struct injected *one, struct injected *other);

/* Whether the process still runs the image that was attached, without an exec since. if_unknown:
 * the answer if this second's budget of lookups is used up. */
bool injected_is_same_image(const struct injected *injected, bool if_unknown);

/* Whether the guest has closed its rings in order. It may come back, and no events are missing
 * then. */
bool injected_has_left(const struct injected *injected);

/* Creates a new region for a guest that came back. The old region is read for at most most_ns, and
 * its memory is freed. Errors: -errno; the guest then has no region and must be closed. */
int injected_renew(struct injected *injected, uint64_t most_ns, int *ret_fd);

/* Writes the end of the guest's threads and, if the process has ended, of its entities. If the
 * process lives on, the memory of its rings is freed. NULL-safe. Returns the rest of the user's
 * time for files. */
struct lookup_budget injected_close(struct injected *injected);

/* Reads the rings for about most_ns. Returns the bytes read from the fullest ring. A round starts
 * at the ring where the last one stopped (has_more). */
size_t injected_drain(struct injected *injected, uint64_t most_ns);

/* From now on, only the bytes that the rings hold now are read. */
void injected_freeze(struct injected *injected);

/* Writes the heartbeat when this round does not read the guest's rings. */
void injected_beat(struct injected *injected);

/* Writes loss rows for what the guest could not record since the last call. */
void injected_count_losses(struct injected *injected, uint64_t now_ns);

/* Asks the guest for data that its runtime still holds about finished commands. False: the guest
 * does not offer that. */
bool injected_ask_last(struct injected *injected);
/* From when on the guest says that it records all calls (CLOCK_MONOTONIC); 0: not known yet. */
uint64_t injected_begun_ns(const struct injected *injected);
/* Whether the guest has written all of that into its rings. */
bool injected_has_given_last(const struct injected *injected);

/* Disables the guest's rings: they are not read any more. */
void injected_stop(struct injected *injected);

/* ---- how much is recorded (detail.c) ----------------------------------------------------------
 */

/* Sets enum ring_detail for all calls from now on. */
void injected_set_detail(struct injected *injected, uint32_t detail, uint64_t now_ns);
/* Writes loss rows for what was left out since the last call. */
void injected_count_left_out(struct injected *injected, uint64_t now_ns);
/* Launches so far, recorded or not. */
uint64_t injected_launches(const struct injected *injected);
uint64_t injected_ring_launches(const struct injected_ring *ring);
/* Time of the guest in the program so far, in calls and short sections. Those in which other
 * processes had the processor are not among them. */
uint64_t injected_guest_ns(const struct injected *injected);
/* The same in long sections that repeat with each command. They contain the time in which other
 * processes had the processor. */
uint64_t injected_long_ns(const struct injected *injected);

/* ---- losses (losses.c) ------------------------------------------------------------------------
 */

/* Writes a loss since the last call of injected_count_losses. thread: id of the trace, or 0. */
void injected_put_loss(struct injected *injected, uint32_t thread, uint32_t kind, uint32_t reason,
		       uint64_t count, uint64_t now_ns);
/* Writes losses of one ring, whose thread ends. */
void injected_count_ring_losses(struct injected *injected, struct injected_ring *ring,
				uint64_t now_ns);
/* Write the notes for the end of a guest. */
void injected_note_facts(const struct injected *injected);
void injected_note_untimed_queues(const struct injected *injected);
