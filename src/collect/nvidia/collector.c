/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/collector.c - the collector "nvidia": CUDA (cuda.c), and counters of GPUs from
 * NVML and from their hardware (pm.c)
 *
 * Runs in:  the recorder's main thread; samplers have threads of their own
 * Gets:     the options of --collect nvidia
 * Gives:    devices, notes, and rows (collect/counter/counters.h)
 * Owns:     the library
 * Fails:    -ENOENT, -ENODEV if there is no driver; a value that a GPU lacks is absent
 * Why:      This collector is not a default, because nvmlInit alone wakes sleeping GPUs, which
 *           takes seconds, and 10 readings per second took 3 % of a processor on an H200
 *           (docs/performance.md)
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "collect/collector.h"
#include "collect/counter/counters.h"
#include "collect/devices.h"
#include "collect/nvidia/cpu_side.h"
#include "collect/nvidia/cuda.h"
#include "collect/nvidia/holders.h"
#include "collect/nvidia/nvidia.h"
#include "collect/nvidia/options.h"
#include "collect/nvidia/pm.h"
#include "collect/proc.h"

static int read_exponent(const char *text, void *options);
static int read_pm(const char *text, void *options);
static int read_metric(const char *text, void *options);

enum { NVIDIA_MAX_HZ = 100 };

#define CUDA NVIDIA_CUDA | NVIDIA_CUDA_ASKED

static const struct collector_option nvidia_options[] = {
	{COLLECTOR_RATE_NAME, "1 to 100 readings of counters a second (default 10), without CUDA",
	 .set = NVIDIA_COUNTERS_ASKED},
	{"cuda", "record calls, kernels, copies and graphs of CUDA, without counters", .set = CUDA},
	{"-cuda", "read counters only, without CUDA", .clear = NVIDIA_CUDA},
	{"graphs",
	 "CUDA, with each launch of a graph as one command (default: one command per node)",
	 .set = CUDA | NVIDIA_OPTION_GRAPHS, .off = NVIDIA_OPTION_GRAPHS},
	{"latency",
	 "CUDA, with the times when each kernel was queued and submitted; makes each launch slower",
	 .set = CUDA | NVIDIA_OPTION_LATENCY, .off = NVIDIA_OPTION_LATENCY},
	{"waits", "CUDA, and as ranges the waits of host and streams that CUPTI reports",
	 .set = CUDA | NVIDIA_OPTION_WAITS, .off = NVIDIA_OPTION_WAITS},
	{"pc", "CUDA, with samples of the instructions of its kernels and their stall reasons",
	 .set = CUDA | NVIDIA_OPTION_PC, .off = NVIDIA_OPTION_PC | NVIDIA_OPTION_PC_EXACT},
	{"pc=N", "as pc; each multiprocessor is sampled every 2^N cycles, N from 5 to 31",
	 .set = CUDA | NVIDIA_OPTION_PC, .read = read_exponent},
	{"pc-exact",
	 "as pc, with kernels run one after the other, so that each sample belongs to one launch",
	 .set = CUDA | NVIDIA_OPTION_PC | NVIDIA_OPTION_PC_EXACT, .off = NVIDIA_OPTION_PC_EXACT},
	{"idle",
	 "load the guest library and CUPTI into the program and record nothing of CUDA, to measure "
	 "the cost of loading",
	 .set = NVIDIA_CUDA | NVIDIA_OPTION_IDLE,
	 .off = NVIDIA_OPTION_IDLE | NVIDIA_OPTION_SUBSCRIBED},
	{"idle-subscribed",
	 "as idle, and also subscribe to CUPTI's callbacks, all of which stay disabled",
	 .set = NVIDIA_CUDA | NVIDIA_OPTION_IDLE | NVIDIA_OPTION_SUBSCRIBED,
	 .off = NVIDIA_OPTION_SUBSCRIBED},
	{"pm", "read hardware counters of each GPU 1000 times a second, without the other counters",
	 .set = NVIDIA_PM, .read = read_pm},
	{"pm=HZ", "as pm, HZ times a second, 10 to 200000 (pm=10kHz)"},
	{"metric=GLOB@HZ",
	 "read only counters whose name matches, such as metric=gpu.power; with @HZ at most HZ "
	 "times a second; may be repeated (duet list metrics)",
	 .set = NVIDIA_COUNTERS_ASKED, .read = read_metric},
	{NULL},
};

