/* SPDX-License-Identifier: MIT
 *
 * collect/amd/amd.c - the collector "amd": loads the guest for ROCm
 *
 * Runs in:  the recorder; the work is done by the guest (inject/amd/hsa.c)
 * Gets:     the options of --collect amd, or RTL_MODE
 * Gives:    the session's options, the program's environment
 * Owns:     nothing
 * Fails:    for a mode that does not exist; a guest that could not be loaded is noted
 * Why three modes: timing a dispatch that carries a signal of the program delays its completion by
 *           a few microseconds, so `lite` does not time such dispatches. Dispatches that a program
 *           writes into the queue in one batch may depend on this, so only `full` times them.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/amd_options.h"
#include "base/array.h"
#include "base/error.h"
#include "collect/amd/ways.h"
#include "collect/collector.h"
#include "collect/proc.h"
#include "collect/recording.h"
#include "collect/start/environment.h"

/* The device file of AMD's kernel driver. */
#define DRIVER_FILE "/dev/kfd"

/* File names, of any version. */
#define HIP_LIBRARY "libamdhip64.so"
#define HSA_LIBRARY "libhsa-runtime64.so"

/* A program may launch 100,000 kernels while the recorder waits for a processor on a loaded
 * machine. Each takes 88 bytes for the launch and 64 for the execution, which the same thread
 * writes if it waits for them. */
enum { RING_BYTES = 16 << 20 };

/* Option bits beside enum amd_option. */
enum {
	AMD_ON = 1,
	AMD_DEFAULT = 2, /* the option "default" was given */
	AMD_MODES = AMD_OPTION_LITE | AMD_OPTION_FULL | AMD_DEFAULT
};

struct amd_options {
	struct collector_choice choice;
	/* Value of RTL_MODE if it is not a mode; NULL: it is one, or not set. */
	const char *rtl_mode;
};

static const struct collector_option amd_options[] = {
	{"lite",
	 "record dispatches that carry a completion signal of the program without device times",
	 .set = AMD_ON | AMD_OPTION_LITE},
	{"default",
	 "record device times of every dispatch, except those submitted in batches (the default)",
	 .set = AMD_ON | AMD_DEFAULT},
	{"full",
	 "record device times of every dispatch, also of those submitted in batches (graph replay)",
	 .set = AMD_ON | AMD_OPTION_FULL},
	{"force", "follow queues even with ROCm 7.0 to 7.2, which may crash the program",
	 .set = AMD_ON | AMD_OPTION_FORCE},
	{"pcs",
	 "also sample the instructions that GPUs execute (ROCm 6.2 and newer; not verified on "
	 "hardware)",
	 .set = AMD_ON | AMD_OPTION_PCS},
	{"nohip", "record no HIP calls, and load nothing by LD_PRELOAD",
	 .set = AMD_ON | AMD_OPTION_NO_HIP},
	{NULL},
};

static const struct mode {
	const char *name;
	uint32_t options;
} modes[] = {
	{"lite", AMD_OPTION_LITE},
	{"default", 0},
	{"full", AMD_OPTION_FULL},
	/* Names of rocm-trace-lite. Its "standard" is the default here; its "hip" adds the calls of
	 * HIP, which are recorded in any case. */
	{"standard", 0},
	{"hip", 0},
};

/* NULL: no such mode. */
static const struct mode *find_mode(const char *name)
{
	for (size_t i = 0; i < ARRAY_COUNT(modes); i++)
		if (strcmp(modes[i].name, name) == 0)
			return &modes[i];
	return NULL;
}

bool amd_has_mode(const char *name)
{
	return find_mode(name) != NULL;
}

/* The default is off without the driver, because the guest has nothing to do then. */
static bool is_default(void)
{
	return access(DRIVER_FILE, F_OK) == 0;
}

/* Applies RTL_MODE, by which users of rocm-trace-lite choose a mode. A wrong value is an error only
 * if the user named this collector, because another tool may use the variable. */
