/* SPDX-License-Identifier: MIT
 *
 * inject/level_zero/level_zero.c - the Level Zero guest: a wrapper of every call, loaded as a layer
 *
 * Runs in:  the profiled process, as a layer of Level Zero's loader
 * Gets:     the program's calls
 * Gives:    one record a call, a launch record for a command
 * Owns:     the table of the next functions
 * Fails:    never for the program: each call behaves as without the guest
 * Why:      the loader passes its tables of functions through its layers and calls the result. So a
 *           call is seen however the program obtained the loader: linked to it, by dlsym (Python's
 *           ctypes) or through the static loader of newer SYCL, which bypasses a preloaded library.
 *           The guest takes the place of the validation layer and not of the tracing layer, because
 *           the callbacks of the tracing layer take two allocations a call, and because the program
 *           may use that layer itself.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "inject/level_zero/level_zero.h"

#define EXPORTED __attribute__((visibility("default")))

/* ---- values for the rows of the table -------------------------------------------------------- */

#define LOOK        guest_look_for_recorder()
#define NO_LOOK     ((void)0)
#define LOOK_IF_DUE guest_look_if_due()

#define WAITS(count, list) (append.wait_count = (count), append.waits = (list))
#define BYTES(size)        append.command.bytes = (size)
#define COPY(to_, from_, other_, size) \
	(append.to = (to_), append.from = (from_), append.from_context = (other_), BYTES(size))
#define COOPERATIVE            append.command.flags = LAUNCH_COOPERATIVE
#define MORE(desc)             append.more = (desc)
#define KERNEL(handle, groups) (append.kernel = (handle), take_groups(&append, groups))
#define SIGNALS(event, count, list) \
	(execute.signal = (event), execute.wait_count = (count), execute.waits = (list))
#define GROUP(size) \
	(append.group[0] = (size).x, append.group[1] = (size).y, append.group[2] = (size).z)

static void take_groups(struct level_zero_append *append, const struct ze_size *groups)
{
	if (!groups)
		return;
	append->has_groups = true;
	append->groups[0] = groups->x;
	append->groups[1] = groups->y;
	append->groups[2] = groups->z;
}

static uint64_t volume(const struct ze_region *region)
{
	return region ? (uint64_t)region->width * (region->height ? region->height : 1) *
				(region->depth ? region->depth : 1)
		      : 0;
}

static uint64_t queue_id(struct guest_thread *thread, ze_handle handle)
{
	return level_zero_queue_id(thread, level_zero_queue(handle));
}

static void describe_module(struct guest_thread *thread, ze_result result,
			    const ze_handle *ret_module)
{
	if (result == ZE_SUCCESS && ret_module)
		level_zero_module_id(thread, level_zero_find(*ret_module, LEVEL_ZERO_MODULE));
}

/* ---- objects that come and go: tracked even if nothing is recorded --------------------------- */

/* Our body around a function that makes an object: `made` runs after it has succeeded. */
#define MAKES(name, parameters, arguments, made)        \
	static ze_result own_##name parameters          \
	{                                               \
		ze_result result = next.name arguments; \
                                                        \
		if (result == ZE_SUCCESS) {             \
			made;                           \
		}                                       \
		return result;                          \
	}
/* The same for one that ends or changes an object: `before` runs first. */
#define CHANGES(name, object, before)                 \
	static ze_result own_##name(ze_handle object) \
	{                                             \
		before;                               \
		return next.name(object);             \
	}

MAKES(zeContextCreate, (ze_handle driver, const void *desc, ze_handle *ret_context),
      (driver, desc, ret_context), level_zero_context_made(*ret_context, driver))
MAKES(zeContextCreateEx,
      (ze_handle driver, const void *desc, uint32_t count, ze_handle *devices,
       ze_handle *ret_context),
      (driver, desc, count, devices, ret_context), level_zero_context_made(*ret_context, driver))
