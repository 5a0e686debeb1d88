/* SPDX-License-Identifier: MIT
 *
 * inject/nvidia/cuda.c - the CUDA guest: loaded by the driver, which calls InitializeInjection in
 * the first cuInit
 *
 * Runs in:  the profiled process
 * Gets:     CUDA_INJECTION64_PATH's entry point
 * Gives:    enabled callbacks and kinds of activity
 * Owns:     CUPTI's only subscription, from the first cuInit to the end of the process
 * Fails:    never for the program: each refusal of CUPTI goes to the recorder with its number, and
 *           the other kinds are still recorded; if another tool has subscribed, the guest changes
 *           nothing
 * Why:      CUPTI uses the clock that the guest gives it, if it is set before a kind is enabled.
 *           The guest gives CLOCK_MONOTONIC, which duet uses everywhere. Child processes of a
 *           process that has used CUDA cannot use CUDA and are not recorded. If CUPTI stayed
 *           enabled it would cost the program 10 to 20 % until its end. So when the recorder is
 *           gone, the guest gives the subscription back at the end of the program's next call,
 *           where CUPTI allows that.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "inject/describe.h"
#include "inject/nvidia/cuda.h"

#define EXPORTED __attribute__((visibility("default")))

enum { EXIT_WAIT_MS = 1000, LEAVE_WAIT_MS = 100, SETTLE_MS = 1000 };
enum { API_VERSION_12_6 = 24 };

static struct {
	_Atomic bool is_live, has_left;
	_Atomic bool is_entered; /* set while a recorder's thread runs duet_cuda_enter */
	/* has_left is set, but the helper had not ended by then; the caller that clears this tries
	 * again */
	_Atomic bool is_late;
	_Atomic bool has_gone; /* has_left is set, and CUPTI was given back */
	/* the program has graphs, or may have had some before the guest was loaded */
	_Atomic bool has_graphs;
	_Atomic bool is_whole; /* the launch of a graph is one record */
	/* State that CUPTI has from us: subscription, buffer functions, kinds for overheads,
	 * latency timestamps. */
	bool is_subscribed, has_buffers, has_overheads, has_latency;
	bool has_clock; /* CUPTI's times are CLOCK_MONOTONIC */
	uint64_t kinds; /* bit set of enabled kinds; written before is_live */
	cupti_subscriber subscriber;
} state;

bool cuda_is_live(void)
{
	return atomic_load_explicit(&state.is_live, memory_order_acquire);
}

bool cuda_has_kind(uint32_t kind)
{
	return state.kinds >> kind & 1;
}

/* Before CUDA 12.6, giving CUPTI back may crash a program that has graphs. */
void cuda_saw_graph(struct guest_thread *thread)
{
	if (atomic_load_explicit(&state.has_graphs, memory_order_relaxed) ||
	    atomic_exchange(&state.has_graphs, true))
		return;
	if (cuda_version < API_VERSION_12_6 && cuda_cupti.cuptiFinalize)
		cuda_refused(thread, REFUSED_LATER, "cuptiFinalize", 0, "");
}

/* ---- enabling -------------------------------------------------------------------------------- */

static uint64_t read_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

enum { HOLDER_BYTES = 128 };

/* Returns the tool that holds the only subscription; CUPTI 13 returns its name to other tools too.
 * The call is made only for the name: since 13.3 it may succeed, and then gives this subscriber
 * settings of its own that are global otherwise. */
static void ask_holder(char holder[HOLDER_BYTES])
{
	struct cupti_subscriber_params params = {
		.struct_bytes = sizeof(params),
		.name = "duet",
		.old_name = holder,
		.old_name_bytes = HOLDER_BYTES,
	};
	cupti_subscriber second;

	if (!cuda_cupti.cuptiSubscribe_v2)
		return;
	if (!cuda_cupti.cuptiSubscribe_v2(&second, cuda_on_callback, NULL, &params))
		cuda_cupti.cuptiUnsubscribe(second);
	holder[HOLDER_BYTES - 1] = '\0';
}

static bool subscribe(struct guest_thread *thread)
{
	char holder[HOLDER_BYTES] = "";
	cupti_result result = CUPTI_ERROR_OUT_OF_MEMORY;

	if (state.is_subscribed)
		return true;
	if (cuda_slots_init())
		result = cuda_cupti.cuptiSubscribe(&state.subscriber, cuda_on_callback, NULL);
	if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
		ask_holder(holder);
	if (result)
		cuda_refused(thread, REFUSED_ALL, "cuptiSubscribe", result, holder);
	state.is_subscribed = !result;
	return !result;
}

