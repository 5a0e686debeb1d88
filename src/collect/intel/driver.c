/* SPDX-License-Identifier: MIT
 *
 * collect/intel/driver.c - reads submissions to Intel GPUs from the kernel drivers, by BPF programs
 *
 * Runs in:  the recorder
 * Gets:     records of src/bpf/xe.bpf.c and i915.bpf.c
 * Gives:    rows (launches.c)
 * Owns:     the loaded BPF programs
 * Fails:    with a note of what is missing and how to enable it
 * Why:      depending on the kernel, a driver's functions can be traced with their types (fentry),
 *           by name (kprobe), or not at all; in the last case system calls remain. The next way is
 *           tried if the previous one sees no submissions. Each try loads the BPF programs once
 *           more.
 */
#include "collect/intel/driver.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/error.h"
#include "bpf/objects.h"
#include "bpf/submit/functions.h"
#include "collect/host_clocks.h"
#include "collect/intel/generation.h"
#include "collect/intel/gpu_node.h"
#include "collect/intel/launches.h"
#include "collect/kernel/program_load.h"
#include "collect/kernel/ring.h"

enum {
	STACKS_A_ROUND = 64,
	RING_USUAL_BYTES = 16 << 20,
	DRM_MAJOR = 226,
	KERNEL_MINOR_BITS = 20 /* as in the kernel's own device numbers */
};
/* Max wait until the programs are loaded. A load takes some 100 ms; an emulated machine needs
 * seconds. */
#define READY_MAX_NS UINT64_C(10000000000)
/* The same for a trial, when no program waits. */
#define TRIAL_MAX_NS UINT64_C(60000000000)

/* The BPF programs of one way to see submissions; the first one reports them. */
struct level {
	const char *name;
	const struct kernel_program *programs;
	size_t count;
};

/* Not formatted, because clang-format breaks lists in a macro at each brace. */
/* clang-format off */
#define TYPED(name, function, number, lacks) \
	{#name "_enter", NULL, NULL}, {#name "_exit", NULL, lacks},
#define TYPED_BEGIN(name, function, does) {#name, NULL, NULL},
#define BY_TYPES(functions) { \
	{"exec_exit", NULL, NULL}, {"exec_enter", NULL, NULL}, functions(TYPED, TYPED_BEGIN) \
	{"file_close", NULL, NULL}, {"mmap_enter", NULL, NULL}, {"mmap_exit", NULL, LACKS_KERNELS}, \
	{"again", NULL, NULL}, {"on_exit", NULL, NULL}}

#define NAMED(name, function, number, lacks) \
	{"probe_" #name, NULL, NULL}, {"return_" #name, NULL, lacks},
#define NAMED_BEGIN(name, function, does) {"probe_" #name, NULL, NULL},
#define BY_NAMES(functions) { \
	{"return_exec", NULL, NULL}, {"probe_exec", NULL, NULL}, functions(NAMED, NAMED_BEGIN) \
	{"probe_file_close", NULL, NULL}, {"probe_mmap", NULL, NULL}, \
	{"return_mmap", NULL, LACKS_KERNELS}, {"probe_again", NULL, NULL}, {"on_exit", NULL, NULL}}

#define LEVELS(types, names) { \
	{"its functions' types", types, ARRAY_COUNT(types)}, \
	{"its functions' names", names, ARRAY_COUNT(names)}, \
	{"drm_ioctl", way_in, ARRAY_COUNT(way_in)}, \
	{"system calls", system_calls, ARRAY_COUNT(system_calls)}}
/* clang-format on */

static const struct kernel_program xe_types[] = BY_TYPES(XE_FUNCTIONS);
static const struct kernel_program xe_names[] = BY_NAMES(XE_FUNCTIONS);
static const struct kernel_program i915_types[] = BY_TYPES(I915_FUNCTIONS);
static const struct kernel_program i915_names[] = BY_NAMES(I915_FUNCTIONS);

