/* SPDX-License-Identifier: MIT
 *
 * cli/doctor_gpu.c - what CUDA and counters of GPUs need of this machine
 *
 * Runs in:  our own process; NVML and CUPTI are loaded in a child (cli/probe.c)
 * Gets:     the machine, or the tree below a root   Gives: checks
 * Owns:     nothing
 * Fails:    never; what is missing is its result
 * Why the holders: hardware counters have one user at a time, and the one who is refused is told "busy" and no name
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/doctor.h"
#include "cli/guest_path.h"
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
			   "who may have hardware counters, which nvidia:pm alone needs: %s", text);
	else
		doctor_add(collector, "holders", true, false, NULL,
			   "nobody is known to have hardware counters, as far as processes may be "
			   "looked at");
}

/* Programs may bring their own, so that none is needed here. */
static void check_cupti(struct doctor_collector *collector)
{
	static const char *const places[] = {
		"libcupti.so.13",
		"libcupti.so.12",
		"libcupti.so.11.8",
		"libcupti.so",
		"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
	};
	const char *named = getenv("DUET_CUPTI");
	struct probe_result result = {.ok = false};

	if (named && *named)
		probe_library(named, &result);
	else
		for (size_t i = 0; i < ARRAY_COUNT(places) && !result.ok; i++)
			probe_library(places[i], &result);
	if (result.ok)
		doctor_add(collector, "cupti", true, false, NULL, "%s", result.text);
	else
		doctor_add(collector, "cupti", false, false,
			   "pip install nvidia-cuda-cupti, or name libcupti in DUET_CUPTI",
			   "no libcupti is found%s%s: programs that do not bring their own are "
			   "recorded without CUDA",
			   named && *named ? " as DUET_CUPTI says: " : "",
			   named && *named ? named : "");
}

static void check_injection(struct doctor_collector *collector)
{
	const char *other = getenv("CUDA_INJECTION64_PATH");

	if (other && *other)
		doctor_add(collector, "environment", false, false, "unset CUDA_INJECTION64_PATH",
			   "CUDA_INJECTION64_PATH=%s is set: the driver loads one tool, so that "
			   "CUDA is not recorded",
			   other);
}

void doctor_examine_nvidia(struct doctor_collector *collector, const char *root)
{
	collector->name = "nvidia";
	if (*root)
		check_module(collector, root);
	else
		check_gpus(collector);
	doctor_check_guest(collector, GUEST_NAME_CUDA, "; knows CUPTI 11.0 to 13");
	if (!*root)
		check_cupti(collector);
	check_injection(collector);
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
