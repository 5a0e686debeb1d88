/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_install.c - duet install: load the OpenCL guest, idle, into every program of the machine
 *
 * Runs in:  our own process, as root
 * Gets:     --system or --remove
 * Gives:    three small configuration files, or their removal
 * Owns:     nothing
 * Fails:    with status 1 if a file cannot be written or removed, or if a user other than root
 *           could change the guest; files written before are removed again
 * Why:      duet writes separate files into drop-in folders and never edits an existing file, so
 *           removal restores the previous state. The OpenCL loader silently skips a missing layer,
 *           so programs still run if duet is deleted without duet install --remove.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/string.h"
#include "cli/command.h"
#include "cli/doctor/tree.h"
#include "cli/guest_path.h"
#include "collect/opencl/ways.h"

struct install_values {
	bool system, remove, profiling;
	const char *root;
};

static const struct option_row install_options[] = {
	{"system", 0, OPTION_FLAG, NULL, "load the guest into every program from the next login on",
	 offsetof(struct install_values, system)},
	{"profiling", 0, OPTION_FLAG, NULL,
	 "with --system: the idle guest enables profiling on every queue (costs time)",
	 offsetof(struct install_values, profiling)},
	{"remove", 0, OPTION_FLAG, NULL, "remove the files that --system wrote",
	 offsetof(struct install_values, remove)},
	{"root", 0, OPTION_TEXT, "DIR",
	 "work below DIR instead of / (an image, a container's tree)",
	 offsetof(struct install_values, root)},
	{NULL},
};

/* Escapes for the guest's path in each file. sh, inside '': */
static const struct byte_escape shell_escapes[] = {{'\'', "'\\''"}, {0}};
/* environment.d(5), inside "": as in the shell, but $ is escaped by doubling it */
static const struct byte_escape environment_escapes[] = {
	{'"', "\\\""}, {'\\', "\\\\"}, {'`', "\\`"}, {'$', "$$"}, {0}};
/* systemd.syntax(7), inside "": as in C, and % starts a specifier */
static const struct byte_escape systemd_escapes[] = {
	{'"', "\\\""}, {'\\', "\\\\"}, {'%', "%%"}, {0}};

#define WRITTEN "# Written by duet install --system; duet install --remove removes it.\n"

/* The files from which sessions get their environment. The guest's path is written between `before`
 * and `after`. */
static const struct place {
	const char *folder, *name, *before, *after, *profiling;
	const struct byte_escape *escapes;
} places[] = {
	{"/etc/profile.d", "duet.sh",
	 WRITTEN
	 "# Every OpenCL program loads duet's guest, which is idle until duet record -a runs.\n"
	 "OPENCL_LAYERS=\"${OPENCL_LAYERS:+$OPENCL_LAYERS:}\"'",
	 "'\nexport OPENCL_LAYERS\n", "DUET_OPENCL_PROFILING=1\nexport DUET_OPENCL_PROFILING\n",
	 shell_escapes},
	{"/etc/environment.d", "60-duet.conf",
	 WRITTEN "OPENCL_LAYERS=\"${OPENCL_LAYERS:+$OPENCL_LAYERS:}", "\"\n",
	 "DUET_OPENCL_PROFILING=1\n", environment_escapes},
	{"/etc/systemd/system.conf.d", "60-duet.conf",
	 WRITTEN "[Manager]\nDefaultEnvironment=\"OPENCL_LAYERS=", "\"\n",
	 "DefaultEnvironment=DUET_OPENCL_PROFILING=1\n", systemd_escapes},
};

static int write_place(const struct place *place, const struct tree *tree, const char *guest,
		       bool profiling)
{
	struct string_builder text = {0};
	int error;

	string_builder_append(&text, place->before);
	string_builder_append_escaped(&text, guest, strlen(guest), place->escapes);
	string_builder_append(&text, place->after);
	if (profiling)
		string_builder_append(&text, place->profiling);
	error = tree_write(tree, place->folder, place->name, string_builder_text(&text));
	if (!error)
		printf("wrote %s%s/%s\n", tree->root, place->folder, place->name);
	string_builder_fini(&text);
	return error;
}