/* The next two are for both drivers. */
static const struct kernel_program way_in[] = {
	{"way_exit", NULL, NULL},      {"way_enter", NULL, NULL},
	{"probe_mmap", NULL, NULL},    {"return_mmap", NULL, LACKS_KERNELS},
	{"probe_release", NULL, NULL}, {"probe_release_noglobal", NULL, NULL},
	{"on_exit", NULL, NULL},
};
/* Used only with intel:syscalls. */
static const struct kernel_program system_calls[] = {
	{"call_exit", NULL, NULL},
	{"call_enter", NULL, NULL},
	{"call_exec", NULL, NULL},
	{"on_exit", NULL, NULL},
};

enum { LEVELS_COUNT = 4 };

struct kind {
	const char *driver, *function;
	const unsigned char *elf;
	const size_t *elf_bytes;
	struct level levels[LEVELS_COUNT];
};

static const struct kind kinds[] = {
	{"xe", "xe_exec_ioctl", bpf_xe, &bpf_xe_size, LEVELS(xe_types, xe_names)},
	{"i915", "i915_gem_execbuffer2_ioctl", bpf_i915, &bpf_i915_size,
	 LEVELS(i915_types, i915_names)},
};

/* The BPF programs for one driver. */
struct tracer {
	struct driver *owner;
	const struct kind *kind; /* NULL: the machine has no GPU with it */
	size_t level;
	struct kernel_load *load; /* owned; NULL: the load failed */
	bool is_ready;
	struct launches *launches; /* owned */
	uint64_t reported_lost, reported_unseen, reported_no_memory;
};

struct driver {
	struct recording *recording; /* borrowed */
	uint32_t ring_bytes;
	bool may_see_calls; /* system calls may be traced */
	uint64_t begin_ns;
	struct launch_gpu gpus[MAX_SUBMIT_MINORS];
	struct tracer tracers[ARRAY_COUNT(kinds)];
};

/* ---- GPUs ------------------------------------------------------------------------------------ */

static void look_at_gpu(int minor, struct launch_gpu *gpu)
{
	struct gpu_node node;

	if (!gpu_node_open(minor, &node))
		return;
	for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
		if (strcmp(node.driver, kinds[i].driver) != 0)
			continue;
		snprintf(gpu->driver, sizeof(gpu->driver), "%s", node.driver);
		snprintf(gpu->address, sizeof(gpu->address), "%s", node.address);
		gpu->generation = generation_of(&node);
	}
	gpu_node_close(&node);
}

static bool has_gpu(const struct driver *driver, const char *name)
{
	for (int minor = GPU_NODE_FIRST; minor <= GPU_NODE_LAST; minor++)
		if (strcmp(driver->gpus[minor].driver, name) == 0)
			return true;
	return false;
}

/* ---- user stacks ----------------------------------------------------------------------------- */

/* Lets the BPF program report a stack again. It reports each stack once. */
static void on_forgotten(void *context, uint64_t user_stack)
{
	const struct tracer *tracer = context;

	if (tracer->is_ready)
		kernel_load_remove(tracer->load, "sent_stacks", &user_stack);
}

/* ---- loading --------------------------------------------------------------------------------- */

static void on_record(void *context, const void *record, size_t size)
{
	launches_take(((struct tracer *)context)->launches, record, size);
}

/* Adds the device numbers of a GPU's render node and card. */
static void put_nodes(const struct kernel_object *object, uint32_t minor)
{
	char path[64], *render, *card;
	const uint32_t value = minor + 1;
	uint32_t device;

	snprintf(path, sizeof(path), "/sys/dev/char/%d:%u/device", DRM_MAJOR, minor);
	render = realpath(path, NULL);
	for (uint32_t each = 0; each < GPU_NODE_FIRST && render; each++) {
		snprintf(path, sizeof(path), "/sys/dev/char/%d:%u/device", DRM_MAJOR, each);
		card = realpath(path, NULL);
		device = DRM_MAJOR << KERNEL_MINOR_BITS | each;
		if (card && strcmp(card, render) == 0)
			kernel_object_put(object, "nodes", &device, &value);
		free(card);
	}
	free(render);
	device = DRM_MAJOR << KERNEL_MINOR_BITS | minor;
	kernel_object_put(object, "nodes", &device, &value);
}

