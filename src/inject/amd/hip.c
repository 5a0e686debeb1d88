/* SPDX-License-Identifier: MIT
 *
 * inject/amd/hip.c - record the HIP calls around the work that the HSA guest sees
 *
 * Runs in:  the profiled process, in the program's own calls; preloaded
 * Gets:     the program's HIP calls
 * Gives:    one record a call, and a launch record if it launched something
 * Owns:     the table of HIP's own functions
 * Fails:    never for the program: each call behaves as without the guest
 * Why:      a dispatch that HIP writes into a queue does not identify the call behind it. So the
 *           wrapper stores the call in the thread (hsa_caller). The HSA guest writes the call and
 *           its first dispatch or copy as one row: one name, one interval, one stack. Wrappers are
 *           exported under the versions of HIP's own symbols, and never as default versions.
 *           Programs linked to HIP bind to the wrappers, but dlsym does not find them. So a program
 *           that checks for HIP, or for a call of HIP, gets the same answer as without the guest.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "abi/hip.h"
#include "inject/amd/hsa.h"

#define EXPORTED __attribute__((visibility("default")))
#define LIBRARY  "libamdhip64.so"

/* ---- HIP's own functions --------------------------------------------------------------------- */

#define HIP_CALL(number, name, version, parameters, ...)     HIP_FUNCTION(name, parameters)
#define HIP_WAIT(number, name, version, parameters, ...)     HIP_FUNCTION(name, parameters)
#define HIP_LAUNCH(number, name, version, parameters, ...)   HIP_FUNCTION(name, parameters)
#define HIP_COPY(number, name, version, parameters, ...)     HIP_FUNCTION(name, parameters)
#define HIP_COPY_NOW(number, name, version, parameters, ...) HIP_FUNCTION(name, parameters)
#define HIP_OTHER_SYMBOL(name, symbol, version)

/* Initial value of each function pointer: the first call of any function looks up all of them. */
#define HIP_FUNCTION(name, parameters) static hip_error first_##name parameters;
#include "abi/hip_calls.h"
#undef HIP_FUNCTION

static struct {
#define HIP_FUNCTION(name, parameters) hip_error(*name) parameters;
#include "abi/hip_calls.h"
#undef HIP_FUNCTION
} next = {
#define HIP_FUNCTION(name, parameters) .name = first_##name,
#include "abi/hip_calls.h"
#undef HIP_FUNCTION
};

static const struct {
	const char *symbol;
	size_t place;
} functions[] = {
#define HIP_FUNCTION(name, parameters) {#name, offsetof(__typeof__(next), name)},
#undef HIP_OTHER_SYMBOL
#define HIP_OTHER_SYMBOL(name, symbol, version) {symbol, offsetof(__typeof__(next), name)},
#include "abi/hip_calls.h"
#undef HIP_FUNCTION
};

