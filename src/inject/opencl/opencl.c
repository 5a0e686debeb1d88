/* SPDX-License-Identifier: MIT
 *
 * inject/opencl/opencl.c - the OpenCL guest: a wrapper of every call, loaded as a layer or
 * preloaded
 *
 * Runs in:  the profiled process: as a layer of the ICD loader (OPENCL_LAYERS), or preloaded before
 *           it
 * Gets:     the program's OpenCL calls
 * Gives:    one record a call, a launch record for an enqueue
 * Owns:     the table of wrappers and the table of the next functions
 * Fails:    never for the program: each call behaves as without the guest
 * Why:      the wrappers are made from abi/opencl_calls.table, typed, so that each costs only the
 *           copying of its own arguments. Without a recorder a call costs 0.7 ns more; with one,
 *           two reads of the time stamp counter (9.5 ns each) and a 32-byte record. The layer is
 *           the default: a program that opens OpenCL by dlopen with an absolute path does not avoid
 *           it, and sanitizers accept it. A preloaded library fails in both cases.
 */
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "inject/opencl/handles.h"
#include "inject/opencl/profiling.h"

#define EXPORTED __attribute__((visibility("default")))

static const size_t one_item[3] = {1, 1, 1};

/* ---- values for the rows of the table -------------------------------------------------------- */

#define QUEUE(handle)        launch.queue = (handle)
#define WAITS(count, list)   (launch.wait_count = (count), launch.wait_list = (list))
#define BYTES(size)          launch.bytes = (size)
#define BLOCKING(is)         launch.flags |= (is) ? LAUNCH_BLOCKING : 0
#define RECT(place)          (launch.region = (place), launch.measured = true)
#define IMAGE(object, place) (launch.image = (object), RECT(place))
#define OBJECTS(number, list) \
	(launch.count = (number), launch.objects = (list), launch.measured = true)
#define SUM(number, list) (launch.count = (number), launch.sizes = (list), launch.measured = true)
#define KERNEL(handle, count, global, local)                                                   \
	(launch.kernel = (handle), launch.dimensions = (count), launch.global_size = (global), \
	 launch.local_size = (local))

static uint64_t volume(const size_t *region)
{
	return region ? (uint64_t)region[0] * region[1] * region[2] : 0;
}

static uint64_t element_bytes(cl_mem image)
{
	size_t size = 0;

	next.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof(size), &size, NULL);
	return size;
}

static uint64_t objects_bytes(cl_uint count, const cl_mem *objects)
{
	uint64_t total = 0;

	for (cl_uint i = 0; objects && i < count; i++) {
		size_t size = 0;

		if (next.clGetMemObjectInfo(objects[i], CL_MEM_SIZE, sizeof(size), &size, NULL) ==
		    CL_SUCCESS)
			total += size;
	}
	return total;
}

static uint64_t sum(cl_uint count, const size_t *sizes)
{
	uint64_t total = 0;

	for (cl_uint i = 0; sizes && i < count; i++)
		total += sizes[i];
	return total;
}

/* Calculates the size in bytes, after the runtime has accepted the arguments. The arguments of a
 * refused call may point anywhere. */
static void measure_bytes(struct opencl_launch *launch)
{
	int saved = errno;

	if (launch->region)
		launch->bytes = volume(launch->region);
	if (launch->image)
		launch->bytes *= guest_exit_has_begun() ? 0 : element_bytes(launch->image);
	if (launch->objects && !guest_exit_has_begun())
		launch->bytes = objects_bytes(launch->count, launch->objects);
	if (launch->sizes)
		launch->bytes = sum(launch->count, launch->sizes);
	errno = saved;
}

#define LOOK        guest_look_for_recorder()
#define NO_LOOK     ((void)0)
#define LOOK_IF_DUE guest_look_if_due()

static uint64_t queue_id(struct guest_thread *thread, cl_command_queue handle)
{
	struct opencl_queue *queue = opencl_queue(thread, handle);

	return queue ? queue->id : 0;
}

static void harvest_queue(struct guest_thread *thread, cl_command_queue handle)
{
	struct opencl_queue *queue = opencl_queue(thread, handle);
	uint64_t begin = guest_section_begin(thread);
	int saved = errno;

	if (!queue)
		return;
	opencl_harvest(thread, queue);
	opencl_read_device_timer(thread, queue, begin);
	guest_section_end(thread, GUEST_SECTION_HARVEST, begin);
	errno = saved;
}

