/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_call_probes.c - calls are seen of the processes that are watched, and
 * others are left as they are
 *
 * As root alone. The functions that are probed are this program's own, and those that are watched
 * are its children.
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "collect/enter/call_probes.h"

enum { PROCESSES = 66, DEPTHS = 6000 };

__attribute__((noinline, used)) void probed_call(void);
void probed_call(void)
{
	__asm__ volatile("");
}

#if defined(__x86_64__)
/* The kernel puts no probe where a breakpoint is. */
__asm__(".text\n.type probed_trap, @function\nprobed_trap: int3\nret\n.size probed_trap, 2\n");
static const char *const functions[] = {"probed_call", "probed_nowhere", "probed_trap"};
#else
static const char *const functions[] = {"probed_call", "probed_nowhere"};
#endif

struct seen {
	uint64_t calls, with_stack;
	uint32_t tgid; /* of the last one */
};

static void on_record(void *context, const void *record, size_t size)
{
	const struct call_record *call = record;
	struct seen *seen = context;

	if (size >= sizeof(struct kernel_stack))
		return;
	seen->calls++;
	seen->with_stack += call->user_stack != 0;
	seen->tgid = call->head.tgid;
}

static struct call_probes *start(struct seen *seen, size_t count, bool has_stacks)
{
	const struct call_probes_options options = {.functions = functions,
						    .functions_count = count,
						    .has_stacks = has_stacks,
						    .on_record = on_record,
						    .context = seen};
	struct call_probes *probes = NULL;

	if (call_probes_start(&options, &probes))
		error_clear();
	return probes;
}

static void wait_ms(int ms)
{
	const struct timespec time = {.tv_nsec = ms * 1000000L};

	nanosleep(&time, NULL);
}

/* A child that calls as often as it is told to, and says how often it did. */
struct caller {
	pid_t pid;
	_Atomic uint32_t *wanted, *done;
};

static void call_at_depth(uint32_t depth)
{
	/* what differs in it are addresses of code, by which stacks are told apart */
	void *volatile words[64];

	for (size_t i = 0; i < ARRAY_COUNT(words); i++)
		words[i] = (char *)(uintptr_t)probed_call + depth;
	probed_call();
	__asm__ volatile("" : : "r"(words) : "memory");
}

static struct caller begin_caller(void)
{
	_Atomic uint32_t *words =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct caller caller = {.wanted = words, .done = words + 1, .pid = fork()};

	while (caller.pid == 0) {
		if (*caller.done < *caller.wanted) {
			call_at_depth(*caller.done);
			++*caller.done;
		} else {
			wait_ms(1);
		}
	}
	return caller;
}

static void end_caller(struct caller *caller)
{
	kill(caller->pid, SIGKILL);
	waitpid(caller->pid, NULL, 0);
	munmap((void *)caller->wanted, 4096);
}

static void have_called(const struct caller *caller, struct call_probes *probes, uint32_t count)
{
	*caller->wanted += count;
	while (*caller->done < *caller->wanted) {
		call_probes_drain(probes);
		wait_ms(1);
	}
	call_probes_drain(probes);
}

static uint8_t first_byte(const struct caller *caller)
{
	uint8_t byte = 0;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)caller->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && pread(fd, &byte, 1, (off_t)(uintptr_t)probed_call) == 1);
	close(fd);
	return byte;
}

static uint32_t watch(struct call_probes *probes, uint32_t pid, char text[CALL_PROBES_TEXT_BYTES])
{
	uint32_t functions_seen = 0, told;

	if (call_probes_watch(probes, pid, open("/proc/self/exe", O_RDONLY | O_CLOEXEC)))
		return UINT32_MAX;
	while (!call_probes_next(probes, &told, &functions_seen, text))
		wait_ms(1);
	CHECK_EQUAL(told, pid);
	return functions_seen;
}

