/* SPDX-License-Identifier: MIT
 *
 * inject/guest.c - attach to a recorder, give each thread a ring, survive fork and exit
 *
 * Runs in:  the profiled process, in the first call of a process or thread; never on the hot path
 * Gets:     DUET_SESSION as it was at the first call, or the machine-wide recorder's name
 * Gives:    guest_enter's result
 * Owns:     the mapping of the region, the array of guest_threads, one pthread key
 * Fails:    by going idle; troubles are counted in the region, and a mapping that failed is
 *           reported in session_attached
 * Why:      the guest adds no thread and no lock to the program: one idle second thread made a
 *           blocking 4-byte read twice as slow. The guest's mode (unattached, recording) is on a
 *           page that the kernel clears in a child (fork or raw clone). So a child never writes
 *           into its parent's rings and pays nothing until it has an event to record: 5000
 *           short-lived children attach to no recorder.
 */
#include "inject/guest.h"
#include "inject/libraries.h"
#include "inject/lock.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ring/handshake.h"

enum {
	WELCOME_WAIT_MS = 250, /* a stopped recorder delays a call by this much */
	/* … and the first call of a process that the recorder started by this much: with ten busy
	 * threads per CPU the recorder got no CPU time for 316 ms, and a short program that did not
	 * wait ended before the next search */
	FIRST_WAIT_MS = 2000,
	EXPECTED_WAIT_MS = 6000, /* … by this much for a guest that must attach now or never */
	/* Pause between two searches for a recorder. One takes 20 us; 75 us with cold caches. */
	LOOK_INTERVAL_MS = 100,
	SOON_INTERVAL_MS = 40, /* … after a recorder ended: the next one often follows soon */
	SOON_MS = 10000,       /* … that is: within this time */
	REFUSED_INTERVAL_MS = 1000, /* … after a recorder that gave no rings */
	MAX_STALLS = 6,
	/* … after a recorder did not answer; doubled each further time */
	STALL_INTERVAL_MS = 16000,
	CALLS_BETWEEN_CLAIMS = 1000,
	/* Exit handlers: the C library has room for 32 without an allocation. After these */
	EXIT_HOOKS_FIRST = 8,
	EXIT_HOOKS_MAX = 4096 /* … one for each time that libraries were loaded: 128 KiB */
};

struct guest_page guest_page;
_Atomic bool guest_exit_begun;
_Atomic uint64_t guest_next_look_ms;
_Thread_local struct guest_thread *guest_self __attribute__((tls_model("initial-exec")));
static _Thread_local struct {
	uint32_t calls;
	uint32_t mode; /* mode of the attachment that had no free ring */
	/* a child that this thread is making inherits its rings; NULL: none */
	const struct attachment *kept;
} guest_patience __attribute__((tls_model("initial-exec")));

/* Immutable: a thread that uses an older attachment keeps using it. */
struct attachment {
	struct attachment *older;
	/* owned; mapped until the process ends, because threads may be using them */
	struct handshake_rings rings;
	struct guest_thread *threads;
	uint32_t mode;
};

static struct guest {
	struct guest_lock lock;
	struct attachment *_Atomic attachment;
	uint32_t attachments; /* number so far, including those of parents before a fork */
	uint32_t stalls;      /* number of consecutive recorders that did not answer */
	bool is_refused;      /* the last search ended without a chance for the next one */
	_Atomic uint64_t soon_until_ms;
	bool is_started; /* guest_init ran in this process or a parent of it */
	pthread_key_t key;
	bool key_made, is_wiped;
	_Atomic uint32_t exit_hooks; /* registrations of on_exit_of_process */
	_Atomic uint64_t exit_loads; /* number of library loads at the last registration */
	/* The thread in which exit has started (as own_id), and its process. */
	_Atomic uint32_t exiting, exiting_pid;
	struct guest_backend backend;
	struct handshake_environment environment;
	bool talks; /* DUET_DEBUG */
} guest;

