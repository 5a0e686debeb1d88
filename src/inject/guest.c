/* SPDX-License-Identifier: MIT
 *
 * inject/guest.c - attach to a recorder, give each thread a ring, survive fork and exit
 *
 * Runs in:  the profiled process, in the first call of a process or thread; never on the hot path
 * Gets:     DUET_SESSION as it was at the first call, or the machine-wide recorder's name
 * Gives:    guest_enter's answer
 * Owns:     the mapping of the region, the array of guest_threads, one pthread key
 * Fails:    by going idle; what the recorder should know is counted in the region or sent in the farewell
 * Why:      no thread and no lock of ours in the program: one idle second thread made a blocking 4-byte
 *           read twice as slow. The mode lives on a page that the kernel wipes on fork (raw clone
 *           included), so a child never writes into its parent's rings and pays nothing until it has
 *           something to say: 5000 short forks attach nothing.
 */
#include "inject/guest.h"
#include "inject/libraries.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
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
	/* … and the first call of a process that it has started by this much: with ten busy threads a processor it was
	 * seen to have none for 316 ms, and a short program that did not wait was over before the next look */
	FIRST_WAIT_MS = 2000,
	EXPECTED_WAIT_MS = 6000, /* … by this much where a guest is there then or never */
	LOOK_INTERVAL_MS = 1000, /* between two looks for a recorder */
	STALLS_MOST = 6,
	STALL_INTERVAL_MS =
		16000, /* … after it did not answer, and twice as long each further time */
	CALLS_BETWEEN_CLAIMS = 1000,
	EXIT_HOOKS_MAX = 8,     /* the C library has room for 32 handlers without an allocation */
	LOCK_PATIENCE_MS = 1000 /* then the record of what the lock guards is lost, and counted */
};

struct guest_page guest_page;
_Atomic bool guest_exit_begun;
_Thread_local struct guest_thread *guest_self __attribute__((tls_model("initial-exec")));
static _Thread_local struct {
	uint32_t calls;
	uint32_t mode; /* of the attachment that had no ring free */
} guest_patience __attribute__((tls_model("initial-exec")));

/* Never changed once it is made: a thread that works with the one before it does so to the end. */
struct attachment {
	struct attachment *older;
	struct handshake_rings
		rings; /* owned; stay mapped until the process ends: threads may be inside */
	struct guest_thread *threads;
	uint32_t mode;
};

static struct guest {
	struct guest_lock lock;
	struct attachment *_Atomic attachment;
	uint32_t attachments; /* so far, those of parents before a fork included */
	uint32_t stalls;      /* recorders in a row that did not answer */
	_Atomic uint64_t next_look_ms;
	bool is_started; /* in this process or a parent of it */
	pthread_key_t key;
	bool key_made, is_wiped;
	_Atomic uint32_t exit_hooks; /* registrations of on_exit_of_process */
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

/* A holder that was preempted comes back when the scheduler lets it: a yield is not enough for that where
 * many threads run (5 of 38 commands were lost with 8 threads on 2 busy cores), so the others sleep. One
 * that a signal handler on this very thread interrupted never comes back: the lock says whose it is. */
bool guest_lock(struct guest_lock *lock)
{
	static const struct timespec nap = {0, 50000};
	const int saved = errno;
	const uint32_t self = (uint32_t)((uintptr_t)&guest_patience >> 2) | 1;
	uint64_t end_ms = 0;

	for (uint32_t tries = 1;; tries++) {
		uint32_t holder = 0;

		if (atomic_compare_exchange_weak_explicit(&lock->taken, &holder, self,
							  memory_order_acquire,
							  memory_order_relaxed))
			return true;
		if (holder == self)
			return false;
		if (tries % 50 != 0)
			continue;
		if (tries <= 200) {
			sched_yield();
			continue;
		}
		if (!end_ms)
			end_ms = ring_now_ms() + LOCK_PATIENCE_MS;
		else if (ring_now_ms() >= end_ms)
			return false;
		/* Not the library's, in which a thread may be cancelled. */
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &nap, NULL);
		errno = saved;
	}
}

