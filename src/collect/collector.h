/* SPDX-License-Identifier: MIT
 *
 * collect/collector.h - the interface of a collector: a source of events with a name
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/collector_options.h"
#include "collect/guest/injected.h"
#include "collect/session.h"
#include "ring/ring.h"

/* Name of the option row that is a rate, as in NAME:10. */
#define COLLECTOR_RATE_NAME "HZ"

/* For a collector that reads at a rate: NAME or NAME:HZ. */
struct collector_rate {
	uint32_t usual_hz, max_hz;
	/* Option bits with which the user asks for the rate. Any other option without one of them
	 * sets the rate to 0. 0: all options ask for it. */
	uint32_t asked;
};

/* A guest's library and its entry function. The function is called in the process: int (const char
 * *argument). ring/session.h describes the argument; the result is an enum session_entered. */
struct collector_guest {
	const char *path, *entry;
};

struct entering_outcome;
struct environment;
struct source_list;
struct recording;

/* Functions of a collector that works in the recorder's loop. state: its own, from open to
 * close. */
struct collector_work {
	/* Checks the options against this machine. Errors: -errno with the error chain; nothing is
	 * started then. NULL: no check. */
	int (*check)(const struct session_options *session);
	/* Sets *ret_state to NULL if the collector is not chosen. Errors: -errno with the error
	 * chain; the recording goes on without the collector. */
	int (*open)(struct recording *recording, const struct session_options *session,
		    void **ret_state);
	/* Adds a process that is about to call exec for the program. Errors: as open; the collector
	 * is closed. */
	int (*watch)(void *state, pid_t pid);
	/* Adds a running process. pid_fd: to check that the pid was not reused; -1: the kernel has
	 * no pidfds. Errors: -ESRCH if it has ended; otherwise as watch. */
	int (*attach)(void *state, pid_t pid, int pid_fd);
	/* Becomes readable when drain should be called early; -1, or NULL: never. */
	int (*descriptor)(const void *state);
	/* Max time until the next call of drain. */
	uint64_t (*interval_ns)(const void *state);
	/* Work that cannot wait for the next round, and takes some 10 us. Returns the time until it
	 * is due again; UINT64_MAX: with the next round. NULL: there is none. */
	uint64_t (*look_ahead)(void *state);
	/* NULL: look and catch_up are called. */
	void (*drain)(void *state);
	/* Adds processes from /proc, if nothing else reports them. It is called before a guest is
	 * answered: the guest's process stands still until then, so /proc shows the image that said
	 * hello. NULL: not needed. */
	void (*look)(void *state);
	/* Reads the events before until_ns, and none after it that would start a new image. NULL:
	 * drain is called. */
	void (*catch_up)(void *state, uint64_t until_ns);
	void (*each_second)(void *state, uint64_t now_ns);
	void (*close)(void *state); /* NULL-safe */
};