void guest_init(const struct guest_backend *backend)
{
	guest.backend = *backend;
	handshake_read_environment(&guest.environment);
	guest.talks = getenv("DUET_DEBUG") != NULL;
}

/* Prints only if DUET_DEBUG is set: a guest is otherwise silent. */
static void debug(const char *what)
{
	char line[128];
	int length;

	if (!guest.talks)
		return;
	length = snprintf(line, sizeof(line), "duet guest %d: %s\n", (int)getpid(), what);
	if (write(STDERR_FILENO, line, (size_t)length) < 0)
		return;
}

static bool is_recording(void)
{
	return atomic_load_explicit(&guest_page.mode, memory_order_acquire) >= GUEST_RECORDING;
}

static void set_mode(uint32_t mode)
{
	atomic_store_explicit(&guest_page.mode, mode, memory_order_release);
}

void guest_trouble_many(uint32_t trouble, uint64_t count)
{
	struct attachment *attachment = atomic_load(&guest.attachment);

	/* The region is not mapped in a child. */
	if (is_recording() && attachment)
		atomic_fetch_add_explicit(&attachment->rings.region->trouble[trouble], count,
					  memory_order_relaxed);
}

void guest_trouble(uint32_t trouble)
{
	guest_trouble_many(trouble, 1);
}

void guest_python_unknown(const char *version)
{
	struct attachment *attachment = atomic_load(&guest.attachment);

	if (is_recording() && attachment)
		memcpy(attachment->rings.region->python_unknown, version,
		       strnlen(version, RING_PYTHON_BYTES - 1));
	guest_trouble(RING_TROUBLE_PYTHON_UNKNOWN);
}

void guest_missed(uint32_t trouble)
{
	guest_trouble(trouble);
}

bool guest_still_recording(void)
{
	uint32_t mode = atomic_load_explicit(&guest_page.mode, memory_order_acquire);
	struct attachment *attachment = atomic_load(&guest.attachment);
	const int saved = errno;

	if (mode < GUEST_RECORDING || !attachment)
		return false;
	if (attachment->mode != mode)
		return true; /* another thread is attaching */
	if (ring_region_is_read(attachment->rings.region))
		return true;
	atomic_store(&guest.soon_until_ms, ring_now_ms() + SOON_MS);
	/* Unless another thread has found a new recorder meanwhile. */
	if (!atomic_compare_exchange_strong(&guest_page.mode, &mode, GUEST_IDLE) ||
	    !(atomic_load(&attachment->rings.region->enabled) & RING_OWNER_DIED))
		return false;
	/* A recorder that ends normally does this itself after reading the rest. */
	ring_give_back_data(attachment->rings.region, attachment->rings.ring_count,
			    attachment->rings.ring_bytes);
	errno = saved;
	return false;
}

/* ---- the guest's own time -------------------------------------------------------------------- */

static void put_section(struct guest_thread *thread, enum guest_section section, uint64_t begin,
			uint64_t end)
{
	if (!guest_is_current(thread))
		return;
	if (end - begin >= GUEST_SECTION_TICKS) {
		guest_put_api_row(thread, (uint32_t)section | API_TYPE_DUET << 16, begin, end, 0, 0,
				  0);
		return;
	}
	thread->sections += end - begin;
	guest_trouble(RING_TROUBLE_SECTIONS);
	guest_trouble_many(RING_TROUBLE_SECTIONS_TICKS, end - begin);
}

void guest_section_end(struct guest_thread *thread, enum guest_section section, uint64_t begin)
{
	uint64_t end = guest_now(thread);

	if (end > begin)
		put_section(thread, section, begin, end);
}

void guest_watch_end(struct guest_thread *thread, enum guest_section section, uint64_t begin)
{
	uint64_t end;

	if (!begin)
		return;
	end = guest_now(thread);
	if (end <= begin)
		return;
	thread->watched = end - begin >= GUEST_SECTION_TICKS
				  ? GUEST_WATCHED_CALLS
				  : thread->watched - (thread->watched != 0);
	put_section(thread, section, begin, end);
}