static int settle_options(void *options, bool is_named)
{
	struct amd_options *amd = options;
	const uint32_t asked = amd->choice.words & AMD_MODES;
	const char *name = getenv("RTL_MODE");
	const struct mode *mode;

	amd->rtl_mode = NULL;
	if (asked & (asked - 1))
		return error_set(-EINVAL, "--collect names two modes of amd; only one is possible: "
					  "lite, default or full");
	if (!amd->choice.words || asked || !name || !*name)
		return 0;
	mode = find_mode(name);
	if (mode)
		amd->choice.words |= mode->options;
	else if (!is_named)
		amd->rtl_mode = name;
	else
		return error_set(-EINVAL,
				 "RTL_MODE is '%s'; the modes are " AMD_MODES_TEXT
				 "; set one of them, or unset it",
				 name);
	return 0;
}

/* AMD's OpenCL creates its queues through ROCm. If OpenCL is collected too, its guest records those
 * queues. */
static uint32_t guest_options(const struct session_options *session,
			      uint32_t ret_numbers[RING_NUMBERS])
{
	const struct amd_options *amd = collector_options(session, "amd");

	return (amd->choice.words & RING_OPTIONS_OF_GUEST) |
	       (session_collects(session, "opencl") ? AMD_OPTION_OPENCL : 0);
}

/* Whether ROCm can load the guest. False: *ret_why is the reason. */
static bool can_load(const struct session_options *session, const char **ret_why)
{
	const char *guest = collector_guest_path(session, "amd");

	*ret_why = NULL;
	if (!session_collects(session, "amd"))
		*ret_why = "ROCm is not collected";
	else if (!guest)
		*ret_why = COLLECTOR_NO_GUEST(AMD_GUEST);
	else if (strpbrk(guest, " \"'\\"))
		*ret_why = "the guest's path contains a space, a quote or a backslash, which ROCm "
			   "takes for separators; move duet to another folder";
	return !*ret_why;
}

/* Whether the guest can also be preloaded, to record calls of HIP. False: *ret_why is the reason,
 * or NULL if that is not wanted.
 *
 * The preloaded guest is in every process that the program starts. It replaces HIP's functions only
 * in programs that are linked to HIP, so others are unaffected. But a program that was built with
 * AddressSanitizer would refuse to start, and the loader of a 32-bit program would print an error.
 * So the guest is preloaded only if the machine has the driver or the user chose this collector.
 * The program's own libraries do not decide, because Python loads HIP through libraries that are
 * not known beforehand, and frameworks bring their own. */
static bool can_preload(const struct session_options *session, const char **ret_why)
{
	const struct amd_options *amd = collector_options(session, "amd");

	*ret_why = NULL;
	if ((amd->choice.words & AMD_OPTION_NO_HIP) || !session->command ||
	    !can_load(session, ret_why))
		return false;
	if (strchr(collector_guest_path(session, "amd"), ':'))
		*ret_why = "calls of HIP are not recorded: the guest's path contains a ':', which "
			   "the dynamic linker takes for a separator; move duet to another folder";
	else if (program_kind_of(session->command[0], true) == PROGRAM_SANITIZED)
		*ret_why = "calls of HIP are not recorded: the program is built with "
			   "AddressSanitizer, which must be loaded first; build it without, or use "
			   "--collect amd:nohip";
	return !*ret_why;
}

static void note_armed(struct recording *recording, bool is_armed, const char *why)
{
	enum event_collector_state state = !is_armed ? COLLECTOR_REFUSED
					   : why     ? COLLECTOR_PARTIAL
						     : COLLECTOR_AVAILABLE;

	recording_note(recording, "amd", state, 0, why ? why : "");
}

static void note_mode(struct recording *recording, const char *name)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "RTL_MODE is '%.64s', which is not a mode (" AMD_MODES_TEXT
		 "); the default is used",
		 name);
	note_armed(recording, true, text);
}

/* ROCr loads the guest itself. For the calls of HIP, the guest must be loaded before the
 * program. */
static int arm(struct recording *recording, const struct session_options *session,
	       struct environment *environment, bool *ret_armed, const char **ret_why)
{
	const struct amd_options *amd = collector_options(session, "amd");
	const char *why, *hip_why = NULL, *guest = collector_guest_path(session, "amd");
	bool has_hip;
	int error;

