/* SPDX-License-Identifier: MIT */
/* A library that takes its caller's stack, as a guest does: nothing of it is in the stack. */
#include "unwind_probe.h"

#include <string.h>
#include <sys/mman.h>

void *guest_memory(size_t bytes);
void *guest_memory(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static _Thread_local struct unwind_thread thread;

__attribute__((visibility("default"), noinline)) bool probe(struct unwind *ret_stack,
							    bool *ret_same)
{
	uint64_t hash = 0;
	bool taken = unwind_take(&thread, &hash);

	if (!taken)
		return false;
	unwind_stack(&thread, ret_stack);
	*ret_same = ret_stack->hash == hash && unwind_check(ret_stack);
	unwind_done(&thread);
	return true;
}

__attribute__((visibility("default"), noinline)) uint64_t probe_quick(void)
{
	uint64_t hash = 0;

	if (!unwind_take(&thread, &hash))
		return 0;
	unwind_done(&thread);
	return hash;
}

__attribute__((visibility("default"))) struct unwind_counts probe_counts(void)
{
	return unwind_counts();
}