static const struct collector_rate rate = {
	.usual_hz = 10, .max_hz = NVIDIA_MAX_HZ, .asked = NVIDIA_COUNTERS_ASKED};

static const char memory_taken[] =
	"instruction sampling takes 64 MiB of GPU memory for each CUDA context (512 MiB if CUPTI "
	"refuses that size); a program that fills its GPU may run out of memory";

/* ---- notes ----------------------------------------------------------------------------------- */

static void put_note(struct recording *recording, enum event_collector_state state,
		     const char *text)
{
	recording_note(recording, "nvidia", state, 0, text);
}

static void note_holders(struct recording *recording)
{
	struct holder holders[MAX_HOLDERS];
	size_t count = holders_find("", false, holders);
	char text[1024] = "other processes that may use the GPUs' profiling: ";

	if (!count)
		return;
	holders_format(holders, count, text + strlen(text), sizeof(text) - strlen(text));
	put_note(recording, COLLECTOR_AVAILABLE, text);
}

static void note_device(struct recording *recording, const struct nvidia *nvidia, size_t index)
{
	const struct nvidia_device *device = &nvidia->devices[index];
	struct nvml_gpm_support support = {.version = NVML_GPM_SUPPORT_VERSION};
	char text[512];

	if (device->has_instances)
		snprintf(text, sizeof(text),
			 "%s (%s) is divided by MIG: its counters are not those of the instance "
			 "that a program uses",
			 device->name, device->uuid);
	else if (!device->whole &&
		 (NVML_CALL(&nvidia->nvml, nvmlGpmQueryDeviceSupport, device->handle, &support) ||
		  !support.is_supported))
		snprintf(text, sizeof(text),
			 "%s (%s) has no GPM, which needs Hopper or later; the activity of its "
			 "multiprocessors is not counted",
			 device->name, device->uuid);
	else
		return;
	put_note(recording, COLLECTOR_AVAILABLE, text);
}

/* These counters are recorded even if another part of the collector is refused. */
static void note_counted(struct recording *recording, uint32_t hz)
{
	char text[64];

	snprintf(text, sizeof(text), "counters of NVML, %u times a second", (unsigned int)hz);
	put_note(recording, COLLECTOR_AVAILABLE, text);
}

/* ---- begin and end --------------------------------------------------------------------------- */

static int find_devices(struct recording *recording, struct nvidia *nvidia)
{
	nvmlReturn_t result;
	char driver[NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE] = "";
	uint32_t whole = 0; /* id of the last whole GPU; its instances follow it */

	nvidia->count = nvidia_devices_find(&nvidia->nvml, nvidia->devices, &result);
	if (result && nvidia->count)
		put_note(recording, COLLECTOR_PARTIAL, nvml_result_text(result));
	if (!nvidia->count)
		return error_set(-ENODEV, "NVML finds no GPU: %s",
				 nvml_result_text(result ? result : NVML_ERROR_GPU_NOT_FOUND));
	NVML_CALL(&nvidia->nvml, nvmlSystemGetDriverVersion, driver, sizeof(driver));
	for (size_t i = 0; i < nvidia->count; i++) {
		const struct nvidia_device *device = &nvidia->devices[i];
		const struct device_facts facts = {.uuid = device->uuid,
						   .address = *device->address ? device->address
									       : NULL,
						   .name = device->name,
						   .vendor = "NVIDIA Corporation",
						   .driver = driver,
						   .memory_bytes = device->memory_bytes,
						   .parent = device->whole ? whole : 0};

		nvidia->ids[i] = devices_meet(recording, &facts);
		whole = device->whole ? whole : nvidia->ids[i];
		note_device(recording, nvidia, i);
	}
	return 0;
}

static void close_nvidia(void *context)
{
	struct nvidia *nvidia = context;

	nvml_close(&nvidia->nvml);
	free(nvidia);
}

static int open_nvidia(struct recording *recording, struct nvidia *nvidia)
{
	int error = nvml_open(&nvidia->nvml);

	if (!error)
		error = find_devices(recording, nvidia);
	if (error)
		return error;
	nvidia->has_pids = proc_counts_as_machine();
	note_holders(recording);
	return 0;
}

