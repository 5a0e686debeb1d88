/* SPDX-License-Identifier: MIT
 *
 * inject/amd/hsa.c - the HSA guest: a tool that AMD's runtime loads, with access to its function
 * tables
 *
 * Runs in:  the profiled process: OnLoad inside hsa_init, the rest in the program's own calls
 * Gets:     HSA_TOOLS_LIB's entry points, calls through the runtime's tables
 * Gives:    tracked queues, copies, code and waits to the other files
 * Owns:     the original functions of the tables
 * Fails:    never for the program: without a recorder, or with unknown tables, nothing is changed
 * Why:      the program's calls go through tables that the runtime hands to tools at its start.
 *           They grow from release to release, and once entries were inserted without a new
 *           version. So the guest derives the layout of a table from its size, and reads nothing
 *           beyond that size: one library serves ROCm 5.2 to 10.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "inject/amd/hsa.h"

#define EXPORTED __attribute__((visibility("default")))

/* LAST_MS: time for pending commands at the end, once. STOP_MS: time for the helper to return from
 * the runtime. */
enum { LAST_MS = 80, STOP_MS = 20 };

static struct {
	bool overflows;
	bool has_waited; /* for commands that were pending at the end */
	/* Another tool of HSA_TOOLS_LIB was loaded before us and implements hsa_queue_create
	 * (is_chained) or hsa_amd_queue_create (is_amd_chained). */
	_Atomic bool is_chained, is_amd_chained;
} state;

/* ---- the runtime's functions ----------------------------------------------------------------- */

static void take_core(uint8_t *core)
{
#define TAKE(offset, name, member, type) hsa_next.member = hsa_table_entry(core, name);
	HSA_CORE_FUNCTIONS(TAKE)
#undef TAKE
}

static bool has_queue_create(const struct hsa_tables *tables)
{
	struct hsa_table_version version;

	memcpy(&version, tables->amd, sizeof(version));
	return version.step >= AMD_QUEUE_CREATE_STEP;
}

static void take_amd(const struct hsa_tables *tables)
{
#define TAKE(offset, name, member, type) hsa_next.member = hsa_amd_entry(tables, name);
	HSA_AMD_FUNCTIONS(TAKE)
#undef TAKE
	if (hsa_table_bytes(tables->amd) < AMD_INSERTED_FROM)
		hsa_next.async_copy_on_engine = NULL;
	if (!has_queue_create(tables))
		hsa_next.amd_queue_create = NULL;
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
	if (has_place && tables->pcs && hsa_table_bytes(tables->pcs) >= sizeof(*hsa_next.pcs))
		hsa_next.pcs = (const struct hsa_pcs_functions *)(const void *)tables->pcs;
}

/* True if the functions that every known version of the tables has are present. */
static bool take_functions(const struct hsa_tables *tables)
{
	if (!tables->core || !tables->amd || hsa_table_bytes(tables->core) < CORE_BYTES ||
	    !hsa_amd_entry(tables, AMD_INTERCEPT_REGISTER))
		return false;
	take_core(tables->core);
	take_amd(tables);
	take_loader();
	take_pcs(tables);
	return true;
}

/* ---- queues ---------------------------------------------------------------------------------- */

/* True for AMD's OpenCL, which creates its queues here too and has its own guest. */
static bool is_by_opencl(const void *caller)
{
	Dl_info about;

	return (hsa_options & AMD_OPTION_OPENCL) && dladdr(caller, &about) && about.dli_fname &&
	       strstr(about.dli_fname, "libamdocl64");
}

static bool may_follow(void)
{
	return !state.overflows || (hsa_options & AMD_OPTION_FORCE);
}

/* Returns why a queue is not tracked. */
static uint32_t reason(bool is_ordinary)
{
	if (!may_follow())
		return AMD_TROUBLE_NOT_FOLLOWED;
	return is_ordinary ? AMD_TROUBLE_QUEUE_REFUSED : AMD_TROUBLE_QUEUE_SPECIAL;
}

