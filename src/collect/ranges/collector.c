/* SPDX-License-Identifier: MIT
 *
 * collect/ranges/collector.c - the collector of ranges, and how its guest comes into a program
 *
 * Runs in:  the recorder; the work is done by the guest (inject/ranges.c) and collect/ranges.c
 * Gets:     on or off, and the option of --collect   Gives: variables of the program's environment
 * Owns:     nothing
 * Fails:    -ENOMEM; what cannot be loaded is noted
 * Why LD_PRELOAD only where there is roctx: NVTX and ITT load a tool themselves, and only into programs that use them.
 *           roctx has no such door, and a preloaded library is in every process that the program starts: one built with
 *           AddressSanitizer refuses to run then, and the loader of a 32-bit one prints an error. A program that does
 *           not name roctx itself, on a machine without ROCm, has nothing to gain from that.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/collector.h"
#include "collect/environment.h"
#include "collect/ranges/ways.h"
#include "collect/recording.h"

static const struct collector_option collector_options[] = {
	{"roctx", "loads the guest by LD_PRELOAD for roctx, also where no ROCm is found"},
	{NULL, NULL},
};

static void choose(struct session_options *session, bool on, const char *option)
{
	session->ranges = on;
	session->ranges_preload = on && option && strcmp(option, "roctx") == 0;
}

static bool is_chosen(const struct session_options *session)
{
	return session->ranges;
}

/* ---- ways in ----------------------------------------------------------------------------------- */

/* A number of a library's version has one digit. A search of the whole folder, of 1,400 files, takes 0.4 ms. */
static bool has_library(const char *folder, size_t length, const char *name)
{
	char path[4096];

	for (int version = -1; version <= 9; version++) {
		const char number[] = {version < 0 ? '\0' : '.', (char)('0' + version), '\0'};

		if (snprintf(path, sizeof(path), "%.*s/%s%s", (int)length, folder, name, number) <
			    (int)sizeof(path) &&
		    access(path, F_OK) == 0)
			return true;
	}
	return false;
}

static bool has_roctx_in(const char *folder, size_t length)
{
	return length && (has_library(folder, length, "libroctx64.so") ||
			  has_library(folder, length, "librocprofiler-sdk-roctx.so"));
}

static bool has_roctx_of_release(void)
{
	glob_t found = {0};
	bool has = false;

	if (glob("/opt/rocm-*/lib", GLOB_NOSORT, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc && !has; i++)
			has = has_roctx_in(found.gl_pathv[i], strlen(found.gl_pathv[i]));
	globfree(&found);
	return has;
}

/* Where a loader would find it; frameworks bring their own along, for which the driver's device speaks. */
bool ranges_has_roctx(void)
{
	static const char *const folders[] = {"/opt/rocm/lib",
					      "/usr/lib/x86_64-linux-gnu",
					      "/usr/lib/aarch64-linux-gnu",
					      "/usr/lib64",
					      "/usr/lib",
					      "/usr/local/lib"};
	const char *own = getenv("LD_LIBRARY_PATH");
	bool has = access("/dev/kfd", F_OK) == 0;

	while (own && *own && !has) {
		size_t length = strcspn(own, ":");

		has = has_roctx_in(own, length);
		own += length + (own[length] == ':');
	}
	for (size_t i = 0; i < ARRAY_COUNT(folders) && !has; i++)
		has = has_roctx_in(folders[i], strlen(folders[i]));
	return has || has_roctx_of_release();
}

static const char *why_no_preload(const struct session_options *session)
{
	enum program_kind kind = program_kind_of(session->command[0], true);

	/* ld.so splits LD_PRELOAD at both. */
	if (strpbrk(session->ranges_guest, " :"))
		return "the guest's path holds a space or a ':', which the dynamic linker takes "
		       "for a separator: move duet to another folder";
	return program_kind_text(kind);
}

/* Of a tool that is not ours; NULL: none. */
static const char *taken(const char *variable, const char *guest)
{
	const char *value = getenv(variable);

	return value && *value && strcmp(value, guest) != 0 ? value : NULL;
}

bool ranges_ways_find(const struct session_options *session, struct ranges_ways *ret_ways,
		      const char **ret_why)
{
	struct ranges_ways ways = {0};

	*ret_why = NULL;
	if (!session->ranges)
		*ret_why = "ranges are not collected";
	else if (!session->ranges_guest)
		*ret_why = "the guest libduet-ranges.so is neither beside duet nor installed: "
			   "reinstall duet, or run it from its build folder";
	if (*ret_why || !session->command)
		return false;
	ways.nvtx_taken = taken(RANGES_NVTX_VARIABLE, session->ranges_guest);
	ways.itt_taken = taken(RANGES_ITT_VARIABLE, session->ranges_guest);
	ways.nvtx = !ways.nvtx_taken;
	ways.itt = !ways.itt_taken;
	if (session->ranges_preload || program_mentions(session->command[0], "roctx") ||
	    ranges_has_roctx()) {
		ways.why_no_preload = why_no_preload(session);
		ways.preload = !ways.why_no_preload;
	}
	*ret_ways = ways;
	return true;
}

static void note(struct recording *recording, enum event_collector_state state, const char *what,
		 const char *why)
{
	char text[600];

	snprintf(text, sizeof(text), "%s%s", what, why);
	recording_note(recording, "ranges", state, 0, text);
}

/* What is not recorded, and why. */
static void note_ways(struct recording *recording, const struct ranges_ways *ways)
{
	if (ways->nvtx && ways->itt && !ways->why_no_preload)
		note(recording, COLLECTOR_AVAILABLE, "", "");
	if (ways->nvtx_taken)
		note(recording, COLLECTOR_PARTIAL,
		     "ranges of NVTX are not recorded: " RANGES_NVTX_VARIABLE
		     " is set to another tool, which is kept",
		     "");
	if (ways->itt_taken)
		note(recording, COLLECTOR_PARTIAL,
		     "ranges of ITT are not recorded: " RANGES_ITT_VARIABLE
		     " is set to another tool, which is kept",
		     "");
	if (ways->why_no_preload)
		note(recording, COLLECTOR_PARTIAL,
		     "ranges of roctx are not recorded: ", ways->why_no_preload);
}

static int arm(struct recording *recording, const struct session_options *session,
	       struct environment *environment, bool *ret_armed)
{
	struct ranges_ways ways;
	const char *why;
	int error = 0;

	*ret_armed = ranges_ways_find(session, &ways, &why);
	if (!*ret_armed && session->command)
		note(recording, COLLECTOR_REFUSED, why, "");
	if (!*ret_armed)
		return 0;
	note_ways(recording, &ways);
	if (ways.nvtx)
		error = environment_set(environment, RANGES_NVTX_VARIABLE, session->ranges_guest);
	if (!error && ways.itt)
		error = environment_set(environment, RANGES_ITT_VARIABLE, session->ranges_guest);
	if (!error && ways.preload)
		error = environment_append(environment, "LD_PRELOAD", session->ranges_guest, ':');
	return error;
}

extern const struct collector ranges_collector;
const struct collector ranges_collector = {
	.name = "ranges",
	.help = "what the program names itself: ranges and marks of roctx, NVTX, ITT and libduet",
	.guest = "ranges",
	.options = collector_options,
	.choose = choose,
	.is_chosen = is_chosen,
	.arm = arm,
};
