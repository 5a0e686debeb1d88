/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_doctor.c - duet doctor: which collectors work on this machine, and how to enable the
 * others
 *
 * Runs in:  our own process; vendors' libraries are tried in children (cli/doctor/probe.c)
 * Gets:     the machine, or a copy of its files below DUET_DOCTOR_ROOT (tests)
 * Gives:    text, or JSON "duet.doctor/1"
 * Owns:     the list of checks
 * Fails:    only if it runs out of memory or cannot print; a missing part is a result, status 0
 * Why:      every check names one part and one command. OpenCL needs four packages, of which a
 *           fresh Debian 12 lacks two; "OpenCL does not work" would not name them
 */
#include "cli/command.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "base/json.h"
#include "base/string.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/probe.h"
#include "collect/cpu/blocked.h"
#include "collect/cpu/perf_rights.h"
#include "collect/cpu/perf_rings.h"
#include "collect/opencl/ways.h"
#include "collect/ranges/ways.h"

#define LOADER     "libOpenCL.so.1"
#define VENDORS    "/etc/OpenCL/vendors"
#define LOADER_FIX "apt-get install ocl-icd-libopencl1"
#define DRIVER_FIX "apt-get install pocl-opencl-icd"
#define CACHE_FIX  "export POCL_CACHE_DIR=/tmp/pocl-$(id -u)"
#define PERF_FIX   PERF_SYSCTL "2"
#define KERNEL_FIX PERF_SYSCTL "1"

/* Environment variables that loaders and drivers read. A wrong value looks like a missing package.
 * HOME is always set, so it is mentioned only if it hides the devices. */
static const struct variable {
	const char *name;
	const char *effect; /* NULL: mentioned only if the variable hides the devices */
	const char *fix;
	bool chooses_drivers; /* selects drivers instead of, or in addition to, VENDORS */
} variables[] = {
	{"OCL_ICD_VENDORS", "chooses other drivers than " VENDORS, "unset OCL_ICD_VENDORS", true},
	{"OPENCL_VENDOR_PATH", "chooses another folder than " VENDORS, "unset OPENCL_VENDOR_PATH",
	 true},
	{"OCL_ICD_FILENAMES", "adds drivers to those of " VENDORS, "unset OCL_ICD_FILENAMES", true},
	{"POCL_DEVICES", "chooses among the devices of PoCL", "unset POCL_DEVICES", false},
	/* PoCL has no devices if it cannot create its cache folder */
	{"HOME", NULL, CACHE_FIX, false},
};

struct host {
	char name[HOST_NAME_MAX + 1];
	struct utsname uname;
	char cpu[128];
	char clock_source[64];
	bool has_usable_tsc;
	long cpu_count;
	uint64_t memory_bytes;
	uint64_t open_files;
	uint64_t locked_memory_bytes; /* UINT64_MAX: no limit */
	bool has_perf_paranoid;
	long perf_paranoid;
};

enum { EXAMINED = 9 };

struct doctor {
	const char *root; /* prefix of every absolute path: "" or DUET_DOCTOR_ROOT */
	struct host host;
	struct doctor_collector opencl, cpu, amd, level_zero, ranges, system, nvidia, drm, intel;
};

static const struct option_row doctor_options[] = {
	{"json", 0, OPTION_FLAG, NULL, "print one JSON document (schema duet.doctor/1)", 0},
	{NULL},
};

static bool is_available(const struct doctor_collector *collector)
{
	for (size_t i = 0; i < collector->check_count; i++) {
		if (collector->checks[i].needed && !collector->checks[i].ok)
			return false;
	}
	return true;
}

/* The text of a small file below the root, without its last newline; "" if it cannot be read. */
static char *read_small(const struct doctor *doctor, const char *path)
{
	char full[PATH_MAX], *text = NULL;

	snprintf(full, sizeof(full), "%s%s", doctor->root, path);
	if (read_file(full, 1 << 22, &text, NULL)) {
		error_clear();
		return strdup("");
	}
	if (*text && text[strlen(text) - 1] == '\n')
		text[strlen(text) - 1] = '\0';
	return text;
}

/* The value of the first "key : value" line of /proc/cpuinfo; "" if no line has the key. */
static void find_cpu_line(const char *text, const char *key, char *value, size_t size)
{
	const char *line = strstr(text, key), *colon = line ? strchr(line, ':') : NULL;

	*value = '\0';
	if (!colon)
		return;
	colon += 1 + strspn(colon + 1, " ");
	snprintf(value, size, "%.*s", (int)strcspn(colon, "\n"), colon);
}

