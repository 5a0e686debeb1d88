/* SPDX-License-Identifier: MIT
 *
 * cli/doctor/intel.c - check whether Intel GPUs can be sampled and counted, and their code
 * disassembled
 *
 * Runs in:  our own process
 * Gets:     the machine, or the tree below a root; GPU drivers and libraries
 * Gives:    checks
 * Owns:     nothing
 * Fails:    never; a missing part is a result
 * Why drivers are queried, and no stream is opened: only one program at a time may have a stream
 * Why the newest generation first: a library that supports a generation supports all older ones,
 *           and the user needs the newest supported one
 */
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "cli/doctor/doctor.h"
#include "collect/drm/cards.h"
#include "collect/intel/driver.h"
#include "collect/intel/eu_stream.h"
#include "collect/intel/oa_stream.h"
#include "collect/start/rights.h"
#include "isa/isa.h"

#define IGA_FIX "apt-get install libigc1"

void doctor_check_iga(struct doctor_collector *collector)
{
	static const char *const generations[] = {"xe3", "xe2", "xe-hpc", "gen9"};
	char why[1024] = "";
	struct isa *isa;

	for (size_t i = 0; i < ARRAY_COUNT(generations); i++) {
		if (isa_new(ISA_XE, generations[i], &isa)) {
			error_clear();
			return;
		}
		if (isa_library(isa)) {
			doctor_add(collector, "disassembler", true, false, NULL, "%s, up to %s%s",
				   isa_library(isa), generations[i],
				   i ? "; newer code is shown without operands (libigc2 of newer "
				       "Debian releases supports it)"
				     : "");
			isa_free(isa);
			return;
		}
		snprintf(why, sizeof(why), "%s", isa_why(isa));
		isa_free(isa);
	}
	doctor_add(collector, "disassembler", false, false, IGA_FIX, "%s", why);
}

/* ---- the driver ------------------------------------------------------------------------------ */

#define XE_FIX   "modprobe xe"
#define NODE_FIX "sudo usermod -aG render $USER, and log in again"
#define STALLS_FIX                                                                     \
	"install Linux 6.15 or later (Debian 13: apt-get install -t trixie-backports " \
	"linux-image-amd64)"
#define OA_FIX                                                                               \
	"install Linux 6.11 or later (Debian 12: apt-get install linux-image-6.12-amd64 of " \
	"bookworm-security)"
#define I915_FIX                                                                        \
	"boot with i915.force_probe=!ID xe.force_probe=ID; 'lspci -nn' shows ID after " \
	"8086:"

/* The text of a file below the root, without its last newline; "": no such file. */
static void read_text(const char *root, const char *path, char *text, size_t size)
{
	auto_free char *all = NULL;
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s%s", root, path);
	*text = '\0';
	if (read_file(full, 1 << 16, &all, NULL))
		error_clear();
	else
		snprintf(text, size, "%.*s", (int)strcspn(all, "\n"), all);
}

/* PCI address of an Intel display controller without a driver; "": none. */
static void find_idle(const char *root, char *ret_address, size_t size)
{
	char pattern[PATH_MAX], path[PATH_MAX], vendor[16], class[16];
	glob_t found;

	*ret_address = '\0';
	snprintf(pattern, sizeof(pattern), "%s/sys/bus/pci/devices/*", root);
	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		snprintf(path, sizeof(path), "%s/vendor", found.gl_pathv[i]);
		read_text("", path, vendor, sizeof(vendor));
		snprintf(path, sizeof(path), "%s/class", found.gl_pathv[i]);
		read_text("", path, class, sizeof(class));
		snprintf(path, sizeof(path), "%s/driver", found.gl_pathv[i]);
		if (strcmp(vendor, "0x8086") == 0 && strncmp(class, "0x03", 4) == 0 &&
		    access(path, F_OK) != 0)
			snprintf(ret_address, size, "%s", strrchr(found.gl_pathv[i], '/') + 1);
	}
	globfree(&found);
}