static int open_counters(struct recording *recording, const struct session_options *session,
			 struct counters **ret_counters)
{
	const struct nvidia_options *own = collector_options(session, "nvidia");
	const uint32_t hz = own->choice.hz;
	struct nvidia *nvidia = hz ? calloc(1, sizeof(*nvidia)) : NULL;
	const struct counters_options options = {.collector = "nvidia",
						 .group.sources = &nvidia_sources,
						 .names = {[GROUP_MACHINE] = "nvml",
							   [GROUP_PROCESSES] = "nvml-processes",
							   [GROUP_SLOW] = "nvml-slow"},
						 .group.hz = hz,
						 .group.choice = own->counters,
						 .group.sources_context = nvidia,
						 .close_context = close_nvidia,
						 .group.root = "",
						 .has_processes =
							 session->command || session->pids_count,
						 .has_others = session_collects(session, "cpu")};
	int error;

	if (!hz)
		return 0;
	if (!nvidia)
		return error_set(-ENOMEM, "counters: out of memory");
	error = open_nvidia(recording, nvidia);
	if (error)
		close_nvidia(nvidia);
	else
		error = counters_open(recording, &options, ret_counters);
	if (!error)
		note_counted(recording, hz);
	return error;
}

/* ---- both kinds of counters ------------------------------------------------------------------ */

struct both {
	struct counters *counters; /* each is NULL if it was not chosen or is not available */
	struct pm *pm;
	struct cpu_side *side;
	struct recording *recording; /* borrowed */
};

static void close_both(void *state)
{
	struct both *both = state;

	if (!both)
		return;
	/* PM sampling first, because it may hold the GPU's clocks. */
	pm_close(both->pm);
	counters_close(both->counters);
	both->recording->on_refused = NULL;
	cpu_side_close(both->side);
	free(both);
}

/* If only one kind fails, its error is noted; if both fail, it is returned. */
static int open_each(struct recording *recording, const struct session_options *session,
		     struct both *both)
{
	const struct nvidia_options *own = collector_options(session, "nvidia");
	int counters_error = open_counters(recording, session, &both->counters), error = 0;
	char text[512];

	snprintf(text, sizeof(text), "%s", counters_error ? error_text() : "");
	if (own->pm_hz)
		error = pm_open(recording, own->pm_hz, &own->counters, &both->pm);
	if (error && both->counters)
		put_note(recording, COLLECTOR_REFUSED, error_text());
	if (error && both->counters)
		recording_warn(recording, error_text());
	if (counters_error && both->pm) {
		put_note(recording, COLLECTOR_REFUSED, text);
		recording_warn(recording, text);
	}
	if (both->counters || both->pm)
		return 0;
	return counters_error ? error_set(counters_error, "%s", text) : error;
}

static void on_refused(void *context, const char *collector, uint32_t pid)
{
	if (strcmp(collector, "nvidia") == 0)
		cpu_side_watch(context, pid);
}

/* Prepares uprobes, because CUPTI may refuse a process later. */
static void open_side(struct recording *recording, bool has_stacks, struct both *both)
{
	both->side = cpu_side_open(recording, has_stacks);
	if (!both->side)
		return;
	recording->on_refused = on_refused;
	recording->refused_context = both->side;
}

static int open_both(struct recording *recording, const struct session_options *session,
		     void **ret_state)
{
	const struct nvidia_options *own = collector_options(session, "nvidia");
	const uint32_t words = own->choice.words;
	const bool has_counters = own->choice.hz || own->pm_hz;
	struct both *both = NULL;
	int error;

	*ret_state = NULL;
	if (words & NVIDIA_OPTION_PC)
		recording_hint(recording, memory_taken);
	if (!has_counters && !(words & NVIDIA_CUDA))
		return 0;
	both = calloc(1, sizeof(*both));
	if (!both)
		return error_set(-ENOMEM, "counters: out of memory");
	both->recording = recording;
	error = has_counters ? open_each(recording, session, both) : 0;
	if (error && (!(words & NVIDIA_CUDA) || !collector_guest_path(session, "nvidia"))) {
		free(both);
		return error;
	}
	/* CUDA is recorded nevertheless. */
	if (error) {
		put_note(recording, COLLECTOR_REFUSED, error_text());
		recording_warn(recording, error_text());
		error_clear();
	}
	if ((words & NVIDIA_CUDA) && !(words & NVIDIA_OPTION_IDLE))
		open_side(recording, session->native_stacks, both);
	*ret_state = both;
	return 0;
}

