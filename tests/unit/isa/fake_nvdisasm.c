/* SPDX-License-Identifier: MIT
 *
 * tests/unit/isa/fake_nvdisasm.c - says of each 16 bytes of its input where they are, as nvdisasm
 * writes it
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	unsigned long at = 0;
	char word[16];

	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], "--base-address") == 0)
			at = strtoul(argv[i + 1], NULL, 16);
	for (; fread(word, sizeof(word), 1, stdin) == 1; at += sizeof(word))
		printf("        /*%04lx*/                   MOV R1, 0x%lx ;\n", at, at);
	return 0;
}