/* The guest's path as programs of the tree see it, with links resolved. */
static int find_guest(const struct tree *tree, char ret_path[PATH_MAX])
{
	char own[PATH_MAX];
	const char *beside = guest_path(OPENCL_GUEST, own);
	size_t above = strlen(tree->root);
	const char *const candidates[] = {
		beside && strncmp(beside, tree->root, above) == 0 ? beside + above : NULL, beside,
		"/usr/lib/duet/" OPENCL_GUEST, "/usr/local/lib/duet/" OPENCL_GUEST};

	for (size_t i = 0; i < ARRAY_COUNT(candidates); i++) {
		if (!candidates[i] || candidates[i][0] != '/')
			continue;
		if (tree_resolve(tree, candidates[i], ret_path) == 0)
			return 0;
		error_clear();
	}
	if (tree->is_host)
		return error_set(-ENOENT, "the guest library (the part of duet that is loaded into "
					  "programs) " OPENCL_GUEST
					  " is missing: run `make install` in duet's source "
					  "tree");
	return error_set(-ENOENT,
			 "the guest library (the part of duet that is loaded into "
			 "programs) " OPENCL_GUEST " is missing in '%s': run "
			 "`make install DESTDIR=%s` in duet's source tree first",
			 tree->root, tree->root);
}

/* OPENCL_LAYERS is a list with colons between its paths, and every file has lines. */
static int check_spelling(const char *path)
{
	for (const char *at = path; *at; at++) {
		if (*at == ':' || iscntrl((unsigned char)*at))
			return error_set(
				-EINVAL,
				"the path '%s' contains a colon or a control character, which "
				"OPENCL_LAYERS does not support: install duet elsewhere",
				path);
	}
	return 0;
}

/* Prints which programs load the guest, who can record them, and how to undo it. */
static void print_armed(const struct tree *tree, const char *guest)
{
	const char *where = tree->is_host ? "" : " in that image";

	printf("Programs%s that use OpenCL load %s from the next login, and system services from\n"
	       "the next boot or `systemctl daemon-reexec`. Nothing is recorded until `duet record "
	       "-a` runs:\n"
	       "an ordinary user records their own programs, root those of all users.\n",
	       where, guest);
	printf("To undo it: duet install --remove%s%s\n", tree->is_host ? "" : " --root ",
	       tree->root);
}

static int install_all(const struct tree *tree, bool profiling)
{
	char guest[PATH_MAX];
	int error = find_guest(tree, guest);
	size_t written = 0;
	bool removed;

	if (!error)
		error = check_spelling(guest);
	if (!error)
		error = tree_check_trusted(tree, guest);
	if (error)
		return error;
	while (written < ARRAY_COUNT(places) && !error) {
		error = write_place(&places[written], tree, guest, profiling);
		written += !error;
	}
	if (!error) {
		print_armed(tree, guest);
		return 0;
	}
	while (written--)
		tree_remove(tree, places[written].folder, places[written].name, &removed);
	return error;
}

static int remove_all(const struct tree *tree)
{
	bool was_removed, any = false;

	for (size_t i = 0; i < ARRAY_COUNT(places); i++) {
		int error = tree_remove(tree, places[i].folder, places[i].name, &was_removed);

		if (error)
			return error;
		if (was_removed)
			printf("removed %s%s/%s\n", tree->root, places[i].folder, places[i].name);
		any |= was_removed;
	}
	if (any)
		printf("From the next login on, programs do not load the guest. Running programs "
		       "keep "
		       "it, "
		       "idle, until they end.\n");
	else
		printf("There was nothing to remove.\n");
	return 0;
}

static int run_install(const struct cli_command *command, int argc, char **argv)
{
	struct install_values values = {.root = ""};
	int first = options_parse(command, argc, argv, false, &values), error;
	struct tree tree;

	if (first < 0)
		return first == -1 ? STATUS_DONE : STATUS_USAGE;
	if (first < argc)
		return usage_error(command, "unexpected argument '%s'", argv[first]);
	if (values.system == values.remove)
		return usage_error(command, "give either --system or --remove");
	if (values.profiling && values.remove)
		return usage_error(command, "--profiling needs --system");
	error = tree_open(values.root, &tree);
	if (!error) {
		error = values.system ? install_all(&tree, values.profiling) : remove_all(&tree);
		tree_close(&tree);
	}
	if (error)
		return print_failure(command);
	return finish_output(command->name, STATUS_DONE);
}

const struct cli_command command_install = {
	.name = "install",
	.arguments = "--system [--profiling]|--remove [--root DIR]",
	.summary = "load the OpenCL guest into every program of the machine, for duet record -a",
	.run = run_install,
	.options = install_options,
};
