/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_install.c - duet install: load the OpenCL guest into every program of the machine, idle
 *
 * Runs in:  our own process, as root
 * Gets:     --system or --remove   Gives: three small files of our own, or none
 * Owns:     nothing
 * Fails:    with status 1 where a file cannot be written or removed; what was done so far is undone
 * Why:      files of our own in folders made for that, never a line in somebody else's file: removal leaves
 *           what was there before. A layer that is missing is skipped by the loader without a word, so a
 *           machine on which duet was deleted by hand runs as before.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/guest_path.h"

struct install_values {
	bool system, remove;
	const char *root;
};

static const struct option_row install_options[] = {
	{"system", 0, OPTION_FLAG, NULL, "arm the guest for every program started from now on",
	 offsetof(struct install_values, system)},
	{"remove", 0, OPTION_FLAG, NULL, "disarm it again",
	 offsetof(struct install_values, remove)},
	{"root", 0, OPTION_TEXT, "DIR",
	 "work below DIR instead of / (an image, a container's tree)",
	 offsetof(struct install_values, root)},
	{NULL},
};

/* Where a session gets its environment from; %s is the guest's path. */
static const struct place {
	const char *folder, *name, *text;
} places[] = {
	{"/etc/profile.d", "duet.sh",
	 "# Written by duet install --system; duet install --remove takes it away.\n"
	 "# Every OpenCL program loads duet's guest, which is idle until somebody records.\n"
	 "OPENCL_LAYERS=\"${OPENCL_LAYERS:+$OPENCL_LAYERS:}%s\"\n"
	 "export OPENCL_LAYERS\n"},
	{"/etc/environment.d", "60-duet.conf",
	 "# Written by duet install --system; duet install --remove takes it away.\n"
	 "OPENCL_LAYERS=${OPENCL_LAYERS:+$OPENCL_LAYERS:}%s\n"},
	{"/etc/systemd/system.conf.d", "60-duet.conf",
	 "# Written by duet install --system; duet install --remove takes it away.\n"
	 "[Manager]\n"
	 "DefaultEnvironment=\"OPENCL_LAYERS=%s\"\n"},
};

/* Makes a folder and the ones above it below root. */
static int make_folders(const char *root, const char *folder)
{
	char path[PATH_MAX];

	for (const char *end = folder; end; end = strchr(end + 1, '/')) {
		const char *next = strchr(end + 1, '/');
		size_t length = next ? (size_t)(next - folder) : strlen(folder);

		snprintf(path, sizeof(path), "%s%.*s", root, (int)length, folder);
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return error_set(-errno, "make folder '%s': %s", path, strerror(errno));
	}
	return 0;
}

static int write_place(const struct place *place, const char *root, const char *guest)
{
	char path[PATH_MAX];
	FILE *file;
	int error = make_folders(root, place->folder);

	if (error)
		return error;
	snprintf(path, sizeof(path), "%s%s/%s", root, place->folder, place->name);
	file = fopen(path, "w");
	if (!file)
		return error_set(-errno, "write '%s': %s", path, strerror(errno));
	fprintf(file, place->text, guest);
	if (fclose(file) != 0)
		return error_set(-errno, "write '%s': %s", path, strerror(errno));
	printf("wrote %s\n", path);
	return 0;
}

/* The folder goes too where it is empty now, and those above it up to /etc; rmdir refuses the others. */
static void remove_folders(const char *root, const char *folder)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", root, folder);
	while (strlen(path) > strlen(root) + strlen("/etc") && rmdir(path) == 0)
		*strrchr(path, '/') = '\0';
}

static int remove_place(const struct place *place, const char *root, bool quiet)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s/%s", root, place->folder, place->name);
	if (unlink(path) < 0) {
		if (errno == ENOENT)
			return 0;
		return error_set(-errno, "remove '%s': %s", path, strerror(errno));
	}
	if (!quiet)
		printf("removed %s\n", path);
	remove_folders(root, place->folder);
	return 0;
}

static int install_all(const char *root)
{
	char guest[PATH_MAX];
	int error = 0;

	if (!guest_path(guest))
		return error_set(-ENOENT, "the guest " GUEST_NAME
					  " is neither beside duet nor installed: run "
					  "`make install` in duet's source tree");
	for (size_t i = 0; i < ARRAY_COUNT(places) && !error; i++)
		error = write_place(&places[i], root, guest);
	if (!error) {
		printf("sessions that begin from now on load %s\n", guest);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_COUNT(places); i++)
		remove_place(&places[i], root, true);
	return error;
}

static int remove_all(const char *root)
{
	int error = 0;

	for (size_t i = 0; i < ARRAY_COUNT(places) && !error; i++)
		error = remove_place(&places[i], root, false);
	return error;
}

static int run_install(const struct command *command, int argc, char **argv)
{
	struct install_values values = {.root = ""};
	int first = options_parse(command, argc, argv, false, &values), error;
	struct stat about;

	if (first < 0)
		return first == -1 ? STATUS_DONE : STATUS_USAGE;
	if (first < argc)
		return usage_error(command, "'%s' is not wanted", argv[first]);
	if (values.system == values.remove)
		return usage_error(command, "say either --system or --remove");
	if (*values.root && (stat(values.root, &about) < 0 || !S_ISDIR(about.st_mode)))
		error = error_set(-ENOENT, "--root: '%s' is not a folder", values.root);
	else
		error = values.system ? install_all(values.root) : remove_all(values.root);
	if (error) {
		print_error(command->name, NULL);
		return STATUS_FAILED;
	}
	return finish_output(command->name, STATUS_DONE);
}

const struct command command_install = {
	.name = "install",
	.arguments = "--system | --remove",
	.summary = "arm the OpenCL guest for every program of the machine",
	.run = run_install,
	.options = install_options,
};
