/* SPDX-License-Identifier: MIT
 *
 * inject/cuda.c - the CUDA guest: taken in by the driver, which calls InitializeInjection in the first cuInit
 *
 * Runs in:  the profiled process
 * Gets:     CUDA_INJECTION64_PATH's entry point   Gives: callbacks and kinds of activity that are switched on
 * Owns:     the one subscription that CUPTI has, from there to the end
 * Fails:    never towards the program: what CUPTI refuses is told to the recorder with its number, and the rest goes on;
 *           where somebody else has subscribed, nothing is touched
 * Why:      CUPTI's times follow whom it is given for a clock, as long as that is said before a kind is on: it is
 *           CLOCK_MONOTONIC, as everywhere. Children of a process that has used CUDA cannot use it, and are left alone.
 *           CUPTI that is left on costs a program 10 to 20 % for ever: when the recorder goes, the next call of the
 *           program's that ends gives all of it back, which is where CUPTI allows that.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "inject/cuda.h"
#include "inject/describe.h"

#define EXPORTED __attribute__((visibility("default")))

enum { EXIT_WAIT_MS = 1000, LEAVE_WAIT_MS = 100, SETTLE_MS = 1000 };
enum { API_VERSION_12_6 = 24, REFUSALS_KEPT = 16 };

static struct {
	_Atomic bool is_live, has_left;
	_Atomic bool is_entered; /* by somebody who wants to record, just now */
	_Atomic bool
		is_late; /* has_left, and the helper had not ended by then: whoever takes this looks again */
	_Atomic bool has_gone;   /* has_left, and the runtime is given back */
	_Atomic bool has_graphs; /* the program has some, or may have had before we came */
	_Atomic bool is_whole;   /* launches of graphs are recorded as a whole */
	/* The runtime has our subscription, our functions for buffers, its overheads for us. */
	bool is_subscribed, has_buffers, has_overheads, has_latency;
	bool has_clock; /* its times are CLOCK_MONOTONIC */
	uint64_t kinds; /* written before is_live */
	cupti_subscriber subscriber;
	/* What was refused, for a recorder that takes over. */
	struct refusal {
		enum record_refusal refusal;
		const char *function; /* lives as long as the guest; NULL: it was asked for again */
		cupti_result result;
	} refusals[REFUSALS_KEPT];
	_Atomic uint32_t refusal_count;
} state;

bool cuda_is_live(void)
{
	return atomic_load_explicit(&state.is_live, memory_order_acquire);
}

bool cuda_has_kind(uint32_t kind)
{
	return state.kinds >> kind & 1;
}

static void tell_refused(struct guest_thread *thread, enum record_refusal refusal,
			 const char *function, cupti_result result, const char *holder)
{
	struct record_refused record = {.head = {.kind = RECORD_REFUSED, .detail = refusal},
					.result = result};
	const char *texts[] = {function, holder};
	const struct guest_tail tail = {.texts = texts, .text_count = 2};

	guest_put_with_texts(thread, &record.head, offsetof(struct record_refused, texts), &tail);
}

void cuda_refused(struct guest_thread *thread, enum record_refusal refusal, const char *function,
		  cupti_result result, const char *holder)
{
	uint32_t place = atomic_fetch_add(&state.refusal_count, 1);

	if (place < REFUSALS_KEPT)
		state.refusals[place] = (struct refusal){refusal, function, result};
	if (thread)
		tell_refused(thread, refusal, function, result, holder);
}

/* Those whose functions begin so are asked for again. */
static void forget_refusals(const char *begin)
{
	for (uint32_t i = 0; i < REFUSALS_KEPT; i++)
		if (state.refusals[i].function &&
		    strncmp(state.refusals[i].function, begin, strlen(begin)) == 0)
			state.refusals[i].function = NULL;
}

static void repeat_refusals(struct guest_thread *thread)
{
	for (uint32_t i = 0; i < REFUSALS_KEPT; i++) {
		const struct refusal *refusal = &state.refusals[i];

		if (refusal->function && refusal->refusal != REFUSED_END)
			tell_refused(thread, refusal->refusal, refusal->function, refusal->result,
				     "");
	}
}