	*ret_armed = can_load(session, &why);
	has_hip = *ret_armed && can_preload(session, &hip_why);
	note_armed(recording, *ret_armed, *ret_armed ? hip_why : why);
	if (!*ret_armed)
		return 0;
	if (amd->rtl_mode)
		note_mode(recording, amd->rtl_mode);
	/* Our guest comes first. A tool that is loaded later intercepts above ours, and both see
	 * each packet. A tool that is loaded before ours replaces the signals in which the device
	 * writes its times. */
	error = environment_prepend(environment, "HSA_TOOLS_LIB", guest, ' ');
	return error || !has_hip ? error
				 : environment_append(environment, "LD_PRELOAD", guest, ':');
}

/* Returns a process of -p that has loaded the library; 0: none. */
static pid_t find_loaded(const struct session_options *session, const char *library)
{
	for (size_t i = 0; i < session->pids_count; i++)
		if (proc_maps_word((uint32_t)session->pids[i], library))
			return session->pids[i];
	return 0;
}

/* Notes a running process with ROCm, because the guest can only be loaded at a program's start. A
 * process with HSA but not HIP is not noted if OpenCL is collected, because AMD's OpenCL loads HSA
 * too. */
static bool tell_too_late(const struct session_options *session, char *text, size_t size)
{
	pid_t pid = find_loaded(session, HIP_LIBRARY);

	if (!pid && !session_collects(session, "opencl"))
		pid = find_loaded(session, HSA_LIBRARY);
	if (!pid)
		return false;
	snprintf(text, size,
		 "process %d runs ROCm, but was started without duet, and -p cannot record its "
		 "calls and kernels; start it with 'duet record --collect amd -- PROGRAM'",
		 (int)pid);
	return true;
}

/* Notes a missing device. A user without access to the driver's file may not need it, so that is
 * noted only if ROCm was loaded. */
static bool tell_no_device(const struct session_options *session, bool has_guest, char *text,
			   size_t size)
{
	if (access(DRIVER_FILE, F_OK) < 0)
		snprintf(text, size,
			 "no AMD device can be used: no " DRIVER_FILE
			 ", so the kernel driver amdgpu is not loaded, or there is no AMD GPU "
			 "(duet doctor)");
	else if ((has_guest || !session_collects(session, "opencl")) &&
		 access(DRIVER_FILE, R_OK | W_OK) < 0)
		snprintf(text, size,
			 "no AMD device can be used: " DRIVER_FILE
			 " may not be opened (duet doctor explains what is missing)");
	else
		return false;
	return true;
}

/* Looks for the library's name with its version. Files that only mention the library, such as duet
 * itself, do not contain that. */
static bool is_linked_to_hip(const char *program)
{
	char word[32];

	snprintf(word, sizeof(word), "%s.", HIP_LIBRARY);
	return program_mentions(program, word);
}

static bool explain_missing(const struct session_options *session, bool has_guest, bool has_device,
			    char *ret_text, size_t size)
{
	if (!has_guest && session->pids_count)
		return tell_too_late(session, ret_text, size);
	if (session_collects(session, "amd"))
		return !has_device && session->command &&
		       tell_no_device(session, has_guest, ret_text, size);
	if (!session_collects(session, "opencl") || has_device || !session->command ||
	    !is_linked_to_hip(session->command[0]))
		return false;
	snprintf(ret_text, size,
		 "the program is linked to HIP, but the collector amd is not selected; add "
		 "--collect amd");
	return true;
}

static void describe(const struct session_options *session,
		     void (*on_line)(void *context, const char *text), void *context)
{
	char text[PATH_MAX + 256];
	const char *why;

	if (!session->command || !can_load(session, &why))
		return;
	snprintf(text, sizeof(text),
		 "guest %s, loaded by HSA_TOOLS_LIB%s; existing values are kept",
		 collector_guest_path(session, "amd"),
		 can_preload(session, &why) ? " and LD_PRELOAD" : "");
	on_line(context, text);
}

_Static_assert((int)AMD_TROUBLE_SIGNALS == (int)RING_TROUBLE_GUEST, "the first of the guest's own");

