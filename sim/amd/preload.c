/* SPDX-License-Identifier: MIT
 *
 * sim/amd/preload.c - functions of libc that this library replaces
 *
 * Runs in:  a program that uses ROCr, or any other program that preloads this library
 * Gets:     every call of these functions from outside of libc; calls for other files are passed on
 * Owns:     two files in memory that represent /dev/kfd and the render nodes. A program that opens
 *           them gets another descriptor of the same file, recognised by the file's number: also
 *           after dup, but not after close.
 * Fails:    as libc does, with errno
 * Why:      the symbols have no version; otherwise they would not replace open@GLIBC_2.2.5.
 */
#undef _FILE_OFFSET_BITS /* by which open is called open64: here both are */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sim.h"

/* The function of that name that the program would have without us. */
#define REAL(name)                                                           \
	({                                                                   \
		static __typeof__(name) *found;                              \
		if (!found)                                                  \
			found = (__typeof__(name) *)dlsym(RTLD_NEXT, #name); \
		found;                                                       \
	})

/* ---- devices --------------------------------------------------------------------------------- */

enum device { NO_DEVICE = -1, KFD, RENDER, DEVICES };

static struct {
	int file;
	dev_t device;
	ino_t number;
} devices[DEVICES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void forget_after_fork(void)
{
	sim_memory_forget();
	sim_event_forget();
	sim_queue_forget();
}

static void make_devices(void)
{
	struct stat status;

	for (int i = 0; i < DEVICES; i++) {
		devices[i].file = memfd_create(i == KFD ? "sim-kfd" : "sim-render", MFD_CLOEXEC);
		if (devices[i].file < 0 || fstat(devices[i].file, &status) != 0)
			sim_die("no file in memory: %s", strerror(errno));
		devices[i].device = status.st_dev;
		devices[i].number = status.st_ino;
	}
	pthread_atfork(NULL, NULL, forget_after_fork);
}

static enum device device_of_path(const char *path)
{
	unsigned minor;

	if (strcmp(path, "/dev/kfd") == 0)
		return KFD;
	if (sscanf(path, "/dev/dri/renderD%u", &minor) == 1 && minor >= SIM_RENDER_MINOR &&
	    minor < SIM_RENDER_MINOR + sim_options()->gpus)
		return RENDER;
	return NO_DEVICE;
}

static enum device device_of_file(int file)
{
	struct stat status;

	if (file < 0 || !devices[KFD].number || fstat(file, &status) != 0)
		return NO_DEVICE;
	for (int i = 0; i < DEVICES; i++)
		if (status.st_ino == devices[i].number && status.st_dev == devices[i].device)
			return (enum device)i;
	return NO_DEVICE;
}

/* A new descriptor, or -2: the path is not ours. */
static int open_device(const char *path)
{
	enum device device = path ? device_of_path(path) : NO_DEVICE;

	if (device == NO_DEVICE)
		return -2;
	pthread_once(&once, make_devices);
	return fcntl(devices[device].file, F_DUPFD_CLOEXEC, 0);
}

#define OPEN(path, flags, real, ...)                                         \
	({                                                                   \
		int file_ = open_device(path);                               \
		mode_t mode_ = 0;                                            \
		if (file_ == -2 && (flags) & (O_CREAT | __O_TMPFILE)) {      \
			va_list more_;                                       \
			va_start(more_, flags);                              \
			mode_ = va_arg(more_, mode_t);                       \
			va_end(more_);                                       \
		}                                                            \
		file_ == -2 ? REAL(real)(__VA_ARGS__, flags, mode_) : file_; \
	})

SIM_EXPORT int open(const char *path, int flags, ...)
{
	return OPEN(path, flags, open, path);
}

SIM_EXPORT int open64(const char *path, int flags, ...)
{
	return OPEN(path, flags, open64, path);
}

SIM_EXPORT int openat(int folder, const char *path, int flags, ...)
{
	return OPEN(path, flags, openat, folder, path);
}

SIM_EXPORT int openat64(int folder, const char *path, int flags, ...)
{
	return OPEN(path, flags, openat64, folder, path);
}

SIM_EXPORT int ioctl(int file, unsigned long request, ...)
{
	va_list more;
	void *arguments;
	int result;

	va_start(more, request);
	arguments = va_arg(more, void *);
	va_end(more);
	if (device_of_file(file) != KFD)
		return REAL(ioctl)(file, request, arguments);
	result = sim_ioctl(request, arguments);
	if (result == 0)
		return 0;
	errno = -result;
	return -1;
}

/* GPU memory is the host's, also where the thunk wants it out of the host's reach: the GPU is in
 * this process. */
static void *map_memory(void *address, size_t bytes, int flags)
{
	int placed = flags & (MAP_FIXED | MAP_FIXED_NOREPLACE);

	return (void *)syscall(SYS_mmap, address, bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | placed, -1, 0);
}

SIM_EXPORT void *mmap(void *address, size_t bytes, int protection, int flags, int file,
		      off_t offset)
{
	enum device device = flags & MAP_ANONYMOUS ? NO_DEVICE : device_of_file(file);
	uint64_t place = (uint64_t)offset;

	if (device != NO_DEVICE && !(device == KFD && sim_doorbell_file(place, &file, &place)))
		return map_memory(address, bytes, flags);
	return (void *)syscall(SYS_mmap, address, bytes, protection, flags, file, place);
}

SIM_EXPORT void *mmap64(void *address, size_t bytes, int protection, int flags, int file,
			off64_t offset)
{
	return mmap(address, bytes, protection, flags, file, offset);
}

/* ---- files of the topology ------------------------------------------------------------------- */

/* A stream that holds the text itself. */
static FILE *open_text(const char *path)
{
	char *text = sim_topology_read(path);
	FILE *stream = text ? fmemopen(NULL, strlen(text) + 1, "w+") : NULL;

	if (stream) {
		fputs(text, stream);
		rewind(stream);
	} else {
		errno = ENOENT;
	}
	free(text);
	return stream;
}

SIM_EXPORT FILE *fopen(const char *path, const char *mode)
{
	return sim_topology_has(path) ? open_text(path) : REAL(fopen)(path, mode);
}

SIM_EXPORT FILE *fopen64(const char *path, const char *mode)
{
	return sim_topology_has(path) ? open_text(path) : REAL(fopen64)(path, mode);
}

enum { MAX_FOLDERS = 16 };

/* Our open folders. libc's own folder streams are never at these addresses. */
static struct folder {
	char path[256];
	size_t next;
	struct dirent entry;
} folders[MAX_FOLDERS];
static pthread_mutex_t folders_lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_ours(const DIR *stream)
{
	return (const void *)stream >= (const void *)folders &&
	       (const void *)stream < (const void *)(folders + MAX_FOLDERS);
}

SIM_EXPORT DIR *opendir(const char *path)
{
	struct folder *free_one = NULL;

	if (!sim_topology_has(path))
		return REAL(opendir)(path);
	pthread_mutex_lock(&folders_lock);
	for (int i = 0; i < MAX_FOLDERS && !free_one; i++)
		if (!folders[i].path[0])
			free_one = &folders[i];
	if (free_one) {
		snprintf(free_one->path, sizeof(free_one->path), "%s", path);
		free_one->next = 0;
	}
	pthread_mutex_unlock(&folders_lock);
	errno = free_one ? errno : EMFILE;
	return (DIR *)free_one;
}

SIM_EXPORT struct dirent *readdir(DIR *stream)
{
	struct folder *folder = (struct folder *)stream;
	char name[16];

	if (!is_ours(stream))
		return REAL(readdir)(stream);
	if (!sim_topology_entry(folder->path, folder->next, name))
		return NULL;
	folder->next++;
	strcpy(folder->entry.d_name, name);
	folder->entry.d_type = DT_DIR;
	return &folder->entry;
}

SIM_EXPORT struct dirent64 *readdir64(DIR *stream)
{
	return is_ours(stream) ? (struct dirent64 *)readdir(stream) : REAL(readdir64)(stream);
}

SIM_EXPORT int closedir(DIR *stream)
{
	if (!is_ours(stream))
		return REAL(closedir)(stream);
	((struct folder *)stream)->path[0] = '\0';
	return 0;
}

/* ---- clock ----------------------------------------------------------------------------------- */

int sim_real_clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	return REAL(clock_gettime)(clock, ret_time);
}

SIM_EXPORT int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	uint64_t now_ns;

	if (clock != CLOCK_BOOTTIME || sim_options()->jump_ms == 0)
		return REAL(clock_gettime)(clock, ret_time);
	now_ns = sim_system_ns(sim_now());
	ret_time->tv_sec = (time_t)(now_ns / 1000000000);
	ret_time->tv_nsec = (long)(now_ns % 1000000000);
	return 0;
}
