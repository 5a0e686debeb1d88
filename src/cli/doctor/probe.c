/* SPDX-License-Identifier: MIT
 *
 * cli/doctor/probe.c - load vendors' libraries in a separate process
 *
 * Runs in:  our own process and short-lived children of it
 * Gets:     a library's name, and environment variables for the child
 * Gives:    whether it loads, from which path, and its devices
 * Owns:     one child and one pipe at a time
 * Fails:    never; a crash of the child or a timeout of 20 s is a result
 * Why:      dlopen runs the driver's constructor. A crash in it would end `duet doctor` on exactly
 *           the machine that needs it. The limit is 20 s because the first start of a GPU runtime,
 *           which compiles its built-in kernels, took up to 10 s
 */
#include "cli/doctor/probe.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "collect/nvidia/nvml.h"

#define PROBE_SECONDS 20
#define MAX_DEVICES   16

/* First byte of a child's answer. */
enum { ANSWER_OK = 'y', ANSWER_NO = 'n' };

typedef void probe_child(const char *library, int fd);

static const char *const no_variables[] = {NULL};

static void send_answer(int fd, char kind, const char *text)
{
	write_all(fd, &kind, 1);
	write_all(fd, text, strlen(text));
}

static void load_child(const char *library, int fd)
{
	char path[PATH_MAX];
	struct link_map *map = NULL;
	void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);

	if (!handle) {
		send_answer(fd, ANSWER_NO, dlerror());
		return;
	}
	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && realpath(map->l_name, path))
		library = path;
	send_answer(fd, ANSWER_OK, library);
}

/* The declarations of OpenCL 1.0 that are needed to list devices. */
typedef int32_t get_platforms(uint32_t count, void **platforms, uint32_t *ret_count);
typedef int32_t get_devices(void *platform, uint64_t type, uint32_t count, void **devices,
			    uint32_t *ret_count);
typedef int32_t get_device_info(void *device, uint32_t name, size_t size, void *value,
				size_t *ret_size);
#define OPENCL_DEVICE_TYPE_ALL UINT64_C(0xffffffff)
#define OPENCL_DEVICE_NAME     0x102bu

struct opencl {
	get_platforms *platforms;
	get_devices *devices;
	get_device_info *device_info;
};

static bool find_opencl(const char *library, struct opencl *ret_opencl)
{
	void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);

	if (!handle)
		return false;
	ret_opencl->platforms = (get_platforms *)dlsym(handle, "clGetPlatformIDs");
	ret_opencl->devices = (get_devices *)dlsym(handle, "clGetDeviceIDs");
	ret_opencl->device_info = (get_device_info *)dlsym(handle, "clGetDeviceInfo");
	return ret_opencl->platforms && ret_opencl->devices && ret_opencl->device_info;
}

/* Appends the names of a platform's devices, separated by ", "; returns their number. */
static uint32_t list_devices(const struct opencl *opencl, void *platform, char *text, size_t size)
{
	void *devices[MAX_DEVICES];
	uint32_t count = 0;

	if (opencl->devices(platform, OPENCL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &count) != 0)
		return 0;
	if (count > MAX_DEVICES)
		count = MAX_DEVICES;
	for (uint32_t i = 0; i < count; i++) {
		size_t used = strlen(text);
		char name[200] = "?";

		opencl->device_info(devices[i], OPENCL_DEVICE_NAME, sizeof(name) - 1, name, NULL);
		snprintf(text + used, size - used, "%s%s", used ? ", " : "", name);
	}
	return count;
}

static void devices_child(const char *library, int fd)
{
	void *platforms[MAX_DEVICES];
	uint32_t platform_count = 0, device_count = 0;
	struct opencl opencl;
	char text[900] = "";

	if (!find_opencl(library, &opencl)) {
		send_answer(fd, ANSWER_NO, "the library lacks functions of OpenCL 1.0");
		return;
	}
	if (opencl.platforms(MAX_DEVICES, platforms, &platform_count) != 0)
		platform_count = 0;
	if (platform_count > MAX_DEVICES)
		platform_count = MAX_DEVICES;
	for (uint32_t i = 0; i < platform_count; i++)
		device_count += list_devices(&opencl, platforms[i], text, sizeof(text));
	if (device_count)
		send_answer(fd, ANSWER_OK, text);
	else
		send_answer(fd, ANSWER_NO,
			    platform_count ? "the drivers have no device" : "no driver responds");
}

