/* SPDX-License-Identifier: MIT
 *
 * tests/unit/inject/test_hsa.c - the HSA guest over a runtime made up here, with the tables of each
 * release
 *
 * The runtime's functions, the device and the helper are played by the test, one step after the
 * other: what depends on who comes first is tested in every order that matters.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#include "inject/amd/hsa.h"

/* ---- a guest without a recorder's process ---------------------------------------------------- */

struct guest_page guest_page;
_Thread_local struct guest_thread *guest_self __attribute__((tls_model("initial-exec")));

static struct {
	struct ring_region *region;
	struct guest_thread thread;
	struct ring_reader reader;
	uint64_t trouble[RING_TROUBLE_COUNT];
	struct guest_backend backend;
} guest;

void guest_notice_fork(void)
{
	if (atomic_load(&guest_page.mode) == GUEST_FRESH && guest.backend.on_fork)
		guest.backend.on_fork();
}

struct guest_thread *guest_enter_slow(void)
{
	guest_notice_fork();
	return NULL;
}

struct guest_thread *guest_enter_first(void)
{
	return guest_enter();
}

bool guest_still_recording(void)
{
	return true;
}

static bool hip_is_first;

bool hip_is_before_wrappers(void)
{
	return hip_is_first;
}

void guest_look_for_recorder(void)
{
}

void guest_trouble_many(uint32_t trouble, uint64_t count)
{
	guest.trouble[trouble] += count;
}

void guest_trouble(uint32_t trouble)
{
	guest_trouble_many(trouble, 1);
}

void guest_put_api_timed(struct guest_thread *thread, uint32_t detail, uint64_t begin, uint64_t end,
			 int32_t result, uint64_t argument, uint32_t stack)
{
	guest_put_api_row(thread, detail, begin, end, result, argument, stack);
}

void guest_put_slow_api(struct guest_thread *thread, uint32_t detail, uint64_t begin, uint64_t end,
			int32_t result, uint64_t argument)
{
	guest_put_api_row(thread, detail, begin, end, result, argument, 0);
}

void guest_section_end(struct guest_thread *of, enum guest_section section, uint64_t begin)
{
	(void)of;
	(void)section;
	(void)begin;
}

void guest_watch_end(struct guest_thread *of, enum guest_section section, uint64_t begin)
{
	(void)of;
	(void)section;
	(void)begin;
}

void guest_timing_count(struct guest_thread *of, const struct guest_timing *timing, uint64_t enter,
			uint64_t exit)
{
	(void)of;
	(void)timing;
	(void)enter;
	(void)exit;
}

void guest_missed(uint32_t trouble)
{
	guest_trouble(trouble);
}

void guest_init(const struct guest_backend *backend)
{
	guest.backend = *backend;
}

void guest_hook_exit(void)
{
}

uint32_t guest_take_stack(struct guest_thread *thread)
{
	(void)thread;
	return 7;
}

static uint64_t sampled_site;

uint32_t guest_sample_stack(struct guest_thread *thread, uint64_t site)
{
	sampled_site = site;
	return guest_take_stack(thread);
}

/* Nobody takes one that he has. */
bool guest_lock(struct guest_lock *lock)
{
	const uint32_t self = (uint32_t)syscall(SYS_gettid);
	uint32_t holder = 0;

	while (!atomic_compare_exchange_weak(&lock->taken, &holder, self)) {
		if (holder == self) {
			CHECK(!"locked twice");
			return false;
		}
		holder = 0;
		sched_yield();
	}
	return true;
}

static uint32_t helper_wakes;
static uint64_t helper_wait_ms;

static bool has_no_helper;

bool hsa_helper_start(void)
{
	return !has_no_helper;
}

void hsa_helper_wake(void)
{
	helper_wakes++;
}

bool hsa_helper_is_asleep(void)
{
	return false;
}

static bool helper_stays;

bool hsa_helper_is_abandoned(void)
{
	return false;
}

bool hsa_helper_stop(uint64_t last_ms, uint64_t max_ms)
{
	helper_wait_ms += max_ms - last_ms;
	if (!helper_stays)
		hsa_finish(last_ms);
	return !helper_stays;
}

void hsa_helper_forked(void)
{
}

/* While it is on, no thread sleeps, and the clock shows what it would have slept. */
static struct {
	bool is_on;
	uint64_t slept_ns;
} dream;

int __real_clock_gettime(clockid_t clock, struct timespec *ret_time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	if (!dream.is_on || clock != CLOCK_MONOTONIC)
		return __real_clock_gettime(clock, ret_time);
	ret_time->tv_sec = (time_t)(dream.slept_ns / 1000000000);
	ret_time->tv_nsec = (long)(dream.slept_ns % 1000000000);
	return 0;
}

/* A function that lies in another library than the runtime. */
static const void *others_function;

int __real_dladdr(const void *address, Dl_info *ret_about);
int __wrap_dladdr(const void *address, Dl_info *ret_about);
int __wrap_dladdr(const void *address, Dl_info *ret_about)
{
	int is_known = __real_dladdr(address, ret_about);

	if (address == others_function)
		ret_about->dli_fbase = NULL;
	return is_known;
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, const struct timespec *sleep);
long __wrap_syscall(long number, long a, long b, const struct timespec *sleep)
{
	if (!dream.is_on || number != SYS_clock_nanosleep)
		return __real_syscall(number, a, b, sleep, NULL);
	dream.slept_ns += (uint64_t)sleep->tv_sec * 1000000000 + (uint64_t)sleep->tv_nsec;
	return 0;
}

enum { RING_BYTES = 8 << 20 };

static void record(uint32_t options)
{
	size_t bytes = ring_region_bytes(1, RING_BYTES);

	if (guest.region)
		munmap(guest.region, bytes);
	guest.region = guest_memory(bytes);
	memset(guest.trouble, 0, sizeof(guest.trouble));
	memset(&guest.thread, 0, sizeof(guest.thread));
	if (!ring_claim(guest.region, 1, RING_BYTES, 1, &guest.thread.writer))
		abort();
	ring_reader_init(&guest.reader, guest.region, RING_BYTES, 0);
	guest.thread.mode = atomic_load(&guest_page.mode) < GUEST_RECORDING
				    ? GUEST_RECORDING
				    : atomic_load(&guest_page.mode) + 1;
	guest.thread.options = options;
	guest.thread.region = guest.region;
	atomic_store(&guest.region->enabled, 1);
	guest.thread.clock = RING_CLOCK_MONOTONIC;
	atomic_store(&guest_page.mode, guest.thread.mode);
	guest_self = &guest.thread;
}

/* What was recorded since the last look. */
static struct {
	uint32_t count[128];
	uint32_t timed, untimed, with_times;
	struct record_execution execution, executions[8192];
	struct record_parts parts; /* of the last execution */
	struct record_api api;
	char name[64];
	uint32_t code, parent;
	struct record_instruction instructions[8];
	struct record_launch launch; /* last: it ends in an array without a length */
} seen;

static void take(void *unused, const struct record *record)
{
	const struct record_code *code = (const struct record_code *)record;

	(void)unused;
	seen.count[record->kind]++;
	if (record->kind == EVENT_LAUNCH) {
		memcpy(&seen.launch, record, sizeof(seen.launch));
		if (record->detail >> 24 & LAUNCH_UNTIMED)
			seen.untimed++;
		else
			seen.timed++;
	} else if (record->kind == EVENT_EXECUTION) {
		memcpy(&seen.execution, record, sizeof(seen.execution));
		CHECK(record_parts_read(record, sizeof(seen.execution), &seen.parts));
		seen.executions[(seen.count[EVENT_EXECUTION] - 1) % 8192] = seen.execution;
		seen.with_times += (record->detail & EXECUTION_ENDED) != 0;
	} else if (record->kind == EVENT_INSTRUCTION_SAMPLE) {
		memcpy(&seen.instructions[(seen.count[record->kind] - 1) % 8], record,
		       sizeof(seen.instructions[0]));
	} else if (record->kind == EVENT_API) {
		memcpy(&seen.api, record, sizeof(seen.api));
	} else if (record->kind == EVENT_CODE) {
		snprintf(seen.name, sizeof(seen.name), "%s", code->texts);
		seen.code = code->code;
		seen.parent = code->parent;
	}
}

static void look(void)
{
	static uint64_t scratch[8192];

	memset(&seen, 0, sizeof(seen));
	while (ring_drain(&guest.reader, RING_BYTES, scratch, take, NULL))
		;
}

/* ---- a runtime ------------------------------------------------------------------------------- */

enum { SIGNALS = 16384, QUEUES = 4, WRITTEN = 16384 };

static struct {
	struct hsa_signal_memory signals[SIGNALS];
	uint32_t created, destroyed, most; /* signals */
	uint32_t events;                   /* of the driver that are left */
	struct hsa_queue queues[QUEUES];
	uint32_t plain, intercepted, registered, requested, profiled;
	hsa_packet_handler *handler[QUEUES];
	void *data[QUEUES];
	struct hsa_dispatch_packet written[WRITTEN];
	uint64_t written_count, writes;
	hsa_signal_handler *on_signal[SIGNALS];
	void *on_signal_data[SIGNALS];
	_Atomic bool is_destroyed[SIGNALS];
	bool refuses_handlers, refuses_copies, refuses_times;
	hsa_status no_handler_of_queues; /* HSA_SUCCESS: handlers of queues are taken */
	bool is_busy;                    /* its thread for signals */
	hsa_signal copy_signal;
	uint32_t silent_stores, copy_times_asked;
	uint64_t copy_time;    /* start of the copies that end now */
	void (*on_time)(void); /* a dispatch's are asked for */
	void (*on_subtract)(hsa_signal signal);
	void (*on_create)(void);  /* a signal is made */
	void (*on_symbol)(void);  /* a kernel is asked about */
	void (*on_destroy)(void); /* a queue is gone */
	uint64_t write_index;
	const struct hsa_queue *destroyed_queue;
	uint64_t symbol_object;
	const char *symbol_name, *agent_name;
	bool has_loader, waits_for_code;
	uint64_t loaded_further; /* than LOADED_AT */
	hsa_pcs_ready *on_samples;
	void *on_samples_data;
	uint32_t pcs_method;
	uint64_t pcs_interval;
	char pcs_calls[32]; /* the first letter of each */
} runtime;

static uint32_t signal_index(hsa_signal signal)
{
	return (uint32_t)(hsa_signal_at(signal) - runtime.signals);
}

static hsa_status make_signal(hsa_signal_value value, hsa_signal *ret_signal)
{
	if (runtime.on_create)
		runtime.on_create();
	if (runtime.created == runtime.most)
		return HSA_ERROR;
	runtime.signals[runtime.created] = (struct hsa_signal_memory){.kind = HSA_SIGNAL_KIND_USER};
	atomic_store(&runtime.signals[runtime.created].value, value);
	ret_signal->handle = (uintptr_t)&runtime.signals[runtime.created++];
	return HSA_SUCCESS;
}

/* As the runtime, which makes one without an event where the driver has none left. */
static hsa_status signal_create(hsa_signal_value value, uint32_t count, const hsa_agent *consumers,
				hsa_signal *ret_signal)
{
	hsa_status status = make_signal(value, ret_signal);

	(void)count;
	(void)consumers;
	if (status == HSA_SUCCESS && runtime.events) {
		runtime.events--;
		hsa_signal_at(*ret_signal)->mailbox = 1;
	}
	return status;
}

static hsa_status amd_signal_create(hsa_signal_value value, uint32_t count,
				    const hsa_agent *consumers, uint64_t attributes,
				    hsa_signal *ret_signal)
{
	(void)count;
	(void)consumers;
	CHECK_EQUAL(attributes, HSA_SIGNAL_GPU_ONLY);
	return make_signal(value, ret_signal);
}

static hsa_status signal_destroy(hsa_signal signal)
{
	__atomic_store_n(&hsa_signal_at(signal)->kind, HSA_SIGNAL_KIND_INVALID, __ATOMIC_RELAXED);
	atomic_store(&runtime.is_destroyed[signal_index(signal)], true);
	runtime.destroyed++;
	return HSA_SUCCESS;
}

static void silent_store(hsa_signal signal, hsa_signal_value value)
{
	runtime.silent_stores++;
	atomic_store(&hsa_signal_at(signal)->value, value);
}

/* As the device, or a host that completes: the runtime then calls who waits for it. */
static void subtract(hsa_signal signal, hsa_signal_value value)
{
	uint32_t index = signal_index(signal);
	hsa_signal_handler *handler = runtime.on_signal[index];

	if (runtime.on_subtract)
		runtime.on_subtract(signal);
	/* The real one ends the program. */
	CHECK(!atomic_load(&runtime.is_destroyed[index]));
	atomic_fetch_sub(&hsa_signal_at(signal)->value, value);
	if (handler && !runtime.is_busy && atomic_load(&hsa_signal_at(signal)->value) < 1) {
		runtime.on_signal[index] = NULL;
		handler(0, runtime.on_signal_data[index]);
	}
}

static void complete(hsa_signal signal, uint64_t start, uint64_t end)
{
	hsa_signal_at(signal)->start_ticks = start;
	hsa_signal_at(signal)->end_ticks = end;
	subtract(signal, 1);
}

static hsa_status async_handler(hsa_signal signal, uint32_t condition, hsa_signal_value value,
				hsa_signal_handler *handler, void *data)
{
	CHECK_EQUAL(condition, HSA_CONDITION_LT);
	CHECK_EQUAL(value, 1);
	if (runtime.refuses_handlers)
		return HSA_ERROR;
	runtime.on_signal[signal_index(signal)] = handler;
	runtime.on_signal_data[signal_index(signal)] = data;
	return HSA_SUCCESS;
}

static hsa_status dispatch_time(hsa_agent agent, hsa_signal signal, struct hsa_times *times)
{
	(void)agent;
	errno = EIO;
	if (runtime.on_time)
		runtime.on_time();
	times->start = 10 * hsa_signal_at(signal)->start_ticks;
	times->end = 10 * hsa_signal_at(signal)->end_ticks;
	return HSA_SUCCESS;
}

static hsa_status copy_time(hsa_signal signal, struct hsa_times *times)
{
	if (atomic_load(&runtime.is_destroyed[signal_index(signal)]))
		return HSA_ERROR_INVALID_SIGNAL;
	runtime.copy_times_asked++;
	times->start = runtime.copy_time;
	times->end = runtime.copy_time + 900;
	return HSA_SUCCESS;
}

static hsa_status system_get_info(uint32_t what, void *value)
{
	errno = EIO;
	if (what == HSA_SYSTEM_TIMESTAMP)
		*(uint64_t *)value = 5;
	else
		*(uint16_t *)value = 1;
	return HSA_SUCCESS;
}

static const hsa_agent cpu = {1}, gpu = {2};

static hsa_status iterate_agents(hsa_status (*each)(hsa_agent, void *), void *data)
{
	each(cpu, data);
	return each(gpu, data);
}

static hsa_status agent_get_info(hsa_agent agent, uint32_t what, void *value)
{
	if (what == HSA_AGENT_NAME || what == HSA_AGENT_VENDOR_NAME ||
	    what == HSA_AGENT_PRODUCT_NAME || what == HSA_AGENT_UUID)
		strcpy(value, runtime.agent_name ? runtime.agent_name : "text");
	else
		*(uint32_t *)value = what == HSA_AGENT_DEVICE ? agent.handle != cpu.handle : 0x4321;
	return HSA_SUCCESS;
}

static hsa_status iterate_pools(hsa_agent agent, hsa_status (*each)(hsa_pool, void *), void *data)
{
	(void)agent;
	(void)each;
	(void)data;
	return HSA_SUCCESS;
}

static hsa_status pool_get_info(hsa_pool pool, uint32_t what, void *value)
{
	(void)pool;
	(void)what;
	(void)value;
	return HSA_ERROR;
}

static struct hsa_queue *new_queue(uint32_t size)
{
	struct hsa_queue *queue = &runtime.queues[runtime.plain + runtime.intercepted - 1];

	queue->size = size;
	return queue;
}

