/* SPDX-License-Identifier: MIT
 *
 * collect/drm/collector.c - counters of GPUs by what the kernel says of them
 *
 * Runs in:  the recorder's main thread; samplers have their own
 * Gets:     on or off, how often   Gives: devices, and rows (collect/counters.h)
 * Owns:     the list of cards
 * Fails:    -ENODEV where there is no card
 * Why by request: what the files of drivers cost was not measured on GPUs yet; some ask the GPU's own processor for each
 *           value, and fdinfo of some walks all buffers of its client
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "collect/collector.h"
#include "collect/counters.h"
#include "collect/devices.h"
#include "collect/drm/cards.h"

static const struct collector_option collector_options[] = {
	{"HZ", "so many readings a second, 1 to 100; otherwise 10"},
	{NULL, NULL},
};

static const struct collector_rate rate = {
	.offset = offsetof(struct session_options, drm_hz), .usual_hz = 10, .most_hz = 100};

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

static int open_state(struct recording *recording, const struct session_options *session,
		      void **ret_state)
{
	struct cards *cards = session->drm_hz ? calloc(1, sizeof(*cards)) : NULL;
	const char *root = getenv("DUET_COUNTERS_ROOT");
	const struct counters_options options = {
		.collector = "drm",
		.sources = &drm_sources,
		.names = {[GROUP_MACHINE] = "drm", [GROUP_PROCESSES] = "drm-processes"},
		.hz = session->drm_hz,
		.context = cards,
		.close_context = free,
		.root = root ? root : "",
		.has_processes = session->command || session->pids_count,
		.has_others = session->cpu};
	struct counters *counters = NULL;
	int error;

	*ret_state = NULL;
	if (!session->drm_hz)
		return 0;
	if (!cards)
		return error_set(-ENOMEM, "counters: out of memory");
	cards_find(options.root, cards);
	if (!cards->count) {
		free(cards);
		return error_set(-ENODEV, "/sys/class/drm shows no card: the kernel has no DRM "
					  "driver for a GPU, or, in a "
					  "container, /sys is not the machine's");
	}
	describe_cards(recording, cards);
	error = counters_open(recording, &options, &counters);
	*ret_state = counters;
	return error;
}

static const struct collector_work work = {
	.open = open_state,
	COUNTERS_WORK,
};

extern const struct collector drm_collector;
const struct collector drm_collector = {
	.name = "drm",
	.help = "counters of GPUs by their kernel driver: engine time and memory of each process; "
		"load, power, "
		"clocks, temperature",
	.sources = &drm_sources,
	.options = collector_options,
	.rate = &rate,
	.by_request = true,
	.work = &work,
};
