/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/cuda.c - loads CUDA's guest into a program, and explains refusals of CUPTI
 *
 * Runs in:  the recorder; the work is done by the guest (inject/nvidia/cuda.c)
 * Gets:     the session's options, CUPTI's results
 * Gives:    the program's environment, messages
 * Owns:     nothing
 * Fails:    a guest that cannot be loaded is noted
 * Why:      the driver reads CUDA_INJECTION64_PATH in the program's first cuInit. The variable can
 *           name only one library, and if the user has set it, it stays unchanged. Children that
 *           use CUDA inherit the variable; children that do not use CUDA never load the guest.
 */
#include "collect/nvidia/cuda.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/collector.h"
#include "collect/enter/inject_running.h"
#include "collect/nvidia/holders.h"
#include "collect/nvidia/options.h"
#include "collect/proc.h"
#include "collect/recording.h"
#include "collect/start/environment.h"
#include "ring/session.h"

#define VARIABLE "CUDA_INJECTION64_PATH"
#define LIBRARY  "libcuda.so"

/* ---- ways in --------------------------------------------------------------------------------- */

static uint32_t words_of(const struct session_options *session)
{
	const struct nvidia_options *own = collector_options(session, "nvidia");

	return own->choice.words;
}

/* Whether the driver can load the guest. False: *ret_why is the reason. */
static bool can_load(const struct session_options *session, const char **ret_why)
{
	const char *other = getenv(VARIABLE), *guest = collector_guest_path(session, "nvidia");

	*ret_why = NULL;
	if (!(words_of(session) & NVIDIA_CUDA))
		*ret_why = "CUDA is not collected";
	else if (!guest)
		*ret_why = COLLECTOR_NO_GUEST(NVIDIA_GUEST);
	else if (other && *other && strcmp(other, guest) != 0)
		*ret_why = VARIABLE " names another tool already, and the driver loads only one; "
				    "unset the variable to record CUDA";
	return !*ret_why;
}

static const char idle_text[] = "nothing of CUDA is recorded: the guest is loaded and idle "
				"(nvidia:idle), to measure its cost";

int cuda_arm(struct recording *recording, const struct session_options *session,
	     struct environment *environment, bool *ret_armed, const char **ret_why)
{
	const uint32_t words = words_of(session);
	const char *why;

	*ret_armed = can_load(session, &why);
	if (!(words & NVIDIA_CUDA))
		return 0;
	recording_note(recording, "nvidia", *ret_armed ? COLLECTOR_AVAILABLE : COLLECTOR_REFUSED, 0,
		       *ret_armed ? "" : why);
	if (!*ret_armed) {
		recording_warn(recording, why);
		return 0;
	}
	if (words & NVIDIA_OPTION_IDLE)
		recording_note(recording, "nvidia", COLLECTOR_PARTIAL, 0, idle_text);
	return environment_set(environment, VARIABLE, collector_guest_path(session, "nvidia"));
}

void cuda_describe(const struct session_options *session,
		   void (*on_line)(void *context, const char *text), void *context)
{
	char text[PATH_MAX + 64];
	const char *why;

	if (!session->command || !can_load(session, &why))
		return;
	snprintf(text, sizeof(text), "guest %s, loaded by " VARIABLE,
		 collector_guest_path(session, "nvidia"));
	on_line(context, text);
}

/* ---- processes that run ---------------------------------------------------------------------- */