static void examine_cpu(struct doctor *doctor)
{
	struct host *host = &doctor->host;
	auto_free char *text = read_small(doctor, "/proc/cpuinfo");
	auto_free char *source = read_small(
		doctor, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	char flags[8192];

	if (!text)
		return;
	find_cpu_line(text, "model name", host->cpu, sizeof(host->cpu));
	find_cpu_line(text, "flags", flags, sizeof(flags));
	snprintf(host->clock_source, sizeof(host->clock_source), "%s", source ? source : "");
	/* as host_clocks_have_tsc, for another root folder */
	host->has_usable_tsc =
		strstr(flags, "nonstop_tsc") != NULL || strncmp(host->clock_source, "tsc", 3) == 0;
	host->cpu_count = sysconf(_SC_NPROCESSORS_ONLN);
}

static void examine_limits(struct doctor *doctor)
{
	struct host *host = &doctor->host;
	auto_free char *paranoid = read_small(doctor, "/proc/sys/kernel/perf_event_paranoid");
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		host->open_files = limit.rlim_cur;
	if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0)
		host->locked_memory_bytes =
			limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
	if (paranoid && *paranoid) {
		host->has_perf_paranoid = true;
		host->perf_paranoid = strtol(paranoid, NULL, 10);
	}
}

static int examine_host(struct doctor *doctor)
{
	struct sysinfo info;

	if (uname(&doctor->host.uname) || sysinfo(&info))
		return error_set(-errno, "uname: %s", strerror(errno));
	gethostname(doctor->host.name, sizeof(doctor->host.name) - 1);
	doctor->host.memory_bytes = (uint64_t)info.totalram * info.mem_unit;
	examine_cpu(doctor);
	examine_limits(doctor);
	return 0;
}

/* The loader's name for dlopen. With a root: its path below the root, "" if it is not there. */
static void find_loader(const struct doctor *doctor, char *path, size_t size)
{
	static const char *const folders[] = {
		"/usr/local/lib",
		"/usr/lib/x86_64-linux-gnu",
		"/usr/lib/aarch64-linux-gnu",
		"/usr/lib64",
		"/usr/lib",
		"/lib/x86_64-linux-gnu",
	};

	if (!*doctor->root) {
		snprintf(path, size, LOADER);
		return;
	}
	for (size_t i = 0; i < ARRAY_COUNT(folders); i++) {
		snprintf(path, size, "%s%s/" LOADER, doctor->root, folders[i]);
		if (access(path, R_OK) == 0)
			return;
	}
	*path = '\0';
}

/* True if the loader can be loaded; its path is then in ret_loader->text. */
static bool check_loader(struct doctor *doctor, struct probe_result *ret_loader)
{
	char name[PATH_MAX];

	find_loader(doctor, name, sizeof(name));
	if (*name) {
		probe_library(name, ret_loader);
	} else {
		memset(ret_loader, 0, sizeof(*ret_loader));
		snprintf(ret_loader->text, sizeof(ret_loader->text), "no " LOADER);
	}
	if (ret_loader->ok)
		doctor_add(&doctor->opencl, "loader", true, true, NULL, "%s", ret_loader->text);
	else
		doctor_add(&doctor->opencl, "loader", false, true, LOADER_FIX,
			   "the OpenCL loader " LOADER " (Debian package ocl-icd-libopencl1) "
			   "cannot be loaded: %s",
			   ret_loader->text);
	return ret_loader->ok;
}

static void check_layers(struct doctor *doctor, const char *loader)
{
	/* OpenCL has no call that reports layers. A loader that supports them contains the
	 * variable's name. */
	if (probe_file_contains(loader, "OPENCL_LAYERS"))
		doctor_add(&doctor->opencl, "layers", true, true, NULL,
			   "the loader reads OPENCL_LAYERS");
	else
		doctor_add(&doctor->opencl, "layers", false, true, LOADER_FIX,
			   "%s is too old for layers (or a vendor's own loader); Debian package "
			   "ocl-icd-libopencl1 2.3.0 or newer has them",
			   loader);
}