static hsa_status queue_create(hsa_agent agent, uint32_t size, uint32_t type,
			       hsa_queue_error *error, void *data, uint32_t private_bytes,
			       uint32_t group_bytes, struct hsa_queue **ret_queue)
{
	(void)agent;
	(void)type;
	(void)error;
	(void)data;
	(void)private_bytes;
	(void)group_bytes;
	runtime.plain++;
	*ret_queue = new_queue(size);
	return HSA_SUCCESS;
}

static hsa_status intercept_create(hsa_agent agent, uint32_t size, uint32_t type,
				   hsa_queue_error *error, void *data, uint32_t private_bytes,
				   uint32_t group_bytes, struct hsa_queue **ret_queue)
{
	(void)agent;
	(void)type;
	(void)error;
	(void)data;
	CHECK_EQUAL(private_bytes, UINT32_MAX);
	(void)group_bytes;
	runtime.intercepted++;
	*ret_queue = new_queue(size);
	return HSA_SUCCESS;
}

static hsa_status intercept_register(struct hsa_queue *queue, hsa_packet_handler *handler,
				     void *data)
{
	if (runtime.no_handler_of_queues)
		return runtime.no_handler_of_queues;
	runtime.handler[queue - runtime.queues] = handler;
	runtime.data[queue - runtime.queues] = data;
	runtime.registered++;
	return HSA_SUCCESS;
}

static hsa_status amd_queue_create(hsa_agent agent, struct hsa_queue_request *requests,
				   uint32_t count)
{
	runtime.requested += count;
	return queue_create(agent, 64, 0, NULL, NULL, 0, 0, &requests->queue);
}

static hsa_status queue_destroy(struct hsa_queue *queue)
{
	runtime.destroyed_queue = queue;
	if (runtime.on_destroy)
		runtime.on_destroy();
	return HSA_SUCCESS;
}

static uint64_t queue_write_index(const struct hsa_queue *queue)
{
	CHECK(queue != runtime.destroyed_queue);
	errno = EIO;
	return runtime.write_index;
}

static hsa_status set_profiler(struct hsa_queue *queue, int enable)
{
	(void)queue;
	runtime.profiled += enable ? 1 : 1000;
	errno = EIO;
	return runtime.refuses_times ? HSA_ERROR : HSA_SUCCESS;
}

static hsa_status async_copy_enable(bool enable)
{
	CHECK(enable);
	return HSA_SUCCESS;
}

static hsa_status async_copy(void *to, hsa_agent to_agent, const void *from, hsa_agent from_agent,
			     size_t size, uint32_t waits_count, const hsa_signal *waits,
			     hsa_signal completion)
{
	(void)to;
	(void)to_agent;
	(void)from;
	(void)from_agent;
	(void)size;
	(void)waits_count;
	(void)waits;
	runtime.copy_signal = completion;
	return runtime.refuses_copies ? HSA_ERROR : HSA_SUCCESS;
}

static hsa_status async_copy_on_engine(void *to, hsa_agent to_agent, const void *from,
				       hsa_agent from_agent, size_t size, uint32_t waits_count,
				       const hsa_signal *waits, hsa_signal completion,
				       uint32_t engine, bool force)
{
	(void)engine;
	(void)force;
	return async_copy(to, to_agent, from, from_agent, size, waits_count, waits, completion);
}

static hsa_status async_copy_rect(const void *to, const struct hsa_extent *to_offset,
				  const void *from, const struct hsa_extent *from_offset,
				  const struct hsa_extent *range, hsa_agent agent,
				  uint32_t direction, uint32_t waits_count, const hsa_signal *waits,
				  hsa_signal completion)
{
	(void)to_offset;
	(void)from_offset;
	(void)direction;
	return async_copy((void *)(uintptr_t)to, agent, from, agent, range->x, waits_count, waits,
			  completion);
}

static hsa_status memory_copy(void *to, const void *from, size_t size)
{
	(void)to;
	(void)from;
	(void)size;
	return runtime.refuses_copies ? HSA_ERROR : HSA_SUCCESS;
}

static hsa_status memory_fill(void *to, uint32_t value, size_t words_count)
{
	(void)to;
	(void)value;
	(void)words_count;
	return runtime.refuses_copies ? HSA_ERROR : HSA_SUCCESS;
}

/* What the runtime says about memory below 0x1000, by the address's third digit. */
static const struct {
	uint32_t type;
	hsa_agent owner;
	uint32_t memory;
} host_memories[] = {{HSA_POINTER_UNKNOWN, {2}, MEMORY_UNKNOWN},
		     {HSA_POINTER_LOCKED, {2}, MEMORY_PINNED},
		     {HSA_POINTER_HSA, {1}, MEMORY_PINNED},
		     {HSA_POINTER_HSA, {99}, MEMORY_UNKNOWN},
		     {3, {1}, MEMORY_UNKNOWN},
		     {HSA_POINTER_IPC, {1}, MEMORY_PINNED}};

static uint32_t memory_of(uintptr_t address)
{
	return address < 0x1000 ? host_memories[address >> 8].memory : MEMORY_DEVICE;
}

static hsa_status pointer_info(const void *memory, struct hsa_pointer_info *info,
			       void *(*allocate)(size_t), uint32_t *ret_agents_count,
			       hsa_agent **ret_agents)
{
	CHECK_EQUAL(info->size, sizeof(*info));
	CHECK(!allocate && !ret_agents_count && !ret_agents);
	errno = EIO;
	info->type = (uintptr_t)memory < 0x1000 ? host_memories[(uintptr_t)memory >> 8].type
						: HSA_POINTER_HSA;
	info->owner =
		(uintptr_t)memory < 0x1000 ? host_memories[(uintptr_t)memory >> 8].owner : gpu;
	return HSA_SUCCESS;
}

static hsa_status copy_batch(const struct hsa_copy_piece *pieces, uint32_t count,
			     uint32_t waits_count, const hsa_signal *waits)
{
	(void)waits_count;
	(void)waits;
	CHECK_EQUAL(pieces[count - 1].completion.handle, 77);
	return HSA_SUCCESS;
}

static void wait_once(hsa_signal signal);

/* As that of ROCm 6.1, which waits by the entry in its own table. */
static hsa_status executable_freeze(hsa_executable executable, const char *options)
{
	(void)executable;
	(void)options;
	if (runtime.waits_for_code)
		wait_once(runtime.copy_signal);
	return HSA_SUCCESS;
}

static hsa_status executable_destroy(hsa_executable executable)
{
	(void)executable;
	return HSA_SUCCESS;
}

static hsa_status load_agent_code(hsa_executable executable, hsa_agent agent, hsa_reader reader,
				  const char *options, hsa_loaded_code *ret_loaded)
{
	(void)executable;
	(void)agent;
	(void)reader;
	(void)options;
	ret_loaded->handle = 77;
	return HSA_SUCCESS;
}

static hsa_status symbol_get_info(hsa_symbol symbol, uint32_t what, void *value)
{
	(void)symbol;
	errno = EIO;
	if (runtime.on_symbol && what == HSA_SYMBOL_GROUP_BYTES)
		runtime.on_symbol();
	if (what == HSA_SYMBOL_NAME)
		memcpy(value, runtime.symbol_name, strlen(runtime.symbol_name));
	else if (what == HSA_SYMBOL_KERNEL_OBJECT)
		*(uint64_t *)value = runtime.symbol_object;
	else if (what == HSA_SYMBOL_AGENT)
		*(hsa_agent *)value = gpu;
	else
		*(uint32_t *)value = what == HSA_SYMBOL_NAME_LENGTH
					     ? (uint32_t)strlen(runtime.symbol_name)
				     : what == HSA_SYMBOL_TYPE ? HSA_SYMBOL_IS_KERNEL
							       : 64;
	return HSA_SUCCESS;
}

static hsa_status iterate_symbols(hsa_executable executable,
				  hsa_status (*each)(hsa_executable, hsa_symbol, void *),
				  void *data)
{
	return each(executable, (hsa_symbol){9}, data);
}

/* The code object's file, whose instructions are at 0xa00 and meant for 0x1a00, and where it was
 * loaded. */
enum { LOADED_AT = 0x7f0000, LOADED_BYTES = 0x10000, DESCRIPTOR = 0x940 };

static struct {
	Elf64_Ehdr head;
	Elf64_Phdr segments[2];
} object_file = {
	.head = {.e_phoff = sizeof(Elf64_Ehdr), .e_phnum = 2},
	.segments = {{.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = 0xa00},
		     {.p_type = PT_LOAD,
		      .p_flags = PF_R | PF_X,
		      .p_vaddr = 0x1a00,
		      .p_offset = 0xa00,
		      .p_filesz = 0x600}},
};

static hsa_status loaded_get_info(hsa_loaded_code loaded, uint32_t what, void *value)
{
	uint64_t answer = what == HSA_LOADED_MEMORY_BASE   ? (uintptr_t)&object_file
			  : what == HSA_LOADED_MEMORY_SIZE ? sizeof(object_file)
			  : what == HSA_LOADED_SIZE        ? LOADED_BYTES
							   : LOADED_AT + runtime.loaded_further;

	(void)loaded;
	if (what == HSA_LOADED_STORAGE_TYPE)
		*(uint32_t *)value = HSA_STORAGE_MEMORY;
	else
		memcpy(value, &answer, sizeof(answer));
	return HSA_SUCCESS;
}

static hsa_status host_address(const void *on_device, const void **ret_on_host)
{
	static int64_t descriptor[8] = {[HSA_DESCRIPTOR_ENTRY / 8] = 0x1a00 - DESCRIPTOR};

	CHECK_EQUAL((uintptr_t)on_device, LOADED_AT + runtime.loaded_further + DESCRIPTOR);
	*ret_on_host = descriptor;
	return HSA_SUCCESS;
}

static hsa_status extension_table(uint16_t extension, uint16_t major, size_t size, void *table)
{
	(void)extension;
	(void)major;
	CHECK_EQUAL(size, sizeof(struct hsa_loader_functions));
	if (!runtime.has_loader)
		return HSA_ERROR;
	*(struct hsa_loader_functions *)table = (struct hsa_loader_functions){
		.host_address = host_address, .get_info = loaded_get_info};
	return HSA_SUCCESS;
}

static hsa_signal_value wait_for(hsa_signal signal, uint32_t condition, hsa_signal_value compared,
				 uint64_t timeout, uint32_t how)
{
	(void)condition;
	(void)compared;
	(void)timeout;
	(void)how;
	return atomic_load(&hsa_signal_at(signal)->value);
}

static void writer(const void *packets, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		memcpy(&runtime.written[runtime.written_count++ % WRITTEN],
		       (const uint8_t *)packets + 64 * i, 64);
	runtime.writes++;
	errno = EIO;
}

/* ---- its samples of instructions ------------------------------------------------------------- */

static void note_pcs(char call)
{
	runtime.pcs_calls[strlen(runtime.pcs_calls)] = call;
}

static hsa_status pcs_iterate(hsa_agent agent,
			      hsa_status (*each)(const struct hsa_pcs_configuration *, void *),
			      void *data)
{
	static const struct hsa_pcs_configuration offered[] = {
		{HSA_PCS_HOST_TRAP, HSA_PCS_UNIT_US, 1, 100, 0},
		{HSA_PCS_STOCHASTIC, HSA_PCS_UNIT_CYCLES, 256, 3000, HSA_PCS_POWER_OF_2},
		{7, HSA_PCS_UNIT_CYCLES, 1, 2, 0},
	};

	CHECK_EQUAL(agent.handle, gpu.handle);
	for (int i = 0; i < 3; i++)
		if (i != HSA_PCS_STOCHASTIC || runtime.pcs_method == HSA_PCS_STOCHASTIC)
			each(&offered[i], data);
	return HSA_SUCCESS;
}

static hsa_status pcs_create(hsa_agent agent, uint32_t method, uint32_t units, size_t interval,
			     size_t latency_us, size_t buffer_bytes, hsa_pcs_ready *ready,
			     void *data, hsa_pcs *ret_session)
{
	(void)agent;
	(void)units;
	(void)latency_us;
	CHECK_EQUAL(buffer_bytes % (2 * sizeof(struct hsa_pcs_sample)), 0);
	CHECK_EQUAL(method, runtime.pcs_method);
	runtime.pcs_interval = interval;
	runtime.on_samples = ready;
	runtime.on_samples_data = data;
	ret_session->handle = 3;
	note_pcs('c');
	return HSA_SUCCESS;
}

static hsa_status pcs_start(hsa_pcs session)
{
	CHECK_EQUAL(session.handle, 3);
	note_pcs('s');
	return HSA_SUCCESS;
}

static hsa_status pcs_stop(hsa_pcs session)
{
	CHECK_EQUAL(session.handle, 3);
	note_pcs('t');
	return HSA_SUCCESS;
}

static hsa_status copy_samples(void *what, size_t bytes, void *to)
{
	memcpy(to, what, bytes);
	return HSA_SUCCESS;
}

static hsa_status refuse_samples(void *what, size_t bytes, void *to)
{
	(void)what;
	(void)bytes;
	(void)to;
	return HSA_ERROR;
}

/* What is left comes while it is flushed. */
static hsa_status pcs_flush(hsa_pcs session)
{
	struct hsa_pcs_sample last = {.pc = LOADED_AT + 0x1a30, .time = 300};

	CHECK_EQUAL(session.handle, 3);
	note_pcs('f');
	runtime.on_samples(runtime.on_samples_data, sizeof(last), 0, copy_samples, &last);
	return HSA_SUCCESS;
}

static hsa_status pcs_destroy(hsa_pcs session)
{
	CHECK_EQUAL(session.handle, 3);
	note_pcs('d');
	return HSA_SUCCESS;
}

static struct hsa_pcs_functions pcs_table = {.version = {1, sizeof(pcs_table), 0, 0},
					     .iterate = pcs_iterate,
					     .create = pcs_create,
					     .destroy = pcs_destroy,
					     .start = pcs_start,
					     .stop = pcs_stop,
					     .flush = pcs_flush};

/* ---- its tables ------------------------------------------------------------------------------ */

typedef bool on_load(struct hsa_tables *, uint64_t, uint64_t, const char *const *);
on_load OnLoad;
void OnUnload(void);

static struct hsa_tables tables;

/* A table that ends where memory does: whoever reads on is killed. */
static uint8_t *make_table(uint32_t major, uint32_t bytes, uint32_t step)
{
	struct hsa_table_version version = {major, bytes, step, 0};
	uint8_t *pages = guest_memory(2 * RING_WIPED_BYTES),
		*table = pages + RING_WIPED_BYTES - bytes;

	mprotect(pages + RING_WIPED_BYTES, RING_WIPED_BYTES, PROT_NONE);
	for (uint32_t at = sizeof(version); at < bytes; at += 8) {
		uint64_t place = 0xdead0000 + at;

		memcpy(table + at, &place, sizeof(place));
	}
	memcpy(table, &version, sizeof(version));
	return table;
}

static void enter(uint8_t *table, uint32_t bytes, uint32_t offset, void *function)
{
	if (offset + 8 <= bytes)
		memcpy(table + offset, &function, sizeof(function));
}

