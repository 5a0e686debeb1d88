/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/cuda.c - how CUDA's guest comes into a program, and what to do where it is refused something
 *
 * Runs in:  the recorder; the work is done by the guest (inject/cuda.c)
 * Gets:     the session's options, what CUPTI answered   Gives: the program's environment, sentences
 * Owns:     nothing
 * Fails:    what could not be loaded into a program is noted
 * Why:      the driver reads CUDA_INJECTION64_PATH in the program's first cuInit and has room for one library: where the
 *           user has put another one there, that one stays. Children that use CUDA inherit the variable, others never
 *           load anything.
 */
#include "collect/nvidia/cuda.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/collector.h"
#include "collect/entering.h"
#include "collect/environment.h"
#include "collect/nvidia/holders.h"
#include "collect/proc.h"
#include "collect/recording.h"
#include "ring/session.h"

#define VARIABLE "CUDA_INJECTION64_PATH"
#define LIBRARY  "libcuda.so"

/* ---- ways in ----------------------------------------------------------------------------------- */

bool cuda_can_load(const struct session_options *session, const char **ret_why)
{
	const char *other = getenv(VARIABLE);

	*ret_why = NULL;
	if (!session->cuda)
		*ret_why = "CUDA is not collected";
	else if (!session->cuda_guest)
		*ret_why = "the guest libduet-cuda.so is neither beside duet nor installed: "
			   "reinstall duet, or run it from its build folder";
	else if (other && *other && strcmp(other, session->cuda_guest) != 0)
		*ret_why = VARIABLE " names another tool already, and the driver loads one: unset "
				    "it to have CUDA recorded";
	return !*ret_why;
}

static const char idle_text[] = "nothing of CUDA is recorded: the guest is there and idle "
				"(nvidia:idle), for who measures what "
				"that costs";

int cuda_arm(struct recording *recording, const struct session_options *session,
	     struct environment *environment, bool *ret_armed)
{
	const char *why;

	*ret_armed = session->cuda && cuda_can_load(session, &why);
	if (!session->cuda)
		return 0;
	recording_note(recording, "nvidia", *ret_armed ? COLLECTOR_AVAILABLE : COLLECTOR_REFUSED, 0,
		       *ret_armed ? "" : why);
	if (!*ret_armed) {
		recording_warn(recording, why);
		return 0;
	}
	if (session->cuda_idle)
		recording_note(recording, "nvidia", COLLECTOR_PARTIAL, 0, idle_text);
	return environment_set(environment, VARIABLE, session->cuda_guest);
}

/* ---- processes that run ------------------------------------------------------------------------- */

static bool has_driver(pid_t pid)
{
	char library[sizeof(LIBRARY) + 2]; /* as in cuda_tell_missing */

	snprintf(library, sizeof(library), "/%s.", LIBRARY);
	return proc_maps_word((uint32_t)pid, library);
}

static bool has_cupti(pid_t pid)
{
	return proc_maps_word((uint32_t)pid, "/libcupti.so");
}

bool cuda_is_without_cupti(pid_t pid)
{
	return has_driver(pid) && !has_cupti(pid);
}

/* CUPTI that comes into a process late brings its own ways to fail; one that is there was meant to be used. */
bool cuda_enter(const struct session_options *session, pid_t pid, bool is_alone,
		struct collector_guest *ret_guest, char *ret_why, size_t size)
{
	*ret_guest = (struct collector_guest){session->cuda_guest, "duet_cuda_enter"};
	ret_why[0] = '\0';
	if (!session->cuda || !proc_is_alive(-1, (uint32_t)pid) || (!is_alone && !has_driver(pid)))
		return false;
	if (!session->cuda_guest)
		snprintf(
			ret_why, size,
			"the guest libduet-cuda.so is neither beside duet nor installed: reinstall "
			"duet, or run it from its build folder");
	else if (!has_driver(pid))
		snprintf(ret_why, size,
			 "process %d has not loaded libcuda: it runs no CUDA, and what it may run "
			 "later "
			 "is not recorded: start it with 'duet record --collect nvidia:cuda -- "
			 "PROGRAM'",
			 (int)pid);
	else if (!has_cupti(pid))
		snprintf(
			ret_why, size,
			"process %d runs CUDA without libcupti, which is not loaded into a program "
			"that runs: its kernels have no device times: start it with 'duet record "
			"--collect nvidia:cuda -- PROGRAM'",
			(int)pid);
	return !ret_why[0];
}