/* Checks one .icd file, whose first line names the driver's library. True if the library loads. */
static bool check_driver(struct doctor *doctor, const char *file)
{
	struct probe_result result;
	auto_free char *text = read_small(doctor, file);
	char library[PATH_MAX];
	const char *name;

	if (!text)
		return false;
	name = text + strspn(text, " \t");
	snprintf(library, sizeof(library), "%s%.*s", *name == '/' ? doctor->root : "",
		 (int)strcspn(name, "\r\n"), name);
	if (!*library) {
		doctor_add(&doctor->opencl, "driver", false, false, NULL, "%s names no library",
			   file);
		return false;
	}
	probe_library(library, &result);
	if (result.ok)
		doctor_add(&doctor->opencl, "driver", true, false, NULL, "%s: %s", file,
			   result.text);
	else
		doctor_add(&doctor->opencl, "driver", false, false, NULL,
			   "%s: the driver does not load: %s", file, result.text);
	return result.ok;
}

static int is_icd_file(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 4 && strcmp(entry->d_name + length - 4, ".icd") == 0;
}

static bool has_chosen_drivers(void)
{
	for (size_t i = 0; i < ARRAY_COUNT(variables); i++) {
		if (variables[i].chooses_drivers && getenv(variables[i].name))
			return true;
	}
	return false;
}

static bool check_drivers(struct doctor *doctor)
{
	bool chosen = has_chosen_drivers();
	char folder[PATH_MAX], file[PATH_MAX + 300];
	struct dirent **entries = NULL;
	int count, loaded = 0;

	snprintf(folder, sizeof(folder), "%s" VENDORS, doctor->root);
	count = scandir(folder, &entries, is_icd_file, alphasort);
	for (int i = 0; i < count; i++) {
		snprintf(file, sizeof(file), VENDORS "/%s", entries[i]->d_name);
		loaded += check_driver(doctor, file);
		free(entries[i]);
	}
	free(entries);
	if (!loaded && !chosen)
		doctor_add(&doctor->opencl, "driver", false, true, DRIVER_FIX,
			   "no driver in " VENDORS " loads; Debian package pocl-opencl-icd runs "
			   "OpenCL on the CPU, a GPU's vendor provides its own");
	return loaded || chosen;
}

/* The variable that hides the devices: without it there are some. NULL: no single variable does. */
static const struct variable *find_culprit(const char *loader, struct probe_result *ret_result)
{
	for (size_t i = 0; i < ARRAY_COUNT(variables); i++) {
		const char *const without[] = {variables[i].name, NULL};

		if (!getenv(variables[i].name))
			continue;
		probe_opencl_devices_in(loader, without, ret_result);
		if (ret_result->ok)
			return &variables[i];
	}
	return NULL;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	remove(path);
	return 0;
}

/* Whether PoCL has devices with a writable cache folder. Without one it has none and gives no
 * reason. */
static bool lacks_cache(const char *loader, struct probe_result *ret_result)
{
	char folder[] = "/tmp/duet-doctor-XXXXXX", variable[sizeof(folder) + 32];
	const char *const with[] = {variable, NULL};

	if (!mkdtemp(folder))
		return false;
	snprintf(variable, sizeof(variable), "POCL_CACHE_DIR=%s", folder);
	probe_opencl_devices_in(loader, with, ret_result);
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return ret_result->ok;
}

static bool has_pocl(const struct doctor_collector *opencl)
{
	for (size_t i = 0; i < opencl->check_count; i++)
		if (opencl->checks[i].ok && strcmp(opencl->checks[i].name, "driver") == 0 &&
		    strstr(opencl->checks[i].text, "libpocl"))
			return true;
	return false;
}

static const char *value_of(const char *variable)
{
	const char *value = getenv(variable);

	return value ? value : "(not set)";
}

static void explain_devices(struct doctor *doctor, const char *loader, const char *why)
{
	struct probe_result result;
	const struct variable *culprit = find_culprit(loader, &result);

	if (culprit)
		doctor_add(&doctor->opencl, "devices", false, true, culprit->fix,
			   "OpenCL has no device because the environment has %s=%s (%s); without "
			   "it, OpenCL "
			   "has: %s",
			   culprit->name, getenv(culprit->name), why, result.text);
	else if (lacks_cache(loader, &result))
		doctor_add(
			&doctor->opencl, "devices", false, true, CACHE_FIX,
			"OpenCL has no device because PoCL cannot create its cache folder: "
			"HOME=%s, "
			"XDG_CACHE_HOME=%s, POCL_CACHE_DIR=%s (%s); with a cache, OpenCL has: %s",
			value_of("HOME"), value_of("XDG_CACHE_HOME"), value_of("POCL_CACHE_DIR"),
			why, result.text);
	else
		doctor_add(&doctor->opencl, "devices", false, true,
			   has_pocl(&doctor->opencl) ? NULL : DRIVER_FIX,
			   "OpenCL has no device: %s", why);
}