static void describe_gpu(const struct nvml *nvml, const struct nvidia_device *gpu, char *text,
			 size_t size)
{
	struct nvml_gpm_support support = {.version = NVML_GPM_SUPPORT_VERSION};
	size_t used = strlen(text);
	unsigned streams = 0;

	if (NVML_CALL(nvml, nvmlGpmQueryDeviceSupport, gpu->handle, &support))
		support.is_supported = 0;
	NVML_CALL(nvml, nvmlGpmQueryIfStreamingEnabled, gpu->handle, &streams);
	snprintf(text + used, size - used, "%s%s (%s%s%s%s)", used ? ", " : "", gpu->name,
		 gpu->whole ? gpu->uuid : gpu->address,
		 gpu->has_instances ? ", divided by MIG" : "", support.is_supported ? ", GPM" : "",
		 streams ? ", which streams" : "");
}

static void nvml_child(const char *library, int fd)
{
	static struct nvidia_device gpus[MAX_NVIDIA_DEVICES];
	char text[900] = "";
	nvmlReturn_t result;
	struct nvml nvml;
	size_t count;

	if (nvml_open(&nvml)) {
		send_answer(fd, ANSWER_NO, error_text());
		return;
	}
	count = nvidia_devices_find(&nvml, gpus, &result);
	for (size_t i = 0; i < count; i++)
		describe_gpu(&nvml, &gpus[i], text, sizeof(text));
	if (count)
		send_answer(fd, ANSWER_OK, text);
	else
		send_answer(
			fd, ANSWER_NO,
			nvml_result_text(result ? result : (nvmlReturn_t)NVML_ERROR_GPU_NOT_FOUND));
}

/* Never returns. _exit, because a driver's own exit handlers have been seen to crash. */
static void run_child(probe_child *child, const char *library, const char *const *variables, int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	signal(SIGALRM, SIG_DFL);
	alarm(PROBE_SECONDS);
	unsetenv("OPENCL_LAYERS");
	for (; *variables; variables++)
		putenv((char *)*variables); /* without '=' putenv removes the variable */
	child(library, fd);
	_exit(0);
}

static void explain_death(int status, char *text, size_t size)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		snprintf(text, size, "loading took longer than %d s", PROBE_SECONDS);
	else if (WIFSIGNALED(status))
		snprintf(text, size, "it crashed while loading (signal %d, %s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(text, size, "it ended the process while loading (status %d)",
			 WEXITSTATUS(status));
}

static void read_answer(int fd, struct probe_result *ret_result)
{
	auto_free char *bytes = NULL;
	size_t size = 0;

	if (read_fd(fd, 0, &bytes, &size) || !size)
		return;
	ret_result->ok = bytes[0] == ANSWER_OK;
	snprintf(ret_result->text, sizeof(ret_result->text), "%s", bytes + 1);
}

static void run_probe(probe_child *child, const char *library, const char *const *variables,
		      struct probe_result *ret_result)
{
	int pipe_fds[2], status = 0;
	pid_t pid;

	memset(ret_result, 0, sizeof(*ret_result));
	if (pipe2(pipe_fds, O_CLOEXEC)) {
		snprintf(ret_result->text, sizeof(ret_result->text), "pipe: %s", strerror(errno));
		return;
	}
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		run_child(child, library, variables, pipe_fds[1]);
	close(pipe_fds[1]);
	if (pid > 0)
		read_answer(pipe_fds[0], ret_result);
	else
		snprintf(ret_result->text, sizeof(ret_result->text), "fork: %s", strerror(errno));
	close(pipe_fds[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!ret_result->text[0])
		explain_death(status, ret_result->text, sizeof(ret_result->text));
}

void probe_library(const char *library, struct probe_result *ret_result)
{
	run_probe(load_child, library, no_variables, ret_result);
}

void probe_opencl_devices(const char *library, struct probe_result *ret_result)
{
	run_probe(devices_child, library, no_variables, ret_result);
}

void probe_opencl_devices_in(const char *library, const char *const *variables,
			     struct probe_result *ret_result)
{
	run_probe(devices_child, library, variables, ret_result);
}

void probe_nvml(struct probe_result *ret_result)
{
	run_probe(nvml_child, NULL, no_variables, ret_result);
}

bool probe_file_contains(const char *path, const char *word)
{
	auto_free char *bytes = NULL;
	size_t size = 0;

	if (read_file(path, 0, &bytes, &size)) {
		error_clear();
		return false;
	}
	return memmem(bytes, size, word, strlen(word)) != NULL;
}
