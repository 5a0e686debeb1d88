/* SPDX-License-Identifier: MIT
 *
 * duet.h - embed a recorder, mark ranges: the C API of libduet
 *
 * A program names what it does (ranges, marks, counters) and, if it likes, records itself:
 *
 *     struct duet *duet = duet_open(NULL, "run.duet", 0);
 *
 *     duet_start(duet);
 *     duet_range_push(duet, NULL, "step");
 *     ...
 *     duet_range_pop(duet, NULL);
 *     duet_stop(duet);
 *     duet_close(duet);
 *
 * Link with -lduet (pkg-config duet). Needs Linux 4.14 and libc; C99 or C++98.
 *
 * Who records   duet_start() starts `duet record` as a process of its own, which reads what this library writes into
 *               memory shared with it. A program that was started by `duet record -- PROGRAM` writes to that recorder
 *               instead. Without a recorder every call but open, start, stop and close does nothing.
 * Threads       Every function may be called by any thread at any time, but duet_close: no other call may be under way
 *               then, nor come later; threads that wrote may end meanwhile. No thread is created, no signal is sent to
 *               the program or caught by it, and wait() and SIGCHLD are its own: the recorder is no child of it, and where
 *               it would become one (the program is process 1 of a container, or a subreaper) a process that no wait()
 *               without __WCLONE sees stands in between. With process 1 the kernel kills all others of the container:
 *               call duet_stop before its end.
 * NULL          Every function takes NULL for the handle and does nothing: a program need not ask whether duet_open
 *               succeeded.
 * Cost          While nobody records a call is a load and a branch in the program itself, below 1 ns, and while a
 *               recorder is looked for 11 ns. While somebody does, a range that is pushed and popped takes 39 ns
 *               and a counter 21 ns (bench/lib.py; LTTng-UST with two tracepoints of the same texts: 226 ns). A thread's
 *               first call and the first writing of each page of its ring cost some microseconds more.
 * Memory        Each thread that writes has a ring of up to 8 MiB of shared memory, of which only what is written is
 *               there. What does not fit, because more comes than the recorder reads, is counted, and shown in the
 *               report. Each start takes up to 1 GiB of addresses, not of memory, until duet_close.
 * fork, exec    A child made by fork() writes as a process of its own to the recorder of its parent, from its first call
 *               on, which waits for it, half a second at most; what is said before a late answer is counted. Starting and
 *               stopping that recorder is its parent's. exec ends what the program recorded of itself.
 * Death         What was written before a crash or kill -9 of the program is recorded; the recorder then completes the
 *               file by itself. A recorder that dies leaves what it had written so far, and does no harm to the program.
 * Errors        are negative errno values; duet_error() says in words what to do.
 */
#ifndef DUET_H
#define DUET_H

#include <stdint.h>

#ifndef DUET_PUBLIC
#if defined(__GNUC__)
#define DUET_PUBLIC __attribute__((visibility("default")))
#else
#define DUET_PUBLIC
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Names what is written by one part of a program, and has at most one recorder. A process may have several. */
struct duet;

/* How a handle comes to its recorder: flags of duet_open. */
#define DUET_JOIN 1u /* start none: write to whoever records this program, now or later */
#define DUET_OWN  2u /* start one even where `duet record` records this program already */

/* What duet_start returns where it succeeds and has started no recorder. */
#define DUET_JOINED \
	1 /* somebody records this program already, and what it names is recorded there; later by the next one that comes */
#define DUET_LOOKING \
	2 /* with DUET_JOIN: nobody does yet; calls look for a recorder, once a second, without waiting */

/*
 * A new handle; nothing is recorded yet.
 *
 * config   the recorder's configuration file (`duet record -c`); NULL: none
 * output   the file to be written (`duet record -o`, where %p, %h and %q{VAR} are known); NULL: what the configuration
 *          says, else duet.duet
 * flags    0, DUET_JOIN or DUET_OWN
 *
 * Both paths are copied; a relative one is taken from the working directory at the time of duet_start. Returns NULL with
 * errno: EINVAL unknown flags; ENAMETOOLONG; ENOMEM; EAGAIN too many handles (PTHREAD_KEYS_MAX, 1024); ENOSYS a kernel
 * older than 4.14. Closed by duet_close.
 */
DUET_PUBLIC struct duet *duet_open(const char *config, const char *output, uint32_t flags);

/* Stops, where that was not done, and frees the handle. Threads that wrote need not have ended. */
DUET_PUBLIC void duet_close(struct duet *duet);

/*
 * Starts recording, and returns once everything is recorded from here on: some 20 ms where a recorder is started, 1 ms
 * where one is there, 20 s at most. A program's runtimes (OpenCL, …) are recorded where their guest is loaded in it: start
 * before their first call, and see docs/howto/embed.md.
 *
 * Returns 0 (a recorder of its own has been started), DUET_JOINED or DUET_LOOKING. A recorder that somebody else started
 * may have been told to leave ranges out: duet_is_recording() says.
 *
 * Errors: -EALREADY it records already; -ENOENT there is no program `duet`: neither $DUET_PROGRAM, nor where it was
 * installed, nor in PATH; -EPERM the program runs with another user's rights (setuid), or has put a seccomp filter on
 * itself since `duet record` started it; -EIO the recorder could not start, which it says in duet_error(); -ETIMEDOUT it does not
 * answer; -EINVAL no handle; else what the system said.
 */
