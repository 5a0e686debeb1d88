/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/collector.c - the collector of NVIDIA: CUDA (cuda.c), and counters of GPUs, by NVML and by their
 * hardware (pm.c)
 *
 * Runs in:  the recorder's main thread; samplers have their own
 * Gets:     on or off, how often   Gives: devices, notes, and rows (collect/counters.h)
 * Owns:     the library
 * Fails:    -ENOENT, -ENODEV where there is no driver; a value that is not there is absent
 * Why by request: what NVML costs on a machine with GPUs was not measured yet; nvmlInit alone wakes GPUs that nobody keeps
 *           awake, which takes seconds.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "collect/collector.h"
#include "collect/counters.h"
#include "collect/devices.h"
#include "collect/nvidia/cpu_side.h"
#include "collect/nvidia/cuda.h"
#include "collect/nvidia/holders.h"
#include "collect/nvidia/nvidia.h"
#include "collect/nvidia/pm.h"
#include "collect/proc.h"

static const struct collector_option collector_options[] = {
	{"HZ", "so many readings a second, 1 to 100; otherwise 10; of counters alone"},
	{"cuda", "CUDA's calls, kernels, copies and graphs alone, without counters"},
	{"-cuda", "counters alone, without CUDA"},
	{"graphs",
	 "CUDA, with each launch of a graph as one command; otherwise each of its nodes is one"},
	{"latency",
	 "CUDA, with the times when each kernel was queued and submitted, which costs each launch "
	 "some time"},
	{"waits", "CUDA, with what the host and streams wait for as CUPTI tells it, as ranges"},
	{"pc",
	 "CUDA, with samples of what its kernels execute and why they wait, 20 ms of each second"},
	{"pc=WINDOW/PERIOD", "… so many ms of each so many ms: pc=20/1000"},
	{"pc-exact",
	 "… with kernels that run one after the other, so that each sample is one launch's"},
	{"idle", "CUDA's guest in the program with CUPTI, and nothing switched on: for who "
		 "measures what that "
		 "costs; nothing is recorded"},
	{"idle-subscribed", "… once it has subscribed to CUPTI's callbacks, none of which is on"},
	{"pm", "what the hardware of each GPU counts, 1000 times a second, without the others"},
	{"pm=HZ", "… so often, 10 to 200000 times a second (pm=10kHz)"},
	{NULL, NULL},
};

static const struct collector_rate rate = {
	.offset = offsetof(struct session_options, nvidia_hz), .usual_hz = 10, .most_hz = 100};

enum { PC_PERIOD_MOST_MS = 3600000 };

static const char memory_taken[] =
	"sampling of instructions takes 512 MiB of the GPU's memory, by CUPTI's documentation, for "
	"each context of CUDA: a program that fills its GPU may find too little left";

/* ---- what is noted ----------------------------------------------------------------------------- */

static void note(struct recording *recording, enum event_collector_state state, const char *text)
{
	recording_note(recording, "nvidia", state, 0, text);
}

static void note_holders(struct recording *recording)
{
	struct holder holders[HOLDERS_MOST];
	size_t count = holders_find("", false, holders);
	char text[1024] = "beside this recording: ";

	if (!count)
		return;
	holders_format(holders, count, text + strlen(text), sizeof(text) - strlen(text));
	note(recording, COLLECTOR_AVAILABLE, text);
}

static void note_device(struct recording *recording, const struct nvidia *nvidia, size_t index)
{
	const struct nvidia_device *device = &nvidia->devices[index];
	struct nvml_gpm_support support = {.version = NVML_GPM_SUPPORT_VERSION};
	char text[512];

	if (device->has_instances)
		snprintf(text, sizeof(text),
			 "%s (%s) is divided by MIG: what its instances do is counted for each of "
			 "them",
			 device->name, device->uuid);
	else if (!device->whole &&
		 (NVML_CALL(&nvidia->nvml, nvmlGpmQueryDeviceSupport, device->handle, &support) ||
		  !support.is_supported))
		snprintf(text, sizeof(text),
			 "%s (%s) has no GPM, which came with Hopper: what its multiprocessors do "
			 "is not "
			 "counted",
			 device->name, device->uuid);
	else
		return;
	note(recording, COLLECTOR_AVAILABLE, text);
}

