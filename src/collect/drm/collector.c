/* SPDX-License-Identifier: MIT
 *
 * collect/drm/collector.c - the collector "drm": devices, counters and jobs of GPUs from the
 * kernel's DRM drivers
 *
 * Runs in:  the recorder's main thread; samplers have threads of their own
 * Gets:     the options of --collect drm
 * Gives:    devices, counters (collect/counter/counters.h), jobs (kernel_jobs.h)
 * Owns:     the list of cards
 * Fails:    -ENODEV if there is no card and no job can be recorded
 * Why:      This collector is not a default, because the cost of the drivers' files was not
 *           measured on GPUs yet. Some drivers query the GPU's firmware for each value, and some
 *           walk all buffers of a client for its fdinfo.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "collect/collector.h"
#include "collect/counter/counters.h"
#include "collect/devices.h"
#include "collect/drm/cards.h"
#include "collect/drm/kernel_jobs.h"

enum { DRM_JOBS = 1, DRM_ENGINES = 2 };

struct drm_options {
	struct collector_choice choice; /* comes first */
	struct counter_choice counters;
};

_Static_assert(sizeof(struct drm_options) <= COLLECTOR_OPTIONS_BYTES, "a slot has room");

enum { DRM_MAX_HZ = 100 };

static int read_metric(const char *option, void *options)
{
	struct drm_options *own = options;

	return counter_choice_read_metric(option, "drm", &drm_sources, DRM_MAX_HZ,
					  &own->counters.metrics);
}

static const struct collector_option drm_options[] = {
	{COLLECTOR_RATE_NAME, "1 to 100 readings a second (default 10)"},
	{"jobs",
	 "record jobs of GPUs with their process and times, from the kernel's drivers; needs root "
	 "or BPF rights; on by default; -jobs: off",
	 .set = DRM_JOBS, .off = DRM_JOBS},
	{"engines",
	 "read the busy time of each engine of GPUs with the driver xe, which keeps these GPUs "
	 "awake; engines of i915 are always read",
	 .set = DRM_ENGINES, .off = DRM_ENGINES},
	{"metric=GLOB@HZ",
	 "read only metrics whose name matches; with @HZ at most HZ times a second; may be "
	 "repeated "
	 "(duet list metrics)",
	 .read = read_metric},
	{NULL},
};

static const struct collector_rate rate = {.usual_hz = 10, .max_hz = DRM_MAX_HZ};

enum { JOBS_NS = 20000000 }; /* in this time the kernel's ring can hold 20,000 jobs */

struct drm {
	struct recording *recording; /* borrowed */
	/* owned by the counters, whose samplers may outlive them; without counters, owned by us */
	struct cards *cards;
	struct counters *counters; /* owned; NULL: no card */
	struct kernel_jobs *jobs;  /* owned; NULL: jobs are not recorded */
};

static void describe_cards(struct recording *recording, struct cards *cards)
{
	for (size_t i = 0; i < cards->count; i++) {
		struct card *card = &cards->all[i];
		const char *vendor = card_vendor(card);
		char name[2 * CARD_TEXT_BYTES];
		const struct device_facts facts = {.address = card->address,
						   .name = name,
						   .vendor = *vendor ? vendor : NULL,
						   .driver = card->driver};

		snprintf(name, sizeof(name), "%s %s", *vendor ? vendor : card->driver,
			 *card->pci_id ? card->pci_id : card->address);
		card->id = devices_meet(recording, &facts);
	}
}