CHANGES(zeContextDestroy, context,
	level_zero_remove(context, LEVEL_ZERO_CONTEXT,
			  level_zero_before_context_goes(guest_enter(), context)))
MAKES(zeCommandQueueCreate,
      (ze_handle context, ze_handle device, const struct ze_queue_desc *desc, ze_handle *ret_queue),
      (context, device, desc, ret_queue), level_zero_queue_made(*ret_queue, context, device, desc))
CHANGES(zeCommandQueueDestroy, queue,
	level_zero_remove(queue, LEVEL_ZERO_QUEUE,
			  level_zero_before_queue_goes(guest_enter(), queue)))
MAKES(zeCommandListCreate,
      (ze_handle context, ze_handle device, const void *desc, ze_handle *ret_list),
      (context, device, desc, ret_list), level_zero_list_made(*ret_list, context, device, NULL))

static const struct ze_queue_desc usual_queue;
MAKES(zeCommandListCreateImmediate,
      (ze_handle context, ze_handle device, const struct ze_queue_desc *desc, ze_handle *ret_list),
      (context, device, desc, ret_list),
      level_zero_list_made(*ret_list, context, device, desc ? desc : &usual_queue))
MAKES(zeCommandListCreateCloneExp, (ze_handle list, ze_handle *ret_list), (list, ret_list),
      level_zero_list_cloned(guest_enter(), list);
      level_zero_clone_made(*ret_list, list))

static ze_result own_zeCommandListDestroy(ze_handle list)
{
	struct guest_thread *thread = guest_enter();
	struct level_zero_list *known = level_zero_find(list, LEVEL_ZERO_LIST);

	level_zero_before_list_changes(thread, list);
	if (known && known->queue) {
		bool is_unused = level_zero_before_queue_goes(thread, list);

		level_zero_remove(known->queue->object.handle, LEVEL_ZERO_QUEUE, is_unused);
	}
	level_zero_remove(list, LEVEL_ZERO_LIST, true);
	return next.zeCommandListDestroy(list);
}

CHANGES(zeCommandListReset, list, level_zero_before_list_changes(guest_enter(), list))

MAKES(zeModuleCreate,
      (ze_handle context, ze_handle device, const void *desc, ze_handle *ret_module,
       ze_handle *ret_log),
      (context, device, desc, ret_module, ret_log),
      level_zero_module_made(*ret_module, context, device))

CHANGES(zeModuleDestroy, module, level_zero_before_module_goes(module);
	level_zero_remove(module, LEVEL_ZERO_MODULE, true))

MAKES(zeKernelCreate, (ze_handle module, const void *desc, ze_handle *ret_kernel),
      (module, desc, ret_kernel), level_zero_kernel_made(*ret_kernel, module))

CHANGES(zeKernelDestroy, kernel, level_zero_remove(kernel, LEVEL_ZERO_KERNEL, true))