static void check_devices(struct doctor *doctor, const char *loader)
{
	struct probe_result result;

	if (*doctor->root)
		return;
	probe_opencl_devices(loader, &result);
	if (result.ok)
		doctor_add(&doctor->opencl, "devices", true, true, NULL, "%s", result.text);
	else
		explain_devices(doctor, loader, result.text);
}

static void check_environment(struct doctor *doctor)
{
	const char *layers = getenv("OPENCL_LAYERS"), *session = getenv("DUET_SESSION");

	for (size_t i = 0; i < ARRAY_COUNT(variables); i++) {
		const char *value = getenv(variables[i].name);

		if (value && variables[i].effect)
			doctor_add(&doctor->opencl, "environment", true, false, NULL, "%s=%s %s",
				   variables[i].name, value, variables[i].effect);
	}
	if (layers && *layers)
		doctor_add(&doctor->opencl, "environment", true, false, NULL,
			   "OPENCL_LAYERS=%s is set; duet adds its own layer to it", layers);
	if (session && *session)
		doctor_add(&doctor->opencl, "environment", true, false, NULL,
			   "DUET_SESSION is set: duet doctor runs inside a recording");
}

/* Not needed by duet record -- PROGRAM, so its absence is not a problem. */
static void check_installed(struct doctor *doctor)
{
	auto_free char *file = read_small(doctor, "/etc/profile.d/duet.sh");

	doctor_add(&doctor->opencl, "install", true, false, NULL, "%s",
		   file && *file ? "programs of new sessions load the guest (duet install --system)"
				 : "programs that duet did not start do not load the guest, and "
				   "record -a and -p miss their calls; duet install --system "
				   "changes that");
}

static void examine_opencl(struct doctor *doctor)
{
	struct probe_result loader;
	bool has_loader, has_driver;

	doctor->opencl.name = "opencl";
	has_loader = check_loader(doctor, &loader);
	if (has_loader)
		check_layers(doctor, loader.text);
	has_driver = check_drivers(doctor);
	if (has_loader && has_driver)
		check_devices(doctor, loader.text);
	doctor_check_guest(&doctor->opencl, OPENCL_GUEST, "");
	check_installed(doctor);
	check_environment(doctor);
}

static void check_tool(struct doctor *doctor, const char *variable, const char *what,
		       const char *fix)
{
	const char *value = getenv(variable);

	if (value && *value)
		doctor_add(
			&doctor->ranges, "environment", false, false, fix,
			"%s=%s belongs to another tool and is kept: ranges of %s are not recorded",
			variable, value, what);
}

static void examine_ranges(struct doctor *doctor)
{
	doctor->ranges.name = "ranges";
	doctor_check_guest(&doctor->ranges, RANGES_GUEST, "");
	check_tool(doctor, RANGES_NVTX_VARIABLE, "NVTX", "unset " RANGES_NVTX_VARIABLE);
	check_tool(doctor, RANGES_ITT_VARIABLE, "ITT", "unset " RANGES_ITT_VARIABLE);
	doctor_add(&doctor->ranges, "roctx", true, false, NULL, "%s",
		   ranges_has_roctx()
			   ? "the guest is preloaded into every program"
			   : "ROCm is not installed: the guest is preloaded only into programs "
			     "linked to roctx");
}

static void check_kernel(struct doctor *doctor, const struct perf_rings_state *state)
{
	char rights[PATH_MAX + 200];

	if (state->has_kernel) {
		doctor_add(&doctor->cpu, "kernel", true, false, NULL,
			   "samples inside the kernel, with kernel stacks");
		return;
	}
	perf_rights_text(1, rights, sizeof(rights));
	doctor_add(&doctor->cpu, "kernel", false, false, KERNEL_FIX,
		   "samples inside the kernel are missing: %s", rights);
}

static void check_waits(struct doctor *doctor)
{
	int scope = ptrace_scope();
	char rights[PATH_MAX + 300];

	if (blocked_try()) {
		doctor_add(&doctor->cpu, "waits", false, false, NULL,
			   "wait locations are not recorded: %s", error_text());
		error_clear();
	} else if (ptrace_is_limited(scope)) {
		ptrace_rights_text(scope, false, -EPERM, rights, sizeof(rights));
		doctor_add(&doctor->cpu, "waits", true, false, NULL,
			   "stacks of waiting threads are recorded for programs that duet starts, "
			   "not for "
			   "running processes: %s",
			   rights);
	} else {
		doctor_add(&doctor->cpu, "waits", true, false, NULL,
			   "stacks of waiting threads are recorded");
	}
}