static const struct place {
	uint32_t offset;
	void *function;
} core_places[] =
	{
		{CORE_SYSTEM_GET_INFO, (void *)system_get_info},
		{CORE_ITERATE_AGENTS, (void *)iterate_agents},
		{CORE_AGENT_GET_INFO, (void *)agent_get_info},
		{CORE_QUEUE_CREATE, (void *)queue_create},
		{CORE_QUEUE_DESTROY, (void *)queue_destroy},
		{CORE_QUEUE_WRITE_INDEX, (void *)queue_write_index},
		{CORE_SIGNAL_CREATE, (void *)signal_create},
		{CORE_SIGNAL_DESTROY, (void *)signal_destroy},
		{CORE_SIGNAL_WAIT_RELAXED, (void *)wait_for},
		{CORE_SIGNAL_WAIT_SCACQUIRE, (void *)wait_for},
		{CORE_SIGNAL_SUBTRACT_SCRELEASE, (void *)subtract},
		{CORE_EXECUTABLE_DESTROY, (void *)executable_destroy},
		{CORE_EXECUTABLE_FREEZE, (void *)executable_freeze},
		{CORE_SYMBOL_GET_INFO, (void *)symbol_get_info},
		{CORE_ITERATE_SYMBOLS, (void *)iterate_symbols},
		{CORE_EXTENSION_TABLE, (void *)extension_table},
		{CORE_SIGNAL_SILENT_STORE, (void *)silent_store},
		{CORE_LOAD_AGENT_CODE, (void *)load_agent_code},
		{CORE_MEMORY_COPY, (void *)memory_copy},
},
  amd_places[] =
	  {
		  {32, (void *)set_profiler},   {40, (void *)async_copy_enable},
		  {48, (void *)dispatch_time},  {56, (void *)copy_time},
		  {72, (void *)async_handler},  {104, (void *)pool_get_info},
		  {112, (void *)iterate_pools}, {136, (void *)async_copy},
},
  early_places[] =
	  {
		  {192, (void *)memory_fill},        {224, (void *)pointer_info},
		  {264, (void *)amd_signal_create},  {296, (void *)intercept_create},
		  {304, (void *)intercept_register},
},
  late_places[] = {
	  {144, (void *)async_copy_on_engine}, {336, (void *)async_copy_rect},
	  {208, (void *)memory_fill},          {240, (void *)pointer_info},
	  {280, (void *)amd_signal_create},    {312, (void *)intercept_create},
	  {320, (void *)intercept_register},   {640, (void *)copy_batch},
	  {704, (void *)amd_queue_create},
};

#define ENTER(table, bytes, places)                                        \
	for (size_t i_ = 0; i_ < sizeof(places) / sizeof(places[0]); i_++) \
	enter(table, bytes, places[i_].offset, places[i_].function)

static void make_tables(uint32_t major, uint32_t bytes, uint32_t step, bool is_late)
{
	tables.core = make_table(major, CORE_BYTES, 0);
	tables.amd = make_table(major, bytes, step);
	ENTER(tables.core, CORE_BYTES, core_places);
	ENTER(tables.amd, bytes, amd_places);
	if (is_late)
		ENTER(tables.amd, bytes, late_places);
	else
		ENTER(tables.amd, bytes, early_places);
}

static uint64_t read_entry(const uint8_t *table, uint32_t offset)
{
	uint64_t value;

	memcpy(&value, table + offset, sizeof(value));
	return value;
}

static hsa_status create_queue(hsa_agent agent, uint32_t size, struct hsa_queue **ret_queue)
{
	hsa_queue_create_function *create =
		(hsa_queue_create_function *)(uintptr_t)read_entry(tables.core, CORE_QUEUE_CREATE);

	return create(agent, size, 0, NULL, NULL, UINT32_MAX, UINT32_MAX, ret_queue);
}

static hsa_status destroy_queue(struct hsa_queue *queue)
{
	hsa_queue_destroy_function *destroy = (hsa_queue_destroy_function *)(uintptr_t)read_entry(
		tables.core, CORE_QUEUE_DESTROY);

	return destroy(queue);
}

/* ROCm 6.4.3, and one queue. */
static struct hsa_queue *start(uint32_t options, uint32_t max_signals)
{
	struct hsa_queue *queue = NULL;

	memset(&runtime, 0, sizeof(runtime));
	runtime.most = max_signals;
	record(options);
	make_tables(2, 592, 5, true);
	CHECK(OnLoad(&tables, 3, 0, NULL));
	CHECK_EQUAL(create_queue(gpu, 1024, &queue), HSA_SUCCESS);
	look();
	return queue;
}

static void stop(void)
{
	OnUnload();
}

static void write_packets(const struct hsa_queue *queue, struct hsa_dispatch_packet *packets,
			  uint64_t count)
{
	size_t i = (size_t)(queue - runtime.queues);

	runtime.handler[i](packets, count, 0, runtime.data[i], writer);
}

static void write_dispatch(const struct hsa_queue *queue, hsa_signal completion)
{
	struct hsa_dispatch_packet packet = {.header = HSA_PACKET_DISPATCH,
					     .dimensions = 1,
					     .workgroup = {64, 1, 1},
					     .grid = {256, 1, 1},
					     .kernel_object = 0x1000,
					     .completion = completion};

	write_packets(queue, &packet, 1);
}

static hsa_signal signal_of(uint64_t written)
{
	return runtime.written[written % WRITTEN].completion;
}

static const hsa_signal no_signal = {0};

/* ---- layouts --------------------------------------------------------------------------------- */

struct layout {
	const char *release;
	uint32_t major, bytes, step;
	bool is_late, is_followed, has_requests;
};

static const struct layout layouts[] = {
	{"5.2.3", 1, 400, 0, false, true, false},    {"5.5", 1, 424, 0, false, true, false},
	{"5.6", 1, 456, 0, true, true, false},       {"6.0", 2, 552, 0, true, true, false},
	{"6.1.2", 2, 560, 1, true, true, false},     {"6.2.4", 2, 576, 5, true, true, false},
	{"6.4.3", 2, 592, 5, true, true, false},     {"7.0", 2, 600, 6, true, false, false},
	{"7.2", 2, 624, 8, true, false, false},      {"7.13", 2, 648, 0xa, true, true, false},
	{"nightly", 2, 720, 0xf, true, true, false}, {"10", 2, 744, 0x12, true, true, true},
};

/* Nothing of the program's is exchanged but what is meant to be. */
static void check_entries(const struct layout *layout)
{
	static const uint32_t stable[] = {16, 24, 64, 80, 88, 96, 120, 128};
	uint32_t behind = layout->is_late ? 16 : 0;

	for (size_t i = 0; i < sizeof(stable) / sizeof(stable[0]); i++)
		CHECK_EQUAL(read_entry(tables.amd, stable[i]), 0xdead0000 + stable[i]);
	CHECK(read_entry(tables.amd, AMD_ASYNC_COPY) != (uintptr_t)async_copy);
	CHECK(read_entry(tables.amd, 320 + behind) != 0xdead0000 + 320 + behind);
	CHECK_EQUAL(read_entry(tables.amd, 144) != 0xdead0000 + 144, layout->is_late);
	CHECK_EQUAL(read_entry(tables.amd, 304 + behind), (uintptr_t)intercept_register);
	CHECK(read_entry(tables.amd, 192 + behind) != (uintptr_t)memory_fill);
	CHECK_EQUAL(read_entry(tables.amd, 224 + behind), (uintptr_t)pointer_info);
	if (layout->bytes > 640)
		CHECK(read_entry(tables.amd, 640) != (uintptr_t)copy_batch);
	if (layout->bytes > 704)
		CHECK_EQUAL(read_entry(tables.amd, 704) != (uintptr_t)amd_queue_create,
			    layout->has_requests);
}

TEST(tables_of_each_release)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		const struct layout *layout = &layouts[i];
		struct hsa_queue *queue = NULL;

		memset(&runtime, 0, sizeof(runtime));
		runtime.most = SIGNALS;
		record(0);
		make_tables(layout->major, layout->bytes, layout->step, layout->is_late);
		CHECK(OnLoad(&tables, 1, 0, NULL));
		check_entries(layout);
		CHECK_EQUAL(create_queue(gpu, 1024, &queue), HSA_SUCCESS);
		CHECK_EQUAL(runtime.intercepted, layout->is_followed);
		CHECK_EQUAL(runtime.registered, layout->is_followed);
		CHECK_EQUAL(runtime.plain, !layout->is_followed);
		runtime.write_index = 12;
		destroy_queue(queue);
		CHECK_EQUAL(guest.trouble[AMD_TROUBLE_NOT_FOLLOWED], layout->is_followed ? 0 : 12);
		if (harness_failed) {
			printf("#   ROCm %s\n", layout->release);
			return;
		}
		stop();
	}
}

TEST(tables_that_are_too_short)
{
	memset(&runtime, 0, sizeof(runtime));
	record(0);
	make_tables(1, 296, 0, false);
	CHECK(OnLoad(&tables, 1, 0, NULL));
	CHECK_EQUAL(read_entry(tables.core, CORE_QUEUE_CREATE), (uintptr_t)queue_create);
	CHECK_EQUAL(guest.trouble[AMD_TROUBLE_LAYOUT], 1);
	stop();
}

TEST(without_a_recorder_all_stays_as_it_is)
{
	memset(&runtime, 0, sizeof(runtime));
	record(0);
	atomic_store(&guest_page.mode, GUEST_IDLE);
	make_tables(2, 592, 5, true);
	CHECK(OnLoad(&tables, 1, 0, NULL));
	CHECK_EQUAL(read_entry(tables.core, CORE_QUEUE_CREATE), (uintptr_t)queue_create);
	CHECK_EQUAL(read_entry(tables.amd, AMD_ASYNC_COPY), (uintptr_t)async_copy);
	stop();
}

TEST(force)
{
	struct hsa_queue *queue = NULL;

	memset(&runtime, 0, sizeof(runtime));
	runtime.most = SIGNALS;
	record(AMD_OPTION_FORCE);
	make_tables(2, 624, 8, true);
	CHECK(OnLoad(&tables, 1, 0, NULL));
	CHECK_EQUAL(create_queue(gpu, 1024, &queue), HSA_SUCCESS);
	CHECK_EQUAL(runtime.intercepted, 1);
	stop();
}

TEST(queues_by_request)
{
	struct hsa_queue_request requests[2] = {
		{.version = 1, .size_bytes = 65536, .priority = 1, .private_bytes = UINT32_MAX},
		{.version = 1, .size_bytes = 65536, .priority = 1, .cu_mask_bits = 32},
	};
	hsa_amd_queue_create_function *create;

	memset(&runtime, 0, sizeof(runtime));
	runtime.most = SIGNALS;
	record(0);
	make_tables(2, 744, 0x12, true);
	CHECK(OnLoad(&tables, 1, 0, NULL));
	create = (hsa_amd_queue_create_function *)(uintptr_t)read_entry(tables.amd, 704);
	CHECK_EQUAL(create(gpu, requests, 2), HSA_SUCCESS);
	CHECK_EQUAL(runtime.intercepted, 1);
	CHECK_EQUAL(runtime.requested, 1);
	REQUIRE(requests[0].queue && requests[1].queue);
	CHECK_EQUAL(requests[0].queue->size, 1024);
	stop();
}

/* ---- other tools ----------------------------------------------------------------------------- */

static uint32_t others_created;

/* Another tool's, which came before us: its queues are intercept queues unless registering is
 * refused. */
static hsa_status others_create(hsa_agent agent, uint32_t size, uint32_t type,
				hsa_queue_error *error, void *data, uint32_t private_bytes,
				uint32_t group_bytes, struct hsa_queue **ret_queue)
{
	others_created++;
	return queue_create(agent, size, type, error, data, private_bytes, group_bytes, ret_queue);
}

static void start_behind(uint32_t options)
{
	hsa_queue_create_function *function = others_create;

	memset(&runtime, 0, sizeof(runtime));
	others_created = 0;
	runtime.most = SIGNALS;
	record(options);
	make_tables(2, 592, 5, true);
	memcpy(tables.core + CORE_QUEUE_CREATE, &function, sizeof(function));
	others_function = (const void *)others_create;
	CHECK(OnLoad(&tables, 3, 0, NULL));
	others_function = NULL;
}

TEST(queues_of_a_tool_that_came_before)
{
	struct hsa_queue *queue = NULL;

	start_behind(0);
	CHECK_EQUAL(create_queue(gpu, 1024, &queue), HSA_SUCCESS);
	CHECK_EQUAL(others_created, 1);
	CHECK_EQUAL(runtime.intercepted, 0);
	CHECK_EQUAL(runtime.registered, 1);
	/* Neither its signals nor ours: the packet is the program's. */
	write_dispatch(queue, no_signal);
	CHECK_EQUAL(runtime.written[0].completion.handle, 0);
	look();
	CHECK_EQUAL(seen.count[EVENT_LAUNCH], 1);
	CHECK_EQUAL(seen.untimed, 1);
	CHECK_EQUAL(guest.trouble[AMD_TROUBLE_TOOL_BEHIND], 1);
	CHECK_EQUAL(guest.trouble[AMD_TROUBLE_SIGNALS], 0);
	stop();
}

TEST(plain_queues_of_a_tool_that_came_before)
{
	struct hsa_queue *queue = NULL;

	start_behind(0);
	runtime.no_handler_of_queues = HSA_ERROR_INVALID_QUEUE;
	/* Neither the tool's nor one of ours can be followed: the program has a queue all the
	 * same. */
	CHECK_EQUAL(create_queue(gpu, 1024, &queue), HSA_SUCCESS);
	CHECK_EQUAL(guest.trouble[AMD_TROUBLE_TOOL_BLIND], 1);
	CHECK_EQUAL(others_created, 2);
	runtime.no_handler_of_queues = HSA_SUCCESS;
	CHECK_EQUAL(create_queue(gpu, 1024, &queue), HSA_SUCCESS);
	CHECK_EQUAL(others_created, 2);
	CHECK_EQUAL(runtime.registered, 1);
	write_dispatch(queue, no_signal);
	look();
	CHECK_EQUAL(seen.timed, 1);
	stop();
}

/* That something is refused does not make a plain queue of it: the tool is asked for the next one
 * again. */
static void join_after_a_refusal(bool times, hsa_status handler)
{
	struct hsa_queue *queue = NULL;

	start_behind(0);
	runtime.refuses_times = !times;
	runtime.no_handler_of_queues = handler;
	errno = 4711;
	CHECK_EQUAL(create_queue(gpu, 1024, &queue), HSA_SUCCESS);
	CHECK_EQUAL(errno, 4711);
	CHECK(queue && queue != runtime.destroyed_queue);
	CHECK_EQUAL(guest.trouble[AMD_TROUBLE_TOOL_BLIND], 0);
	CHECK_EQUAL(others_created, 1);
	CHECK_EQUAL(runtime.intercepted, 0);
	runtime.write_index = 3;
	hsa_count_not_followed();
	CHECK_EQUAL(guest.trouble[AMD_TROUBLE_QUEUE_REFUSED], 3);
	runtime.refuses_times = false;
	runtime.no_handler_of_queues = HSA_SUCCESS;
	errno = 4711;
	CHECK_EQUAL(create_queue(gpu, 1024, &queue), HSA_SUCCESS);
	CHECK_EQUAL(errno, 4711);
	CHECK_EQUAL(others_created, 2);
	CHECK_EQUAL(runtime.registered, 1);
	stop();
}

TEST(queues_of_a_tool_that_came_before_and_a_refusal)
{
	join_after_a_refusal(false, HSA_SUCCESS);
	join_after_a_refusal(true, HSA_ERROR);
}

TEST(queues_of_a_tool_that_came_after)
{
	struct hsa_queue *queue = NULL;
	hsa_queue_create_function *create;

	memset(&runtime, 0, sizeof(runtime));
	runtime.most = SIGNALS;
	record(0);
	make_tables(2, 592, 5, true);
	CHECK(OnLoad(&tables, 3, 0, NULL));
	create = (hsa_queue_create_function *)(uintptr_t)read_entry(tables.amd, 312);
	CHECK(create != intercept_create);
	CHECK_EQUAL(create(gpu, 1024, 0, NULL, NULL, UINT32_MAX, 0, &queue), HSA_SUCCESS);
	/* The first handler of the queue, so the last that sees a packet. */
	CHECK_EQUAL(runtime.registered, 1);
	write_dispatch(queue, no_signal);
	look();
	CHECK_EQUAL(seen.timed, 1);
	stop();
}

TEST(a_guest_that_is_named_twice)
{
	struct hsa_queue *queue = NULL;

	memset(&runtime, 0, sizeof(runtime));
	runtime.most = SIGNALS;
	record(0);
	make_tables(2, 592, 5, true);
	CHECK(OnLoad(&tables, 3, 0, NULL));
	CHECK(OnLoad(&tables, 3, 0, NULL));
	CHECK(hsa_next.queue_create == queue_create);
	CHECK_EQUAL(create_queue(gpu, 1024, &queue), HSA_SUCCESS);
	CHECK_EQUAL(runtime.registered, 1);
	stop();
}

