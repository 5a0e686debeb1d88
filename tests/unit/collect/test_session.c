/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_session.c - whole recordings of this program, which plays the guest
 * itself
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "harness.h"

#include "collect/collector.h"
#include "collect/session.h"
#include "ring/ring.h"
#include "ring/session.h"
#include "trace/reader.h"

static char folder[] = "/tmp/duet-session-XXXXXX";
static char self[4096];

/* ---- the guest ------------------------------------------------------------------------------- */

/* The region stays mapped, as a guest's does. */
static struct ring_region *map_region(int fd, const struct session_welcome *welcome)
{
	char space[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec part = {(void *)welcome, sizeof(*welcome)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = space,
				 .msg_controllen = sizeof(space)};
	struct ring_region *region;
	int region_fd = -1;

	if (recvmsg(fd, &message, 0) != sizeof(*welcome) || !CMSG_FIRSTHDR(&message))
		_exit(99);
	memcpy(&region_fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(region_fd));
	region = mmap(NULL, ring_region_bytes(welcome->ring_count, welcome->ring_bytes),
		      PROT_READ | PROT_WRITE, MAP_SHARED, region_fd, 0);
	close(region_fd);
	return region;
}

/* NULL: nobody is there. */
static struct ring_region *attach_to(const char *name, const char *guest)
{
	struct ring_region *region;
	struct session_hello hello = {SESSION_MAGIC, SESSION_VERSION, (uint32_t)getpid(), ""};
	struct session_attached farewell = {SESSION_MAGIC, 128, 0};
	struct session_welcome welcome = {0};
	struct sockaddr_un address;
	socklen_t size = session_address(name, strcspn(name, ","), &address);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&address, size) < 0) {
		close(fd);
		return NULL;
	}
	snprintf(hello.guest, sizeof(hello.guest), "%s", guest);
	if (send(fd, &hello, sizeof(hello), 0) < 0)
		_exit(99);
	region = map_region(fd, &welcome);
	if (region == MAP_FAILED || welcome.ring_count == 0 ||
	    send(fd, &farewell, sizeof(farewell), 0) < 0)
		_exit(99);
	close(fd);
	return region;
}

static struct ring_region *attach_as(const char *guest)
{
	struct ring_region *region = attach_to(getenv(SESSION_VARIABLE), guest);

	if (!region)
		_exit(99);
	return region;
}

static struct ring_region *attach(void)
{
	return attach_as("opencl");
}

/* Ended, and left unwaited for. */
static void child_that_attaches(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		attach();
		_exit(3);
	}
	if (waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT) < 0)
		_exit(98);
}

static int come_back(struct ring_region *before)
{
	struct ring_region *after = attach();

	return !ring_region_is_owned(before) && ring_region_is_owned(after) ? 0 : 97;
}

/* A second guest, which comes back later: the first goes on through all of it. */
static int two_guests(const struct ring_region *first)
{
	const struct ring_region *second = attach_as("rocm"), *again = attach_as("rocm");

	return ring_region_is_owned(first) && !ring_region_is_owned(second) &&
			       ring_region_is_owned(again)
		       ? 0
		       : 93;
}

/* Children that start at the same moment. */
static int many(int count)
{
	int gate[2], failed = 0, status;
	char byte;

	if (pipe(gate) < 0)
		return 96;
	for (int i = 0; i < count; i++) {
		if (fork() == 0) {
			close(gate[1]);
			if (read(gate[0], &byte, 1) < 0)
				_exit(95);
			attach();
			_exit(0);
		}
	}
	close(gate[1]);
	while (wait(&status) > 0)
		failed += status != 0;
	return failed ? 94 : 0;
}

enum { WHOLE_BYTES = 12024 };

static void write_record(struct ring_writer *writer, uint16_t kind, uint32_t detail,
			 const void *fixed, uint32_t fixed_bytes, uint32_t more_bytes)
{
	uint32_t size = (fixed_bytes + more_bytes + 7) & ~7u;
	struct record *record = ring_reserve(writer, kind, size);

	if (!record)
		_exit(92);
	memset(record, 0, size);
	memcpy(record, fixed, fixed_bytes);
	*record = (struct record){.kind = kind, .size = (uint16_t)size, .detail = detail};
	ring_commit(writer);
}