uint32_t cuda_entered(const struct session_options *session, const struct entering_outcome *outcome,
		      char *ret_text, size_t size)
{
	static const char *const whys[] = {
		[SESSION_ENTERED_UNHEARD] = "the guest in it did not get an answer from duet",
		[SESSION_ENTERED_TAKEN] = "another recording has it already: end that first",
		[SESSION_ENTERED_LEAVING] =
			"an earlier recording has not come to its end in it: CUPTI does not come "
			"back from its last flush",
		[SESSION_ENTERED_REFUSED] = "CUPTI refused it",
	};
	const size_t index = (size_t)outcome->entered;

	if (outcome->error) {
		snprintf(ret_text, size, "nothing of CUDA is recorded: %.400s", outcome->text);
	} else if (outcome->entered) {
		snprintf(ret_text, size, "nothing of CUDA is recorded of process %d: %s",
			 (int)outcome->pid,
			 index < ARRAY_COUNT(whys) && whys[index] ? whys[index]
								  : "its guest is of another duet");
	} else if (session->cuda_idle) {
		snprintf(ret_text, size, "process %d: %s", (int)outcome->pid, idle_text);
		return COLLECTOR_PARTIAL;
	} else {
		snprintf(
			ret_text, size,
			"process %d ran when it was attached to (one of its threads was stopped "
			"for "
			"%.1f ms): graphs that it had made before have the stack of their launch%s",
			(int)outcome->pid, (double)outcome->stopped_ns / 1e6,
			session->cuda_pc
				? ", and instructions are sampled in contexts that are made "
				  "from now on alone"
				: "");
		return COLLECTOR_PARTIAL;
	}
	return COLLECTOR_REFUSED;
}

/* ---- what is missing --------------------------------------------------------------------------- */

bool cuda_tell_missing(const struct session_options *session, bool has_guest, bool has_device,
		       char *ret_text, size_t size)
{
	char word[sizeof(LIBRARY) +
		  1]; /* as a whole it is in no program that has this code in it */

	snprintf(word, sizeof(word), "%s.", LIBRARY);
	if (session->cuda || !session->opencl || has_device || !session->command ||
	    !program_mentions(session->command[0], word))
		return false;
	snprintf(ret_text, size,
		 "the program uses CUDA, and that was not asked for: record it with --collect "
		 "nvidia:cuda");
	return true;
}

enum { HARDWARE_BUSY = 26, INSUFFICIENT_PRIVILEGES = 35 };

/* ---- refusals ---------------------------------------------------------------------------------- */

static const struct advice {
	int32_t result;
	const char *name, *text;
} advices[] = {
	{8, "CUPTI_ERROR_OUT_OF_MEMORY",
	 "there is no memory left for it, on the GPU or in the process: give the program less, or "
	 "record less of it"},
	{9, "CUPTI_ERROR_HARDWARE",
	 "the GPU reports a fault: look for Xid in the kernel's log (dmesg)"},
	{11, "CUPTI_ERROR_API_NOT_IMPLEMENTED",
	 "this libcupti does not have it: use that of a newer CUDA (DUET_CUPTI)"},
	{12, "CUPTI_ERROR_MAX_LIMIT_REACHED",
	 "CUPTI's own limit is reached: what comes beyond it is missing"},
	{15, "CUPTI_ERROR_NOT_INITIALIZED",
	 "this libcupti is newer than the driver: name one of the driver's version or older in "
	 "DUET_CUPTI, or update the driver (nvidia-smi says what it supports)"},
	{21, "CUPTI_ERROR_INVALID_KIND",
	 "this libcupti does not know it: use the one of the program's CUDA version (DUET_CUPTI)"},
	{26, "CUPTI_ERROR_HARDWARE_BUSY",
	 "another tool has the GPU's counters: end ncu, nsys or DCGM's profiling (dcgmi profile "
	 "--pause) first"},
	{27, "CUPTI_ERROR_NOT_SUPPORTED", "this GPU, driver or libcupti cannot do it"},
	{33, "CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED",
	 "this virtual GPU cannot be traced: ask for its profiling to be switched on in the "
	 "hypervisor"},
	{35, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",
	 "the driver lets administrators profile and nobody else: run as root or with CAP_PERFMON "
	 "(containers: --cap-add=SYS_ADMIN), or load the module nvidia with "
	 "NVreg_RestrictProfilingToAdminUsers=0"},
	{38, "CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED",
	 "this GPU is too new for this libcupti: use that of a newer CUDA"},
	{39, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED",
	 "CUPTI serves one tool in a process: do without the other one (torch.profiler, nsys, ncu, "
	 "Triton's proton) while duet records"},
	{40, "CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES",
	 "this virtual GPU may not be profiled: ask for it to be switched on in the hypervisor"},
	{41, "CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED",
	 "GPUs in confidential computing are not traced"},
	{45, "CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED", "it does not work in WSL"},
	{999, "CUPTI_ERROR_UNKNOWN",
	 "there is no driver that CUPTI can use: look whether nvidia-smi works, and that no "
	 "cuda/lib64/stubs is in LD_LIBRARY_PATH"},
};