/* A slow call is not counted: its sections have rows, and it marks the thread as watched. */
static void count_timed(struct guest_thread *thread, uint64_t ticks)
{
	if (ticks >= GUEST_SECTION_TICKS) {
		thread->watched = GUEST_WATCHED_CALLS;
		return;
	}
	guest_trouble(RING_TROUBLE_TIMED_CALLS);
	guest_trouble_many(RING_TROUBLE_TIMED_TICKS, ticks);
}

void guest_timing_count(struct guest_thread *thread, const struct guest_timing *timing,
			uint64_t enter, uint64_t exit)
{
	uint64_t taken, sections = thread->sections - timing->sections;

	if (!guest_is_current(thread))
		return;
	taken = enter - timing->began + guest_now(thread) - exit;
	count_timed(thread, taken > sections ? taken - sections : 0);
}

/* The caller has read the clock twice for the call. It is read twice here too, with the record
 * written in between. */
void guest_put_api_timed(struct guest_thread *thread, uint32_t detail, uint64_t begin, uint64_t end,
			 int32_t result, uint64_t argument, uint32_t stack)
{
	uint64_t before = guest_now(thread);

	guest_now(thread);
	guest_put_api_row(thread, detail, begin, end, result, argument, stack);
	count_timed(thread, guest_now(thread) - before);
}

/* NULL: no recorder. */
static struct ring_region *recorded_region(void)
{
	struct attachment *attachment = atomic_load(&guest.attachment);

	return is_recording() && attachment ? attachment->rings.region : NULL;
}

void guest_offer_last(void)
{
	struct ring_region *region = recorded_region();
	uint32_t none = RING_LAST_NONE;

	if (region)
		atomic_compare_exchange_strong(&region->last, &none, RING_LAST_OFFERED);
}

bool guest_is_asked_last(void)
{
	struct ring_region *region = recorded_region();

	return region && atomic_load(&region->last) == RING_LAST_ASKED;
}

void guest_give_last(void)
{
	struct ring_region *region = recorded_region();

	if (region)
		atomic_store(&region->last, RING_LAST_GIVEN);
}

/* ---- the recorder ---------------------------------------------------------------------------- */

static bool add_attachment(struct handshake_rings *rings)
{
	/* One allocation for both, the attachment and its threads. */
	struct attachment *attachment = guest_memory(
		sizeof(*attachment) + rings->ring_count * sizeof(*attachment->threads));

	if (!attachment) {
		handshake_rings_close(rings);
		return false;
	}
	*attachment = (struct attachment){
		.older = atomic_load(&guest.attachment),
		.rings = *rings,
		.threads = (struct guest_thread *)(attachment + 1),
		.mode = GUEST_RECORDING + ++guest.attachments,
	};
	atomic_store(&guest.attachment, attachment);
	return true;
}

static bool shake_hands(int fd, uint32_t max_ms)
{
	uint64_t begin_ms = ring_now_ms();
	struct handshake_rings rings;
	int error = handshake_say_hello(fd, guest.backend.name);

	if (!error)
		error = handshake_rings_open(fd, max_ms, &rings);
	if (error == -EOPNOTSUPP) {
		debug("off: this program must not read the time stamp counter");
		set_mode(GUEST_OFF);
	}
	/* A recorder that refuses, or hangs up, costs no wait. */
	if (!error || ring_now_ms() - begin_ms < WELCOME_WAIT_MS / 2)
		guest.stalls = 0;
	else if (guest.stalls < MAX_STALLS)
		guest.stalls++;
	guest.is_refused = error || !add_attachment(&rings);
	return !guest.is_refused;
}

/* ---- process and thread lifetime ------------------------------------------------------------- */