static void check_none(struct doctor_collector *collector, const char *root)
{
	char idle[64];

	find_idle(root, idle, sizeof(idle));
	if (*idle)
		doctor_add(collector, "gpu", false, true, XE_FIX,
			   "the Intel GPU at %s has no driver: the kernel driver xe is not loaded, "
			   "or does not support it",
			   idle);
	else
		doctor_add(collector, "gpu", false, true, NULL,
			   "no Intel GPU: neither i915 nor xe has one, and no GPU lacks a "
			   "driver");
}

/* Each driver's sysctl that limits who may observe other users' work on its GPUs. */
static const struct observing {
	const char *driver, *paranoid, *fix, *since;
} observing[] = {
	{"xe", "/proc/sys/dev/xe/observation_paranoid", "sudo sysctl dev.xe.observation_paranoid=0",
	 "xe has OA since Linux 6.11, and EU stalls since Linux 6.15"},
	{"i915", "/proc/sys/dev/i915/perf_stream_paranoid",
	 "sudo sysctl dev.i915.perf_stream_paranoid=0", "i915 has OA from Gen8 on"},
};

static void check_observe(struct doctor_collector *collector, const char *root,
			  const struct observing *by)
{
	char paranoid[16], setcap[PATH_MAX + 100];

	read_text(root, by->paranoid, paranoid, sizeof(paranoid));
	if (strcmp(paranoid, "0") == 0) {
		doctor_add(collector, "rights", true, true, NULL,
			   "%s is 0: all users may observe GPUs", by->paranoid);
		return;
	}
	if (!*root && rights_can_observe()) {
		doctor_add(collector, "rights", true, true, NULL,
			   "GPUs of the driver %s can be observed, as root or with cap_perfmon",
			   by->driver);
		return;
	}
	rights_setcap_text(0, setcap, sizeof(setcap));
	if (*paranoid)
		doctor_add(collector, "rights", false, true, by->fix,
			   "%s is %s: the driver %s lets only root and cap_perfmon observe GPUs; "
			   "record as root, or %s, or allow all users",
			   by->paranoid, paranoid, by->driver, setcap);
	else
		/* no fix: the sysctl does not exist */
		doctor_add(
			collector, "rights", false, true, NULL,
			"%s does not exist: the driver %s of this kernel cannot observe its GPUs: "
			"%s",
			by->paranoid, by->driver, by->since);
}

/* Data Center GPU Max: the only GPUs of i915 whose instructions can be sampled. */
static bool is_max(const char *pci_id)
{
	static const char *const ids[] = {"0B69", "0B6E", "0BD0", "0BD4", "0BD5", "0BD6", "0BD7",
					  "0BD8", "0BD9", "0BDA", "0BDB", "0BE0", "0BE1", "0BE5"};
	const char *id = strchr(pci_id, ':');

	for (size_t i = 0; id && i < ARRAY_COUNT(ids); i++)
		if (strcasecmp(id + 1, ids[i]) == 0)
			return true;
	return false;
}

/* For Data Center GPU Max, duet opens no stream to test whether the driver is Intel's out-of-tree
 * i915, because another program may need it. */
static void check_i915_stalls(struct doctor_collector *collector, const char *what,
			      const char *pci_id)
{
	if (is_max(pci_id))
		doctor_add(
			collector, "eu_stalls", false, false, I915_FIX,
			"%s is a Data Center GPU Max with the driver i915: only Intel's own i915 "
			"(intel-i915-dkms) and the driver xe sample its instructions",
			what);
	else
		doctor_add(collector, "eu_stalls", false, false, NULL,
			   "%s has the driver i915, which samples instructions only on Data Center "
			   "GPU Max; the driver xe does on Xe2 and later",
			   what);
}

static void check_stalls(struct doctor_collector *collector, const struct gpu_node *node)
{
	struct eu_stream_facts facts = {.layout = NULL};
	const int error = eu_stream_ask(node, 0, 0, &facts);

	if (!error)
		doctor_add(collector, "eu_stalls", true, false, NULL,
			   "%s: instruction samples with stall reasons, in the format of %s, "
			   "one sample per %llu cycles",
			   node->address, facts.layout->name,
			   (unsigned long long)facts.rate_cycles);
	else
		doctor_add(collector, "eu_stalls", false, false,
			   facts.layout || !facts.major ? STALLS_FIX : NULL, "%s: %s",
			   node->address, error_text());
	error_clear();
}

