/* SPDX-License-Identifier: MIT
 *
 * abi/amd_options.h - options and trouble counters, shared by the amd collector and its guest
 */
#pragma once

/* Bits from RING_OPTION_GUEST on (ring/ring.h). */
enum amd_option {
	AMD_OPTION_LITE = 0x100, /* does not time dispatches that carry a signal */
	AMD_OPTION_FULL = 0x200, /* times dispatches in batches too */
	/* tracks queues even if the runtime is known to fail with tracked queues */
	AMD_OPTION_FORCE = 0x400,
	AMD_OPTION_PCS = 0x800,     /* samples instructions */
	AMD_OPTION_NO_HIP = 0x1000, /* does not record calls of HIP */
	AMD_OPTION_OPENCL = 0x2000  /* another guest records AMD's OpenCL */
};

/* Counters of the guest, from RING_TROUBLE_GUEST on. */
enum amd_trouble {
	/* Dispatches without times … */
	AMD_TROUBLE_SIGNALS = 16, /* … because all signals were in use */
	AMD_TROUBLE_MODE,         /* … because they carry a signal and AMD_OPTION_LITE is set */
	/* … because they are in batches; they have no launch records either */
	AMD_TROUBLE_BATCHES,
	/* Packets of untracked queues. In this order: the runtime may crash with tracked queues;
	 * the queue's type cannot be tracked; something was refused. */
	AMD_TROUBLE_NOT_FOLLOWED,
	AMD_TROUBLE_QUEUE_SPECIAL,
	AMD_TROUBLE_QUEUE_REFUSED,
	AMD_TROUBLE_KERNELS,  /* kernels whose code the guest has not seen */
	AMD_TROUBLE_NO_QUEUE, /* kernels were loaded, but no queue was seen */
	AMD_TROUBLE_LAYOUT,   /* function tables of the runtime with an unknown layout */
	/* programs bind to HIP before the guest, so its calls are not recorded */
	AMD_TROUBLE_HIP_BEFORE,
	AMD_TROUBLE_NO_SAMPLES, /* the runtime or the GPU cannot sample instructions */
	/* Another tool was loaded before the guest from HSA_TOOLS_LIB. Dispatches have no times,
	 * because that tool is between the guest and the device … */
	AMD_TROUBLE_TOOL_BEHIND,
	/* … and that tool does not see our queues, because the queues that it creates are plain */
	AMD_TROUBLE_TOOL_BLIND,
	AMD_TROUBLE_NO_HELPER /* the guest's thread could not be started */
};
