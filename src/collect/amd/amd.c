/* SPDX-License-Identifier: MIT
 *
 * collect/amd/amd.c - the collector of AMD's ROCm
 *
 * Runs in:  the recorder; the work is done by the guest (inject/hsa.c)
 * Gets:     on or off, the mode of --collect or RTL_MODE   Gives: the session's options, the program's environment
 * Owns:     nothing
 * Fails:    for a mode that does not exist; what could not be loaded into a program is noted
 * Why:      a dispatch that carries a signal of the program's own is completed a few microseconds later where it is
 *           timed: `lite` leaves those alone. Those of a batch may depend on how they were written together: they are
 *           timed in `full` only.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "collect/amd/ways.h"
#include "collect/collector.h"
#include "collect/environment.h"
#include "collect/proc.h"
#include "collect/recording.h"
#include "ring/ring.h"

/* The device file of AMD's kernel driver. */
#define DRIVER_FILE "/dev/kfd"

/* … of any version. */
#define HIP_LIBRARY "libamdhip64.so"
#define HSA_LIBRARY "libhsa-runtime64.so"

/* A program may dispatch 100,000 kernels in the time in which a loaded machine gives the recorder no processor: 88 bytes
 * of each launch and 64 of each execution, which the same thread writes where it waits for them. */
enum { MODES = RING_OPTION_AMD_LITE | RING_OPTION_AMD_FULL, RING_BYTES = 16 << 20 };

static const struct collector_option options[] = {
	{"lite", "leaves dispatches that carry a signal of the program's alone"},
	{"default", "every dispatch but those in batches"},
	{"full", "every dispatch, in batches (graph replay) too"},
	{"force", "follows queues also where ROCm 7.0 to 7.2 may crash of that"},
	{"pcs", "samples instructions too (ROCm 6.2 and newer; not verified on hardware)"},
	{"nohip", "without the calls of HIP: no LD_PRELOAD"},
	{NULL, NULL},
};

static const struct mode {
	const char *name;
	uint32_t options;
} modes[] = {
	{"lite", RING_OPTION_AMD_LITE},
	{"default", 0},
	{"full", RING_OPTION_AMD_FULL},
	/* As rocm-trace-lite calls what is default here; its hip adds the calls of HIP, which are there in any case. */
	{"standard", 0},
	{"hip", 0},
};

/* NULL: there is none of that name. */
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

static void choose(struct session_options *session, bool on, const char *option)
{
	bool is_force = option && strcmp(option, "force") == 0;
	bool is_no_hip = option && strcmp(option, "nohip") == 0;

	session->amd = on;
	if (!on || !option) {
		session->amd_options = 0;
		session->amd_mode_said = false;
		session->amd_modes_differ = false;
		session->amd_no_hip = false;
	} else if (is_no_hip) {
		session->amd_no_hip = true;
		session->amd_options |= RING_OPTION_AMD_NO_HIP;
	} else if (is_force) {
		session->amd_options |= RING_OPTION_AMD_FORCE;
	} else if (strcmp(option, "pcs") == 0) {
		session->amd_options |= RING_OPTION_AMD_PCS;
	} else {
		const uint32_t chosen = find_mode(option)->options;

		session->amd_modes_differ |=
			session->amd_mode_said && (session->amd_options & MODES) != chosen;
		session->amd_options = (session->amd_options & ~(uint32_t)MODES) | chosen;
		session->amd_mode_said = true;
	}
}

static bool is_chosen(const struct session_options *session)
{
	return session->amd;
}

/* Where the driver is not there is nothing for the guest to do. */
static bool is_default(void)
{
	return access(DRIVER_FILE, F_OK) == 0;
}

/* The variable by which users of rocm-trace-lite choose. Who did not ask for ROCm may have it for another tool. */
static int settle(struct session_options *session, bool is_named)
{
	const char *name = getenv("RTL_MODE");
	const struct mode *mode;

	session->rtl_mode = NULL;
	if (session->amd && session->amd_modes_differ)
		return error_set(-EINVAL, "--collect names two modes of amd, which has one at a "
					  "time: lite, default or full");
	if (!session->amd || session->amd_mode_said || !name || !*name)
		return 0;
	mode = find_mode(name);
	if (mode)
		session->amd_options |= mode->options;
	else if (!is_named)
		session->rtl_mode = name;
	else
		return error_set(-EINVAL,
				 "RTL_MODE is '%s'; there are " AMD_MODES_TEXT
				 ": set one of them, or unset it",
				 name);
	return 0;
}

bool amd_can_load(const struct session_options *session, const char **ret_why)
{
	*ret_why = NULL;
	if (!session->amd)
		*ret_why = "ROCm is not collected";
	else if (!session->rocm_guest)
		*ret_why = "the guest libduet-rocm.so is neither beside duet nor installed: "
			   "reinstall duet, or run it from its build folder";
	else if (strpbrk(session->rocm_guest, " \"'\\"))
		*ret_why = "the guest's path holds a space, a quote or a backslash, which ROCm "
			   "takes for separators: move duet to another folder";
	return !*ret_why;
}