/* Lets the other tool create the queue and registers our handler on it. False: the caller has to
 * create the queue, because no other tool creates queues or the tool's queues are plain. */
static bool join_chained(hsa_agent agent, uint32_t size, uint32_t type, hsa_queue_error *error,
			 void *data, uint32_t private_bytes, uint32_t group_bytes,
			 struct hsa_queue **ret_queue, hsa_status *ret_status)
{
	enum hsa_join joined;
	int saved;

	if (!atomic_load(&state.is_chained) || !hsa_before_queue(agent))
		return false;
	*ret_status = hsa_next.queue_create(agent, size, type, error, data, private_bytes,
					    group_bytes, ret_queue);
	if (*ret_status != HSA_SUCCESS || hsa_queue_is_followed(*ret_queue))
		return true;
	joined = hsa_join_queue(*ret_queue, agent, true);
	/* The other tool still sees the queue. */
	if (joined == HSA_JOIN_REFUSED)
		hsa_queue_not_followed(*ret_queue, AMD_TROUBLE_QUEUE_REFUSED);
	if (joined != HSA_JOIN_PLAIN)
		return true;
	/* The tool's next queues would be plain too, so it is not used again. */
	atomic_store(&state.is_chained, false);
	guest_trouble(AMD_TROUBLE_TOOL_BLIND);
	saved = errno;
	hsa_next.queue_destroy(*ret_queue);
	errno = saved;
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

/* Handles an intercept queue that the program, or a tool behind us in HSA_TOOLS_LIB, creates. Our
 * handler is the first registered and is called last. The device writes its times into our signal,
 * and the guest passes them on. */
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
	    !(is_wanted && hsa_join_queue(*ret_queue, agent, false) == HSA_JOINED))
		hsa_queue_not_followed(*ret_queue, reason(is_ordinary));
	errno = saved;
	return status;
}

/* True if the request asks only for properties that a tracked queue can have. */
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
	    (hsa_queue_is_followed(request->queue) ||
	     hsa_join_queue(request->queue, agent, true) == HSA_JOINED))
		return status;
	if (status == HSA_SUCCESS && request->engine == 0 && hsa_device_of(agent))
		hsa_queue_not_followed(request->queue, reason(is_ordinary));
	return status;
}

/* The first failure ends the call, and the queues before it stay, as in the runtime's own
 * function. */
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
	struct hsa_tracked_queue *followed = hsa_queue_ends(queue);
	hsa_status status;

	errno = saved;
	status = hsa_next.queue_destroy(queue);
	saved = errno;
	if (status == HSA_SUCCESS)
		hsa_queue_ended(followed);
	errno = saved;
	return status;
}

/* Ignores the program's request to disable times, because the guest needs them. */
static hsa_status own_set_profiler(struct hsa_queue *queue, int enable)
{
	return !enable && hsa_queue_is_followed(queue) ? HSA_SUCCESS
						       : hsa_next.set_profiler(queue, enable);
}

/* ---- waits ----------------------------------------------------------------------------------- */

/* From ROCm 6.1 on, freezing code flushes caches, and the runtime waits for that through its own
 * table. */
static _Thread_local bool is_freezing __attribute__((tls_model("initial-exec")));

static void put_wait(struct guest_thread *thread, uint32_t function, uint64_t begin)
{
	uint32_t stack = guest_stack_of(thread, guest_site(0, function, 0));

	guest_put_api(thread, function | API_TYPE_WAIT << 16, begin, guest_now(thread), 0, 0,
		      stack);
}

/* Reads the times of what the program waited for before the wait returns, because the program may
 * exit at once. */
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
	begin = guest_watch_begin(thread);
	hsa_harvest(thread);
	hsa_count_not_followed();
	hsa_await_harvesters();
	guest_watch_end(thread, GUEST_SECTION_HARVEST, begin);
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

