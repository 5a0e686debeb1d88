/* SPDX-License-Identifier: MIT
 *
 * event/batch.h - what is known of a batch buffer of an Intel GPU while it is looked through, and afterwards
 *
 * Runs in:  our programs inside the kernel and our own process; freestanding
 *
 * A batch buffer holds commands for the GPU: a header of 32 bits, which says what it is and mostly how long it is, and
 * further dwords. Who looks through it is event/batch_parser.h.
 */
#ifndef EVENT_BATCH_H
#define EVENT_BATCH_H

#include <linux/types.h>

enum batch_generation {
	BATCH_GEN9,   /* Skylake to Comet Lake */
	BATCH_GEN11,  /* Ice Lake */
	BATCH_GEN12,  /* Xe-LP: Tiger Lake to Raptor Lake, DG1 */
	BATCH_XE_HPG, /* DG2, Meteor Lake, Arrow Lake */
	BATCH_XE_HPC, /* Ponte Vecchio */
	BATCH_XE2,    /* Lunar Lake, Battlemage */
	BATCH_XE3,    /* Panther Lake */
	BATCH_XE3P,   /* Nova Lake, Crescent Island */
	BATCH_GENERATIONS
};

/* Columns of the table. */
enum batch_layout {
	BATCH_LAYOUT_GEN9,
	BATCH_LAYOUT_XE_HP,
	BATCH_LAYOUT_XE2,
	BATCH_LAYOUT_XE3P,
	BATCH_LAYOUTS
};

/* Of the header, how many bits hold the dwords less two; ONE: none, the header is all. */
enum batch_length {
	BATCH_LENGTH_ONE = 0,
	BATCH_LENGTH_BITS_6 = 6,
	BATCH_LENGTH_BITS_8 = 8,
	BATCH_LENGTH_BITS_9 = 9,
	BATCH_LENGTH_BITS_10 = 10,
	BATCH_LENGTH_BITS_12 = 12,
	BATCH_LENGTH_BITS_15 = 15,
	BATCH_LENGTH_BITS_16 = 16,
	BATCH_LENGTH_NONE = 255 /* no rule: nothing says where the next command begins */
};

enum batch_effect {
	BATCH_EFFECT_NONE,
	BATCH_EFFECT_NOOP,
	BATCH_EFFECT_END,
	BATCH_EFFECT_START,
	BATCH_EFFECT_BASES,       /* sets what pointers are relative to */
	BATCH_EFFECT_DESCRIPTORS, /* says where descriptors are */
	BATCH_EFFECT_DESCRIPTOR,  /* runs the kernel of one of them, whose number is in bits 5:0 */
	BATCH_EFFECT_WALKER,      /* runs the kernel of the 32-bit pointer in it */
	BATCH_EFFECT_ABSOLUTE,    /* … of the 64-bit address in it */
	BATCH_EFFECT_STAGE,       /* sets the kernel of a stage */
	BATCH_EFFECT_PIXEL,       /* … those of the pixel stage */
	BATCH_EFFECT_SYSTEM       /* sets the system routine */
};

enum batch_kind {
	BATCH_COMPUTE,
	BATCH_VERTEX,
	BATCH_HULL,
	BATCH_DOMAIN,
	BATCH_GEOMETRY,
	BATCH_PIXEL,
	BATCH_TASK,
	BATCH_MESH,
	BATCH_SYSTEM_ROUTINE, /* runs on exceptions and preemption, of no kernel */
	BATCH_DEBUG_AREA,     /* what a debugger's system routine shares with the debugger */
	BATCH_KINDS
};

enum batch_status {
	BATCH_GOING,
	BATCH_DONE,
	BATCH_INCOMPLETE, /* not readable, or not written yet: worth another try, see batch_resume */
	BATCH_LOOP,       /* it jumps back for ever, as a ring that waits for more work does */
	BATCH_LIMIT,      /* more commands than the caller wanted to look at */
	BATCH_GARBAGE,    /* no command begins like this */
	BATCH_STATUSES
};