/* Before CUDA 12.6 CUPTI that is given back beside graphs may crash the program. */
void cuda_saw_graph(struct guest_thread *thread)
{
	if (atomic_load_explicit(&state.has_graphs, memory_order_relaxed) ||
	    atomic_exchange(&state.has_graphs, true))
		return;
	if (cuda_version < API_VERSION_12_6 && cuda_cupti.cuptiFinalize)
		cuda_refused(thread, REFUSED_LATER, "cuptiFinalize", 0, "");
}

/* ---- what is switched on ----------------------------------------------------------------------- */

static uint64_t read_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

enum { HOLDER_BYTES = 128 };

/* Who holds the one subscription: CUPTI 13 says it to who asks for it too. What is global elsewhere is the subscriber's
 * own with that call since 13.3, where it may succeed: it is for asking alone. */
static void ask_holder(char holder[HOLDER_BYTES])
{
	struct cupti_subscriber_params params = {
		.struct_bytes = CUpti_SubscriberParams_STRUCT_SIZE,
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

/* False: it is CUPTI's own. */
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

/* What is not there has no times of ours, and nobody misses it where a version lacks it. */
static void enable_overheads(void)
{
	state.has_overheads = !cuda_cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_OVERHEAD);
}

/* The runtime keeps them where it was not given back. */
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

/* Kinds that are refused have no times; the first refusal of each answer is told. */
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

/* What a version lacks nobody misses, unless it was asked for. */
static void enable_more(struct guest_thread *thread)
{
	const bool has_waits = thread->options & RING_OPTION_CUDA_WAITS;
	cupti_result result = CUPTI_ERROR_NOT_SUPPORTED;

	if (!cuda_cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMORY2))
		state.kinds |= UINT64_C(1) << CUPTI_ACTIVITY_KIND_MEMORY2;
	/* Ranges are placed by that clock alone. */
	if (has_waits && state.has_clock)
		result = cuda_cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
	if (has_waits && result)
		cuda_refused(thread, REFUSED_PART, "cuptiActivityEnable(SYNCHRONIZATION)", result,
			     "");
	else if (has_waits)
		state.kinds |= UINT64_C(1) << CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
	if (!(thread->options & RING_OPTION_CUDA_LATENCY))
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

/* CUPTI 11.6 and older has no such kind: the nodes are recorded. */
static void choose_graphs(struct guest_thread *thread)
{
	cupti_result result;

	if (!(thread->options & RING_OPTION_CUDA_GRAPHS))
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

static void begin(struct guest_thread *thread)
{
	const char *missing = cuda_library_open();
	cupti_result result;

	if (missing) {
		cuda_refused(thread, REFUSED_ALL, missing, 0, "");
		return;
	}
	/* For who measures what that alone costs. */
	if (thread->options & RING_OPTION_CUDA_IDLE &&
	    !(thread->options & RING_OPTION_CUDA_SUBSCRIBED))
		return;
	if (!subscribe(thread))
		return;
	state.has_clock = set_clock(thread);
	/* Without callbacks no call says where to give it back: it stays for a later recording. */
	if (thread->options & RING_OPTION_CUDA_IDLE)
		return;
	enable_kinds(thread);
	if (state.has_clock) {
		cuda_overheads_begin(thread);
		enable_overheads();
	}
	enable_more(thread);
	choose_graphs(thread);
	leave_out_runtime();
	/* An interpreter is found in the first stack, by one thread: the others' would go without it meanwhile. */
	guest_stack(thread);
	atomic_store_explicit(&state.is_live, true, memory_order_release);
	result = cuda_calls_enable(state.subscriber, cuda_samples_begin(thread));
	if (result)
		cuda_refused(thread, REFUSED_PART, "cuptiEnableCallback", result, "");
}

/* ---- the end ----------------------------------------------------------------------------------- */

/* What never completes delays the program once. */
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

/* The buffers that are left are taken by nobody. */
static void give_back(void)
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

/* The helper notices that nobody records any more. The first call that ends then tells it to end, and waits for it as long as
 * a program may wait; where that was not enough, a later one looks again. */
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
		give_back();
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

/* The driver calls it once in a process. Without a recorder nothing is opened: one that is only slow to answer is waited
 * for. */
EXPORTED int InitializeInjection(void);
EXPORTED int InitializeInjection(void)
{
	struct guest_thread *thread;
	int saved = errno;

	start_once();
	thread = guest_enter_first();
	if (thread && !cuda_is_live())
		begin(thread);
	errno = saved;
	return 1;
}

/* ---- entered while the program runs ------------------------------------------------------------- */

/* The helper was told to end and was late, and no call of the program's has seen since that it did: all is as it was. */
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

/* A call of the program's may be about to leave, or has just seen that it should not. */
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

/* As if nobody had recorded before. */
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
	memset(state.refusals, 0, sizeof(state.refusals));
	atomic_store(&state.refusal_count, 0);
	atomic_store(&state.has_gone, false);
	atomic_store(&state.has_left, false);
}

/* What only an earlier recording asked for. */
static void renew_more(struct guest_thread *thread)
{
	const uint64_t waits = UINT64_C(1) << CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;

	forget_refusals("cuptiActivityEnable(SYNCHRONIZATION)");
	forget_refusals("cuptiActivityEnableLatencyTimestamps");
	if (!(thread->options & RING_OPTION_CUDA_WAITS) && state.kinds & waits) {
		cuda_cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
		state.kinds &= ~waits;
	}
	if (!(thread->options & RING_OPTION_CUDA_LATENCY))
		disable_latency();
}

/* All is on as an earlier recording has left it: this one may want other things. */
static void renew(struct guest_thread *thread)
{
	static const char whole[] = "cuptiActivityEnable(GRAPH_TRACE)";
	bool is_kept, has_samples = cuda_samples_renew(thread, &is_kept);

	forget_refusals(whole);
	if (!is_kept)
		forget_refusals("cuptiPC");
	if (state.has_clock)
		cuda_overheads_begin(thread);
	if (!(thread->options & RING_OPTION_CUDA_GRAPHS) &&
	    atomic_exchange(&state.is_whole, false)) {
		cuda_cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
		cuda_helper_watch_graphs();
	}
	renew_more(thread);
	repeat_refusals(thread);
	enable_more(thread);
	choose_graphs(thread);
	if (has_samples && !is_kept)
		cuda_calls_enable(state.subscriber, true);
}

static enum session_entered enter(const char *argument)
{
	enum session_entered why;
	struct guest_thread *thread = guest_enter_for(argument, &why);

	if (!thread)
		return why;
	/* Its callers are nobody's code, and gone when somebody asks for their names. */
	thread->options &= ~(uint32_t)RING_OPTION_NATIVE;
	if (!has_settled())
		return SESSION_ENTERED_LEAVING;
	cuda_slots_begin();
	if (atomic_load(&state.has_gone))
		forget_earlier();
	if (cuda_is_live()) {
		renew(thread);
	} else {
		begin(thread);
		if (cuda_is_live())
			cuda_saw_graph(thread); /* one that was made before */
	}
	if (thread->options & RING_OPTION_CUDA_IDLE)
		return SESSION_ENTERED;
	if (!cuda_is_live())
		return SESSION_ENTERED_REFUSED;
	/* What else the first context would have done: it was made before. */
	guest_hook_exit();
	cuda_helper_start();
	return SESSION_ENTERED;
}

/* Called in a thread of the recorder's making, which ends with it. */
EXPORTED int duet_cuda_enter(const char *argument);
EXPORTED int duet_cuda_enter(const char *argument)
{
	enum session_entered result;

	start_once();
	atomic_store(&state.is_entered, true);
	result = enter(argument);
	atomic_store(&state.is_entered, false);
	return (int)result;
}
