/* SPDX-License-Identifier: MIT
 *
 * event/batch.h - state and results of parsing a batch buffer of an Intel GPU
 *
 * Runs in:  our BPF programs and our own process; freestanding
 *
 * A batch buffer contains commands for the GPU. A command is a header of 32 bits, which has the
 * opcode and usually the length, and further dwords. The parser is shared/batch_parser.h.
 */
#pragma once

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

/* Columns of the table of commands in shared/batch_commands.h. */
enum batch_layout {
	BATCH_LAYOUT_GEN9,
	BATCH_LAYOUT_XE_HP,
	BATCH_LAYOUT_XE2,
	BATCH_LAYOUT_XE3P,
	BATCH_LAYOUTS
};

/* Number of header bits that contain the command's length in dwords minus two. ONE: none, the
 * command is only the header. */
enum batch_length {
	BATCH_LENGTH_ONE = 0,
	BATCH_LENGTH_BITS_6 = 6,
	BATCH_LENGTH_BITS_8 = 8,
	BATCH_LENGTH_BITS_9 = 9,
	BATCH_LENGTH_BITS_10 = 10,
	BATCH_LENGTH_BITS_12 = 12,
	BATCH_LENGTH_BITS_15 = 15,
	BATCH_LENGTH_BITS_16 = 16,
	BATCH_LENGTH_NONE = 255 /* no rule: the begin of the next command is not known */
};

enum batch_effect {
	BATCH_EFFECT_NONE,
	BATCH_EFFECT_NOOP,
	BATCH_EFFECT_END,
	BATCH_EFFECT_START,
	BATCH_EFFECT_BASES,       /* sets the base addresses of pointers */
	BATCH_EFFECT_DESCRIPTORS, /* sets the address of descriptors */
	BATCH_EFFECT_DESCRIPTOR, /* runs the kernel of the descriptor whose number is in bits 5:0 */
	BATCH_EFFECT_WALKER,     /* runs the kernel at its 32-bit pointer */
	BATCH_EFFECT_ABSOLUTE,   /* runs the kernel at its 64-bit address */
	BATCH_EFFECT_STAGE,      /* sets the kernel of a 3D pipeline stage */
	BATCH_EFFECT_PIXEL,      /* sets the kernels of the pixel stage */
	BATCH_EFFECT_SYSTEM      /* sets the system routine */
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
	BATCH_SYSTEM_ROUTINE, /* runs on exceptions and preemption; belongs to no kernel */
	BATCH_DEBUG_AREA,     /* memory that a debugger shares with its system routine */
	BATCH_KINDS
};

enum batch_status {
	BATCH_GOING,
	BATCH_DONE,
	BATCH_INCOMPLETE, /* not readable or not written yet; batch_resume may succeed */
	BATCH_LOOP,    /* it jumps back in an endless loop, like a ring that waits for more work */
	BATCH_LIMIT,   /* more commands than batch_state.max_steps */
	BATCH_GARBAGE, /* not a valid command header */
	BATCH_STATUSES
};

enum {
	BATCH_LEVELS = 4,      /* a batch and three nested calls; a power of two */
	MAX_BATCH_FOUND = 128, /* max kernels per batch; a power of two */
	BATCH_SLOTS = 256,     /* size of their hash table: a power of two above MAX_BATCH_FOUND */
	BATCH_PROBES = 8,      /* max slots examined for one kernel */
	BATCH_WINDOW_BYTES =
		1024,          /* bytes per read of memory; a power of two that divides a page */
	MAX_BATCH_NOOPS = 4096 /* MI_NOOPs in a row; more mean memory that is not written yet */
};

/* ---- the state ------------------------------------------------------------------------------- */

/* Base addresses set by commands. They apply to the following commands, also in later batches of
 * the same context. */
struct batch_bases {
	__u64 instruction; /* base of pointers to kernels */
	__u64 dynamic;     /* base of the descriptors' address */
	__u64 descriptors;
	__u32 descriptors_bytes; /* 0: not known */
	__u32 known; /* BATCH_KNOWS_*: known bases; BATCH_SETS_*: set by this batch itself */
};
enum {
	BATCH_KNOWS_INSTRUCTION = 1,
	BATCH_KNOWS_DYNAMIC = 2,
	BATCH_SETS_BASES = 4,
	BATCH_SETS_DESCRIPTORS = 8
};

struct batch_found {
	__u64 address; /* GPU address; with BATCH_IS_RELATIVE the offset from an unknown instruction
			  base */
	__u64 pointer; /* the pointer in the command or descriptor */
	__u64 command; /* address of the first command that names the kernel */
	__u32 count;   /* number of commands that name it */
	__u8 kind, flags;
	__u16 row; /* table row of the first command */
};
enum { BATCH_IS_RELATIVE = 1 };

struct batch_counts {
	__u32 commands;   /* all commands, including those below, without MI_NOOP */
	__u32 noops;      /* MI_NOOPs between the commands */
	__u32 unknown;    /* unknown commands, skipped by the length rule of their kind */
	__u32 mismatched; /* commands with a kernel but an unexpected length for this generation;
			     their kernels were not used */
	__u32 unresolved; /* kernels whose descriptor is not known or not readable */
	__u32 chains, calls;
	__u32 too_deep;   /* calls beyond BATCH_LEVELS, not followed */
	__u32 predicated; /* conditional chains and calls, which the GPU may skip; followed */
	__u32 loops;      /* predicated jumps that would loop; not followed */
	__u32 left_out;   /* kernels beyond MAX_BATCH_FOUND */
	__u32 windows;    /* reads of memory */
};

struct batch_level {
	__u64 back; /* address where parsing continues after this level's end */
	__u64 mark; /* an earlier jump target; a second jump to it is a loop */
	__u32 jumps, renew_after;
};

/* The caller sets vm, generation, max_steps and, if it has them from an earlier batch, bases.
 * batch_begin sets the rest. */
struct batch_state {
	__u64 vm; /* passed on to BATCH_READ */
	__u32 generation;
	__u32 max_steps; /* max number of commands to parse, including MI_NOOP */
	struct batch_bases bases;

	__u64 address; /* address of the next command, or of the end of parsing */
	__u64 missing; /* BATCH_INCOMPLETE: address that could not be read; 0: not written yet */
	__u32 status, level, steps, noops_in_row;
	__u32 row; /* table row of the current command */
	struct batch_level levels[BATCH_LEVELS];
	struct batch_counts counts;

	__u64 window_address;
	__u32 window_bytes; /* 0: none */
	__u32 found_count;
	__u32 window[BATCH_WINDOW_BYTES / 4];
	__u8 slots[BATCH_SLOTS]; /* hash table: index in found + 1; 0: free */
	struct batch_found found[MAX_BATCH_FOUND];
};

/* ---- requests to parse a batch inside the OS kernel (src/bpf/batch.bpf.c) -------------------- */

enum { MAX_BATCH_MAPPINGS = 64 };

/* A part of a GPU address space that the calling process has mapped too. */
struct batch_mapping {
	__u64 vm, gpu, cpu, bytes;
};

struct batch_request {
	__u64 vm, address;
	struct batch_bases bases;
	__u32 generation, max_steps;
	__u32 mappings_count;
	__u32 may_sleep; /* 1: waits until a page is in memory; 0: an absent page counts as
			    unreadable */
	__u32 goes_on; /* continues with the state of the previous call, see batch_resume; bases and
			  the members before it are ignored */
	__u32 reserved;
};
