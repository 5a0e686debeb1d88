/* SPDX-License-Identifier: MIT
 *
 * cli/doctor_gpu.c - what counters of GPUs need of this machine
 *
 * Runs in:  our own process; NVML is loaded in a child (cli/probe.c)
 * Gets:     the machine, or the tree below a root   Gives: checks
 * Owns:     nothing
 * Fails:    never; what is missing is its result
 * Why the holders: hardware counters have one user at a time, and the one who is refused is told "busy" and no name
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "cli/probe.h"
#include "collect/drm/cards.h"
#include "collect/nvidia/holders.h"

#define MODULE     "/proc/driver/nvidia/version"
#define MODULE_FIX "modprobe nvidia"

/* Below a root the library of this machine would say nothing of that one. */
static void check_module(struct doctor_collector *collector, const char *root)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s" MODULE, root);
	if (access(path, R_OK) == 0)
		doctor_add(collector, "driver", true, true, NULL, MODULE " is there");
	else
		doctor_add(collector, "driver", false, true, MODULE_FIX,
			   "no " MODULE ": the kernel driver of NVIDIA is not loaded");
}

static void check_gpus(struct doctor_collector *collector)
{
	struct probe_result result;

	probe_nvml(&result);
	if (result.ok)
		doctor_add(collector, "gpus", true, true, NULL, "%s", result.text);
	else
		doctor_add(collector, "gpus", false, true, NULL, "NVML: %s", result.text);
}

static void check_holders(struct doctor_collector *collector, const char *root)
{
	struct holder holders[HOLDERS_MOST];
	size_t count = holders_find(root, true, holders);
	char text[1200];

	holders_format(holders, count, text, sizeof(text));
	if (count)
		doctor_add(collector, "holders", true, false, NULL,
			   "who may have hardware counters, which are not needed here: %s", text);
	else
		doctor_add(collector, "holders", true, false, NULL,
			   "nobody is known to have hardware counters, as far as processes may be "
			   "looked at");
}

void doctor_examine_nvidia(struct doctor_collector *collector, const char *root)
{
	collector->name = "nvidia";
	if (*root)
		check_module(collector, root);
	else
		check_gpus(collector);
	check_holders(collector, root);
}

void doctor_examine_drm(struct doctor_collector *collector, const char *root)
{
	struct cards cards;
	bool has_intel = false;

	collector->name = "drm";
	cards_find(root, &cards);
	for (size_t i = 0; i < cards.count; i++) {
		has_intel |= strcmp(card_vendor(&cards.all[i]), "Intel") == 0;
		doctor_add(collector, "card", true, true, NULL, "%s: %s%s%s, driver %s, %s",
			   cards.all[i].name, card_vendor(&cards.all[i]),
			   *card_vendor(&cards.all[i]) ? " " : "", cards.all[i].pci_id,
			   cards.all[i].driver, cards.all[i].address);
	}
	if (has_intel)
		doctor_check_iga(collector);
	if (!cards.count)
		doctor_add(collector, "card", false, true, NULL,
			   "/sys/class/drm shows no card: the kernel has no DRM driver for a GPU, "
			   "or, in a "
			   "container, /sys is not the machine's");
}
