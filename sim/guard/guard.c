/* SPDX-License-Identifier: MIT
 *
 * sim/guard/guard.c - check the calls of guests while programs release objects and exit
 *
 * Runs in:  a recorded program; the first library in LD_PRELOAD
 * Gets:     every call of a vendor's function by a guest, and the program's calls that release
 *           something or exit
 * Gives:    abort, with a line on stderr, if sim/guard/rules.h does not allow a call
 * Owns:     a piece of code for each function that a guest obtained
 * Fails:    by abort, so that no test passes then
 * Why:      a guest that queried program binaries in clReleaseProgram crashed programs at exit. A
 *           guest obtains a vendor's functions in three ways, and gets a checked one in each: by
 *           dlsym (CUDA, CUPTI); from the table that ROCr shows its tools, so this library is a
 *           tool that is loaded before the guest; and from the tables that Level Zero's loader
 *           requests from a driver. Calls of the program are seen by exporting functions of the
 *           same names, and by dlsym.
 *
 * DUET_GUARD_TOOLS: the new value of HSA_TOOLS_LIB, set after the guest has put itself first there.
 * DUET_GUARD_WITHOUT=FUNCTION: ignores the rules for that function. DUET_GUARD_LOG=FILE: writes a
 * line "phase function" for each checked call that a rule allowed.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/hsa.h"

#define EXPORTED __attribute__((visibility("default"), used))

enum { THUNK_BYTES = 32, MAX_THUNKS = 2048, MAX_CLOSURES = 64, MAX_DEPTH = 16 };

/* ---- the rules ------------------------------------------------------------------------------- */

enum phase { RELEASE, EXIT };
enum thread_kind { ANY, OTHER };

static const struct rule {
	enum phase when;
	enum thread_kind by;
	const char *function, *reason;
} rules[] = {
#define RULE(when, by, function, reason) {when, by, #function, reason},
#include "rules.h"
#undef RULE
};

static volatile bool is_exiting;
static volatile pid_t exiting_thread;

/* The program's calls that this thread is in, innermost last. */
static _Thread_local struct {
	const char *names[MAX_DEPTH];
	unsigned depth;
} frames __attribute__((tls_model("initial-exec")));

static bool is_release(const char *name)
{
	static const char *const words[] = {"Destroy", "destroy",    "Free",      "free", "Unload",
					    "Release", "Unregister", "shut_down", "Reset"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(name, words[i]) && !strstr(name, "freeze") &&
		    strcmp(name, "zeEventHostReset") != 0)
			return true;
	return false;
}

static void begin_exit(void)
{
	exiting_thread = gettid();
	is_exiting = true;
}

static bool is_allowed(enum phase when, const char *function)
{
	const char *without = getenv("DUET_GUARD_WITHOUT");

	if (without && strcmp(without, function) == 0)
		return false;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].when == when && strcmp(rules[i].function, function) == 0 &&
		    (rules[i].by == ANY || gettid() != exiting_thread))
			return true;
	return false;
}

static void write_line(const char *file, const char *line, int length)
{
	int fd = file ? open(file, O_WRONLY | O_CREAT | O_APPEND, 0600) : STDERR_FILENO;

	if (fd < 0 || write(fd, line, (size_t)length) < 0)
		abort();
	if (file)
		close(fd);
}

static void judge(enum phase when, const char *function, const char *frame)
{
	const char *log = getenv("DUET_GUARD_LOG"), *phase = when == RELEASE ? "release" : "exit";
	char line[256];
	int length;

	if (!is_allowed(when, function)) {
		length = snprintf(line, sizeof(line), "guard: a guest calls %s during %s %s\n",
				  function, phase, frame ? frame : "");
		write_line(NULL, line, length);
		abort();
	}
	length = snprintf(line, sizeof(line), "%s %s\n", phase, function);
	if (log)
		write_line(log, line, length);
}

static bool is_guest(const void *address)
{
	Dl_info about;

	/* The second is the guest of Level Zero as the loader knows it. */
	return dladdr(address, &about) && about.dli_fname &&
	       (strstr(about.dli_fname, "libduet-") ||
		strstr(about.dli_fname, "libze_validation_layer"));
}

/* ---- watched functions ----------------------------------------------------------------------- */

struct thunk {
	void *function; /* first: guard_thunk jumps there */
	char name[64];
};

static struct thunk thunks[MAX_THUNKS];
static unsigned thunk_count;
static uint8_t *code;