TEST(the_guest_is_the_first_of_the_tools)
{
	char ordered[32];

	CHECK(hsa_order_tools("a.so /g.so", "/g.so", ordered, sizeof(ordered)));
	CHECK_TEXT(ordered, "/g.so a.so ");
	CHECK(hsa_order_tools("a b  /g.so c d", "/g.so", ordered, sizeof(ordered)));
	CHECK_TEXT(ordered, "/g.so a b  c d");
	CHECK(!hsa_order_tools("/g.so a", "/g.so", ordered, sizeof(ordered)));
	CHECK(!hsa_order_tools(" /g.so a", "/g.so", ordered, sizeof(ordered)));
	/* A wrapper has named its own tool alone. */
	CHECK(hsa_order_tools("a /g.so.1 x/g.so", "/g.so", ordered, sizeof(ordered)));
	CHECK_TEXT(ordered, "/g.so a /g.so.1 x/g.so");
	CHECK(!hsa_order_tools("  ", "/g.so", ordered, sizeof(ordered)));
	CHECK(!hsa_order_tools("", "/g.so", ordered, sizeof(ordered)));
	CHECK(!hsa_order_tools("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa /g.so", "/g.so", ordered,
			       sizeof(ordered)));
}

/* ---- dispatches ------------------------------------------------------------------------------ */

static hsa_status copy(hsa_agent to, hsa_agent from, hsa_signal completion)
{
	hsa_async_copy_function *call =
		(hsa_async_copy_function *)(uintptr_t)read_entry(tables.amd, AMD_ASYNC_COPY);

	return call(NULL, to, NULL, from, 4096, 0, NULL, completion);
}

TEST(dispatches_have_times)
{
	struct hsa_queue *queue = start(0, SIGNALS);

	write_dispatch(queue, no_signal);
	CHECK(signal_of(0).handle);
	CHECK(hsa_is_pending());
	hsa_harvest(&guest.thread);
	look();
	CHECK_EQUAL(seen.count[EVENT_LAUNCH], 1);
	CHECK_EQUAL(seen.count[EVENT_EXECUTION], 0);
	CHECK_EQUAL(seen.launch.dimensions, 1);
	complete(signal_of(0), 100, 200);
	CHECK_EQUAL(hsa_harvest(&guest.thread), 1);
	CHECK(!hsa_is_pending());
	look();
	CHECK_EQUAL(seen.execution.started, 1000);
	CHECK_EQUAL(seen.execution.ended, 2000);
	stop();
}

/* Dispatches of one queue may overlap, and those of others come and go whatever this one waits
 * for. */
TEST(one_that_hangs_hides_no_other)
{
	struct hsa_queue *queue = start(0, SIGNALS), *other = NULL;

	CHECK_EQUAL(create_queue(gpu, 1024, &other), HSA_SUCCESS);
	for (int i = 0; i < 3; i++)
		write_dispatch(queue, no_signal);
	write_dispatch(other, no_signal);
	for (uint64_t i = 1; i < 4; i++)
		complete(signal_of(i), 1, 2);
	CHECK_EQUAL(hsa_harvest(&guest.thread), 3);
	complete(signal_of(0), 1, 2);
	CHECK_EQUAL(hsa_harvest(&guest.thread), 1);
	CHECK(!hsa_is_pending());
	stop();
}

/* Nothing grows where nothing more is outstanding than was before. */
TEST(no_signal_is_made_in_steady_state)
{
	struct hsa_queue *queue = start(0, SIGNALS);
	uint32_t created = 0;

	CHECK_EQUAL(hsa_signals_created(), HSA_SIGNALS_FIRST + 1);
	for (int round = 0; round < 1000; round++) {
		uint64_t first = runtime.written_count;

		for (int i = 0; i < 200; i++)
			write_dispatch(queue, no_signal);
		for (uint64_t i = first; i < runtime.written_count; i++)
			complete(signal_of(i), 1, 2);
		CHECK_EQUAL(hsa_harvest(&guest.thread), 200);
		look();
		CHECK_EQUAL(seen.with_times, 200);
		if (round == 0)
			created = runtime.created;
	}
	CHECK_EQUAL(runtime.created, created);
	CHECK(created < 300);
	stop();
	CHECK_EQUAL(runtime.destroyed, runtime.created);
}

TEST(beyond_4096_a_dispatch_goes_without)
{
	struct hsa_queue *queue = start(0, SIGNALS);

	for (int i = 0; i < MAX_HSA_QUIET + 10; i++)
		write_dispatch(queue, no_signal);
	look();
	CHECK_EQUAL(runtime.written_count, MAX_HSA_QUIET + 10);
	CHECK_EQUAL(seen.timed, MAX_HSA_QUIET);
	CHECK_EQUAL(seen.untimed, 10);
	CHECK_EQUAL(guest.trouble[AMD_TROUBLE_SIGNALS], 10);
	CHECK_EQUAL(signal_of(MAX_HSA_QUIET).handle, 0);
	CHECK(helper_wakes >= MAX_HSA_QUIET / 512);
	for (uint64_t i = 0; i < MAX_HSA_QUIET; i++)
		complete(signal_of(i), 1, 2);
	CHECK_EQUAL(hsa_harvest(&guest.thread), MAX_HSA_QUIET);
	write_dispatch(queue, no_signal);
	look();
	CHECK_EQUAL(seen.timed, 1);
	stop();
}

/* What is done is found by who needs a signal, where the helper does not come to it. */
TEST(done_and_not_looked_at)
{
	struct hsa_queue *queue = start(0, SIGNALS);

	for (uint64_t i = 0; i < 3 * MAX_HSA_QUIET; i++) {
		write_dispatch(queue, no_signal);
		complete(signal_of(i), 1, 2);
	}
	look();
	CHECK_EQUAL(seen.timed, 3 * MAX_HSA_QUIET);
	CHECK_EQUAL(guest.trouble[AMD_TROUBLE_SIGNALS], 0);
	stop();
}

/* A thread that asks for the times of a dispatch, and is answered when `resumes` says so. */
static struct {
	_Atomic bool is_in, resumes, is_armed;
	struct ring_region *region;
	struct guest_thread thread; /* with a ring of its own */
} stalled;

static void stall(void)
{
	if (!atomic_exchange(&stalled.is_armed, false))
		return;
	atomic_store(&stalled.is_in, true);
	while (!atomic_load(&stalled.resumes))
		sched_yield();
}

static void *harvest_once(void *unused)
{
	hsa_harvest(&stalled.thread);
	return unused;
}

/* A helper that loses its processor with the oldest in its hand holds up no other. */
TEST(a_harvester_that_loses_its_processor)
{
	struct hsa_queue *queue = start(0, SIGNALS);
	pthread_t helper;

	memset(&stalled, 0, sizeof(stalled));
	stalled.region = guest_memory(ring_region_bytes(1, RING_BYTES));
	stalled.thread.mode = guest.thread.mode;
	REQUIRE(ring_claim(stalled.region, 1, RING_BYTES, 1, &stalled.thread.writer));
	atomic_store(&stalled.is_armed, true);
	runtime.on_time = stall;
	write_dispatch(queue, no_signal);
	complete(signal_of(0), 1, 2);
	look();
	pthread_create(&helper, NULL, harvest_once, NULL);
	while (!atomic_load(&stalled.is_in))
		sched_yield();
	for (uint64_t i = 1; i < 3 * MAX_HSA_QUIET; i++) {
		write_dispatch(queue, no_signal);
		complete(signal_of(i), 1, 2);
	}
	look();
	CHECK_EQUAL(seen.timed, 3 * MAX_HSA_QUIET - 1);
	CHECK_EQUAL(guest.trouble[AMD_TROUBLE_SIGNALS], 0);
	atomic_store(&stalled.resumes, true);
	pthread_join(helper, NULL);
	stop();
}

enum { HARVESTERS = 2, THREADED = 50000 };

static struct {
	_Atomic uint64_t written; /* dispatches */
	_Atomic bool is_over;
	_Atomic uint32_t harvested;
} threaded;

static void *harvest_along(void *unused)
{
	while (!atomic_load(&threaded.is_over))
		atomic_fetch_add(&threaded.harvested, hsa_harvest(NULL));
	return unused;
}

static void *complete_along(void *unused)
{
	for (uint64_t i = 0; i < THREADED; i++) {
		while (atomic_load(&threaded.written) <= i)
			sched_yield();
		complete(signal_of(i), 1, 2);
	}
	return unused;
}

/* Each dispatch is taken once, whoever else looks. */
TEST(harvesters_side_by_side)
{
	struct hsa_queue *queue = start(0, SIGNALS);
	pthread_t helpers[HARVESTERS], device;
	uint32_t found = 0;

	memset(&threaded, 0, sizeof(threaded));
	for (int i = 0; i < HARVESTERS; i++)
		pthread_create(&helpers[i], NULL, harvest_along, NULL);
	pthread_create(&device, NULL, complete_along, NULL);
	for (uint64_t i = 0; i < THREADED; i++) {
		while (i > MAX_HSA_QUIET - 64 + atomic_load(&threaded.harvested) + found)
			found += hsa_harvest(&guest.thread);
		write_dispatch(queue, no_signal);
		atomic_fetch_add(&threaded.written, 1);
		if (i % 1024 == 0)
			look();
	}
	pthread_join(device, NULL);
	atomic_store(&threaded.is_over, true);
	for (int i = 0; i < HARVESTERS; i++)
		pthread_join(helpers[i], NULL);
	found += hsa_harvest(&guest.thread);
	CHECK_EQUAL(found + atomic_load(&threaded.harvested), THREADED);
	CHECK_EQUAL(guest.trouble[AMD_TROUBLE_SIGNALS], 0);
	CHECK(!hsa_is_pending());
	stop();
	CHECK_EQUAL(runtime.destroyed, runtime.created);
}

/* What is complete when a queue ends is recorded, by whoever looks at that moment. */
TEST(a_queue_that_ends_beside_a_helper)
{
	enum { ROUNDS = 30, PENDING_AT_END = 3000 };
	uint32_t recorded = 0;

	for (int round = 0; round < ROUNDS; round++) {
		struct hsa_queue *queue = start(0, SIGNALS);
		pthread_t helper;

		memset(&threaded, 0, sizeof(threaded));
		for (uint64_t i = 0; i < PENDING_AT_END; i++)
			write_dispatch(queue, no_signal);
		for (uint64_t i = 0; i < PENDING_AT_END; i++)
			complete(signal_of(i), 1, 2);
		look();
		pthread_create(&helper, NULL, harvest_along, NULL);
		while (!atomic_load(&threaded.harvested))
			sched_yield();
		destroy_queue(queue);
		atomic_store(&threaded.is_over, true);
		pthread_join(helper, NULL);
		look();
		recorded += seen.count[EVENT_EXECUTION] + atomic_load(&threaded.harvested);
		stop();
	}
	CHECK_EQUAL(recorded, ROUNDS * PENDING_AT_END);
}

/* A runtime that has no more signals to give. */
TEST(without_signals)
{
	struct hsa_queue *queue = start(0, HSA_SIGNALS_FIRST + 1);

	for (int i = 0; i < HSA_SIGNALS_FIRST + 5; i++)
		write_dispatch(queue, no_signal);
	look();
	CHECK_EQUAL(seen.timed, HSA_SIGNALS_FIRST);
	CHECK_EQUAL(seen.untimed, 5);
	stop();
}

/* The program finds in its signal what it would have found without us, and before it can the record
 * is written. */
TEST(a_signal_of_the_programs_own)
{
	struct hsa_queue *queue = start(0, SIGNALS);
	hsa_signal own = {0};

	make_signal(1, &own);
	write_dispatch(queue, own);
	CHECK(signal_of(0).handle != own.handle);
	CHECK(hsa_is_pending());
	complete(signal_of(0), 300, 400);
	CHECK(!hsa_is_pending());
	CHECK_EQUAL(atomic_load(&hsa_signal_at(own)->value), 0);
	CHECK_EQUAL(hsa_signal_at(own)->start_ticks, 300);
	CHECK_EQUAL(hsa_signal_at(own)->end_ticks, 400);
	look();
	CHECK_EQUAL(seen.count[EVENT_EXECUTION], 1);
	CHECK_EQUAL(seen.execution.started, 3000);
	CHECK_EQUAL(atomic_load(&hsa_signal_at(signal_of(0))->value), 1);
	stop();
}

static hsa_status destroy_signal(hsa_signal signal)
{
	hsa_signal_destroy_function *destroy = (hsa_signal_destroy_function *)(uintptr_t)read_entry(
		tables.core, CORE_SIGNAL_DESTROY);

	return destroy(signal);
}

/* Nobody wants to know: the device writes to memory, and we to nothing. */
TEST(a_signal_that_the_program_destroys)
{
	struct hsa_queue *queue = start(0, SIGNALS);
	hsa_signal own = {0};

	make_signal(1, &own);
	write_dispatch(queue, own);
	CHECK_EQUAL(destroy_signal(own), HSA_SUCCESS);
	complete(signal_of(0), 300, 400);
	CHECK_EQUAL(atomic_load(&hsa_signal_at(own)->value), 1);
	CHECK_EQUAL(hsa_signal_at(own)->start_ticks, 0);
	look();
	CHECK_EQUAL(seen.execution.started, 3000);
	stop();
}

/* Shared with another process, which has given it up. */
TEST(a_signal_that_another_process_gave_up)
{
	struct hsa_queue *queue = start(0, SIGNALS);
	hsa_signal own = {0};

	make_signal(1, &own);
	hsa_signal_at(own)->kind = HSA_SIGNAL_KIND_INVALID;
	write_dispatch(queue, own);
	complete(signal_of(0), 300, 400);
	CHECK_EQUAL(atomic_load(&hsa_signal_at(own)->value), 0);
	stop();
}

static struct {
	hsa_signal signal;
	pthread_t thread;
} destroyer;

static void *destroy_it(void *unused)
{
	destroy_signal(destroyer.signal);
	return unused;
}

static void destroy_beside(hsa_signal signal)
{
	if (signal.handle != destroyer.signal.handle)
		return;
	pthread_create(&destroyer.thread, NULL, destroy_it, NULL);
	for (int i = 0; i < 1000; i++)
		sched_yield();
}

/* Another signal may have told the program that the work is done. */
TEST(a_signal_that_is_destroyed_beside_us)
{
	struct hsa_queue *queue = start(0, SIGNALS);

	make_signal(1, &destroyer.signal);
	write_dispatch(queue, destroyer.signal);
	runtime.on_subtract = destroy_beside;
	complete(signal_of(0), 300, 400);
	CHECK_EQUAL(atomic_load(&hsa_signal_at(destroyer.signal)->value), 0);
	pthread_join(destroyer.thread, NULL);
	CHECK(!hsa_signal_is_alive(destroyer.signal));
	stop();
}

/* The runtime's thread for signals is inside of a handler of the program's, which may wait for this
 * very signal: who looks completes it, once, and its slot is used again when our handler has been
 * called. */
TEST(a_handler_that_comes_late)
{
	struct hsa_queue *queue = start(0, SIGNALS);
	hsa_signal own = {0};
	uint32_t late;

	make_signal(3, &own);
	runtime.is_busy = true;
	write_dispatch(queue, own);
	complete(signal_of(0), 300, 400);
	CHECK(hsa_is_pending());
	CHECK_EQUAL(atomic_load(&hsa_signal_at(own)->value), 3);
	CHECK_EQUAL(hsa_harvest(&guest.thread), 0); /* it is given some time */
	while (hsa_is_pending())
		hsa_harvest(&guest.thread);
	CHECK_EQUAL(atomic_load(&hsa_signal_at(own)->value), 2);
	CHECK_EQUAL(hsa_signal_at(own)->end_ticks, 400);
	for (int i = 0; i < 100; i++)
		write_dispatch(queue, own);
	for (uint64_t i = 1; i <= 100; i++)
		CHECK(signal_of(i).handle != signal_of(0).handle);
	/* … and no more while it has not come */
	complete(signal_of(1), 300, 400);
	CHECK_EQUAL(hsa_harvest(&guest.thread), 1);
	CHECK_EQUAL(atomic_load(&hsa_signal_at(own)->value), 1);
	late = signal_index(signal_of(0));
	runtime.is_busy = false;
	runtime.on_signal[late](0, runtime.on_signal_data[late]);
	CHECK_EQUAL(atomic_load(&hsa_signal_at(own)->value), 1);
	write_dispatch(queue, own);
	CHECK_EQUAL(signal_of(101).handle, signal_of(0).handle);
	look();
	CHECK_EQUAL(seen.count[EVENT_EXECUTION], 2);
	CHECK_EQUAL(seen.execution.started, 3000);
	late = signal_index(signal_of(1));
	runtime.on_signal[late](0, runtime.on_signal_data[late]);
	stop();
}

