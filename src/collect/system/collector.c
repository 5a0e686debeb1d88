/* SPDX-License-Identifier: MIT
 *
 * collect/system/collector.c - the collector `system`: counters of the machine and of processes
 *
 * Runs in:  the recorder; counter/counters.c does the work
 * Gets:     the options of --collect system
 * Owns:     nothing
 * Fails:    -EINVAL for a disk or interface that does not exist; the session notes refusals
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collect/collector.h"
#include "collect/counter/counters.h"
#include "collect/system/instance_names.h"
#include "collect/system/sources.h"

enum { SYSTEM_SMAPS = 1, SYSTEM_MAX_HZ = 1000 };

struct system_options {
	struct collector_choice choice; /* comes first */
	struct counter_choice counters;
};

_Static_assert(sizeof(struct system_options) <= COLLECTOR_OPTIONS_BYTES, "a slot has room");

static int read_metric(const char *option, void *options)
{
	struct system_options *own = options;

	return counter_choice_read_metric(option, "system", &system_sources, SYSTEM_MAX_HZ,
					  &own->counters.metrics);
}

static int read_disk(const char *option, void *options)
{
	return name_patterns_read(option, "disk",
				  &((struct system_options *)options)->counters.disks);
}

static int read_interface(const char *option, void *options)
{
	return name_patterns_read(option, "interface",
				  &((struct system_options *)options)->counters.interfaces);
}

static int read_process(const char *option, void *options)
{
	return name_patterns_read(option, "process",
				  &((struct system_options *)options)->counters.processes);
}

static const struct collector_option system_options[] = {
	{COLLECTOR_RATE_NAME, "1 to 1000 readings a second (default 10)"},
	{"smaps",
	 "also read the private memory of each process once a second; the kernel walks all its "
	 "pages for that; -smaps: off",
	 .set = SYSTEM_SMAPS, .off = SYSTEM_SMAPS},
	{"metric=GLOB@HZ",
	 "read only metrics whose name matches, such as metric=cpu.*; with @HZ at most HZ times a "
	 "second; may be repeated (duet list metrics)",
	 .read = read_metric},
	{"disk=GLOB",
	 "read only these disks, such as disk=nvme*; may be repeated (duet list disks)",
	 .read = read_disk},
	{"interface=GLOB",
	 "read only these network interfaces; may be repeated (duet list interfaces)",
	 .read = read_interface},
	{"process=GLOB",
	 "read only processes whose name (/proc/PID/comm) matches; may be repeated; with -a: such "
	 "processes of the whole machine",
	 .read = read_process},
	{NULL},
};

static const struct collector_rate rate = {.usual_hz = 10, .max_hz = SYSTEM_MAX_HZ};

static int open_state(struct recording *recording, const struct session_options *session,
		      void **ret_state)
{
	const struct system_options *own = collector_options(session, "system");
	const struct collector_choice *choice = &own->choice;
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
		.group.choice = own->counters,
		.finds_processes =
			session->any && !name_patterns_is_empty(&own->counters.processes),
		.has_processes = session->command || session->pids_count || session->any,
		.has_others = session_collects(session, "cpu")};
	struct counters *system = NULL;
	int error = choice->hz ? counters_open(recording, &options, &system) : 0;

	*ret_state = system;
	return error;
}

/* A whole name that does not exist is a mistake; a glob may match a disk that comes later. */
static int check_names(const struct session_options *session)
{
	const struct system_options *own = collector_options(session, "system");
	auto_free struct instance_names *names = malloc(sizeof(*names));
	int error;

	if (!names)
		return error_set(-ENOMEM, "system: out of memory");
	if (!own->choice.hz)
		return 0;
	instance_names_read_disks("", names);
	error = name_patterns_check(&own->counters.disks, "disk", "disks", names->all,
				    names->count);
	if (error)
		return error_note(error, "system");
	instance_names_read_interfaces("", names);
	error = name_patterns_check(&own->counters.interfaces, "network interface", "interfaces",
				    names->all, names->count);
	return error ? error_note(error, "system") : 0;
}

static const struct collector_work work = {
	.check = check_names,
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