static ze_result own_zeKernelSetGroupSize(ze_handle kernel, uint32_t x, uint32_t y, uint32_t z)
{
	struct level_zero_kernel *known = level_zero_find(kernel, LEVEL_ZERO_KERNEL);
	ze_result result = next.zeKernelSetGroupSize(kernel, x, y, z);

	if (known && result == ZE_SUCCESS) {
		known->group[0] = x;
		known->group[1] = y;
		known->group[2] = z;
	}
	return result;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* True if timestamps are to be added to a pool. A pool shared with other processes stays as its
 * creator made it. */
static bool wants_stamps(const struct guest_thread *thread, const struct ze_event_pool_desc *desc)
{
	return thread && (thread->options & LEVEL_ZERO_OPTION_TIME) && desc &&
	       !(desc->flags & (ZE_EVENT_POOL_KERNEL_TIMESTAMP | ZE_EVENT_POOL_IPC));
}

static void pool_made(ze_handle handle, uint32_t asked_flags, bool is_forced)
{
	struct level_zero_pool *pool = level_zero_add(handle, LEVEL_ZERO_POOL);

	if (!pool)
		return;
	pool->asked_flags = asked_flags;
	pool->is_forced = is_forced;
	pool->is_timed = is_forced || (asked_flags & ZE_EVENT_POOL_KERNEL_TIMESTAMP);
}

/* Adds timestamps to events without them, and hides them from the program's queries. */
static ze_result own_zeEventPoolCreate(ze_handle context, const struct ze_event_pool_desc *desc,
				       uint32_t count, ze_handle *devices, ze_handle *ret_pool)
{
	bool is_forced = wants_stamps(guest_enter(), desc);
	ze_result result = ZE_ERROR_UNSUPPORTED_FEATURE;

	if (is_forced) {
		struct ze_event_pool_desc forced = *desc;

		forced.flags |= ZE_EVENT_POOL_KERNEL_TIMESTAMP;
		result = next.zeEventPoolCreate(context, &forced, count, devices, ret_pool);
	}
	if (result != ZE_SUCCESS) {
		is_forced = false;
		result = next.zeEventPoolCreate(context, desc, count, devices, ret_pool);
	}
	if (result == ZE_SUCCESS && desc)
		pool_made(*ret_pool, desc->flags, is_forced);
	return result;
}

CHANGES(zeEventPoolDestroy, pool, level_zero_remove(pool, LEVEL_ZERO_POOL, true))

static ze_result own_zeEventPoolGetFlags(ze_handle pool, uint32_t *ret_flags)
{
	const struct level_zero_pool *known = level_zero_find(pool, LEVEL_ZERO_POOL);
	ze_result result = next.zeEventPoolGetFlags(pool, ret_flags);

	if (known && known->is_forced && result == ZE_SUCCESS)
		*ret_flags &= ~(uint32_t)ZE_EVENT_POOL_KERNEL_TIMESTAMP;
	return result;
}

static ze_result own_zeEventCreate(ze_handle pool, const struct ze_event_desc *desc,
				   ze_handle *ret_event)
{
	const struct level_zero_pool *known = level_zero_find(pool, LEVEL_ZERO_POOL);
	ze_result result = next.zeEventCreate(pool, desc, ret_event);
	struct level_zero_event *event;

	if (result != ZE_SUCCESS)
		return result;
	event = level_zero_add(*ret_event, LEVEL_ZERO_EVENT);
	if (event) {
		event->pending = NO_COMMAND;
		event->is_timed = known && known->is_timed;
		event->is_forced = known && known->is_forced;
	}
	return result;
}

CHANGES(zeEventDestroy, event,
	level_zero_remove(event, LEVEL_ZERO_EVENT,
			  level_zero_before_event_goes(guest_enter(), event)))

CHANGES(zeEventHostSignal, event, level_zero_before_event_changes(guest_enter(), event))

CHANGES(zeEventHostReset, event, level_zero_before_event_changes(guest_enter(), event))

/* Reads the times here as well as in synchronizing calls, because a program may poll in a loop.
 * Nothing is read at exit. */
MAKES(zeEventQueryStatus, (ze_handle event), (event),
      level_zero_event_is_over(guest_enter(), event))

static bool is_forced(ze_handle handle)
{
	const struct level_zero_event *event = level_zero_find(handle, LEVEL_ZERO_EVENT);

	return event && event->is_forced;
}

static ze_result own_zeEventQueryKernelTimestamp(ze_handle event, struct ze_kernel_stamps *to)
{
	return is_forced(event) ? (ze_result)ZE_ERROR_INVALID_ARGUMENT
				: next.zeEventQueryKernelTimestamp(event, to);
}

static ze_result own_zeEventQueryKernelTimestampsExt(ze_handle event, ze_handle device,
						     uint32_t *count, void *results)
{
	return is_forced(event)
		       ? (ze_result)ZE_ERROR_INVALID_ARGUMENT
		       : next.zeEventQueryKernelTimestampsExt(event, device, count, results);
}

static ze_result own_zeEventQueryTimestampsExp(ze_handle event, ze_handle device, uint32_t *count,
					       struct ze_kernel_stamps *stamps)
{
	return is_forced(event) ? (ze_result)ZE_ERROR_INVALID_ARGUMENT
				: next.zeEventQueryTimestampsExp(event, device, count, stamps);
}

/* Reads the event's timestamps before the device resets it, if it is already signalled. */
static ze_result own_zeCommandListAppendEventReset(ze_handle list, ze_handle event)
{
	struct guest_thread *thread = guest_enter();

	if (thread)
		level_zero_harvest_all(thread);
	level_zero_append_reset(list, event);
	return next.zeCommandListAppendEventReset(list, event);
}

static ze_result own_zeCommandListAppendSignalEvent(ze_handle list, ze_handle event)
{
	level_zero_append_signal(guest_enter(), event);
	return next.zeCommandListAppendSignalEvent(list, event);
}

/* ---- contexts that exist without being created ----------------------------------------------- */

static ze_handle own_zeDriverGetDefaultContext(ze_handle driver)
{
	ze_handle context = next.zeDriverGetDefaultContext(driver);

	level_zero_context_met(context, driver);
	return context;
}

/* Returns the default context of the first driver. */
static ze_handle own_zerGetDefaultContext(void)
{
	ze_handle context = next.zerGetDefaultContext();

	level_zero_context_met(context, NULL);
	return context;
}

/* ---- the wrappers ---------------------------------------------------------------------------- */

#define CALLEE_next(name)      next.name
#define CALLEE_own(name)       own_##name
#define CALLEE_next_gone(name) next.name
#define CALLEE_own_gone(name)  own_##name

/* Polls pending commands in calls that query the driver, not in calls that release objects: some
 * drivers submit work to read the device's clock. */
#define POLL_next(thread)      level_zero_poll(thread)
#define POLL_own(thread)       level_zero_poll(thread)
#define POLL_next_gone(thread) ((void)0)
#define POLL_own_gone(thread)  ((void)0)

/* A timeout is not a failure. */
static int32_t answer_of(ze_result result)
{
	return result == ZE_NOT_READY ? ZE_SUCCESS : (int32_t)result;
}

/* Two functions per row: record_NAME, and the hook before it (GUEST_HOOK). */
#define ZE_CALL(number, name, table, slot, minor, parameters, arguments, callee, look, argument, \
		after)                                                                           \
	GUEST_CALL(ze_result, number, name, parameters, arguments, CALLEE_##callee(name), look,  \
		   (int32_t)result, argument, , after;                                           \
		   POLL_##callee(thread))
#define ZE_WAIT(number, name, table, slot, minor, parameters, arguments, argument)        \
	GUEST_WAIT(ze_result, number, name, parameters, arguments, next.name,             \
		   guest_look_for_recorder(), API_TYPE_WAIT, answer_of(result), argument, \
		   level_zero_harvest_all(thread))
#define ZE_APPEND(number, name, table, slot, minor, command_kind, parameters, arguments, describe) \
	static __attribute__((noinline)) ze_result record_##name parameters                        \
	{                                                                                          \
		struct guest_thread *thread = guest_enter();                                       \
		struct level_zero_append append;                                                   \
		ze_result result;                                                                  \
                                                                                                   \
		if (!thread) {                                                                     \
			guest_missed(RING_TROUBLE_NO_RING_LAUNCH);                                 \
			level_zero_append_unseen(list);                                            \
			return next.name arguments;                                                \
		}                                                                                  \
		level_zero_append_init(&append, number, command_kind, list);                       \
		append.place = (uintptr_t)__builtin_return_address(0);                             \
		describe;                                                                          \
		signal = level_zero_append_begin(thread, &append, signal);                         \
		result = next.name arguments;                                                      \
		append.exit = guest_now(thread);                                                   \
		level_zero_append_end(thread, &append, result);                                    \
		return result;                                                                     \
	}                                                                                          \
	GUEST_HOOK(ze_result, name, parameters, arguments, LOOK_IF_DUE;                            \
		   level_zero_append_unseen(list), next.name)
#define ZE_EXECUTE(number, name, table, slot, minor, parameters, arguments, queue_handle, count, \
		   lists, describe)                                                              \
	static __attribute__((noinline)) ze_result record_##name parameters                      \
	{                                                                                        \
		struct guest_thread *thread = guest_enter();                                     \
		struct level_zero_execute execute = {                                            \
			.function = number,                                                      \
			.queue = level_zero_queue(queue_handle),                                 \
			.count = count,                                                          \
			.lists = lists,                                                          \
			.immediate = queue_handle,                                               \
			.place = (uintptr_t)__builtin_return_address(0)};                        \
		ze_result result;                                                                \
                                                                                                 \
		if (!thread) {                                                                   \
			guest_missed(RING_TROUBLE_NO_RING_LAUNCH);                               \
			return next.name arguments;                                              \
		}                                                                                \
		describe;                                                                        \
		level_zero_execute_begin(thread, &execute);                                      \
		result = next.name arguments;                                                    \
		execute.exit = guest_now(thread);                                                \
		level_zero_execute_end(thread, &execute, result);                                \
		return result;                                                                   \
	}                                                                                        \
	GUEST_HOOK(ze_result, name, parameters, arguments, LOOK_IF_DUE, next.name)
