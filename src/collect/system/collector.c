/* SPDX-License-Identifier: MIT
 *
 * collect/system/collector.c - the collector `system`: counters of the machine and of processes
 *
 * Runs in:  the recorder; counter/counters.c does the work
 * Gets:     the options of --collect system
 * Owns:     nothing
 * Fails:    never; the session notes refusals
 */
#include "collect/collector.h"
#include "collect/counter/counters.h"
#include "collect/system/sources.h"

enum { SYSTEM_SMAPS = 1 };

static const struct collector_option system_options[] = {
	{COLLECTOR_RATE_NAME, "1 to 1000 readings a second (default 10)"},
	{"smaps",
	 "also read the private memory of each process once a second; the kernel walks all its "
	 "pages for that; -smaps: off",
	 .set = SYSTEM_SMAPS, .off = SYSTEM_SMAPS},
	{NULL},
};

static const struct collector_rate rate = {.usual_hz = 10, .max_hz = 1000};

static int open_state(struct recording *recording, const struct session_options *session,
		      void **ret_state)
{
	const struct collector_choice *choice = collector_options(session, "system");
	const struct counters_options options = {
		.collector = "system",
		.group.sources = &system_sources,
		.names = {[GROUP_MACHINE] = "machine",
			  [GROUP_PROCESSES] = "processes",
			  [GROUP_SLOW] = "slow"},
		.group.root = "",
		.group.hz = choice->hz,
		.group.pids = session->pids,
		.group.pids_count = session->pids_count,
		.group.smaps = choice->words & SYSTEM_SMAPS,
		.has_processes = session->command || session->pids_count || session->any,
		.has_others = session_collects(session, "cpu")};
	struct counters *system = NULL;
	int error = choice->hz ? counters_open(recording, &options, &system) : 0;

	*ret_state = system;
	return error;
}

static const struct collector_work work = {
	.open = open_state,
	.watch = counters_watch,
	.attach = counters_attach,
	.interval_ns = counters_interval_ns,
	.drain = counters_drain,
	.look = counters_look,
	.catch_up = counters_catch_up,
	.each_second = counters_count_losses,
	.close = counters_close,
};

const struct collector system_collector = {
	.name = "system",
	.help = "counters: processors, memory, disks, network, power; for the machine and for each "
		"process",
	.sources = &system_sources,
	.options = system_options,
	.rate = &rate,
	/* Until its cost has been measured on more machines. */
	.by_request = true,
	.work = &work,
};
