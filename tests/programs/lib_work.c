/* SPDX-License-Identifier: MIT
 *
 * tests/programs/lib_work.c - does with libduet what its arguments say, one after the other
 *
 *	open=FILE config=FILE join own		a handle; config, join and own stand before open
 *	start stop close recording		print what they return; start and stop also what
 *		duet_error says
 *	push=NAME pop mark=NAME count=VALUE	in domain "work"; the counter is "work.done"
 *	nameless				counters without a name
 *	begin=NAME end				a range that is started and stopped; end is the last
 *		one's
 *	threads=COUNT				so many, each 100 times "step", in it twice "inner",
 *		a mark and a counter
 *	move=COUNT				ranges that this thread starts and another stops
 *	env=NAME=VALUE				sets a variable of the environment
 *	fork parent				a child does what stands up to "parent", and exits
 *	exec					this program anew with what stands behind
 *	await until-idle			marks until somebody records, or nobody does
 *	cycles=COUNT				so many handles that are started, marked with and
 *		closed; prints how many mappings more
 *						there are then, if more than a few
 *	quiet					prints how many SIGCHLD came, what wait() says and
 *		which descriptors are open
 *	closed					closes 0 and 2
 *	reaper					makes the process one to which orphans come
 *	plugin=PATH				opens it, calls its plugin_work, closes it
 *	ready=WORD				prints it and waits for a line on stdin
 *	null					every function without a handle
 */
#include <dlfcn.h>
#include <duet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../mappings.h"

enum { STEPS = 100, INNERS = 2, MAX_THREADS = 64, DESCRIPTORS = 64, MAX_SECONDS = 120 };

static struct duet *duet;
static const char *config;
static uint32_t flags;
static uint64_t begun;
static volatile sig_atomic_t children;

static void print_result(const char *what, int result)
{
	const char *text = duet_error(duet);

	printf("%s %d%s%s\n", what, result, *text ? " " : "", text);
}

static void *take_steps(void *unused)
{
	(void)unused;
	for (int i = 0; i < STEPS; i++) {
		duet_range_push(duet, NULL, "step");
		for (int k = 0; k < INNERS; k++) {
			duet_range_push(duet, "other", "inner");
			duet_range_pop(duet, "other");
		}
		duet_mark(duet, NULL, "mark");
		duet_counter(duet, "steps.done", "events", i);
		duet_range_pop(duet, NULL);
	}
	return NULL;
}

static void run_threads(const char *value)
{
	pthread_t threads[MAX_THREADS];
	int count = atoi(value);

	for (int i = 0; i < count && i < MAX_THREADS; i++)
		if (pthread_create(&threads[i], NULL, take_steps, NULL))
			abort();
	for (int i = 0; i < count && i < MAX_THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void *stop_range(void *id)
{
	duet_range_stop(duet, (uint64_t)(uintptr_t)id);
	return NULL;
}

static void move_ranges(const char *value)
{
	for (int i = 0, count = atoi(value); i < count; i++) {
		pthread_t other;
		uint64_t id = duet_range_start(duet, NULL, "moved");

		if (pthread_create(&other, NULL, stop_range, (void *)(uintptr_t)id))
			abort();
		pthread_join(other, NULL);
	}
}

static void on_child(int signal)
{
	(void)signal;
	children++;
}

static void print_quiet(void)
{
	int result = (int)wait(NULL), error = errno;

	printf("quiet %d %d %s", (int)children, result, strerror(error));
	for (int i = 0; i < DESCRIPTORS; i++)
		if (fcntl(i, F_GETFD) >= 0)
			printf(" %d", i);
	printf("\n");
}

static void run_plugin(const char *path)
{
	void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*work)(void) = plugin ? (int (*)(void))dlsym(plugin, "plugin_work") : NULL;

	if (!work)
		printf("plugin: %s\n", dlerror());
	else
		printf("plugin %d\n", work());
	if (plugin)
		dlclose(plugin);
}

static void call_all_without(void)
{
	printf("null %d %d %d %s\n", duet_start(NULL), duet_stop(NULL), duet_is_recording(NULL),
	       duet_error(NULL));
	duet_range_push(NULL, NULL, "x");
	duet_range_pop(NULL, NULL);
	duet_range_stop(NULL, duet_range_start(NULL, NULL, "x") + 1);
	duet_mark(NULL, NULL, "x");
	duet_counter(NULL, "x", NULL, 1);
	duet_close(NULL);
}

static void count_nameless(void)
{
	duet_counter(duet, NULL, "events", 1);
	duet_counter(duet, "", NULL, 1);
}

static void await_recorder(int is_recording)
{
	while (duet_is_recording(duet) != is_recording) {
		duet_mark(duet, "work", "awaited");
		usleep(1000);
	}
}

static void run_cycles(const char *value)
{
	int before = 0, more;

	for (int i = 0, count = atoi(value); i < count; i++) {
		struct duet *handle = duet_open(NULL, NULL, 0);

		duet_start(handle);
		duet_mark(handle, "work", "cycle");
		duet_close(handle);
		before = i ? before : count_mappings();
	}
	more = count_mappings() - before;
	printf("mappings %d\n", more > 8 ? more : 0);
}

static void open_handle(const char *output)
{
	duet = duet_open(config, *output ? output : NULL, flags);
	if (!duet)
		printf("open: %s\n", strerror(errno));
}

static void wait_for_line(const char *word)
{
	char line[64];

	printf("%s\n", word);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		exit(3);
}

/* Returns where the child's part ends. */
static char **run_child(char **at)
{
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0)
		return at;
	while (*at && strcmp(*at, "parent") != 0)
		at++;
	waitpid(child, NULL, 0);
	children = 0;
	return at;
}