static void write_code(struct ring_writer *writer, uint32_t code, uint32_t type,
		       uint64_t size_bytes)
{
	const struct record_code record = {.code = code, .size_bytes = size_bytes};

	/* two empty texts */
	write_record(writer, EVENT_CODE, type, &record, offsetof(struct record_code, texts), 2);
}

static void write_half(struct ring_writer *writer, uint64_t offset)
{
	const struct record_bytes record = {.code = 1, .offset = offset};

	write_record(writer, RECORD_BYTES, WHOLE_BYTES / 2, &record, sizeof(record),
		     WHOLE_BYTES / 2);
}

/* A content of which the recorder reads one half before there is the other; with that comes what
 * else there is, to be read in the same round. */
static int halves(struct ring_region *region)
{
	const struct record_device device = {.device = 1};
	/* to know one of so many takes more than the content did */
	const struct record_queue queue = {.queue = 10000, .device = 1};
	static struct ring_control unseen;
	struct ring_control *control;
	struct ring_writer writer;

	if (!ring_claim(region, region->ring_count, region->ring_bytes, (uint32_t)getpid(),
			&writer))
		return 92;
	write_code(&writer, 1, CODE_BINARY, WHOLE_BYTES);
	write_half(&writer, 0);
	for (int i = 0; i < 10000 && atomic_load(&writer.control->tail) != writer.head; i++)
		usleep(1000);
	if (atomic_load(&writer.control->tail) != writer.head)
		return 91;
	control = writer.control;
	writer.control = &unseen;
	write_half(&writer, WHOLE_BYTES / 2);
	/* five empty texts */
	write_record(&writer, EVENT_DEVICE, DEVICE_GPU, &device,
		     offsetof(struct record_device, texts), 5);
	write_record(&writer, EVENT_QUEUE, QUEUE_TIMED, &queue, sizeof(queue), 0);
	write_code(&writer, 2, CODE_KERNEL, 0);
	atomic_store(&control->head, writer.head);
	return 0;
}

static int play_guest(char **argv)
{
	struct ring_region *region = strcmp(argv[2], "many") == 0 ? NULL : attach();

	if (!region)
		return many(atoi(argv[3]));
	if (strcmp(argv[2], "back") == 0)
		return come_back(region);
	if (strcmp(argv[2], "two") == 0)
		return two_guests(region);
	if (strcmp(argv[2], "halves") == 0)
		return halves(region);
	if (strcmp(argv[2], "fork") == 0)
		child_that_attaches();
	if (strcmp(argv[2], "kill") == 0)
		raise(SIGKILL);
	if (strcmp(argv[2], "exec") == 0)
		execl(self, self, "guest", "exit", "43", NULL);
	return atoi(argv[3]);
}

/* ---- recordings ------------------------------------------------------------------------------ */

struct recorded {
	char path[128];
	struct session_result result;
	int error, exec_error;
	struct trace_reader *reader;
	const struct event_process *processes;
	size_t count;
};

static void record_with(const char *list, char *const *command, struct recorded *recorded)
{
	struct session_options options = {.command = command};

	*recorded = (struct recorded){0};
	snprintf(recorded->path, sizeof(recorded->path), "%s/f.duet", folder);
	options.output = recorded->path;
	REQUIRE(!collectors_choose(list, NULL, &options));
	options.collected[0].guest = "/no/guest.so";
	recorded->error = session_run(&options, &recorded->result, &recorded->exec_error);
	if (recorded->error)
		return;
	REQUIRE(!trace_reader_open(recorded->path, &recorded->reader));
	recorded->count = trace_reader_entities(recorded->reader, EVENT_PROCESS,
						(const void **)&recorded->processes);
}

static void record(char *const *command, struct recorded *recorded)
{
	record_with("opencl", command, recorded);
}

static void record_guest(const char *what, const char *status, struct recorded *recorded)
{
	char *command[] = {self, (char *)"guest", (char *)what, (char *)status, NULL};

	record(command, recorded);
	REQUIRE(recorded->error == 0);
}

static void forget(struct recorded *recorded)
{
	trace_reader_close(recorded->reader);
	unlink(recorded->path);
}