static bool has_driver(pid_t pid)
{
	/* The name with its dot is built here, for the reason in cuda_explain_missing. */
	char library[sizeof(LIBRARY) + 2];

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

/* Loads the guest only if the process already uses CUPTI, because CUPTI fails in many ways when it
 * is loaded late. */
bool cuda_enter(const struct session_options *session, pid_t pid, bool is_alone,
		struct collector_guest *ret_guest, char *ret_why, size_t size)
{
	const char *path = collector_guest_path(session, "nvidia");

	*ret_guest = (struct collector_guest){path, "duet_cuda_enter"};
	ret_why[0] = '\0';
	if (!(words_of(session) & NVIDIA_CUDA) || !proc_is_alive(-1, (uint32_t)pid) ||
	    (!is_alone && !has_driver(pid)))
		return false;
	if (!path)
		snprintf(ret_why, size, COLLECTOR_NO_GUEST(NVIDIA_GUEST));
	else if (!has_driver(pid))
		snprintf(ret_why, size,
			 "process %d has not loaded libcuda, so it does not use CUDA, and later "
			 "use is not recorded. Start it with 'duet record --collect nvidia:cuda -- "
			 "PROGRAM'",
			 (int)pid);
	else if (!has_cupti(pid))
		snprintf(ret_why, size,
			 "process %d runs CUDA without libcupti, which is not loaded into a "
			 "running program. Its kernels have no device times. Start it with 'duet "
			 "record --collect nvidia:cuda -- PROGRAM'",
			 (int)pid);
	return !ret_why[0];
}

uint32_t cuda_entered(const struct session_options *session, const struct entering_outcome *outcome,
		      char *ret_text, size_t size)
{
	static const char *const whys[] = {
		[SESSION_ENTERED_UNHEARD] = "its guest did not get an answer from duet",
		[SESSION_ENTERED_TAKEN] = "another recording has it already; end that first",
		[SESSION_ENTERED_LEAVING] = "an earlier recording of it has not ended, because "
					    "CUPTI does not return from its last flush",
		[SESSION_ENTERED_REFUSED] = "CUPTI refused it",
	};
	const size_t index = (size_t)outcome->entered;

	if (outcome->error) {
		snprintf(ret_text, size, "nothing of CUDA is recorded: %.400s", outcome->text);
	} else if (outcome->entered) {
		snprintf(ret_text, size, "nothing of CUDA is recorded of process %d: %s",
			 (int)outcome->pid,
			 index < ARRAY_COUNT(whys) && whys[index]
				 ? whys[index]
				 : "its guest belongs to another version of duet");
	} else if (words_of(session) & NVIDIA_OPTION_IDLE) {
		snprintf(ret_text, size, "process %d: %s", (int)outcome->pid, idle_text);
		return COLLECTOR_PARTIAL;
	} else {
		snprintf(ret_text, size,
			 "process %d was running when it was attached (one of its threads was "
			 "stopped for %.1f ms). Graphs that it had created before have the stack "
			 "of their launch%s",
			 (int)outcome->pid, (double)outcome->stopped_ns / 1e6,
			 words_of(session) & NVIDIA_OPTION_PC
				 ? ", and instructions are sampled only in contexts that are "
				   "created from now on"
				 : "");
		return COLLECTOR_PARTIAL;
	}
	return COLLECTOR_REFUSED;
}

/* ---- CUDA programs without the guest --------------------------------------------------------- */

bool cuda_explain_missing(const struct session_options *session, bool has_guest, bool has_device,
			  char *ret_text, size_t size)
{
	/* The name is put together here, because a program whose file contains it whole is taken
	 * for a user of CUDA; duet is none. */
	char word[sizeof(LIBRARY) + 1];

	snprintf(word, sizeof(word), "%s.", LIBRARY);
	if ((words_of(session) & NVIDIA_CUDA) || !session_collects(session, "opencl") ||
	    has_device || !session->command || !program_mentions(session->command[0], word))
		return false;
	snprintf(ret_text, size,
		 "the program uses CUDA, but nvidia:cuda is not selected; add --collect "
		 "nvidia:cuda");
	return true;
}

enum { HARDWARE_BUSY = 26, INSUFFICIENT_PRIVILEGES = 35 };

/* ---- refusals -------------------------------------------------------------------------------- */

static const struct advice {
	int32_t result;
	const char *name, *text;
} advices[] = {
	{8, "CUPTI_ERROR_OUT_OF_MEMORY",
	 "the GPU or the process is out of memory; let the program use less memory, or record less "
	 "of it"},
	{9, "CUPTI_ERROR_HARDWARE",
	 "the GPU reports a fault; see 'Xid' in the kernel's log (dmesg)"},
	{11, "CUPTI_ERROR_API_NOT_IMPLEMENTED",
	 "this libcupti lacks it; set DUET_CUPTI to the libcupti of a newer CUDA"},
	{12, "CUPTI_ERROR_MAX_LIMIT_REACHED",
	 "CUPTI's own limit is reached, and later data are missing"},
	{15, "CUPTI_ERROR_NOT_INITIALIZED",
	 "this libcupti is newer than the driver; set DUET_CUPTI to one of the driver's CUDA "
	 "version or older (nvidia-smi shows it), or update the driver"},
	{21, "CUPTI_ERROR_INVALID_KIND",
	 "this libcupti does not support it; set DUET_CUPTI to the libcupti of the program's CUDA "
	 "version"},
	{26, "CUPTI_ERROR_HARDWARE_BUSY",
	 "another tool uses the GPU's counters; end ncu, nsys or DCGM's profiling (dcgmi profile "
	 "--pause) first"},
	{27, "CUPTI_ERROR_NOT_SUPPORTED", "this GPU, driver or libcupti does not support it"},
	{33, "CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED",
	 "this virtual GPU cannot be traced; ask the administrator to enable its profiling in the "
	 "hypervisor"},
	{35, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",
	 "the driver allows profiling for administrators only; run as root or with CAP_PERFMON "
	 "(containers: --cap-add=SYS_ADMIN), or load the module nvidia with "
	 "NVreg_RestrictProfilingToAdminUsers=0"},
	{38, "CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED",
	 "this GPU is too new for this libcupti; set DUET_CUPTI to the libcupti of a newer CUDA"},
	{39, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED",
	 "CUPTI serves one tool per process; switch off the other one (torch.profiler, nsys, ncu, "
	 "Triton's proton) while duet records"},
	{40, "CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES",
	 "this virtual GPU may not be profiled; ask the administrator to enable its profiling in "
	 "the hypervisor"},
	{41, "CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED",
	 "GPUs in confidential computing are not traced"},
	{45, "CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED", "CUPTI does not work in WSL"},
	{999, "CUPTI_ERROR_UNKNOWN",
	 "CUPTI finds no usable driver; check that nvidia-smi works and that LD_LIBRARY_PATH does "
	 "not contain cuda/lib64/stubs"},
};

/* Advice for root, who needs no advice to become root. */
static const struct advice for_root = {
	INSUFFICIENT_PRIVILEGES, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",
	"the driver allows profiling for administrators only, and accepts neither this root nor "
	"the program's user as one; give the container --cap-add=SYS_ADMIN, or load the module "
	"nvidia with NVreg_RestrictProfilingToAdminUsers=0"};

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

/* Returns the part that is missing when a function is not found or fails. */
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
		 "waits are taken from calls only, because CUPTI's ranges are missing"},
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

