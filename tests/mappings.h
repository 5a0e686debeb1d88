/* SPDX-License-Identifier: MIT
 *
 * tests/mappings.h - how many mappings this process has
 */
#pragma once

#include <stdio.h>

static inline int count_mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	int count = 0, byte;

	while (file && (byte = getc(file)) != EOF)
		count += byte == '\n';
	if (file)
		fclose(file);
	return count;
}