static const struct guest_fact facts[] = {
	{AMD_TROUBLE_SIGNALS, false, LOSES_NOTHING, NULL,
	 "commands have no device times: all signals were in use, or ROCm provided no more"},
	{AMD_TROUBLE_MODE, false, LOSES_NOTHING, NULL,
	 "dispatches have no device times because they carry a signal of the program, and amd:lite "
	 "does not time those (amd:default does)"},
	{AMD_TROUBLE_BATCHES, false, LOSES_LAUNCHES, NULL,
	 "dispatches were submitted in batches (graph replay) and are left out; amd:full times "
	 "them"},
	{AMD_TROUBLE_NOT_FOLLOWED, false, LOSES_UNKNOWN, NULL,
	 "packets (kernels and barriers) are not recorded: duet does not intercept queues of ROCm "
	 "7.0 to 7.2, which may crash (amd:force intercepts them nevertheless)"},
	{AMD_TROUBLE_QUEUE_SPECIAL, false, LOSES_UNKNOWN, NULL,
	 "packets (kernels and barriers) are not recorded: their queues cannot be intercepted "
	 "(cooperative, very small, or with a priority or a mask)"},
	{AMD_TROUBLE_QUEUE_REFUSED, false, LOSES_UNKNOWN, NULL,
	 "packets (kernels and barriers) are not recorded: ROCm or the system refused to intercept "
	 "their queues, or all signals were in use"},
	{AMD_TROUBLE_TOOL_BEHIND, true, LOSES_NOTHING, NULL,
	 "dispatches have no device times: another tool in HSA_TOOLS_LIB comes before duet's guest "
	 "and takes them; name libduet-amd.so first in HSA_TOOLS_LIB"},
	{AMD_TROUBLE_TOOL_BLIND, true, LOSES_NOTHING,
	 "another tool in HSA_TOOLS_LIB does not see the queues of this program: it creates plain "
	 "queues, which cannot be intercepted; name libduet-amd.so first in HSA_TOOLS_LIB"},
	{AMD_TROUBLE_NO_HELPER, true, LOSES_NOTHING,
	 "duet's guest could not start a thread (ulimit -u, or the container's limit on "
	 "processes), so device times are read only in the program's own calls, and commands after "
	 "its last call have none"},
	{AMD_TROUBLE_KERNELS, false, LOSES_NOTHING, NULL,
	 "kernels have no name, because it is unknown how their code was loaded"},
	{AMD_TROUBLE_NO_QUEUE, true, LOSES_NOTHING,
	 "kernels were loaded and no queue was seen: this ROCm creates its queues in an unknown "
	 "way, and no dispatch is recorded"},
	{AMD_TROUBLE_LAYOUT, true, LOSES_NOTHING,
	 "the tables of this ROCm runtime are not known: nothing of it is recorded", NULL},
	{AMD_TROUBLE_HIP_BEFORE, true, LOSES_NOTHING,
	 "calls of HIP are not recorded, only their dispatches, because the guest was not "
	 "preloaded. A wrapper that sets LD_PRELOAD must keep its value "
	 "(LD_PRELOAD=OWN:$LD_PRELOAD)"},
	{AMD_TROUBLE_NO_SAMPLES, true, LOSES_NOTHING,
	 "no instructions are sampled: this ROCm (6.2 is needed), its driver or its GPUs offer no "
	 "PC sampling, or another tool uses it"},
	{0},
};

_Static_assert(sizeof(struct amd_options) <= COLLECTOR_OPTIONS_BYTES, "a slot has room");

static const struct guest_way guest_way = {
	.name = "rocm",
	.file = AMD_GUEST,
	.runtime = "ROCm",
	.library = "libhsa-runtime64.so",
	.device_file = "/dev/kfd",
	.calls = AMD_ON,
	.ring_bytes = RING_BYTES,
	.facts = facts,
	.options = guest_options,
	.arm = arm,
	.describe = describe,
	.explain_missing = explain_missing,
	.why_not_late =
		"its HIP and HSA calls are not recorded. ROCm loads tools only when it starts, and "
		"queues that exist already cannot be intercepted. Start it with 'duet record "
		"--collect amd -- PROGRAM'",
};

const struct collector amd_collector = {
	.name = "amd",
	.help = "ROCm: every kernel dispatch and copy of a HIP or HSA program with its device "
		"times",
	.unverified = true,
	.way = &guest_way,
	.options = amd_options,
	.named = {.set = AMD_ON, .clear = ~0u},
	.chosen_by = AMD_ON,
	.is_default = is_default,
	.settle = settle_options,
};
