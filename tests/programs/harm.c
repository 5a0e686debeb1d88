/* SPDX-License-Identifier: MIT
 *
 * tests/programs/harm.c - programs in which a profiler could do harm, one per mode
 *
 *	harm MODE [ARGUMENT…]
 *
 * Everything a mode prints must be the same with and without a profiler. Modes that use OpenCL do
 * so through opencl_work.h; `steps=N` is how many write-kernel-read steps they make.
 */
#include "opencl_work.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void work(int steps)
{
	struct work w = {0};

	work_open(&w);
	for (int i = 0; i < steps; i++)
		work_step(&w);
	work_close(&w);
	printf("did %d steps\n", steps);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- state: what a program can see of itself ---- */

static void print_descriptors(void)
{
	for (int fd = 0; fd < 4096; fd++) {
		char path[64], target[512];
		ssize_t length;

		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		length = readlink(path, target, sizeof target - 1);
		if (length < 0)
			continue;
		target[length] = 0;
		/* the three standard ones are the caller's; numbers of pipes and sockets vary */
		target[strcspn(target, "[")] = 0;
		printf("descriptor %d %s flags %d\n", fd, fd < 3 ? "standard" : target,
		       fcntl(fd, F_GETFD));
	}
}

static void print_signals(void)
{
	sigset_t mask;
	stack_t alternate;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	sigaltstack(NULL, &alternate);
	for (int i = 1; i < NSIG; i++) {
		struct sigaction action;

		if (sigismember(&mask, i) == 1)
			printf("signal %d blocked\n", i);
		if (sigaction(i, NULL, &action) == 0 && action.sa_handler != SIG_DFL)
			printf("signal %d %s flags %d\n", i,
			       action.sa_handler == SIG_IGN ? "ignored" : "handled",
			       action.sa_flags);
	}
	printf("alternate stack %s\n", alternate.ss_flags & SS_DISABLE ? "none" : "set");
}

static int thread_count(void)
{
	DIR *directory = opendir("/proc/self/task");
	int count = 0;

	for (struct dirent *entry; directory && (entry = readdir(directory));)
		count += entry->d_name[0] != '.';
	if (directory)
		closedir(directory);
	return count;
}

static void print_process(void)
{
	static const int limits[] = {RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_AS,      RLIMIT_CORE,
				     RLIMIT_STACK,  RLIMIT_DATA,  RLIMIT_MEMLOCK, RLIMIT_NPROC};
	char directory[4096];
	mode_t mask = umask(0);

	umask(mask);
	printf("threads %d\n", thread_count());
	printf("umask %03o\n", (unsigned int)mask);
	printf("directory %s\n", getcwd(directory, sizeof directory) ? directory : "?");
	printf("own group %d session leader %d\n", getpgrp() == getpid(), getsid(0) == getpid());
	printf("no new privileges %d dumpable %d subreaper %d\n",
	       prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), prctl(PR_GET_DUMPABLE), ({
		       int value = -1;
		       prctl(PR_GET_CHILD_SUBREAPER, &value);
		       value;
	       }));
	printf("priority %d\n", getpriority(PRIO_PROCESS, 0));
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		struct rlimit limit;

		getrlimit(limits[i], &limit);
		printf("limit %d %lld %lld\n", limits[i], (long long)limit.rlim_cur,
		       (long long)limit.rlim_max);
	}
}

static void print_state(const char *when)
{
	printf("-- %s\n", when);
	print_descriptors();
	print_signals();
	print_process();
}

static int mode_state(int argc, char **argv)
{
	struct work w = {0};

	print_state("at start");
	errno = 4242;
	work_open(&w);
	print_state("after the first calls");
	for (int i = 0; i < 50; i++)
		work_step(&w);
	print_state("after work");
	work_close(&w);
	print_state("at end");
	return 5;
}

/* ---- endings ---- */

static int mode_work(int argc, char **argv)
{
	work(argc > 0 ? atoi(argv[0]) : 20);
	fprintf(stderr, "this goes to stderr\n");
	return argc > 1 ? atoi(argv[1]) : 0;
}

static int mode_signal(int argc, char **argv)
{
	work(5);
	fflush(stdout);
	raise(argc > 0 ? atoi(argv[0]) : SIGTERM);
	return 1;
}

static int mode_abort(int argc, char **argv)
{
	struct rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none);
	work(5);
	fflush(stdout);
	abort();
}

/* Reads stdin to its end: a profiler must not have eaten of it. */
static int mode_cat(int argc, char **argv)
{
	char line[256];

	work(2);
	while (fgets(line, sizeof line, stdin))
		fputs(line, stdout);
	return 0;
}

/* ---- processes ---- */

