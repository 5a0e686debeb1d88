/* SPDX-License-Identifier: MIT
 *
 * examples/ranges_nvtx.c - the same steps as ranges.c, named by NVTX: recorded by `duet record --
 * PROGRAM`
 */
#include <nvtx3/nvToolsExt.h>

#include "wave.h"

int main(void)
{
	static struct wave wave;

	wave_open(&wave);
	for (int step = 0; step < 10; step++) {
		nvtxRangePushA("step");
		nvtxRangePushA("upload");
		wave_upload(&wave);
		nvtxRangePop();
		for (int swing = 0; swing < 3; swing++)
			wave_swing(&wave);
		nvtxRangePop();
	}
	wave_close(&wave);
	return 0;
}