#define ZE_QUIET(name, table, slot, minor, parameters, arguments) \
	static ze_result hook_##name parameters                   \
	{                                                         \
		return own_##name arguments;                      \
	}
#define ZE_GIVE(name, table, slot, minor, parameters, arguments) \
	static ze_handle hook_##name parameters                  \
	{                                                        \
		return own_##name arguments;                     \
	}
#define ZE_BELOW(name, table, slot, minor, parameters)
#include "abi/level_zero_calls.h"
#undef ZE_CALL
#undef ZE_WAIT
#undef ZE_APPEND
#undef ZE_EXECUTE
#undef ZE_QUIET
#undef ZE_GIVE
#undef ZE_BELOW

/* ---- the tables of the loader ---------------------------------------------------------------- */

/* Tables with a row: X(the function that gives it, the name by which rows refer to it). Not
 * formatted, because clang-format would put several into one line. */
/* clang-format off */
#define HOOKED_TABLES(X) \
	X(zeGetGlobalProcAddrTable, global) \
	X(zeGetDriverProcAddrTable, driver) \
	X(zeGetDeviceProcAddrTable, device) \
	X(zeGetContextProcAddrTable, context) \
	X(zeGetCommandQueueProcAddrTable, command_queue) \
	X(zeGetCommandListProcAddrTable, command_list) \
	X(zeGetCommandListExpProcAddrTable, command_list_exp) \
	X(zeGetEventPoolProcAddrTable, event_pool) \
	X(zeGetEventProcAddrTable, event) \
	X(zeGetEventExpProcAddrTable, event_exp) \
	X(zeGetFenceProcAddrTable, fence) \
	X(zeGetModuleProcAddrTable, module) \
	X(zeGetKernelProcAddrTable, kernel) \
	X(zeGetMemProcAddrTable, mem) \
	X(zeGetPhysicalMemProcAddrTable, physical_mem) \
	X(zeGetVirtualMemProcAddrTable, virtual_mem) \
	X(zeGetImageProcAddrTable, image) \
	X(zerGetGlobalProcAddrTable, zer_global)
