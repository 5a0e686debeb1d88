/* SPDX-License-Identifier: MIT */
/* Built twice with different frames: what is loaded second lies where the first was. */
#include <stdint.h>
#include <string.h>

#include "unwind_probe.h"

#ifndef PLUGIN_BYTES
#define PLUGIN_BYTES 40
#endif

__attribute__((noinline)) static int inner(int (*back)(void), int depth, char *above)
{
	char here[PLUGIN_BYTES];
	int result;

	memset(here, depth, sizeof(here));
	result = depth ? inner(back, depth - 1, here) : back();
	return result + here[depth % PLUGIN_BYTES] + above[0];
}

int plugin_run(int (*back)(void));

__attribute__((visibility("default"))) int plugin_run(int (*back)(void))
{
	char first[16] = {0};

	return inner(back, 5, first);
}
