/* SPDX-License-Identifier: MIT
 *
 * collect/drm/collector.c - what the kernel says of GPUs
 *
 * Runs in:  the recorder's main thread; samplers have their own
 * Gets:     on or off, how often   Gives: devices, counters (collect/counters.h), jobs (kernel_jobs.h)
 * Owns:     the list of cards
 * Fails:    -ENODEV where there is no card, and no job can be told
 * Why by request: what the files of drivers cost was not measured on GPUs yet; some ask the GPU's own processor for each
 *           value, and fdinfo of some walks all buffers of its client
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collect/collector.h"
#include "collect/counters.h"
#include "collect/devices.h"
#include "collect/drm/cards.h"
#include "collect/drm/kernel_jobs.h"

static const struct collector_option collector_options[] = {
	{"HZ", "so many readings a second, 1 to 100; otherwise 10"},
	{"jobs", "what each process gives a GPU to do, and when it does it, as the kernel tells "
		 "with rights: "
		 "done anyway; -jobs: not"},
	{"engines",
	 "how much of the time each engine of GPUs of the driver xe is busy, which keeps "
	 "them awake; of i915 it is told anyway"},
	{NULL, NULL},
};

static const struct collector_rate rate = {
	.offset = offsetof(struct session_options, drm_hz), .usual_hz = 10, .most_hz = 100};

enum { JOBS_NS = 20000000 }; /* the kernel has room for 20,000 jobs */

struct drm {
	struct recording *recording; /* borrowed */
	struct cards
		*cards; /* the counters', whose samplers may outlive them; without any, owned */
	struct counters *counters; /* owned; NULL: there is no card */
	struct kernel_jobs *jobs;  /* owned; NULL: they are not told */
};

static bool has_option(const char *option)
{
	return strcmp(option, "-jobs") == 0 || strcmp(option, "-engines") == 0;
}

static void choose(struct session_options *session, bool on, const char *option)
{
	if (option && strcmp(option, "-jobs") == 0)
		session->drm_jobs = false;
	else if (option && strcmp(option, "-engines") == 0)
		session->drm_engines = false;
	else if (on && option && strcmp(option, "engines") == 0)
		session->drm_engines = true;
	else if (!on || !option || strcmp(option, "jobs") == 0)
		session->drm_jobs = on;
	if (!on)
		session->drm_engines = false;
}

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

/* Errors: -ENODEV where there is no card, with the error chain. */
static int open_counters(struct drm *drm, const struct session_options *session)
{
	const char *root = getenv("DUET_COUNTERS_ROOT");
	const struct counters_options options = {
		.collector = "drm",
		.sources = &drm_sources,
		.names = {[GROUP_MACHINE] = "drm", [GROUP_PROCESSES] = "drm-processes"},
		.hz = session->drm_hz,
		.context = drm->cards,
		.close_context = free,
		.root = root ? root : "",
		.has_processes = session->command || session->pids_count,
		.has_others = session->cpu};
	int error;

	cards_find(options.root, drm->cards);
	drm->cards->keeps_awake = session->drm_engines;
	if (!drm->cards->count)
		return error_set(-ENODEV, "/sys/class/drm shows no card: the kernel has no DRM "
					  "driver for a GPU, or, in a "
					  "container, /sys is not the machine's");
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

/* Either goes without the other: jobs need rights, counters a card. */
static int open_state(struct recording *recording, const struct session_options *session,
		      void **ret_state)
{
	struct drm *drm;
	int error;

	*ret_state = NULL;
	if (!session->drm_hz)
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
	if (error && (error != -ENODEV || !session->drm_jobs)) {
		close_state(drm);
		return error;
	}
	if (error)
		note_failed(recording);
	if (session->drm_jobs && kernel_jobs_open(recording, drm->cards, &drm->jobs))
		note_failed(recording);
	*ret_state = drm;
	return 0;
}

static int watch(void *state, pid_t pid)
{
	struct drm *drm = state;

	return drm->counters ? counters_watch(drm->counters, pid) : 0;
}

static int attach(void *state, pid_t pid, int pid_fd)
{
	struct drm *drm = state;

	return drm->counters ? counters_attach(drm->counters, pid, pid_fd) : 0;
}

static int descriptor(const void *state)
{
	return -1;
}

static uint64_t interval_ns(const void *state)
{
	const struct drm *drm = state;
	const uint64_t counters_ns =
		drm->counters ? counters_interval_ns(drm->counters) : UINT64_MAX;

	return drm->jobs && counters_ns > JOBS_NS ? JOBS_NS : counters_ns;
}

static void drain(void *state)
{
	struct drm *drm = state;

	if (drm->counters)
		counters_drain(drm->counters);
	if (drm->jobs)
		kernel_jobs_drain(drm->jobs);
}

static void each_second(void *state, uint64_t now_ns)
{
	struct drm *drm = state;

	if (drm->counters)
		counters_count_losses(drm->counters, now_ns);
	if (drm->jobs)
		kernel_jobs_each_second(drm->jobs, now_ns);
}

static const struct collector_work work = {
	.open = open_state,
	.watch = watch,
	.attach = attach,
	.descriptor = descriptor,
	.interval_ns = interval_ns,
	.drain = drain,
	.catch_up = drain,
	.each_second = each_second,
	.close = close_state,
};

extern const struct collector drm_collector;
const struct collector drm_collector = {
	.name = "drm",
	.help = "GPUs by their kernel driver: engine time and memory of each process; load, power, "
		"clocks, temperature; with rights the jobs of all processes",
	.sources = &drm_sources,
	.options = collector_options,
	.rate = &rate,
	.by_request = true,
	.has_option = has_option,
	.choose = choose,
	.work = &work,
};