enum {
	BATCH_LEVELS = 4,          /* a batch, and three that are called within; a power of two */
	BATCH_FOUND_MOST = 128,    /* kernels; a power of two */
	BATCH_SLOTS = 256,         /* a power of two above that */
	BATCH_PROBES = 8,          /* slots that are looked at for one kernel */
	BATCH_WINDOW_BYTES = 1024, /* a power of two that divides a page */
	BATCH_NOOPS_MOST = 4096    /* in a row: more is memory that nobody has written yet */
};

/* ---- the state --------------------------------------------------------------------------------- */

/* What commands set for those that follow, in later batches of the same context too. */
struct batch_bases {
	__u64 instruction; /* of pointers to kernels */
	__u64 dynamic;     /* of descriptors */
	__u64 descriptors;
	__u32 descriptors_bytes; /* 0: not known */
	__u32 known; /* BATCH_KNOWS_*, and what this batch itself has set: BATCH_SETS_* */
};
enum {
	BATCH_KNOWS_INSTRUCTION = 1,
	BATCH_KNOWS_DYNAMIC = 2,
	BATCH_SETS_BASES = 4,
	BATCH_SETS_DESCRIPTORS = 8
};

struct batch_found {
	__u64 address; /* on the GPU; with BATCH_IS_RELATIVE the offset from an instruction base that is not known */
	__u64 pointer; /* as it stands in the command or the descriptor */
	__u64 command; /* address of the first command that names it */
	__u32 count;   /* how many times it is named */
	__u8 kind, flags;
	__u16 row; /* of the first command */
};
enum { BATCH_IS_RELATIVE = 1 };

struct batch_counts {
	__u32 commands; /* those below included, MI_NOOP not */
	__u32 noops;    /* … between them */
	__u32 unknown;  /* skipped by the rule of their kind */
	__u32 mismatched; /* with a kernel in it, but not of this generation's length: nothing was taken */
	__u32 unresolved; /* kernels in a descriptor that is not known or not readable */
	__u32 chains, calls;
	__u32 too_deep;   /* calls beyond BATCH_LEVELS, not followed */
	__u32 predicated; /* chains and calls that the GPU may not take; followed */
	__u32 loops;      /* … that would have led back, and were not followed */
	__u32 left_out;   /* kernels that there was no room for */
	__u32 windows;    /* reads of memory */
};

struct batch_level {
	__u64 back; /* where it goes on after this level's end */
	__u64 mark; /* a target that was jumped to: meeting it again is a loop */
	__u32 jumps, renew_after;
};

/* The caller sets vm, generation, steps_most and, where it kept them, bases; the rest is batch_begin's. */
struct batch_state {
	__u64 vm; /* passed on to BATCH_READ */
	__u32 generation;
	__u32 steps_most; /* commands, MI_NOOP included */
	struct batch_bases bases;

	__u64 address; /* of the next command; with another status than BATCH_GOING where it ended */
	__u64 missing; /* BATCH_INCOMPLETE: what could not be read; 0: it is not written yet */
	__u32 status, level, steps, noops_in_row;
	__u32 row; /* of the command that is looked at */
	struct batch_level levels[BATCH_LEVELS];
	struct batch_counts counts;

	__u64 window_address;
	__u32 window_bytes; /* 0: none */
	__u32 found_count;
	__u32 window[BATCH_WINDOW_BYTES / 4];
	__u8 slots[BATCH_SLOTS]; /* number of a found kernel, from 1; 0: free */
	struct batch_found found[BATCH_FOUND_MOST];
};

/* ---- to have a batch looked through inside the kernel (src/bpf/batch.bpf.c) --------------------- */

enum { BATCH_MAPPINGS_MOST = 64 };

/* A part of an address space of the GPU that the calling process has mapped too. */
struct batch_mapping {
	__u64 vm, gpu, cpu, bytes;
};

struct batch_request {
	__u64 vm, address;
	struct batch_bases bases;
	__u32 generation, steps_most;
	__u32 mappings_count;
	__u32 may_sleep; /* until a page is in memory; 0: what is not there now is unreadable */
	__u32 goes_on; /* with the state of the call before, see batch_resume; bases and the fields before them are of no use */
	__u32 reserved;
};

#endif