/* How a collector's guests get into programs, and how the recorder decodes them. */
struct guest_way {
	const char *name;        /* name in their hello */
	const char *file;        /* file name of their library */
	uint32_t ring_bytes;     /* per thread, a power of two; 0: the default */
	const char *runtime;     /* runtime whose calls they record: "ROCm"; NULL: none */
	const char *library;     /* its library in a program; NULL: not looked for */
	const char *device_file; /* exists where the machine has such a device; NULL: unknown */
	uint32_t calls;          /* option bits that ask for these calls */
	/* Their launches can be left out and are still counted (guest_leaves_out). */
	bool leaves_out;
	explain_refusal *explain;       /* advice for a refusal; NULL: they report none */
	const struct guest_fact *facts; /* their own counts of trouble; NULL: none */
	/* Reasons for queues without device times; NULL: no note. */
	const struct untimed_reasons *untimed;
	/* Used for the first collector only. why_unrecorded: the reason why a running process (-p)
	 * has no recorded call. find_obstacle: the reason why a process cannot load the guest;
	 * NULL: none found. The text follows the process's name. */
	const char *(*why_unrecorded)(pid_t pid);
	const char *(*find_obstacle)(pid_t pid);
	/* Returns enum ring_option bits and sets the guest's own numbers. NULL: the collector's
	 * option bits. */
	uint32_t (*options)(const struct session_options *session,
			    uint32_t ret_numbers[RING_NUMBERS]);
	/* Prepares the environment so that the program loads the guest, and notes problems.
	 * ret_why: the reason why nothing is recorded, if the user should read it at the end too.
	 * Errors: -ENOMEM. */
	int (*arm)(struct recording *recording, const struct session_options *session,
		   struct environment *environment, bool *ret_armed, const char **ret_why);
	/* For -v: lines that explain how the program gets the guest, or why not. NULL: none. */
	void (*describe)(const struct session_options *session,
			 void (*on_line)(void *context, const char *text), void *context);
	/* Whether to load the guest into a running process (-p). is_alone: no other guest was
	 * tried, so a process without the runtime should be reported. False: do not load it;
	 * ret_why is the reason, "": do not report it. NULL: never. */
	bool (*enter)(const struct session_options *session, pid_t pid, bool is_alone,
		      struct collector_guest *ret_guest, char *ret_why, size_t size);
	/* Why the guest cannot be loaded into a running process that uses the library, and the
	 * remedy; follows "process N: ". NULL: see enter. */
	const char *why_not_late;
	/* Writes a sentence about the outcome. Returns the collector's state for the note. */
	uint32_t (*entered)(const struct session_options *session,
			    const struct entering_outcome *outcome, char *ret_text, size_t size);
	/* Called at the end. Explains why a runtime was not recorded, if the user may expect it to
	 * be. has_device: a device was seen. False: no note. NULL: not called. */
	bool (*explain_missing)(const struct session_options *session, bool has_guest,
				bool has_device, char *ret_text, size_t size);
};

/* Why a guest cannot be loaded at all. library: its file's name, a literal. */
#define COLLECTOR_NO_GUEST(library)                                                              \
	"the guest " library " is neither beside duet nor installed; reinstall duet, or run it " \
	"from its build folder"

struct collector {
	const char *name; /* same as its folder: "opencl", "cpu", "system" … */
	const char *help;
	bool unverified; /* no hardware has run it: it was tested with simulated drivers only */
	const struct guest_way *way;            /* NULL: it has no guests */
	bool by_request;                        /* never chosen by default */
	const struct collector_rate *rate;      /* NULL: it has no rate */
	const struct source_list *sources;      /* sources of counters; NULL: none */
	const struct collector_option *options; /* NULL: none */
	/* Effect of its name alone; a row without name and help. */
	struct collector_option named;
	uint32_t chosen_by; /* option bits that choose it; a rate chooses it without them */
	/* Whether it is chosen by default; NULL: yes. */
	bool (*is_default)(void);
	/* Completes the options when all choices are made. options: the collector's own struct.
	 * is_named: the user gave its name. Errors: -errno with the error chain. NULL: not
	 * needed. */
	int (*settle)(void *options, bool is_named);
	const struct collector_work *work; /* NULL: its guests do all work */
};

/* One per folder. */
extern const struct collector amd_collector;
extern const struct collector cpu_collector;
extern const struct collector drm_collector;
extern const struct collector intel_collector;
extern const struct collector level_zero_collector;
extern const struct collector nvidia_collector;
extern const struct collector opencl_collector;
extern const struct collector ranges_collector;
extern const struct collector system_collector;

/* All collectors, in the order of listings. */
extern const struct collector *const collectors[];
extern const size_t collectors_count;

/* Call look or catch_up of each open collector: see struct collector_work. */
void collectors_look(void *const *states);
/* Whether the collector of this name is marked as unverified. */
bool collectors_is_unverified(const char *name);
void collectors_catch_up(void *const *states, uint64_t until_ns);

bool collector_is_chosen(const struct collector *collector, const struct session_options *session);

/* Applies --collect LIST ("opencl:host,-cpu"). NULL: the defaults, which depend on session->any.
 * beside: a list of further collectors, which removes none; NULL: none. Errors: -EINVAL; the error
 * chain lists the existing names. */
int collectors_choose(const char *list, const char *beside, struct session_options *session);

/* Checks one word of such a list. Errors: -EINVAL as above. */
int collectors_check(const char *word);