/* A preloaded library is in every process that the program starts. Its calls of HIP are found by who was linked to HIP
 * alone, so that one which has nothing to do with it stays what it was; but a program built with AddressSanitizer would
 * refuse to run, and the loader of a 32-bit one print an error. So only where ROCm is collected: the machine has the
 * driver, or the user said so. What the program is linked to says less: Python loads HIP by libraries that nobody sees
 * beforehand, and frameworks bring their own. */
bool amd_can_preload(const struct session_options *session, const char **ret_why)
{
	*ret_why = NULL;
	if (session->amd_no_hip || !session->command || !amd_can_load(session, ret_why))
		return false;
	if (strchr(session->rocm_guest, ':'))
		*ret_why = "calls of HIP are not recorded: the guest's path holds a ':', which the "
			   "dynamic linker takes for a separator: move duet to another folder";
	else if (program_kind_of(session->command[0], true) == PROGRAM_SANITIZED)
		*ret_why = "calls of HIP are not recorded: the program is built with "
			   "AddressSanitizer, which wants to be loaded first: build it without, "
			   "or take --collect amd:nohip";
	return !*ret_why;
}

static void note(struct recording *recording, bool is_armed, const char *why)
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
		 "RTL_MODE is '%.64s', and no mode of ours (" AMD_MODES_TEXT "): default is taken",
		 name);
	note(recording, true, text);
}

/* ROCr loads the guest itself; for the calls of HIP it must be there before the program. */
static int arm(struct recording *recording, const struct session_options *session,
	       struct environment *environment, bool *ret_armed)
{
	const char *why, *hip_why = NULL;
	bool has_hip;
	int error;

	*ret_armed = amd_can_load(session, &why);
	has_hip = *ret_armed && amd_can_preload(session, &hip_why);
	note(recording, *ret_armed, *ret_armed ? hip_why : why);
	if (!*ret_armed)
		return 0;
	if (session->rtl_mode)
		note_mode(recording, session->rtl_mode);
	/* First: tools that come later stand between the program and us, and all of them see each packet. A tool that
	 * comes before us replaces the signals in which the device leaves its times. */
	error = environment_prepend(environment, "HSA_TOOLS_LIB", session->rocm_guest, ' ');
	return error || !has_hip
		       ? error
		       : environment_append(environment, "LD_PRELOAD", session->rocm_guest, ':');
}

/* One of -p that has loaded the library; 0: none. */
static pid_t find_loaded(const struct session_options *session, const char *library)
{
	for (size_t i = 0; i < session->pids_count; i++)
		if (proc_maps_word((uint32_t)session->pids[i], library))
			return session->pids[i];
	return 0;
}

/* The guest comes with the program's start, or not at all. OpenCL of AMD's loads ROCm too. */
static bool tell_too_late(const struct session_options *session, char *text, size_t size)
{
	pid_t pid = find_loaded(session, HIP_LIBRARY);

	if (!pid && !session->opencl)
		pid = find_loaded(session, HSA_LIBRARY);
	if (!pid)
		return false;
	snprintf(text, size,
		 "process %d runs ROCm, but was started without duet: start it with 'duet record "
		 "--collect amd -- PROGRAM', -p comes too late for its calls and kernels",
		 (int)pid);
	return true;
}

/* Who is not allowed to open the driver's file may have no use for it, but where ROCm was met. */
static bool tell_no_device(const struct session_options *session, bool has_guest, char *text,
			   size_t size)
{
	if (access(DRIVER_FILE, F_OK) < 0)
		snprintf(text, size,
			 "no device of AMD can be used: no " DRIVER_FILE ", so the kernel driver "
			 "amdgpu is not loaded, or there is no GPU of AMD (duet doctor)");
	else if ((has_guest || !session->opencl) && access(DRIVER_FILE, R_OK | W_OK) < 0)
		snprintf(text, size,
			 "no device of AMD can be used: " DRIVER_FILE " may not be opened (duet "
			 "doctor says what is missing)");
	else
		return false;
	return true;
}

/* By the name with its version, which a file that only speaks of the library, as duet's own do, has not. */
static bool is_linked_to_hip(const char *program)
{
	char word[32];

	snprintf(word, sizeof(word), "%s.", HIP_LIBRARY);
	return program_mentions(program, word);
}

static bool tell_missing(const struct session_options *session, bool has_guest, bool has_device,
			 char *ret_text, size_t size)
{
	if (!has_guest && session->pids_count)
		return tell_too_late(session, ret_text, size);
	if (session->amd)
		return !has_device && session->command &&
		       tell_no_device(session, has_guest, ret_text, size);
	if (!session->opencl || has_device || !session->command ||
	    !is_linked_to_hip(session->command[0]))
		return false;
	snprintf(ret_text, size,
		 "the program is linked to HIP, and ROCm was not asked for: record it with "
		 "--collect "
		 "amd");
	return true;
}

extern const struct collector amd_collector;
const struct collector amd_collector = {
	.name = "amd",
	.help = "ROCm: every kernel dispatch and copy of a HIP or HSA program with its device "
		"times",
	.guest = "rocm",
	.runtime = "ROCm",
	.ring_bytes = RING_BYTES,
	.options = options,
	.is_chosen = is_chosen,
	.is_default = is_default,
	.choose = choose,
	.settle = settle,
	.arm = arm,
	.tell_missing = tell_missing,
};
