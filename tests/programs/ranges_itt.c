/* SPDX-License-Identifier: MIT
 *
 * tests/programs/ranges_itt.c - names ranges by ITT, in counts that a test knows
 *
 * 17 tasks "outer" of domain "solver" with a task "nested" in each, 5 overlapping ones, 3 frames, 2
 * markers; and one task of a domain that the program switched off.
 */
#include <stdio.h>

#include <ittnotify.h>

enum { TASKS = 17, OVERLAPPED = 5, FRAMES = 3, MARKERS = 2 };

int main(void)
{
	__itt_domain *domain = __itt_domain_create("solver"), *off = __itt_domain_create("off");
	__itt_string_handle *outer = __itt_string_handle_create("outer");
	__itt_string_handle *nested = __itt_string_handle_create("nested");
	__itt_id ids[OVERLAPPED];

	if (off) /* the real one makes none without a tool */
		off->flags = 0;
	for (int i = 0; i < TASKS; i++) {
		__itt_task_begin(domain, __itt_null, __itt_null, outer);
		__itt_task_begin(domain, __itt_null, __itt_null, nested);
		__itt_task_end(domain);
		__itt_task_end(domain);
	}
	for (int i = 0; i < OVERLAPPED; i++) {
		ids[i] = __itt_id_make(&ids[i], (unsigned long long)i);
		__itt_task_begin_overlapped(domain, ids[i], __itt_null, outer);
	}
	for (int i = 0; i < OVERLAPPED; i++)
		__itt_task_end_overlapped(domain, ids[i]);
	for (int i = 0; i < FRAMES; i++) {
		__itt_frame_begin_v3(domain, NULL);
		__itt_frame_end_v3(domain, NULL);
	}
	for (int i = 0; i < MARKERS; i++)
		__itt_marker(domain, __itt_null, nested, __itt_scope_task);
	__itt_task_begin(off, __itt_null, __itt_null, outer);
	__itt_task_end(off);
	puts("done");
	return 0;
}
