/* SPDX-License-Identifier: MIT
 *
 * agent/spool.h - a folder of recordings with a bound on its size and age
 *
 * Files are named HOST-SEQUENCE-TIME.duet. The sequence grows by one with each file, also over
 * restarts; it gives the order. TIME is for people only.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SPOOL_RING "current.duet" /* the file that the recorder writes */

struct spool_options {
	uint64_t max_bytes;  /* limit for files and ring; 0: none */
	uint64_t max_age_ns; /* 0: no limit; time while the machine is off does not count */
	uint64_t ring_bytes; /* kept free for the ring */
	/* Called once when another recorder holds the folder, before the wait; NULL: not called.
	 * pid: the other recorder's; 0: unknown. */
	void (*on_wait)(void *context, int pid);
	void *context;
};

struct spool_file {
	uint64_t sequence, bytes;
	/* CLOCK_BOOTTIME at which it was finished; negative: before the machine's start. */
	int64_t born_ns;
	char name[NAME_MAX + 1];
};

struct spool_counts {
	uint64_t added, added_bytes;
	uint64_t dropped, dropped_bytes; /* oldest files, for the limit of size or age */
	uint64_t dropped_full;           /* a part of dropped: because the disk was full */
	uint64_t skipped;                /* files that were not written, because of an error */
	uint64_t skipped_ns;             /* recorded time that they would have held */
	uint64_t salvaged;               /* rings of killed recorders that became files */
	uint64_t killed, killed_ns;      /* recorders that were killed, and the time without one */
	uint64_t rows_lost;              /* that could not be written into the ring */
};

struct spool {
	struct spool_options options;
	char *path;             /* owned */
	int folder;             /* owned */
	int lock;               /* owned */
	int beat;               /* owned; -1: no beats are kept */
	int64_t last_beat_ns;   /* last sign of the recorder before, in this boot; 0: not known */
	uint64_t cut_ns;        /* end of the last cut; SPOOL_ALL_CUT: the whole ring is in files */
	uint64_t start_real_ns; /* CLOCK_REALTIME at which the counts began; 0: not known */
	char host[65];
	char boot[40];            /* boot id: times of CLOCK_BOOTTIME are those of one boot */
	char cut_boot[40];        /* boot in which cut_ns was noted */
	struct spool_file *files; /* owned; by sequence */
	size_t files_count, files_capacity;
	uint64_t bytes; /* size of files, without the ring */
	uint64_t next_sequence;
	struct spool_counts counts; /* over the life of the spool; kept in a file */
	char adding[NAME_MAX + 1];  /* name of the file between spool_begin and its end */
	/* An event that the state file names before it happens. After a kill, the folder shows
	 * whether it has happened. */
	struct spool_intent {
		uint64_t added;   /* sequence of the file that gets its name; 0: none */
		uint64_t cut_ns;  /* the value of cut_ns afterwards */
		bool is_salvaged; /* the file is a ring that was left */
		uint64_t full;    /* sequence of the file that a full disk costs; 0: none */
	} intent;
};

#define SPOOL_ALL_CUT UINT64_MAX

/* Creates the folder if it is missing, locks it and lists its files. Waits up to wait_ns for an
 * agent that still ends. Errors: -errno with the error chain; -EBUSY: another agent uses it. */
int spool_open(const char *path, const struct spool_options *options, uint64_t wait_ns,
	       struct spool **ret_spool);
void spool_close(struct spool *spool); /* NULL-safe */

/* Gives the folder and its files to a user, before the agent becomes that user. Errors: -errno with
 * the error chain. */
int spool_give(const struct spool *spool, uid_t uid, gid_t gid);

/* Starts a file of about expected_bytes: makes room and returns the path of a file to write, freed
 * by the caller; NULL: no memory. One file at a time; it ends with one of the next three calls. */
char *spool_begin(struct spool *spool, uint64_t expected_bytes);
/* The file is complete. Errors: -errno with the error chain: call spool_retry. */
struct spool_content {
	uint64_t cut_ns;  /* up to here files have what the ring has */
	bool is_salvaged; /* it is a ring that a killed recorder left */
	bool is_ring;     /* the ring itself becomes the file; nothing was written at the path */
};
int spool_commit(struct spool *spool, const struct spool_content *content);
/* The file could not be written. True: the oldest file was dropped because the disk is full, so
 * another attempt is worth it: call spool_begin. False: call spool_skip. */
bool spool_retry(struct spool *spool, int error);
/* Counts a file that was not written. held_ns: the recorded time that it would have held; cut_ns:
 * as spool_commit, 0: the cut stays. */
void spool_skip(struct spool *spool, uint64_t held_ns, uint64_t cut_ns);

/* Notes that the recorder works, for the next start, which counts the time without one. */
void spool_beat(struct spool *spool);
/* Notes how far the ring is in files: CLOCK_MONOTONIC of the same boot as the ring. */
void spool_note_cut(struct spool *spool, uint64_t cut_ns);
/* At the start: whether a ring was left that is not in files yet. If so, a killed recorder is
 * counted; cut_ns is the end of the ring's last cut, 0: none. */
bool spool_count_killed(struct spool *spool);
/* A ring begins anew. */
void spool_note_ring(struct spool *spool);

/* Drops files that exceed the limits. Call it at least every segment. */
void spool_trim(struct spool *spool);

/* Path of the ring, freed by the caller; NULL: no memory. */
char *spool_ring_path(const struct spool *spool);

/* Bytes of the ring, and of files and ring, as the disk counts them. */
uint64_t spool_ring_bytes(const struct spool *spool);
/* Size of the ring with its holes. */
uint64_t spool_ring_end(const struct spool *spool);
uint64_t spool_total_bytes(const struct spool *spool);
/* Whether a copy of the ring fits beside it, with no file dropped. */
bool spool_has_room_for_copy(const struct spool *spool);

/* CLOCK_BOOTTIME, by which ages are measured: setting the machine's clock does not change it. */
int64_t spool_now_ns(void);