static void on_thread_exit(void *value)
{
	struct guest_thread *thread = value;

	guest_self = NULL;
	/* After a fork the ring is the parent's and not mapped here. */
	if (thread->mode == atomic_load_explicit(&guest_page.mode, memory_order_acquire))
		ring_close(&thread->writer);
}

static void on_exit_of_process(void)
{
	if (atomic_exchange(&guest_exit_begun, true))
		return;
	atomic_store(&guest.exiting, lock_own_id());
	atomic_store(&guest.exiting_pid, (uint32_t)getpid());
	if (is_recording() && guest.backend.at_exit)
		guest.backend.at_exit();
}

/* A library that was loaded after the last registration may be finalized before that handler is
 * called. */
static bool needs_exit_hook(uint32_t hooks)
{
	struct libraries_counts counts;

	if (hooks >= EXIT_HOOKS_MAX || !libraries_count(&counts))
		return hooks < EXIT_HOOKS_FIRST;
	return atomic_exchange(&guest.exit_loads, counts.loads) != counts.loads ||
	       hooks < EXIT_HOOKS_FIRST;
}

void guest_hook_exit(void)
{
	uint32_t hooks = atomic_load_explicit(&guest.exit_hooks, memory_order_relaxed);

	if (!needs_exit_hook(hooks))
		return;
	atomic_fetch_add_explicit(&guest.exit_hooks, 1, memory_order_relaxed);
	atexit(on_exit_of_process);
}

/* Called in a child, in the thread that forked. A child made by the exiting thread continues to
 * exit. In any other child exit has not started, although its parent's may have started and used up
 * the handlers. */
static void forget_exit(void)
{
	if (atomic_load(&guest_exit_begun) &&
	    (atomic_load(&guest.exiting) == lock_own_id() ||
	     atomic_load(&guest.exiting_pid) == (uint32_t)getpid()))
		return;
	atomic_store(&guest_exit_begun, false);
	atomic_store(&guest.exit_hooks, 0);
	atomic_store(&guest.exit_loads, 0);
}

static void start_fresh(void)
{
	atomic_store(&guest_page.locks, GUEST_LOCKS_COPIED);
	set_mode(GUEST_FRESH);
}

/* Returns the ring of this attachment that the calling thread may be using in the middle of a
 * call. */
static const struct guest_thread *ring_of_thread(const struct attachment *attachment)
{
	const struct guest_thread *thread = guest_self;

	while (thread && thread->mode != attachment->mode)
		thread = thread->before;
	return thread;
}

static bool advise_rings(const struct attachment *attachment, int advice)
{
	const int saved = errno;
	bool is_done = madvise(attachment->rings.region,
			       ring_region_bytes(attachment->rings.ring_count,
						 attachment->rings.ring_bytes),
			       advice) == 0;

	errno = saved;
	return is_done;
}

/* A signal handler may interrupt the writing of a record and fork; in the child it returns into
 * that writing. Such rings are inherited, so that no other fork handler finds their address free
 * before the child's own memory is mapped there. */
static void before_fork(void)
{
	const struct attachment *attachment = atomic_load(&guest.attachment);
	const struct guest_thread *thread;

	libraries_before_fork();
	guest_patience.kept = NULL;
	if (atomic_load(&guest_page.mode) == GUEST_FRESH)
		return;
	for (; attachment && !guest_patience.kept; attachment = attachment->older) {
		thread = ring_of_thread(attachment);
		if (thread && thread->writer.writing && advise_rings(attachment, MADV_DOFORK))
			guest_patience.kept = attachment;
	}
}

static void after_fork(void)
{
	libraries_after_fork();
	if (guest_patience.kept)
		advise_rings(guest_patience.kept, MADV_DONTFORK);
	guest_patience.kept = NULL;
}

/* The rest of the interrupted call then uses memory of the child's own. If no record is being
 * written, another fork handler may already use the address: it is left alone. */
