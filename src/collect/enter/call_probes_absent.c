/* SPDX-License-Identifier: MIT
 *
 * collect/enter/call_probes_absent.c - call_probes.h in a build without libbpf
 *
 * Runs in:  the recorder
 * Gets:     nothing
 * Gives:    nothing
 * Owns:     nothing
 * Fails:    always, with the reason
 */
#include "collect/enter/call_probes.h"

#include <errno.h>
#include <unistd.h>

#include "collect/kernel/absent.h"

/* Not formatted, because clang-format takes each * for a product. */
/* clang-format off */

ABSENT(int, call_probes_start,
	(const struct call_probes_options *options, struct call_probes **ret_probes),
	ABSENT_ERROR)
ABSENT(void, call_probes_stop, (struct call_probes *probes), )

int call_probes_watch(struct call_probes *probes, uint32_t pid, int file_fd)
{
	close(file_fd);
	return -ENOSYS;
}

ABSENT(void, call_probes_forget, (struct call_probes *probes, uint32_t pid), )
ABSENT(bool, call_probes_next,
	(struct call_probes *probes, uint32_t *ret_pid, uint32_t *ret_functions, char
	ret_text[CALL_PROBES_TEXT_BYTES]), false)
ABSENT(void, call_probes_forget_stack, (struct call_probes *probes, uint64_t user_stack), )
ABSENT(void, call_probes_drain, (struct call_probes *probes), )
ABSENT(uint64_t, call_probes_lost, (const struct call_probes *probes, enum call_count which), 0)
/* clang-format on */
