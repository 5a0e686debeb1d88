/* SPDX-License-Identifier: MIT
 *
 * tests/trees/tree.c - random trees of processes that fork, exec and exit at random points
 *
 *	tree FIRST COUNT      the trees of COUNT seeds; prints a line for each: SEED
 *	                      NUMBER-OF-RECORDS HASH
 *	tree node STATE STEP DEPTH
 *	                      what a process of a tree executes; records go to file descriptor
 *	                          RECORDS
 *
 * Runs in: a process and its descendants. Each process writes a record for what it saw: how its
 * children ended, what a call returned. The sum of all records is the hash of the tree, so that
 * their order does not count.
 *
 * Everything depends on the seed alone, never on time: a process ends itself, or waits for the
 * signal of its parent.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define RECORDS    900
#define MAX_DEPTH  3
#define MAX_STEPS  5
#define PATIENCE_S 120

extern char **environ;

struct node {
	uint64_t state; /* of the generator */
	unsigned int step;
	unsigned int depth;
};

static void run_node(struct node *node) __attribute__((noreturn));

/* splitmix64 */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

static unsigned int node_pick(struct node *node, unsigned int count)
{
	node->state = mix(node->state);
	return (unsigned int)(node->state >> 33) % count;
}

/* One write: the kernel keeps writes to a pipe whole. */
static void write_record(const struct node *node, unsigned int what, int value)
{
	uint64_t record = mix(mix(node->state + what) + (uint64_t)(unsigned int)value);

	while (write(RECORDS, &record, sizeof(record)) < 0 && errno == EINTR)
		;
}

static void wait_for(const struct node *node, pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno == EINTR)
			continue;
		status = -errno;
		break;
	}
	write_record(node, 1, status);
}

/* The sum of the records of children does not depend on which ends first. */
static void wait_for_all(const struct node *node)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, 0)) > 0 || errno == EINTR) {
		if (pid > 0)
			write_record(node, 2, status);
	}
}

static struct node node_child(struct node *node)
{
	struct node child = {.depth = node->depth + 1};

	node_pick(node, 1);
	child.state = mix(node->state ^ 0x6368696c64);
	return child;
}

/* The arguments of `tree node`, and room for their text. */
struct arguments {
	char text[3][24];
	char *list[6];
};

static void arguments_format(struct arguments *arguments, const struct node *node)
{
	char *list[6] = {"tree", "node", arguments->text[0], arguments->text[1], arguments->text[2],
			 NULL};

	snprintf(arguments->text[0], sizeof(arguments->text[0]), "%llu",
		 (unsigned long long)node->state);
	snprintf(arguments->text[1], sizeof(arguments->text[1]), "%u", node->step);
	snprintf(arguments->text[2], sizeof(arguments->text[2]), "%u", node->depth);
	memcpy(arguments->list, list, sizeof(list));
}

static void exec_node(const struct node *node)
{
	struct arguments arguments;

	arguments_format(&arguments, node);
	execve("/proc/self/exe", arguments.list, environ);
	write_record(node, 3, errno);
	_exit(99);
}

static pid_t fork_node(struct node *node)
{
	struct node child = node_child(node);
	pid_t pid = fork();

	if (pid == 0)
		run_node(&child);
	if (pid < 0)
		write_record(node, 4, errno);
	return pid;
}

/* Steps. The process goes on behind each of them, if it still is. */

static void step_fork_and_wait(struct node *node)
{
	wait_for(node, fork_node(node));
}

static void step_fork(struct node *node)
{
	fork_node(node);
}

static void step_exec(struct node *node)
{
	exec_node(node);
}

static void step_exec_nothing(struct node *node)
{
	char *arguments[] = {"nothing", NULL};

	execv("/nonexistent/nothing", arguments);
	write_record(node, 5, errno);
}

static void step_vfork_exec(struct node *node)
{
	struct node child = node_child(node);
	struct arguments arguments;
	pid_t pid;

	arguments_format(&arguments, &child);
	pid = vfork();
	if (pid == 0) {
		execve("/proc/self/exe", arguments.list, environ);
		_exit(98);
	}
	wait_for(node, pid);
}

static void step_spawn(struct node *node)
{
	struct node child = node_child(node);
	struct arguments arguments;
	pid_t pid = -1;

	arguments_format(&arguments, &child);
	write_record(node, 6,
		     posix_spawn(&pid, "/proc/self/exe", NULL, NULL, arguments.list, environ));
	wait_for(node, pid);
}

static void step_kill(struct node *node)
{
	static const int signals[] = {SIGKILL, SIGTERM, SIGUSR1, SIGSEGV, SIGALRM};
	int number = signals[node_pick(node, 5)];
	pid_t pid = fork();

	if (pid == 0) {
		for (;;)
			pause();
	}
	kill(pid, number);
	wait_for(node, pid);
}

static void step_shell(struct node *node)
{
	char command[32];
	int status;

	snprintf(command, sizeof(command), "exit %u", node_pick(node, 200));
	status = system(command);
	write_record(node, 7, status);
}

static void step_daemon(struct node *node)
{
	struct node child = node_child(node);
	pid_t pid = fork();

	if (pid == 0) {
		setsid();
		if (fork())
			_exit(0);
		for (int i = 3; i < RECORDS; i++)
			close(i);
		run_node(&child);
	}
	wait_for(node, pid);
}

/* The first call makes OpenCL's loader load its layers: duet's guest, where the tree is
 * recorded. */
