/* SPDX-License-Identifier: MIT
 *
 * collect/opencl/opencl.c - the OpenCL collector
 *
 * Runs in:  the recorder; the work is done by the guest (inject/opencl.c) and the session
 * Gets:     on or off, and the option of --collect   Gives: the session's options
 * Owns:     nothing
 * Fails:    never; what could not be loaded into a program is noted by the session
 * Why:      device times are on by default; `opencl:host` leaves queues alone, because the profiling flag
 *           costs 59 ns a read on PoCL and has slowed whole programs 1.1 to 1.8 times elsewhere
 */
#include <string.h>

#include "collect/collector.h"

static const struct collector_option options[] = {
	{"host", "calls and launches only; leaves the program's queues as they are"},
	{NULL, NULL},
};

static void choose(struct session_options *session, bool on, const char *option)
{
	session->opencl = on;
	session->device_time = on && !(option && strcmp(option, "host") == 0);
}

static bool is_chosen(const struct session_options *session)
{
	return session->opencl;
}

extern const struct collector opencl_collector;
const struct collector opencl_collector = {
	.name = "opencl",
	.help = "every OpenCL call, launch and command with its device times",
	.guest = "opencl",
	.options = options,
	.is_chosen = is_chosen,
	.choose = choose,
};