/* Errors: -ENODEV: no card, with the error chain. */
static int open_counters(struct drm *drm, const struct session_options *session)
{
	const struct drm_options *own = collector_options(session, "drm");
	const struct collector_choice *choice = &own->choice;
	const char *root = getenv("DUET_COUNTERS_ROOT");
	const struct counters_options options = {
		.collector = "drm",
		.group.sources = &drm_sources,
		.names = {[GROUP_MACHINE] = "drm", [GROUP_PROCESSES] = "drm-processes"},
		.group.hz = choice->hz,
		.group.choice = own->counters,
		.group.sources_context = drm->cards,
		.close_context = free,
		.group.root = root ? root : "",
		.has_processes = session->command || session->pids_count,
		.has_others = session_collects(session, "cpu")};
	int error;

	cards_find(options.group.root, drm->cards);
	drm->cards->keeps_awake = choice->words & DRM_ENGINES;
	if (!drm->cards->count)
		return error_set(-ENODEV,
				 "/sys/class/drm has no card: the kernel has no DRM driver for a "
				 "GPU, or this container hides the host's /sys");
	describe_cards(drm->recording, drm->cards);
	error = counters_open(drm->recording, &options, &drm->counters);
	if (error)
		drm->cards = NULL;
	return error;
}

static void note_failed(struct recording *recording)
{
	recording_note(recording, "drm", COLLECTOR_PARTIAL, 0, error_text());
	recording_warn(recording, error_text());
	error_clear();
}

static void close_state(void *state)
{
	struct drm *drm = state;

	if (!drm)
		return;
	kernel_jobs_close(drm->jobs);
	if (drm->counters)
		counters_close(drm->counters);
	else
		free(drm->cards);
	free(drm);
}

/* Opens counters, which need a card, and jobs, which need rights. Each may fail without the
 * other. */
static int open_state(struct recording *recording, const struct session_options *session,
		      void **ret_state)
{
	const struct collector_choice *choice = collector_options(session, "drm");
	const bool wants_jobs = choice->words & DRM_JOBS;
	struct drm *drm;
	int error;

	*ret_state = NULL;
	if (!choice->hz)
		return 0;
	drm = calloc(1, sizeof(*drm));
	if (drm)
		drm->cards = calloc(1, sizeof(*drm->cards));
	if (!drm || !drm->cards) {
		free(drm);
		return error_set(-ENOMEM, "counters: out of memory");
	}
	drm->recording = recording;
	error = open_counters(drm, session);
	if (error && (error != -ENODEV || !wants_jobs)) {
		close_state(drm);
		return error;
	}
	if (error)
		note_failed(recording);
	if (wants_jobs && kernel_jobs_open(recording, drm->cards, &drm->jobs))
		note_failed(recording);
	*ret_state = drm;
	return 0;
}

static int watch(void *state, pid_t pid)
{
	return counters_watch(((struct drm *)state)->counters, pid);
}

static int attach(void *state, pid_t pid, int pid_fd)
{
	return counters_attach(((struct drm *)state)->counters, pid, pid_fd);
}

static uint64_t interval_ns(const void *state)
{
	const struct drm *drm = state;

	return drm->jobs ? JOBS_NS : counters_interval_ns(drm->counters);
}

static void look_for_processes(void *state)
{
	counters_look(((struct drm *)state)->counters);
}

static void catch_up(void *state, uint64_t until_ns)
{
	struct drm *drm = state;

	counters_catch_up(drm->counters, until_ns);
	if (drm->jobs)
		kernel_jobs_drain(drm->jobs);
}

static void each_second(void *state, uint64_t now_ns)
{
	struct drm *drm = state;

	counters_count_losses(drm->counters, now_ns);
	if (drm->jobs)
		kernel_jobs_each_second(drm->jobs, now_ns);
}

static const struct collector_work work = {
	.open = open_state,
	.watch = watch,
	.attach = attach,
	.interval_ns = interval_ns,
	.look = look_for_processes,
	.catch_up = catch_up,
	.each_second = each_second,
	.close = close_state,
};

const struct collector drm_collector = {
	.name = "drm",
	.help = "GPUs by their kernel driver: engine time and memory of each process; load, power, "
		"clocks, temperature; with rights the jobs of all processes",
	.unverified = true,
	.sources = &drm_sources,
	.options = drm_options,
	.named = {.set = DRM_JOBS},
	.rate = &rate,
	.by_request = true,
	.work = &work,
};
