/* SPDX-License-Identifier: MIT
 *
 * symbol/remote/batch.c - windows of another process's memory that are read in one call
 *
 * Runs in:  the recorder
 * Gets:     addresses and sizes
 * Gives:    windows, sorted
 * Owns:     the list
 * Fails:    NULL
 * Why:      following a chain of pointers needs one read per pointer the first time. In the next
 *           walk the data is usually at the same addresses, so all of it is read again in one call
 */
#include "symbol/remote/batch.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { MAX_UNUSED = 4 };

void remote_windows_fini(struct remote_windows *windows)
{
	free(windows->windows);
	*windows = (struct remote_windows){0};
}

/* The first window that starts after the address. */
static size_t index_behind(const struct remote_windows *windows, uint64_t address)
{
	return LOWER_BOUND(windows->count, i, windows->windows[i].address <= address);
}

struct remote_window *remote_windows_find(const struct remote_windows *windows, uint64_t address,
					  size_t size)
{
	const size_t behind = index_behind(windows, address);
	struct remote_window *window;

	if (behind == 0)
		return NULL;
	window = &windows->windows[behind - 1];
	if (address - window->address >= window->size ||
	    size > window->size - (address - window->address))
		return NULL;
	return window;
}

struct remote_window *remote_windows_add(struct remote_windows *windows, uint64_t address,
					 size_t size)
{
	size_t first = index_behind(windows, address), last = first;

	if (array_grow(windows->windows, windows->capacity, windows->count + 1))
		return NULL;
	if (first > 0 &&
	    address - windows->windows[first - 1].address < windows->windows[first - 1].size)
		first--;
	while (last < windows->count && windows->windows[last].address - address < size)
		last++;
	for (size_t i = first; i < last; i++)
		windows->bytes -= windows->windows[i].size;
	windows->bytes += size;
	memmove(&windows->windows[first + 1], &windows->windows[last],
		(windows->count - last) * sizeof(windows->windows[0]));
	windows->count -= last - first;
	windows->count++;
	windows->windows[first] = (struct remote_window){
		.address = address, .size = size, .is_used = true, .is_new = true};
	return &windows->windows[first];
}

void remote_windows_remove(struct remote_windows *windows, size_t index)
{
	windows->bytes -= windows->windows[index].size;
	windows->count--;
	memmove(&windows->windows[index], &windows->windows[index + 1],
		(windows->count - index) * sizeof(windows->windows[0]));
}

void remote_windows_age(struct remote_windows *windows)
{
	size_t kept = 0;

	windows->bytes = 0;
	for (size_t i = 0; i < windows->count; i++) {
		struct remote_window window = windows->windows[i];

		window.unused = window.is_used ? 0 : window.unused + 1;
		window.is_used = false;
		if (window.unused == MAX_UNUSED)
			continue;
		windows->windows[kept++] = window;
		windows->bytes += window.size;
	}
	windows->count = kept;
}
