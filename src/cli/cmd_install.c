/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_install.c - duet install: load the OpenCL guest into every program of the machine, idle
 *
 * Runs in:  our own process, as root
 * Gets:     --system or --remove   Gives: three small files of our own, or none
 * Owns:     nothing
 * Fails:    with status 1 where a file cannot be written or removed, or where somebody but root could
 *           change the guest; what was done so far is undone
 * Why:      files of our own in folders made for that, never a line in somebody else's file: removal leaves
 *           what was there before. A layer that is missing is skipped by the loader without a word, so a
 *           machine on which duet was deleted by hand runs as before.
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
#include "cli/guest_path.h"
#include "cli/tree.h"

struct install_values {
	bool system, remove, profiling;
	const char *root;
};

static const struct option_row install_options[] = {
	{"system", 0, OPTION_FLAG, NULL, "arm the guest for every program started from now on",
	 offsetof(struct install_values, system)},
	{"profiling", 0, OPTION_FLAG, NULL,
	 "with --system: the idle guest enables profiling on every queue (costs time)",
	 offsetof(struct install_values, profiling)},
	{"remove", 0, OPTION_FLAG, NULL, "disarm it again",
	 offsetof(struct install_values, remove)},
	{"root", 0, OPTION_TEXT, "DIR",
	 "work below DIR instead of / (an image, a container's tree)",
	 offsetof(struct install_values, root)},
	{NULL},
};

/* What a byte of the guest's path becomes inside a file's quotes. */
struct escape {
	char byte;
	const char *text;
};

/* sh, inside '' */
static const struct escape shell_escapes[] = {{'\'', "'\\''"}, {0}};
/* environment.d(5), inside "": what the shell has, and $ is doubled where it is none */
static const struct escape environment_escapes[] = {
	{'"', "\\\""}, {'\\', "\\\\"}, {'`', "\\`"}, {'$', "$$"}, {0}};
/* systemd.syntax(7), inside "": C's, and specifiers begin with % */
static const struct escape systemd_escapes[] = {{'"', "\\\""}, {'\\', "\\\\"}, {'%', "%%"}, {0}};

#define WRITTEN "# Written by duet install --system; duet install --remove takes it away.\n"

/* Where a session gets its environment from; the guest's path stands between the first two texts. */
static const struct place {
	const char *folder, *name, *before, *after, *profiling;
	const struct escape *escapes;
} places[] = {
	{"/etc/profile.d", "duet.sh",
	 WRITTEN
	 "# Every OpenCL program loads duet's guest, which is idle until somebody records.\n"
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

static void append_escaped(struct string_builder *text, const char *path,
			   const struct escape *escapes)
{
	for (; *path; path++) {
		const struct escape *escape = escapes;

		while (escape->byte && escape->byte != *path)
			escape++;
		if (escape->byte)
			string_builder_append(text, escape->text);
		else
			string_builder_append_char(text, *path);
	}
}

static int write_place(const struct place *place, const struct tree *tree, const char *guest,
		       bool profiling)
{
	struct string_builder text;
	int error;

	string_builder_init(&text);
	string_builder_append(&text, place->before);
	append_escaped(&text, guest, place->escapes);
	string_builder_append(&text, place->after);
	if (profiling)
		string_builder_append(&text, place->profiling);
	error = tree_write(tree, place->folder, place->name, string_builder_text(&text));
	if (!error)
		printf("wrote %s%s/%s\n", tree->root, place->folder, place->name);
	string_builder_fini(&text);
	return error;
}

/* The guest as programs of the tree will see it, its links resolved. */
static int find_guest(const struct tree *tree, char ret_path[PATH_MAX])
{
	char own[PATH_MAX];
	const char *beside = guest_path(GUEST_NAME, own);
	size_t above = strlen(tree->root);
	const char *const candidates[] = {
		beside && strncmp(beside, tree->root, above) == 0 ? beside + above : NULL, beside,
		"/usr/lib/duet/" GUEST_NAME, "/usr/local/lib/duet/" GUEST_NAME};

	for (size_t i = 0; i < ARRAY_COUNT(candidates); i++) {
		if (!candidates[i] || candidates[i][0] != '/')
			continue;
		if (tree_resolve(tree, candidates[i], ret_path) == 0)
			return 0;
		error_clear();
	}
	if (tree->is_host)
		return error_set(-ENOENT, "the guest " GUEST_NAME " is neither beside duet nor "
					  "installed: run `make install` in duet's source tree");
	return error_set(-ENOENT,
			 "there is no " GUEST_NAME " in '%s' where its programs could load it: run "
			 "`make install DESTDIR=%s` in duet's source tree first",
			 tree->root, tree->root);
}

/* OPENCL_LAYERS is a list with colons between its paths, and every file has lines. */
static int check_spelling(const char *path)
{
	for (const char *at = path; *at; at++) {
		if (*at == ':' || iscntrl((unsigned char)*at))
			return error_set(-EINVAL,
					 "'%s' holds a colon or a control character, which "
					 "OPENCL_LAYERS cannot: install duet elsewhere",
					 path);
	}
	return 0;
}

/* Who records what from now on, and how to undo it. */
static void print_armed(const struct tree *tree, const char *guest)
{
	const char *where = tree->is_host ? "" : " of that image";

	printf("Programs%s that use OpenCL load %s from the next login, and system services from\n"
	       "the next boot or `systemctl daemon-reexec`. Nothing is recorded until somebody "
	       "runs\n"
	       "`duet record -a`: a user then records his own programs, root those of all users.\n",
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
		printf("Programs load the guest no more from the next login; those that run keep "
		       "it, "
		       "idle, until they end.\n");
	else
		printf("There was nothing to remove.\n");
	return 0;
}

static int run_install(const struct command *command, int argc, char **argv)
{
	struct install_values values = {.root = ""};
	int first = options_parse(command, argc, argv, false, &values), error;
	struct tree tree;

	if (first < 0)
		return first == -1 ? STATUS_DONE : STATUS_USAGE;
	if (first < argc)
		return usage_error(command, "'%s' is not wanted", argv[first]);
	if (values.system == values.remove)
		return usage_error(command, "say either --system or --remove");
	if (values.profiling && values.remove)
		return usage_error(command, "--profiling goes with --system");
	error = tree_open(values.root, &tree);
	if (!error) {
		error = values.system ? install_all(&tree, values.profiling) : remove_all(&tree);
		tree_close(&tree);
	}
	if (error) {
		print_error(command->name, NULL);
		return STATUS_FAILED;
	}
	return finish_output(command->name, STATUS_DONE);
}

const struct command command_install = {
	.name = "install",
	.arguments = "--system [--profiling]|--remove [--root DIR]",
	.summary = "arm the OpenCL guest for every program of the machine",
	.run = run_install,
	.options = install_options,
};
