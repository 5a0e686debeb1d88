/* SPDX-License-Identifier: MIT
 *
 * collect/kernel/object.c - loads an object of BPF programs, without the programs that the kernel
 * refuses
 *
 * Runs in:  the recorder, in the caller's thread. Loading takes some 40 ms of CPU time, mostly for
 *           reading the kernel's types.
 * Gets:     a compiled object
 * Gives:    attached programs, and the reason for each program that is not
 * Owns:     the object and its links
 * Fails:    only if no program can be loaded
 * Why:      An object is loaded as a whole: one program that the kernel refuses, or cannot attach,
 *           makes all fail. libbpf reports the program that failed; that one is left out and the
 *           rest is loaded again. If many programs may fail, their attach points are first looked
 *           up in the names of the kernel's types.
 */
#include "collect/kernel/object.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collect/kernel/loader.h"
#include "collect/proc.h"
#include "collect/start/rights.h"

#define TYPES_FOLDER "/sys/kernel/btf"

/* The place in which a program's attach point was found. */
enum place { PLACE_UNKNOWN, PLACE_NONE, PLACE_KERNEL, PLACE_MODULE };

struct kernel_object {
	struct bpf_object *object;
	struct bpf_link *links[MAX_KERNEL_PROGRAMS];
	/* Used instead of links if the kernel loaded the object (is_quick); -1: none. */
	int program_fds[MAX_KERNEL_PROGRAMS]; /* in the object's order of programs */
	int link_fds[MAX_KERNEL_PROGRAMS];
	bool is_quick;
	struct kernel_program_report reports[MAX_KERNEL_PROGRAMS];
	enum place places[MAX_KERNEL_PROGRAMS];
	bool has_looked;
	bool has_functions; /* some programs attach to kernel functions */
	size_t count;
};

/* ---- messages of libbpf ---------------------------------------------------------------------- */

/* From libbpf's messages during the load in this thread: the last reason, the refused program, and
 * whether the kernel has no attach point for it. */
static _Thread_local char said[KERNEL_REASON_BYTES];
static _Thread_local char refused[64];
static _Thread_local bool is_absent;

/* The verifier's log ends with a count. The line before it is the reason. */
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
	/* The message with the log has the reason. Later messages only report that the object
	 * failed. */
	if (strstr(text, "BEGIN PROG LOAD LOG") || !said[0])
		keep_reason(text);
	return 0;
}

void kernel_object_keep_words(void)
{
	libbpf_set_print(on_words);
}

/* ---- attach points in the kernel ------------------------------------------------------------- */