/* Who is root already is not told to be. */
static const struct advice for_root = {INSUFFICIENT_PRIVILEGES,
				       "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",
				       "the driver lets administrators profile and nobody else, "
				       "and does not take this root, or the user that the "
				       "program runs as, for one: give the container "
				       "--cap-add=SYS_ADMIN, or load the module nvidia with "
				       "NVreg_RestrictProfilingToAdminUsers=0"};

static const struct advice *find_advice(int32_t result)
{
	if (result == INSUFFICIENT_PRIVILEGES && geteuid() == 0)
		return &for_root;
	for (size_t i = 0; i < ARRAY_COUNT(advices); i++)
		if (advices[i].result == result)
			return &advices[i];
	return NULL;
}

const char *cuda_result_advice(int32_t result, const char **ret_name)
{
	const struct advice *advice = find_advice(result);

	*ret_name = advice ? advice->name : NULL;
	return advice ? advice->text : NULL;
}

/* What is not there when a function says no. */
static const char *consequence(const char *function)
{
	static const struct {
		const char *function, *text;
	} all[] = {
		{"cuptiSubscribe", "nothing of CUDA is recorded"},
		{"cuptiEnableCallback", "some of CUDA's calls are not recorded"},
		{"cuptiActivityRegisterCallbacks", "kernels and copies have no device times"},
		{"cuptiActivityEnable", "kernels or copies have no device times"},
		{"cuptiActivityEnable(GRAPH_TRACE)", "each node of a graph is a command"},
		{"cuptiActivityEnable(SYNCHRONIZATION)",
		 "waits are those that the calls show, without CUPTI's ranges"},
		{"cuptiActivityEnableLatencyTimestamps",
		 "kernels have no times when they were queued and submitted"},
		{"cuptiActivityRegisterTimestampCallback",
		 "device times are those of CLOCK_REALTIME and less exact"},
		{"cuptiActivityGetNextRecord", "the rest of a buffer of records is lost"},
		{"cuptiPCSamplingGetData", "some samples of instructions are lost"},
	};
	static const char sampling[] = "cuptiPCSampling";

	for (size_t i = 0; i < ARRAY_COUNT(all); i++)
		if (strcmp(function, all[i].function) == 0)
			return all[i].text;
	if (strncmp(function, sampling, strlen(sampling)) == 0)
		return "no instructions of kernels are sampled";
	return "nothing of CUDA is recorded";
}

/* CUPTI does not say who has the counters: those who are known to take them. "": nobody is seen. */
static void find_busy(char *ret_text, size_t size)
{
	struct holder holders[HOLDERS_MOST];

	holders_format(holders, holders_find("", false, holders), ret_text, size);
}

void cuda_explain(const char *function, int32_t result, const char *holder, char *ret_text,
		  size_t size)
{
	const struct advice *advice = find_advice(result);
	char busy[160] = "";

	if (result == HARDWARE_BUSY && !*holder) {
		find_busy(busy, sizeof(busy));
		holder = busy;
	}

	if (strcmp(function, "libcupti") == 0)
		snprintf(
			ret_text, size,
			"nothing of CUDA is recorded: no libcupti is found: install CUDA's toolkit "
			"or Python's package nvidia-cuda-cupti, or name the file in DUET_CUPTI");
	else if (strcmp(function, "libcupti 11.0") == 0)
		snprintf(ret_text, size,
			 "nothing of CUDA is recorded: the libcupti that is loaded is older than "
			 "that of CUDA 11.0, whose records are others: name a newer one in "
			 "DUET_CUPTI, or run the program with a newer CUDA");
	else if (!result && strcmp(function, "cuptiActivityFlushAll") == 0)
		snprintf(ret_text, size,
			 "CUPTI did not come back from its last flush (%.64s) within a second: the "
			 "last kernels and copies have no device times",
			 function);
	else if (!result && strcmp(function, "cuptiFinalize") == 0)
		snprintf(ret_text, size,
			 "where the recording ends before the program, CUPTI stays in it, switched "
			 "off: before CUDA 12.6 it may crash a program with graphs that gives it "
			 "back");
	else if (!result)
		snprintf(ret_text, size,
			 "%s: this libcupti has no %.64s: use that of CUDA "
			 "%s or newer (DUET_CUPTI)",
			 consequence(function), function,
			 strncmp(function, "cuptiPC", 7) == 0 ? "11.3" : "11.0");
	else
		snprintf(ret_text, size, "%s: %.64s returned %d (%s)%s%.128s%s%s%s",
			 consequence(function), function, (int)result,
			 advice ? advice->name : "an error without a name here",
			 *holder ? ", held by '" : "", holder, *holder ? "'" : "",
			 advice ? ": " : "", advice ? advice->text : "");
}
