/* SPDX-License-Identifier: MIT
 *
 * inject/hsa.c - the HSA guest: taken in by AMD's runtime, which has us look at its tables
 *
 * Runs in:  the profiled process: OnLoad inside of hsa_init, the rest in the program's own calls
 * Gets:     HSA_TOOLS_LIB's entry points, calls through the runtime's tables
 * Gives:    queues that are followed, copies, code and waits to the other files
 * Owns:     the functions that were in the tables before
 * Fails:    never towards the program: without a recorder, or with tables that are not known, all stays as it was
 * Why:      the program's calls go through tables that the runtime hands to tools at its start. They grow from release
 *           to release, and once entries came in between while the version stayed: what is where is told by their size,
 *           and nothing beyond it is read, so that one library serves ROCm 5.2 to 10.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "inject/hsa.h"

#define EXPORTED __attribute__((visibility("default")))

/* LAST_MS: that what is pending is given at the end, once. STOP_MS: … and the helper, to come out of the runtime. */
enum { LAST_MS = 80, STOP_MS = 20 };

struct hsa_functions hsa_next;
uint32_t hsa_options;

static struct {
	_Atomic bool is_loaded;
	bool is_overflow_fatal, overflows;
	bool has_waited; /* for what was pending at the end */
	/* Another tool of HSA_TOOLS_LIB came before us, and makes the queues of hsa_queue_create … of
	 * hsa_amd_queue_create. */
	_Atomic bool is_chained, is_amd_chained;
} state;

bool hsa_is_loaded(void)
{
	return atomic_load_explicit(&state.is_loaded, memory_order_relaxed);
}

bool hsa_is_overflow_fatal(void)
{
	return state.is_overflow_fatal;
}

/* ---- entries of tables ------------------------------------------------------------------------- */

/* NULL: the table ends before it. */
static void *entry(uint8_t *table, uint32_t offset)
{
	struct hsa_table_version version;

	memcpy(&version, table, sizeof(version));
	return offset + sizeof(void *) <= version.size_bytes ? table + offset : NULL;
}

static void *get(uint8_t *table, uint32_t offset)
{
	void *place = entry(table, offset), *function = NULL;

	if (place)
		memcpy(&function, place, sizeof(function));
	return function;
}

static void put(uint8_t *table, uint32_t offset, void *function)
{
	void *place = entry(table, offset);

	if (place)
		memcpy(place, &function, sizeof(function));
}

static uint32_t size_of(const uint8_t *table)
{
	struct hsa_table_version version;

	memcpy(&version, table, sizeof(version));
	return version.size_bytes;
}

/* Where an entry is now that was at `offset` before two came in between. */
static uint32_t amd_offset(const uint8_t *table, uint32_t offset)
{
	bool is_behind = offset > AMD_ASYNC_COPY_ON_ENGINE && offset < AMD_COPY_BATCH;

	return is_behind && size_of(table) >= AMD_INSERTED_FROM ? offset + AMD_INSERTED_BYTES
								: offset;
}

static void *get_amd(const struct hsa_tables *tables, uint32_t offset)
{
	return get(tables->amd, amd_offset(tables->amd, offset));
}

void hsa_hook_core(struct hsa_tables *tables, uint32_t offset, void *function)
{
	put(tables->core, offset, function);
}

void hsa_hook_amd(struct hsa_tables *tables, uint32_t offset, void *function)
{
	put(tables->amd, amd_offset(tables->amd, offset), function);
}

/* ---- what is there ----------------------------------------------------------------------------- */

