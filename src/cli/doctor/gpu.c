/* SPDX-License-Identifier: MIT
 *
 * cli/doctor/gpu.c - check what CUDA recordings and GPU counters need
 *
 * Runs in:  our own process; NVML and CUPTI are loaded in a child (cli/doctor/probe.c)
 * Gets:     the machine, or the tree below a root
 * Gives:    checks
 * Owns:     nothing
 * Fails:    never; a missing part is a result
 * Why processes that may hold the counters are listed: only one process at a time can use the
 *           hardware counters. A refused process gets the error "busy" without the name of the
 *           holder.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/probe.h"
#include "collect/drm/cards.h"
#include "collect/nvidia/holders.h"
#include "collect/nvidia/options.h"

#define MODULE     "/proc/driver/nvidia/version"
#define MODULE_FIX "modprobe nvidia"

/* With a root, the tree's kernel module is checked; this machine's library would describe this
 * machine instead. */
static void check_module(struct doctor_collector *collector, const char *root)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s" MODULE, root);
	if (access(path, R_OK) == 0)
		doctor_add(collector, "driver", true, true, NULL, MODULE " exists");
	else
		doctor_add(collector, "driver", false, true, MODULE_FIX,
			   "no " MODULE ": NVIDIA's kernel driver is not loaded");
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
	struct holder holders[MAX_HOLDERS];
	size_t count = holders_find(root, true, holders);
	char text[1200];

	holders_format(holders, count, text, sizeof(text));
	if (count)
		doctor_add(collector, "holders", true, false, NULL,
			   "processes that may hold the hardware counters, which only nvidia:pm "
			   "needs: %s",
			   text);
	else
		doctor_add(
			collector, "holders", true, false, NULL,
			"no process is known to hold the hardware counters, among processes that "
			"duet may inspect");
}

/* Not needed: programs may bring their own libcupti. */
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
			   "pip install nvidia-cuda-cupti, or set DUET_CUPTI to a libcupti",
			   "no libcupti is found%s%s: programs without their own libcupti are "
			   "recorded without CUDA",
			   named && *named ? " by DUET_CUPTI=" : "", named && *named ? named : "");
}

static void check_injection(struct doctor_collector *collector)
{
	const char *other = getenv("CUDA_INJECTION64_PATH");

	if (other && *other)
		doctor_add(collector, "environment", false, false, "unset CUDA_INJECTION64_PATH",
			   "CUDA is not recorded because CUDA_INJECTION64_PATH=%s is set and the "
			   "driver "
			   "loads only one tool",
			   other);
}

void doctor_examine_nvidia(struct doctor_collector *collector, const char *root)
{
	collector->name = "nvidia";
	if (*root)
		check_module(collector, root);
	else
		check_gpus(collector);
	doctor_check_guest(collector, NVIDIA_GUEST, "; supports CUPTI 11.0 to 13");
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
		doctor_add(
			collector, "card", false, true, NULL,
			"/sys/class/drm has no card: the kernel has no DRM driver for a GPU, or a "
			"container hides /sys");
}
