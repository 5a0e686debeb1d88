/* SPDX-License-Identifier: MIT
 *
 * collect/ranges/collector.c - the collector "ranges": loads the guest for named ranges
 *
 * Runs in:  the recorder; the work is done by the guest (inject/ranges/ranges.c) and
 *           collect/guest/ranges.c
 * Gets:     the options of --collect ranges
 * Gives:    variables of the program's environment
 * Owns:     nothing
 * Fails:    -ENOMEM; a guest that cannot be loaded is noted
 * Why:      NVTX and ITT load a tool themselves, and only into programs that use them. roctx cannot
 *           load a tool, so the guest is preloaded for it (LD_PRELOAD), into every process that the
 *           program starts. With a preloaded guest, a program that was built with AddressSanitizer
 *           refuses to start, and the loader of a 32-bit program prints an error. So the guest is
 *           preloaded only if the program names roctx or the machine has ROCm.
 */
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/collector.h"
#include "collect/ranges/ways.h"
#include "collect/recording.h"
#include "collect/start/environment.h"

struct ranges_ways {
	/* The interface loads the guest when a program uses it. */
	bool nvtx, itt;
	/* Path of the user's own tool for the interface, which is kept; NULL: none. */
	const char *nvtx_taken, *itt_taken;
	/* roctx: the guest is loaded before the program. */
	bool preload;
	const char *why_no_preload; /* NULL: preloaded, or no roctx on this machine */
};

enum { RANGES_ON = 1, RANGES_PRELOAD = 2 };

static const struct collector_option ranges_options[] = {
	{"roctx",
	 "load duet's guest library by LD_PRELOAD for roctx ranges, even if no ROCm is found",
	 .set = RANGES_ON | RANGES_PRELOAD},
	{NULL},
};

/* ---- ways in --------------------------------------------------------------------------------- */

/* Looks for a library with a one-digit version. Listing the whole folder, of 1,400 files, would
 * take 0.4 ms. */
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

/* Looks where a loader would find the library. Frameworks bring their own copy, so the driver's
 * device also counts. */
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

static const char *why_no_preload(const struct session_options *session, const char *guest)
{
	enum program_kind kind = program_kind_of(session->command[0], true);

	/* ld.so splits LD_PRELOAD at both. */
	if (strpbrk(guest, " :"))
		return "the guest's path contains a space or a ':', which the dynamic linker takes "
		       "for a separator; move duet to another folder";
	return program_kind_text(kind);
}

/* Returns the tool of another vendor in the variable; NULL: none. */
static const char *taken(const char *variable, const char *guest)
{
	const char *value = getenv(variable);

	return value && *value && strcmp(value, guest) != 0 ? value : NULL;
}

/* Finds the ways for the session's program. False: none; *ret_why is the reason. */
static bool find_ways(const struct session_options *session, struct ranges_ways *ret_ways,
		      const char **ret_why)
{
	const struct collector_choice *choice = collector_options(session, "ranges");
	const char *guest = collector_guest_path(session, "ranges");
	struct ranges_ways ways = {0};

	*ret_why = NULL;
	if (!choice->words)
		*ret_why = "ranges are not collected";
	else if (!guest)
		*ret_why = COLLECTOR_NO_GUEST(RANGES_GUEST);
	if (*ret_why || !session->command)
		return false;
	ways.nvtx_taken = taken(RANGES_NVTX_VARIABLE, guest);
	ways.itt_taken = taken(RANGES_ITT_VARIABLE, guest);
	ways.nvtx = !ways.nvtx_taken;
	ways.itt = !ways.itt_taken;
	if ((choice->words & RANGES_PRELOAD) || program_mentions(session->command[0], "roctx") ||
	    ranges_has_roctx()) {
		ways.why_no_preload = why_no_preload(session, guest);
		ways.preload = !ways.why_no_preload;
	}
	*ret_ways = ways;
	return true;
}

static void put_note(struct recording *recording, enum event_collector_state state,
		     const char *what, const char *why)
{
	char text[600];

	snprintf(text, sizeof(text), "%s%s", what, why);
	recording_note(recording, "ranges", state, 0, text);
}