static void step_opencl(struct node *node)
{
	void *library = dlopen("libOpenCL.so.1", RTLD_NOW);
	int (*get_platforms)(unsigned int, void *, unsigned int *);
	unsigned int count = 0;

	if (library == NULL)
		return;
	get_platforms =
		(int (*)(unsigned int, void *, unsigned int *))dlsym(library, "clGetPlatformIDs");
	if (get_platforms)
		write_record(node, 8, get_platforms(0, NULL, &count));
	write_record(node, 9, (int)count);
}

static void *thread_sleep(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void *thread_fork(void *node)
{
	step_fork_and_wait(node);
	return NULL;
}

static void *thread_exec(void *node)
{
	exec_node(node);
	return NULL;
}

static void *thread_exit(void *node)
{
	_exit((int)node_pick(node, 100));
	return NULL;
}

static void step_thread(struct node *node, void *(*function)(void *))
{
	pthread_t thread;
	int error = pthread_create(&thread, NULL, function, node);

	if (error) {
		write_record(node, 10, error);
		return;
	}
	if (function == thread_sleep)
		pthread_detach(thread);
	else
		pthread_join(thread, NULL);
}

static void step_thread_sleep(struct node *node)
{
	step_thread(node, thread_sleep);
}

static void step_thread_fork(struct node *node)
{
	step_thread(node, thread_fork);
}

static void step_thread_exec(struct node *node)
{
	step_thread(node, thread_exec);
}

static void step_thread_exit(struct node *node)
{
	step_thread(node, thread_exit);
}

/* The number is how often a step is chosen. */
static const struct {
	void (*run)(struct node *node);
	unsigned int weight;
	int has_child;
} steps[] = {
	{step_fork_and_wait, 6, 1}, {step_fork, 6, 1},         {step_exec, 4, 0},
	{step_exec_nothing, 1, 0},  {step_vfork_exec, 2, 1},   {step_spawn, 2, 1},
	{step_kill, 2, 0},          {step_shell, 1, 0},        {step_daemon, 1, 1},
	{step_opencl, 3, 0},        {step_thread_sleep, 2, 0}, {step_thread_fork, 2, 1},
	{step_thread_exec, 1, 0},   {step_thread_exit, 1, 0},
};
#define STEP_COUNT (sizeof(steps) / sizeof(steps[0]))
#define WEIGHTS    34

static void take_step(struct node *node)
{
	unsigned int at = node_pick(node, WEIGHTS), i = 0;

	while (i + 1 < STEP_COUNT && at >= steps[i].weight)
		at -= steps[i++].weight;
	if (!steps[i].has_child || node->depth < MAX_DEPTH)
		steps[i].run(node);
}

static void end_by_signal(int number)
{
	signal(number, SIG_DFL);
	raise(number);
	_exit(97);
}

static void end_node(struct node *node)
{
	int status = (int)node_pick(node, 256);

	switch (node_pick(node, 10)) {
	case 0:
		abort();
	case 1:
		end_by_signal(SIGKILL);
		break;
	case 2:
		*(volatile int *)(uintptr_t)(node->state ? 0 : 1) = 1;
		break;
	case 3:
		end_by_signal(SIGTERM);
		break;
	case 4:
	case 5:
	case 6:
		_exit(status);
	default:
		exit(status);
	}
	_exit(96);
}

static void run_node(struct node *node)
{
	unsigned int end = node_pick(node, MAX_STEPS + 1);

	/* What is left of a tree that hangs ends here. exec keeps the alarm. */
	alarm(PATIENCE_S);
	while (node->step++ < end)
		take_step(node);
	if (node_pick(node, 3))
		wait_for_all(node);
	end_node(node);
	_exit(95);
}

static void run_argument_node(char **argv)
{
	struct node node = {.state = strtoull(argv[2], NULL, 10),
			    .step = (unsigned int)atoi(argv[3]),
			    .depth = (unsigned int)atoi(argv[4])};

	run_node(&node);
}

/* Adds records up until the last process of the tree has closed the pipe. */
static unsigned int read_records(int file, uint64_t *ret_sum)
{
	unsigned int count = 0;
	uint64_t record;
	ssize_t size;

	while ((size = read(file, &record, sizeof(record))) != 0) {
		if (size < 0 && errno != EINTR)
			break;
		if (size == sizeof(record)) {
			*ret_sum += record;
			count++;
		}
	}
	return count;
}

static void run_tree(uint64_t seed)
{
	struct node root = {.state = mix(seed)};
	uint64_t sum = 0;
	unsigned int count;
	int ends[2], status = 0;
	pid_t pid;

	if (pipe(ends)) {
		perror("tree: pipe");
		exit(1);
	}
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		dup2(ends[1], RECORDS);
		close(ends[1]);
		run_node(&root);
	}
	close(ends[1]);
	count = read_records(ends[0], &sum);
	close(ends[0]);
	waitpid(pid, &status, 0);
	printf("%llu %u %016llx %d\n", (unsigned long long)seed, count, (unsigned long long)sum,
	       status);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct rlimit no_core = {0, 0};
	unsigned long long first, count;

	if (argc == 5 && strcmp(argv[1], "node") == 0)
		run_argument_node(argv);
	if (argc != 3)
		return 2;
	setrlimit(RLIMIT_CORE, &no_core);
	first = strtoull(argv[1], NULL, 10);
	count = strtoull(argv[2], NULL, 10);
	for (unsigned long long i = 0; i < count; i++)
		run_tree(first + i);
	return 0;
}