static void take_core(uint8_t *core)
{
	hsa_next.system_get_info = get(core, CORE_SYSTEM_GET_INFO);
	hsa_next.iterate_agents = get(core, CORE_ITERATE_AGENTS);
	hsa_next.agent_get_info = get(core, CORE_AGENT_GET_INFO);
	hsa_next.queue_create = get(core, CORE_QUEUE_CREATE);
	hsa_next.queue_destroy = get(core, CORE_QUEUE_DESTROY);
	hsa_next.queue_write_index = get(core, CORE_QUEUE_WRITE_INDEX);
	hsa_next.memory_copy = get(core, CORE_MEMORY_COPY);
	hsa_next.signal_create = get(core, CORE_SIGNAL_CREATE);
	hsa_next.signal_destroy = get(core, CORE_SIGNAL_DESTROY);
	hsa_next.wait_relaxed = get(core, CORE_SIGNAL_WAIT_RELAXED);
	hsa_next.wait_scacquire = get(core, CORE_SIGNAL_WAIT_SCACQUIRE);
	hsa_next.subtract = get(core, CORE_SIGNAL_SUBTRACT_SCRELEASE);
	hsa_next.silent_store = get(core, CORE_SIGNAL_SILENT_STORE);
	hsa_next.executable_destroy = get(core, CORE_EXECUTABLE_DESTROY);
	hsa_next.executable_freeze = get(core, CORE_EXECUTABLE_FREEZE);
	hsa_next.symbol_get_info = get(core, CORE_SYMBOL_GET_INFO);
	hsa_next.iterate_symbols = get(core, CORE_ITERATE_SYMBOLS);
	hsa_next.extension_table = get(core, CORE_EXTENSION_TABLE);
	hsa_next.load_agent_code = get(core, CORE_LOAD_AGENT_CODE);
}

static bool has_queue_create(const struct hsa_tables *tables)
{
	struct hsa_table_version version;

	memcpy(&version, tables->amd, sizeof(version));
	return version.step >= AMD_QUEUE_CREATE_STEP;
}

static void take_amd(const struct hsa_tables *tables)
{
	hsa_next.set_profiler = get_amd(tables, AMD_SET_PROFILER);
	hsa_next.async_copy_enable = get_amd(tables, AMD_ASYNC_COPY_ENABLE);
	hsa_next.dispatch_time = get_amd(tables, AMD_DISPATCH_TIME);
	hsa_next.copy_time = get_amd(tables, AMD_COPY_TIME);
	hsa_next.async_handler = get_amd(tables, AMD_ASYNC_HANDLER);
	hsa_next.pool_get_info = get_amd(tables, AMD_POOL_GET_INFO);
	hsa_next.iterate_pools = get_amd(tables, AMD_ITERATE_POOLS);
	hsa_next.async_copy = get_amd(tables, AMD_ASYNC_COPY);
	hsa_next.async_copy_on_engine = size_of(tables->amd) >= AMD_INSERTED_FROM
						? get_amd(tables, AMD_ASYNC_COPY_ON_ENGINE)
						: NULL;
	hsa_next.async_copy_rect = get_amd(tables, AMD_ASYNC_COPY_RECT);
	hsa_next.copy_batch = get_amd(tables, AMD_COPY_BATCH);
	hsa_next.memory_fill = get_amd(tables, AMD_MEMORY_FILL);
	hsa_next.pointer_info = get_amd(tables, AMD_POINTER_INFO);
	hsa_next.amd_signal_create = get_amd(tables, AMD_SIGNAL_CREATE);
	hsa_next.intercept_create = get_amd(tables, AMD_INTERCEPT_CREATE);
	hsa_next.intercept_register = get_amd(tables, AMD_INTERCEPT_REGISTER);
	hsa_next.amd_queue_create =
		has_queue_create(tables) ? get_amd(tables, AMD_QUEUE_CREATE) : NULL;
}

static void take_loader(void)
{
	struct hsa_loader_functions loader = {.get_info = NULL};

	hsa_next.loaded_get_info = NULL;
	hsa_next.host_address = NULL;
	if (hsa_next.extension_table(HSA_EXTENSION_LOADER, 1, sizeof(loader), &loader) ==
	    HSA_SUCCESS) {
		hsa_next.loaded_get_info = loader.get_info;
		hsa_next.host_address = loader.host_address;
	}
}

static void take_pcs(const struct hsa_tables *tables)
{
	bool has_place =
		tables->version.size_bytes >= offsetof(struct hsa_tables, pcs) + sizeof(void *);

	hsa_next.pcs = NULL;
	if (has_place && tables->pcs && size_of(tables->pcs) >= sizeof(*hsa_next.pcs))
		hsa_next.pcs = (const struct hsa_pcs_functions *)(const void *)tables->pcs;
}