static void replace_rings(const struct attachment *attachment)
{
	const size_t bytes =
		ring_region_bytes(attachment->rings.ring_count, attachment->rings.ring_bytes);
	const int saved = errno,
		  fixed = attachment == guest_patience.kept ? MAP_FIXED : MAP_FIXED_NOREPLACE;
	void *memory = mmap(attachment->rings.region, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);

	/* Before Linux 4.17 the kernel maps it at another address instead. */
	if (memory != MAP_FAILED && memory != attachment->rings.region)
		munmap(memory, bytes);
	errno = saved;
}

static void after_fork_in_child(void)
{
	const struct attachment *attachment = atomic_load(&guest.attachment);

	libraries_after_fork_in_child();
	for (; attachment; attachment = attachment->older)
		if (ring_of_thread(attachment))
			replace_rings(attachment);
	guest_patience.kept = NULL;
	forget_exit();
	if (!guest.is_wiped)
		start_fresh();
}

static void prepare_process(void)
{
	/* Kernels before 4.14 cannot wipe. There a child made by fork() is still detected, one made
	 * by a raw clone is not. */
	libraries_prepare();
	guest.is_wiped = madvise(&guest_page, sizeof(guest_page), MADV_WIPEONFORK) == 0;
	if (guest.key_made)
		return;
	pthread_atfork(before_fork, after_fork, after_fork_in_child);
	guest.key_made = pthread_key_create(&guest.key, on_thread_exit) == 0;
}

/* The clock that the recorder wants is unknown before it answers, so all are read. 0: not read. */
struct moment {
	uint64_t clocks[RING_CLOCK_TSC + 1];
};

/* A recorder of other processes has refused this one. The next machine-wide recorder may want it. A
 * recorder that did not answer is not passed over: each one would cost the call a wait. */
static bool try_further(uint32_t place, uint32_t max_ms)
{
	bool attached = false;

	while (!attached && !guest.stalls && atomic_load(&guest_page.mode) != GUEST_OFF) {
		int fd = handshake_connect_any(&place);

		if (fd < 0)
			break;
		attached = shake_hands(fd, max_ms);
		close(fd);
	}
	return attached;
}

static bool attach(uint32_t max_ms, struct moment *ret_begin)
{
	bool attached, is_any;
	uint32_t place = 0;
	int fd;

	if (getauxval(AT_SECURE)) {
		debug("off: this program runs with another user's rights");
		set_mode(GUEST_OFF);
		return false;
	}
	guest.is_refused = !handshake_may_use_sockets(&guest.environment);
	if (guest.is_refused) {
		debug("idle: the program has a seccomp filter of its own");
		return false;
	}
	fd = handshake_connect(guest.environment.names);
	is_any = fd < 0;
	if (is_any)
		fd = handshake_connect_any(&place);
	if (fd < 0) {
		debug("idle: no recorder");
		return false;
	}
	if (handshake_may_read_counter())
		for (uint32_t clock = 0; clock <= RING_CLOCK_TSC; clock++)
			ret_begin->clocks[clock] = ring_now(clock);
	attached = shake_hands(fd, max_ms);
	close(fd);
	if (!attached && is_any)
		attached = try_further(place, max_ms);
	debug(attached ? "attached" : "idle: the recorder gave no rings");
	return attached;
}

/* A stopped recorder costs each search the time of waiting for it. */
static uint64_t look_interval_ms(void)
{
	if (guest.stalls)
		return (uint64_t)STALL_INTERVAL_MS << (guest.stalls - 1);
	if (guest.is_refused)
		return REFUSED_INTERVAL_MS;
	return ring_now_ms() < atomic_load(&guest.soon_until_ms) ? SOON_INTERVAL_MS
								 : LOOK_INTERVAL_MS;
}

/* The calls of all threads that begin after the mode is set are recorded. */
static void begin_recording(const struct attachment *attachment)
{
	set_mode(attachment->mode);
	atomic_store(&attachment->rings.region->begun_ns, ring_now(RING_CLOCK_MONOTONIC));
}

