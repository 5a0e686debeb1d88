/* SPDX-License-Identifier: MIT
 *
 * tests/programs/dies_early.c - for LD_PRELOAD of a recorder: it is killed before its child has
 * asked to die with it
 *
 *	LD_PRELOAD=dies_early.so duet record -- PROGRAM
 */
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static void kill_parent(void)
{
	const pid_t parent = getppid();

	kill(parent, SIGKILL);
	while (getppid() == parent)
		usleep(1000);
}

EXPORT int prctl(int option, ...)
{
	unsigned long arguments[4];
	va_list list;

	va_start(list, option);
	for (int i = 0; i < 4; i++)
		arguments[i] = va_arg(list, unsigned long);
	va_end(list);
	if (option == PR_SET_PDEATHSIG)
		kill_parent();
	return (int)syscall(SYS_prctl, option, arguments[0], arguments[1], arguments[2],
			    arguments[3]);
}