TEST(status_of_the_program)
{
	struct recorded recorded;

	record_guest("exit", "42", &recorded);
	REQUIRE(recorded.count == 1);
	CHECK_EQUAL(recorded.result.program_status, 42 << 8);
	CHECK_EQUAL(recorded.processes[0].status, 42 << 8);
	CHECK_EQUAL(recorded.processes[0].ended, 1);
	CHECK_EQUAL(recorded.processes[0].uid, geteuid());
	CHECK_EQUAL(recorded.result.survivors, 0);
	forget(&recorded);
	record_guest("kill", "0", &recorded);
	REQUIRE(recorded.count == 1);
	CHECK(WIFSIGNALED(recorded.processes[0].status));
	CHECK_EQUAL(WTERMSIG(recorded.processes[0].status), SIGKILL);
	forget(&recorded);
}

/* The image before an exec ends without a status. */
TEST(status_after_an_exec)
{
	struct recorded recorded;

	record_guest("exec", "0", &recorded);
	REQUIRE(recorded.count == 2);
	CHECK_EQUAL(recorded.processes[0].pid, recorded.processes[1].pid);
	CHECK_EQUAL(recorded.processes[0].status, -1);
	CHECK_EQUAL(recorded.processes[1].status, 43 << 8);
	forget(&recorded);
}

/* The child's status is its parent's to know, and ended is ended, waited for or not. */
TEST(a_child_that_nobody_waits_for)
{
	for (int i = 0; i < 10; i++) {
		struct recorded recorded;

		record_guest("fork", "0", &recorded);
		REQUIRE(recorded.count == 2);
		CHECK_EQUAL(recorded.processes[0].parent, 0);
		CHECK_EQUAL(recorded.processes[1].parent, recorded.processes[0].id);
		CHECK_EQUAL(recorded.processes[1].parent_pid, recorded.processes[0].pid);
		CHECK_EQUAL(recorded.processes[0].status, 0);
		CHECK_EQUAL(recorded.processes[1].status, -1);
		CHECK_EQUAL(recorded.processes[1].ended, 1);
		CHECK_EQUAL(recorded.result.survivors, 0);
		forget(&recorded);
	}
}

/* Its old region is told that nobody reads it any more. */
TEST(a_program_that_comes_back_is_one_process)
{
	struct recorded recorded;

	record_guest("back", "0", &recorded);
	REQUIRE(recorded.count == 1);
	CHECK_EQUAL(recorded.result.program_status, 0);
	CHECK_EQUAL(recorded.processes[0].ended, 1);
	CHECK_EQUAL(recorded.processes[0].status, 0);
	/* available, and the gap */
	CHECK_EQUAL(trace_reader_entities(recorded.reader, EVENT_COLLECTOR, &(const void *){NULL}),
		    2);
	forget(&recorded);
}

/* The runtimes of two vendors in one process. */
TEST(two_guests_are_one_process)
{
	char *command[] = {self, (char *)"guest", (char *)"two", (char *)"0", NULL};
	const struct event_collector *notes;
	struct recorded recorded;
	size_t count;

	record_with("opencl,amd", command, &recorded);
	REQUIRE(recorded.error == 0 && recorded.count == 1);
	CHECK_EQUAL(recorded.result.program_status, 0);
	CHECK_EQUAL(recorded.result.processes, 1);
	CHECK_EQUAL(recorded.processes[0].ended, 1);
	/* both collectors, and the gap of the second guest; without /dev/kfd, that there is no
	 * device */
	count = trace_reader_entities(recorded.reader, EVENT_COLLECTOR, (const void **)&notes);
	REQUIRE(count == 3 || count == 4);
	CHECK_EQUAL(notes[2].name_string, notes[1].name_string);
	CHECK_EQUAL(notes[2].process, recorded.processes[0].id);
	forget(&recorded);
}

/* One that nobody asked for is turned down, and costs the other nothing. */
TEST(a_guest_that_is_not_chosen)
{
	char *command[] = {self, (char *)"guest", (char *)"two", (char *)"0", NULL};
	struct recorded recorded;

	record_with("opencl", command, &recorded);
	REQUIRE(recorded.error == 0 && recorded.count == 1);
	CHECK_EQUAL(recorded.result.program_status, 99 << 8);
	CHECK_EQUAL(recorded.processes[0].ended, 1);
	forget(&recorded);
}

TEST(many_programs_at_once)
{
	struct recorded recorded;

	record_guest("many", "300", &recorded);
	CHECK_EQUAL(recorded.result.program_status, 0);
	CHECK_EQUAL(recorded.count, 300);
	CHECK_TEXT(recorded.result.note, "");
	forget(&recorded);
}