/* clang-format on */

enum table {
	TABLE_NONE, /* not hooked */
#define TABLE(function, name) TABLE_##name,
	HOOKED_TABLES(TABLE)
#undef TABLE
};

#define ROW(name, table, slot, minor, hook) \
	{TABLE_##table, slot, minor, offsetof(struct level_zero_functions, name), (void *)(hook)},
#define ZE_CALL(number, name, table, slot, minor, ...)    ROW(name, table, slot, minor, hook_##name)
#define ZE_WAIT(number, name, table, slot, minor, ...)    ROW(name, table, slot, minor, hook_##name)
#define ZE_APPEND(number, name, table, slot, minor, ...)  ROW(name, table, slot, minor, hook_##name)
#define ZE_EXECUTE(number, name, table, slot, minor, ...) ROW(name, table, slot, minor, hook_##name)
#define ZE_QUIET(name, table, slot, minor, ...)           ROW(name, table, slot, minor, hook_##name)
#define ZE_GIVE(name, table, slot, minor, ...)            ROW(name, table, slot, minor, hook_##name)
#define ZE_BELOW(name, table, slot, minor, parameters)    ROW(name, table, slot, minor, NULL)
static const struct row {
	enum table table;
	uint32_t slot, minor;
	size_t offset; /* offset in `next` */
	/* NULL: only the guest calls this function, and the program's calls are not recorded */
	void *hook;
} rows[] = {
#include "abi/level_zero_calls.h"
};

static void on_fork(void)
{
	level_zero_handles_forked();
	level_zero_objects_forked();
	level_zero_events_forked();
	level_zero_commands_forked();
	guest_stacks_forked();
}

/* Keeps the calling loader mapped, because the guest calls its functions. Nothing is read at exit:
 * the commands that the program waited for were read when it waited. */
static void prepare_guest(const void *caller)
{
	static const struct guest_backend backend = {.name = "level_zero", .on_fork = on_fork};
	static atomic_bool is_prepared;
	int saved = errno;
	Dl_info about;
	void *loader;

	if (atomic_exchange(&is_prepared, true))
		return;
	guest_init(&backend);
	if (dladdr(caller, &about) && about.dli_fname) {
		loader = dlopen(about.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
		if (loader)
			level_zero_translate =
				(zel_translate_handle *)dlsym(loader, "zelLoaderTranslateHandle");
	}
	errno = saved;
}

/* Saves the functions of a table and replaces them by our hooks. Empty slots stay empty. A slot
 * that already holds our hook comes from a table that we filled before. */
static void hook_table(enum table table, uint32_t minor, void **functions)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		void **below = (void **)((char *)&next + row->offset), *function;

		if (row->table != table || row->minor > minor)
			continue;
		function = functions[row->slot];
		if (!function || function == row->hook)
			continue;
		*below = function;
		if (row->hook)
			functions[row->slot] = row->hook;
	}
}

