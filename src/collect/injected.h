/* SPDX-License-Identifier: MIT
 *
 * collect/injected.h - one process with a guest in it: its region, its rings, its ids
 */
#ifndef COLLECT_INJECTED_H
#define COLLECT_INJECTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/nodes.h"
#include "collect/program_counters.h"
#include "collect/ranges.h"
#include "collect/recording.h"
#include "collect/stacks.h"
#include "ring/ring.h"

/* A content that arrives in pieces. */
struct assembly {
	struct event_code row; /* written when the content is complete, or not any more to come */
	uint32_t guest_code;
	uint8_t *bytes; /* owned; NULL: none */
	size_t got;
	char *options; /* owned */
};

struct injected_ring {
	struct ring_reader reader;
	bool used;
	uint64_t until; /* position up to which it is still read, of a frozen process */
	struct event_thread thread;
	struct assembly assembly;
	struct range_list pushed; /* owned */
	struct stacks stacks;     /* owned; goes on from one thread of the ring to the next */
	uint32_t *
		functions; /* owned; RECORD_FUNCTION: the name of each, 0: none; NULL: there are none */
	uint64_t lost[EVENT_KIND_COUNT],
		nested[EVENT_KIND_COUNT]; /* already written as loss rows */
};

/* A guest's ids and the trace's: items[guest id - 1]. */
struct id_map {
	uint32_t *items; /* owned */
	size_t capacity;
};

struct injected_queue {
	uint32_t id, clock;
	bool described;
};

/* An execution whose queue is described in a ring that comes later in the round. */
struct waiting_execution {
	struct event_execution row;
	uint32_t guest_queue;
};

/* A queue whose device is described in a ring that comes later in the round. */
struct waiting_queue {
	struct event_queue row; /* all but device and clock */
	uint32_t guest_queue, guest_device;
};

/* A process, which may have several guests in it: one row for all of them, and in each of their regions other
 * commands. */
struct injected_process {
	struct event_process row;
	uint32_t references;
	uint32_t attachments; /* so far, of all its guests */
	bool is_python_told;  /* that it is one whose frames are not known */
};

/* What to do where a guest was refused something: a sentence of advice. result: of the vendor's `function`; holder: "" where
 * nobody is named. */
typedef void explain_refusal(const char *function, int32_t result, const char *holder,
			     char *ret_text, size_t size);

struct injected {
	struct recording *recording;      /* borrowed */
	struct injected_process *process; /* a reference; NULL: it was not opened */
	const char *collector;            /* borrowed; whose guest it is: "opencl" … */
	explain_refusal *explain;         /* NULL: it is refused nothing */
	char guest[20];                   /* as which it said hello */
	pid_t pid;
	int pid_fd; /* owned; -1 where the kernel has none */
	uint32_t
		attachment; /* which of its process's this is: in each, commands are counted anew */
	struct ring_region *region; /* owned mapping */
	uint64_t region_inode;
	size_t region_bytes;
	uint32_t ring_count, ring_bytes;
	uint32_t ring_most; /* … of a ring that it may have */
	uint32_t numbers[RING_NUMBER_COUNT];
	uint32_t rings_seen; /* rings below this index have been claimed at some time */
	uint32_t next_ring;  /* where the next round begins */
	bool has_more;       /* the last round ended before the rings' */
	bool is_frozen;
	struct injected_ring *rings; /* owned */
	struct id_map devices, device_clocks, contexts, codes;
	struct identities codes_known; /* owned */
	struct injected_queue *queues; /* owned; by guest id - 1 */
	size_t queues_capacity;
	struct waiting_execution *waiting; /* owned */
	size_t waiting_count, waiting_capacity;
	uint64_t waiting_lost;                /* executions that there was no room to let wait */
	struct waiting_queue *waiting_queues; /* owned */
	size_t waiting_queues_count, waiting_queues_capacity;
	uint64_t trouble[RING_TROUBLE_COUNT]; /* already written */
	uint64_t facts[RING_TROUBLE_COUNT];   /* of those that are told of in words at the end */
	/* What the recorder keeps on its account, in memory. */
	uint64_t room_bytes;      /* what its user has left; UINT64_MAX and thereabouts: no limit */
	uint64_t described_bytes; /* of its records: to the end of the recording */
	uint64_t kept_bytes;      /* the same with its own description; since it was charged */
	uint64_t held_bytes;      /* until it ends: ids, things, what is on its way … */
	uint64_t stack_bytes;     /* … its stacks among them … */
	uint64_t assembling_bytes; /* … and contents */
	uint64_t held_charged;
	char *exe; /* owned; path of the program */
	char name[64];
	uint32_t note; /* id of what is noted of it; 0: nothing */
	struct look_time
		looks;         /* what its user has left; the caller puts it in and takes it back */
	struct made_code made; /* owned */
	struct images images;  /* owned */
	struct ranges ranges;  /* owned */
	struct program_counters counters; /* owned */
	struct nodes nodes;               /* owned */
	bool wants_times;                 /* of devices */
	uint32_t untimed_queues;          /* without them all the same */
	uint32_t refusals;                /* told so far */
	/* Not written yet: */
	uint64_t undescribed;    /* things that there was no room for */
	uint64_t stacks_refused; /* stacks and what they are made of */
	uint64_t contents_lost;  /* too large, or not all of it came */
	uint64_t broken_times;
	uint64_t last_loss_ns;
	int64_t shift_ns; /* of its clock, by its time namespace */
	uint64_t beat_ns; /* the last one that we know of: the region's is anybody's */
	bool has_gap;     /* since it was attached: a loss row tells of it */
};

