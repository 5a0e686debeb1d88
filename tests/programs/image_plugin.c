/* SPDX-License-Identifier: MIT
 *
 * tests/programs/image_plugin.c - a library that calls back, for images.c
 */
static volatile int sink;

__attribute__((visibility("default"))) void plugged_in(void (*call)(void));

void plugged_in(void (*call)(void))
{
	call();
	sink++;
}
