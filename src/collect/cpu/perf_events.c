/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/perf_events.c - finds the perf_event_attr variants that this kernel accepts
 *
 * Runs in:  the recorder
 * Gets:     the wanted source, frequency and stack size
 * Gives:    attributes that the kernel accepts
 * Owns:     nothing
 * Fails:    with the kernel's reason and a remedy
 * Why three events: records of switches, forks and mappings must not be lost when samples come
 *           faster than the recorder reads them, so these records have an event with a ring of its
 *           own. The other two sample running time and page faults. Page faults are sampled with a
 *           period (every PERF_FAULTS_PERIODth of a thread) and not with a frequency: with a
 *           frequency, the kernel's weights for the first samples of a thread are wrong by a factor
 *           of 100.
 */
#include "collect/cpu/perf_events.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/cpu/perf_rights.h"

/* Register numbers from <asm/perf_regs.h>. */
#if defined(__x86_64__)
enum { REGISTER_BP = 6, REGISTER_SP = 7, REGISTER_IP = 8 };
#elif defined(__aarch64__)
enum { REGISTER_BP = 29, REGISTER_SP = 31, REGISTER_IP = 32 };
#endif
enum { FORMAT_LOST = 1 << 4 /* PERF_FORMAT_LOST of newer headers */ };

int perf_event_start(const struct perf_event_attr *attribute, pid_t thread, int cpu)
{
	int fd =
		(int)syscall(SYS_perf_event_open, attribute, thread, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static struct perf_event_attr make_attribute(const struct perf_event_source *source)
{
	return (struct perf_event_attr){
		.type = source->type,
		.size = sizeof(struct perf_event_attr),
		.config = source->config,
		.config1 = source->config1,
		.config2 = source->config2,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD,
		.disabled = 1,
		.inherit = 1,
		.exclude_hv = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
}

static struct perf_event_attr make_life(const struct perf_event_source *source)
{
	struct perf_event_attr attribute = make_attribute(source);

	attribute.mmap = 1;
	attribute.mmap2 = 1;
	attribute.comm = 1;
	attribute.comm_exec = 1;
	attribute.task = 1;
	attribute.context_switch = 1;
	attribute.build_id = 1;
	return attribute;
}

static struct perf_event_attr make_stacks(const struct perf_rings_options *options,
					  const struct perf_event_source *source)
{
	struct perf_event_attr attribute = make_attribute(source);

	attribute.sample_type |=
		PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attribute.exclude_callchain_user = 1;
	attribute.sample_regs_user = UINT64_C(1) << REGISTER_BP | UINT64_C(1) << REGISTER_SP |
				     UINT64_C(1) << REGISTER_IP;
	attribute.sample_stack_user = options->stack_bytes;
	return attribute;
}

enum {
	SAMPLES_BYTES = 512 << 10,
	MAX_SAMPLES_BYTES = 16 << 20,
	BEHIND_PART = 10 /* a ring of samples is sized for 1/10 s without the recorder */
};
#define ALL_SAMPLES_BYTES ((uint64_t)256 << 20) /* limit for the sample rings of all processors */

uint32_t perf_events_ring_bytes(const struct perf_rings_options *options, int cpu_count)
{
	const uint64_t most = ALL_SAMPLES_BYTES / (uint64_t)cpu_count;
	const uint64_t wanted = (uint64_t)options->frequency_hz * (options->stack_bytes + 1024u) *
				(1 + options->faults) / BEHIND_PART;
	uint32_t bytes = SAMPLES_BYTES;

	while (bytes < wanted && bytes < MAX_SAMPLES_BYTES && bytes * (uint64_t)2 <= most)
		bytes *= 2;
	return bytes;
}

enum { WAKES_A_SECOND = 1000 };

bool perf_events_wake(const struct perf_rings_options *options)
{
	return options->frequency_hz <= WAKES_A_SECOND;
}

static struct perf_event_attr make_samples(const struct perf_rings_options *options,
					   const struct perf_event_source *source)
{
	struct perf_event_attr attribute = make_stacks(options, source);

	attribute.freq = 1;
	attribute.sample_freq = options->frequency_hz;
	attribute.wakeup_events = perf_events_wake(options);
	return attribute;
}

static const struct perf_event_source faults = {
	.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS, .name = "page-faults"};

/* With PERF_SAMPLE_PERIOD, the kernel would sample each occurrence of a software event. */
static struct perf_event_attr make_faults(const struct perf_rings_options *options)
{
	struct perf_event_attr attribute = make_stacks(options, &faults);

	attribute.sample_type &= ~(uint64_t)PERF_SAMPLE_PERIOD;
	attribute.sample_period = PERF_FAULTS_PERIOD;
	return attribute;
}

/* Whether the kernel accepts the attribute: opens it for the calling thread and closes it. */
static int try_attribute(const struct perf_event_attr *attribute)
{
	int fd = perf_event_start(attribute, 0, -1);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

/* Drops features until the kernel accepts the attribute: samples inside the kernel (needs rights),
 * build ids in PERF_RECORD_MMAP2 (Linux 5.12), a counter of lost records (6.0). Without that
 * counter, losses are known only from PERF_RECORD_LOST, which needs room in the ring. */
static int negotiate(struct perf_event_attr *attribute)
{
	struct perf_event_attr tried = *attribute;
	int error = -EINVAL;

	for (unsigned int variant = 0; variant < 8 && error; variant++) {
		tried.build_id = attribute->build_id && !(variant & 2);
		tried.exclude_kernel = variant & 1;
		tried.read_format = variant & 4 ? 0 : FORMAT_LOST;
		error = try_attribute(&tried);
		if (error == -EPERM || error == -ENOSYS || error == -ENOENT)
			break;
	}
	if (!error)
		*attribute = tried;
	return error;
}

static const struct perf_event_source cycles = {
	.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES, .name = "cycles"};
static const struct perf_event_source cpu_clock = {
	.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .name = "cpu-clock"};
static const struct perf_event_source dummy = {
	.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .name = "dummy"};
struct perf_event_attr perf_events_owner(uint32_t wakeup_bytes)
{
	struct perf_event_attr attribute = make_attribute(&dummy);

	attribute.inherit = 0;
	attribute.exclude_kernel = 1;
	attribute.watermark = 1;
	attribute.wakeup_watermark = wakeup_bytes;
	return attribute;
}

static int find_samples(const struct perf_rings_options *options, struct perf_event_attr *samples,
			struct perf_event_source *ret_source)
{
	const struct perf_event_source *source =
		options->source.name[0] ? &options->source : &cycles;
	int error;

	*samples = make_samples(options, source);
	error = negotiate(samples);
	if (error && !options->source.name[0]) {
		source = &cpu_clock;
		*samples = make_samples(options, source);
		error = negotiate(samples);
	}
	if (!error)
		*ret_source = *source;
	return error;
}

int perf_events_find(const struct perf_rings_options *options, struct perf_events *ret_events,
		     struct perf_rings_state *ret_state)
{
	struct perf_events events = {.has = {[PERF_EVENT_LIFE] = true}};
	struct perf_event_attr *life = &events.attributes[PERF_EVENT_LIFE];
	struct perf_event_attr *samples = &events.attributes[PERF_EVENT_SAMPLES];
	struct perf_event_source source = dummy;
	int error;

	*life = make_life(&dummy);
	error = negotiate(life);
	if (!error && options->frequency_hz) {
		events.has[PERF_EVENT_SAMPLES] = true;
		error = find_samples(options, samples, &source);
	}
	if (error)
		return perf_refused(error);
	if (options->frequency_hz && options->faults && strcmp(source.name, faults.name) != 0) {
		events.attributes[PERF_EVENT_FAULTS] = make_faults(options);
		events.has[PERF_EVENT_FAULTS] =
			negotiate(&events.attributes[PERF_EVENT_FAULTS]) == 0;
	}
	*ret_state = (struct perf_rings_state){
		.source = source,
		.has_build_ids = life->build_id,
		.has_kernel = !(events.has[PERF_EVENT_SAMPLES] ? samples : life)->exclude_kernel,
		.has_faults = events.has[PERF_EVENT_FAULTS],
		.counts_lost = life->read_format != 0,
	};
	*ret_events = events;
	return 0;
}