/* Runs in the loading thread, which has the right to write into maps. */
static void on_loaded(void *context, const struct kernel_object *object)
{
	const struct tracer *tracer = context;

	for (uint32_t minor = 0; minor < MAX_SUBMIT_MINORS; minor++) {
		const struct launch_gpu *gpu = &tracer->owner->gpus[minor];

		kernel_object_put(object, "generations", &minor, &gpu->generation);
		if (strcmp(gpu->driver, tracer->kind->driver) == 0)
			put_nodes(object, minor);
	}
}

static int start_load(struct tracer *tracer)
{
	const struct level *level = &tracer->kind->levels[tracer->level];
	const struct kernel_load_options options = {
		.object = {.name = tracer->kind->driver,
			   .elf = tracer->kind->elf,
			   .elf_bytes = *tracer->kind->elf_bytes,
			   .programs = level->programs,
			   .programs_count = level->count,
			   .looks_first = true,
			   .ring_bytes = tracer->owner->ring_bytes},
		.on_record = on_record,
		.on_loaded = on_loaded,
		.context = tracer};

	return kernel_load_start(&options, &tracer->load);
}

static void put_note(const struct driver *driver, uint32_t state, const char *text)
{
	recording_note(driver->recording, "intel", state, 0, text);
}

static void note_refused(const struct tracer *tracer, const char *reason)
{
	char text[PATH_MAX + 900];

	snprintf(text, sizeof(text), "submissions to GPUs of %s are not recorded: %s%s",
		 tracer->kind->driver, reason,
		 tracer->owner->may_see_calls ? ""
					      : "; or record with --collect intel:syscalls, which "
						"slows down each system call of the machine");
	put_note(tracer->owner, COLLECTOR_PARTIAL, text);
	recording_hint(tracer->owner->recording, text);
}

static void stop_load(struct tracer *tracer)
{
	kernel_load_stop(tracer->load);
	tracer->load = NULL;
	tracer->is_ready = false;
}

static size_t levels_of(const struct tracer *tracer)
{
	return LEVELS_COUNT - !tracer->owner->may_see_calls;
}

/* False: there is no other way, or it cannot be started. */
static bool try_next(struct tracer *tracer)
{
	stop_load(tracer);
	if (tracer->level + 1 >= levels_of(tracer))
		return false;
	tracer->level++;
	if (start_load(tracer) == 0)
		return true;
	error_clear();
	return false;
}

/* Writes "kernels of … are not recorded: the kernel …". False: nothing is missing. */
static bool say_missing(const struct tracer *tracer, char *ret_text, size_t size)
{
	size_t count;
	const struct kernel_program_report *reports = kernel_load_reports(tracer->load, &count);

	for (size_t i = 0; i < count; i++) {
		if (reports[i].state == KERNEL_PROGRAM_RUNS || !reports[i].lacks)
			continue;
		snprintf(ret_text, size, "%s are not recorded: the kernel %s%s%s", reports[i].lacks,
			 reports[i].state == KERNEL_PROGRAM_ABSENT ? "has no attach point for them"
								   : "refused the BPF program",
			 reports[i].reason[0] ? ": " : "", reports[i].reason);
		return true;
	}
	return false;
}

static void note_missing(const struct tracer *tracer)
{
	char what[500], text[600];

	if (!say_missing(tracer, what, sizeof(what)))
		return;
	snprintf(text, sizeof(text), "%s: %s", tracer->kind->driver, what);
	put_note(tracer->owner, COLLECTOR_PARTIAL, text);
}

