/* SPDX-License-Identifier: MIT
 *
 * collect/level_zero/level_zero.c - the collector of Level Zero
 *
 * Runs in:  the recorder; the work is done by the guest (inject/level_zero.c)
 * Gets:     on or off, the option of --collect   Gives: the session's options, the program's environment
 * Owns:     nothing
 * Fails:    never; what could not be loaded into a program is noted
 * Why:      the loader looks for a layer by the name of its file, where the dynamic linker finds it: a folder with the
 *           guest under that name, put before the others in LD_LIBRARY_PATH, is all it takes. Nothing but the loader of
 *           Level Zero ever asks for that name, so that programs without it stay as they are.
 */
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collect/collector.h"
#include "collect/environment.h"
#include "collect/level_zero/ways.h"
#include "collect/recording.h"

#define INTEL_VENDOR "0x8086"

static const struct collector_option options[] = {
	{"host", "calls and launches only; no event is added to a command"},
	{NULL, NULL},
};

/* Each folder holds one layer's file, so that the other's is found where it was. */
static const struct way {
	const char *variable, *folder;
} ways[] = {
	{LEVEL_ZERO_VALIDATION, "level_zero/validation"},
	{LEVEL_ZERO_TRACING, "level_zero/tracing"},
};

static void choose(struct session_options *session, bool on, const char *option)
{
	session->level_zero = on;
	session->level_zero_time = on && !(option && strcmp(option, "host") == 0);
}

static bool is_chosen(const struct session_options *session)
{
	return session->level_zero;
}

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

/* Without a GPU of Intel there is nothing for the guest to do. */
static bool is_default(void)
{
	return level_zero_has_device("");
}

bool level_zero_is_taken(const char *variable)
{
	const char *value = getenv(variable);

	return value && strcmp(value, "0") != 0;
}

/* NULL: both are taken. */
static const struct way *free_way(void)
{
	for (size_t i = 0; i < ARRAY_COUNT(ways); i++)
		if (!level_zero_is_taken(ways[i].variable))
			return &ways[i];
	return NULL;
}

const char *level_zero_way(const struct session_options *session, const char **ret_why)
{
	const struct way *way = free_way();

	*ret_why = NULL;
	if (!session->level_zero)
		*ret_why = "Level Zero is not collected";
	else if (!session->level_zero_guest)
		*ret_why = "the guest libduet-level_zero.so is neither beside duet nor installed: "
			   "reinstall duet, or run it from its build folder";
	/* ld.so splits LD_LIBRARY_PATH at both, and replaces what follows a '$'. */
	else if (strpbrk(session->level_zero_guest, ":;$"))
		*ret_why = "the guest's path holds a ':', ';' or '$', which the dynamic linker "
			   "does not take as they are: move duet to another folder";
	else if (!way)
		*ret_why = LEVEL_ZERO_VALIDATION " and " LEVEL_ZERO_TRACING
						 " are both set, so that there is no layer left "
						 "to be: unset one of them";
	return *ret_why ? NULL : way->variable;
}

/* Before what is there: the layer of that name in the system's own folders is not ours. */
static int put_before(struct environment *environment, const char *folder)
{
	const char *own = getenv("LD_LIBRARY_PATH");
	char value[2 * PATH_MAX];

	/* What is too long is longer than what a folder may be behind. */
	if (own && *own && strlen(own) >= PATH_MAX)
		return environment_append(environment, "LD_LIBRARY_PATH", folder, ':');
	snprintf(value, sizeof(value), "%s%s%s", folder, own && *own ? ":" : "",
		 own && *own ? own : "");
	return environment_set(environment, "LD_LIBRARY_PATH", value);
}

static int arm(struct recording *recording, const struct session_options *session,
	       struct environment *environment, bool *ret_armed)
{
	const char *why, *variable = level_zero_way(session, &why);
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
	slash = strrchr(session->level_zero_guest, '/');
	snprintf(folder, sizeof(folder), "%.*s%s",
		 slash ? (int)(slash + 1 - session->level_zero_guest) : 0,
		 session->level_zero_guest, way->folder);
	error = put_before(environment, folder);
	return error ? error : environment_set(environment, variable, "1");
}

extern const struct collector level_zero_collector;
const struct collector level_zero_collector = {
	.name = "level_zero",
	.help = "Level Zero: every kernel launch, copy and fill of an Intel GPU with its device "
		"times",
	.guest = "level_zero",
	.options = options,
	.is_chosen = is_chosen,
	.is_default = is_default,
	.choose = choose,
	.arm = arm,
};