/* False: CUPTI uses its own clock. */
static bool set_clock(struct guest_thread *thread)
{
	cupti_result result = CUPTI_ERROR_NOT_SUPPORTED;

	if (cuda_cupti.cuptiActivityRegisterTimestampCallback)
		result = cuda_cupti.cuptiActivityRegisterTimestampCallback(read_clock);
	if (result)
		cuda_refused(thread, REFUSED_PART, "cuptiActivityRegisterTimestampCallback", result,
			     "");
	return !result;
}

/* Without this kind there are no ranges for overheads. A version that lacks it is not a loss to
 * report. */
static void enable_overheads(void)
{
	const bool has_threads =
		cuda_cupti.cuptiSetThreadIdType &&
		!cuda_cupti.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);

	cuda_overheads_name_threads(has_threads);
	state.has_overheads = !cuda_cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_OVERHEAD);
}

/* CUPTI keeps the buffer functions unless it was given back. */
static bool register_buffers(struct guest_thread *thread)
{
	cupti_result result = CUPTI_SUCCESS;

	if (!state.has_buffers)
		result = cuda_cupti.cuptiActivityRegisterCallbacks(cuda_buffer_requested,
								   cuda_buffer_completed);
	if (result)
		cuda_refused(thread, REFUSED_PART, "cuptiActivityRegisterCallbacks", result, "");
	state.has_buffers = !result;
	return !result;
}

/* Commands of a refused kind have no times. Only the first of equal consecutive refusals is
 * reported. */
static void enable_kinds(struct guest_thread *thread)
{
	static const uint32_t kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
					 CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
					 CUPTI_ACTIVITY_KIND_MEMSET};
	cupti_result last = CUPTI_SUCCESS, result;

	if (!register_buffers(thread))
		return;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		result = cuda_cupti.cuptiActivityEnable(kinds[i]);
		if (!result)
			state.kinds |= UINT64_C(1) << kinds[i];
		else if (result != last)
			cuda_refused(thread, REFUSED_PART, "cuptiActivityEnable", result, "");
		last = result;
	}
}

/* A kind that a version lacks is reported only if the user requested it. */
static void enable_more(struct guest_thread *thread)
{
	const bool has_waits = thread->options & NVIDIA_OPTION_WAITS;
	cupti_result result = CUPTI_ERROR_NOT_SUPPORTED;

	if (!cuda_cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMORY2))
		state.kinds |= UINT64_C(1) << CUPTI_ACTIVITY_KIND_MEMORY2;
	/* Waits become ranges, which need CLOCK_MONOTONIC. */
	if (has_waits && state.has_clock)
		result = cuda_cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
	if (has_waits && result)
		cuda_refused(thread, REFUSED_PART, "cuptiActivityEnable(SYNCHRONIZATION)", result,
			     "");
	else if (has_waits)
		state.kinds |= UINT64_C(1) << CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
	if (!(thread->options & NVIDIA_OPTION_LATENCY))
		return;
	result = CUPTI_ERROR_NOT_SUPPORTED;
	if (cuda_cupti.cuptiActivityEnableLatencyTimestamps)
		result = cuda_cupti.cuptiActivityEnableLatencyTimestamps(1);
	if (result)
		cuda_refused(thread, REFUSED_PART, "cuptiActivityEnableLatencyTimestamps", result,
			     "");
	state.has_latency = !result;
}

static void disable_latency(void)
{
	if (state.has_latency)
		cuda_cupti.cuptiActivityEnableLatencyTimestamps(0);
	state.has_latency = false;
}

cupti_result cuda_record_whole_graphs(void)
{
	cupti_result result = cuda_cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);

	if (!result)
		atomic_store(&state.is_whole, true);
	return result;
}

/* CUPTI 11.6 and older lacks this kind; then the nodes are recorded. */
static void choose_graphs(struct guest_thread *thread)
{
	cupti_result result;

	if (!(thread->options & NVIDIA_OPTION_GRAPHS))
		return;
	result = cuda_record_whole_graphs();
	if (result)
		cuda_refused(thread, REFUSED_PART, "cuptiActivityEnable(GRAPH_TRACE)", result, "");
}

static void leave_out_runtime(void)
{
	guest_stacks_leave_out((const void *)(uintptr_t)cuda_cupti.cuptiGetVersion);
	guest_stacks_leave_out(cuda_driver_function("cuInit"));
}

