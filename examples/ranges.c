/* SPDX-License-Identifier: MIT
 *
 * examples/ranges.c - a program that names its steps and records itself with libduet
 *
 *	cc ranges.c $(pkg-config --cflags --libs duet) -lOpenCL && ./a.out && duet report --by range
 *	    ranges.duet
 */
#include <duet.h>

#include "wave.h"

int main(void)
{
	static struct wave wave;
	struct duet *duet = duet_open(NULL, "ranges.duet", 0);

	if (duet_start(duet) < 0)
		fprintf(stderr, "not recorded: %s\n", duet_error(duet));
	wave_open(&wave);
	for (int step = 0; step < 10; step++) {
		duet_range_push(duet, NULL, "step");
		duet_range_push(duet, NULL, "upload");
		wave_upload(&wave);
		duet_range_pop(duet, NULL);
		for (int swing = 0; swing < 3; swing++)
			wave_swing(&wave);
		duet_counter(duet, "wave.steps", "events", step + 1);
		duet_range_pop(duet, NULL);
	}
	wave_close(&wave);
	duet_close(duet);
	return 0;
}