/* Notes the time that the load took: GPU buffers that were bound before are unknown. */
static void note_blind(const struct tracer *tracer)
{
	char text[400];

	snprintf(text, sizeof(text),
		 "submissions to GPUs of %s are recorded from %.1f ms on, through %s. Kernels in "
		 "buffers that were bound earlier are missing%s",
		 tracer->kind->driver,
		 (double)(host_clocks_now_ns() - tracer->owner->begin_ns) / 1e6,
		 tracer->kind->levels[tracer->level].name,
		 tracer->kind->levels[tracer->level].programs == system_calls
			 ? "; meanwhile each system call of the machine takes some 0.1 us longer"
			 : "");
	put_note(tracer->owner, COLLECTOR_AVAILABLE, text);
}

/* *ret_why: if REFUSED, the reason why the current way does not work. */
static enum kernel_load_state state_of(const struct tracer *tracer, char *ret_why, size_t size)
{
	const char *reason;
	const enum kernel_load_state state = kernel_load_state(tracer->load, &reason);
	const struct kernel_program_report *reports;
	size_t count;

	snprintf(ret_why, size, "%s", reason);
	if (state != KERNEL_LOAD_READY)
		return state;
	reports = kernel_load_reports(tracer->load, &count);
	if (reports[0].state == KERNEL_PROGRAM_RUNS)
		return KERNEL_LOAD_READY;
	snprintf(ret_why, size, "%s",
		 reports[0].reason[0] ? reports[0].reason
				      : "the kernel has no attach point for it");
	return KERNEL_LOAD_REFUSED;
}

static void look_whether_ready(struct tracer *tracer)
{
	char why[KERNEL_REASON_BYTES + PATH_MAX];

	switch (state_of(tracer, why, sizeof(why))) {
	case KERNEL_LOAD_GOES_ON:
		return;
	case KERNEL_LOAD_REFUSED:
		if (!try_next(tracer))
			note_refused(tracer, why);
		return;
	case KERNEL_LOAD_READY:
		tracer->is_ready = true;
		note_missing(tracer);
		note_blind(tracer);
	}
}

/* ---- the recording --------------------------------------------------------------------------- */

static int open_tracer(struct driver *driver, size_t index, bool is_timed)
{
	struct tracer *tracer = &driver->tracers[index];

	if (!has_gpu(driver, kinds[index].driver))
		return 0;
	tracer->owner = driver;
	tracer->kind = &kinds[index];
	tracer->launches =
		launches_new(driver->recording, kinds[index].function, driver->gpus, is_timed);
	if (!tracer->launches)
		return error_set(-ENOMEM, "submissions to GPUs: out of memory");
	launches_on_forgotten(tracer->launches, on_forgotten, tracer);
	return start_load(tracer);
}

static void catch_up(void *context)
{
	driver_drain(context);
}

static void settle_launches(void *context)
{
	const struct driver *driver = context;

	for (size_t i = 0; i < ARRAY_COUNT(driver->tracers); i++)
		if (driver->tracers[i].launches)
			launches_settle(driver->tracers[i].launches);
}

static bool is_coming(const struct tracer *tracer)
{
	return tracer->load && !tracer->is_ready;
}

/* Waits for the load, because code that a program binds before it is unknown in its later
 * submissions. */
static void wait_ready(struct driver *driver)
{
	static const struct timespec nap = {.tv_nsec = 1000000};
	const uint64_t end_ns = host_clocks_now_ns() + READY_MAX_NS;
	bool is_waiting = true;

	while (is_waiting && host_clocks_now_ns() < end_ns) {
		is_waiting = false;
		for (size_t i = 0; i < ARRAY_COUNT(driver->tracers); i++) {
			if (is_coming(&driver->tracers[i]))
				look_whether_ready(&driver->tracers[i]);
			is_waiting |= is_coming(&driver->tracers[i]);
		}
		if (is_waiting)
			nanosleep(&nap, NULL);
	}
}