/* Notes interfaces that are not recorded, with the reason. */
static void note_ways(struct recording *recording, const struct ranges_ways *ways)
{
	if (ways->nvtx && ways->itt && !ways->why_no_preload)
		put_note(recording, COLLECTOR_AVAILABLE, "", "");
	if (ways->nvtx_taken)
		put_note(recording, COLLECTOR_PARTIAL,
			 "ranges of NVTX are not recorded: " RANGES_NVTX_VARIABLE
			 " is set to another tool, which is kept",
			 "");
	if (ways->itt_taken)
		put_note(recording, COLLECTOR_PARTIAL,
			 "ranges of ITT are not recorded: " RANGES_ITT_VARIABLE
			 " is set to another tool, which is kept",
			 "");
	if (ways->why_no_preload)
		put_note(recording, COLLECTOR_PARTIAL,
			 "ranges of roctx are not recorded: ", ways->why_no_preload);
}

static int arm(struct recording *recording, const struct session_options *session,
	       struct environment *environment, bool *ret_armed, const char **ret_why)
{
	const char *why, *guest = collector_guest_path(session, "ranges");
	struct ranges_ways ways;
	int error = 0;

	*ret_armed = find_ways(session, &ways, &why);
	if (!*ret_armed && session->command)
		put_note(recording, COLLECTOR_REFUSED, why, "");
	if (!*ret_armed)
		return 0;
	note_ways(recording, &ways);
	if (ways.nvtx)
		error = environment_set(environment, RANGES_NVTX_VARIABLE, guest);
	if (!error && ways.itt)
		error = environment_set(environment, RANGES_ITT_VARIABLE, guest);
	if (!error && ways.preload)
		error = environment_append(environment, "LD_PRELOAD", guest, ':');
	return error;
}

struct listener {
	void (*on_line)(void *context, const char *text);
	void *context;
};

static void describe_taken(const struct listener *listener, const char *what, const char *variable,
			   const char *path)
{
	char text[PATH_MAX + 256];

	if (!path)
		return;
	snprintf(text, sizeof(text),
		 "%s is set to %s, which is kept: ranges of %s are not recorded", variable, path,
		 what);
	listener->on_line(listener->context, text);
}

static void describe_guest(const struct listener *listener, const struct ranges_ways *ways,
			   const char *guest)
{
	char text[PATH_MAX + 256];

	if (!ways->nvtx && !ways->itt && !ways->preload)
		return;
	snprintf(text, sizeof(text), "guest %s, loaded by%s%s%s", guest,
		 ways->nvtx ? " " RANGES_NVTX_VARIABLE : "",
		 ways->itt ? " " RANGES_ITT_VARIABLE : "", ways->preload ? " LD_PRELOAD" : "");
	listener->on_line(listener->context, text);
}

static void describe(const struct session_options *session,
		     void (*on_line)(void *context, const char *text), void *context)
{
	const struct listener listener = {on_line, context};
	struct ranges_ways ways;
	char text[512];
	const char *why;

	if (!find_ways(session, &ways, &why)) {
		if (why && session_collects(session, "ranges"))
			on_line(context, why);
		return;
	}
	describe_guest(&listener, &ways, collector_guest_path(session, "ranges"));
	describe_taken(&listener, "NVTX", RANGES_NVTX_VARIABLE, ways.nvtx_taken);
	describe_taken(&listener, "ITT", RANGES_ITT_VARIABLE, ways.itt_taken);
	if (!ways.why_no_preload)
		return;
	snprintf(text, sizeof(text), "ranges of roctx are not recorded: %s", ways.why_no_preload);
	on_line(context, text);
}

static const struct guest_way guest_way = {
	.name = "ranges",
	.file = RANGES_GUEST,
	.arm = arm,
	.describe = describe,
};

const struct collector ranges_collector = {
	.name = "ranges",
	.help = "ranges and marks that the program names through roctx, NVTX, ITT or libduet",
	.way = &guest_way,
	.options = ranges_options,
	.named = {.set = RANGES_ON, .clear = RANGES_PRELOAD},
	.chosen_by = RANGES_ON,
};