TEST(who_is_not_watched_is_left_alone)
{
	char text[CALL_PROBES_TEXT_BYTES];
	struct seen seen = {0};
	struct caller watched, other;
	struct call_probes *probes = start(&seen, ARRAY_COUNT(functions), true);
	uint8_t before;

	if (!probes)
		SKIP("only root may probe functions");
	watched = begin_caller();
	other = begin_caller();
	before = first_byte(&watched);
	CHECK_EQUAL(watch(probes, (uint32_t)watched.pid, text), 1);
	have_called(&other, probes, 5);
	have_called(&watched, probes, 7);
	CHECK_EQUAL(seen.calls, 7);
	CHECK_EQUAL(seen.tgid, (uint32_t)watched.pid);
	CHECK_EQUAL(seen.with_stack, 7);
	CHECK(first_byte(&watched) != before);
	CHECK_EQUAL(first_byte(&other), before);
	/* and the other one gets probes of its own */
	CHECK_EQUAL(watch(probes, (uint32_t)other.pid, text), 1);
	have_called(&other, probes, 3);
	CHECK_EQUAL(seen.calls, 10);
#if defined(__x86_64__)
	/* why not all of them are probed is said of each */
	CHECK(strstr(text, "probed_trap") != NULL);
#endif
	end_caller(&watched);
	end_caller(&other);
	call_probes_stop(probes);
}

TEST(stacks_that_are_not_wanted_are_not_taken)
{
	char text[CALL_PROBES_TEXT_BYTES];
	struct seen seen = {0};
	struct call_probes *probes = start(&seen, 1, false);
	struct caller caller;

	if (!probes)
		SKIP("only root may probe functions");
	caller = begin_caller();
	CHECK_EQUAL(watch(probes, (uint32_t)caller.pid, text), 1);
	have_called(&caller, probes, 20);
	CHECK_EQUAL(seen.calls, 20);
	CHECK_EQUAL(seen.with_stack, 0);
	end_caller(&caller);
	call_probes_stop(probes);
}

/* With AddressSanitizer there are not as many calls in a second as have a stack. */
#ifdef __SANITIZE_ADDRESS__
enum { IS_FAST = 0 };
#else
enum { IS_FAST = 1 };
#endif

TEST(stacks_beyond_those_of_a_second_are_counted)
{
	char text[CALL_PROBES_TEXT_BYTES];
	struct seen seen = {0};
	struct call_probes *probes = start(&seen, 1, true);
	struct caller caller;
	uint64_t without;

	if (!probes)
		SKIP("only root may probe functions");
	caller = begin_caller();
	CHECK_EQUAL(watch(probes, (uint32_t)caller.pid, text), 1);
	have_called(&caller, probes, DEPTHS);
	without = DEPTHS - seen.with_stack - call_probes_lost(probes, CALL_COUNT_RECORDS);
	CHECK(without > 0 || !IS_FAST);
	CHECK_EQUAL(seen.calls + call_probes_lost(probes, CALL_COUNT_RECORDS), DEPTHS);
	CHECK(call_probes_lost(probes, CALL_COUNT_STACKS) >= without);
	end_caller(&caller);
	call_probes_stop(probes);
}

/* More than there is room for at a time, one after the other. */
TEST(who_has_ended_makes_room)
{
	char text[CALL_PROBES_TEXT_BYTES];
	struct seen seen = {0};
	struct call_probes *probes = start(&seen, 1, false);
	struct caller caller = {0};
	uint32_t found = 1;

	if (!probes)
		SKIP("only root may probe functions");
	for (int i = 0; i < PROCESSES && found == 1; i++) {
		caller = begin_caller();
		found = watch(probes, (uint32_t)caller.pid, text);
		end_caller(&caller);
		call_probes_forget(probes, (uint32_t)caller.pid);
	}
	CHECK_EQUAL(found, 1);
	caller = begin_caller();
	CHECK_EQUAL(watch(probes, (uint32_t)caller.pid, text), 1);
	have_called(&caller, probes, 2);
	CHECK_EQUAL(seen.calls, 2);
	/* of a number that is forgotten nothing is told */
	call_probes_forget(probes, (uint32_t)caller.pid);
	wait_ms(500);
	have_called(&caller, probes, 2);
	CHECK_EQUAL(seen.calls, 2);
	end_caller(&caller);
	call_probes_stop(probes);
}

int main(void)
{
	RUN(who_is_not_watched_is_left_alone);
	RUN(stacks_that_are_not_wanted_are_not_taken);
	RUN(stacks_beyond_those_of_a_second_are_counted);
	RUN(who_has_ended_makes_room);
	return harness_end();
}