static void check_oa(struct doctor_collector *collector, const struct gpu_node *node)
{
	struct oa_facts facts;
	const int error = oa_stream_ask(node, 0, 100, &facts);

	if (!error)
		doctor_add(collector, "oa", true, false, NULL,
			   "%s: counters of the OA unit, in reports of the format %s",
			   node->address, facts.layout->name);
	else
		doctor_add(collector, "oa", false, false,
			   strcmp(node->driver, "xe") == 0 ? OA_FIX : NULL, "%s: %s", node->address,
			   error_text());
	error_clear();
}

static void check_node(struct doctor_collector *collector, const struct cards *cards,
		       const struct gpu_node *node)
{
	const struct card *card = cards_match(cards, node->address, node->driver);

	doctor_add(collector, "gpu", true, true, NULL, "/dev/dri/renderD%d: driver %s, %s",
		   node->minor, node->driver, node->address);
	if (strcmp(node->driver, "xe") == 0)
		check_stalls(collector, node);
	else
		check_i915_stalls(collector, node->address, card ? card->pci_id : "");
	check_oa(collector, node);
}

/* Checks all render nodes of a driver that can be opened; returns their number. */
static size_t check_nodes(struct doctor_collector *collector, const struct cards *cards,
			  const char *driver)
{
	struct gpu_node node;
	size_t count = 0;

	for (int minor = GPU_NODE_FIRST; minor <= GPU_NODE_LAST; minor++) {
		if (!gpu_node_open(minor, &node))
			continue;
		if (strcmp(node.driver, driver) == 0) {
			check_node(collector, cards, &node);
			count++;
		}
		gpu_node_close(&node);
	}
	return count;
}

/* Loads the BPF programs as a recording does, because the kernel's version does not show what its
 * verifier accepts. */
static void check_submissions(struct doctor_collector *collector, const char *driver)
{
	char text[1024], setcap[PATH_MAX + 100];

	rights_setcap_text(RIGHTS_BPF, setcap, sizeof(setcap));
	if (!rights_can_load())
		doctor_add(collector, "submissions", false, false, NULL,
			   "submissions to GPUs of %s are not recorded: more rights are needed; "
			   "record as root, or %s",
			   driver, setcap);
	else if (driver_try(driver, text, sizeof(text)))
		doctor_add(collector, "submissions", true, false, NULL,
			   "submissions to GPUs of %s are recorded through %s", driver, text);
	else
		doctor_add(collector, "submissions", false, false, NULL,
			   "submissions to GPUs of %s are not recorded: %s", driver, text);
}

static const struct card *find_card(const struct cards *cards, const char *driver)
{
	for (size_t i = 0; i < cards->count; i++)
		if (strcmp(cards->all[i].driver, driver) == 0)
			return &cards->all[i];
	return NULL;
}

/* False: the driver has no GPU. With a root, drivers cannot be queried. */
static bool check_driver(struct doctor_collector *collector, const char *root,
			 const struct cards *cards, const struct observing *by)
{
	const struct card *card = find_card(cards, by->driver);
	const size_t nodes = *root ? 0 : check_nodes(collector, cards, by->driver);

	if (!card && !nodes)
		return false;
	if (!nodes && !*root) {
		doctor_add(
			collector, "gpu", false, true, NODE_FIX,
			"%s (%s, %s) has the driver %s, but this user cannot open its render node "
			"in /dev/dri",
			card->name, card->pci_id, card->address, by->driver);
	} else if (!nodes) {
		doctor_add(collector, "gpu", true, true, NULL, "%s: %s, driver %s, %s", card->name,
			   card->pci_id, by->driver, card->address);
		if (strcmp(by->driver, "i915") == 0)
			check_i915_stalls(collector, card->name, card->pci_id);
	}
	check_observe(collector, root, by);
	if (nodes)
		check_submissions(collector, by->driver);
	return true;
}

void doctor_examine_intel(struct doctor_collector *collector, const char *root)
{
	struct cards cards;
	bool has_one = false;

	collector->name = "intel";
	cards_find(root, &cards);
	for (size_t i = 0; i < ARRAY_COUNT(observing); i++)
		has_one |= check_driver(collector, root, &cards, &observing[i]);
	if (!has_one)
		check_none(collector, root);
}