/* Copies too, and without a ring for who looks. */
TEST(a_copy_whose_handler_comes_late)
{
	hsa_signal own = {0};

	start(0, SIGNALS);
	make_signal(1, &own);
	runtime.is_busy = true;
	CHECK_EQUAL(copy(gpu, cpu, own), HSA_SUCCESS);
	complete(runtime.copy_signal, 0, 0);
	while (hsa_is_pending())
		hsa_harvest(NULL);
	CHECK_EQUAL(atomic_load(&hsa_signal_at(own)->value), 0);
	runtime.is_busy = false;
	subtract(runtime.copy_signal, 0);
	stop();
}

/* Nobody would look: the program's signal is left in its place. */
TEST(without_a_helper)
{
	struct hsa_queue *queue = start(0, SIGNALS);
	hsa_signal own = {0};

	make_signal(1, &own);
	has_no_helper = true;
	write_dispatch(queue, own);
	has_no_helper = false;
	CHECK_EQUAL(signal_of(0).handle, own.handle);
	CHECK_EQUAL(guest.trouble[AMD_TROUBLE_SIGNALS], 1);
	CHECK(!hsa_is_pending());
	stop();
}

/* Handlers and who looks: each command ends once. */
TEST(handlers_beside_a_helper)
{
	enum { COMMANDS = 20000, UNDER_WAY = 500 };
	struct hsa_queue *queue = start(0, SIGNALS);
	pthread_t helpers[HARVESTERS];
	hsa_signal own = {0}, first = {0}, late;

	make_signal(COMMANDS, &own);
	make_signal(1, &first);
	runtime.is_busy = true; /* handlers are called here */
	write_dispatch(queue, first);
	late = signal_of(0);
	complete(late, 1, 2);
	look();
	/* While its handler has not come nobody waits for others. */
	while (hsa_is_pending())
		hsa_harvest(&guest.thread);
	memset(&threaded, 0, sizeof(threaded));
	for (int i = 0; i < HARVESTERS; i++)
		pthread_create(&helpers[i], NULL, harvest_along, NULL);
	for (uint64_t i = 1; i <= COMMANDS; i += UNDER_WAY) {
		for (uint64_t k = i; k < i + UNDER_WAY; k++)
			write_dispatch(queue, own);
		for (uint64_t k = i; k < i + UNDER_WAY; k++) {
			uint32_t index = signal_index(signal_of(k));

			complete(signal_of(k), 1, 2);
			runtime.on_signal[index](0, runtime.on_signal_data[index]);
		}
		look();
		CHECK_EQUAL(seen.timed, UNDER_WAY);
	}
	atomic_store(&threaded.is_over, true);
	for (int i = 0; i < HARVESTERS; i++)
		pthread_join(helpers[i], NULL);
	CHECK_EQUAL(atomic_load(&hsa_signal_at(own)->value), 0);
	CHECK(!hsa_is_pending());
	runtime.is_busy = false;
	subtract(late, 0);
	stop();
	CHECK_EQUAL(runtime.destroyed + 2, runtime.created); /* the program's own are there */
}

static struct hsa_slot *given_back;

static void give_back(void)
{
	if (given_back)
		hsa_signals_give(&given_back, 1);
	given_back = NULL;
}

/* A signal handler of the program's may exit where we have the lock. */
TEST(a_signal_that_is_given_back_under_the_lock)
{
	struct hsa_slot *slots[HSA_SIGNALS_FIRST];

	start(0, SIGNALS);
	CHECK_EQUAL(hsa_signals_take(HSA_QUIET, HSA_SIGNALS_FIRST, slots), HSA_SIGNALS_FIRST);
	given_back = slots[0];
	runtime.on_create = give_back;
	CHECK_EQUAL(hsa_signals_take(HSA_QUIET, 1, &slots[0]), 1);
	CHECK(!given_back);
	hsa_signals_give(slots, HSA_SIGNALS_FIRST);
	stop();
	CHECK_EQUAL(runtime.destroyed, runtime.created);
}

static uint32_t dispatch_with_signals(const struct hsa_queue *queue, uint32_t count)
{
	hsa_signal own = {0};

	make_signal(count, &own);
	for (uint32_t i = 0; i < count; i++)
		write_dispatch(queue, own);
	look();
	return seen.timed;
}

/* The driver's events are the program's too: a quarter is taken, and none that is not there. */
TEST(events_of_the_driver)
{
	struct hsa_queue *queue = start(0, SIGNALS);
	uint32_t destroyed;

	runtime.events = 4096;
	CHECK_EQUAL(dispatch_with_signals(queue, MAX_HSA_WAKING + 10), MAX_HSA_WAKING);
	CHECK_EQUAL(seen.untimed, 10);
	stop();
	memset(&runtime, 0, sizeof(runtime));
	runtime.most = SIGNALS;
	runtime.events = 20;
	record(0);
	make_tables(2, 592, 5, true);
	CHECK(OnLoad(&tables, 3, 0, NULL));
	CHECK_EQUAL(create_queue(gpu, 1024, &queue), HSA_SUCCESS);
	CHECK_EQUAL(dispatch_with_signals(queue, 30), 20);
	CHECK_EQUAL(guest.trouble[AMD_TROUBLE_SIGNALS], 10);
	destroyed = runtime.destroyed;
	CHECK_EQUAL(destroyed, 1);
	/* It does not try again and again. */
	CHECK_EQUAL(dispatch_with_signals(queue, 5), 0);
	CHECK_EQUAL(runtime.destroyed, destroyed);
	stop();
}

/* A handler that comes when the runtime has ended, and one that begins anew. */
TEST(a_signal_that_is_out_at_the_end)
{
	struct hsa_queue *queue = start(0, SIGNALS);
	hsa_signal_handler *late;
	void *data;

	CHECK_EQUAL(dispatch_with_signals(queue, 2), 2);
	late = runtime.on_signal[signal_index(signal_of(0))];
	data = runtime.on_signal_data[signal_index(signal_of(0))];
	REQUIRE(late);
	stop();
	late(0, data);
	queue = start(0, SIGNALS);
	CHECK_EQUAL(dispatch_with_signals(queue, 3), 3);
	CHECK(signal_of(0).handle != signal_of(1).handle);
	CHECK(signal_of(1).handle != signal_of(2).handle);
	stop();
}

/* Nobody would complete the program's: it keeps it. */
TEST(a_handler_that_is_refused)
{
	struct hsa_queue *queue = start(0, SIGNALS);
	hsa_signal own = {0};

	make_signal(1, &own);
	runtime.refuses_handlers = true;
	write_dispatch(queue, own);
	CHECK_EQUAL(signal_of(0).handle, own.handle);
	look();
	CHECK_EQUAL(seen.untimed, 1);
	CHECK_EQUAL(guest.trouble[AMD_TROUBLE_SIGNALS], 1);
	stop();
}

TEST(lite_leaves_signals_alone)
{
	struct hsa_queue *queue = start(AMD_OPTION_LITE, SIGNALS);
	hsa_signal own = {0};

	make_signal(1, &own);
	write_dispatch(queue, own);
	write_dispatch(queue, no_signal);
	CHECK_EQUAL(signal_of(0).handle, own.handle);
	CHECK(signal_of(1).handle);
	look();
	CHECK_EQUAL(seen.timed, 1);
	CHECK_EQUAL(seen.untimed, 1);
	CHECK_EQUAL(guest.trouble[AMD_TROUBLE_MODE], 1);
	stop();
}

static void write_batch(const struct hsa_queue *queue)
{
	struct hsa_dispatch_packet packets[5] = {0};

	for (int i = 0; i < 5; i++) {
		packets[i].header = i == 2 ? HSA_PACKET_BARRIER_AND : HSA_PACKET_DISPATCH;
		packets[i].kernel_object = 0x1000;
	}
	write_packets(queue, packets, 5);
}

TEST(batches)
{
	struct hsa_queue *queue = start(RING_OPTION_NATIVE, SIGNALS);

	write_batch(queue);
	look();
	CHECK_EQUAL(runtime.writes, 1);
	CHECK_EQUAL(signal_of(0).handle, 0);
	CHECK_EQUAL(seen.count[EVENT_LAUNCH], 0);
	CHECK_EQUAL(seen.count[EVENT_API], 2); /* with its barrier */
	CHECK_EQUAL(seen.api.argument, 4);
	CHECK_EQUAL(seen.api.stack, 7);
	CHECK_EQUAL(guest.trouble[AMD_TROUBLE_BATCHES], 4);
	stop();
	queue = start(AMD_OPTION_FULL | RING_OPTION_NATIVE, SIGNALS);
	write_batch(queue);
	look();
	CHECK_EQUAL(runtime.writes, 1);
	CHECK_EQUAL(runtime.written_count, 5);
	CHECK_EQUAL(signal_of(2).handle, 0);
	CHECK_EQUAL(seen.timed, 4);
	CHECK_EQUAL(seen.count[EVENT_API], 2);
	CHECK_EQUAL(seen.api.argument, 4);
	CHECK_EQUAL(guest.trouble[AMD_TROUBLE_BATCHES], 0);
	for (uint64_t i = 0; i < 5; i++)
		if (i != 2)
			complete(signal_of(i), 1, 2);
	CHECK_EQUAL(hsa_harvest(&guest.thread), 4);
	stop();
}

/* Its signals are used again; those of what never completed too. */
TEST(a_queue_that_is_destroyed)
{
	struct hsa_queue *queue = start(0, SIGNALS), *again = NULL;
	uint32_t created;

	for (int i = 0; i < 50; i++)
		write_dispatch(queue, no_signal);
	for (uint64_t i = 0; i < 20; i++)
		complete(signal_of(i), 1, 2);
	created = runtime.created;
	CHECK_EQUAL(destroy_queue(queue), HSA_SUCCESS);
	CHECK(!hsa_is_pending());
	look();
	CHECK_EQUAL(seen.count[EVENT_EXECUTION], 20);
	CHECK_EQUAL(create_queue(gpu, 1024, &again), HSA_SUCCESS);
	for (int i = 0; i < 50; i++)
		write_dispatch(again, no_signal);
	CHECK_EQUAL(runtime.created, created);
	stop();
}

static hsa_signal_value value_of_written(uint64_t index)
{
	return atomic_load(&hsa_signal_at(signal_of(index))->value);
}

/* When the runtime ends with a queue that a device still works for, what it may write to is neither
 * destroyed nor set. */
TEST(a_queue_that_is_there_at_the_end)
{
	struct hsa_queue *queue = NULL;

	memset(&runtime, 0, sizeof(runtime));
	runtime.most = SIGNALS;
	record(0);
	make_tables(1, 400, 0, false);
	CHECK(OnLoad(&tables, 1, 0, NULL));
	CHECK_EQUAL(create_queue(gpu, 64, &queue), HSA_SUCCESS);
	for (int i = 0; i < 8; i++)
		write_dispatch(queue, no_signal);
	CHECK_EQUAL(runtime.written_count, 9);
	CHECK_EQUAL(runtime.written[8].header, HSA_PACKET_BARRIER_AND);
	for (uint64_t i = 0; i < 5; i++)
		complete(signal_of(i), 1, 2);
	stop();
	CHECK_EQUAL(runtime.created - runtime.destroyed, 3 + 1);
	for (uint64_t i = 5; i < 9; i++)
		CHECK_EQUAL(value_of_written(i), 1);
}

/* Another thread counts what was written while a queue goes, and its index may be less than it
 * was. */
TEST(a_queue_that_is_not_followed_and_goes)
{
	struct hsa_queue *queue = NULL, *other = NULL;

	memset(&runtime, 0, sizeof(runtime));
	runtime.most = SIGNALS;
	record(0);
	make_tables(2, 624, 8, true);
	CHECK(OnLoad(&tables, 1, 0, NULL));
	CHECK_EQUAL(create_queue(gpu, 1024, &queue), HSA_SUCCESS);
	runtime.write_index = 12;
	runtime.on_destroy = hsa_count_not_followed;
	CHECK_EQUAL(destroy_queue(queue), HSA_SUCCESS);
	CHECK_EQUAL(guest.trouble[AMD_TROUBLE_NOT_FOLLOWED], 12);
	CHECK_EQUAL(create_queue(gpu, 1024, &other), HSA_SUCCESS);
	hsa_count_not_followed();
	runtime.write_index = 10;
	hsa_count_not_followed();
	CHECK_EQUAL(guest.trouble[AMD_TROUBLE_NOT_FOLLOWED], 24);
	stop();
}

TEST(hip_that_is_found_before_the_guest_is_told_of_where_it_is_wanted)
{
	for (uint32_t case_index = 0; case_index < 3; case_index++) {
		memset(&runtime, 0, sizeof(runtime));
		runtime.most = SIGNALS;
		hip_is_first = case_index > 0;
		record(case_index == 2 ? AMD_OPTION_NO_HIP : 0);
		make_tables(1, 400, 0, false);
		CHECK(OnLoad(&tables, 1, 0, NULL));
		CHECK_EQUAL(guest.trouble[AMD_TROUBLE_HIP_BEFORE], case_index == 1);
		stop();
	}
	hip_is_first = false;
}

/* Runtimes before 6.0 end the program when their queue is full: ours waits for room, by marks of
 * its own. */
TEST(a_queue_that_must_not_be_full)
{
	struct hsa_queue *queue = NULL;
	uint64_t marks = 0;

	memset(&runtime, 0, sizeof(runtime));
	runtime.most = SIGNALS;
	record(0);
	make_tables(1, 400, 0, false);
	CHECK(OnLoad(&tables, 1, 0, NULL));
	CHECK_EQUAL(create_queue(gpu, 64, &queue), HSA_SUCCESS);
	for (int i = 0; i < 48; i++)
		write_dispatch(queue, no_signal);
	for (uint64_t i = 0; i < runtime.written_count; i++)
		marks += runtime.written[i].header == HSA_PACKET_BARRIER_AND;
	CHECK_EQUAL(marks, 6);
	CHECK(runtime.written_count <= 56);
	for (uint64_t i = 0; i < runtime.written_count; i++)
		complete(signal_of(i), 1, 2);
	for (int i = 0; i < 48; i++)
		write_dispatch(queue, no_signal);
	CHECK(runtime.written_count <= 112);
	stop();
}

TEST(a_small_queue_that_must_not_be_full)
{
	struct hsa_queue *queue = NULL;

	memset(&runtime, 0, sizeof(runtime));
	runtime.most = SIGNALS;
	record(0);
	make_tables(1, 400, 0, false);
	CHECK(OnLoad(&tables, 1, 0, NULL));
	CHECK_EQUAL(create_queue(gpu, 32, &queue), HSA_SUCCESS);
	CHECK_EQUAL(runtime.plain, 1);
	CHECK_EQUAL(runtime.intercepted, 0);
	stop();
}

/* Switched off by the program, times would be gone. */
TEST(times_stay_on)
{
	struct hsa_queue *queue = start(0, SIGNALS);
	hsa_set_profiler_function *set =
		(hsa_set_profiler_function *)(uintptr_t)read_entry(tables.amd, AMD_SET_PROFILER);

	CHECK_EQUAL(runtime.profiled, 1);
	CHECK_EQUAL(set(queue, 0), HSA_SUCCESS);
	CHECK_EQUAL(runtime.profiled, 1);
	stop();
}

/* Inside of a call of a runtime above, what it launches first is that call: one row with its
 * interval. */