void guard_check(const struct thunk *thunk, const void *caller);
void guard_check(const struct thunk *thunk, const void *caller)
{
	const char *frame = frames.depth ? frames.names[frames.depth - 1] : NULL;

	if ((frame && !is_release(frame)) || (!frame && !is_exiting) || !is_guest(caller) ||
	    (frame && strcmp(frame, thunk->name) == 0))
		return;
	judge(frame ? RELEASE : EXIT, thunk->name, frame);
}

/* r11: the thunk. All that may hold an argument is kept. */
void guard_thunk(void);
__asm__(".text\n.type guard_thunk,@function\nguard_thunk:\n"
	"push %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\npush %rax\npush "
	"%r10\npush %r11\n"
	"sub $128,%rsp\n"
	"movdqu %xmm0,(%rsp)\nmovdqu %xmm1,16(%rsp)\nmovdqu %xmm2,32(%rsp)\nmovdqu %xmm3,48(%rsp)\n"
	"movdqu %xmm4,64(%rsp)\nmovdqu %xmm5,80(%rsp)\nmovdqu %xmm6,96(%rsp)\nmovdqu "
	"%xmm7,112(%rsp)\n"
	"mov %r11,%rdi\nmov 200(%rsp),%rsi\ncall guard_check@PLT\n"
	"movdqu (%rsp),%xmm0\nmovdqu 16(%rsp),%xmm1\nmovdqu 32(%rsp),%xmm2\nmovdqu 48(%rsp),%xmm3\n"
	"movdqu 64(%rsp),%xmm4\nmovdqu 80(%rsp),%xmm5\nmovdqu 96(%rsp),%xmm6\nmovdqu "
	"112(%rsp),%xmm7\n"
	"add $128,%rsp\n"
	"pop %r11\npop %r10\npop %rax\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\n"
	"jmp *(%r11)\n");

/* mov $thunk,%r11; jmp guard_thunk */
static void *watched(const char *name, void *function)
{
	void *target = (void *)guard_thunk, *thunk;
	unsigned index = __atomic_fetch_add(&thunk_count, 1, __ATOMIC_RELAXED);
	uint8_t *at = code + index * THUNK_BYTES;

	if (index >= MAX_THUNKS)
		abort();
	thunks[index].function = function;
	snprintf(thunks[index].name, sizeof(thunks[index].name), "%s", name);
	thunk = &thunks[index];
	memcpy(at, "\x49\xbb", 2);
	memcpy(at + 2, &thunk, 8);
	memcpy(at + 10, "\xff\x25\0\0\0\0", 6);
	memcpy(at + 16, &target, 8);
	return at;
}

/* ---- the program's calls --------------------------------------------------------------------- */

#define PARAMETERS                                                                          \
	uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g, \
		uint64_t h, uint64_t i, uint64_t j, uint64_t k, uint64_t l
#define ARGUMENTS a, b, c, d, e, f, g, h, i, j, k, l

typedef uint64_t any_function(PARAMETERS);

static void *(*real_dlsym)(void *handle, const char *name);

static uint64_t call_framed(const char *name, any_function *next, PARAMETERS)
{
	uint64_t result;

	if (!next || frames.depth == MAX_DEPTH)
		abort();
	frames.names[frames.depth++] = name;
	result = next(ARGUMENTS);
	frames.depth--;
	return result;
}

/* HIP's, which a guest has under this version alone. */
static any_function *next_of(const char *name)
{
	void *found = dlvsym(RTLD_NEXT, name, "hip_4.2");

	return (any_function *)(found ? found : real_dlsym(RTLD_NEXT, name));
}