/* CUPTI does not report the holder of the counters, so this lists running tools that are known to
 * take them. "": none found. */
static void find_busy(char *ret_text, size_t size)
{
	struct holder holders[MAX_HOLDERS];

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
		snprintf(ret_text, size,
			 "nothing of CUDA is recorded: no libcupti was found; install CUDA's "
			 "toolkit or Python's package nvidia-cuda-cupti, or name the file in "
			 "DUET_CUPTI");
	else if (strcmp(function, "libcupti 11.0") == 0)
		snprintf(ret_text, size,
			 "nothing of CUDA is recorded: the loaded libcupti is older than that of "
			 "CUDA 11.0 and has other records; name a newer one in DUET_CUPTI, or run "
			 "the program with a newer CUDA");
	else if (!result && strcmp(function, "cuptiActivityFlushAll") == 0)
		snprintf(ret_text, size,
			 "CUPTI did not return from its last flush (%.64s) within a second, so the "
			 "last kernels and copies have no device times",
			 function);
	else if (!result && strcmp(function, "cuptiFinalize") == 0)
		snprintf(
			ret_text, size,
			"if the recording ends before the program, CUPTI stays loaded and switched "
			"off: before CUDA 12.6, unloading it may crash a program with graphs");
	else if (!result)
		snprintf(ret_text, size,
			 "%s: this libcupti has no %.64s; set DUET_CUPTI to the libcupti of CUDA "
			 "%s or newer",
			 consequence(function), function,
			 strncmp(function, "cuptiPC", 7) == 0 ? "11.3" : "11.0");
	else
		snprintf(ret_text, size, "%s: %.64s returned %d (%s)%s%.128s%s%s%s",
			 consequence(function), function, (int)result,
			 advice ? advice->name : "unknown error", *holder ? ", held by '" : "",
			 holder, *holder ? "'" : "", advice ? ": " : "",
			 advice ? advice->text : "");
}