/* ---- code ------------------------------------------------------------------------------------ */

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

/* ---- start and end --------------------------------------------------------------------------- */

static void hook(struct hsa_tables *tables)
{
	hsa_hook_core(tables, CORE_QUEUE_CREATE, (void *)own_queue_create);
	hsa_hook_core(tables, CORE_QUEUE_DESTROY, (void *)own_queue_destroy);
	hsa_hook_core(tables, CORE_SIGNAL_DESTROY, (void *)hsa_signal_end);
	hsa_hook_core(tables, CORE_SIGNAL_WAIT_RELAXED, (void *)own_wait_relaxed);
	hsa_hook_core(tables, CORE_SIGNAL_WAIT_SCACQUIRE, (void *)own_wait_scacquire);
	hsa_hook_core(tables, CORE_EXECUTABLE_FREEZE, (void *)own_executable_freeze);
	hsa_hook_core(tables, CORE_EXECUTABLE_DESTROY, (void *)own_executable_destroy);
	hsa_hook_core(tables, CORE_LOAD_AGENT_CODE, (void *)own_load_agent_code);
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
	hsa_overflow_fatal = version.major < 2;
	state.overflows =
		version.size_bytes >= AMD_OVERFLOW_FROM && version.size_bytes < AMD_OVERFLOW_BELOW;
}

/* The thread that exits or ends the runtime does not call the runtime: a signal handler may have
 * interrupted it inside the runtime. The helper does, and this thread waits for it within LAST_MS
 * and STOP_MS. A command that never completes delays the end once. False: the helper is still
 * inside the runtime. */
static bool end_runtime(void)
{
	uint64_t last_ms = state.has_waited ? 0 : LAST_MS;

	if (hsa_any_kernels() && !hsa_any_queues())
		guest_trouble(AMD_TROUBLE_NO_QUEUE);
	state.has_waited = true;
	return hsa_helper_stop(last_ms, last_ms + STOP_MS);
}

static void at_exit(void)
{
	guest_notice_fork();
	if (hsa_loaded)
		end_runtime();
}

static void on_fork(void)
{
	/* The runtime does not work in a child process. */
	hsa_loaded = false;
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
	if (!(hsa_options & AMD_OPTION_NO_HIP) && hip_is_before_wrappers())
		guest_trouble(AMD_TROUBLE_HIP_BEFORE);
	state.has_waited = false;
	hsa_loaded = true;
	hsa_read_clock(thread, true);
	guest_hook_exit();
}

/* The runtime calls OnLoad and OnUnload. Without a recorder nothing is hooked. A recorder that
 * comes later would find no queue, so the guest waits for a recorder that is slow to answer. */
EXPORTED bool OnLoad(struct hsa_tables *tables, uint64_t runtime_version, uint64_t failed_count,
		     const char *const *failed_names);
EXPORTED bool OnLoad(struct hsa_tables *tables, uint64_t runtime_version, uint64_t failed_count,
		     const char *const *failed_names)
{
	struct guest_thread *thread;
	int saved = errno;

	hsa_start_guest();
	thread = guest_enter_first();
	/* The runtime calls OnLoad twice if two names of HSA_TOOLS_LIB are the same library. */
	if (thread && !hsa_loaded) {
		if (take_functions(tables))
			begin_runtime(tables, thread, __builtin_return_address(0));
		else
			guest_trouble(AMD_TROUBLE_LAYOUT);
	}
	errno = saved;
	return true;
}

EXPORTED void OnUnload(void);
EXPORTED void OnUnload(void)
{
	int saved = errno;

	guest_notice_fork();
	/* Signals that the helper may be polling are not destroyed. */
	if (hsa_loaded && end_runtime()) {
		hsa_queues_fini();
		hsa_signals_fini();
		hsa_code_fini();
	}
	hsa_loaded = false;
	errno = saved;
}