static void harvest_all(struct guest_thread *thread)
{
	uint64_t begin = guest_section_begin(thread);
	int saved = errno;

	opencl_harvest_all(thread);
	opencl_read_device_timers(thread, begin);
	guest_section_end(thread, GUEST_SECTION_HARVEST, begin);
	errno = saved;
}

static void forget(const void *handle)
{
	opencl_forget(handle);
}

/* Runs after the call, so that its time is not part of the call. */
static void after_queue(struct guest_thread *thread, cl_command_queue queue)
{
	if (thread && queue)
		opencl_queue(thread, queue);
}

static void command_buffer_made(cl_command_buffer_khr buffer, cl_uint count,
				const cl_command_queue *queues)
{
	if (buffer && count && queues)
		opencl_command_buffer_made(buffer, queues[0]);
}

/* A command buffer enqueued without queues goes to the queue for which it was created. */
static cl_command_queue graph_queue(cl_command_buffer_khr buffer, cl_uint count,
				    const cl_command_queue *queues)
{
	return count && queues ? queues[0] : opencl_command_buffer_queue(buffer);
}

static void after_kernels(cl_uint count, cl_kernel *kernels, cl_int result)
{
	for (cl_uint i = 0; kernels && result == CL_SUCCESS && i < count; i++)
		opencl_forget(kernels[i]);
}

static void after_devices(cl_uint count, const cl_device_id *devices, const cl_uint *made,
			  cl_int result)
{
	if (result != CL_SUCCESS || !devices)
		return;
	for (cl_uint i = 0; i < (made && *made < count ? *made : count); i++)
		opencl_forget(devices[i]);
}

/* thread NULL: no ring. The handle's data is outdated for other threads all the same. */
static void after_build(struct guest_thread *thread, cl_program program, cl_int result)
{
	int saved = errno;
	uint64_t begin;
	uint32_t code;

	opencl_forget(program); /* after a new build, source, options and binaries may differ */
	if (!thread)
		return;
	begin = guest_section_begin(thread);
	code = opencl_program(thread, program);
	if (code)
		opencl_keep_program(thread, program, code, result);
	if (code)
		guest_hook_exit(); /* the build has loaded the runtime's compiler */
	guest_section_end(thread, GUEST_SECTION_CODE, begin);
	errno = saved;
}

/* Reads the times when a program polls an event, because it may end after that without a further
 * call. */
static void after_event_info(struct guest_thread *thread, cl_event event, cl_uint param_name,
			     const void *param_value, cl_int result)
{
	cl_int status = 1;

	if (!thread || result != CL_SUCCESS || param_name != CL_EVENT_COMMAND_EXECUTION_STATUS ||
	    !param_value)
		return;
	memcpy(&status, param_value, sizeof(status));
	if (status <= CL_COMPLETE)
		opencl_event_is_over(thread, event);
}

static void after_link(struct guest_thread *thread, cl_program program, cl_int result)
{
	if (program)
		after_build(thread, program, result);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static inline void end_call(struct guest_thread *thread)
{
	if (GUEST_UNLIKELY(atomic_load_explicit(&opencl_polled, memory_order_relaxed)))
		opencl_poll(thread);
}

/* ---- calls with their own code --------------------------------------------------------------- */

static void *wrapper_of(const char *name, void *real);

static void *own_clGetExtensionFunctionAddress(const char *func_name)
{
	return wrapper_of(func_name, next.clGetExtensionFunctionAddress(func_name));
}

static void *own_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform,
							  const char *func_name)
{
	return wrapper_of(func_name,
			  next.clGetExtensionFunctionAddressForPlatform(platform, func_name));
}

/* ---- the wrappers ---------------------------------------------------------------------------- */

