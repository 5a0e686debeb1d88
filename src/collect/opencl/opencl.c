/* SPDX-License-Identifier: MIT
 *
 * collect/opencl/opencl.c - the collector "opencl": loads the guest for OpenCL
 *
 * Runs in:  the recorder; the work is done by the guest (inject/opencl/opencl.c) and the session
 * Gets:     the options of --collect opencl
 * Gives:    the program's environment
 * Owns:     nothing
 * Fails:    never; a guest that could not be loaded is noted
 * Why:      Device times are on by default. `opencl:host` leaves queues unchanged, because the
 *           profiling flag costs 59 ns per read on PoCL and has slowed whole programs 1.1 to 1.8
 *           times elsewhere
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "collect/collector.h"
#include "collect/opencl/ways.h"
#include "collect/proc.h"
#include "collect/recording.h"
#include "collect/start/environment.h"
#include "collect/start/program.h"
#include "collect/unrecorded.h"

enum { OPENCL_ON = 1, OPENCL_TIME = 2 };

static const struct collector_option options[] = {
	{"host",
	 "record calls and launches without device times; leaves the program's queues unchanged",
	 .set = OPENCL_ON, .clear = OPENCL_TIME},
	{NULL},
};

static uint32_t guest_options(const struct session_options *session,
			      uint32_t ret_numbers[RING_NUMBERS])
{
	const struct collector_choice *choice = collector_options(session, "opencl");

	return choice->words & OPENCL_TIME ? RING_OPTION_DEVICE_TIME : 0;
}

static int file_has(const char *path, const char *word)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat about;
	void *file;
	int found;

	if (fd < 0 || fstat(fd, &about) < 0 || about.st_size <= 0)
		return -1;
	file = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED)
		return -1;
	found = memmem(file, (size_t)about.st_size, word, strlen(word)) != NULL;
	munmap(file, (size_t)about.st_size);
	return found;
}

/* Whether the program's ICD loader supports layers. True if no loader is found, because preloading
 * would not help then either. */
static bool loader_has_layers(void)
{
	static const char *const folders[] = {"/usr/local/lib", "/usr/lib/x86_64-linux-gnu",
					      "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
					      "/usr/lib"};
	const char *own = getenv("LD_LIBRARY_PATH");
	char path[4096];
	int found = -1;

	while (own && *own && found < 0) {
		size_t length = strcspn(own, ":");

		snprintf(path, sizeof(path), "%.*s/libOpenCL.so.1", (int)length, own);
		found = file_has(path, "OPENCL_LAYERS");
		own += length + (own[length] == ':');
	}
	for (size_t i = 0; i < ARRAY_COUNT(folders) && found < 0; i++) {
		snprintf(path, sizeof(path), "%s/libOpenCL.so.1", folders[i]);
		found = file_has(path, "OPENCL_LAYERS");
	}
	return found != 0;
}

/* Returns the environment variable by which the program's loader finds the guest: the one that the
 * user chose, or one that this loader and program support. NULL: none; *ret_why is the reason. */
static const char *find_variable(const struct session_options *session, const char **ret_why)
{
	const char *guest = collector_guest_path(session, "opencl");
	bool preload = session->preload || !loader_has_layers();

	if (!session_collects(session, "opencl"))
		*ret_why = "OpenCL is not collected";
	else if (!guest)
		*ret_why = COLLECTOR_NO_GUEST(OPENCL_GUEST);
	/* ld.so splits LD_PRELOAD at spaces too. */
	else if (session->command && strpbrk(guest, preload ? " :" : ":"))
		*ret_why = "the guest's path contains a space or a ':', which the dynamic linker "
			   "takes for a separator; move duet to another folder";
	else if (preload && session->command &&
		 program_kind_of(session->command[0], true) == PROGRAM_SANITIZED)
		*ret_why = program_kind_text(PROGRAM_SANITIZED);
	else
		return preload ? "LD_PRELOAD" : "OPENCL_LAYERS";
	return NULL;
}

static int arm(struct recording *recording, const struct session_options *session,
	       struct environment *environment, bool *ret_armed, const char **ret_why)
{
	const char *way = find_variable(session, ret_why);

