/* SPDX-License-Identifier: MIT
 *
 * tests/vm/probe.c - what a kernel says to each program of an object, and what the programs then
 * tell
 *
 *	probe OBJECT.bpf.o [PROGRAM...]
 *
 * Runs in:  a virtual machine, as root
 * Gets:     an object whose map `records` holds what event/drm_record.h says, where there is a
 *           PROGRAM to run
 * Gives:    lines, read by tests/vm/check_vm.py:
 *		program NAME runs WAY | absent | refused REASON; WAY: how it is attached, as its
 *		    section has it
 *		together COUNT runs | refused REASON
 *		record KIND TIME_NS TGID TID CONTEXT NUMBER THREAD [DRIVER TIMELINE], while each
 *		    PROGRAM ran
 *		job QUEUED_NS RUN_NS DONE_NS TGID TID FLAGS CONTEXT NUMBER CLIENT THREAD DRIVER
 *		    DEVICE RING, as collect/drm/jobs.c makes them of it
 * Fails:    exits 1 where the object is none, or a PROGRAM failed
 * Why:      where not all programs are taken together each is loaded and attached alone: in an
 *           object the first that a kernel refuses hides the others
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/drm/jobs.h"

enum { MAX_PROGRAMS = 128, REASON_BYTES = 200 };

struct probe {
	const char *path;
	char names[MAX_PROGRAMS][64];
	char ways[MAX_PROGRAMS][16]; /* of their sections */
	bool runs[MAX_PROGRAMS];
	size_t count;
};

/* ---- what libbpf says ------------------------------------------------------------------------ */

static char reason[REASON_BYTES];

/* The verifier's log ends with counts; the line before them says why. */
static int keep_reason(enum libbpf_print_level level, const char *format, va_list arguments)
{
	static char text[1 << 16];
	char *line, *rest = text;

	if (level == LIBBPF_DEBUG)
		return 0;
	vsnprintf(text, sizeof(text), format, arguments);
	if (reason[0] && !strstr(text, "BEGIN PROG LOAD LOG"))
		return 0;
	while ((line = strsep(&rest, "\n")))
		if (*line && strncmp(line, "processed ", 10) != 0 && strncmp(line, "-- ", 3) != 0)
			snprintf(reason, sizeof(reason), "%s", line);
	return 0;
}

/* ---- loading --------------------------------------------------------------------------------- */

static bool is_chosen(const struct probe *probe, size_t only, size_t i)
{
	return only == MAX_PROGRAMS ? probe->runs[i] : i == only;
}

static int attach(struct bpf_object *object)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
	{
		/* a syscall program is called; the others are attached to an event or a file of a
		 * program, which is there only when one is recorded */
		if (bpf_program__type(program) == BPF_PROG_TYPE_SYSCALL ||
		    bpf_program__type(program) == BPF_PROG_TYPE_PERF_EVENT ||
		    strncmp(bpf_program__section_name(program), "uprobe", strlen("uprobe")) == 0)
			continue;
		if (bpf_program__autoload(program) && !bpf_program__attach(program))
			return -errno;
	}
	return 0;
}

/* only: one program, or MAX_PROGRAMS: all that run alone. NULL: refused, and why is in
 * `reason`. */
static struct bpf_object *load(const struct probe *probe, size_t only, int *ret_error)
{
	struct bpf_object *object = bpf_object__open(probe->path);
	struct bpf_program *program;
	size_t i = 0;

	reason[0] = '\0';
	if (!object) {
		*ret_error = -errno;
		return NULL;
	}
	bpf_object__for_each_program(program, object)
		bpf_program__set_autoload(program, is_chosen(probe, only, i++));
	*ret_error = bpf_object__load(object);
	if (!*ret_error)
		*ret_error = attach(object);
	if (!*ret_error)
		return object;
	bpf_object__close(object);
	return NULL;
}