/* Opens the same perf events as a recording. */
static void examine_threads(struct doctor *doctor)
{
	const struct perf_rings_options options = {
		.frequency_hz = 199, .stack_bytes = 16384, .faults = true};
	struct perf_rings_state state;
	struct perf_rings *rings;

	doctor->cpu.name = "cpu";
	if (perf_rings_open(&options, &rings)) {
		doctor_add(&doctor->cpu, "perf", false, false,
			   perf_paranoid() > 2 ? PERF_FIX : NULL,
			   "native functions of running threads are not recorded: threads are "
			   "polled 200 times a second instead of sampled; %s",
			   error_text());
		error_clear();
	} else {
		perf_rings_state(rings, &state);
		perf_rings_close(rings);
		doctor_add(&doctor->cpu, "perf", true, false, NULL, "%s, %sswitches, user stacks",
			   state.source.name, state.has_faults ? "page faults, " : "");
		check_kernel(doctor, &state);
	}
	check_waits(doctor);
	doctor_examine_kernel(&doctor->cpu);
}

/* Joins the texts of failed checks, or with `fixes` their commands, each once. */
static void join_missing(const struct doctor_collector *collector, bool fixes,
			 struct string_builder *text)
{
	const char *before = fixes ? " && " : "; ";

	for (size_t i = 0; i < collector->check_count; i++) {
		const struct doctor_check *check = &collector->checks[i];
		const char *piece = fixes ? check->fix : check->text;

		if (check->ok || !check->needed || !piece)
			continue;
		if (text->length && strstr(string_builder_text(text), piece))
			continue;
		string_builder_append(text, text->length ? before : "");
		string_builder_append(text, piece);
	}
}

static void json_joined(struct json_writer *json, const struct doctor_collector *collector,
			bool fixes)
{
	struct string_builder text = {0};

	join_missing(collector, fixes, &text);
	json_string(json, text.length ? string_builder_text(&text) : NULL);
	string_builder_fini(&text);
}

static void json_checks(struct json_writer *json, const struct doctor_collector *collector)
{
	json_pair_array(json, "checks");
	for (size_t i = 0; i < collector->check_count; i++) {
		const struct doctor_check *check = &collector->checks[i];

		json_line_begin(json);
		json_pair_text(json, "name", check->name);
		json_pair_bool(json, "ok", check->ok);
		json_pair_bool(json, "needed", check->needed);
		json_pair_text(json, "text", check->text);
		json_pair_text(json, "fix", check->fix);
		json_object_end(json);
	}
	json_array_end(json);
}

static void json_host(struct json_writer *json, const struct host *host)
{
	json_pair_object(json, "host");
	json_pair_text(json, "name", host->name);
	json_pair_text(json, "kernel", host->uname.release);
	json_pair_text(json, "machine", host->uname.machine);
	json_pair_text(json, "cpu", *host->cpu ? host->cpu : NULL);
	json_pair_i64(json, "cpu_count", host->cpu_count);
	json_pair_u64(json, "memory_bytes", host->memory_bytes);
	json_pair_text(json, "clock_source", *host->clock_source ? host->clock_source : NULL);
	json_pair_bool(json, "invariant_tsc", host->has_usable_tsc);
	json_pair_u64(json, "open_files", host->open_files);
	json_key(json, "locked_memory_bytes");
	if (host->locked_memory_bytes == UINT64_MAX)
		json_null(json);
	else
		json_u64(json, host->locked_memory_bytes);
	json_key(json, "perf_event_paranoid");
	if (host->has_perf_paranoid)
		json_i64(json, host->perf_paranoid);
	else
		json_null(json);
	json_object_end(json);
}

static void json_collector(struct json_writer *json, const struct doctor_collector *collector)
{
	json_line_begin(json);
	json_pair_text(json, "name", collector->name);
	json_pair_bool(json, "available", is_available(collector));
	json_key(json, "reason");
	json_joined(json, collector, false);
	json_key(json, "fix");
	json_joined(json, collector, true);
	json_checks(json, collector);
	json_object_end(json);
}