/* All tables that there ever were have these. */
static bool take_functions(const struct hsa_tables *tables)
{
	if (!tables->core || !tables->amd || size_of(tables->core) < CORE_BYTES ||
	    !get_amd(tables, AMD_INTERCEPT_REGISTER))
		return false;
	take_core(tables->core);
	take_amd(tables);
	take_loader();
	take_pcs(tables);
	return true;
}

/* ---- queues ------------------------------------------------------------------------------------ */

/* AMD's OpenCL makes its queues here too, and has a guest of its own. */
static bool is_by_opencl(const void *caller)
{
	Dl_info about;

	return (hsa_options & RING_OPTION_OPENCL) && dladdr(caller, &about) && about.dli_fname &&
	       strstr(about.dli_fname, "libamdocl64");
}

static bool may_follow(void)
{
	return !state.overflows || (hsa_options & RING_OPTION_AMD_FORCE);
}

/* Why a queue is not followed. */
static enum ring_trouble reason(bool is_ordinary)
{
	if (!may_follow())
		return RING_TROUBLE_NOT_FOLLOWED;
	return is_ordinary ? RING_TROUBLE_QUEUE_REFUSED : RING_TROUBLE_QUEUE_SPECIAL;
}

/* Has the other tool make the queue, and registers on it. False: it is for the caller to make one, because no other tool
 * makes queues or those are plain ones. */
static bool join_chained(hsa_agent agent, uint32_t size, uint32_t type, hsa_queue_error *error,
			 void *data, uint32_t private_bytes, uint32_t group_bytes,
			 struct hsa_queue **ret_queue, hsa_status *ret_status)
{
	if (!atomic_load(&state.is_chained) || !hsa_before_queue(agent))
		return false;
	*ret_status = hsa_next.queue_create(agent, size, type, error, data, private_bytes,
					    group_bytes, ret_queue);
	if (*ret_status != HSA_SUCCESS || hsa_queue_is_followed(*ret_queue) ||
	    hsa_join_queue(*ret_queue, agent, true))
		return true;
	/* Its next queues would be plain too, and it is no longer asked for them. */
	atomic_store(&state.is_chained, false);
	guest_trouble(RING_TROUBLE_TOOL_BLIND);
	hsa_next.queue_destroy(*ret_queue);
	return false;
}

static hsa_status own_queue_create(hsa_agent agent, uint32_t size, uint32_t type,
				   hsa_queue_error *error, void *data, uint32_t private_bytes,
				   uint32_t group_bytes, struct hsa_queue **ret_queue)
{
	bool is_others = is_by_opencl(__builtin_return_address(0));
	bool is_ordinary = hsa_can_follow(size, type);
	bool is_wanted = !is_others && may_follow() && is_ordinary && ret_queue;
	hsa_status status = HSA_ERROR;

	if (is_wanted && join_chained(agent, size, type, error, data, private_bytes, group_bytes,
				      ret_queue, &status))
		return status;
	if (is_wanted)
		status = hsa_follow_queue(agent, size, type, error, data, private_bytes,
					  group_bytes, ret_queue);
	if (status == HSA_SUCCESS)
		return status;
	status = hsa_next.queue_create(agent, size, type, error, data, private_bytes, group_bytes,
				       ret_queue);
	if (status == HSA_SUCCESS && !is_others && hsa_device_of(agent))
		hsa_queue_not_followed(*ret_queue, reason(is_ordinary));
	return status;
}

/* A tool behind us in HSA_TOOLS_LIB, or the program, makes an intercept queue of its own. Our handler is the first of
 * that queue, so it is called last: the device writes its times into a signal of ours, and they are passed on. */