TEST(a_dispatch_inside_of_a_call)
{
	struct hsa_queue *queue = start(0, SIGNALS);
	struct hsa_caller caller;
	uint64_t first;

	hsa_caller_init(&caller, 300);
	caller.begin = 42;
	hsa_caller = &caller;
	write_dispatch(queue, no_signal);
	look();
	CHECK(caller.has_first);
	CHECK_EQUAL(seen.count[EVENT_LAUNCH], 0);
	first = caller.first.correlation;
	write_dispatch(queue, no_signal);
	look();
	CHECK_EQUAL(seen.count[EVENT_LAUNCH], 1);
	CHECK_EQUAL(seen.launch.head.detail & 0xffff, 300);
	CHECK_EQUAL(seen.launch.head.detail >> 24 & LAUNCH_FURTHER, LAUNCH_FURTHER);
	CHECK(seen.launch.enter > 42);
	hsa_caller = NULL;
	hsa_caller_put_first(guest_enter(), &caller, 99);
	look();
	CHECK_EQUAL(seen.launch.head.detail & 0xffff, 300);
	CHECK_EQUAL(seen.launch.head.detail >> 24 & LAUNCH_FURTHER, 0);
	CHECK_EQUAL(seen.launch.enter, 42);
	CHECK_EQUAL(seen.launch.exit, 99);
	CHECK_EQUAL(seen.launch.correlation, first);
	stop();
}

static uint64_t site_of(uint32_t function, uint32_t kernel, struct hsa_caller *caller)
{
	struct hsa_launch launch = {.kernel = kernel};

	hsa_caller = caller;
	hsa_launch_begin(guest_enter(), &launch, function);
	hsa_caller = NULL;
	return sampled_site;
}

/* All launches come from one place in the guest: the function and the kernel tell them apart. */
TEST(sites_of_launches)
{
	struct hsa_caller caller, again, elsewhere;
	uint64_t sites[5];

	start(0, SIGNALS);
	guest.thread.options |= RING_OPTION_NATIVE;
	atomic_store(&guest.region->detail, RING_DETAIL_SAMPLED | 8 << RING_DETAIL_SHIFT);
	hsa_caller_init(&caller, 300);
	hsa_caller_init(&again, 300);
	hsa_caller_init(&elsewhere, 300);
	elsewhere.site = guest_site(0x7000, 300, 0);
	sites[0] = site_of(1, 1, NULL);
	sites[1] = site_of(1, 2, NULL);
	sites[2] = site_of(2, 1, NULL);
	sites[3] = site_of(1, 1, &caller);
	sites[4] = site_of(1, 1, &elsewhere);
	for (int i = 0; i < 5; i++)
		for (int j = 0; j < i; j++)
			CHECK(sites[i] >> 1 != sites[j] >> 1);
	CHECK(site_of(1, 1, NULL) == sites[0]);
	CHECK(site_of(1, 1, &again) == sites[3]);
	stop();
}

/* A slot is used again, so what it had of one command must not be another's. */
TEST(parts_of_a_dispatch)
{
	struct hsa_queue *queue = start(0, SIGNALS);
	struct hsa_dispatch_packet packet = {.header = HSA_PACKET_DISPATCH, .group_bytes = 640};
	struct hsa_caller caller;

	hsa_caller_init(&caller, 303);
	caller.flags = LAUNCH_COOPERATIVE;
	caller.graph = 0x7700;
	hsa_caller = &caller;
	for (uint64_t i = 0; i < 2; i++) {
		write_packets(queue, &packet, 1);
		complete(signal_of(i), 100, 200);
		hsa_harvest(&guest.thread);
		look();
		CHECK_EQUAL(seen.parts.shape.local_bytes, 640);
		CHECK_EQUAL(seen.parts.graph, 0x7700);
		CHECK_EQUAL(record_get_hardware_queue(seen.execution.head.detail), queue->id + 1);
	}
	CHECK_EQUAL(caller.first.flags, LAUNCH_COOPERATIVE);
	CHECK_EQUAL(seen.launch.head.detail >> 24, LAUNCH_COOPERATIVE | LAUNCH_FURTHER);
	hsa_caller = NULL;
	write_dispatch(queue, no_signal);
	complete(signal_of(2), 100, 200);
	hsa_harvest(&guest.thread);
	look();
	CHECK_EQUAL(seen.execution.head.size, sizeof(struct record_execution));
	CHECK_EQUAL(seen.parts.graph, 0);
	stop();
}

static void end_the_copy(void)
{
	runtime.copy_time = 100;
	complete(runtime.copy_signal, 0, 0);
	look();
	CHECK_EQUAL(seen.with_times, 1);
}

/* Whatever a prefetch puts into queues is a migration that the program requested; a later command
 * is not. */
TEST(migrations_inside_of_a_call)
{
	struct hsa_queue *queue = start(0, SIGNALS);
	struct hsa_caller caller;
	hsa_signal own = {0};

	hsa_caller_init(&caller, 304);
	caller.command = COMMAND_MIGRATE;
	make_signal(10, &own);
	for (uint64_t i = 0; i < 4; i++) {
		hsa_caller = i < 2 ? &caller : NULL;
		if (i % 2) {
			CHECK_EQUAL(copy(gpu, cpu, own), HSA_SUCCESS);
			end_the_copy();
			CHECK_EQUAL(seen.parts.transfer.destination_memory, MEMORY_DEVICE);
		} else {
			write_dispatch(queue, no_signal);
			complete(signal_of(i / 2), 100, 200);
			hsa_harvest(&guest.thread);
			look();
		}
		CHECK_EQUAL(seen.count[EVENT_EXECUTION], 1);
		CHECK_EQUAL(seen.parts.transfer.migration,
			    i < 2 ? MIGRATION_REQUESTED : MIGRATION_UNKNOWN);
	}
	hsa_caller = NULL;
	stop();
}

/* A kernel of the runtime's own that copies is a copy, of what the engines have not copied. */
TEST(a_copy_by_a_kernel_inside_of_a_call)
{
	struct hsa_queue *queue = start(0, SIGNALS);
	struct hsa_caller caller;

	hsa_caller_init(&caller, 300);
	caller.command = COMMAND_FILL;
	caller.bytes = 4096;
	hsa_caller = &caller;
	write_dispatch(queue, no_signal);
	caller.later_bytes = 96;
	hsa_caller = NULL;
	hsa_caller_put_first(guest_enter(), &caller, 99);
	look();
	CHECK_EQUAL(seen.launch.head.detail >> 16 & 0xff, COMMAND_FILL);
	CHECK_EQUAL(seen.launch.bytes, 4000);
	stop();
}

/* ---- code ------------------------------------------------------------------------------------ */

static void freeze_code(hsa_executable executable)
{
	hsa_executable_freeze_function *freeze =
		(hsa_executable_freeze_function *)(uintptr_t)read_entry(tables.core,
									CORE_EXECUTABLE_FREEZE);

	freeze(executable, NULL);
}

static void load_code(hsa_executable executable, uint64_t object, const char *name)
{
	hsa_load_agent_code_function *load = (hsa_load_agent_code_function *)(uintptr_t)read_entry(
		tables.core, CORE_LOAD_AGENT_CODE);

	runtime.symbol_object = object;
	runtime.symbol_name = name;
	load(executable, gpu, (hsa_reader){0}, NULL, NULL);
	freeze_code(executable);
}

/* The same address is another kernel once its code was unloaded. */
TEST(names_of_kernels)
{
	struct hsa_queue *queue = start(0, SIGNALS);
	hsa_executable_destroy_function *destroy;
	uint32_t first;

	load_code((hsa_executable){5}, 0x1000, "one.kd");
	look();
	CHECK_EQUAL(seen.count[EVENT_CODE], 1); /* the code object */
	first = seen.code;
	write_dispatch(queue, no_signal);
	look();
	CHECK_TEXT(seen.name, "one");
	CHECK_EQUAL(seen.parent, first);
	first = seen.code;
	CHECK_EQUAL(seen.launch.kernel, first);
	destroy = (hsa_executable_destroy_function *)(uintptr_t)read_entry(tables.core,
									   CORE_EXECUTABLE_DESTROY);
	destroy((hsa_executable){5});
	load_code((hsa_executable){6}, 0x1000, "two.kd");
	write_dispatch(queue, no_signal);
	look();
	CHECK_TEXT(seen.name, "two");
	CHECK(seen.launch.kernel != first);
	destroy((hsa_executable){6});
	write_dispatch(queue, no_signal);
	look();
	CHECK_TEXT(seen.name, "kernel_0x1000");
	CHECK_EQUAL(guest.trouble[AMD_TROUBLE_KERNELS], 1);
	stop();
}

/* A kernel that was launched and has no name for want of room, and a code object whose kernels are
 * in none. */
TEST(more_code_than_there_is_room_for)
{
	enum { LOADS = 4096, NAME_BYTES = 4000, NAMES = (32 << 20) / (NAME_BYTES - 20) };
	struct hsa_queue *queue = start(0, SIGNALS);
	char name[NAME_BYTES];

	for (uint64_t i = 0; i < LOADS; i++) {
		load_code((hsa_executable){1000 + i}, 0x1000, "one.kd");
		if (i % 256 == 0)
			look();
	}
	CHECK_EQUAL(guest.trouble[RING_TROUBLE_OBJECTS], 0);
	load_code((hsa_executable){1}, 0x1000, "one.kd");
	CHECK_EQUAL(guest.trouble[RING_TROUBLE_OBJECTS], 1);
	memset(name, 'n', sizeof(name));
	for (int i = 0; i <= NAMES; i++) {
		snprintf(name + sizeof(name) - 20, 20, "%d", i);
		runtime.symbol_name = name;
		freeze_code((hsa_executable){1});
	}
	CHECK_EQUAL(guest.trouble[RING_TROUBLE_OBJECTS], 1);
	write_dispatch(queue, no_signal);
	look();
	CHECK_TEXT(seen.name, "kernel_0x1000");
	CHECK_EQUAL(guest.trouble[RING_TROUBLE_OBJECTS], 2);
	stop();
}

/* ---- samples of instructions ----------------------------------------------------------------- */

static struct hsa_queue *start_sampling(uint32_t method, const char *agent_name)
{
	struct hsa_queue *queue = NULL;

	memset(&runtime, 0, sizeof(runtime));
	runtime.most = SIGNALS;
	runtime.has_loader = true;
	runtime.pcs_method = method;
	runtime.agent_name = agent_name;
	record(AMD_OPTION_PCS | RING_OPTION_CODE);
	make_tables(2, 592, 5, true);
	tables.version.size_bytes = sizeof(tables);
	tables.pcs = (uint8_t *)&pcs_table;
	CHECK(OnLoad(&tables, 3, 0, NULL));
	CHECK_TEXT(runtime.pcs_calls, "");
	load_code((hsa_executable){5}, LOADED_AT + DESCRIPTOR, "one.kd");
	CHECK_EQUAL(create_queue(gpu, 1024, &queue), HSA_SUCCESS);
	CHECK_EQUAL(create_queue(gpu, 1024, &queue), HSA_SUCCESS);
	CHECK_TEXT(runtime.pcs_calls, "cs");
	look();
	return queue;
}

static void stop_sampling(void)
{
	stop();
	tables.version.size_bytes = 0;
	tables.pcs = NULL;
}

TEST(samples_of_instructions)
{
	enum { VALID = HSA_PCS_SNAPSHOT_VALID, WAITCNT = 2 << HSA_PCS_SNAPSHOT_REASON };
	struct hsa_pcs_sample three[] = {
		{.pc = LOADED_AT + 0x1a10, .time = 100, .snapshot = VALID | WAITCNT},
		{.pc = LOADED_AT + 0x1a20,
		 .time = 200,
		 .snapshot = VALID | WAITCNT | HSA_PCS_SNAPSHOT_ISSUED},
		{.pc = 0x123, .time = 250}};

	start_sampling(HSA_PCS_STOCHASTIC, "gfx942");
	CHECK_EQUAL(runtime.pcs_interval, 2048); /* a power of two below the most */
	runtime.on_samples(runtime.on_samples_data, sizeof(three), 5, copy_samples, three);
	runtime.on_samples(runtime.on_samples_data, sizeof(three), 0, refuse_samples, three);
	CHECK_EQUAL(guest.thread.writer.control->lost[EVENT_INSTRUCTION_SAMPLE], 5 + 3);
	guest_self = NULL;
	runtime.on_samples(runtime.on_samples_data, sizeof(three), 5, copy_samples, three);
	CHECK_EQUAL(guest.trouble[RING_TROUBLE_NO_RING_SAMPLE], 5 + 3);
	guest_self = &guest.thread;
	look();
	CHECK_EQUAL(seen.count[EVENT_INSTRUCTION_SAMPLE], 3);
	CHECK_EQUAL(seen.instructions[0].offset, 0xa10);
	CHECK_EQUAL(seen.instructions[0].time, 100);
	CHECK_EQUAL(seen.instructions[0].period, 2048);
	CHECK_EQUAL(seen.instructions[0].head.detail, 3 | 1 << 16);
	CHECK_EQUAL(seen.instructions[1].offset, 0xa20);
	CHECK_EQUAL(seen.instructions[1].head.detail, 1 << 16);
	CHECK_TEXT(seen.name, "one");
	CHECK_EQUAL(seen.instructions[0].code, seen.code);
	CHECK_EQUAL(seen.instructions[2].offset, 0x123);
	CHECK_EQUAL(seen.instructions[2].code, 0);
	stop_sampling();
	CHECK_TEXT(runtime.pcs_calls, "cstfd");
	look();
	CHECK_EQUAL(seen.count[EVENT_INSTRUCTION_SAMPLE], 1);
}

/* A host trap has an interval in microseconds, and no reason; a GPU whose bits are not known has
 * none either. */
TEST(samples_without_a_reason)
{
	struct hsa_pcs_sample one = {.pc = LOADED_AT + 0x1a10, .snapshot = HSA_PCS_SNAPSHOT_VALID};

	start_sampling(HSA_PCS_HOST_TRAP, "gfx942");
	CHECK_EQUAL(runtime.pcs_interval, 100);
	runtime.on_samples(runtime.on_samples_data, sizeof(one), 0, copy_samples, &one);
	look();
	CHECK_EQUAL(seen.instructions[0].period, 100000);
	CHECK_EQUAL(seen.instructions[0].head.detail, 0);
	stop_sampling();
	start_sampling(HSA_PCS_STOCHASTIC, "gfx1201");
	runtime.on_samples(runtime.on_samples_data, sizeof(one), 0, copy_samples, &one);
	look();
	CHECK_EQUAL(seen.instructions[0].head.detail, 1 << 16);
	stop_sampling();
}

/* Segments that lie outside of the file are nobody's. */
TEST(code_objects_that_make_no_sense)
{
	const Elf64_Ehdr before = object_file.head;
	struct hsa_pcs_sample one = {.pc = LOADED_AT + 0x1a10};
	static const uint64_t places[] = {UINT64_MAX, UINT64_MAX - 8, sizeof(object_file),
					  sizeof(object_file) - 8};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		object_file.head.e_phoff = places[i];
		object_file.head.e_phnum = UINT16_MAX;
		start_sampling(HSA_PCS_HOST_TRAP, "gfx90a");
		runtime.on_samples(runtime.on_samples_data, sizeof(one), 0, copy_samples, &one);
		look();
		CHECK_EQUAL(seen.instructions[0].offset, 0x1a10);
		stop_sampling();
	}
	object_file.head = before;
}

