/* SPDX-License-Identifier: MIT
 *
 * abi/nvidia_options.h - options and trouble counters, shared by the nvidia collector and its guest
 */
#pragma once

/* Bits from RING_OPTION_GUEST on (ring/ring.h). */
enum nvidia_option {
	NVIDIA_OPTION_GRAPHS = 0x100,   /* the launch of a graph is one command */
	NVIDIA_OPTION_PC = 0x200,       /* samples the instructions of kernels … */
	NVIDIA_OPTION_PC_EXACT = 0x400, /* … and serialises kernels for that */
	/* adds to kernels the times when they were queued and submitted */
	NVIDIA_OPTION_LATENCY = 0x800,
	NVIDIA_OPTION_WAITS = 0x1000, /* records which synchronization calls wait for the device */
	NVIDIA_OPTION_IDLE = 0x2000,  /* records nothing: the guest loads CUPTI and stops … */
	NVIDIA_OPTION_SUBSCRIBED =
		0x4000 /* … or, with this bit too, stops after it has subscribed */
};

/* Numbers of a region; 0: default. */
enum nvidia_number {
	NVIDIA_NUMBER_PC_EXPONENT /* instructions are sampled every 2^this cycles, 5 to 31 */
};

enum { NVIDIA_PC_MIN_EXPONENT = 5, NVIDIA_PC_MAX_EXPONENT = 31 };

/* Counters of the guest, from RING_TROUBLE_GUEST on. */
enum nvidia_trouble {
	NVIDIA_TROUBLE_TIMES = 16, /* records of CUPTI with impossible times */
	/* graph nodes came too fast; from then on a graph launch is one record */
	NVIDIA_TROUBLE_GRAPHS,
	NVIDIA_TROUBLE_PC_FULL, /* times that the GPU's sample buffer was full */
	NVIDIA_TROUBLE_PC_CODE, /* samples of kernels whose code the guest has not seen */
	NVIDIA_TROUBLE_PC_OVER, /* sampling ended for good */
	/* contexts without sampling: there are too many, or the helper is inside CUPTI */
	NVIDIA_TROUBLE_PC_CONTEXTS,
	/* commands in streams that share one queue, because there are too many streams */
	NVIDIA_TROUBLE_QUEUES,
	NVIDIA_TROUBLE_MEMORY /* allocations beyond the table's size */
};