static hsa_status own_intercept_create(hsa_agent agent, uint32_t size, uint32_t type,
				       hsa_queue_error *error, void *data, uint32_t private_bytes,
				       uint32_t group_bytes, struct hsa_queue **ret_queue)
{
	bool is_ordinary = hsa_can_follow(size, type);
	bool is_wanted = may_follow() && is_ordinary && hsa_before_queue(agent);
	hsa_status status = hsa_next.intercept_create(agent, size, type, error, data, private_bytes,
						      group_bytes, ret_queue);
	int saved = errno;

	if (status == HSA_SUCCESS && hsa_device_of(agent) &&
	    !(is_wanted && hsa_join_queue(*ret_queue, agent, false)))
		hsa_queue_not_followed(*ret_queue, reason(is_ordinary));
	errno = saved;
	return status;
}

/* What a queue that is followed can be asked to be. */
static bool is_plain(const struct hsa_queue_request *request)
{
	return request->version == HSA_REQUEST_VERSION && request->engine == 0 &&
	       request->flags == 0 && request->cu_mask_bits == 0 && request->traffic_class == 0 &&
	       request->priority == HSA_PRIORITY_NORMAL;
}

static hsa_status create_one(hsa_agent agent, struct hsa_queue_request *request)
{
	uint32_t size = (uint32_t)(request->size_bytes / sizeof(struct hsa_dispatch_packet));
	bool is_ordinary = is_plain(request) && hsa_can_follow(size, request->type);
	bool is_wanted = is_ordinary && may_follow();
	bool is_chained =
		is_wanted && atomic_load(&state.is_amd_chained) && hsa_before_queue(agent);
	hsa_status status = HSA_ERROR;

	if (is_wanted && !is_chained)
		status =
			hsa_follow_queue(agent, size, request->type, request->callback,
					 request->data, request->private_bytes, 0, &request->queue);
	if (status == HSA_SUCCESS)
		return status;
	status = hsa_next.amd_queue_create(agent, request, 1);
	if (status == HSA_SUCCESS && is_chained &&
	    (hsa_queue_is_followed(request->queue) || hsa_join_queue(request->queue, agent, true)))
		return status;
	if (status == HSA_SUCCESS && request->engine == 0 && hsa_device_of(agent))
		hsa_queue_not_followed(request->queue, reason(is_ordinary));
	return status;
}

/* The first that fails ends it, and those before it stay, as in the runtime's own. */
static hsa_status own_amd_queue_create(hsa_agent agent, struct hsa_queue_request *requests,
				       uint32_t count)
{
	hsa_status status = HSA_SUCCESS;

	if (!requests || !count || is_by_opencl(__builtin_return_address(0)))
		return hsa_next.amd_queue_create(agent, requests, count);
	for (uint32_t i = 0; i < count; i++)
		requests[i].queue = NULL;
	for (uint32_t i = 0; i < count && status == HSA_SUCCESS; i++)
		status = create_one(agent, &requests[i]);
	return status;
}

static hsa_status own_queue_destroy(struct hsa_queue *queue)
{
	int saved = errno;
	struct hsa_followed *followed = hsa_queue_ends(queue);
	hsa_status status;

	errno = saved;
	status = hsa_next.queue_destroy(queue);
	saved = errno;
	if (status == HSA_SUCCESS)
		hsa_queue_ended(followed);
	errno = saved;
	return status;
}

/* A program that wants no times any more must not take ours. */
static hsa_status own_set_profiler(struct hsa_queue *queue, int enable)
{
	return !enable && hsa_queue_is_followed(queue) ? HSA_SUCCESS
						       : hsa_next.set_profiler(queue, enable);
}

/* ---- waits ------------------------------------------------------------------------------------- */

/* From ROCm 6.1 on the runtime waits through its own table for the caches that it flushes when code is frozen. */
static _Thread_local bool is_freezing __attribute__((tls_model("initial-exec")));

static void put_wait(struct guest_thread *thread, uint32_t function, uint64_t begin)
{
	uint32_t stack = guest_stack(thread);

	guest_put_api(thread, function | API_TYPE_WAIT << 16, begin, guest_now(thread), 0, 0,
		      stack);
}