#define FRAME(name)                                         \
	EXPORTED uint64_t name(PARAMETERS);                 \
	EXPORTED uint64_t name(PARAMETERS)                  \
	{                                                   \
		static any_function *next;                  \
                                                            \
		if (!next)                                  \
			next = next_of(#name);              \
		return call_framed(#name, next, ARGUMENTS); \
	}

/* Functions of HSA that a guest replaces, and functions that release something. */
FRAME(hsa_shut_down)
FRAME(hsa_queue_create)
FRAME(hsa_queue_destroy)
FRAME(hsa_signal_destroy)
FRAME(hsa_signal_wait_relaxed)
FRAME(hsa_signal_wait_scacquire)
FRAME(hsa_signal_store_relaxed)
FRAME(hsa_signal_store_screlease)
FRAME(hsa_executable_freeze)
FRAME(hsa_executable_destroy)
FRAME(hsa_executable_load_agent_code_object)
FRAME(hsa_memory_copy)
FRAME(hsa_memory_free)
FRAME(hsa_amd_memory_pool_free)
FRAME(hsa_amd_memory_fill)
FRAME(hsa_amd_memory_async_copy)
FRAME(hsa_amd_memory_async_copy_rect)
FRAME(hsa_amd_profiling_set_profiler_enabled)
FRAME(hsa_amd_profiling_get_async_copy_time)

FRAME(hipFree)
FRAME(hipHostFree)
FRAME(hipStreamDestroy)
FRAME(hipEventDestroy)
FRAME(hipModuleUnload)
FRAME(hipGraphDestroy)
FRAME(hipGraphExecDestroy)
FRAME(hipDeviceReset)
FRAME(__hipUnregisterFatBinary)

#ifdef GUARD_LEVEL_ZERO
#define ZE_CALL(number, name, ...)    FRAME(name)
#define ZE_WAIT(number, name, ...)    FRAME(name)
#define ZE_APPEND(number, name, ...)  FRAME(name)
#define ZE_EXECUTE(number, name, ...) FRAME(name)
#define ZE_QUIET(name, ...)           FRAME(name)
#define ZE_GIVE(name, ...)            FRAME(name)
#define ZE_BELOW(name, ...)
#include "abi/level_zero_calls.h"
#undef ZE_CALL
#undef ZE_WAIT
#undef ZE_APPEND
#undef ZE_EXECUTE
#undef ZE_QUIET
#undef ZE_GIVE
#undef ZE_BELOW
#endif

/* The same for functions that the program obtained by dlsym. */
static struct closure {
	const char *name;
	any_function *next;
} closures[MAX_CLOSURES];

#define CLOSURE(number)                                                                      \
	static uint64_t closure_##number(PARAMETERS)                                         \
	{                                                                                    \
		return call_framed(closures[number].name, closures[number].next, ARGUMENTS); \
	}
#define EIGHT(what, ten)                                                                           \
	what(ten##0) what(ten##1) what(ten##2) what(ten##3) what(ten##4) what(ten##5) what(ten##6) \
		what(ten##7)
EIGHT(CLOSURE, 1)
EIGHT(CLOSURE, 2)
EIGHT(CLOSURE, 3)
EIGHT(CLOSURE, 4)

static any_function *const closure_functions[MAX_CLOSURES] = {
#define ENTRY(number) [number] = closure_##number,
	EIGHT(ENTRY, 1) EIGHT(ENTRY, 2) EIGHT(ENTRY, 3) EIGHT(ENTRY, 4)};

static void *framed(const char *name, void *function)
{
	for (size_t i = 0; i < MAX_CLOSURES; i++) {
		if (!closure_functions[i] || (closures[i].name && strcmp(closures[i].name, name)))
			continue;
		if (!closures[i].name)
			closures[i].name = strdup(name);
		closures[i].next = (any_function *)function;
		return (void *)closure_functions[i];
	}
	abort();
}

/* ---- Level Zero's tables --------------------------------------------------------------------- */

#ifdef GUARD_LEVEL_ZERO
#define TABLES(what)                                                                            \
	what(global, Global) what(driver, Driver) what(device, Device) what(context, Context)   \
		what(command_queue, CommandQueue) what(command_list, CommandList)               \
			what(command_list_exp, CommandListExp) what(event_pool, EventPool)      \
				what(event, Event) what(event_exp, EventExp) what(fence, Fence) \
					what(module, Module) what(kernel, Kernel) what(mem, Mem)

static const struct {
	const char *name, *table;
	uint32_t slot, minor;
} level_zero_rows[] = {
#define ROW(name, table, slot, minor)                     {#name, #table, slot, minor},
#define ZE_CALL(number, name, table, slot, minor, ...)    ROW(name, table, slot, minor)
#define ZE_WAIT(number, name, table, slot, minor, ...)    ROW(name, table, slot, minor)
#define ZE_APPEND(number, name, table, slot, minor, ...)  ROW(name, table, slot, minor)
#define ZE_EXECUTE(number, name, table, slot, minor, ...) ROW(name, table, slot, minor)
#define ZE_QUIET(name, table, slot, minor, ...)           ROW(name, table, slot, minor)
#define ZE_GIVE(name, table, slot, minor, ...)            ROW(name, table, slot, minor)
#define ZE_BELOW(name, table, slot, minor, ...)           ROW(name, table, slot, minor)
#include "abi/level_zero_calls.h"
};

typedef uint32_t get_table(uint32_t version, void **table);

static void watch_table(const char *table, uint32_t version, void **functions)
{
	for (size_t i = 0; i < sizeof(level_zero_rows) / sizeof(level_zero_rows[0]); i++)
		if (strcmp(level_zero_rows[i].table, table) == 0 &&
		    level_zero_rows[i].minor <= (version & 0xffff) &&
		    functions[level_zero_rows[i].slot])
			functions[level_zero_rows[i].slot] = watched(
				level_zero_rows[i].name, functions[level_zero_rows[i].slot]);
}

#define GETTER(table, title)                                            \
	static get_table *next_##table;                                 \
	static uint32_t get_##table(uint32_t version, void **functions) \
	{                                                               \
		uint32_t result = next_##table(version, functions);     \
                                                                        \
		if (!result)                                            \
			watch_table(#table, version, functions);        \
		return result;                                          \
	}
TABLES(GETTER)

/* NULL: it is none. */
static void *watched_getter(const char *name, void *function)
{
#define TAKE(table, title)                                       \
	if (strcmp(name, "zeGet" #title "ProcAddrTable") == 0) { \
		next_##table = (get_table *)function;            \
		return (void *)get_##table;                      \
	}
	TABLES(TAKE)
	return NULL;
}
#endif

/* ---- dlsym ----------------------------------------------------------------------------------- */

static bool is_of(const void *address, const char *library)
{
	Dl_info about;

	return dladdr(address, &about) && about.dli_fname && strstr(about.dli_fname, library);
}

void *guard_dlsym(void *handle, const char *name);
void *guard_dlsym(void *handle, const char *name)
{
	const void *caller = __builtin_return_address(0);
	void *found = real_dlsym(handle, name);

	if (!found)
		return NULL;
	if (is_of(found, "libcupti.so") || is_of(found, "libcuda.so"))
		return is_guest(caller)   ? watched(name, found)
		       : is_release(name) ? framed(name, found)
					  : found;
#ifdef GUARD_LEVEL_ZERO
	if (is_of(found, "libsim-level_zero.so") && watched_getter(name, found))
		return watched_getter(name, found);
#endif
	return found;
}

void guard_init(void);
void guard_init(void)
{
	if (code)
		return;
	code = mmap(NULL, MAX_THUNKS * THUNK_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*(void **)&real_dlsym = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	if (code == MAP_FAILED || !real_dlsym)
		abort();
}

/* RTLD_NEXT depends on the caller's address, so such calls are passed on unchanged. */
void *(*guard_real_dlsym(void))(void *, const char *);
void *(*guard_real_dlsym(void))(void *, const char *)
{
	guard_init();
	return real_dlsym;
}

__asm__(".text\n.globl dlsym\n.type dlsym,@function\ndlsym:\n"
	"push %rdi\npush %rsi\nsub $8,%rsp\ncall guard_real_dlsym@PLT\nadd $8,%rsp\npop %rsi\npop "
	"%rdi\n"
	"cmp $0,%rdi\nje 1f\ncmp $-1,%rdi\nje 1f\njmp guard_dlsym@PLT\n"
	"1: jmp *%rax\n"
	".size dlsym,.-dlsym\n");

/* ---- ROCr's tables --------------------------------------------------------------------------- */

static const struct {
	const char *name;
	uint32_t offset;
	bool is_amd;
} hsa_rows[] = {
	{"hsa_system_get_info", CORE_SYSTEM_GET_INFO, false},
	{"hsa_iterate_agents", CORE_ITERATE_AGENTS, false},
	{"hsa_agent_get_info", CORE_AGENT_GET_INFO, false},
	{"hsa_queue_create", CORE_QUEUE_CREATE, false},
	{"hsa_queue_destroy", CORE_QUEUE_DESTROY, false},
	{"hsa_queue_load_write_index_relaxed", CORE_QUEUE_WRITE_INDEX, false},
	{"hsa_memory_copy", CORE_MEMORY_COPY, false},
	{"hsa_signal_create", CORE_SIGNAL_CREATE, false},
	{"hsa_signal_destroy", CORE_SIGNAL_DESTROY, false},
	{"hsa_signal_wait_relaxed", CORE_SIGNAL_WAIT_RELAXED, false},
	{"hsa_signal_wait_scacquire", CORE_SIGNAL_WAIT_SCACQUIRE, false},
	{"hsa_signal_subtract_screlease", CORE_SIGNAL_SUBTRACT_SCRELEASE, false},
	{"hsa_signal_silent_store_relaxed", CORE_SIGNAL_SILENT_STORE, false},
	{"hsa_executable_destroy", CORE_EXECUTABLE_DESTROY, false},
	{"hsa_executable_freeze", CORE_EXECUTABLE_FREEZE, false},
	{"hsa_executable_symbol_get_info", CORE_SYMBOL_GET_INFO, false},
	{"hsa_executable_iterate_symbols", CORE_ITERATE_SYMBOLS, false},
	{"hsa_system_get_major_extension_table", CORE_EXTENSION_TABLE, false},
	{"hsa_executable_load_agent_code_object", CORE_LOAD_AGENT_CODE, false},
	{"hsa_amd_profiling_set_profiler_enabled", AMD_SET_PROFILER, true},
	{"hsa_amd_profiling_async_copy_enable", AMD_ASYNC_COPY_ENABLE, true},
	{"hsa_amd_profiling_get_dispatch_time", AMD_DISPATCH_TIME, true},
	{"hsa_amd_profiling_get_async_copy_time", AMD_COPY_TIME, true},
	{"hsa_amd_signal_async_handler", AMD_ASYNC_HANDLER, true},
	{"hsa_amd_memory_pool_get_info", AMD_POOL_GET_INFO, true},
	{"hsa_amd_agent_iterate_memory_pools", AMD_ITERATE_POOLS, true},
	{"hsa_amd_memory_async_copy", AMD_ASYNC_COPY, true},
	{"hsa_amd_memory_fill", AMD_MEMORY_FILL, true},
	{"hsa_amd_pointer_info", AMD_POINTER_INFO, true},
	{"hsa_amd_signal_create", AMD_SIGNAL_CREATE, true},
	{"hsa_amd_queue_intercept_create", AMD_INTERCEPT_CREATE, true},
	{"hsa_amd_queue_intercept_register", AMD_INTERCEPT_REGISTER, true},
};

static void watch_entry(uint8_t *table, uint32_t offset, const char *name)
{
	struct hsa_table_version version;
	void *function;

	memcpy(&version, table, sizeof(version));
	if (offset > AMD_ASYNC_COPY_ON_ENGINE && offset < AMD_COPY_BATCH &&
	    strncmp(name, "hsa_amd_", 8) == 0 && version.size_bytes >= AMD_INSERTED_FROM)
		offset += AMD_INSERTED_BYTES;
	memcpy(&function, table + offset, sizeof(function));
	function = watched(name, function);
	memcpy(table + offset, &function, sizeof(function));
}

EXPORTED bool OnLoad(struct hsa_tables *tables, uint64_t version, uint64_t failed_count,
		     const char *const *failed_names);
bool OnLoad(struct hsa_tables *tables, uint64_t version, uint64_t failed_count,
	    const char *const *failed_names)
{
	(void)version;
	(void)failed_count;
	(void)failed_names;
	for (size_t i = 0; i < sizeof(hsa_rows) / sizeof(hsa_rows[0]); i++)
		watch_entry(hsa_rows[i].is_amd ? tables->amd : tables->core, hsa_rows[i].offset,
			    hsa_rows[i].name);
	return true;
}

/* ---- the end --------------------------------------------------------------------------------- */

static int (*program_main)(int, char **, char **);

static int own_main(int count, char **arguments, char **environment)
{
	int status = program_main(count, arguments, environment);

	begin_exit();
	return status;
}

typedef int start_main(int (*main)(int, char **, char **), int count, char **arguments,
		       void (*init)(void), void (*fini)(void), void (*loader_fini)(void),
		       void *stack);
EXPORTED start_main __libc_start_main;
int __libc_start_main(int (*main)(int, char **, char **), int count, char **arguments,
		      void (*init)(void), void (*fini)(void), void (*loader_fini)(void),
		      void *stack)
{
	start_main *next;

	guard_init();
	next = (start_main *)real_dlsym(RTLD_NEXT, "__libc_start_main");
	program_main = main;
	return next(own_main, count, arguments, init, fini, loader_fini, stack);
}

EXPORTED void exit(int status)
{
	void (*next)(int) __attribute__((noreturn));

	guard_init();
	*(void **)&next = real_dlsym(RTLD_NEXT, "exit");
	begin_exit();
	next(status);
}

/* The guest's constructor comes before this one, since the guest is preloaded behind us. */
static __attribute__((constructor)) void begin(void)
{
	const char *tools = getenv("DUET_GUARD_TOOLS");

	guard_init();
	if (tools)
		setenv("HSA_TOOLS_LIB", tools, 1);
}