static int status_of(pid_t child)
{
	int status = -1;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* Many short children, some with OpenCL of their own. The parent never uses it before. */
static int mode_forks(int argc, char **argv)
{
	int count = argc > 0 ? atoi(argv[0]) : 20;

	for (int i = 0; i < count; i++) {
		pid_t child;

		fflush(stdout);
		child = fork();
		if (child == 0) {
			if (i % 10 == 0) {
				work(3);
				fflush(stdout);
			}
			_exit(i % 100);
		}
		printf("child %d status %d\n", i, status_of(child));
	}
	work(3);
	return 0;
}

/* After OpenCL was used: a child that does not, and one that is replaced by another program. */
static int mode_fork_exec(int argc, char **argv)
{
	struct work w = {0};
	pid_t child;

	work_open(&w);
	work_step(&w);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		print_signals();
		fflush(stdout);
		_exit(9);
	}
	printf("child status %d\n", status_of(child));
	fflush(stdout);
	child = fork();
	if (child == 0) {
		execl("/proc/self/exe", "harm", "state", (char *)NULL);
		_exit(127);
	}
	printf("child status %d\n", status_of(child));
	work_step(&w);
	work_close(&w);
	return 0;
}

static int mode_vfork(int argc, char **argv)
{
	struct work w = {0};

	work_open(&w);
	for (int i = 0; i < 5; i++) {
		pid_t child;

		work_step(&w);
		fflush(stdout);
		child = vfork();
		if (child == 0) {
			execl("/bin/echo", "echo", "from a child", (char *)NULL);
			_exit(127);
		}
		printf("child status %d\n", status_of(child));
	}
	work_close(&w);
	return 0;
}

/* The process becomes another program with OpenCL: harm work 7 6. */
static int mode_exec(int argc, char **argv)
{
	work(3);
	fflush(stdout);
	execl("/proc/self/exe", "harm", "work", "7", "6", (char *)NULL);
	return 127;
}

/* The child outlives the parent and still writes; the caller waits for its end of file. */
static int mode_orphan(int argc, char **argv)
{
	fflush(stdout);
	if (fork() == 0) {
		usleep(300000);
		work(5);
		fflush(stdout);
		_exit(0);
	}
	printf("parent ends\n");
	return 4;
}

/* ---- signals while it runs ---- */

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
	caught = number;
}

/* Steps for some seconds: "run SECONDS [catch]". With catch, SIGINT and SIGTERM end it politely. */
static int mode_run(int argc, char **argv)
{
	double end_s = now_s() + (argc > 0 ? atof(argv[0]) : 1.0);
	bool catches = argc > 1 && strcmp(argv[1], "catch") == 0;
	struct work w = {0};

	if (catches) {
		struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

		sigaction(SIGINT, &action, NULL);
		sigaction(SIGTERM, &action, NULL);
	}
	work_open(&w);
	printf("running\n");
	fflush(stdout);
	while (now_s() < end_s && !caught) {
		work_step(&w);
		usleep(500);
	}
	work_close(&w);
	if (caught)
		printf("caught signal %d\n", (int)caught);
	printf("ended\n");
	return caught ? 42 : 0;
}

/* Like run, but makes everything anew every quarter of a second, as a program with many short
 * jobs. */
static int mode_renew(int argc, char **argv)
{
	double end_s = now_s() + (argc > 0 ? atof(argv[0]) : 1.0);

	printf("running\n");
	fflush(stdout);
	while (now_s() < end_s) {
		struct work w = {0};

		work_open(&w);
		for (int i = 0; i < 10; i++) {
			work_step(&w);
			usleep(25000);
		}
		work_close(&w);
	}
	printf("ended\n");
	return 0;
}

/* As many calls as it can in some seconds, so that rings fill and files grow. */
static int mode_flood(int argc, char **argv)
{
	double end_s = now_s() + (argc > 0 ? atof(argv[0]) : 1.0);
	struct work w = {0};
	cl_uint count;

	work_open(&w);
	printf("running\n");
	fflush(stdout);
	while (now_s() < end_s) {
		for (int i = 0; i < 10000; i++)
			clGetPlatformIDs(0, NULL, &count);
		work_step(&w);
	}
	work_close(&w);
	printf("ended\n");
	return 0;
}

static atomic_int nested_calls;

static void on_alarm(int number)
{
	cl_uint count;
	int saved = errno;

	clGetPlatformIDs(0, NULL, &count);
	nested_calls++;
	errno = saved;
}

/* A signal handler that calls the interface while the thread is inside it. */
static int mode_nested(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct itimerval every = {{0, 500}, {0, 500}};
	double end_s = now_s() + 1.0;
	cl_uint count;

	clGetPlatformIDs(0, NULL, &count);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	while (now_s() < end_s)
		clGetPlatformIDs(0, NULL, &count);
	printf("nested calls %s\n", nested_calls > 0 ? "made" : "missing");
	return 0;
}

/* ---- system call filters ---- */

#define DENY(number, action) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, action)

static void install_filter(struct sock_filter *rows, unsigned short count)
{
	struct sock_fprog program = {.len = count, .filter = rows};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &program)) {
		printf("no filter could be installed\n");
		exit(77);
	}
}

