/* SPDX-License-Identifier: MIT
 *
 * collect/kernel_object.c - programs of ours inside the kernel: loaded as far as this kernel takes them
 *
 * Runs in:  the recorder, in the thread of whoever asks: to load takes some 40 ms of processor time, most of it for reading the
 *           kernel's types
 * Gets:     an object file   Gives: attached programs, and why others are not
 * Owns:     the object and its links
 * Fails:    as a whole only where nothing can be loaded
 * Why:      an object is loaded as one, and one program that a kernel has no place for, or refuses, would take all others
 *           with it. libbpf says which it was: that is left out, and the rest loaded again.
 */
#include "collect/kernel_object.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/string.h"

struct kernel_object {
	struct bpf_object *object;
	struct bpf_link *links[KERNEL_PROGRAMS_MOST];
	struct kernel_program_report reports[KERNEL_PROGRAMS_MOST];
	size_t count;
};

/* ---- what libbpf says -------------------------------------------------------------------------- */

/* Of the load that goes on in this thread: the last thing that tells why. */
static _Thread_local char said[KERNEL_REASON_BYTES];
/* … and of which program; which could not even be tried, as the kernel has no place for it. */
static _Thread_local char refused[64];
static _Thread_local bool is_absent;

/* The verifier's log ends with a count; the line before it is the reason. */
static void keep_reason(const char *text)
{
	const char *line = text, *best = NULL;
	size_t length;

	while (*line) {
		length = strcspn(line, "\n");
		if (length > 3 && strncmp(line, "processed ", 10) != 0 &&
		    strncmp(line, "-- ", 3) != 0)
			best = line;
		line += length + (line[length] == '\n');
	}
	if (best)
		snprintf(said, sizeof(said), "%.*s", (int)strcspn(best, "\n"), best);
}

static int on_words(enum libbpf_print_level level, const char *format, va_list arguments)
{
	char text[8192];

	if (level != LIBBPF_WARN)
		return 0;
	vsnprintf(text, sizeof(text), format, arguments);
	if (strstr(text, ": failed to "))
		sscanf(text, "libbpf: prog '%63[^']'", refused);
	is_absent |= strstr(text, "failed to find kernel BTF type ID") != NULL;
	/* The log comes with it; that the object as a whole has failed is no reason. */
	if (strstr(text, "BEGIN PROG LOAD LOG") || !said[0])
		keep_reason(text);
	return 0;
}

/* ---- loading ----------------------------------------------------------------------------------- */

/* Which programs of the table are to be loaded. */
struct choice {
	bool is_chosen[KERNEL_PROGRAMS_MOST];
};

static struct bpf_object *open_elf(const struct kernel_object_options *options)
{
	LIBBPF_OPTS(bpf_object_open_opts, how, .object_name = options->name);
	struct bpf_object *object = bpf_object__open_mem(options->elf, options->elf_bytes, &how);
	struct bpf_map *map;
	size_t size;
	void *constants;

	if (!object || !options->configure)
		return object;
	bpf_object__for_each_map(map, object)
	{
		if (!strstr(bpf_map__name(map), ".rodata"))
			continue;
		constants = (void *)bpf_map__initial_value(map, &size);
		if (constants)
			options->configure(constants, size, options->context);
	}
	return object;
}

/* *ret_object: NULL where the kernel refuses, said why in `said`. */
static int load(const struct kernel_object_options *options, const struct choice *choice,
		struct bpf_object **ret_object)
{
	struct bpf_object *object = open_elf(options);
	int error;

	if (!object)
		return -errno;
	for (size_t i = 0; i < options->programs_count; i++) {
		struct bpf_program *program =
			bpf_object__find_program_by_name(object, options->programs[i].name);

		if (program)
			bpf_program__set_autoload(program, choice->is_chosen[i]);
	}
	said[0] = refused[0] = '\0';
	is_absent = false;
	error = bpf_object__load(object);
	if (error) {
		bpf_object__close(object);
		return error;
	}
	*ret_object = object;
	return 0;
}

static size_t find_instead(const struct kernel_object_options *options, size_t index)
{
	const char *name = options->programs[index].instead_of;
	size_t i = 0;

	while (i < index && strcmp(options->programs[i].name, name) != 0)
		i++;
	return i;
}

/* Whether the program that this one stands in for is there; `choice` has what was found of those before it. */
static bool is_spared(const struct kernel_object_options *options, const struct choice *choice,
		      size_t index)
{
	return options->programs[index].instead_of &&
	       choice->is_chosen[find_instead(options, index)];
}

static void choose_all(const struct kernel_object_options *options, struct kernel_object *object,
		       struct choice *ret_choice)
{
	for (size_t i = 0; i < options->programs_count; i++) {
		const bool spared = is_spared(options, ret_choice, i);

		object->reports[i] = (struct kernel_program_report){
			.name = options->programs[i].name,
			.lacks = options->programs[i].lacks,
			.state = spared ? KERNEL_PROGRAM_SPARED : KERNEL_PROGRAM_RUNS};
		ret_choice->is_chosen[i] = !spared;
	}
	object->count = options->programs_count;
}

