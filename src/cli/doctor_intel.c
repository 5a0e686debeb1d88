/* SPDX-License-Identifier: MIT
 *
 * cli/doctor_intel.c - whether Intel's GPUs can be sampled and counted here, and their instructions shown
 *
 * Runs in:  our own process
 * Gets:     the machine, or the tree below a root; its drivers and libraries   Gives: checks
 * Owns:     nothing
 * Fails:    never; what is missing is its result
 * Why drivers are asked, and no stream is opened: only one program at a time may have one
 * Why the newest generation first: a library that knows one knows those before it, and which release has it is what a user
 *           has to be told
 */
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "cli/doctor.h"
#include "collect/drm/cards.h"
#include "collect/intel/eu_stream.h"
#include "collect/intel/oa_stream.h"
#include "collect/rights.h"
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
				   i ? ": newer code is shown without operands; libigc2 of newer "
				       "Debians knows it"
				     : "");
			isa_free(isa);
			return;
		}
		snprintf(why, sizeof(why), "%s", isa_why(isa));
		isa_free(isa);
	}
	doctor_add(collector, "disassembler", false, false, IGA_FIX, "%s", why);
}

/* ---- the driver -------------------------------------------------------------------------------- */

#define PARANOID   "/proc/sys/dev/xe/observation_paranoid"
#define XE_FIX     "modprobe xe"
#define NODE_FIX   "sudo usermod -aG render $USER, and log in again"
#define RIGHTS_FIX "sudo sysctl dev.xe.observation_paranoid=0"
#define STALLS_FIX                                                                     \
	"install Linux 6.15 or later (Debian 13: apt-get install -t trixie-backports " \
	"linux-image-amd64)"
#define OA_FIX                                                                               \
	"install Linux 6.11 or later (Debian 12: apt-get install linux-image-6.12-amd64 of " \
	"bookworm-security)"
#define I915_FIX                                                                               \
	"boot with i915.force_probe=!ID xe.force_probe=ID, ID as 'lspci -nn' shows it behind " \
	"8086:"

/* A file's text below the root without its last newline; "": there is none. */
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

/* On PCI a display controller of Intel's that no driver has; "": there is none. */
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
			   "the GPU of Intel at %s has no driver: the kernel's xe is not loaded, "
			   "or does not know "
			   "it",
			   idle);
	else
		doctor_add(collector, "gpu", false, true, NULL,
			   "no GPU of Intel: neither i915 nor xe has one, and none waits for a "
			   "driver");
}

static void check_i915(struct doctor_collector *collector, const struct card *card)
{
	doctor_add(collector, "gpu", false, true, I915_FIX,
		   "%s (%s, %s) has the driver i915, which samples no instructions; xe does, for "
		   "Xe2 and later, and counts "
		   "for Gen12 and later. Its jobs are told with i915, too: --collect drm",
		   card->name, card->pci_id, card->address);
}

static void check_observe(struct doctor_collector *collector, const char *root)
{
	char paranoid[16], setcap[PATH_MAX + 100];

	read_text(root, PARANOID, paranoid, sizeof(paranoid));
	if (strcmp(paranoid, "0") == 0 || (!*root && rights_can_observe())) {
		doctor_add(collector, "rights", true, true, NULL, "%s",
			   strcmp(paranoid, "0") == 0
				   ? PARANOID " is 0: everybody may observe GPUs"
				   : "GPUs may be observed, as root or by cap_perfmon");
		return;
	}
	rights_setcap_text(0, setcap, sizeof(setcap));
	doctor_add(collector, "rights", false, true, RIGHTS_FIX,
		   PARANOID " is %s: the driver xe lets root and cap_perfmon alone observe GPUs: "
			    "record as root, or %s, or let everybody",
		   *paranoid ? paranoid : "not there", setcap);
}

static void check_stalls(struct doctor_collector *collector, const struct gpu_node *node)
{
	struct eu_stream_facts facts = {.layout = NULL};
	const int error = eu_stream_ask(node, 0, 0, &facts);

	if (!error)
		doctor_add(collector, "eu_stalls", true, false, NULL,
			   "%s: which instructions execute and why others wait, in rows as of %s, "
			   "one sample in %llu cycles",
			   node->address, facts.layout->name,
			   (unsigned long long)facts.rate_cycles);
	else
		doctor_add(collector, "eu_stalls", false, false, facts.layout ? STALLS_FIX : NULL,
			   "%s: %s", node->address, error_text());
	error_clear();
}

static void check_oa(struct doctor_collector *collector, const struct gpu_node *node)
{
	struct oa_facts facts;
	const int error = oa_stream_ask(node, 0, 100, &facts);

	if (!error)
		doctor_add(collector, "oa", true, false, NULL,
			   "%s: counters of its OA unit, in reports of the format %s",
			   node->address, facts.layout->name);
	else
		doctor_add(collector, "oa", false, false, OA_FIX, "%s: %s", node->address,
			   error_text());
	error_clear();
}

/* How many there are that are ours to open, and what each of them can. */
static size_t check_nodes(struct doctor_collector *collector)
{
	struct gpu_node node;
	size_t count = 0;

	for (int minor = GPU_NODE_FIRST; minor <= GPU_NODE_LAST; minor++) {
		if (!gpu_node_open(minor, &node))
			continue;
		if (strcmp(node.driver, "xe") == 0) {
			doctor_add(collector, "gpu", true, true, NULL,
				   "/dev/dri/renderD%d: driver xe, %s", minor, node.address);
			check_stalls(collector, &node);
			check_oa(collector, &node);
			count++;
		}
		gpu_node_close(&node);
	}
	return count;
}

static const struct card *find_card(const struct cards *cards, const char *driver)
{
	for (size_t i = 0; i < cards->count; i++)
		if (strcmp(cards->all[i].driver, driver) == 0)
			return &cards->all[i];
	return NULL;
}

void doctor_examine_intel(struct doctor_collector *collector, const char *root)
{
	const struct card *xe, *i915;
	struct cards cards;
	const size_t nodes = *root ? 0 : check_nodes(collector);

	collector->name = "intel";
	cards_find(root, &cards);
	xe = find_card(&cards, "xe");
	i915 = find_card(&cards, "i915");
	if (xe && !nodes && !*root)
		doctor_add(collector, "gpu", false, true, NODE_FIX,
			   "%s (%s, %s) has the driver xe, but no render node of it in /dev/dri "
			   "may be opened by this "
			   "user",
			   xe->name, xe->pci_id, xe->address);
	else if (xe && !nodes)
		doctor_add(collector, "gpu", true, true, NULL, "%s: %s, driver xe, %s", xe->name,
			   xe->pci_id, xe->address);
	if (xe || nodes)
		check_observe(collector, root);
	else if (i915)
		check_i915(collector, i915);
	else
		check_none(collector, root);
}