/* What a content took comes back in a later round than it was taken in: who has no limit has none
 * then either. */
TEST(a_content_that_is_read_in_two_rounds)
{
	const struct event_queue *queues;
	const struct event_code *codes;
	struct recorded recorded;
	uint64_t losses = 0;

	record_guest("halves", "0", &recorded);
	CHECK_EQUAL(recorded.result.program_status, 0);
	REQUIRE(trace_reader_entities(recorded.reader, EVENT_QUEUE, (const void **)&queues) == 1);
	CHECK(queues[0].device != 0 && queues[0].clock != 0);
	REQUIRE(trace_reader_entities(recorded.reader, EVENT_CODE, (const void **)&codes) == 2);
	CHECK(codes[0].hash_low || codes[0].hash_high);
	for (size_t i = 0; i < trace_reader_chunk_count(recorded.reader); i++)
		losses += trace_reader_chunk(recorded.reader, i)->kind == EVENT_LOSS;
	CHECK_EQUAL(losses, 0);
	forget(&recorded);
}

/* ---- users beside each other ----------------------------------------------------------------- */

/* What the honest one saw. */
struct seen {
	_Atomic uint64_t waited_ns;
	_Atomic uint32_t enabled;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void fill(struct ring_writer *writer)
{
	for (int i = 0; i < 150000; i++) {
		struct record_context *record =
			ring_reserve(writer, EVENT_CONTEXT, sizeof(*record));

		if (!record)
			return;
		*record = (struct record_context){
			.head = {.kind = EVENT_CONTEXT, .size = sizeof(*record)},
			.context = (uint32_t)(i % 5000) + 1};
		ring_commit(writer);
	}
}

/* Writes as fast as it can for so long, into many rings. */
static _Noreturn void flood(uid_t uid, const char *name, uint64_t end_ns)
{
	enum { RINGS = 16 };
	struct ring_writer writers[RINGS];
	struct ring_region *region = NULL;

	if (setgid(uid) < 0 || setuid(uid) < 0)
		_exit(1);
	while (!region && now_ns() < end_ns) {
		region = attach_to(name, "opencl");
		usleep(1000);
	}
	for (int i = 0; region && i < RINGS; i++)
		if (!ring_claim(region, region->ring_count, region->ring_bytes, 1, &writers[i]))
			_exit(2);
	while (region && now_ns() < end_ns) {
		for (int i = 0; i < RINGS; i++)
			fill(&writers[i]);
		usleep(1000);
	}
	_exit(0);
}

/* Nobody else's recording waits for a user's flood, and neither does its end. */
/* Half of what a guest waits when it first looks: 490 ms were seen on a machine ten times too busy.
 * What is watched by a sanitizer takes many times as long. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define HELLO_WAIT_NS 2500000000u
#else
#define HELLO_WAIT_NS 1000000000u
#endif

TEST(a_flood_costs_nobody_else)
{
	enum { FLOODS = 6, STRANGER = 4711 };
	struct session_options options = {.any = true, .duration_ns = 2000000000};
	struct recorded recorded = {0};
	struct seen *seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t begin_ns = now_ns(), longest_ns;
	char name[64];
	pid_t pids[FLOODS + 1];

	if (geteuid() != 0)
		SKIP("only root's recorder takes other users' programs");
	REQUIRE(seen != MAP_FAILED);
	snprintf(name, sizeof(name), SESSION_ANY, 0u);
	snprintf(recorded.path, sizeof(recorded.path), "%s/f.duet", folder);
	options.output = recorded.path;
	REQUIRE(!collectors_choose("opencl", NULL, &options));
	for (int i = 0; i <= FLOODS; i++) {
		pids[i] = fork();
		if (pids[i] == 0 && i < FLOODS)
			flood(STRANGER, name, begin_ns + 3000000000u);
		if (pids[i] == 0) {
			struct ring_region *region;

			usleep(1200000);
			begin_ns = now_ns();
			region = attach_to(name, "opencl");
			seen->waited_ns = now_ns() - begin_ns;
			seen->enabled = region && ring_region_is_owned(region);
			_exit(0);
		}
	}
	recorded.error = session_run(&options, &recorded.result, &recorded.exec_error);
	longest_ns = now_ns() - begin_ns;
	for (int i = 0; i <= FLOODS; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	if (recorded.error == -EADDRINUSE) {
		error_clear();
		SKIP("a machine-wide recording is running");
	}
	REQUIRE(!recorded.error);
	printf("# the hello waited %llu us, the recording took %llu ms\n",
	       (unsigned long long)seen->waited_ns / 1000,
	       (unsigned long long)longest_ns / 1000000);
	CHECK_EQUAL(seen->enabled, 1);
	CHECK(seen->waited_ns < HELLO_WAIT_NS);
	CHECK(longest_ns < 15000000000);
	CHECK(recorded.result.processes >= FLOODS + 1);
	unlink(recorded.path);
	munmap(seen, sizeof(*seen));
}

TEST(a_program_that_does_not_start_costs_no_recording)
{
	char *missing[] = {(char *)"duet-no-such-program", NULL};
	struct recorded recorded;
	struct stat about, earlier;

	record(missing, &recorded);
	CHECK(recorded.error < 0 && recorded.exec_error < 0);
	CHECK(stat(recorded.path, &about) < 0);
	record_guest("exit", "0", &recorded);
	CHECK_EQUAL(recorded.count, 1);
	trace_reader_close(recorded.reader);
	REQUIRE(stat(recorded.path, &earlier) == 0);
	record(missing, &recorded);
	CHECK(recorded.error < 0 && recorded.exec_error < 0);
	CHECK(stat(recorded.path, &about) == 0 && about.st_size == earlier.st_size);
	CHECK_EQUAL(about.st_mtim.tv_nsec, earlier.st_mtim.tv_nsec);
	error_clear();
	/* one that starts does */
	record_guest("exit", "0", &recorded);
	CHECK_EQUAL(recorded.count, 1);
	forget(&recorded);
}