/* Whatever else of the collector is refused, this is recorded. */
static void note_counted(struct recording *recording, uint32_t hz)
{
	char text[64];

	snprintf(text, sizeof(text), "counters of NVML, %u times a second", (unsigned int)hz);
	note(recording, COLLECTOR_AVAILABLE, text);
}

/* ---- begin and end ----------------------------------------------------------------------------- */

static int find_devices(struct recording *recording, struct nvidia *nvidia)
{
	nvmlReturn_t result;
	char driver[NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE] = "";

	nvidia->count = nvidia_devices_find(&nvidia->nvml, nvidia->devices, &result);
	if (result && nvidia->count)
		note(recording, COLLECTOR_PARTIAL, nvml_result_text(result));
	if (!nvidia->count)
		return error_set(-ENODEV, "NVML shows no GPU: %s",
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
						   .memory_bytes = device->memory_bytes};

		nvidia->ids[i] = devices_meet(recording, &facts);
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
	struct nvidia *nvidia = session->nvidia_hz ? calloc(1, sizeof(*nvidia)) : NULL;
	const struct counters_options options = {.collector = "nvidia",
						 .sources = &nvidia_sources,
						 .names = {[GROUP_MACHINE] = "nvml",
							   [GROUP_PROCESSES] = "nvml-processes",
							   [GROUP_SLOW] = "nvml-slow"},
						 .hz = session->nvidia_hz,
						 .context = nvidia,
						 .close_context = close_nvidia,
						 .root = "",
						 .has_processes =
							 session->command || session->pids_count,
						 .has_others = session->cpu};
	int error;

	if (!session->nvidia_hz)
		return 0;
	if (!nvidia)
		return error_set(-ENOMEM, "counters: out of memory");
	error = open_nvidia(recording, nvidia);
	if (error)
		close_nvidia(nvidia);
	else
		error = counters_open(recording, &options, ret_counters);
	if (!error)
		note_counted(recording, session->nvidia_hz);
	return error;
}

/* ---- both kinds of counters -------------------------------------------------------------------- */

struct both {
	struct counters *counters; /* NULL each: it was not chosen, or is not there */
	struct pm *pm;
	struct cpu_side *side;
	struct recording *recording; /* borrowed */
};

static void close_both(void *state)
{
	struct both *both = state;

	if (!both)
		return;
	/* The hardware's first: its clocks are let go the sooner. */
	pm_close(both->pm);
	counters_close(both->counters);
	both->recording->on_refused = NULL;
	cpu_side_close(both->side);
	free(both);
}

/* The one that fails is told, where the other is there. */
static int open_each(struct recording *recording, const struct session_options *session,
		     struct both *both)
{
	int counters_error = open_counters(recording, session, &both->counters), error = 0;
	char text[512];