/* The collectors in the order of the output. */
static const struct doctor_collector *collector_at(const struct doctor *doctor, size_t index)
{
	const struct doctor_collector *const all[EXAMINED] = {
		&doctor->opencl,     &doctor->cpu,    &doctor->amd,
		&doctor->level_zero, &doctor->ranges, &doctor->system,
		&doctor->nvidia,     &doctor->drm,    &doctor->intel,
	};

	return all[index];
}

static int print_json(const struct doctor *doctor)
{
	struct json_writer json;

	json_init_file(&json, stdout);
	json_object_begin(&json);
	json_pair_text(&json, "schema", "duet.doctor/1");
	json_newline(&json);
	json_host(&json, &doctor->host);
	json_line_array(&json, "collectors");
	for (size_t i = 0; i < EXAMINED; i++)
		json_collector(&json, collector_at(doctor, i));
	json_array_end(&json);
	json_object_end(&json);
	printf("\n");
	return json_error(&json);
}

static void print_limits(const struct host *host)
{
	printf("limits    open files %" PRIu64 ", locked memory ", host->open_files);
	if (host->locked_memory_bytes == UINT64_MAX)
		printf("unlimited");
	else
		printf("%" PRIu64 " KiB", host->locked_memory_bytes >> 10);
	if (host->has_perf_paranoid)
		printf(", perf_event_paranoid %ld", host->perf_paranoid);
	printf("\n");
}

static void print_host(const struct host *host)
{
	printf("host      %s, Linux %s %s\n", host->name, host->uname.release, host->uname.machine);
	printf("cpu       %ld x %s, memory %" PRIu64 " MiB\n", host->cpu_count,
	       *host->cpu ? host->cpu : "(unknown model)", host->memory_bytes >> 20);
	if (host->has_usable_tsc)
		printf("clock     TSC: a timestamp is one read of the counter\n");
	else
		printf("clock     no usable TSC: a timestamp is a clock_gettime call, "
		       "so tracing a call costs more\n");
	print_limits(host);
}

static void print_collector(const struct doctor_collector *collector)
{
	struct string_builder fixes = {0};

	printf("\n%-9s %s\n", collector->name,
	       is_available(collector) ? "can be recorded" : "cannot be recorded");
	for (size_t i = 0; i < collector->check_count; i++) {
		const struct doctor_check *check = &collector->checks[i];

		printf("  %-7s %-12s %s",
		       check->ok       ? "ok"
		       : check->needed ? "missing"
				       : "broken",
		       check->name, check->text);
		/* fixes of needed checks are printed together at the end */
		if (!check->needed && check->fix && !strstr(check->text, check->fix))
			printf("; to fix it: %s", check->fix);
		putchar('\n');
	}
	join_missing(collector, true, &fixes);
	if (fixes.length)
		printf("\nTo fix it: %s\n", string_builder_text(&fixes));
	string_builder_fini(&fixes);
}

static int run_doctor(const struct cli_command *command, int argc, char **argv)
{
	const char *root = getenv("DUET_DOCTOR_ROOT");
	auto_free struct doctor *doctor = NULL;
	bool as_json = false;
	int operand = options_parse(command, argc, argv, false, &as_json);

	if (operand < 0)
		return operand == -1 ? STATUS_DONE : STATUS_USAGE;
	if (operand < argc)
		return usage_error(command, "unexpected argument '%s'", argv[operand]);
	doctor = calloc(1, sizeof(*doctor));
	if (!doctor) {
		print_error(command->name, "out of memory");
		return STATUS_FAILED;
	}
	doctor->root = root ? root : "";
	if (examine_host(doctor))
		return print_failure(command);
	examine_opencl(doctor);
	examine_threads(doctor);
	doctor_examine_amd(&doctor->amd, doctor->root);
	doctor_examine_level_zero(&doctor->level_zero, doctor->root);
	examine_ranges(doctor);
	doctor_examine_system(&doctor->system, doctor->root);
	doctor_examine_nvidia(&doctor->nvidia, doctor->root);
	doctor_examine_drm(&doctor->drm, doctor->root);
	doctor_examine_intel(&doctor->intel, doctor->root);
	if (as_json) {
		print_json(doctor);
	} else {
		print_host(&doctor->host);
		for (size_t i = 0; i < EXAMINED; i++)
			print_collector(collector_at(doctor, i));
	}
	return finish_output(command->name, STATUS_DONE);
}

const struct cli_command command_doctor = {
	.name = "doctor",
	.arguments = "[--json]",
	.summary = "check what this machine can record and how to enable the rest",
	.run = run_doctor,
	.options = doctor_options,
	.remote = &(const struct remote_way){.kind = REMOTE_PRINT},
};