DUET_PUBLIC int duet_start(struct duet *duet);

/*
 * Stops recording. Where the recorder is the handle's own, returns once its file is complete, which takes some
 * 10 ms and up to seconds for large ones, 30 s at most. It may be started again afterwards: the second recording of
 * a handle writes run.2.duet where the first wrote run.duet, the third run.3.duet, also where a recorder has died. Where
 * output has a %q{VAR} the program names each by itself, and one of the same name is replaced.
 *
 * Returns 0, also where nothing was recording. Errors: -EIO the recorder failed, which it says in duet_error(); -EPIPE it
 * died: its file ends where it did; -ETIMEDOUT it is still writing.
 */
DUET_PUBLIC int duet_stop(struct duet *duet);

/* 1 while what is named is recorded, else 0: names that cost much to make need not be made. */
DUET_PUBLIC int duet_is_recording(const struct duet *duet);

/* What the last duet_start or duet_stop has to say where it failed: one line; "" where it did not. Of the handle; until
 * the next of these calls. */
DUET_PUBLIC const char *duet_error(const struct duet *duet);

/*
 * Ranges of a thread: what is pushed is popped by the same thread, the last one first; those of different domains need
 * not nest in one another.
 *
 * domain   who names: a library, a part of the program; NULL: "duet". Of a pop the same as of its push
 * name     UTF-8, of which 1020 bytes are kept; a copy is taken
 */
DUET_PUBLIC void duet_range_push(struct duet *duet, const char *domain, const char *name);
DUET_PUBLIC void duet_range_pop(struct duet *duet, const char *domain);

/* Ranges of a process: started by one thread and stopped by any, in any order. Returns what duet_range_stop takes; 0
 * while nothing is recorded, of which the stop does nothing. */
DUET_PUBLIC uint64_t duet_range_start(struct duet *duet, const char *domain, const char *name);
DUET_PUBLIC void duet_range_stop(struct duet *duet, uint64_t id);

/* A moment. */
DUET_PUBLIC void duet_mark(struct duet *duet, const char *domain, const char *name);

/*
 * The value that something has from now on, such as a loss or the length of a queue: a series of the process.
 *
 * name     lower case, words behind dots: "queue.length"; NULL or "": nothing is recorded
 * unit     of value, a base unit: "bytes", "ns", "events"; NULL: none
 */
DUET_PUBLIC void duet_counter(struct duet *duet, const char *name, const char *unit, int64_t value);

/* ---- while nobody records ---------------------------------------------------------------------- */

/* The first word of a handle is 1 while there is nothing to do, in every version of this library: what follows asks that before it
 * calls. DUET_NO_INLINE: calls only. */
#if defined(__GNUC__) && !defined(DUET_NO_INLINE)
static inline int duet_is_idle(const struct duet *duet)
{
	return !duet ||
	       __atomic_load_n((const uint32_t *)(const void *)duet, __ATOMIC_RELAXED) == 1;
}

static inline void duet_range_push_inline(struct duet *duet, const char *domain, const char *name)
{
	if (!duet_is_idle(duet))
		duet_range_push(duet, domain, name);
}

static inline void duet_range_pop_inline(struct duet *duet, const char *domain)
{
	if (!duet_is_idle(duet))
		duet_range_pop(duet, domain);
}

static inline uint64_t duet_range_start_inline(struct duet *duet, const char *domain,
					       const char *name)
{
	return duet_is_idle(duet) ? 0 : duet_range_start(duet, domain, name);
}

static inline void duet_range_stop_inline(struct duet *duet, uint64_t id)
{
	if (!duet_is_idle(duet))
		duet_range_stop(duet, id);
}

static inline void duet_mark_inline(struct duet *duet, const char *domain, const char *name)
{
	if (!duet_is_idle(duet))
		duet_mark(duet, domain, name);
}

static inline void duet_counter_inline(struct duet *duet, const char *name, const char *unit,
				       int64_t value)
{
	if (!duet_is_idle(duet))
		duet_counter(duet, name, unit, value);
}

#define duet_range_push(duet, domain, name)   duet_range_push_inline(duet, domain, name)
#define duet_range_pop(duet, domain)          duet_range_pop_inline(duet, domain)
#define duet_range_start(duet, domain, name)  duet_range_start_inline(duet, domain, name)
#define duet_range_stop(duet, id)             duet_range_stop_inline(duet, id)
#define duet_mark(duet, domain, name)         duet_mark_inline(duet, domain, name)
#define duet_counter(duet, name, unit, value) duet_counter_inline(duet, name, unit, value)
#endif

#ifdef __cplusplus
}
#endif

#endif