/* Who said hello. */
struct injected_peer {
	const char *collector;               /* borrowed; whose guest it is … */
	const char *guest;                   /* … as which it says hello */
	uint32_t ring_bytes;                 /* struct collector */
	uint32_t numbers[RING_NUMBER_COUNT]; /* beside the options; kept for a renewal */
	explain_refusal *explain;            /* the same */
	struct injected *sibling; /* another guest of the same image; NULL: it is the first */
	pid_t pid;
	uint32_t ns_pid; /* as it counts itself */
	uid_t uid;
	int pid_fd;             /* taken, also where opening fails; -1: the kernel has none */
	struct look_time looks; /* what its user has left */
	/* Called when the region is there, before the process is looked for: the guest waits for its region, and need not
	 * wait for the rest. NULL: not called. */
	void (*on_region)(void *context, const struct injected *injected, int region_fd);
	void *context;
};

/* Makes the shared region for a process; ret_fd is to be sent to the guest and closed. Smaller regions
 * are tried where limits of the recorder refuse the full one. Errors: -errno; -ESRCH where the process
 * has ended meanwhile, of which nothing is written. */
int injected_open(struct recording *recording, const struct injected_peer *peer, uint32_t options,
		  struct injected **ret_injected, int *ret_fd);

/* Names the parent of one of two processes where the other is it. */
void injected_relate(struct injected *one, struct injected *other);

/* Whether the process, which has said hello again, is still what was attached: no exec has come between.
 * if_unknown: the answer where this second has no time left for looking. */
bool injected_is_same_image(const struct injected *injected, bool if_unknown);

/* Whether its guest has closed its rings and may come back with nothing missing. */
bool injected_has_left(const struct injected *injected);

/* A process that came back to the same recorder gets a new region, as in injected_open; the old one is read
 * to its end, as far as most_ns allows, and its memory given back. Errors: -errno; it has no region then and
 * is to be closed. */
int injected_renew(struct injected *injected, uint32_t options, uint64_t most_ns, int *ret_fd);

/* Describes the end of process and threads, and where the process has ended, of its things. One that lives
 * on gets the memory of its rings back. NULL-safe. Returns what is left of its user's time for files. */
struct look_time injected_close(struct injected *injected);

/* Takes what the rings hold, for about so long; returns the bytes taken from the fullest ring. A round begins
 * where the one before ended (has_more). */
size_t injected_drain(struct injected *injected, uint64_t most_ns);

/* From now on only that is taken which the rings hold now. */
void injected_freeze(struct injected *injected);

/* Says that somebody reads, where this round does not come to it. */
void injected_beat(struct injected *injected);

/* Writes loss rows for what the guest could not write since the last time. */
void injected_count_losses(struct injected *injected, uint64_t now_ns);

/* Asks the guest for what its runtime still holds of commands that are over. False: it offers nothing of that kind. */
bool injected_ask_last(struct injected *injected);
/* All of that is in the rings. */
bool injected_has_given_last(const struct injected *injected);

/* Tells the guest that nobody reads any more. */
void injected_stop(struct injected *injected);

#endif