/* Waits for the load of the current way. */
static enum kernel_load_state try_way(const struct tracer *tracer, char *ret_why, size_t size)
{
	static const struct timespec nap = {.tv_nsec = 1000000};
	const uint64_t end_ns = host_clocks_now_ns() + TRIAL_MAX_NS;
	enum kernel_load_state state;

	while ((state = state_of(tracer, ret_why, size)) == KERNEL_LOAD_GOES_ON &&
	       host_clocks_now_ns() < end_ns)
		nanosleep(&nap, NULL);
	return state;
}

/* Tries all ways. tracer: its load runs, or has ended. */
static enum kernel_load_state try_ways(struct tracer *tracer, char *ret_text, size_t size)
{
	enum kernel_load_state state;
	char missing[500] = "";

	do
		state = try_way(tracer, ret_text, size);
	while (state == KERNEL_LOAD_REFUSED && try_next(tracer));
	if (state == KERNEL_LOAD_READY)
		snprintf(ret_text, size, "%s%s%s", tracer->kind->levels[tracer->level].name,
			 say_missing(tracer, missing, sizeof(missing)) ? "; " : "", missing);
	return state;
}

bool driver_try(const char *name, char *ret_text, size_t size)
{
	struct driver *driver = calloc(1, sizeof(*driver));
	struct tracer *tracer = driver ? &driver->tracers[0] : NULL;
	enum kernel_load_state state = KERNEL_LOAD_REFUSED;

	snprintf(ret_text, size, driver ? "duet does not support this driver" : "out of memory");
	for (size_t i = 0; driver && i < ARRAY_COUNT(kinds); i++)
		if (strcmp(kinds[i].driver, name) == 0)
			tracer->kind = &kinds[i];
	if (driver && tracer->kind) {
		tracer->owner = driver;
		if (start_load(tracer) == 0) {
			state = try_ways(tracer, ret_text, size);
		} else {
			snprintf(ret_text, size, "%s", error_text());
			error_clear();
		}
	}
	if (state == KERNEL_LOAD_GOES_ON) {
		/* the thread continues and keeps what it uses */
		snprintf(ret_text, size,
			 "the kernel had not verified the BPF programs after a minute");
		return false;
	}
	if (driver)
		stop_load(tracer);
	free(driver);
	return state == KERNEL_LOAD_READY;
}

int driver_open(struct recording *recording, const struct driver_options *options,
		struct driver **ret_driver)
{
	struct driver *driver = calloc(1, sizeof(*driver));
	bool has_any = false;
	int error = 0;

	if (!driver)
		return error_set(-ENOMEM, "submissions to GPUs: out of memory");
	driver->recording = recording;
	driver->ring_bytes = options->ring_bytes;
	driver->may_see_calls = options->may_see_calls;
	driver->begin_ns = host_clocks_now_ns();
	for (int minor = GPU_NODE_FIRST; minor <= GPU_NODE_LAST; minor++)
		look_at_gpu(minor, &driver->gpus[minor]);
	for (size_t i = 0; i < ARRAY_COUNT(kinds) && !error; i++) {
		error = open_tracer(driver, i, options->is_timed);
		has_any |= driver->tracers[i].kind != NULL;
	}
	if (!error && !has_any)
		error = error_set(-ENODEV, "no GPU of Intel's drivers xe and i915");
	if (error) {
		driver_close(driver);
		return error;
	}
	recording->submissions.catch_up = catch_up;
	recording->submissions.settle = settle_launches;
	recording->submissions.context = driver;
	if (options->waits)
		wait_ready(driver);
	*ret_driver = driver;
	return 0;
}

static void allow_stacks(const struct tracer *tracer)
{
	const uint32_t key = 0;
	const int64_t value = STACKS_A_ROUND;

	kernel_load_put(tracer->load, "allowance", &key, &value);
}