enum { FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

/* Called for a function that this HIP does not have; no known release is in that state. */
static hip_error missing_function(void)
{
	return HIP_ERROR_SYMBOL_NOT_FOUND;
}

struct library {
	const char *path; /* NULL: not found */
	uintptr_t begin, end;
};

/* HIP's library. Until it is found, and if its file has another name, it covers all addresses. */
static struct library hip = {.end = UINTPTR_MAX};

static int find_library(struct dl_phdr_info *about, size_t size, void *ret_library)
{
	const char *slash = strrchr(about->dlpi_name, '/');
	struct library *library = ret_library;

	if (strncmp(slash ? slash + 1 : about->dlpi_name, LIBRARY, strlen(LIBRARY)) != 0)
		return 0;
	library->path = about->dlpi_name;
	library->begin = about->dlpi_addr;
	for (uint32_t i = 0; i < about->dlpi_phnum; i++)
		if (about->dlpi_phdr[i].p_type == PT_LOAD)
			library->end = about->dlpi_addr + about->dlpi_phdr[i].p_vaddr +
				       about->dlpi_phdr[i].p_memsz;
	return 1;
}

/* Returns a handle of HIP's library and keeps the library mapped. Symbols of a library that was
 * loaded privately (RTLD_LOCAL) are found only through its handle, and the program may unload it
 * and load it again elsewhere. */
static void *keep_library(const struct library *library)
{
	return library->path ? dlopen(library->path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE)
			     : NULL;
}

static void *find_function(const char *symbol, void *library)
{
	void *found = dlsym(RTLD_NEXT, symbol);

	return !found && library ? dlsym(library, symbol) : found;
}

/* Finds HIP's functions. Several threads may run this at once; each stores the same values. */
static __attribute__((noinline, cold)) void find_below(void)
{
	int saved = errno;
	struct library found_library = {.end = UINTPTR_MAX};
	void *library;

	dl_iterate_phdr(find_library, &found_library);
	library = dlsym(RTLD_NEXT, functions[0].symbol) ? NULL : keep_library(&found_library);
	hip = found_library;
	for (size_t i = 0; i < FUNCTIONS; i++) {
		void *found = find_function(functions[i].symbol, library);
		void **place = (void **)((char *)&next + functions[i].place);

		if (found)
			__atomic_store_n(place, found, __ATOMIC_RELAXED);
	}
#define HIP_FUNCTION(name, parameters) \
	if (next.name == first_##name) \
		next.name = (hip_error(*) parameters)(void *)missing_function;
#undef HIP_OTHER_SYMBOL
#define HIP_OTHER_SYMBOL(name, symbol, version)
#include "abi/hip_calls.h"
#undef HIP_FUNCTION
	/* Clears the error that our dlsym left, because the program did not cause it. */
	dlerror();
	errno = saved;
}

#undef HIP_CALL
#undef HIP_WAIT
#undef HIP_LAUNCH
#undef HIP_COPY
#undef HIP_COPY_NOW
#undef HIP_OTHER_SYMBOL

/* ---- values for the rows of the table -------------------------------------------------------- */

static uint32_t direction(int kind)
{
	return kind == HIP_COPY_HOST_TO_DEVICE   ? COMMAND_WRITE
	       : kind == HIP_COPY_DEVICE_TO_HOST ? COMMAND_READ
						 : COMMAND_COPY;
}

/* A NULL description is left to the runtime to refuse. */
static uint32_t direction_3d(const struct hip_copy_3d *copy)
{
	return copy ? direction(copy->kind) : COMMAND_COPY;
}

/* Returns 0 if unknown: the elements of an array may have any size. */
static uint64_t bytes_3d(const struct hip_copy_3d *copy)
{
	if (!copy || copy->from_array || copy->to_array)
		return 0;
	return (uint64_t)copy->extent.width * copy->extent.height * copy->extent.depth;
}

static uint64_t bytes_2d(const struct hip_copy_2d *copy)
{
	return copy ? (uint64_t)copy->width_bytes * copy->height : 0;
}

static uint64_t bytes_drv_3d(const struct hip_drv_copy_3d *copy)
{
	return copy ? (uint64_t)copy->width_bytes * copy->height * copy->depth : 0;
}

/* ---- a call while it runs -------------------------------------------------------------------- */

/* Thread-local instead of in the frame of the call's wrapper, because a program may leave that
 * frame by siglongjmp. */
static _Thread_local struct hip_call {
	const void *frame; /* frame of the wrapper that runs; NULL: no call runs */
	struct guest_thread *thread;
	struct hsa_caller caller;
	uint32_t type; /* enum event_api_type; for calls that launch nothing */
	uint64_t argument;
} running __attribute__((tls_model("initial-exec")));

/* True for calls that HIP makes of its own functions: they are part of the program's call. */
static inline bool is_within(const void *caller)
{
	return hsa_caller && (uintptr_t)caller - hip.begin < hip.end - hip.begin;
}

static void take_stack(struct hip_call *call, uint64_t kernel)
{
	hsa_caller_stack(call->thread, &call->caller, kernel);
}

/* Records a call that launched nothing. "Not ready" is an answer, not a failure. */
static void put_api(const struct hip_call *call, uint64_t end, hip_error result)
{
	const struct hsa_caller *caller = &call->caller;

	/* The argument of the row: number of graph kernels that are not tracked one by one. */
	guest_put_api(call->thread, caller->function | call->type << 16, caller->begin, end,
		      result == HIP_ERROR_NOT_READY ? HIP_SUCCESS : result,
		      caller->batched ? caller->batched : call->argument, caller->stack);
}

static inline void end_call(struct hip_call *call, hip_error result)
{
	uint64_t now = guest_now(call->thread);

	hsa_caller = NULL;
	call->frame = NULL;
	if (call->caller.has_first)
		hsa_caller_put_first(call->thread, &call->caller, now);
	else
		put_api(call, now, result);
}

/* Ends the call also if the thread exits inside it or an exception leaves it, so that later work is
 * not attributed to it. */
static void leave_call(struct hip_call **place)
{
	if (GUEST_UNLIKELY(*place && (*place)->frame == place))
		end_call(*place, HIP_SUCCESS);
}

/* Starts a call; NULL: it is not recorded. place: its return address. */
static struct hip_call *begin_call(const void *frame, uint32_t function, const void *place)
{
	struct hip_call *call = &running;

	if (GUEST_UNLIKELY(!guest_self))
		hsa_start_guest();
	/* The program left the previous call by a jump, or a signal handler interrupts it. It ends
	 * here. */
	if (GUEST_UNLIKELY(call->frame))
		end_call(call, HIP_SUCCESS);
	call->thread = guest_enter();
	if (GUEST_UNLIKELY(!call->thread)) {
		guest_missed(RING_TROUBLE_NO_RING);
		return NULL;
	}
	hsa_caller_init(&call->caller, function);
	call->caller.site = guest_site((uintptr_t)place, function, 0);
	call->type = API_TYPE_CALL;
	call->argument = 0;
	call->frame = frame;
	return call;
}

/* ---- the wrappers ---------------------------------------------------------------------------- */

/* The linker versions only visible symbols; `amd/amd.map` hides the hook's own name. */
#define EXPORTED_AS(name, symbol, version) __asm__(".symver hook_" #name ", " symbol "@" version);

/* Two functions per row: without a recorder the hook is two loads and a jump, and must not share a
 * frame with the recording function. */
#define HIP_FUNCTION(number, name, version, parameters, arguments, describe)                   \
	static hip_error first_##name parameters                                               \
	{                                                                                      \
		find_below();                                                                  \
		return next.name arguments;                                                    \
	}                                                                                      \
	static __attribute__((noinline)) hip_error record_##name parameters                    \
	{                                                                                      \
		struct hip_call *call __attribute__((cleanup(leave_call))) = NULL;             \
		hip_error result;                                                              \
                                                                                               \
		call = begin_call(&call, number, __builtin_return_address(0));                 \
		if (!call)                                                                     \
			return next.name arguments;                                            \
		describe;                                                                      \
		hsa_caller = &call->caller;                                                    \
		call->caller.begin = guest_now(call->thread);                                  \
		result = next.name arguments;                                                  \
		if (GUEST_LIKELY(call->frame == &call))                                        \
			end_call(call, result);                                                \
		return result;                                                                 \
	}                                                                                      \
	EXPORTED hip_error hook_##name parameters;                                             \
	EXPORTED hip_error hook_##name parameters                                              \
	{                                                                                      \
		return GUEST_LIKELY(guest_is_idle()) || is_within(__builtin_return_address(0)) \
			       ? next.name arguments                                           \
			       : record_##name arguments;                                      \
	}                                                                                      \
	EXPORTED_AS(name, #name, version)

#define HIP_CALL(number, name, version, parameters, arguments, value) \
	HIP_FUNCTION(number, name, version, parameters, arguments, call->argument = (value))
#define HIP_WAIT(number, name, version, parameters, arguments)                                 \
	HIP_FUNCTION(number, name, version, parameters, arguments, call->type = API_TYPE_WAIT; \
		     take_stack(call, 0))
#define FIRST(first, ...)          ((uintptr_t)(first))
#define SECOND(first, second, ...) ((uintptr_t)(second))
#define HIP_LAUNCH(number, name, version, parameters, arguments)   \
	HIP_FUNCTION(number, name, version, parameters, arguments, \
		     take_stack(call, FIRST arguments))
#define HIP_LAUNCH_EX(number, name, version, parameters, arguments) \
	HIP_FUNCTION(number, name, version, parameters, arguments,  \
		     take_stack(call, SECOND arguments))
#define HIP_COOPERATIVE(number, name, version, parameters, arguments) \
	HIP_FUNCTION(number, name, version, parameters, arguments,    \
		     take_stack(call, FIRST arguments);               \
		     call->caller.flags = LAUNCH_COOPERATIVE)
#define HIP_GRAPH(number, name, version, parameters, arguments)    \
	HIP_FUNCTION(number, name, version, parameters, arguments, \
		     take_stack(call, (uintptr_t)graph);           \
		     call->caller.graph = (uintptr_t)graph)
#define HIP_COPY(number, name, version, parameters, arguments, what, size)              \
	HIP_FUNCTION(number, name, version, parameters, arguments, take_stack(call, 0); \
		     call->caller.command = (what); call->caller.bytes = call->argument = (size))
/* The call must wait only for copies to the host. */
#define HIP_COPY_NOW(number, name, version, parameters, arguments, what, size)           \
	HIP_FUNCTION(number, name, version, parameters, arguments, take_stack(call, 0);  \
		     call->type = API_TYPE_WAIT; call->caller.command = (what);          \
		     call->caller.flags =                                                \
			     call->caller.command == COMMAND_READ ? LAUNCH_BLOCKING : 0; \
		     call->caller.bytes = (size))
#define HIP_OTHER_SYMBOL(name, symbol, version) EXPORTED_AS(name, symbol, version)
#include "abi/hip_calls.h"

/* ---- order of symbols ------------------------------------------------------------------------ */

/* Looks up the symbol from the program. A lookup from inside this library might find our own
 * functions. */
bool hip_is_before_wrappers(void)
{
	struct library found = {.path = NULL};
	void *program = dlopen(NULL, RTLD_LAZY);
	void *first = program ? dlvsym(program, "hipLaunchKernel", "hip_4.2") : NULL;

	dl_iterate_phdr(find_library, &found);
	if (program)
		dlclose(program);
	dlerror();
	return found.path && first != (void *)hook_hipLaunchKernel;
}