/* False: the file is too short. The kernel returns one page per read. */
static bool read_at(int fd, char *bytes, size_t size, off_t offset)
{
	for (size_t done = 0; done < size;) {
		ssize_t got = pread(fd, bytes + done, size - done, offset + (off_t)done);

		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

/* Reads the strings of a BTF file, which are half of it. Returns them, each between two NUL bytes,
 * and their size; the caller frees them. NULL: not readable. */
static char *read_names(const char *path, size_t *ret_bytes)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct btf_header head;
	char *names;

	if (fd < 0 || !read_at(fd, (char *)&head, sizeof(head), 0) || head.magic != BTF_MAGIC ||
	    !head.str_len)
		return NULL;
	/* The strings of a module have no NUL in front of the first one. */
	names = calloc(1, (size_t)head.str_len + 1);
	if (names && (!read_at(fd, names + 1, head.str_len, (off_t)head.hdr_len + head.str_off) ||
		      names[head.str_len])) {
		free(names);
		return NULL;
	}
	*ret_bytes = (size_t)head.str_len + 1;
	return names;
}

/* Returns the name of the attach point, for example "sched_switch"; NULL: the program attaches to
 * something else. */
static const char *place_name(const struct bpf_program *program, bool *inout_has_functions)
{
	static const char *const kinds[] = {"tp_btf/", "fentry/", "fexit/"};
	const char *section = program ? bpf_program__section_name(program) : NULL;

	for (size_t i = 0; section && i < ARRAY_COUNT(kinds); i++)
		if (strncmp(section, kinds[i], strlen(kinds[i])) == 0) {
			*inout_has_functions |= i > 0;
			return section + strlen(kinds[i]);
		}
	return NULL;
}

/* Looks for functions. Their names have no prefix as those of events have, so each name is compared
 * once. */
static void find_functions(struct kernel_object *object, const char *const *sought,
			   const char *names, size_t bytes, enum place place)
{
	size_t lengths[MAX_KERNEL_PROGRAMS];
	size_t length;

	for (size_t i = 0; i < object->count; i++)
		lengths[i] = object->places[i] == PLACE_NONE ? strlen(sought[i]) : 0;
	for (const char *at = names; at < names + bytes; at += length + 1) {
		length = strlen(at);
		for (size_t i = 0; length && i < object->count; i++)
			if (lengths[i] == length && memcmp(sought[i], at, length) == 0)
				object->places[i] = place;
	}
}

/* Looks for all attach points in one file of types. False: it cannot be read. */
static bool find_places(struct kernel_object *object, const char *const *sought, const char *path,
			enum place place)
{
	static const char before[] = "\0btf_trace_";
	const size_t length = sizeof(before) - 1;
	size_t bytes = 0;
	auto_free char *names = read_names(path, &bytes);
	const char *at = names;

	while (at && (at = memmem(at, bytes - (size_t)(at - names), before, length))) {
		at += length;
		for (size_t i = 0; i < object->count; i++)
			if (object->places[i] == PLACE_NONE && strcmp(sought[i], at) == 0)
				object->places[i] = place;
	}
	if (names && object->has_functions)
		find_functions(object, sought, names, bytes, place);
	return names != NULL;
}

static void find_places_of_modules(struct kernel_object *object, const char *const *sought)
{
	DIR *folder = opendir(TYPES_FOLDER);
	const struct dirent *entry;
	char path[PATH_MAX];

	while (folder && (entry = readdir(folder))) {
		if (entry->d_name[0] == '.' || strcmp(entry->d_name, "vmlinux") == 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", TYPES_FOLDER, entry->d_name);
		find_places(object, sought, path, PLACE_MODULE);
	}
	if (folder)
		closedir(folder);
}

static void look_up_places(struct kernel_object *object, const struct bpf_object *opened)
{
	const char *sought[MAX_KERNEL_PROGRAMS];

	object->has_looked = true;
	for (size_t i = 0; i < object->count; i++) {
		sought[i] = place_name(
			bpf_object__find_program_by_name(opened, object->reports[i].name),
			&object->has_functions);
		object->places[i] = sought[i] ? PLACE_NONE : PLACE_UNKNOWN;
	}
	if (find_places(object, sought, KERNEL_TYPES, PLACE_KERNEL))
		find_places_of_modules(object, sought);
	else /* libbpf will report the reason */
		memset(object->places, 0, sizeof(object->places));
}

/* libbpf reads modules' types by bpf(2), not from their files. That needs more rights. */
static bool may_read_modules(void)
{
	uint32_t id;

	return bpf_btf_get_next_id(0, &id) == 0 || errno != EPERM;
}

/* ---- loading --------------------------------------------------------------------------------- */

/* NULL: no program has this name. */
static struct kernel_program_report *find_report(struct kernel_object *object, const char *name)
{
	for (size_t i = 0; i < object->count; i++)
		if (strcmp(object->reports[i].name, name) == 0)
			return &object->reports[i];
	return NULL;
}

static void choose_all(const struct kernel_object_options *options, struct kernel_object *object)
{
	for (size_t i = 0; i < options->programs_count; i++)
		object->reports[i] = (struct kernel_program_report){
			.name = options->programs[i].name,
			.lacks = options->programs[i].lacks,
			.weakens = options->programs[i].weakens,
			.is_attached_later = options->programs[i].is_attached_later,
			.state = options->programs[i].instead_of || options->programs[i].is_spared
					 ? KERNEL_PROGRAM_SPARED
					 : KERNEL_PROGRAM_RUNS};
	object->count = options->programs_count;
}

/* Selects the programs that replace a missing one. */
static void choose_instead(const struct kernel_object_options *options,
			   struct kernel_object *object, const char *missing)
{
	for (size_t i = 0; i < options->programs_count; i++) {
		const char *instead_of = options->programs[i].instead_of;

		if (instead_of && strcmp(instead_of, missing) == 0)
			object->reports[i].state = KERNEL_PROGRAM_RUNS;
	}
}

static bool has_any(const struct kernel_object *object)
{
	for (size_t i = 0; i < object->count; i++)
		if (object->reports[i].state == KERNEL_PROGRAM_RUNS)
			return true;
	return false;
}

/* Marks the programs to load. An object made for several kernels may lack a program of its list. */
static void choose_in(const struct kernel_object_options *options, struct kernel_object *object,
		      struct bpf_object *opened)
{
	static const char modules_need[] =
		"only cap_sys_admin may read the types of kernel modules, cap_bpf and cap_perfmon "
		"do not suffice; record as root";
	const bool reads_modules = !object->has_looked || may_read_modules();
	struct bpf_program *program;

	/* Programs that are not in the list must not be loaded: one that the kernel refuses would
	 * make all fail. */
	bpf_object__for_each_program(program, opened) bpf_program__set_autoload(program, false);
	for (size_t i = 0; i < object->count; i++) {
		struct kernel_program_report *report = &object->reports[i];

		program = bpf_object__find_program_by_name(opened, report->name);
		if (report->state != KERNEL_PROGRAM_RUNS)
			continue;
		if (!program || object->places[i] == PLACE_NONE) {
			report->state = KERNEL_PROGRAM_ABSENT;
			choose_instead(options, object, report->name);
		} else if (object->places[i] == PLACE_MODULE && !reads_modules) {
			report->state = KERNEL_PROGRAM_REFUSED;
			snprintf(report->reason, sizeof(report->reason), "%s", modules_need);
		} else {
			bpf_program__set_autoload(program, true);
		}
	}
}

/* Opens the object and marks the programs to load. NULL: failed with errno. */
static struct bpf_object *open_chosen(const struct kernel_object_options *options,
				      struct kernel_object *object)
{
	LIBBPF_OPTS(bpf_object_open_opts, how, .object_name = options->name);
	struct bpf_object *opened = bpf_object__open_mem(options->elf, options->elf_bytes, &how);

	if (!opened)
		return NULL;
	if (options->looks_first && !object->has_looked)
		look_up_places(object, opened);
	choose_in(options, object, opened);
	if (options->ring_bytes)
		bpf_map__set_max_entries(bpf_object__find_map_by_name(opened, "records"),
					 options->ring_bytes);
	return opened;
}

/* Loads the marked programs and sets object->object. On failure, `said` has the reason. */
static int load(const struct kernel_object_options *options, struct kernel_object *object)
{
	struct bpf_object *opened;
	int error;

	said[0] = refused[0] = '\0';
	is_absent = false;
	opened = open_chosen(options, object);
	if (!opened)
		return -errno;
	error = has_any(object) ? bpf_object__load(opened) : -ENOENT;
	if (error) {
		bpf_object__close(opened);
		return error;
	}
	object->object = opened;
	return 0;
}

/* Loads the marked programs inside the kernel. False: failed; load_chosen also finds the reason. */
static bool load_quickly(const struct kernel_object_options *options, struct kernel_object *object)
{
	struct bpf_object *opened = open_chosen(options, object);

	if (!opened)
		return false;
	if (!has_any(object) ||
	    kernel_loader_load(opened, object->program_fds, MAX_KERNEL_PROGRAMS)) {
		bpf_object__close(opened);
		choose_all(options, object);
		return false;
	}
	object->object = opened;
	object->is_quick = true;
	return true;
}

/* Loads all programs that the kernel accepts: as long as it refuses one, that one is left out and
 * the rest is tried again. */
static int load_chosen(const struct kernel_object_options *options, struct kernel_object *object)
{
	int error = load(options, object);

	while (error && error != -EPERM && error != -ENOMEM) {
		struct kernel_program_report *guilty = find_report(object, refused);

		if (!guilty || guilty->state != KERNEL_PROGRAM_RUNS)
			return error;
		guilty->state = is_absent ? KERNEL_PROGRAM_ABSENT : KERNEL_PROGRAM_REFUSED;
		snprintf(guilty->reason, sizeof(guilty->reason), "%s",
			 said[0] ? said : strerror(-error));
		choose_instead(options, object, guilty->name);
		if (!has_any(object))
			return error;
		error = load(options, object);
	}
	return error;
}

/* Finds a program's descriptor, by its place in the object's order. */
static int *program_fd(struct kernel_object *object, const char *name)
{
	struct bpf_program *program;
	int *fd = object->program_fds;

	bpf_object__for_each_program(program, object->object)
	{
		if (strcmp(bpf_program__name(program), name) == 0)
			return fd;
		fd++;
	}
	return NULL;
}

static void refuse_attach(struct kernel_program_report *report)
{
	report->state = KERNEL_PROGRAM_REFUSED;
	snprintf(report->reason, sizeof(report->reason), "attach: %s%s", strerror(errno),
		 errno == EACCES ? "; record as root" : "");
}

static void attach_quick(struct kernel_object *object)
{
	for (size_t i = 0; i < object->count; i++) {
		struct kernel_program_report *report = &object->reports[i];

		object->link_fds[i] = -1;
		if (report->state != KERNEL_PROGRAM_RUNS || report->is_attached_later)
			continue;
		object->link_fds[i] =
			bpf_raw_tracepoint_open(NULL, *program_fd(object, report->name));
		if (object->link_fds[i] < 0)
			refuse_attach(report);
	}
}

static void attach(struct kernel_object *object)
{
	for (size_t i = 0; i < object->count; i++) {
		struct kernel_program_report *report = &object->reports[i];
		struct bpf_program *program =
			bpf_object__find_program_by_name(object->object, report->name);

		if (report->state != KERNEL_PROGRAM_RUNS || report->is_attached_later)
			continue;
		object->links[i] = bpf_program__attach(program);
		if (!object->links[i])
			refuse_attach(report);
	}
}

/* Sets the error when no program could be loaded. */
static void refuse(const struct kernel_object_options *options, const struct kernel_object *object,
		   int error)
{
	char setcap[PATH_MAX + 100];
	size_t absent = 0;

	for (size_t i = 0; i < object->count; i++) {
		absent += object->reports[i].state == KERNEL_PROGRAM_ABSENT;
		if (!said[0])
			snprintf(said, sizeof(said), "%s", object->reports[i].reason);
	}
	rights_setcap_text(RIGHTS_BPF, setcap, sizeof(setcap));
	if ((error == -EPERM || error == -EACCES) && !rights_can_load())
		error_set(error, "BPF programs need rights: record as root, or %s", setcap);
	else if (error == -EPERM)
		error_set(error, "BPF was refused although the capabilities are present. In a "
				 "container: --cap-add BPF --cap-add PERFMON and a seccomp profile "
				 "that allows bpf(); or record from the host");
	else if (access(KERNEL_TYPES, R_OK))
		error_set(error, "BPF programs need a kernel with type information in "
				 "/sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF)");
	else if (absent == object->count)
		error_set(error, "BPF programs '%s': this kernel has no attach point for them",
			  options->name);
	else
		error_set(error, "BPF programs '%s': %s", options->name,
			  said[0] ? said : strerror(-error));
}

int kernel_object_open(const struct kernel_object_options *options,
		       struct kernel_object **ret_object)
{
	struct kernel_object *object = calloc(1, sizeof(*object));
	int error;

	if (!object)
		return error_set(-ENOMEM, "BPF programs: out of memory");
	if (!proc_counts_as_machine()) {
		free(object);
		return error_set(-ENOTSUP,
				 "BPF programs use the pids of the host, which differ in this "
				 "container. Record from the host, or start the container with the "
				 "host's pids (docker, podman: --pid=host)");
	}
	kernel_object_keep_words();
	choose_all(options, object);
	if (options->is_of_events && load_quickly(options, object)) {
		attach_quick(object);
		*ret_object = object;
		return 0;
	}
	error = load_chosen(options, object);
	if (error) {
		refuse(options, object, error);
		kernel_object_close(object);
		return error;
	}
	attach(object);
	*ret_object = object;
	return 0;
}

static void close_quick(struct kernel_object *object)
{
	struct bpf_program *program;
	int *fd = object->program_fds;

	for (size_t i = 0; i < object->count; i++)
		if (object->link_fds[i] >= 0)
			close(object->link_fds[i]);
	bpf_object__for_each_program(program, object->object)
	{
		if (*fd >= 0)
			close(*fd);
		fd++;
	}
}

void kernel_object_close(struct kernel_object *object)
{
	if (!object)
		return;
	if (object->is_quick)
		close_quick(object);
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

bool kernel_object_runs(struct kernel_object *object, const char *program)
{
	const struct kernel_program_report *report = find_report(object, program);

	return report && report->state == KERNEL_PROGRAM_RUNS;
}

int kernel_object_program(struct kernel_object *object, const char *program)
{
	if (!kernel_object_runs(object, program))
		return -1;
	return object->is_quick
		       ? *program_fd(object, program)
		       : bpf_program__fd(bpf_object__find_program_by_name(object->object, program));
}

bool kernel_object_loads(const uint8_t *elf, size_t elf_bytes, const char *name)
{
	struct bpf_object *opened = bpf_object__open_mem(elf, elf_bytes, NULL);
	int fds[MAX_KERNEL_PROGRAMS];
	struct bpf_program *program;
	bool is_loaded;

	if (!opened)
		return false;
	memset(fds, -1, sizeof(fds));
	kernel_object_keep_words();
	bpf_object__for_each_program(program, opened)
		bpf_program__set_autoload(program, strcmp(bpf_program__name(program), name) == 0);
	is_loaded = kernel_loader_load(opened, fds, ARRAY_COUNT(fds)) == 0;
	for (size_t i = 0; is_loaded && i < ARRAY_COUNT(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	bpf_object__close(opened);
	return is_loaded;
}

void kernel_object_find_names(const char *const *names, size_t count, bool *ret_has)
{
	size_t bytes = 0;
	auto_free char *all = read_names(KERNEL_TYPES, &bytes);

	for (size_t i = 0; i < count; i++) {
		char sought[64] = "";

		/* the name between two NUL bytes; snprintf writes the second */
		snprintf(sought + 1, sizeof(sought) - 1, "%s", names[i]);
		ret_has[i] = all && memmem(all, bytes, sought, strlen(names[i]) + 2);
	}
}

uint64_t kernel_object_missed(const struct kernel_object *object)
{
	const int *quick_fd = object->program_fds;
	struct bpf_program *program;
	uint64_t missed = 0;

	bpf_object__for_each_program(program, object->object)
	{
		const int fd = object->is_quick ? *quick_fd++ : bpf_program__fd(program);
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info);

		if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0)
			missed += info.recursion_misses;
	}
	return missed;
}

struct bpf_map *kernel_object_map(const struct kernel_object *object, const char *name)
{
	return bpf_object__find_map_by_name(object->object, name);
}

int kernel_object_put(const struct kernel_object *object, const char *map, const void *key,
		      const void *value)
{
	const struct bpf_map *found = kernel_object_map(object, map);

	if (!found)
		return -ENOENT;
	return bpf_map_update_elem(bpf_map__fd(found), key, value, BPF_ANY) ? -errno : 0;
}

int kernel_object_remove(const struct kernel_object *object, const char *map, const void *key)
{
	const struct bpf_map *found = kernel_object_map(object, map);

	if (!found)
		return -ENOENT;
	return bpf_map_delete_elem(bpf_map__fd(found), key) ? -errno : 0;
}