	snprintf(text, sizeof(text), "%s", counters_error ? error_text() : "");
	if (session->nvidia_pm_hz)
		error = pm_open(recording, session->nvidia_pm_hz, &both->pm);
	if (error && both->counters)
		note(recording, COLLECTOR_REFUSED, error_text());
	if (error && both->counters)
		recording_warn(recording, error_text());
	if (counters_error && both->pm) {
		note(recording, COLLECTOR_REFUSED, text);
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

/* Where CUPTI will refuse itself is not known before. */
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
	struct both *both = NULL;
	int error;

	*ret_state = NULL;
	if (session->cuda_pc)
		recording_hint(recording, memory_taken);
	if (!session->nvidia_hz && !session->nvidia_pm_hz && !session->cuda)
		return 0;
	both = calloc(1, sizeof(*both));
	if (!both)
		return error_set(-ENOMEM, "counters: out of memory");
	both->recording = recording;
	error = session->nvidia_hz || session->nvidia_pm_hz ? open_each(recording, session, both)
							    : 0;
	if (error && (!session->cuda || !session->cuda_guest)) {
		free(both);
		return error;
	}
	/* CUDA is recorded all the same. */
	if (error) {
		note(recording, COLLECTOR_REFUSED, error_text());
		recording_warn(recording, error_text());
		error_clear();
	}
	if (session->cuda && !session->cuda_idle)
		open_side(recording, session->native_stacks, both);
	*ret_state = both;
	return 0;
}

static int watch_both(void *state, pid_t pid)
{
	const struct both *both = state;

	return both->counters ? counters_watch(both->counters, pid) : 0;
}

static int attach_both(void *state, pid_t pid, int pid_fd)
{
	const struct both *both = state;

	if (both->side && cuda_is_without_cupti(pid))
		cpu_side_watch(both->side, (uint32_t)pid);
	return both->counters ? counters_attach(both->counters, pid, pid_fd) : 0;
}

static uint64_t interval_of_both(const void *state)
{
	const struct both *both = state;
	const bool is_idle =
		!both->counters && !both->pm && !(both->side && cpu_side_is_on(both->side));

	return is_idle ? UINT64_C(1000000000) : counters_interval_ns(NULL);
}

static void drain_both(void *state)
{
	const struct both *both = state;

	if (both->counters)
		counters_drain(both->counters);
	if (both->pm)
		pm_drain(both->pm);
	if (both->side)
		cpu_side_drain(both->side);
}

static void count_both(void *state, uint64_t now_ns)
{
	const struct both *both = state;

	if (both->counters)
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
	.descriptor = counters_work_descriptor,
	.interval_ns = interval_of_both,
	.drain = drain_both,
	.catch_up = drain_both,
	.each_second = count_both,
	.close = close_both,
};

/* "pc=20/1000". */
static bool read_windows(const char *option, uint32_t *ret_window_ms, uint32_t *ret_period_ms)
{
	unsigned int window, period;
	int length = 0;

	if (sscanf(option, "pc=%6u/%7u%n", &window, &period, &length) != 2 || option[length] ||
	    option[3] < '0' || option[3] > '9' || !window || window > period ||
	    period > PC_PERIOD_MOST_MS)
		return false;
	*ret_window_ms = window;
	*ret_period_ms = period;
	return true;
}

/* With values, and what a file says by a switch that is off. */
static bool has_option(const char *option)
{
	uint32_t window, period;

	return strcmp(option, "-cuda") == 0 || strcmp(option, "-graphs") == 0 ||
	       strcmp(option, "-latency") == 0 || strcmp(option, "-waits") == 0 ||
	       strcmp(option, "-idle") == 0 || strcmp(option, "-idle-subscribed") == 0 ||
	       strcmp(option, "-pc") == 0 || strcmp(option, "-pc-exact") == 0 ||
	       read_windows(option, &window, &period);
}

static void choose_pc(struct session_options *session, const char *option)
{
	session->cuda_pc = true;
	if (strcmp(option, "pc-exact") == 0)
		session->cuda_pc_exact = true;
	else
		read_windows(option, &session->cuda_pc_window_ms, &session->cuda_pc_period_ms);
}

/* False: it is none that switches something off. */
static bool choose_off(struct session_options *session, const char *option)
{
	if (strcmp(option, "-graphs") == 0)
		session->cuda_graphs = false;
	else if (strcmp(option, "-cuda") == 0)
		session->cuda = false;
	else if (strcmp(option, "-latency") == 0)
		session->cuda_latency = false;
	else if (strcmp(option, "-waits") == 0)
		session->cuda_waits = false;
	else if (strcmp(option, "-pc") == 0)
		session->cuda_pc = session->cuda_pc_exact = false;
	else if (strcmp(option, "-pc-exact") == 0)
		session->cuda_pc_exact = false;
	else if (strcmp(option, "-idle") == 0)
		session->cuda_idle = session->cuda_subscribed = false;
	else if (strcmp(option, "-idle-subscribed") == 0)
		session->cuda_subscribed = false;
	else
		return false;
	return true;
}

static int check_option(const char *option)
{
	uint32_t hz, window, period;

	if (strncmp(option, "pc=", 3) == 0 && !read_windows(option, &window, &period))
		return error_set(-EINVAL,
				 "'%s' makes no sense: it is pc=WINDOW/PERIOD, in ms, and a window "
				 "is as long as its period at most, and that an hour (pc=20/1000)",
				 option);
	return pm_option_read(option, &hz);
}

/* NAME: CUDA and NVML; NAME:cuda, NAME:HZ and NAME:pm: one of them, or those that are said. */
static void choose(struct session_options *session, bool on, const char *option)
{
	bool is_graphs = option && strcmp(option, "graphs") == 0;
	bool is_pc = option && strncmp(option, "pc", 2) == 0;
	bool is_latency = option && strcmp(option, "latency") == 0;
	bool is_waits = option && strcmp(option, "waits") == 0;
	bool is_idle = option && strncmp(option, "idle", 4) == 0;
	bool is_cuda = is_graphs || is_pc || is_latency || is_waits || is_idle ||
		       (option && strcmp(option, "cuda") == 0);
	bool is_pm = on && option && !pm_option_read(option, &session->nvidia_pm_hz);

	if (!on)
		session->nvidia_pm_hz = 0;
	if (on && option && choose_off(session, option))
		return;
	session->cuda_graphs = on && (session->cuda_graphs || is_graphs);
	session->cuda_latency = on && (session->cuda_latency || is_latency);
	session->cuda_waits = on && (session->cuda_waits || is_waits);
	session->cuda_idle = on && (session->cuda_idle || is_idle);
	session->cuda_subscribed = on && (session->cuda_subscribed ||
					  (is_idle && strcmp(option, "idle-subscribed") == 0));
	session->cuda_said = on && (session->cuda_said || (is_cuda && !is_idle));
	session->cuda_pc = on && session->cuda_pc;
	session->cuda_pc_exact = on && session->cuda_pc_exact;
	if (on && is_pc)
		choose_pc(session, option);
	if (!on || !option)
		session->cuda = session->nvidia_hz_said = on;
	else if (is_cuda)
		session->cuda = true;
	else if (!is_pm)
		session->nvidia_hz_said = true;
	if ((is_cuda || is_pm) && !session->nvidia_hz_said)
		session->nvidia_hz = 0;
}

static int settle(struct session_options *session, bool is_named)
{
	(void)is_named;
	if (session->cuda_idle && session->cuda_said)
		return error_set(
			-EINVAL,
			"nvidia:idle and nvidia:idle-subscribed record nothing of CUDA: leave "
			"them out, or what is to be recorded of it (nvidia:cuda, "
			"nvidia:graphs, nvidia:latency, nvidia:waits, nvidia:pc)");
	return 0;
}

static bool is_chosen(const struct session_options *session)
{
	return session->cuda || session->nvidia_hz || session->nvidia_pm_hz;
}

extern const struct collector nvidia_collector;
const struct collector nvidia_collector = {
	.name = "nvidia",
	.help = "CUDA: every kernel, copy and graph with its device times, by CUPTI; counters of "
		"NVIDIA's GPUs: load, power, clocks, memory, links, since Hopper what their "
		"multiprocessors do; and, by request, what their hardware counts (pm)",
	.guest = "cuda",
	.runtime = "CUDA",
	.ring_bytes = CUDA_RING_BYTES,
	.explain = cuda_explain,
	.sources = &nvidia_sources,
	.options = collector_options,
	.rate = &rate,
	.by_request = true,
	.has_option = has_option,
	.check_option = check_option,
	.choose = choose,
	.is_chosen = is_chosen,
	.settle = settle,
	.arm = cuda_arm,
	.enter = cuda_enter,
	.entered = cuda_entered,
	.tell_missing = cuda_tell_missing,
	.work = &work,
};