	*ret_armed = way != NULL;
	recording_note(recording, "opencl", way ? COLLECTOR_AVAILABLE : COLLECTOR_REFUSED, 0,
		       way ? "" : *ret_why);
	return way ? environment_append(environment, way, collector_guest_path(session, "opencl"),
					':')
		   : 0;
}

static void describe(const struct session_options *session,
		     void (*on_line)(void *context, const char *text), void *context)
{
	char text[PATH_MAX + 256];
	const char *why, *way;

	if (!session->command || !session_collects(session, "opencl"))
		return;
	way = find_variable(session, &why);
	if (way)
		snprintf(text, sizeof(text), "guest %s, loaded by %s; existing values are kept",
			 collector_guest_path(session, "opencl"), way);
	else
		snprintf(text, sizeof(text), "OpenCL is not recorded: %s", why);
	on_line(context, text);
}

/* The guest adds the profiling property to queues that are created while it records. Other queues
 * are older, or the runtime refused. */
static const struct untimed_reasons untimed = {
	.from_start = "the runtime refuses CL_QUEUE_PROFILING_ENABLE. Calls and launches are "
		      "recorded",
	.before = "they were created before the recording, without CL_QUEUE_PROFILING_ENABLE. To "
		  "have times, start the program with DUET_OPENCL_PROFILING=1, or record it from "
		  "its start (duet record -- PROGRAM)",
};

/* ---- why a process has no recorded call ------------------------------------------------------ */

/* /proc shows the mappings of a process while it lives; later the trace cannot. */
static const char in_oclgrind[] =
	"runs in oclgrind, whose wrapper replaces libOpenCL.so by a library that loads no layers. "
	"So its OpenCL calls are not recorded; start the program without oclgrind";

/* liboclgrind-rt-icd.so is a driver behind the usual libOpenCL.so, with which layers work. */
const char *opencl_obstacle(pid_t pid)
{
	return proc_maps_word((uint32_t)pid, "/liboclgrind-rt.so") ? in_oclgrind : NULL;
}

/* Explains why a process has not mapped OpenCL. */
static const char *why_no_opencl(uint32_t pid)
{
	char exe[64];
	enum program_kind kind;

	snprintf(exe, sizeof(exe), "/proc/%u/exe", pid);
	kind = program_kind_of(exe, false);
	if (kind == PROGRAM_STATIC)
		return "is linked statically, so that no library can be loaded beside it";
	if (kind == PROGRAM_OTHER_CLASS)
		return "is a 32-bit program, and the guest is 64-bit";
	return "has not loaded OpenCL (libOpenCL.so)";
}

const char *opencl_why_unrecorded(pid_t pid)
{
	const char *obstacle = opencl_obstacle(pid);

	if (obstacle)
		return obstacle;
	/* a program maps at least its own file */
	if (!proc_maps_word((uint32_t)pid, "/"))
		return "has ended, so it is not known why none of its OpenCL calls is recorded";
	if (!proc_maps_word((uint32_t)pid, "libduet-opencl.so"))
		return proc_maps_word((uint32_t)pid, "libOpenCL.so")
			       ? "was started without duet's guest; start it with duet record -- "
				 "PROGRAM, or anew after duet install --system"
			       : why_no_opencl((uint32_t)pid);
	if (unrecorded_is_filtered((uint32_t)pid))
		return unrecorded_filtered;
	return "did not reach the recorder, although duet's guest is loaded in it: it called no "
	       "OpenCL meanwhile, or the recording ended too early";
}

static const struct guest_way guest_way = {
	.name = "opencl",
	.file = OPENCL_GUEST,
	.runtime = "OpenCL",
	.library = "libOpenCL.so",
	.calls = OPENCL_ON,
	.options = guest_options,
	.leaves_out = true,
	.untimed = &untimed,
	.why_unrecorded = opencl_why_unrecorded,
	.find_obstacle = opencl_obstacle,
	.arm = arm,
	.describe = describe,
};

const struct collector opencl_collector = {
	.name = "opencl",
	.help = "every OpenCL call, launch and command with its device times",
	.way = &guest_way,
	.options = options,
	.named = {.set = OPENCL_ON | OPENCL_TIME},
	.chosen_by = OPENCL_ON,
};