static void begin_recording(struct guest_thread *thread)
{
	const char *missing = cuda_library_open();
	cupti_result result;

	if (missing) {
		cuda_refused(thread, REFUSED_ALL, missing, 0, "");
		return;
	}
	/* Option for measuring what loading alone costs. */
	if (thread->options & NVIDIA_OPTION_IDLE && !(thread->options & NVIDIA_OPTION_SUBSCRIBED))
		return;
	if (!subscribe(thread))
		return;
	state.has_clock = set_clock(thread);
	/* Without callbacks no call could give CUPTI back, so it stays for a later recording. */
	if (thread->options & NVIDIA_OPTION_IDLE)
		return;
	enable_kinds(thread);
	if (state.has_clock) {
		cuda_overheads_begin(thread);
		enable_overheads();
	}
	enable_more(thread);
	choose_graphs(thread);
	leave_out_runtime();
	/* The first stack finds the interpreter, which only one thread does. Without this, other
	 * threads would record stacks without Python frames meanwhile. */
	guest_stack(thread);
	atomic_store_explicit(&state.is_live, true, memory_order_release);
	result = cuda_calls_enable(state.subscriber, cuda_samples_begin(thread));
	if (result)
		cuda_refused(thread, REFUSED_PART, "cuptiEnableCallback", result, "");
}

/* ---- the end --------------------------------------------------------------------------------- */

/* A command that never completes delays the program once. */
static void at_exit(void)
{
	struct guest_thread *thread;

	guest_notice_fork();
	if (!cuda_is_live() || atomic_exchange(&state.has_left, true))
		return;
	if (!cuda_helper_stop(EXIT_WAIT_MS)) {
		thread = guest_enter();
		if (thread)
			cuda_refused(thread, REFUSED_END, "cuptiActivityFlushAll", 0, "");
	}
}

static bool may_finalize(void)
{
	return cuda_cupti.cuptiFinalize &&
	       (cuda_version >= API_VERSION_12_6 || !atomic_load(&state.has_graphs));
}

static void disable_kinds(void)
{
	for (uint32_t kind = 0; kind < 64; kind++)
		if (cuda_has_kind(kind))
			cuda_cupti.cuptiActivityDisable(kind);
	if (state.has_overheads)
		cuda_cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_OVERHEAD);
	if (atomic_load(&state.is_whole))
		cuda_cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
	disable_latency();
}

/* Buffers that CUPTI has not delivered are lost. */
static void release_cupti(void)
{
	const bool is_whole = may_finalize();

	atomic_store(&state.is_live, false);
	if (!is_whole)
		disable_kinds();
	cuda_cupti.cuptiUnsubscribe(state.subscriber);
	state.is_subscribed = false;
	if (is_whole) {
		cuda_cupti.cuptiFinalize();
		state.has_buffers = state.has_latency = false;
	}
	atomic_store(&state.has_gone, true);
}

/* Runs after the helper has noticed that there is no recorder. The first call that ends makes the
 * helper end and waits LEAVE_WAIT_MS for it. If that was not enough, a later call checks again
 * without waiting. */
void cuda_leave(void)
{
	uint64_t wait_ms = LEAVE_WAIT_MS;

	if (!guest_is_idle() || guest_exit_has_begun())
		return;
	if (atomic_exchange(&state.has_left, true)) {
		if (!atomic_load(&state.is_late) || !atomic_exchange(&state.is_late, false))
			return;
		wait_ms = 0;
	} else if (atomic_load(&state.is_entered)) {
		atomic_store(&state.has_left, false);
		return;
	}
	if (cuda_helper_stop(wait_ms))
		release_cupti();
	else
		atomic_store(&state.is_late, true);
}

static void on_fork(void)
{
	atomic_store(&state.is_live, false);
	cuda_helper_reset();
	cuda_activity_forked();
	cuda_objects_forked();
	cuda_modules_forked();
	cuda_memory_forked();
	cuda_samples_forked();
	guest_stacks_forked();
}

static void start_guest(void)
{
	static const struct guest_backend backend = {
		.name = "cuda", .on_fork = on_fork, .at_exit = at_exit};

	guest_init(&backend);
}

static void start_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, start_guest);
}

/* The driver calls this once per process. Without a recorder libcupti is not opened; the guest
 * waits for a recorder that is slow to answer. */