/* Whether there is more. */
static bool drain(struct driver *driver)
{
	const uint64_t begin_ns = host_clocks_now_ns();
	bool is_more = false;

	for (size_t i = 0; i < ARRAY_COUNT(driver->tracers); i++) {
		struct tracer *tracer = &driver->tracers[i];

		if (is_coming(tracer))
			look_whether_ready(tracer);
		if (!tracer->is_ready)
			continue;
		is_more |= kernel_load_drain(tracer->load);
		allow_stacks(tracer);
	}
	if (!is_more)
		driver->recording->driver_calls.read_ns = begin_ns;
	return is_more;
}

void driver_drain(struct driver *driver)
{
	drain(driver);
}

/* Reads all of the kernel's ring once. Submissions that come later are after the end of the
 * recording. */
static void drain_all(struct driver *driver)
{
	const uint32_t bytes = driver->ring_bytes ? driver->ring_bytes : RING_USUAL_BYTES;
	/* bytes of one record at least: the ring's own header and the smallest record */
	const uint32_t records = bytes / (8 + sizeof(struct kernel_head));
	bool is_more = true;

	for (uint32_t i = 0; is_more && i <= records / KERNEL_RING_RECORDS; i++) {
		is_more = drain(driver);
		settle_launches(driver);
	}
}

/* Number of submissions that the BPF programs could not report. */
static uint64_t count_unseen(const struct tracer *tracer)
{
	return kernel_load_counted(tracer->load, SUBMIT_COUNT_CALLS) +
	       kernel_load_counted(tracer->load, SUBMIT_COUNT_BUSY);
}

static void put_lost(struct tracer *tracer, uint64_t now_ns)
{
	struct recording *recording = tracer->owner->recording;

	if (kernel_load_lost(tracer->load) > tracer->reported_lost)
		launches_lost(tracer->launches, now_ns);
	recording_lose_more(recording, EVENT_LAUNCH, LOSS_RING_FULL, now_ns, now_ns,
			    kernel_load_lost(tracer->load), &tracer->reported_lost);
	recording_lose_more(recording, EVENT_LAUNCH, LOSS_TRACKING, now_ns, now_ns,
			    count_unseen(tracer), &tracer->reported_unseen);
	recording_lose_more(recording, EVENT_LAUNCH, LOSS_TRACKING, now_ns, now_ns,
			    launches_counted(tracer->launches)->no_memory,
			    &tracer->reported_no_memory);
}

void driver_each_second(struct driver *driver, uint64_t now_ns)
{
	for (size_t i = 0; i < ARRAY_COUNT(driver->tracers); i++) {
		if (driver->tracers[i].is_ready)
			put_lost(&driver->tracers[i], now_ns);
		if (driver->tracers[i].launches)
			launches_each_second(driver->tracers[i].launches, now_ns);
	}
}

