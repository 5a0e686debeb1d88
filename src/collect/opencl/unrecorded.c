/* SPDX-License-Identifier: MIT
 *
 * collect/opencl/unrecorded.c - reasons why a process has no recorded OpenCL call
 *
 * Runs in:  the recorder
 * Gets:     pids
 * Gives:    sentences, to be put behind the name of the process
 * Owns:     nothing
 * Fails:    returns what is known
 * Why:      /proc shows the mappings of a process while it lives, and the trace does not contain
 *           them
 */
#include <stdio.h>

#include "collect/opencl/ways.h"
#include "collect/proc.h"
#include "collect/start/program.h"
#include "collect/unrecorded.h"

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
	if (!proc_maps_word((uint32_t)pid, "libduet-opencl.so"))
		return proc_maps_word((uint32_t)pid, "libOpenCL.so")
			       ? "was started without duet's guest; start it with duet record -- "
				 "PROGRAM, or anew after duet install --system"
			       : why_no_opencl((uint32_t)pid);
	if (unrecorded_is_filtered((uint32_t)pid))
		return unrecorded_filtered;
	return "did not reach the recorder, although duet's guest is loaded in it: it called no "
	       "OpenCL, or the recording ended too early; an idle guest looks for a recorder once "
	       "a second";
}