/* What containers refuse: perf_event_open, bpf and process_vm_readv give EPERM. */
static int mode_seccomp_perf(int argc, char **argv)
{
	struct sock_filter rows[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		DENY(SYS_perf_event_open, SECCOMP_RET_ERRNO | EPERM),
		DENY(SYS_bpf, SECCOMP_RET_ERRNO | EPERM),
		DENY(SYS_ptrace, SECCOMP_RET_ERRNO | EPERM),
		DENY(SYS_process_vm_readv, SECCOMP_RET_ERRNO | EPERM),
		DENY(SYS_memfd_create, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};

	install_filter(rows, sizeof rows / sizeof *rows);
	work(20);
	return 3;
}

/* A sandbox in which opening a socket is death. */
static int mode_seccomp_socket(int argc, char **argv)
{
	struct sock_filter rows[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		DENY(SYS_socket, SECCOMP_RET_KILL_PROCESS),
		DENY(SYS_socketpair, SECCOMP_RET_KILL_PROCESS),
		DENY(SYS_connect, SECCOMP_RET_KILL_PROCESS),
		DENY(SYS_perf_event_open, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};

	install_filter(rows, sizeof rows / sizeof *rows);
	work(20);
	return 3;
}

/* The same, but the sandbox closes after OpenCL is in use, as browsers' do. */
static int mode_seccomp_late(int argc, char **argv)
{
	struct sock_filter rows[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		DENY(SYS_socket, SECCOMP_RET_KILL_PROCESS),
		DENY(SYS_recvmsg, SECCOMP_RET_KILL_PROCESS),
		DENY(SYS_sendmsg, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct work w = {0};

	work_open(&w);
	work_step(&w);
	install_filter(rows, sizeof rows / sizeof *rows);
	for (int i = 0; i < 20; i++)
		work_step(&w);
	work_close(&w);
	printf("did 20 steps\n");
	return 3;
}

/* ---- rights ---- */

static int mode_identity(int argc, char **argv)
{
	printf("real %d effective %d\n", (int)getuid(), (int)geteuid());
	work(10);
	return 6;
}

/* ---- a hostile program ---- */

static unsigned int random_next(unsigned int *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* Overwrites one mapping, and says whether it could. */
static bool scribble(const char *line, unsigned int *state)
{
	unsigned long begin, end;
	char rights[8];

	if (sscanf(line, "%lx-%lx %7s", &begin, &end, rights) != 3 || rights[1] != 'w' ||
	    rights[3] != 's')
		return false;
	for (unsigned long at = begin; at + 64 <= end; at += end - begin > (1ul << 24) ? 4096 : 64)
		for (int i = 0; i < 16; i++)
			((volatile unsigned int *)at)[i] = random_next(state);
	return true;
}

/* "scribble [STEPS]": fills the shared memory of a profiler with random bytes between its steps. */
static int mode_scribble(int argc, char **argv)
{
	int steps = argc > 0 ? atoi(argv[0]) : 50, hits = 0;
	unsigned int state = 88172645;
	struct work w = {0};

	work_open(&w);
	for (int i = 0; i < steps; i++) {
		char line[1024];
		FILE *maps;

		work_step(&w);
		maps = i % 5 == 4 ? fopen("/proc/self/maps", "r") : NULL;
		while (maps && fgets(line, sizeof line, maps))
			if (strstr(line, "duet"))
				hits += scribble(line, &state);
		if (maps)
			fclose(maps);
	}
	work_close(&w);
	printf("did %d steps\n", steps);
	fprintf(stderr, "scribbled over %d mappings\n", hits);
	return 0;
}

/* Closes every descriptor but the standard ones, as daemons do, and goes on. */
static int mode_close_all(int argc, char **argv)
{
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	work(5);
	print_descriptors();
	return 0;
}

static int mode_time(int argc, char **argv)
{
	double begin_s = now_s();

	work(argc > 0 ? atoi(argv[0]) : 200);
	fprintf(stderr, "took %.3f s\n", now_s() - begin_s);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
	} modes[] = {{"state", mode_state},
		     {"work", mode_work},
		     {"signal", mode_signal},
		     {"abort", mode_abort},
		     {"cat", mode_cat},
		     {"forks", mode_forks},
		     {"fork-exec", mode_fork_exec},
		     {"vfork", mode_vfork},
		     {"exec", mode_exec},
		     {"orphan", mode_orphan},
		     {"run", mode_run},
		     {"renew", mode_renew},
		     {"flood", mode_flood},
		     {"nested", mode_nested},
		     {"seccomp-perf", mode_seccomp_perf},
		     {"seccomp-socket", mode_seccomp_socket},
		     {"seccomp-late", mode_seccomp_late},
		     {"identity", mode_identity},
		     {"scribble", mode_scribble},
		     {"close-all", mode_close_all},
		     {"time", mode_time}};

	for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
		if (strcmp(argv[1], modes[i].name) == 0)
			return modes[i].run(argc - 2, argv + 2);
	fprintf(stderr, "harm: no such mode\n");
	return 2;
}
