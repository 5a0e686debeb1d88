/* SPDX-License-Identifier: MIT
 *
 * duet.h - C API of libduet: annotate a program and record it from within
 *
 * A program marks its work with ranges, marks and counters. It can also start its own recording:
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
 * Recorder      duet_start() starts `duet record` as a separate process, which reads the events
 *               from memory that it shares with this library. A program that was started by `duet
 *               record -- PROGRAM` writes to that recorder instead. Without a recorder, only
 *               duet_open, duet_start, duet_stop and duet_close do anything.
 * Threads       Every function is thread-safe except duet_close: no other call on the handle may
 *               run at the same time or later. Threads that wrote events may have ended by then.
 *               The library creates no thread, sends no signal to the program and catches none.
 *               wait() and SIGCHLD stay the program's: the recorder is not its child. If the
 *               recorder would become its child (the program is process 1 of a container, or a
 *               subreaper), a helper process stands in between that only wait() with __WCLONE
 *               sees. When process 1 ends, the kernel kills all other processes of the container:
 *               call duet_stop before that.
 * NULL          Every function accepts a NULL handle and then does nothing, so a program need not
 *               check the result of duet_open.
 * Cost          Without a recorder a call is a load and a branch in the program itself, below 1
 *               ns; 11 ns while the library looks for a recorder. While recording, pushing and
 *               popping a range takes 39 ns and a counter 21 ns (bench/lib.py; LTTng-UST with two
 *               tracepoints of the same texts: 226 ns). A thread's first call, and the first write
 *               to each page of its ring, cost some microseconds more.
 * Memory        Each thread that writes has a ring of up to 8 MiB of shared memory; only pages
 *               that were written are allocated. Events that do not fit because the recorder reads
 *               too slowly are counted, and the report shows the count. Each start reserves up to
 *               1 GiB of address space, not of memory, until duet_close.
 * fork, exec    A child made by fork() writes as a process of its own to its parent's recorder.
 *               Its first call waits for that recorder, at most 0.5 s; events before a late answer
 *               are counted. Only the parent can start and stop that recorder. exec ends what the
 *               program recorded from within.
 * Death         Events written before a crash or kill -9 of the program are recorded; the recorder
 *               then completes the file by itself. If the recorder dies, the file keeps what it
 *               had written so far and the program runs on unharmed.
 * Errors        are negative errno values; duet_error() returns a message with the remedy.
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

/* A handle: the part of a program that writes the events. It has at most one recorder. A process
 * may have several handles. */
struct duet;

/* How a handle finds its recorder: flags of duet_open. */
#define DUET_JOIN 1u /* start no recorder: use the one of this program, now or later */
#define DUET_OWN  2u /* start a recorder even if `duet record` already records this program */

/* Results of duet_start when it succeeds without starting a recorder. */

/* A recorder already records this program and gets its events; later the next recorder does. */
#define DUET_JOINED 1

/* With DUET_JOIN: there is no recorder yet. Calls look for one once a second, without waiting. */
#define DUET_LOOKING 2

/*
 * Creates a handle; nothing is recorded yet.
 *
 * config   configuration file of the recorder (`duet record -c`); NULL: none
 * output   the trace file (`duet record -o`, with %p, %h and %q{VAR}); NULL: the file that the
 *          configuration names, otherwise duet.duet
 * flags    0, DUET_JOIN or DUET_OWN
 *
 * Both paths are copied; a relative path is resolved when duet_start is called. Returns NULL with
 * errno: EINVAL unknown flags; ENAMETOOLONG; ENOMEM; EAGAIN too many handles (PTHREAD_KEYS_MAX,
 * 1024); ENOSYS a kernel older than 4.14. Close the handle with duet_close.
 */
DUET_PUBLIC struct duet *duet_open(const char *config, const char *output, uint32_t flags);

/* Stops the recording if it still runs, and frees the handle. Threads that wrote events need not
 * have ended. */
DUET_PUBLIC void duet_close(struct duet *duet);

/*
 * Starts recording and returns once everything from here on is recorded. This takes about 20 ms if
 * it starts a recorder, 1 ms if it joins one, and at most 20 s. Runtimes (OpenCL, …) are recorded
 * only if their guest is loaded in the program: start before the first call of the runtime, and see
 * docs/howto/embed.md.
 *
 * Returns 0 (started a recorder), DUET_JOINED or DUET_LOOKING. A recorder started by `duet record`
 * may have ranges switched off: check duet_is_recording().
 *
 * Errors: -EALREADY this handle already records; -ENOENT the program `duet` was not found in
 * $DUET_PROGRAM, its installation folder or PATH; -EPERM the program runs with another user's
 * rights (setuid), or has installed a seccomp filter since `duet record` started it; -EIO the
 * recorder could not start, duet_error() has the reason; -ETIMEDOUT it does not answer; -EINVAL no
 * handle; otherwise the -errno of the system call that failed.
 */
DUET_PUBLIC int duet_start(struct duet *duet);

/*
 * Stops recording. If the handle started the recorder, returns once the trace file is complete.
 * This takes about 10 ms, seconds for large files, and at most 30 s. Recording may be started again
 * afterwards. The second recording of a handle then writes run.2.duet if the first wrote run.duet,
 * the third run.3.duet, even if a recorder has died. If `output` contains a %q{VAR}, the program
 * names each file itself, and a file of the same name is replaced.
 *
 * Returns 0, also if nothing was being recorded. Errors: -EIO the recorder failed, duet_error() has
 * the reason; -EPIPE it died, and its file ends there; -ETIMEDOUT it is still writing.
 */
DUET_PUBLIC int duet_stop(struct duet *duet);

/* Returns 1 while ranges, marks and counters are recorded, otherwise 0. Check it before building
 * names that are expensive. */
DUET_PUBLIC int duet_is_recording(const struct duet *duet);

/* The error message of the last duet_start or duet_stop on this handle: one line, "" if it
 * succeeded. Valid until the next of these calls. */
DUET_PUBLIC const char *duet_error(const struct duet *duet);

/*
 * Ranges of a thread. The thread that pushed a range pops it, the last one first. Ranges of
 * different domains need not nest in one another.
 *
 * domain   the library or the part of the program that the range belongs to; NULL: "duet". Push and
 *          pop of a range must name the same domain
 * name     UTF-8, of which 1020 bytes are kept; it is copied
 */
DUET_PUBLIC void duet_range_push(struct duet *duet, const char *domain, const char *name);
DUET_PUBLIC void duet_range_pop(struct duet *duet, const char *domain);

/* Ranges of a process. One thread starts a range and any thread stops it, in any order. Returns the
 * id for duet_range_stop, 0 while nothing is recorded; stopping 0 does nothing. */
DUET_PUBLIC uint64_t duet_range_start(struct duet *duet, const char *domain, const char *name);
DUET_PUBLIC void duet_range_stop(struct duet *duet, uint64_t id);

/* Marks a point in time. */
DUET_PUBLIC void duet_mark(struct duet *duet, const char *domain, const char *name);

/*
 * Sets the current value of a counter, such as a loss or a queue length. Each process has its own
 * series.
 *
 * name     lower case, words separated by dots: "queue.length"; NULL or "": nothing is recorded
 * unit     unit of value, without a prefix: "bytes", "ns", "events"; NULL: none
 */
DUET_PUBLIC void duet_counter(struct duet *duet, const char *name, const char *unit, int64_t value);

/* ---- without a recorder ---------------------------------------------------------------------- */

/* The first word of a handle is 1 while there is no recorder, in every version of this library. The
 * inline functions below check it before they call. DUET_NO_INLINE: plain calls only. */
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