EXPORTED int InitializeInjection(void);
EXPORTED int InitializeInjection(void)
{
	struct guest_thread *thread;
	int saved = errno;

	start_once();
	thread = guest_enter_first();
	if (thread && !cuda_is_live())
		begin_recording(thread);
	errno = saved;
	return 1;
}

/* ---- entering a running program -------------------------------------------------------------- */

/* Undoes an end that no call has completed, because the helper ended too late for the call that
 * waited for it. True: recording goes on as before. */
static bool has_stayed(void)
{
	if (!atomic_exchange(&state.is_late, false))
		return false;
	if (!cuda_helper_stop(0)) {
		atomic_store(&state.is_late, true);
		return false;
	}
	cuda_helper_reset();
	atomic_store(&state.has_left, false);
	return true;
}

/* Waits until a call of the program that may be giving CUPTI back has finished doing so. */
static bool has_settled(void)
{
	static const struct timespec tick = {0, 1000000};

	for (int ms = 0; ms < SETTLE_MS; ms++) {
		if (!atomic_load(&state.has_left) || atomic_load(&state.has_gone) || has_stayed())
			return true;
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &tick, NULL);
	}
	return false;
}

/* Resets the state to that before the first recording. */
static void forget_earlier(void)
{
	cuda_helper_reset();
	if (!state.has_buffers)
		cuda_activity_reset();
	cuda_slots_reset();
	state.kinds = 0;
	state.has_overheads = false;
	atomic_store(&state.is_whole, false);
	atomic_store(&state.has_graphs, false);
	cuda_reset_refusals();
	atomic_store(&state.has_gone, false);
	atomic_store(&state.has_left, false);
}

/* Disables kinds that only the earlier recording requested. */
static void renew_more(struct guest_thread *thread)
{
	const uint64_t waits = UINT64_C(1) << CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;

	cuda_forget_refusals("cuptiActivityEnable(SYNCHRONIZATION)");
	cuda_forget_refusals("cuptiActivityEnableLatencyTimestamps");
	if (!(thread->options & NVIDIA_OPTION_WAITS) && state.kinds & waits) {
		cuda_cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
		state.kinds &= ~waits;
	}
	if (!(thread->options & NVIDIA_OPTION_LATENCY))
		disable_latency();
}

/* Adapts what the earlier recording left enabled to the options of this one. */
static void renew_recording(struct guest_thread *thread)
{
	static const char whole[] = "cuptiActivityEnable(GRAPH_TRACE)";
	bool is_kept, has_samples = cuda_samples_renew(thread, &is_kept);

	cuda_forget_refusals(whole);
	if (!is_kept)
		cuda_forget_refusals("cuptiPC");
	if (state.has_clock)
		cuda_overheads_begin(thread);
	if (!(thread->options & NVIDIA_OPTION_GRAPHS) && atomic_exchange(&state.is_whole, false)) {
		cuda_cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
		cuda_helper_watch_graphs();
	}
	renew_more(thread);
	cuda_repeat_refusals(thread);
	enable_more(thread);
	choose_graphs(thread);
	if (has_samples && !is_kept)
		cuda_calls_enable(state.subscriber, true);
}

static enum session_entered enter_process(const char *argument)
{
	enum session_entered why;
	struct guest_thread *thread = guest_enter_for(argument, &why);

	if (!thread)
		return why;
	/* The thread's callers are injected code, which no file describes and which is gone later.
	 */
	thread->options &= ~(uint32_t)RING_OPTION_NATIVE;
	if (!has_settled())
		return SESSION_ENTERED_LEAVING;
	cuda_slots_begin();
	if (atomic_load(&state.has_gone))
		forget_earlier();
	if (cuda_is_live()) {
		renew_recording(thread);
	} else {
		begin_recording(thread);
		if (cuda_is_live())
			cuda_saw_graph(thread); /* it may have created graphs before */
	}
	if (thread->options & NVIDIA_OPTION_IDLE)
		return SESSION_ENTERED;
	if (!cuda_is_live())
		return SESSION_ENTERED_REFUSED;
	/* The callback of the first context does this otherwise, but that context exists already.
	 */
	guest_hook_exit();
	cuda_helper_start();
	return SESSION_ENTERED;
}

/* The recorder calls this in a thread that it creates and that ends afterwards. */
EXPORTED int duet_cuda_enter(const char *argument);
EXPORTED int duet_cuda_enter(const char *argument)
{
	enum session_entered result;

	start_once();
	atomic_store(&state.is_entered, true);
	result = enter_process(argument);
	atomic_store(&state.is_entered, false);
	return (int)result;
}