static int list_programs(struct probe *probe)
{
	struct bpf_object *object = bpf_object__open(probe->path);
	struct bpf_program *program;

	if (!object)
		return -errno;
	bpf_object__for_each_program(program, object)
	{
		if (probe->count == MAX_PROGRAMS)
			break;
		snprintf(probe->ways[probe->count], sizeof(probe->ways[0]), "%.*s",
			 (int)strcspn(bpf_program__section_name(program), "/"),
			 bpf_program__section_name(program));
		snprintf(probe->names[probe->count++], sizeof(probe->names[0]), "%s",
			 bpf_program__name(program));
	}
	bpf_object__close(object);
	return 0;
}

static struct bpf_object *load_together(struct probe *probe, int *ret_error)
{
	size_t count = 0;
	struct bpf_object *object = load(probe, MAX_PROGRAMS, ret_error);

	for (size_t i = 0; i < probe->count; i++)
		count += probe->runs[i];
	if (object)
		printf("together %zu runs\n", count);
	return object;
}

static void try_each(struct probe *probe)
{
	for (size_t i = 0; i < probe->count; i++) {
		int error;
		struct bpf_object *object = load(probe, i, &error);

		probe->runs[i] = object != NULL;
		if (object)
			printf("program %s runs %s\n", probe->names[i], probe->ways[i]);
		else if (error == -ESRCH) /* its target is in no module's types */
			printf("program %s absent\n", probe->names[i]);
		else
			printf("program %s refused %s: %s\n", probe->names[i], strerror(-error),
			       reason);
		bpf_object__close(object);
	}
}

static struct bpf_object *try_all(struct probe *probe)
{
	struct bpf_object *object;
	int error;

	for (size_t i = 0; i < probe->count; i++)
		probe->runs[i] = true;
	object = load_together(probe, &error);
	for (size_t i = 0; object && i < probe->count; i++)
		printf("program %s runs %s\n", probe->names[i], probe->ways[i]);
	if (object)
		return object;
	try_each(probe);
	object = load_together(probe, &error);
	if (!object)
		printf("together refused %s: %s\n", strerror(-error), reason);
	return object;
}

/* ---- records --------------------------------------------------------------------------------- */

static const char *word(const char *text)
{
	return *text ? text : "-";
}

static void on_job(void *context, const struct job *job)
{
	printf("job %lu %lu %lu %u %u %u %lu %lu %lu %s %s %s %s\n", job->queued_ns, job->run_ns,
	       job->done_ns, job->tgid, job->tid, job->flags, job->context, job->number,
	       job->client, word(job->thread), word(job->driver), word(job->device),
	       word(job->ring));
}

static int on_record(void *jobs, void *data, size_t size)
{
	const struct drm_timeline *names = data;
	const struct drm_fence *fence = data;
	const struct kernel_head *head = data;

	if (head->kind == DRM_RECORD_TIMELINE)
		printf("record %u %llu 0 0 %llu 0 - %s %s\n", head->kind, head->time_ns,
		       names->context, names->driver, names->timeline);
	else
		printf("record %u %llu %u %u %llu %llu %s\n", head->kind, head->time_ns, head->tgid,
		       head->tid, fence->context, fence->number, word(fence->thread));
	jobs_take(jobs, data, size);
	return 0;
}

static int run(const char *program)
{
	const pid_t child = fork();
	int status = -1;

	if (!child) {
		execl(program, program, NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;
	return status;
}

static int follow(struct bpf_object *object, char **programs)
{
	const int map = bpf_object__find_map_fd_by_name(object, "records");
	struct jobs *jobs = jobs_new(on_job, NULL);
	struct ring_buffer *ring = jobs ? ring_buffer__new(map, on_record, jobs, NULL) : NULL;
	int status = ring ? 0 : -1;

	for (; ring && *programs; programs++) {
		status |= run(*programs);
		ring_buffer__consume(ring);
	}
	if (jobs)
		jobs_end(jobs);
	ring_buffer__free(ring);
	jobs_free(jobs);
	return status != 0;
}

int main(int argc, char **argv)
{
	struct probe probe = {.path = argc > 1 ? argv[1] : ""};
	struct bpf_object *object;
	int status = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	libbpf_set_print(keep_reason);
	if (list_programs(&probe)) {
		printf("no object: %s\n", reason);
		return 1;
	}
	object = try_all(&probe);
	if (argc > 2)
		status = object ? follow(object, argv + 2) : 1;
	bpf_object__close(object);
	return status;
}