static void end_child(void)
{
	fflush(stdout);
	_exit(0);
}

static int is(const char *word, const char *name, const char **ret_value)
{
	size_t length = strlen(name);

	if (strncmp(word, name, length) != 0 || (word[length] && word[length] != '='))
		return 0;
	*ret_value = word[length] ? word + length + 1 : "";
	return 1;
}

static int do_handle(const char *word, const char **value)
{
	if (is(word, "config", value))
		config = *value;
	else if (is(word, "join", value))
		flags |= DUET_JOIN;
	else if (is(word, "own", value))
		flags |= DUET_OWN;
	else if (is(word, "open", value))
		open_handle(*value);
	else if (is(word, "start", value))
		print_result("start", duet_start(duet));
	else if (is(word, "stop", value))
		print_result("stop", duet_stop(duet));
	else if (is(word, "recording", value))
		printf("recording %d\n", duet_is_recording(duet));
	else if (is(word, "env", value))
		putenv((char *)(uintptr_t)*value);
	else if (is(word, "close", value))
		duet_close(duet);
	else
		return 0;
	return 1;
}

static int do_ranges(const char *word, const char **value)
{
	if (is(word, "push", value))
		duet_range_push(duet, "work", *value);
	else if (is(word, "pop", value))
		duet_range_pop(duet, "work");
	else if (is(word, "mark", value))
		duet_mark(duet, "work", *value);
	else if (is(word, "count", value))
		duet_counter(duet, "work.done", "events", atoll(*value));
	else if (is(word, "nameless", value))
		count_nameless();
	else if (is(word, "begin", value))
		begun = duet_range_start(duet, "work", *value);
	else if (is(word, "end", value))
		duet_range_stop(duet, begun);
	else if (is(word, "threads", value))
		run_threads(*value);
	else if (is(word, "move", value))
		move_ranges(*value);
	else
		return 0;
	return 1;
}

static int do_process(const char *word, const char **value)
{
	if (is(word, "quiet", value)) {
		print_quiet();
	} else if (is(word, "closed", value)) {
		close(0);
		close(2);
	} else if (is(word, "reaper", value)) {
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	} else if (is(word, "await", value)) {
		await_recorder(1);
	} else if (is(word, "until-idle", value)) {
		await_recorder(0);
	} else if (is(word, "cycles", value)) {
		run_cycles(*value);
	} else if (is(word, "plugin", value)) {
		run_plugin(*value);
	} else if (is(word, "ready", value)) {
		wait_for_line(*value);
	} else if (is(word, "null", value)) {
		call_all_without();
	} else {
		return 0;
	}
	return 1;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_child};
	const char *value;
	char **at = argv + 1;
	int is_child = 0;

	(void)argc;
	alarm(MAX_SECONDS); /* nobody waits for it any more */
	sigaction(SIGCHLD, &action, NULL);
	for (; *at; at++) {
		if (is(*at, "fork", &value)) {
			char **parent = run_child(at);

			is_child = parent == at;
			at = parent;
		} else if (is(*at, "parent", &value) && is_child) {
			end_child();
		} else if (is(*at, "exec", &value)) {
			fflush(stdout);
			at[0] = argv[0];
			execv(argv[0], at);
		} else if (!do_handle(*at, &value) && !do_ranges(*at, &value) &&
			   !do_process(*at, &value)) {
			printf("unknown: %s\n", *at);
		}
	}
	return 0;
}