static int watch_both(void *state, pid_t pid)
{
	const struct both *both = state;

	return counters_watch(both->counters, pid);
}

static int attach_both(void *state, pid_t pid, int pid_fd)
{
	const struct both *both = state;

	if (both->side && cuda_is_without_cupti(pid))
		cpu_side_watch(both->side, (uint32_t)pid);
	return counters_attach(both->counters, pid, pid_fd);
}

static uint64_t interval_of_both(const void *state)
{
	const struct both *both = state;
	const bool is_idle =
		!both->counters && !both->pm && !(both->side && cpu_side_is_on(both->side));

	return is_idle ? UINT64_C(1000000000) : UINT64_C(100000000);
}

static void look_both(void *state)
{
	counters_look(((const struct both *)state)->counters);
}

static void catch_up_both(void *state, uint64_t until_ns)
{
	const struct both *both = state;

	counters_catch_up(both->counters, until_ns);
	if (both->pm)
		pm_drain(both->pm);
	if (both->side)
		cpu_side_drain(both->side);
}

static void count_both(void *state, uint64_t now_ns)
{
	const struct both *both = state;

	counters_count_losses(both->counters, now_ns);
	if (both->pm)
		pm_each_second(both->pm, now_ns);
	if (both->side)
		cpu_side_count(both->side, now_ns);
}

static const struct collector_work work = {
	.open = open_both,
	.watch = watch_both,
	.attach = attach_both,
	.interval_ns = interval_of_both,
	.look = look_both,
	.catch_up = catch_up_both,
	.each_second = count_both,
	.close = close_both,
};

/* Parses "pc=19". */
static int read_exponent(const char *text, void *options)
{
	struct nvidia_options *own = options;
	unsigned int exponent = 0;
	int length = 0;

	if (strncmp(text, "pc=", 3) != 0)
		return -ENOENT;
	if (sscanf(text, "pc=%2u%n", &exponent, &length) == 1 && !text[length] && text[3] >= '0' &&
	    text[3] <= '9' && exponent >= NVIDIA_PC_MIN_EXPONENT &&
	    exponent <= NVIDIA_PC_MAX_EXPONENT) {
		own->pc_exponent = exponent;
		return 0;
	}
	return error_set(-EINVAL,
			 "'%s' is invalid: it is pc=N, with N from 5 to 31; each multiprocessor is "
			 "sampled every 2^N cycles",
			 text);
}

static int read_pm(const char *text, void *options)
{
	struct nvidia_options *own = options;

	return pm_option_read(text, &own->pm_hz);
}

static int read_metric(const char *text, void *options)
{
	struct nvidia_options *own = options;

	return counter_choice_read_metric(text, "nvidia", &nvidia_sources, NVIDIA_MAX_HZ,
					  &own->counters.metrics);
}

/* Whether a metric is chosen that a sampler reads, not PM sampling. */
static bool has_sampled_metric(const struct counter_choice *choice)
{
	for (size_t i = 0; i < nvidia_sources.count; i++)
		if (!nvidia_sources.all[i]->own_hz &&
		    counter_choice_hz(choice, nvidia_sources.all[i], 1))
			return true;
	return false;
}

static int settle_options(void *options, bool is_named)
{
	const struct nvidia_options *own = options;
	const uint32_t words = own->choice.words;
	const uint64_t all_of_pm = (UINT64_C(1) << nvidia_pm_source.metrics_count) - 1;
	const uint64_t left_out = counter_choice_left_out(&own->counters, &nvidia_pm_source);

	if (own->pm_hz && left_out == all_of_pm)
		return error_set(-EINVAL, "nvidia:pm reads none of the chosen metrics; add "
					  "nvidia:metric=gpu.pm.*, or omit nvidia:pm");
	if (!own->pm_hz && !name_patterns_is_empty(&own->counters.metrics) &&
	    !has_sampled_metric(&own->counters))
		return error_set(-EINVAL, "the chosen metrics of nvidia are hardware counters, "
					  "which only nvidia:pm reads; add nvidia:pm=HZ");
	if ((words & NVIDIA_OPTION_IDLE) && (words & NVIDIA_CUDA_ASKED))
		return error_set(-EINVAL,
				 "nvidia:idle and nvidia:idle-subscribed record nothing of CUDA; "
				 "omit them, or the options that record CUDA (nvidia:cuda, "
				 "nvidia:graphs, nvidia:latency, nvidia:waits, nvidia:pc)");
	return 0;
}