/* What comes after it in this process (a report) is as it would be without. */
TEST(signals_and_limits_are_given_back)
{
	struct rlimit before = {0}, after = {0};
	struct sigaction action;
	struct recorded recorded;
	sigset_t mask;

	getrlimit(RLIMIT_NOFILE, &before);
	before.rlim_cur = before.rlim_cur > 200 ? 200 : before.rlim_cur;
	setrlimit(RLIMIT_NOFILE, &before);
	for (int i = 0; i < 2; i++) {
		char *missing[] = {(char *)"duet-no-such-program", NULL};

		if (i)
			record(missing, &recorded);
		else
			record_guest("exit", "0", &recorded);
		sigprocmask(SIG_SETMASK, NULL, &mask);
		CHECK(!sigismember(&mask, SIGINT) && !sigismember(&mask, SIGTERM) &&
		      !sigismember(&mask, SIGCHLD) && !sigismember(&mask, SIGQUIT));
		sigaction(SIGPIPE, NULL, &action);
		CHECK(action.sa_handler == SIG_DFL);
		sigaction(SIGXFSZ, NULL, &action);
		CHECK(action.sa_handler == SIG_DFL);
		getrlimit(RLIMIT_NOFILE, &after);
		CHECK_EQUAL(after.rlim_cur, before.rlim_cur);
		if (!i)
			forget(&recorded);
	}
	error_clear();
}

int main(int argc, char **argv)
{
	const int standard[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ};

	/* what the test runner ignores is not what is tested here */
	for (size_t i = 0; i < sizeof(standard) / sizeof(standard[0]); i++)
		signal(standard[i], SIG_DFL);
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	if (argc > 3 && strcmp(argv[1], "guest") == 0)
		return play_guest(argv);
	/* As root: only one may record all programs, of a network. */
	if (geteuid() == 0 && unshare(CLONE_NEWNET) < 0)
		printf("#   no network of its own: %s\n", strerror(errno));
	if (!mkdtemp(folder))
		return 1;
	RUN(status_of_the_program);
	RUN(status_after_an_exec);
	RUN(a_child_that_nobody_waits_for);
	RUN(a_program_that_does_not_start_costs_no_recording);
	RUN(a_program_that_comes_back_is_one_process);
	RUN(two_guests_are_one_process);
	RUN(a_guest_that_is_not_chosen);
	RUN(many_programs_at_once);
	RUN(a_content_that_is_read_in_two_rounds);
	RUN(a_flood_costs_nobody_else);
	RUN(signals_and_limits_are_given_back);
	rmdir(folder);
	return harness_end();
}