/* Hooks one table. The layout of another major version is unknown, so its tables are not
 * changed. */
static ze_result take_table(enum table table, uint32_t version, void *functions, const void *caller)
{
	struct guest_thread *thread;

	prepare_guest(caller);
	if (!functions || table == TABLE_NONE)
		return ZE_SUCCESS;
	if (version >> 16 != ZE_VERSION_MAJOR) {
		thread = guest_enter_first();
		if (thread && table == TABLE_global)
			guest_trouble(LEVEL_ZERO_TROUBLE_VERSION);
		return ZE_SUCCESS;
	}
	hook_table(table, version & 0xffff, functions);
	return ZE_SUCCESS;
}

#define GIVES(name, table)                                                                         \
	EXPORTED ze_result name(uint32_t version, void *functions);                                \
	EXPORTED ze_result name(uint32_t version, void *functions)                                 \
	{                                                                                          \
		return take_table(TABLE_##table, version, functions, __builtin_return_address(0)); \
	}
/* The loader rejects a layer that lacks one of these functions, and then fails itself. The list has
 * all functions up to loader 1.17. */
HOOKED_TABLES(GIVES)
GIVES(zeGetDeviceExpProcAddrTable, NONE)
GIVES(zeGetDriverExpProcAddrTable, NONE)
GIVES(zeGetExecutableGraphProcAddrTable, NONE)
GIVES(zeGetFabricEdgeExpProcAddrTable, NONE)
GIVES(zeGetFabricVertexExpProcAddrTable, NONE)
GIVES(zeGetGraphProcAddrTable, NONE)
GIVES(zeGetImageExpProcAddrTable, NONE)
GIVES(zeGetKernelExpProcAddrTable, NONE)
GIVES(zeGetMemExpProcAddrTable, NONE)
GIVES(zeGetModuleBuildLogProcAddrTable, NONE)
GIVES(zeGetRTASBuilderExpProcAddrTable, NONE)
GIVES(zeGetRTASBuilderProcAddrTable, NONE)
GIVES(zeGetRTASParallelOperationExpProcAddrTable, NONE)
GIVES(zeGetRTASParallelOperationProcAddrTable, NONE)
GIVES(zeGetSamplerProcAddrTable, NONE)
GIVES(zetGetCommandListExpProcAddrTable, NONE)
GIVES(zetGetCommandListProcAddrTable, NONE)
GIVES(zetGetContextProcAddrTable, NONE)
GIVES(zetGetDebugProcAddrTable, NONE)
GIVES(zetGetDeviceExpProcAddrTable, NONE)
GIVES(zetGetDeviceProcAddrTable, NONE)
GIVES(zetGetKernelProcAddrTable, NONE)
GIVES(zetGetMetricDecoderExpProcAddrTable, NONE)
GIVES(zetGetMetricExpProcAddrTable, NONE)
GIVES(zetGetMetricGroupExpProcAddrTable, NONE)
GIVES(zetGetMetricGroupProcAddrTable, NONE)
GIVES(zetGetMetricProcAddrTable, NONE)
GIVES(zetGetMetricProgrammableExpProcAddrTable, NONE)
GIVES(zetGetMetricQueryPoolProcAddrTable, NONE)
GIVES(zetGetMetricQueryProcAddrTable, NONE)
GIVES(zetGetMetricStreamerProcAddrTable, NONE)
GIVES(zetGetMetricTracerExpProcAddrTable, NONE)
GIVES(zetGetModuleProcAddrTable, NONE)
GIVES(zetGetTracerExpProcAddrTable, NONE)
GIVES(zesGetDeviceExpProcAddrTable, NONE)
GIVES(zesGetDeviceProcAddrTable, NONE)
GIVES(zesGetDiagnosticsProcAddrTable, NONE)
GIVES(zesGetDriverExpProcAddrTable, NONE)
GIVES(zesGetDriverProcAddrTable, NONE)
GIVES(zesGetEngineProcAddrTable, NONE)
GIVES(zesGetFabricPortProcAddrTable, NONE)
GIVES(zesGetFanProcAddrTable, NONE)
GIVES(zesGetFirmwareExpProcAddrTable, NONE)
GIVES(zesGetFirmwareProcAddrTable, NONE)
GIVES(zesGetFrequencyProcAddrTable, NONE)
GIVES(zesGetGlobalProcAddrTable, NONE)
GIVES(zesGetLedProcAddrTable, NONE)
GIVES(zesGetMemoryProcAddrTable, NONE)
GIVES(zesGetOverclockProcAddrTable, NONE)
GIVES(zesGetPerformanceFactorProcAddrTable, NONE)
GIVES(zesGetPowerProcAddrTable, NONE)
GIVES(zesGetPsuProcAddrTable, NONE)
GIVES(zesGetRasExpProcAddrTable, NONE)
GIVES(zesGetRasProcAddrTable, NONE)
GIVES(zesGetSchedulerProcAddrTable, NONE)
GIVES(zesGetStandbyProcAddrTable, NONE)
GIVES(zesGetTemperatureProcAddrTable, NONE)
GIVES(zesGetVFManagementExpProcAddrTable, NONE)
/* Only tracing layers provide this one. A program that wants to trace gets an error. */
GIVES(zelGetTracerApiProcAddrTable, NONE)
