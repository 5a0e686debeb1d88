/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_session.c - whole recordings of this program, which plays the guest itself
 */
#include <fcntl.h>
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

/* ---- the guest --------------------------------------------------------------------------------- */

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

static struct ring_region *attach(void)
{
	struct ring_region *region;
	struct session_hello hello = {SESSION_MAGIC, SESSION_VERSION, (uint32_t)getpid(), "opencl"};
	struct session_attached farewell = {SESSION_MAGIC, 128, 0};
	struct session_welcome welcome = {0};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *names = getenv(SESSION_VARIABLE);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%.*s", (int)strcspn(names, ","),
		 names);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    send(fd, &hello, sizeof(hello), 0) < 0)
		_exit(99);
	region = map_region(fd, &welcome);
	if (region == MAP_FAILED || welcome.ring_count == 0 ||
	    send(fd, &farewell, sizeof(farewell), 0) < 0)
		_exit(99);
	close(fd);
	return region;
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

	return atomic_load(&before->enabled) == 0 && atomic_load(&after->enabled) == 1 ? 0 : 97;
}

static int play_guest(char **argv)
{
	struct ring_region *region = attach();

	if (strcmp(argv[2], "back") == 0)
		return come_back(region);
	if (strcmp(argv[2], "fork") == 0)
		child_that_attaches();
	if (strcmp(argv[2], "kill") == 0)
		raise(SIGKILL);
	if (strcmp(argv[2], "exec") == 0)
		execl(self, self, "guest", "exit", "43", NULL);
	return atoi(argv[3]);
}

/* ---- recordings -------------------------------------------------------------------------------- */

struct recorded {
	char path[128];
	struct session_result result;
	int error, exec_error;
	struct trace_reader *reader;
	const struct event_process *processes;
	size_t count;
};

static void record(char *const *command, struct recorded *recorded)
{
	struct session_options options = {.command = command, .guest = "/no/guest.so"};

	*recorded = (struct recorded){0};
	snprintf(recorded->path, sizeof(recorded->path), "%s/f.duet", folder);
	options.output = recorded->path;
	REQUIRE(!collectors_choose(NULL, &options));
	recorded->error = session_run(&options, &recorded->result, &recorded->exec_error);
	if (recorded->error)
		return;
	REQUIRE(!trace_reader_open(recorded->path, &recorded->reader));
	recorded->count = trace_reader_things(recorded->reader, EVENT_PROCESS,
					      (const void **)&recorded->processes);
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
	CHECK_EQUAL(trace_reader_things(recorded.reader, EVENT_COLLECTOR, &(const void *){NULL}),
		    2);
	forget(&recorded);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	REQUIRE(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

TEST(a_program_that_does_not_start_costs_no_recording)
{
	char *missing[] = {(char *)"duet-no-such-program", NULL};
	struct recorded recorded;
	struct stat about;
	char path[128], text[16] = "";
	int fd;

	record(missing, &recorded);
	CHECK(recorded.error < 0 && recorded.exec_error < 0);
	CHECK(stat(recorded.path, &about) < 0);
	snprintf(path, sizeof(path), "%s/f.duet", folder);
	write_file(path, "earlier");
	record(missing, &recorded);
	CHECK(recorded.error < 0);
	fd = open(path, O_RDONLY);
	CHECK_EQUAL(read(fd, text, sizeof(text) - 1), 7);
	CHECK_TEXT(text, "earlier");
	close(fd);
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
	if (!mkdtemp(folder))
		return 1;
	RUN(status_of_the_program);
	RUN(status_after_an_exec);
	RUN(a_child_that_nobody_waits_for);
	RUN(a_program_that_does_not_start_costs_no_recording);
	RUN(a_program_that_comes_back_is_one_process);
	RUN(signals_and_limits_are_given_back);
	rmdir(folder);
	return harness_end();
}