/* The caller holds the lock. After a fork everything but the page is a copy of the parent's state.
 */
static void try_to_attach(uint32_t max_ms, struct moment *ret_begin)
{
	bool attached;

	prepare_process();
	attached = attach(max_ms, ret_begin);
	atomic_store(&guest_next_look_ms, ring_now_ms() + look_interval_ms());
	if (attached)
		begin_recording(atomic_load(&guest.attachment));
	else if (atomic_load(&guest_page.mode) != GUEST_OFF)
		set_mode(GUEST_IDLE);
}

static void renew_thread(struct guest_thread *thread, const struct attachment *attachment,
			 const struct ring_writer *writer, size_t index)
{
	thread->writer = *writer;
	thread->mode = attachment->mode;
	thread->region = attachment->rings.region;
	thread->clock = attachment->rings.region->clock;
	thread->options = attachment->rings.region->options;
	memcpy(thread->numbers, attachment->rings.region->numbers, sizeof(thread->numbers));
	thread->correlation |= (uint64_t)index << 40; /* kept from the ring's previous thread */
	thread->stack_hash = 0;
	thread->watched = GUEST_WATCHED_CALLS;
	thread->sections = 0;
	thread->unwind.low = thread->unwind.high = 0;
	thread->unwind.count = 0;
	thread->unwind.busy = false;
}

static struct guest_thread *claim_ring(void)
{
	const struct attachment *attachment = atomic_load(&guest.attachment);
	const struct handshake_rings *rings = attachment ? &attachment->rings : NULL;
	struct ring_writer writer;
	struct guest_thread *thread;
	size_t index;

	/* Scanning all rings costs a microsecond: not in every call of a thread that found none. */
	if (attachment && guest_patience.calls && guest_patience.mode == attachment->mode) {
		guest_patience.calls--;
		return NULL;
	}
	if (!rings || !ring_region_is_owned(rings->region))
		return NULL;
	if (!ring_claim(rings->region, rings->ring_count, rings->ring_bytes,
			(uint32_t)syscall(SYS_gettid), &writer)) {
		guest_patience.calls = CALLS_BETWEEN_CLAIMS;
		guest_patience.mode = attachment->mode;
		return NULL;
	}
	index = ((uint8_t *)writer.control - (uint8_t *)rings->region) /
		ring_slot_bytes(rings->ring_bytes);
	thread = &attachment->threads[index];
	renew_thread(thread, attachment, &writer, index);
	/* A ring of the same attachment was closed by this thread, and another thread may have it
	 * now. */
	thread->before = guest_self && guest_self->mode != thread->mode ? guest_self : NULL;
	if (guest.key_made)
		pthread_setspecific(guest.key, thread);
	guest_self = thread;
	return thread;
}

/* False while another thread resets the locks. */
static bool reset_after_fork(void)
{
	uint32_t copied = GUEST_LOCKS_COPIED;

	if (atomic_load(&guest_page.locks) == GUEST_LOCKS_OWN)
		return true;
	if (!atomic_compare_exchange_strong(&guest_page.locks, &copied, GUEST_LOCKS_IN_RESET))
		return false;
	/* In the first process, other threads may rightly hold locks. */
	if (guest.is_started) {
		atomic_store(&guest.lock.taken, 0);
		atomic_store(&guest.attachment, NULL);
		/* A raw clone runs no fork handlers. */
		if ((pid_t)syscall(SYS_gettid) == getpid())
			forget_exit();
		if (guest.backend.on_fork)
			guest.backend.on_fork();
	}
	guest.is_started = true;
	atomic_store(&guest_page.locks, GUEST_LOCKS_OWN);
	return true;
}

void guest_notice_fork(void)
{
	if (atomic_load_explicit(&guest_page.mode, memory_order_acquire) == GUEST_FRESH)
		reset_after_fork();
}