static bool has_any(const struct choice *choice)
{
	for (size_t i = 0; i < KERNEL_PROGRAMS_MOST; i++)
		if (choice->is_chosen[i])
			return true;
	return false;
}

/* Which program the kernel would not take, as libbpf names it; its number, or that behind the last. */
static size_t find_refused(const struct kernel_object_options *options)
{
	size_t i = 0;

	while (i < options->programs_count && strcmp(options->programs[i].name, refused) != 0)
		i++;
	return i;
}

/* Those that stand in for one that is not there. */
static void choose_instead(const struct kernel_object_options *options,
			   struct kernel_object *object, struct choice *choice)
{
	for (size_t i = 0; i < options->programs_count; i++)
		if (object->reports[i].state == KERNEL_PROGRAM_SPARED &&
		    !is_spared(options, choice, i)) {
			object->reports[i].state = KERNEL_PROGRAM_RUNS;
			choice->is_chosen[i] = true;
		}
}

/* Loads what the kernel takes: an object is taken or refused as one, and of a refusal it is known who is to blame. */
static int load_chosen(const struct kernel_object_options *options, struct kernel_object *object,
		       struct choice *choice)
{
	int error = load(options, choice, &object->object);

	while (error && error != -EPERM && error != -ENOMEM) {
		const size_t guilty = find_refused(options);
		struct kernel_program_report *report = &object->reports[guilty];

		if (guilty == options->programs_count || !choice->is_chosen[guilty])
			return error;
		choice->is_chosen[guilty] = false;
		report->state = is_absent ? KERNEL_PROGRAM_ABSENT : KERNEL_PROGRAM_REFUSED;
		snprintf(report->reason, sizeof(report->reason), "%s",
			 said[0] ? said : strerror(-error));
		choose_instead(options, object, choice);
		if (!has_any(choice))
			return error;
		error = load(options, choice, &object->object);
	}
	return error;
}

static void attach(struct kernel_object *object)
{
	for (size_t i = 0; i < object->count; i++) {
		struct kernel_program_report *report = &object->reports[i];
		struct bpf_program *program =
			bpf_object__find_program_by_name(object->object, report->name);

		if (report->state != KERNEL_PROGRAM_RUNS)
			continue;
		object->links[i] = bpf_program__attach(program);
		if (!object->links[i]) {
			report->state = KERNEL_PROGRAM_REFUSED;
			snprintf(report->reason, sizeof(report->reason), "attach: %s",
				 strerror(errno));
		}
	}
}

/* Nothing is left that the kernel would take. */
static void refuse(const struct kernel_object_options *options, const struct kernel_object *object,
		   int error)
{
	size_t absent = 0;

	for (size_t i = 0; i < object->count; i++)
		absent += object->reports[i].state == KERNEL_PROGRAM_ABSENT;
	if (error == -EPERM || error == -EACCES)
		error_set(error, "programs inside the kernel (BPF) need root, or the capabilities "
				 "cap_bpf and cap_perfmon");
	else if (access("/sys/kernel/btf/vmlinux", R_OK))
		error_set(error, "programs inside the kernel (BPF) need a kernel that tells its "
				 "types in /sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF)");
	else if (absent == object->count)
		error_set(error, "this kernel has nothing that '%s' could be attached to",
			  options->name);
	else
		error_set(error, "programs inside the kernel (BPF), '%s': %s", options->name,
			  said[0] ? said : strerror(-error));
}

int kernel_object_open(const struct kernel_object_options *options,
		       struct kernel_object **ret_object)
{
	struct kernel_object *object = calloc(1, sizeof(*object));
	struct choice choice = {0};
	int error;

	if (!object)
		return error_set(-ENOMEM, "programs inside the kernel (BPF): out of memory");
	libbpf_set_print(on_words);
	choose_all(options, object, &choice);
	error = load_chosen(options, object, &choice);
	if (error) {
		refuse(options, object, error);
		kernel_object_close(object);
		return error;
	}
	attach(object);
	*ret_object = object;
	return 0;
}

void kernel_object_close(struct kernel_object *object)
{
	if (!object)
		return;
	for (size_t i = 0; i < object->count; i++)
		bpf_link__destroy(object->links[i]);
	bpf_object__close(object->object);
	free(object);
}

const struct kernel_program_report *kernel_object_reports(const struct kernel_object *object,
							  size_t *ret_count)
{
	*ret_count = object->count;
	return object->reports;
}

bool kernel_object_runs(const struct kernel_object *object, const char *program)
{
	for (size_t i = 0; i < object->count; i++)
		if (strcmp(object->reports[i].name, program) == 0)
			return object->reports[i].state == KERNEL_PROGRAM_RUNS;
	return false;
}

struct bpf_map *kernel_object_map(const struct kernel_object *object, const char *name)
{
	return bpf_object__find_map_by_name(object->object, name);
}
