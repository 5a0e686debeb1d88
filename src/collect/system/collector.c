/* SPDX-License-Identifier: MIT
 *
 * collect/system/collector.c - the collector of counters as a user names it
 *
 * Runs in:  the recorder; the work is done in counters.c
 * Gets:     on or off, how often   Gives: the session's options
 * Owns:     nothing
 * Fails:    never; what is refused is noted by the session
 */
#include <string.h>

#include "collect/collector.h"
#include "collect/counters.h"
#include "collect/system/sources.h"

static const struct collector_option collector_options[] = {
	{"HZ", "so many readings a second, 1 to 1000; otherwise 10"},
	{"smaps",
	 "what of each process's memory is its own alone: walks all its pages each second; "
	 "-smaps: not"},
	{NULL, NULL},
};

static const struct collector_rate rate = {
	.offset = offsetof(struct session_options, system_hz), .usual_hz = 10, .most_hz = 1000};

static bool has_option(const char *option)
{
	return strcmp(option, "-smaps") == 0;
}

static void choose(struct session_options *session, bool on, const char *option)
{
	if (!on || (option && strcmp(option, "-smaps") == 0))
		session->system_smaps = false;
	else if (option && strcmp(option, "smaps") == 0)
		session->system_smaps = true;
}

static int open_state(struct recording *recording, const struct session_options *session,
		      void **ret_state)
{
	const struct counters_options options = {.collector = "system",
						 .sources = &system_sources,
						 .names = {[GROUP_MACHINE] = "machine",
							   [GROUP_PROCESSES] = "processes",
							   [GROUP_SLOW] = "slow"},
						 .root = "",
						 .hz = session->system_hz,
						 .pids = session->pids,
						 .pids_count = session->pids_count,
						 .smaps = session->system_smaps,
						 .has_processes =
							 session->command || session->pids_count,
						 .has_others = session->cpu};
	struct counters *system = NULL;
	int error = session->system_hz ? counters_open(recording, &options, &system) : 0;

	*ret_state = system;
	return error;
}

static const struct collector_work work = {
	.open = open_state,
	COUNTERS_WORK,
};

extern const struct collector system_collector;
const struct collector system_collector = {
	.name = "system",
	.help = "counters: processors, memory, disks, network, power; of the machine and of each "
		"process",
	.sources = &system_sources,
	.options = collector_options,
	.rate = &rate,
	/* Until its cost on a machine is measured by who asks for it. */
	.by_request = true,
	.has_option = has_option,
	.choose = choose,
	.work = &work,
};