void *guest_memory(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void guest_memory_free(void *memory, size_t bytes)
{
	munmap(memory, bytes);
}

/* Only where DUET_DEBUG asks for it: a guest has no voice of its own. */
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

void guest_trouble_many(enum ring_trouble trouble, uint64_t count)
{
	struct attachment *attachment = atomic_load(&guest.attachment);

	/* In a child the region is not mapped. */
	if (is_recording() && attachment)
		atomic_fetch_add_explicit(&attachment->rings.region->trouble[trouble], count,
					  memory_order_relaxed);
}

void guest_trouble(enum ring_trouble trouble)
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

void guest_missed(enum ring_trouble trouble)
{
	guest_trouble(trouble);
}

/* A recorder that ends does this itself, when it has read the rest. Threads may still be inside of a record: first page and
 * control pages stay. */
static void give_back_data(const struct handshake_rings *rings)
{
	uint8_t *slot = (uint8_t *)rings->region + RING_PAGE;
	const int saved = errno;

	for (uint32_t i = 0; i < rings->ring_count; i++, slot += ring_slot_bytes(rings->ring_bytes))
		if (!atomic_load(&((const struct ring_control *)slot)->head) ||
		    madvise(slot + RING_PAGE, rings->ring_bytes, MADV_REMOVE) < 0)
			break;
	errno = saved;
}

bool guest_still_recording(void)
{
	uint32_t mode = atomic_load_explicit(&guest_page.mode, memory_order_acquire);
	struct attachment *attachment = atomic_load(&guest.attachment);

	if (mode < GUEST_RECORDING || !attachment)
		return false;
	if (attachment->mode != mode)
		return true; /* another thread attaches just now */
	if (ring_region_is_read(attachment->rings.region))
		return true;
	/* Unless another thread has found a new recorder meanwhile. */
	if (atomic_compare_exchange_strong(&guest_page.mode, &mode, GUEST_IDLE) &&
	    (atomic_load(&attachment->rings.region->enabled) & RING_OWNER_DIED))
		give_back_data(&attachment->rings);
	return false;
}

/* ---- the guest's own time ---------------------------------------------------------------------- */

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

void guest_count_timed(struct guest_thread *thread, uint64_t ticks)
{
	if (ticks >= GUEST_SECTION_TICKS) {
		thread->watched = GUEST_WATCHED_CALLS;
		return;
	}
	guest_trouble(RING_TROUBLE_TIMED_CALLS);
	guest_trouble_many(RING_TROUBLE_TIMED_TICKS, ticks);
}

/* The caller has read the clock twice for the call; it is read twice here too, and the record is written between. */
void guest_put_api_timed(struct guest_thread *thread, uint32_t detail, uint64_t begin, uint64_t end,
			 int32_t result, uint64_t argument, uint32_t stack)
{
	uint64_t before = guest_now(thread);

	guest_now(thread);
	guest_put_api_row(thread, detail, begin, end, result, argument, stack);
	guest_count_timed(thread, guest_now(thread) - before);
}

/* NULL: nobody records. */
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

/* ---- the recorder ------------------------------------------------------------------------------ */

static bool add_attachment(struct handshake_rings *rings)
{
	/* In one piece with the threads. */
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

static bool shake_hands(int fd, uint32_t most_ms)
{
	uint64_t begin_ms = ring_now_ms();
	struct handshake_rings rings;
	int error = handshake_say_hello(fd, guest.backend.name);

	if (!error)
		error = handshake_rings_open(fd, most_ms, &rings);
	/* One that says no, or hangs up, costs nothing. */
	if (!error || ring_now_ms() - begin_ms < WELCOME_WAIT_MS / 2)
		guest.stalls = 0;
	else if (guest.stalls < STALLS_MOST)
		guest.stalls++;
	return !error && add_attachment(&rings);
}

/* ---- process and thread lifetime --------------------------------------------------------------- */

static void on_thread_exit(void *value)
{
	struct guest_thread *thread = value;

	guest_self = NULL;
	/* After a fork the ring is the parent's and no longer mapped here. */
	if (thread->mode == atomic_load_explicit(&guest_page.mode, memory_order_acquire))
		ring_close(&thread->writer);
}

static void on_exit_of_process(void)
{
	if (!atomic_exchange(&guest_exit_begun, true) && is_recording() && guest.backend.at_exit)
		guest.backend.at_exit();
}

void guest_hook_exit(void)
{
	uint32_t hooks = atomic_load_explicit(&guest.exit_hooks, memory_order_relaxed);

	while (hooks < EXIT_HOOKS_MAX)
		if (atomic_compare_exchange_weak(&guest.exit_hooks, &hooks, hooks + 1)) {
			atexit(on_exit_of_process);
			return;
		}
}

static void start_fresh(void)
{
	atomic_store(&guest_page.locks, GUEST_LOCKS_COPIED);
	set_mode(GUEST_FRESH);
}

/* A handler that interrupts us and forks returns, in the child, into the writing of a record. The rings are not
 * there: memory of the child's own takes the rest of it. */
static void after_fork_in_child(void)
{
	const struct attachment *attachment = atomic_load(&guest.attachment);

	libraries_after_fork_in_child();
	for (; attachment; attachment = attachment->older)
		mmap(attachment->rings.region,
		     ring_region_bytes(attachment->rings.ring_count, attachment->rings.ring_bytes),
		     PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	if (!guest.is_wiped)
		start_fresh();
}

static void prepare_process(void)
{
	/* Kernels before 4.14 cannot wipe; there a child made by fork() is still told, one made by a raw
	 * clone is not. */
	libraries_prepare();
	guest.is_wiped = madvise(&guest_page, sizeof(guest_page), MADV_WIPEONFORK) == 0;
	if (guest.key_made)
		return;
	pthread_atfork(libraries_before_fork, libraries_after_fork, after_fork_in_child);
	guest.key_made = pthread_key_create(&guest.key, on_thread_exit) == 0;
}

static bool attach(uint32_t most_ms)
{
	bool attached;
	int fd;

	if (getauxval(AT_SECURE)) {
		debug("off: this program runs with another user's rights");
		set_mode(GUEST_OFF);
		return false;
	}
	if (!handshake_may_use_sockets(&guest.environment)) {
		debug("idle: the program has a seccomp filter of its own");
		return false;
	}
	fd = handshake_connect(guest.environment.names);
	if (fd < 0)
		fd = handshake_connect_any();
	if (fd < 0) {
		debug("idle: no recorder");
		return false;
	}
	attached = shake_hands(fd, most_ms);
	close(fd);
	debug(attached ? "attached" : "idle: the recorder gave no rings");
	return attached;
}

/* A recorder that is stopped costs each look the time of waiting for it. */
static uint64_t look_interval_ms(void)
{
	return guest.stalls ? (uint64_t)STALL_INTERVAL_MS << (guest.stalls - 1) : LOOK_INTERVAL_MS;
}

/* Under the lock. After a fork everything but the page is a copy of the parent's state. */
static void try_to_attach(uint32_t most_ms)
{
	bool attached;

	prepare_process();
	attached = attach(most_ms);
	guest.next_look_ms = ring_now_ms() + look_interval_ms();
	if (attached)
		set_mode(atomic_load(&guest.attachment)->mode);
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
	thread->correlation |= (uint64_t)index << 40; /* kept from the ring's earlier thread */
	thread->stack_hash = 0;
	thread->watched = GUEST_WATCHED_CALLS;
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

	/* Looking through all rings costs a microsecond: not in every call of a thread that found none. */
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
	/* Of the same attachment it would be a ring that this thread has closed, and another may have. */
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
	/* In the first process of all, other threads may hold locks by right. */
	if (guest.is_started) {
		atomic_store(&guest.lock.taken, 0);
		atomic_store(&guest.attachment, NULL);
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

/* Which clock the recorder wants is not known before it answers. */
struct moment {
	uint64_t clocks[RING_CLOCK_TSC + 1];
};

static struct moment read_clocks(void)
{
	return (struct moment){{[RING_CLOCK_MONOTONIC] = ring_now(RING_CLOCK_MONOTONIC),
				[RING_CLOCK_TSC] = ring_now(RING_CLOCK_TSC)}};
}

static void end_attaching(struct guest_thread *thread, const struct moment *begin)
{
	if (thread && thread->clock <= RING_CLOCK_TSC)
		guest_section_end(thread, GUEST_SECTION_ATTACH, begin->clocks[thread->clock]);
}

static struct guest_thread *enter_slow(uint32_t first_wait_ms)
{
	const struct moment begin = read_clocks();
	int saved = errno, cancel;
	struct guest_thread *thread = NULL;

	/* A thread that is cancelled inside would take the lock with it. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (atomic_load_explicit(&guest_page.mode, memory_order_acquire) == GUEST_FRESH &&
	    reset_after_fork() && guest_lock(&guest.lock)) {
		if (atomic_load(&guest_page.mode) == GUEST_FRESH)
			try_to_attach(guest.environment.names[0] ? first_wait_ms : WELCOME_WAIT_MS);
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

/* As two texts. */
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

	*ret_why = SESSION_ENTERED_UNHEARD;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	guest_notice_fork();
	guest_still_recording();
	if (guest_lock(&guest.lock)) {
		if (is_recording()) {
			*ret_why = SESSION_ENTERED_TAKEN;
		} else if (atomic_load(&guest_page.mode) != GUEST_OFF) {
			take_environment(argument);
			try_to_attach(EXPECTED_WAIT_MS);
		}
		guest_unlock(&guest.lock);
	}
	if (*ret_why != SESSION_ENTERED_TAKEN && is_recording())
		thread = claim_ring();
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
	return thread;
}

void guest_look_for_recorder(void)
{
	int saved = errno, cancel;
	struct moment begin;

	guest_still_recording();
	if (atomic_load_explicit(&guest_page.mode, memory_order_relaxed) != GUEST_IDLE ||
	    ring_now_ms() < atomic_load(&guest.next_look_ms))
		return;
	begin = read_clocks();
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (guest_lock(&guest.lock)) {
		if (atomic_load(&guest_page.mode) == GUEST_IDLE &&
		    ring_now_ms() >= guest.next_look_ms)
			try_to_attach(WELCOME_WAIT_MS);
		guest_unlock(&guest.lock);
	}
	if (is_recording())
		end_attaching(guest_enter(), &begin);
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
}