/* What the program waited for has its times taken before the program goes on: it may end at once. */
static hsa_signal_value wait_with(hsa_signal_wait_function *next, uint32_t function,
				  hsa_signal signal, uint32_t condition, hsa_signal_value compared,
				  uint64_t timeout, uint32_t how)
{
	struct guest_thread *thread;
	hsa_signal_value value;
	uint64_t begin;
	int saved;

	if (is_freezing)
		return next(signal, condition, compared, timeout, how);
	if (guest_is_idle())
		guest_look_for_recorder();
	thread = guest_enter();
	if (!thread) {
		guest_missed(RING_TROUBLE_NO_RING);
		return next(signal, condition, compared, timeout, how);
	}
	hsa_watch();
	begin = guest_now(thread);
	value = next(signal, condition, compared, timeout, how);
	saved = errno;
	if (!hsa_caller)
		put_wait(thread, function, begin);
	hsa_harvest(thread);
	hsa_count_not_followed();
	hsa_await_harvesters();
	errno = saved;
	return value;
}

static hsa_signal_value own_wait_relaxed(hsa_signal signal, uint32_t condition,
					 hsa_signal_value compared, uint64_t timeout, uint32_t how)
{
	return wait_with(hsa_next.wait_relaxed, HSA_CALL_WAIT_RELAXED, signal, condition, compared,
			 timeout, how);
}

static hsa_signal_value own_wait_scacquire(hsa_signal signal, uint32_t condition,
					   hsa_signal_value compared, uint64_t timeout,
					   uint32_t how)
{
	return wait_with(hsa_next.wait_scacquire, HSA_CALL_WAIT_SCACQUIRE, signal, condition,
			 compared, timeout, how);
}

/* ---- code -------------------------------------------------------------------------------------- */

static hsa_status own_load_agent_code(hsa_executable executable, hsa_agent agent, hsa_reader reader,
				      const char *options, hsa_loaded_code *ret_loaded)
{
	hsa_loaded_code loaded = {0};
	hsa_status status = hsa_next.load_agent_code(executable, agent, reader, options, &loaded);
	int saved = errno;

	if (status == HSA_SUCCESS) {
		if (ret_loaded)
			*ret_loaded = loaded;
		hsa_code_loaded(guest_enter(), executable, agent, loaded);
	}
	errno = saved;
	return status;
}

static hsa_status own_executable_freeze(hsa_executable executable, const char *options)
{
	hsa_status status;
	int saved;

	is_freezing = true;
	status = hsa_next.executable_freeze(executable, options);
	is_freezing = false;
	saved = errno;
	guest_notice_fork();
	if (status == HSA_SUCCESS)
		hsa_code_frozen(executable);
	errno = saved;
	return status;
}

static hsa_status own_executable_destroy(hsa_executable executable)
{
	hsa_status status = hsa_next.executable_destroy(executable);
	int saved = errno;

	guest_notice_fork();
	if (status == HSA_SUCCESS)
		hsa_code_destroyed(executable);
	errno = saved;
	return status;
}

/* ---- begin and end ----------------------------------------------------------------------------- */

static void hook(struct hsa_tables *tables)
{
	put(tables->core, CORE_QUEUE_CREATE, (void *)own_queue_create);
	put(tables->core, CORE_QUEUE_DESTROY, (void *)own_queue_destroy);
	put(tables->core, CORE_SIGNAL_DESTROY, (void *)hsa_signal_end);
	put(tables->core, CORE_SIGNAL_WAIT_RELAXED, (void *)own_wait_relaxed);
	put(tables->core, CORE_SIGNAL_WAIT_SCACQUIRE, (void *)own_wait_scacquire);
	put(tables->core, CORE_EXECUTABLE_FREEZE, (void *)own_executable_freeze);
	put(tables->core, CORE_EXECUTABLE_DESTROY, (void *)own_executable_destroy);
	put(tables->core, CORE_LOAD_AGENT_CODE, (void *)own_load_agent_code);
	hsa_hook_amd(tables, AMD_SET_PROFILER, (void *)own_set_profiler);
	hsa_hook_amd(tables, AMD_INTERCEPT_CREATE, (void *)own_intercept_create);
	if (hsa_next.amd_queue_create)
		hsa_hook_amd(tables, AMD_QUEUE_CREATE, (void *)own_amd_queue_create);
	hsa_copies_hook(tables);
}