/* Loaded in no order, some of them unloaded, and others where those were. */
TEST(samples_among_many_code_objects)
{
	enum { MANY = 101, STRIDE = 37 };
	hsa_executable_destroy_function *destroy;
	char name[32];

	start_sampling(HSA_PCS_HOST_TRAP, "gfx90a");
	destroy = (hsa_executable_destroy_function *)(uintptr_t)read_entry(tables.core,
									   CORE_EXECUTABLE_DESTROY);
	destroy((hsa_executable){5});
	for (uint64_t i = 0; i < 2 * MANY; i++) {
		uint64_t place = i * STRIDE % MANY;

		if (i >= MANY && place % 3 == 0)
			destroy((hsa_executable){100 + place});
		if (i >= MANY && place % 6)
			continue;
		snprintf(name, sizeof(name), "kernel_%d.kd", (int)i);
		runtime.loaded_further = 2 * LOADED_BYTES * place;
		load_code((hsa_executable){100 + place},
			  LOADED_AT + runtime.loaded_further + DESCRIPTOR, name);
	}
	for (uint64_t place = 0; place < MANY; place++) {
		struct hsa_pcs_sample one = {.pc = LOADED_AT + 2 * LOADED_BYTES * place + 0x1a10};
		uint64_t i = 0;

		while (i * STRIDE % MANY != place)
			i++;
		look();
		runtime.on_samples(runtime.on_samples_data, sizeof(one), 0, copy_samples, &one);
		one.pc += LOADED_BYTES;
		runtime.on_samples(runtime.on_samples_data, sizeof(one), 0, copy_samples, &one);
		look();
		snprintf(name, sizeof(name), "kernel_%d", (int)(place % 6 ? i : i + MANY));
		CHECK_EQUAL(seen.instructions[0].code != 0, place % 3 != 0 || place % 6 == 0);
		CHECK_TEXT(seen.name, seen.instructions[0].code ? name : "");
		CHECK_EQUAL(seen.instructions[1].code, 0); /* between two */
	}
	stop_sampling();
}

TEST(nothing_that_samples)
{
	start(AMD_OPTION_PCS, SIGNALS);
	CHECK_EQUAL(guest.trouble[AMD_TROUBLE_NO_SAMPLES], 1);
	stop();
	start(0, SIGNALS);
	CHECK_EQUAL(guest.trouble[AMD_TROUBLE_NO_SAMPLES], 0);
	stop();
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* The times of the program's signal are told by us. */
TEST(copies)
{
	static const struct {
		hsa_agent to, from;
		uint32_t command;
	} directions[] = {
		{{2}, {1}, COMMAND_WRITE}, {{1}, {2}, COMMAND_READ}, {{2}, {2}, COMMAND_COPY}};
	hsa_copy_time_function *ask;
	struct hsa_times times;
	hsa_signal own = {0};

	start(0, SIGNALS);
	make_signal(3, &own);
	for (int i = 0; i < 3; i++) {
		runtime.copy_time = 100 * (uint64_t)(i + 1);
		CHECK_EQUAL(copy(directions[i].to, directions[i].from, own), HSA_SUCCESS);
		CHECK(runtime.copy_signal.handle != own.handle);
		complete(runtime.copy_signal, 0, 0);
		look();
		CHECK_EQUAL(seen.launch.head.detail >> 16 & 0xff, directions[i].command);
		CHECK_EQUAL(seen.launch.bytes, 4096);
		CHECK_EQUAL(seen.with_times, 1);
		CHECK_EQUAL(atomic_load(&hsa_signal_at(own)->value), 2 - i);
	}
	ask = (hsa_copy_time_function *)(uintptr_t)read_entry(tables.amd, AMD_COPY_TIME);
	runtime.copy_times_asked = 0;
	CHECK_EQUAL(ask(own, &times), HSA_SUCCESS);
	CHECK_EQUAL(runtime.copy_times_asked, 0);
	CHECK_EQUAL(times.end - times.start, 900);
	CHECK_EQUAL(times.start, seen.execution.started);
	/* used again by a copy that is the runtime's alone */
	CHECK_EQUAL(copy(cpu, cpu, own), HSA_SUCCESS);
	CHECK_EQUAL(runtime.copy_signal.handle, own.handle);
	ask(own, &times);
	CHECK_EQUAL(runtime.copy_times_asked, 1);
	stop();
}

/* A copy has no hardware queue: the number of its engine may be that of an HSA queue. */
TEST(ends_of_copies_on_engines)
{
	static const struct {
		hsa_agent to, from;
		uint32_t engine;
		bool is_forced;
		uint32_t to_memory, from_memory;
	} rows[] = {{{2}, {1}, 4, false, MEMORY_DEVICE, 0},
		    {{1}, {2}, 1, false, 0, MEMORY_DEVICE},
		    {{2}, {2}, 2, true, MEMORY_DEVICE, MEMORY_DEVICE}};
	hsa_async_copy_on_engine_function *call;
	hsa_signal own = {0};

	start(0, SIGNALS);
	call = (hsa_async_copy_on_engine_function *)(uintptr_t)read_entry(tables.amd,
									  AMD_ASYNC_COPY_ON_ENGINE);
	make_signal(10, &own);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CHECK_EQUAL(call(NULL, rows[i].to, NULL, rows[i].from, 4096, 0, NULL, own,
				 rows[i].engine, rows[i].is_forced),
			    HSA_SUCCESS);
		end_the_copy();
		CHECK_EQUAL(record_get_hardware_queue(seen.execution.head.detail), 0);
		CHECK_EQUAL(seen.parts.transfer.destination_memory, rows[i].to_memory);
		CHECK_EQUAL(seen.parts.transfer.source_memory, rows[i].from_memory);
		CHECK_EQUAL(seen.parts.transfer.destination_device, rows[i].to_memory ? 1 : 0);
		CHECK_EQUAL(seen.parts.transfer.source_device, rows[i].from_memory ? 1 : 0);
	}
	stop();
}

/* The agent of a box copies it, and may own neither of its ends. */
TEST(ends_of_boxes)
{
	static const struct hsa_extent size = {16, 2, 2}, corner;
	hsa_async_copy_rect_function *call;
	hsa_signal own = {0};

	start(0, SIGNALS);
	call = (hsa_async_copy_rect_function *)(uintptr_t)read_entry(
		tables.amd, AMD_ASYNC_COPY_RECT + AMD_INSERTED_BYTES);
	make_signal(10, &own);
	for (uint32_t direction = HSA_COPY_HOST_TO_DEVICE; direction <= HSA_COPY_DEVICE_TO_DEVICE;
	     direction++) {
		bool is_to = direction != HSA_COPY_DEVICE_TO_HOST;
		bool is_from = direction != HSA_COPY_HOST_TO_DEVICE;

		CHECK_EQUAL(call(NULL, &corner, NULL, &corner, &size, gpu, direction, 0, NULL, own),
			    HSA_SUCCESS);
		end_the_copy();
		CHECK_EQUAL(seen.parts.transfer.destination_memory, is_to ? MEMORY_DEVICE : 0);
		CHECK_EQUAL(seen.parts.transfer.source_memory, is_from ? MEMORY_DEVICE : 0);
		CHECK_EQUAL(seen.parts.transfer.destination_device, 0);
		CHECK_EQUAL(seen.parts.transfer.source_device, 0);
	}
	stop();
}

/* A program may ask for them all at its end. */
TEST(times_of_many_copies)
{
	enum { MANY = 1000 };
	static hsa_signal own[MANY];
	hsa_copy_time_function *ask;
	struct hsa_times times;

	start(0, SIGNALS);
	for (int i = 0; i < MANY; i++) {
		make_signal(1, &own[i]);
		runtime.copy_time = 100000 + 1000 * (uint64_t)i;
		CHECK_EQUAL(copy(gpu, cpu, own[i]), HSA_SUCCESS);
		complete(runtime.copy_signal, 0, 0);
	}
	ask = (hsa_copy_time_function *)(uintptr_t)read_entry(tables.amd, AMD_COPY_TIME);
	runtime.copy_times_asked = 0;
	for (int i = 0; i < MANY; i++) {
		CHECK_EQUAL(ask(own[i], &times), HSA_SUCCESS);
		CHECK_EQUAL(times.start, 100000 + 1000 * (uint64_t)i);
		CHECK_EQUAL(times.end, times.start + 900);
	}
	CHECK_EQUAL(runtime.copy_times_asked, 0);
	stop();
}

/* Those that return when they are done have no times, and a direction by whose memory it is. */
TEST(copies_that_are_waited_for)
{
	static const struct {
		uintptr_t to, from;
		uint32_t command, count;
	} rows[] = {{0x1000, 8, COMMAND_WRITE, 1},
		    {8, 0x1000, COMMAND_READ, 1},
		    {0x1000, 0x2000, COMMAND_COPY, 1},
		    {0x1000, 0x100, COMMAND_WRITE, 1},
		    {0x200, 0x1000, COMMAND_READ, 1},
		    {0x1000, 0x300, COMMAND_WRITE, 1},
		    {0x400, 0x1000, COMMAND_READ, 1},
		    {0x1000, 0x500, COMMAND_WRITE, 1},
		    {8, 16, 0, 0}};
	hsa_memory_copy_function *call;
	hsa_memory_fill_function *fill;

	start(0, SIGNALS);
	call = (hsa_memory_copy_function *)(uintptr_t)read_entry(tables.core, CORE_MEMORY_COPY);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CHECK_EQUAL(call((void *)rows[i].to, (void *)rows[i].from, 300), HSA_SUCCESS);
		look();
		CHECK_EQUAL(seen.count[EVENT_LAUNCH], rows[i].count);
		CHECK_EQUAL(seen.untimed, rows[i].count);
		CHECK_EQUAL(seen.launch.head.detail >> 16 & 0xff, rows[i].command);
		CHECK_EQUAL(seen.launch.bytes, 300 * rows[i].count);
		CHECK_EQUAL(seen.count[EVENT_EXECUTION], rows[i].count);
		if (!rows[i].count)
			continue;
		CHECK_EQUAL(seen.parts.transfer.destination_memory, memory_of(rows[i].to));
		CHECK_EQUAL(seen.parts.transfer.source_memory, memory_of(rows[i].from));
		CHECK_EQUAL(seen.parts.transfer.source_device, rows[i].from < 0x1000 ? 0 : 1);
	}
	fill = (hsa_memory_fill_function *)(uintptr_t)read_entry(tables.amd, 208);
	CHECK_EQUAL(fill((void *)0x1000, 1, 100), HSA_SUCCESS);
	look();
	CHECK_EQUAL(seen.launch.head.detail >> 16 & 0xff, COMMAND_FILL);
	CHECK_EQUAL(seen.launch.head.detail >> 24 & LAUNCH_BLOCKING, LAUNCH_BLOCKING);
	CHECK_EQUAL(seen.launch.bytes, 400);
	CHECK_EQUAL(seen.parts.transfer.destination_device, 1);
	CHECK_EQUAL(seen.parts.transfer.source_memory, MEMORY_UNKNOWN);
	runtime.refuses_copies = true;
	CHECK_EQUAL(fill((void *)0x1000, 1, 100), HSA_ERROR);
	look();
	CHECK_EQUAL(seen.launch.result, HSA_ERROR);
	CHECK_EQUAL(seen.count[EVENT_EXECUTION], 0);
	stop();
}

/* The pieces of a batch: nothing of them is changed. */
TEST(copies_in_a_batch)
{
	static const hsa_agent targets[] = {{1}, {1}};
	static const size_t sizes[] = {10, 20};
	static const struct hsa_copy_piece pieces[] = {
		{.size = 100, .from_agent = {1}, .to_agent = {2}, .completion = {77}},
		{.entries = 2,
		 .from_agent = {2},
		 .to_agents = targets,
		 .sizes = sizes,
		 .completion = {77}},
		{.type = HSA_PIECE_BROADCAST,
		 .entries = 2,
		 .from_agent = {2},
		 .to_agents = targets,
		 .size = 7,
		 .completion = {77}},
		{.type = HSA_PIECE_SWAP,
		 .from_agent = {2},
		 .to_agent = {2},
		 .size = 5,
		 .size_back = 6,
		 .completion = {77}},
		{.type = HSA_PIECE_LAST + 1, .from_agent = {2}, .completion = {77}},
	};
	static const struct {
		uint32_t command, bytes, to_device, from_device;
	} want[] = {{COMMAND_WRITE, 100, 1, 0},
		    {COMMAND_READ, 30, 0, 1},
		    {COMMAND_READ, 14, 0, 1},
		    {COMMAND_COPY, 11, 1, 1}};
	hsa_copy_batch_function *call;

	memset(&runtime, 0, sizeof(runtime));
	runtime.most = SIGNALS;
	record(0);
	make_tables(2, 744, 0x12, true);
	CHECK(OnLoad(&tables, 3, 0, NULL));
	call = (hsa_copy_batch_function *)(uintptr_t)read_entry(tables.amd, 640);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		look();
		CHECK_EQUAL(call(&pieces[i], 1, 0, NULL), HSA_SUCCESS);
		look();
		CHECK_EQUAL(seen.untimed, 1);
		CHECK_EQUAL(seen.launch.head.detail >> 16 & 0xff, want[i].command);
		CHECK_EQUAL(seen.launch.bytes, want[i].bytes);
		CHECK_EQUAL(seen.parts.transfer.destination_device, want[i].to_device);
		CHECK_EQUAL(seen.parts.transfer.source_device, want[i].from_device);
	}
	call(pieces, 5, 0, NULL);
	look();
	/* Of a kind that is not known it is not known who copies. */
	CHECK_EQUAL(seen.count[EVENT_LAUNCH], 4);
	stop();
}

/* What the program put between its dispatches; not what a call above did, and not our own. */
TEST(barriers)
{
	static const struct {
		uint16_t header, format;
		uint32_t function;
	} rows[] = {{HSA_PACKET_BARRIER_AND, 0, HSA_CALL_BARRIER_AND},
		    {HSA_PACKET_BARRIER_OR, 0, HSA_CALL_BARRIER_OR},
		    {HSA_PACKET_VENDOR, 2, HSA_CALL_BARRIER_VALUE},
		    {HSA_PACKET_VENDOR, 1, 0}};
	struct hsa_queue *queue = start(0, SIGNALS);
	struct hsa_caller caller;

	for (int i = 0; i < 4; i++) {
		struct hsa_dispatch_packet packet = {.header = rows[i].header,
						     .dimensions = rows[i].format};

		write_packets(queue, &packet, 1);
		look();
		CHECK_EQUAL(seen.count[EVENT_API], rows[i].function != 0);
		CHECK_EQUAL(seen.api.head.detail & 0xffff, rows[i].function);
		hsa_caller_init(&caller, 300);
		hsa_caller = &caller;
		write_packets(queue, &packet, 1);
		hsa_caller = NULL;
		look();
		CHECK_EQUAL(seen.count[EVENT_API], 0);
	}
	CHECK_EQUAL(runtime.written_count, 8);
	stop();
}

/* The runtime refuses it, and tells nobody times of what it was. */
TEST(a_copy_with_a_signal_that_is_destroyed)
{
	hsa_copy_time_function *ask;
	struct hsa_times times;
	hsa_signal own = {0};

	start(0, SIGNALS);
	make_signal(1, &own);
	CHECK_EQUAL(copy(gpu, cpu, own), HSA_SUCCESS);
	complete(runtime.copy_signal, 0, 0);
	CHECK_EQUAL(destroy_signal(own), HSA_SUCCESS);
	ask = (hsa_copy_time_function *)(uintptr_t)read_entry(tables.amd, AMD_COPY_TIME);
	CHECK_EQUAL(ask(own, &times), HSA_ERROR_INVALID_SIGNAL);
	CHECK_EQUAL(copy(gpu, cpu, own), HSA_SUCCESS);
	CHECK_EQUAL(runtime.copy_signal.handle, own.handle);
	stop();
}

static void wait_once(hsa_signal signal)
{
	hsa_signal_wait_function *wait = (hsa_signal_wait_function *)(uintptr_t)read_entry(
		tables.core, CORE_SIGNAL_WAIT_SCACQUIRE);

	wait(signal, 0, 0, 0, 0);
}

TEST(what_the_runtime_waits_for_itself)
{
	hsa_signal own = {0};

	start(0, SIGNALS);
	make_signal(0, &own);
	runtime.waits_for_code = true;
	runtime.copy_signal = own;
	guest_self = NULL;
	load_code((hsa_executable){5}, 0x1000, "one.kd");
	CHECK_EQUAL(guest.trouble[RING_TROUBLE_NO_RING], 0);
	guest_self = &guest.thread;
	load_code((hsa_executable){6}, 0x2000, "two.kd");
	look();
	CHECK_EQUAL(seen.count[EVENT_API], 0);
	wait_once(own);
	look();
	CHECK_EQUAL(seen.count[EVENT_API], 1);
	stop();
}