/* Reads the clock of a recorder that is already there. */
static void read_recorded_clock(struct moment *ret_begin)
{
	const struct ring_region *region = recorded_region();
	uint32_t clock = region ? region->clock : UINT32_MAX;

	if (clock <= RING_CLOCK_TSC)
		ret_begin->clocks[clock] = ring_now(clock);
}

static void end_attaching(struct guest_thread *thread, const struct moment *begin)
{
	if (thread && thread->clock <= RING_CLOCK_TSC && begin->clocks[thread->clock])
		guest_section_end(thread, GUEST_SECTION_ATTACH, begin->clocks[thread->clock]);
}

static struct guest_thread *enter_slow(uint32_t first_wait_ms)
{
	struct moment begin = {{0}};
	int saved = errno, cancel;
	struct guest_thread *thread = NULL;

	/* A thread cancelled inside would never release the lock. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	read_recorded_clock(&begin);
	if (atomic_load_explicit(&guest_page.mode, memory_order_acquire) == GUEST_FRESH &&
	    reset_after_fork() && guest_lock(&guest.lock)) {
		if (atomic_load(&guest_page.mode) == GUEST_FRESH)
			try_to_attach(guest.environment.names[0] ? first_wait_ms : WELCOME_WAIT_MS,
				      &begin);
		guest_unlock(&guest.lock);
	}
	if (is_recording() && guest_still_recording())
		thread = claim_ring();
	end_attaching(thread, &begin);
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
	return thread;
}

struct guest_thread *guest_enter_slow(void)
{
	return enter_slow(FIRST_WAIT_MS);
}

struct guest_thread *guest_enter_first(void)
{
	if (atomic_load_explicit(&guest_page.mode, memory_order_relaxed) != GUEST_FRESH)
		return guest_enter();
	return enter_slow(EXPECTED_WAIT_MS);
}

/* Splits the argument into two texts. */
static void take_environment(const char *argument)
{
	char names[SESSION_NAMES_BYTES] = "";
	size_t length = strcspn(argument, "\n");

	if (length < sizeof(names))
		memcpy(names, argument, length);
	handshake_take_environment(names, argument[length] ? argument + length + 1 : NULL,
				   &guest.environment);
}

struct guest_thread *guest_enter_for(const char *argument, enum session_entered *ret_why)
{
	int saved = errno, cancel;
	struct guest_thread *thread = NULL;
	struct moment begin = {{0}};

	*ret_why = SESSION_ENTERED_UNHEARD;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	guest_notice_fork();
	guest_still_recording();
	if (guest_lock(&guest.lock)) {
		if (is_recording()) {
			*ret_why = SESSION_ENTERED_TAKEN;
		} else if (atomic_load(&guest_page.mode) != GUEST_OFF) {
			take_environment(argument);
			try_to_attach(EXPECTED_WAIT_MS, &begin);
		}
		guest_unlock(&guest.lock);
	}
	if (*ret_why != SESSION_ENTERED_TAKEN && is_recording())
		thread = claim_ring();
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
	return thread;
}

/* One thread looks, and the others go on. */
static bool is_time_to_look(void)
{
	uint64_t now = ring_now_ms(), due = atomic_load(&guest_next_look_ms);

	return now >= due &&
	       atomic_compare_exchange_strong(&guest_next_look_ms, &due, now + REFUSED_INTERVAL_MS);
}

void guest_look_for_recorder(void)
{
	int saved = errno, cancel;
	struct moment begin = {{0}};

	guest_still_recording();
	if (atomic_load_explicit(&guest_page.mode, memory_order_relaxed) != GUEST_IDLE ||
	    !is_time_to_look())
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (guest_lock(&guest.lock)) {
		if (atomic_load(&guest_page.mode) == GUEST_IDLE)
			try_to_attach(WELCOME_WAIT_MS, &begin);
		guest_unlock(&guest.lock);
	}
	if (is_recording())
		end_attaching(guest_enter(), &begin);
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
}