static void learn_version(const struct hsa_tables *tables)
{
	struct hsa_table_version version;

	memcpy(&version, tables->amd, sizeof(version));
	state.is_overflow_fatal = version.major < 2;
	state.overflows =
		version.size_bytes >= AMD_OVERFLOW_FROM && version.size_bytes < AMD_OVERFLOW_BELOW;
}

/* The thread that exits, or ends the runtime, asks it for nothing: it may have interrupted itself in there, in a handler of
 * a signal. The helper does so, and is waited for as long as a program may wait. What never completes delays it once.
 * False: the helper is still in the runtime. */
static bool end_runtime(void)
{
	uint64_t last_ms = state.has_waited ? 0 : LAST_MS;

	if (hsa_any_kernels() && !hsa_any_queues())
		guest_trouble(RING_TROUBLE_NO_QUEUE);
	state.has_waited = true;
	return hsa_helper_stop(last_ms, last_ms + STOP_MS);
}

void hsa_finish(uint64_t last_ms)
{
	hsa_samples_end();
	if (!hsa_helper_is_abandoned())
		hsa_harvest_last(last_ms);
}

static void at_exit(void)
{
	guest_notice_fork();
	if (state.is_loaded)
		end_runtime();
}

static void on_fork(void)
{
	/* The runtime works in no child. */
	state.is_loaded = false;
	hsa_helper_forked();
	hsa_dispatch_forked();
	hsa_signals_forked();
	hsa_code_forked();
	hsa_objects_forked();
	hsa_samples_forked();
}

static void start_guest(void)
{
	static const struct guest_backend backend = {
		.name = "rocm", .on_fork = on_fork, .at_exit = at_exit};

	guest_init(&backend);
}

void hsa_start_guest(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, start_guest);
}

static void learn_chain(const void *runtime)
{
	atomic_store(&state.is_chained, hsa_is_others((void *)hsa_next.queue_create, runtime));
	atomic_store(&state.is_amd_chained,
		     hsa_is_others((void *)hsa_next.amd_queue_create, runtime));
}

static void begin_runtime(struct hsa_tables *tables, struct guest_thread *thread,
			  const void *runtime)
{
	hsa_options = thread->options;
	learn_version(tables);
	learn_chain(runtime);
	hsa_devices_init();
	hsa_signals_begin();
	hook(tables);
	if (!(hsa_options & RING_OPTION_AMD_NO_HIP) && hip_is_before_wrappers())
		guest_trouble(RING_TROUBLE_HIP_BEFORE);
	state.has_waited = false;
	state.is_loaded = true;
	hsa_read_clock(thread, true);
	guest_hook_exit();
}

/* The runtime calls these. Without a recorder nothing is hooked: a recorder that comes later finds no queue, so that
 * one which is only slow to answer is waited for. */
EXPORTED bool OnLoad(struct hsa_tables *tables, uint64_t runtime_version, uint64_t failed_count,
		     const char *const *failed_names);
EXPORTED bool OnLoad(struct hsa_tables *tables, uint64_t runtime_version, uint64_t failed_count,
		     const char *const *failed_names)
{
	struct guest_thread *thread;
	int saved = errno;

	(void)runtime_version;
	(void)failed_count;
	(void)failed_names;
	hsa_start_guest();
	thread = guest_enter_first();
	/* Two names of one file are one library, which is asked twice. */
	if (thread && !state.is_loaded) {
		if (take_functions(tables))
			begin_runtime(tables, thread, __builtin_return_address(0));
		else
			guest_trouble(RING_TROUBLE_LAYOUT);
	}
	errno = saved;
	return true;
}

EXPORTED void OnUnload(void);
EXPORTED void OnUnload(void)
{
	int saved = errno;

	guest_notice_fork();
	/* Signals that the helper may be asking about stay. */
	if (state.is_loaded && end_runtime()) {
		hsa_queues_fini();
		hsa_signals_fini();
		hsa_code_fini();
	}
	state.is_loaded = false;
	errno = saved;
}