/* More threads than rings: nothing of what they do is in the trace, and all of it is counted. */
TEST(a_thread_without_a_ring)
{
	struct hsa_dispatch_packet barrier = {.header = HSA_PACKET_BARRIER_AND};
	struct hsa_queue *queue = start(0, SIGNALS);
	hsa_memory_copy_function *copy_now =
		(hsa_memory_copy_function *)(uintptr_t)read_entry(tables.core, CORE_MEMORY_COPY);
	hsa_signal own = {0};

	make_signal(2, &own);
	guest_self = NULL;
	write_dispatch(queue, no_signal);
	CHECK_EQUAL(guest.trouble[RING_TROUBLE_NO_RING_LAUNCH], 1);
	copy(gpu, cpu, own);
	CHECK_EQUAL(guest.trouble[RING_TROUBLE_NO_RING_LAUNCH], 2);
	copy_now((void *)8, (void *)16, 300);
	copy_now((void *)0x1000, (void *)8, 300);
	CHECK_EQUAL(guest.trouble[RING_TROUBLE_NO_RING_LAUNCH], 3);
	CHECK_EQUAL(guest.trouble[RING_TROUBLE_NO_RING], 0);
	wait_once(own);
	CHECK_EQUAL(guest.trouble[RING_TROUBLE_NO_RING], 1);
	write_packets(queue, &barrier, 1);
	CHECK_EQUAL(guest.trouble[RING_TROUBLE_NO_RING], 2);
	write_batch(queue);
	CHECK_EQUAL(guest.trouble[RING_TROUBLE_NO_RING], 4); /* with its barrier */
	CHECK_EQUAL(guest.trouble[AMD_TROUBLE_BATCHES], 4);
	CHECK_EQUAL(guest.trouble[RING_TROUBLE_OBJECTS], 0);
	load_code((hsa_executable){5}, 0x1000, "one.kd");
	CHECK_EQUAL(guest.trouble[RING_TROUBLE_OBJECTS], 1);
	CHECK_EQUAL(guest.trouble[RING_TROUBLE_TRACKING], 0);
	guest_self = &guest.thread;
	look();
	CHECK_EQUAL(seen.count[EVENT_LAUNCH] + seen.count[EVENT_API] + seen.count[EVENT_CODE], 0);
	stop();
}

TEST(a_batch_without_a_ring)
{
	struct hsa_queue *queue = start(AMD_OPTION_FULL, SIGNALS);

	guest_self = NULL;
	write_batch(queue);
	CHECK_EQUAL(guest.trouble[RING_TROUBLE_NO_RING_LAUNCH], 4);
	CHECK_EQUAL(guest.trouble[AMD_TROUBLE_BATCHES], 0);
	guest_self = &guest.thread;
	stop();
}

/* What others have launched: a handler's thread, and a helper. Not what an earlier recorder has to
 * do with. */
TEST(times_that_come_to_a_thread_without_a_ring)
{
	struct hsa_queue *queue = start(0, SIGNALS);
	hsa_signal own = {0};

	make_signal(2, &own);
	write_dispatch(queue, own);
	write_dispatch(queue, no_signal);
	CHECK_EQUAL(copy(gpu, cpu, own), HSA_SUCCESS);
	guest_self = NULL;
	complete(signal_of(0), 1, 2);
	complete(signal_of(1), 1, 2);
	complete(runtime.copy_signal, 1, 2);
	CHECK_EQUAL(hsa_harvest(guest_enter()), 1);
	CHECK_EQUAL(guest.trouble[RING_TROUBLE_TRACKING], 3);
	CHECK_EQUAL(atomic_load(&hsa_signal_at(own)->value), 0);
	guest_self = &guest.thread;
	write_dispatch(queue, no_signal);
	atomic_fetch_add(&guest_page.mode, 1);
	complete(signal_of(2), 1, 2);
	CHECK_EQUAL(hsa_harvest(NULL), 1);
	CHECK_EQUAL(guest.trouble[RING_TROUBLE_TRACKING], 3);
	stop();
}

TEST(a_copy_that_is_refused)
{
	hsa_signal own = {0};

	start(0, SIGNALS);
	make_signal(1, &own);
	runtime.refuses_copies = true;
	CHECK_EQUAL(copy(gpu, cpu, own), HSA_ERROR);
	look();
	CHECK_EQUAL(seen.launch.result, HSA_ERROR);
	CHECK_EQUAL(seen.launch.correlation, 0);
	CHECK_EQUAL(seen.count[EVENT_EXECUTION], 0);
	CHECK_EQUAL(atomic_load(&hsa_signal_at(own)->value), 1);
	stop();
}

/* ---- the end --------------------------------------------------------------------------------- */

TEST(kernels_and_no_queue)
{
	memset(&runtime, 0, sizeof(runtime));
	runtime.most = SIGNALS;
	record(0);
	make_tables(2, 592, 5, true);
	CHECK(OnLoad(&tables, 1, 0, NULL));
	load_code((hsa_executable){5}, 0x1000, "one.kd");
	guest.backend.at_exit();
	CHECK_EQUAL(guest.trouble[AMD_TROUBLE_NO_QUEUE], 1);
	stop();
}

/* One that never completes is given up after a while: 100 ms with what the helper is given. */
TEST(the_end_does_not_wait_for_ever)
{
	struct hsa_queue *queue = start(0, SIGNALS);

	write_dispatch(queue, no_signal);
	write_dispatch(queue, no_signal);
	complete(signal_of(1), 1, 2);
	helper_wait_ms = 0;
	dream.slept_ns = 0;
	dream.is_on = true;
	guest.backend.at_exit();
	dream.is_on = false;
	CHECK(dream.slept_ns > 0);
	CHECK(dream.slept_ns + 1000000 * helper_wait_ms <= 100000000);
	look();
	CHECK_EQUAL(seen.count[EVENT_LAUNCH], 2);
	CHECK_EQUAL(seen.count[EVENT_EXECUTION], 1);
	stop();
}

static long waits_of_its_own(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

/* A program that exits shuts the runtime down then: the second end takes what is there and waits no
 * more. */
static struct hsa_queue *interrupted;

static void destroy_interrupted(void)
{
	struct hsa_queue *queue = interrupted;

	interrupted = NULL;
	if (queue)
		destroy_queue(queue);
}

/* As a handler of a signal would, which has interrupted the thread while it takes the times of that
 * queue. */
TEST(a_queue_that_ends_inside_of_the_taking_of_its_times)
{
	struct hsa_queue *queue = start(0, SIGNALS);

	write_dispatch(queue, no_signal);
	write_dispatch(queue, no_signal);
	complete(signal_of(0), 1, 2);
	interrupted = queue;
	runtime.on_time = destroy_interrupted;
	hsa_harvest(&guest.thread);
	runtime.on_time = NULL;
	CHECK(!interrupted);
	CHECK(!hsa_is_pending());
	look();
	CHECK_EQUAL(seen.count[EVENT_EXECUTION], 1);
	stop();
}

/* What the helper may be asking about is not destroyed under it. */
TEST(the_end_while_the_helper_is_in_the_runtime)
{
	struct hsa_queue *queue = start(0, SIGNALS);

	write_dispatch(queue, no_signal);
	complete(signal_of(0), 1, 2);
	helper_stays = true;
	stop();
	helper_stays = false;
	CHECK_EQUAL(runtime.destroyed, 0);
}

TEST(the_end_waits_once)
{
	struct hsa_queue *queue = start(0, SIGNALS);
	long waits;

	write_dispatch(queue, no_signal);
	guest.backend.at_exit();
	waits = waits_of_its_own();
	stop();
	CHECK(waits_of_its_own() - waits < 5);
}

/* Pairs of clocks are close to each other when a runtime begins, its second time too. */
TEST(clocks_of_a_second_runtime)
{
	start(0, SIGNALS);
	for (int i = 0; i < 20; i++)
		hsa_read_clock(&guest.thread, true);
	stop();
	start(0, SIGNALS);
	look();
	usleep(10000);
	hsa_read_clock(&guest.thread, false);
	look();
	CHECK_EQUAL(seen.count[EVENT_CLOCK_PAIR], 1);
	stop();
}

/* ---- forks ----------------------------------------------------------------------------------- */

/* A thread that is inside of the runtime, under a lock of ours, until it is told to go on. */
static void *load_and_stall(void *unused)
{
	guest_self = &stalled.thread;
	load_code((hsa_executable){7}, LOADED_AT + DESCRIPTOR, "stalled.kd");
	return unused;
}

static void *take_and_stall(void *unused)
{
	struct hsa_slot *slot;

	guest_self = &stalled.thread;
	/* The first is there already. */
	for (int i = 0; i < 2; i++)
		hsa_signals_take(HSA_WAKING, 1, &slot);
	return unused;
}

/* In a child, with seconds to live: what a program does there. Nothing is asked of the runtime on
 * our account. */
static void use_in_child(void)
{
	uint32_t created = runtime.created;
	struct hsa_queue *queue = NULL;
	hsa_signal own = {1};

	alarm(20);
	runtime.on_symbol = runtime.on_create = NULL;
	atomic_store(&guest_page.mode, GUEST_FRESH);
	load_code((hsa_executable){8}, LOADED_AT + DESCRIPTOR, "child.kd");
	copy(gpu, cpu, own);
	create_queue(gpu, 1024, &queue);
	OnUnload();
	_exit(runtime.copy_signal.handle == own.handle && runtime.created == created &&
			      runtime.intercepted == 1 && !runtime.destroyed &&
			      strlen(runtime.pcs_calls) == 2
		      ? 0
		      : 1);
}

/* One that only ends: the runtime's own destructors may shut it down. */
static void end_child(void)
{
	alarm(20);
	atomic_store(&guest_page.mode, GUEST_FRESH);
	OnUnload();
	_exit(!runtime.destroyed && strlen(runtime.pcs_calls) == 2 ? 0 : 1);
}

static int status_of_child(void (*run)(void))
{
	pid_t child = fork();
	int status = -1;

	if (child == 0)
		run();
	waitpid(child, &status, 0);
	return status;
}

/* A child has copies of our locks, of threads that it does not have, and the sessions of its
 * parent. */
TEST(a_fork_while_locks_are_held)
{
	static void *(*const threads[])(void *) = {load_and_stall, take_and_stall};

	for (int i = 0; i < 2; i++) {
		pthread_t holder;

		start_sampling(HSA_PCS_STOCHASTIC, "gfx942");
		runtime.intercepted = 1;
		memset(&stalled, 0, sizeof(stalled));
		atomic_store(&stalled.is_armed, true);
		if (i == 0)
			runtime.on_symbol = stall;
		else
			runtime.on_create = stall;
		pthread_create(&holder, NULL, threads[i], NULL);
		while (!atomic_load(&stalled.is_in))
			sched_yield();
		CHECK_EQUAL(status_of_child(use_in_child), 0);
		CHECK_EQUAL(status_of_child(end_child), 0);
		atomic_store(&stalled.resumes, true);
		pthread_join(holder, NULL);
		stop_sampling();
	}
}

/* ---- errno ----------------------------------------------------------------------------------- */

#define KEEPS_ERRNO(call)                  \
	do {                               \
		errno = EXDEV;             \
		call;                      \
		CHECK_EQUAL(errno, EXDEV); \
	} while (0)

TEST(errno_is_the_programs)
{
	struct hsa_queue *queue = start(0, SIGNALS);
	hsa_executable_destroy_function *destroy;
	hsa_memory_copy_function *copy_now;
	hsa_signal own = {0};

	make_signal(9, &own);
	KEEPS_ERRNO(load_code((hsa_executable){5}, 0x1000, "one.kd"));
	destroy = (hsa_executable_destroy_function *)(uintptr_t)read_entry(tables.core,
									   CORE_EXECUTABLE_DESTROY);
	copy_now = (hsa_memory_copy_function *)(uintptr_t)read_entry(tables.core, CORE_MEMORY_COPY);
	KEEPS_ERRNO(create_queue(gpu, 1024, &queue));
	KEEPS_ERRNO(write_dispatch(queue, no_signal));
	KEEPS_ERRNO(write_dispatch(queue, own));
	KEEPS_ERRNO(write_batch(queue));
	KEEPS_ERRNO(complete(signal_of(0), 1, 2));
	KEEPS_ERRNO(hsa_harvest(&guest.thread));
	KEEPS_ERRNO(copy(gpu, cpu, own));
	KEEPS_ERRNO(copy_now((void *)0x1000, (void *)8, 300));
	KEEPS_ERRNO(destroy((hsa_executable){5}));
	KEEPS_ERRNO(destroy_queue(queue));
	stop();
}

int main(void)
{
	/* First: it asks whether any queue was ever met. */
	RUN(kernels_and_no_queue);
	RUN(tables_of_each_release);
	RUN(tables_that_are_too_short);
	RUN(without_a_recorder_all_stays_as_it_is);
	RUN(force);
	RUN(queues_by_request);
	RUN(queues_of_a_tool_that_came_before);
	RUN(plain_queues_of_a_tool_that_came_before);
	RUN(queues_of_a_tool_that_came_before_and_a_refusal);
	RUN(queues_of_a_tool_that_came_after);
	RUN(a_guest_that_is_named_twice);
	RUN(the_guest_is_the_first_of_the_tools);
	RUN(dispatches_have_times);
	RUN(one_that_hangs_hides_no_other);
	RUN(no_signal_is_made_in_steady_state);
	RUN(beyond_4096_a_dispatch_goes_without);
	RUN(done_and_not_looked_at);
	RUN(a_harvester_that_loses_its_processor);
	RUN(harvesters_side_by_side);
	RUN(a_queue_that_ends_beside_a_helper);
	RUN(without_signals);
	RUN(a_signal_of_the_programs_own);
	RUN(a_signal_that_the_program_destroys);
	RUN(a_signal_that_another_process_gave_up);
	RUN(a_signal_that_is_destroyed_beside_us);
	RUN(a_handler_that_comes_late);
	RUN(a_copy_whose_handler_comes_late);
	RUN(without_a_helper);
	RUN(handlers_beside_a_helper);
	RUN(a_signal_that_is_given_back_under_the_lock);
	RUN(events_of_the_driver);
	RUN(a_signal_that_is_out_at_the_end);
	RUN(a_handler_that_is_refused);
	RUN(lite_leaves_signals_alone);
	RUN(batches);
	RUN(a_queue_that_is_destroyed);
	RUN(a_queue_that_is_there_at_the_end);
	RUN(a_queue_that_is_not_followed_and_goes);
	RUN(hip_that_is_found_before_the_guest_is_told_of_where_it_is_wanted);
	RUN(a_queue_that_must_not_be_full);
	RUN(a_small_queue_that_must_not_be_full);
	RUN(times_stay_on);
	RUN(a_dispatch_inside_of_a_call);
	RUN(sites_of_launches);
	RUN(parts_of_a_dispatch);
	RUN(a_copy_by_a_kernel_inside_of_a_call);
	RUN(migrations_inside_of_a_call);
	RUN(names_of_kernels);
	RUN(more_code_than_there_is_room_for);
	RUN(samples_of_instructions);
	RUN(samples_without_a_reason);
	RUN(code_objects_that_make_no_sense);
	RUN(samples_among_many_code_objects);
	RUN(nothing_that_samples);
	RUN(copies);
	RUN(ends_of_copies_on_engines);
	RUN(ends_of_boxes);
	RUN(times_of_many_copies);
	RUN(copies_that_are_waited_for);
	RUN(copies_in_a_batch);
	RUN(barriers);
	RUN(a_copy_with_a_signal_that_is_destroyed);
	RUN(what_the_runtime_waits_for_itself);
	RUN(a_thread_without_a_ring);
	RUN(a_batch_without_a_ring);
	RUN(times_that_come_to_a_thread_without_a_ring);
	RUN(a_copy_that_is_refused);
	RUN(the_end_does_not_wait_for_ever);
	RUN(the_end_waits_once);
	RUN(a_queue_that_ends_inside_of_the_taking_of_its_times);
	RUN(the_end_while_the_helper_is_in_the_runtime);
	RUN(clocks_of_a_second_runtime);
	RUN(a_fork_while_locks_are_held);
	RUN(errno_is_the_programs);
	return harness_end();
}
