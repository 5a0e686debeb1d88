/* SPDX-License-Identifier: MIT
 *
 * tests/vm/made_up_gpu/report.h - what became of a job, by the GPU's own word
 */
#pragma once

#include <linux/types.h>

/* Times: CLOCK_MONOTONIC. */
struct gpu_report {
	__u64 run_ns, done_ns;
	__u64 client; /* 0: this kernel's scheduler knows none */
};