static uint32_t guest_options(const struct session_options *session,
			      uint32_t ret_numbers[RING_NUMBERS])
{
	const struct nvidia_options *own = collector_options(session, "nvidia");

	ret_numbers[NVIDIA_NUMBER_PC_EXPONENT] = own->pc_exponent;
	return own->choice.words & RING_OPTIONS_OF_GUEST;
}

_Static_assert((int)NVIDIA_TROUBLE_TIMES == (int)RING_TROUBLE_GUEST,
	       "the first of the guest's own");

static const struct guest_fact facts[] = {
	{NVIDIA_TROUBLE_QUEUES, false, LOSES_NOTHING, NULL,
	 "commands were in streams beyond the limit (65536 at a time, a million in all); such "
	 "streams of a GPU are shown as one queue"},
	{NVIDIA_TROUBLE_TIMES, false, LOSES_NOTHING, NULL,
	 "commands have no device times, because CUPTI reported impossible times (as it does after "
	 "some 25 million nodes of graphs)"},
	{NVIDIA_TROUBLE_GRAPHS, true, LOSES_NOTHING,
	 "nodes of CUDA graphs came faster than the limit (DUET_CUDA_NODES, per second); from then "
	 "on each launch of a graph is one command, as with nvidia:graphs"},
	{NVIDIA_TROUBLE_PC_FULL, true, LOSES_NOTHING, NULL,
	 "times the GPU's buffer of instruction samples was full and later samples were lost; "
	 "sample less often (nvidia:pc=N, every 2^N cycles)"},
	{NVIDIA_TROUBLE_PC_CODE, false, LOSES_NOTHING, NULL,
	 "instruction samples have no function, because duet did not see their code being loaded"},
	{NVIDIA_TROUBLE_PC_OVER, true, LOSES_NOTHING,
	 "instructions are no longer sampled in this process: the GPU's buffer was full "
	 "repeatedly, or CUPTI's names took too much of the program's memory"},
	{NVIDIA_TROUBLE_MEMORY, false, LOSES_NOTHING, NULL,
	 "allocations or releases of memory are missing in the counters cuda.memory: more than "
	 "65536 were open at a time, or threads of the program delayed the count"},
	{NVIDIA_TROUBLE_PC_CONTEXTS, true, LOSES_NOTHING, NULL,
	 "contexts have no instruction samples: a process has more than 16 of them, or CUPTI was "
	 "busy with another one for longer than a program may wait"},
	{0},
};

_Static_assert(sizeof(struct nvidia_options) <= COLLECTOR_OPTIONS_BYTES, "a slot has room");

static const struct guest_way guest_way = {
	.name = "cuda",
	.file = NVIDIA_GUEST,
	.runtime = "CUDA",
	.library = "libcuda.so",
	.device_file = "/dev/nvidiactl",
	.calls = NVIDIA_CUDA,
	.ring_bytes = CUDA_RING_BYTES,
	.explain = cuda_explain,
	.facts = facts,
	.options = guest_options,
	.arm = cuda_arm,
	.describe = cuda_describe,
	.enter = cuda_enter,
	.entered = cuda_entered,
	.explain_missing = cuda_explain_missing,
};

const struct collector nvidia_collector = {
	.name = "nvidia",
	.help = "CUDA kernels, copies and graphs with device times, from CUPTI; counters of NVIDIA "
		"GPUs: load, power, clocks, memory, links, since Hopper activity of "
		"multiprocessors; with pm, hardware counters",
	.way = &guest_way,
	.sources = &nvidia_sources,
	.options = nvidia_options,
	.named = {.set = NVIDIA_CUDA | NVIDIA_COUNTERS_ASKED},
	.chosen_by = NVIDIA_CUDA | NVIDIA_PM,
	.rate = &rate,
	.by_request = true,
	.settle = settle_options,
	.work = &work,
};
