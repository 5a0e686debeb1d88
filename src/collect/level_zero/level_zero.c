/* SPDX-License-Identifier: MIT
 *
 * collect/level_zero/level_zero.c - the collector "level_zero": loads the guest for Level Zero
 *
 * Runs in:  the recorder; the work is done by the guest (inject/level_zero/level_zero.c)
 * Gets:     the options of --collect level_zero
 * Gives:    the session's options, the program's environment
 * Owns:     nothing
 * Fails:    never; a guest that could not be loaded is noted
 * Why:      The loader of Level Zero opens a layer by its file name through the dynamic linker. So
 *           a folder with the guest under that name is put first in LD_LIBRARY_PATH. No other
 *           program opens that name, so programs without Level Zero are unaffected.
 */
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/level_zero_options.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "collect/collector.h"
#include "collect/level_zero/ways.h"
#include "collect/recording.h"
#include "collect/start/environment.h"

#define INTEL_VENDOR "0x8086"

enum { LEVEL_ZERO_ON = 1 };

static const struct collector_option options[] = {
	{"host", "record calls and launches without device times; adds no event to a command",
	 .set = LEVEL_ZERO_ON, .clear = LEVEL_ZERO_OPTION_TIME},
	{NULL},
};

/* Each folder contains the file of one layer, so the file of the other layer is still found in its
 * usual place. */
static const struct way {
	const char *variable, *folder;
} ways[] = {
	{LEVEL_ZERO_VALIDATION, "level_zero/validation"},
	{LEVEL_ZERO_TRACING, "level_zero/tracing"},
};

static bool is_of_intel(const char *path)
{
	auto_fclose FILE *file = fopen(path, "re");
	char vendor[16] = "";

	return file && fgets(vendor, sizeof(vendor), file) &&
	       strncmp(vendor, INTEL_VENDOR, strlen(INTEL_VENDOR)) == 0;
}

bool level_zero_has_device(const char *root)
{
	char pattern[PATH_MAX];
	bool has = false;
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/sys/class/drm/renderD*/device/vendor", root);
	if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
		return false;
	for (size_t i = 0; i < found.gl_pathc && !has; i++)
		has = is_of_intel(found.gl_pathv[i]);
	globfree(&found);
	return has;
}

/* The default is off without an Intel GPU, because the guest has nothing to do then. */
static bool is_default(void)
{
	return level_zero_has_device("");
}

bool level_zero_is_taken(const char *variable)
{
	const char *value = getenv(variable);

	return value && strcmp(value, "0") != 0;
}

/* NULL: both layers are in use. */
static const struct way *free_way(void)
{
	for (size_t i = 0; i < ARRAY_COUNT(ways); i++)
		if (!level_zero_is_taken(ways[i].variable))
			return &ways[i];
	return NULL;
}

/* Returns the variable that enables the guest's layer; NULL: none; *ret_why is the reason. */
static const char *find_variable(const struct session_options *session, const char **ret_why)
{
	const char *guest = collector_guest_path(session, "level_zero");
	const struct way *way = free_way();

	*ret_why = NULL;
	if (!session_collects(session, "level_zero"))
		*ret_why = "Level Zero is not collected";
	else if (!guest)
		*ret_why = COLLECTOR_NO_GUEST(LEVEL_ZERO_GUEST);
	/* ld.so splits LD_LIBRARY_PATH at ':' and ';', and replaces names behind '$'. */
	else if (strpbrk(guest, ":;$"))
		*ret_why = "the guest's path contains a ':', ';' or '$', which the dynamic linker "
			   "treats specially; move duet to another folder";
	else if (!way)
		*ret_why = LEVEL_ZERO_VALIDATION
			" and " LEVEL_ZERO_TRACING
			" are both set, so both layers are in use; unset one of them";
	return *ret_why ? NULL : way->variable;
}

/* Puts our folder first, because a system folder may have another layer of that name. */
static int put_before(struct environment *environment, const char *folder)
{
	const char *own = getenv("LD_LIBRARY_PATH");
	char value[2 * PATH_MAX];

	/* A longer value does not fit behind the folder, so it keeps its place in front. */
	if (own && *own && strlen(own) >= PATH_MAX)
		return environment_append(environment, "LD_LIBRARY_PATH", folder, ':');
	snprintf(value, sizeof(value), "%s%s%s", folder, own && *own ? ":" : "",
		 own && *own ? own : "");
	return environment_set(environment, "LD_LIBRARY_PATH", value);
}

static int arm(struct recording *recording, const struct session_options *session,
	       struct environment *environment, bool *ret_armed, const char **ret_why)
{
	const char *why, *variable = find_variable(session, &why);
	const char *guest = collector_guest_path(session, "level_zero");
	const struct way *way = free_way();
	char folder[PATH_MAX];
	const char *slash;
	int error;

	*ret_armed = variable != NULL;
	if (!variable && session->command)
		recording_note(recording, "level_zero", COLLECTOR_REFUSED, 0, why);
	if (!variable)
		return 0;
	recording_note(recording, "level_zero", COLLECTOR_AVAILABLE, 0, "");
	slash = strrchr(guest, '/');
	snprintf(folder, sizeof(folder), "%.*s%s", slash ? (int)(slash + 1 - guest) : 0, guest,
		 way->folder);
	error = put_before(environment, folder);
	return error ? error : environment_set(environment, variable, "1");
}

static void describe(const struct session_options *session,
		     void (*on_line)(void *context, const char *text), void *context)
{
	char text[PATH_MAX + 256];
	const char *why, *variable;

	if (!session->command || !session_collects(session, "level_zero"))
		return;
	variable = find_variable(session, &why);
	if (variable)
		snprintf(text, sizeof(text), "guest %s, loaded by %s and LD_LIBRARY_PATH",
			 collector_guest_path(session, "level_zero"), variable);
	else
		snprintf(text, sizeof(text), "Level Zero is not recorded: %s", why);
	on_line(context, text);
}

_Static_assert((int)LEVEL_ZERO_TROUBLE_VERSION == (int)RING_TROUBLE_GUEST,
	       "the first of the guest's own");

static const struct guest_fact facts[] = {
	{LEVEL_ZERO_TROUBLE_VERSION, true, LOSES_NOTHING,
	 "this major version of Level Zero's loader is not known (only version 1 is): nothing of "
	 "it is recorded"},
	{0},
};

static const struct guest_way guest_way = {
	.name = "level_zero",
	.file = LEVEL_ZERO_GUEST,
	.runtime = "Level Zero",
	.library = "libze_loader.so",
	.calls = LEVEL_ZERO_ON,
	.facts = facts,
	.arm = arm,
	.describe = describe,
	.why_not_late =
		"its Level Zero calls are not recorded. The loader reads its layers only when it "
		"starts, so duet cannot add one to a running process. Start it with 'duet record "
		"--collect level_zero -- PROGRAM'",
};

const struct collector level_zero_collector = {
	.name = "level_zero",
	.help = "Level Zero: every kernel launch, copy and fill of an Intel GPU with its device "
		"times",
	.unverified = true,
	.way = &guest_way,
	.options = options,
	.named = {.set = LEVEL_ZERO_ON | LEVEL_ZERO_OPTION_TIME},
	.chosen_by = LEVEL_ZERO_ON,
	.is_default = is_default,
};