static void note_counts(const struct tracer *tracer)
{
	const struct launches_counts *counts = launches_counted(tracer->launches);
	/* is_whole: not a loss, because it was refused or another source records it */
	const struct {
		uint64_t count;
		bool is_whole;
		const char *what;
	} parts[] = {
		{counts->has_runtime, true,
		 "submissions left out, because a runtime of their process is recorded"},
		{counts->incomplete, false, "batches that could not be read to the end"},
		{counts->looping, false, "batches that never end, as those of direct submission"},
		{counts->cut, false, "batches with more commands than are read, or with none"},
		{counts->beyond, false,
		 "submissions with more than 16 batches, of which 16 were read"},
		{counts->relative, false,
		 "kernels whose base address was set before the recording"},
		{counts->left_out, false,
		 "kernels above the limit of 256 per batch, 128 different ones, or 1,048,576 in "
		 "all"},
		{counts->no_memory, false,
		 "kernels left out because the recorder had reached its limit of memory "
		 "(--max-memory)"},
		{counts->forgotten, false,
		 "kernels ended early, because the records of their end may be lost"},
		{counts->unmatched, false, "batches whose end came after they were given up"},
		{counts->mismatched, false, "commands that do not fit the GPU's generation"},
		{counts->unresolved, false, "descriptors that could not be read"},
		{counts->too_deep, false, "calls nested deeper than three, not followed"},
		{counts->no_space, false,
		 "submissions of queues that were created before the recording"},
		{counts->no_generation, false,
		 "submissions to GPUs whose command format is not known"},
		{counts->stackless, false,
		 "submissions without a user's stack: too many new stacks at a time"},
		{counts->unkept, false,
		 "submissions without a user's stack: it was reported and could not be kept"},
		{counts->refused_stacks, false, "user stacks beyond 256 MiB of one user"},
		{counts->no_memory_stacks, false,
		 "user stacks left out because the recorder had reached its limit of memory "
		 "(--max-memory)"},
		{counts->malformed, false, "records that could not be decoded"},
		{kernel_load_counted(tracer->load, SUBMIT_COUNT_BINDINGS), false,
		 "bindings without room in the kernel's table"},
		{kernel_load_counted(tracer->load, SUBMIT_COUNT_STACKS), false,
		 "user stacks without room in the kernel's table"},
		{count_unseen(tracer), false, "submissions that could not be inspected"},
		{kernel_load_lost(tracer->load), false, "records lost because the ring was full"},
		{kernel_load_counted(tracer->load, SUBMIT_COUNT_MISSED), false,
		 "calls of the driver whose end was not seen"},
		{kernel_load_counted(tracer->load, SUBMIT_COUNT_VOIDED), false,
		 "address spaces whose contents had to be forgotten"},
		{kernel_load_missed(tracer->load), false,
		 "events dropped because the BPF program was running already"},
		{kernel_load_counted(tracer->load, SUBMIT_COUNT_FAILED), true,
		 "submissions that the driver refused: not launches"},
	};
	char text[3000];
	bool is_whole = true;
	size_t length;

	length =
		(size_t)snprintf(text, sizeof(text),
				 "%s: %" PRIu64 " submissions with %" PRIu64 " launches of kernels",
				 tracer->kind->driver, counts->submissions, counts->kernels);
	for (size_t i = 0; i < ARRAY_COUNT(parts) && length < sizeof(text); i++) {
		if (!parts[i].count)
			continue;
		is_whole &= parts[i].is_whole;
		length += (size_t)snprintf(text + length, sizeof(text) - length, "; %" PRIu64 " %s",
					   parts[i].count, parts[i].what);
	}
	put_note(tracer->owner, is_whole ? COLLECTOR_AVAILABLE : COLLECTOR_PARTIAL, text);
}

/* True: libbpf still works in the loading thread, which then keeps what it uses until the recorder
 * exits. */
static bool is_loading(const struct tracer *tracer)
{
	const char *reason;

	if (!tracer->load || kernel_load_state(tracer->load, &reason) != KERNEL_LOAD_GOES_ON)
		return false;
	note_refused(tracer, "the kernel had not loaded the BPF programs when the recording ended");
	return true;
}

void driver_close(struct driver *driver)
{
	bool is_busy = false;

	if (!driver)
		return;
	drain_all(driver);
	driver->recording->submissions.catch_up = NULL;
	driver->recording->submissions.settle = NULL;
	for (size_t i = 0; i < ARRAY_COUNT(driver->tracers); i++) {
		struct tracer *tracer = &driver->tracers[i];

		if (tracer->is_ready) {
			launches_end(tracer->launches);
			put_lost(tracer, host_clocks_now_ns());
			note_counts(tracer);
		}
		is_busy |= is_loading(tracer);
		kernel_load_stop(tracer->load);
		launches_free(tracer->launches);
	}
	if (!is_busy)
		free(driver);
}
