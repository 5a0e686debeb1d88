/* SPDX-License-Identifier: MIT
 *
 * tests/programs/endpoints.c - the agent's endpoints without an agent
 *
 *	endpoints CONFIG RECORDING [RECORDER-PID [BEGIN-NS [stay]]]
 *
 * Prints "port N" and its messages. Ends with the recording, unless it shall stay, or after
 * SIGTERM. ENDPOINTS_PROFILE_NS is the time limit of making a profile. ENDPOINTS_CLOCK names a file
 *with the number of ns that CLOCK_REALTIME is set forwards.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/endpoints/endpoints.h"
#include "base/error.h"
#include "config/config.h"

static void print_port(void *context, uint16_t port)
{
	(void)context;
	printf("port %u\n", port);
	fflush(stdout);
}

static void print_message(void *context, const char *text)
{
	(void)context;
	printf("message %s\n", text);
	fflush(stdout);
}

static bool read_spool(void *context, struct endpoints_spool *ret_spool)
{
	(void)context;
	*ret_spool = (struct endpoints_spool){.files = 7,
					      .bytes = 7654321,
					      .max_bytes = 10000000,
					      .added = 11,
					      .dropped = 4,
					      .dropped_bytes = 4321,
					      .skipped = 2,
					      .skipped_ns = 1500000000,
					      .start_ns = 1500000000000000000};
	return true;
}

/* The clock of the machine, as if it was set. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	const int error = (int)syscall(SYS_clock_gettime, clock, now);
	const char *path = getenv("ENDPOINTS_CLOCK");
	FILE *file = error || clock != CLOCK_REALTIME || !path ? NULL : fopen(path, "re");
	long long step_ns;

	if (!file)
		return error;
	if (fscanf(file, "%lld", &step_ns) == 1) {
		step_ns += now->tv_sec * 1000000000LL + now->tv_nsec;
		*now = (struct timespec){step_ns / 1000000000, step_ns % 1000000000};
	}
	fclose(file);
	return 0;
}

static int read_options(const char *path, struct endpoints_options *options)
{
	struct config_report report = {.count = 0};
	struct config *config = NULL;
	int error = config_open(path, &report, &config);

	if (error && report.count)
		fprintf(stderr, "%s\n", report.problems[0].text);
	if (!error)
		error = endpoints_options_read(options, config, path);
	config_close(config);
	return error;
}

/* AddressSanitizer reserves terabytes. */
#ifdef __SANITIZE_ADDRESS__
#define PROFILE_MEMORY UINT64_MAX
#else
#define PROFILE_MEMORY 0
#endif

int main(int argc, char **argv)
{
	struct endpoints_hooks hooks = {.version = "1.2.3",
					.drain_ns = UINT64_C(20000000000),
					.profile_memory = PROFILE_MEMORY,
					.read_spool = read_spool,
					.on_listen = print_port,
					.on_message = print_message};
	const char *profile_ns = getenv("ENDPOINTS_PROFILE_NS");
	struct endpoints_options options;
	int error;

	if (profile_ns)
		hooks.profile_ns = strtoull(profile_ns, NULL, 10);
	if (argc < 3)
		return 2;
	if (argc > 3)
		hooks.recorder_pid = (pid_t)strtol(argv[3], NULL, 10);
	if (argc > 4)
		hooks.begin_ns = strtoull(argv[4], NULL, 10);
	hooks.ends_with_file = argc <= 5;
	error = endpoints_options_init(&options);
	if (!error)
		error = read_options(argv[1], &options);
	if (!error)
		error = endpoints_run(&options, &hooks, argv[2], -1);
	if (error)
		fprintf(stderr, "%s\n", error_text());
	endpoints_options_fini(&options);
	return error ? 1 : 0;
}