/* Two functions per row: record_NAME, and the hook before it (GUEST_HOOK). */
#define STATUS(number, name, parameters, arguments, callee, look, value, after)              \
	GUEST_CALL(cl_int, number, name, parameters, arguments, CALLEE_##callee(name), look, \
		   result, value, after, after;                                              \
		   END_##callee(thread))
#define CREATE(number, name, type, parameters, arguments, callee, look, value, after) \
	static __attribute__((noinline)) type record_##name parameters                \
	{                                                                             \
		struct guest_thread *thread;                                          \
		cl_int *const asked = errcode_ret;                                    \
		cl_int result = OPENCL_UNWRITTEN;                                     \
		uint64_t begin, end;                                                  \
		type object;                                                          \
                                                                                      \
		if (!errcode_ret)                                                     \
			errcode_ret = &result;                                        \
		look;                                                                 \
		thread = guest_enter();                                               \
		if (!thread) {                                                        \
			guest_missed(RING_TROUBLE_NO_RING);                           \
			object = CALLEE_##callee(name) arguments;                     \
			after;                                                        \
			return object;                                                \
		}                                                                     \
		errcode_ret = &result;                                                \
		begin = guest_now(thread);                                            \
		object = CALLEE_##callee(name) arguments;                             \
		end = guest_now(thread);                                              \
		if (result == OPENCL_UNWRITTEN)                                       \
			result = object ? CL_SUCCESS : asked ? *asked : CL_SUCCESS;   \
		else if (asked)                                                       \
			*asked = result;                                              \
		guest_put_api(thread, number, begin, end, result, value,              \
			      result ? guest_stack(thread) : 0);                      \
		after;                                                                \
		end_call(thread);                                                     \
		return object;                                                        \
	}                                                                             \
	GUEST_HOOK(type, name, parameters, arguments, look, CALLEE_##callee(name))
#define POINTER(number, name, parameters, arguments, callee, value)                             \
	GUEST_CALL(void *, number, name, parameters, arguments, CALLEE_##callee(name), NO_LOOK, \
		   result ? 0 : -1, value, , end_call(thread))
#define NOTHING(number, name, parameters, arguments)                              \
	static __attribute__((noinline)) void record_##name parameters            \
	{                                                                         \
		struct guest_thread *thread = guest_enter();                      \
		uint64_t begin;                                                   \
                                                                                  \
		if (!thread) {                                                    \
			guest_missed(RING_TROUBLE_NO_RING);                       \
			next.name arguments;                                      \
			return;                                                   \
		}                                                                 \
		begin = guest_now(thread);                                        \
		next.name arguments;                                              \
		guest_put_api(thread, number, begin, guest_now(thread), 0, 0, 0); \
		end_call(thread);                                                 \
	}                                                                         \
	static void hook_##name parameters                                        \
	{                                                                         \
		if (GUEST_LIKELY(guest_is_idle())) {                              \
			NO_LOOK;                                                  \
			next.name arguments;                                      \
			return;                                                   \
		}                                                                 \
		record_##name arguments;                                          \
	}
#define WAIT(number, name, parameters, arguments, kind, value, after)                         \
	GUEST_WAIT(cl_int, number, name, parameters, arguments, next.name, LOOK_##kind, kind, \
		   result, value, after;                                                      \
		   END_##kind(thread))
#define LOOK_API_TYPE_WAIT          guest_look_for_recorder()
#define LOOK_API_TYPE_SIGNAL        NO_LOOK
#define END_API_TYPE_WAIT(thread)   ((void)0)
#define END_API_TYPE_SIGNAL(thread) end_call(thread)
#define ENQUEUE_WITH(number, name, command_kind, parameters, arguments, type, begin, get_result, \
		     is_launched, describe)                                                      \
	static __attribute__((noinline)) type record_##name parameters                           \
	{                                                                                        \
		struct guest_thread *thread = guest_enter();                                     \
		struct opencl_launch launch;                                                     \
		type returned;                                                                   \
                                                                                                 \
		if (!thread) {                                                                   \
			guest_missed(RING_TROUBLE_NO_RING_LAUNCH);                               \
			return next.name arguments;                                              \
		}                                                                                \
		guest_count_launch(thread);                                                      \
		if (guest_leaves_out(thread)) {                                                  \
			returned = next.name arguments;                                          \
			guest_count_left_out(thread, is_launched);                               \
			end_call(thread);                                                        \
			return returned;                                                         \
		}                                                                                \
		opencl_launch_init(&launch, number, command_kind);                               \
		launch.site = (uint64_t)(uintptr_t)__builtin_return_address(0);                  \
		describe;                                                                        \
		begin;                                                                           \
		returned = next.name arguments;                                                  \
		launch.exit = guest_now(thread);                                                 \
		if (launch.measured && get_result == CL_SUCCESS)                                 \
			measure_bytes(&launch);                                                  \
		opencl_launch_end(thread, &launch, get_result);                                  \
		return returned;                                                                 \
	}                                                                                        \
	GUEST_HOOK(type, name, parameters, arguments, LOOK_IF_DUE, next.name)
#define ENQUEUE(number, name, command, parameters, arguments, describe)             \
	ENQUEUE_WITH(number, name, command, parameters, arguments, cl_int,          \
		     event = opencl_launch_begin(thread, &launch, event), returned, \
		     returned == CL_SUCCESS, describe)
#define ENQUEUE_PLAIN(number, name, command, parameters, arguments, describe)                      \
	ENQUEUE_WITH(number, name, command, parameters, arguments, cl_int,                         \
		     opencl_launch_begin(thread, &launch, NULL), returned, returned == CL_SUCCESS, \
		     describe)
#define ENQUEUE_MAP(number, name, command, parameters, arguments, describe)                       \
	ENQUEUE_WITH(number, name, command, parameters, arguments, void *,                        \
		     event = opencl_launch_begin(thread, &launch, event);                         \
		     cl_int local = CL_SUCCESS; errcode_ret = errcode_ret ? errcode_ret : &local, \
						*errcode_ret, returned != NULL, describe)
#define PASSED(number, name)
#define CALLEE_next(name)    next.name
#define CALLEE_own(name)     own_##name
#define CALLEE_release(name) next.name
#define END_next(thread)     end_call(thread)
#define END_own(thread)      end_call(thread)
#define END_release(thread)  ((void)0)
#include "opencl_calls.inc"
#include "abi/opencl_calls_end.h"

#define ROW(row_name) \
	{#row_name, offsetof(struct opencl_functions, row_name), (void *)hook_##row_name},
#define STATUS(number, name, ...)        ROW(name)
#define CREATE(number, name, ...)        ROW(name)
#define POINTER(number, name, ...)       ROW(name)
#define NOTHING(number, name, ...)       ROW(name)
#define WAIT(number, name, ...)          ROW(name)
#define ENQUEUE(number, name, ...)       ROW(name)
#define ENQUEUE_PLAIN(number, name, ...) ROW(name)
#define ENQUEUE_MAP(number, name, ...)   ROW(name)
#define PASSED(number, name)             {NULL, offsetof(struct opencl_functions, name), NULL},

/* One row per function: the loader's slots first, in their order. */
static const struct hook {
	const char *name; /* NULL: not hooked */
	size_t offset;
	void *hook;
} hooks[] = {
#include "opencl_calls.inc"
};

enum { HOOK_COUNT = sizeof(hooks) / sizeof(hooks[0]) };

static void **function_at(struct opencl_functions *functions, size_t offset)
{
	return (void **)((char *)functions + offset);
}

/* Extension functions differ between platforms. The first platform's function is wrapped; those of
 * other platforms are passed on unchanged. */
static void *wrapper_of(const char *name, void *real)
{
	if (!name || !real)
		return real;
	for (size_t i = 0; i < HOOK_COUNT; i++) {
		void **below, *none = NULL;

		if (!hooks[i].name || strcmp(hooks[i].name, name) != 0)
			continue;
		below = function_at(&next, hooks[i].offset);
		if (i < OPENCL_SLOTS)
			return *below ? hooks[i].hook : real;
		/* Two threads may query two platforms at once. */
		__atomic_compare_exchange_n(below, &none, real, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE);
		return !none || none == real ? hooks[i].hook : real;
	}
	return real;
}

/* ---- entry as a layer of the loader ---------------------------------------------------------- */

static void on_fork(void)
{
	opencl_objects_forked();
	opencl_commands_forked();
	guest_stacks_forked();
}

static void prepare_guest(void)
{
	static const struct guest_backend backend = {.name = "opencl", .on_fork = on_fork};

	const char *asked = getenv("DUET_OPENCL_PROFILING");

	opencl_adds_profiling_idle = asked && *asked && strcmp(asked, "0") != 0;
	guest_init(&backend);
}

/* How the guest came into the process. The other way is then closed, so that no call is counted
 * twice. */
enum { ENTRY_NONE, ENTRY_CHOOSING, ENTRY_LAYER, ENTRY_PRELOAD };
static _Atomic int entry;

EXPORTED cl_int clGetLayerInfo(cl_uint param_name, size_t size, void *value, size_t *ret_size);
EXPORTED cl_int clInitLayer(cl_uint slots, const void *const *target, cl_uint *ret_slots,
			    const void *const **ret_layer);

EXPORTED cl_int clGetLayerInfo(cl_uint param_name, size_t size, void *value, size_t *ret_size)
{
	static const char name[] = "duet";
	const cl_uint version = CL_LAYER_API_VERSION_100;
	const void *answer = param_name == CL_LAYER_NAME ? (const void *)name : &version;
	size_t answer_size = param_name == CL_LAYER_NAME ? sizeof(name) : sizeof(version);

	if (param_name != CL_LAYER_NAME && param_name != CL_LAYER_API_VERSION)
		return CL_INVALID_VALUE;
	if (value && size < answer_size)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, answer, answer_size);
	if (ret_size)
		*ret_size = answer_size;
	return CL_SUCCESS;
}

/* Keeps the loader mapped. Commands may be pending when a program closes its OpenCL library, and
 * later calls query their events. */
static void hold_loader(void *function)
{
	Dl_info about;
	int saved = errno;

	if (dladdr(function, &about) && about.dli_fname)
		dlopen(about.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	errno = saved;
}

static void keep_layers(void)
{
	Dl_info about;

	if (dladdr((void *)clInitLayer, &about) && about.dli_fname)
		opencl_join_layers(about.dli_fname);
}

EXPORTED cl_int clInitLayer(cl_uint slots, const void *const *target, cl_uint *ret_slots,
			    const void *const **ret_layer)
{
	static const void *layer[OPENCL_SLOTS];

	if (!target || !ret_slots || !ret_layer || entry != ENTRY_NONE)
		return CL_INVALID_VALUE;
	entry = ENTRY_LAYER;
	hold_loader((void *)target[0]);
	keep_layers();
	prepare_guest();
	for (cl_uint i = 0; i < OPENCL_SLOTS && i < slots; i++) {
		*function_at(&next, hooks[i].offset) = (void *)target[i];
		/* A slot that the loader leaves empty must stay empty, or calls would jump to NULL.
		 */
		layer[i] = target[i] && hooks[i].hook ? hooks[i].hook : target[i];
	}
	*ret_slots = slots < OPENCL_SLOTS ? slots : OPENCL_SLOTS;
	*ret_layer = layer;
	return CL_SUCCESS;
}

/* ---- entry by preloading --------------------------------------------------------------------- */

/* Functions of the library behind us. If the guest is a layer, calls go straight to them. */
static struct opencl_functions behind;
static _Atomic bool found_behind;

/* Several threads may run this at once. Each stores the same values, and found_behind is set after
 * all of them. */
static void find_behind(void)
{
	for (size_t i = 0; i < OPENCL_SLOTS; i++)
		if (hooks[i].name)
			*function_at(&behind, hooks[i].offset) = dlsym(RTLD_NEXT, hooks[i].name);
}

static __attribute__((noinline, cold)) void enter_by_preload(void)
{
	int expected = ENTRY_NONE, saved = errno;

	find_behind();
	if (atomic_compare_exchange_strong(&entry, &expected, ENTRY_CHOOSING)) {
		next = behind;
		prepare_guest();
		atomic_store(&entry, ENTRY_PRELOAD);
	}
	while (atomic_load(&entry) == ENTRY_CHOOSING)
		sched_yield();
	atomic_store(&found_behind, true);
	errno = saved;
}

/* True: the preloaded library records this call. False: the layer does, or there is no OpenCL
 * library. */
static inline bool is_preloaded(void)
{
	if (GUEST_UNLIKELY(!atomic_load_explicit(&found_behind, memory_order_acquire)))
		enter_by_preload();
	return atomic_load_explicit(&entry, memory_order_relaxed) == ENTRY_PRELOAD;
}

#define EXPORT(type, name, parameters, arguments, failure)                   \
	EXPORTED type name parameters;                                       \
	EXPORTED type name parameters                                        \
	{                                                                    \
		bool ours = is_preloaded();                                  \
                                                                             \
		if (GUEST_UNLIKELY(!behind.name))                            \
			return failure;                                      \
		return ours ? hook_##name arguments : behind.name arguments; \
	}
#include "abi/opencl_calls_end.h"
#define STATUS(number, name, parameters, arguments, ...) \
	EXPORT(cl_int, name, parameters, arguments, CL_INVALID_OPERATION)
#define CREATE(number, name, type, parameters, arguments, ...) \
	EXPORT(type, name, parameters, arguments, NULL)
#define POINTER(number, name, parameters, arguments, ...) \
	EXPORT(void *, name, parameters, arguments, NULL)
#define NOTHING(number, name, parameters, arguments) EXPORT(void, name, parameters, arguments, )
#define WAIT(number, name, parameters, arguments, ...) \
	EXPORT(cl_int, name, parameters, arguments, CL_INVALID_OPERATION)
#define ENQUEUE(number, name, command, parameters, arguments, ...) \
	EXPORT(cl_int, name, parameters, arguments, CL_INVALID_OPERATION)
#define ENQUEUE_PLAIN(number, name, command, parameters, arguments, ...) \
	EXPORT(cl_int, name, parameters, arguments, CL_INVALID_OPERATION)
#define ENQUEUE_MAP(number, name, command, parameters, arguments, ...) \
	EXPORT(void *, name, parameters, arguments, NULL)
#define PASSED(number, name)
#define OPENCL_CORE_ONLY
#include "opencl_calls.inc"
