/* SPDX-License-Identifier: MIT
 *
 * tests/vm/fences.c - work for a GPU that there is none of: fences of vgem, ended by hand at times
 * that are told
 *
 * Runs in:  a virtual machine whose kernel has vgem
 * Gives:    lines, read by tests/vm/check_vm.py; times of CLOCK_MONOTONIC, before and after each
 *           call into the kernel:
 *		process PID
 *		attached BUFFER TIME TIME | signaled BUFFER TIME TIME | waited BUFFER TIME TIME TID
 * Fails:    exits 1, with a line that says where
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* ---- of drm.h and vgem_drm.h, which Debian's kernel headers lack ----------------------------- */

struct drm_version {
	int major, minor, patch;
	size_t name_length;
	char *name;
	size_t date_length;
	char *date;
	size_t description_length;
	char *description;
};

struct drm_mode_create_dumb {
	uint32_t height, width, bits, flags;
	uint32_t handle, pitch; /* out */
	uint64_t size;
};

struct drm_prime_handle {
	uint32_t handle, flags;
	int32_t fd; /* out */
};

struct drm_vgem_fence_attach {
	uint32_t handle, flags;
	uint32_t fence; /* out */
	uint32_t reserved;
};

struct drm_vgem_fence_signal {
	uint32_t fence, flags;
};

#define DRM_IOCTL_VERSION            _IOWR('d', 0x00, struct drm_version)
#define DRM_IOCTL_PRIME_HANDLE_TO_FD _IOWR('d', 0x2d, struct drm_prime_handle)
#define DRM_IOCTL_VGEM_FENCE_ATTACH  _IOWR('d', 0x41, struct drm_vgem_fence_attach)
#define DRM_IOCTL_VGEM_FENCE_SIGNAL  _IOW('d', 0x42, struct drm_vgem_fence_signal)
#define DRM_IOCTL_MODE_CREATE_DUMB   _IOWR('d', 0xb2, struct drm_mode_create_dumb)
enum { VGEM_FENCE_WRITE = 1 };

/* ---- the work -------------------------------------------------------------------------------- */

enum { BUFFERS = 5, WAITED = 3 };

/* Not in the order in which they were attached, and with pauses of different lengths. */
static const struct {
	int buffer, pause_ms;
} script[BUFFERS] = {{2, 5}, {0, 0}, {WAITED, 20}, {1, 10}, {4, 1}};

struct waiter {
	int buffer_fd;
	_Atomic int tid;
	uint64_t before_ns, after_ns;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void pause_ms(int duration_ms)
{
	const struct timespec duration = {.tv_nsec = duration_ms * 1000000L};

	nanosleep(&duration, NULL);
}

static void call(int fd, unsigned long request, void *argument, const char *name)
{
	if (ioctl(fd, request, argument) == 0)
		return;
	printf("failed %s: %s\n", name, strerror(errno));
	exit(1);
}

static int open_vgem(void)
{
	for (int i = 0; i < 16; i++) {
		char path[32], driver[16] = "";
		struct drm_version version = {.name = driver, .name_length = sizeof(driver) - 1};
		int fd;

		snprintf(path, sizeof(path), "/dev/dri/card%d", i);
		fd = open(path, O_RDWR);
		if (fd >= 0 && ioctl(fd, DRM_IOCTL_VERSION, &version) == 0 &&
		    strcmp(driver, "vgem") == 0)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	printf("failed open: no card is vgem's\n");
	exit(1);
}

static uint32_t make_buffer(int card)
{
	struct drm_mode_create_dumb buffer = {.width = 64, .height = 64, .bits = 32};

	call(card, DRM_IOCTL_MODE_CREATE_DUMB, &buffer, "create");
	return buffer.handle;
}

static uint32_t attach_fence(int card, uint32_t handle, int index)
{
	struct drm_vgem_fence_attach attach = {.handle = handle, .flags = VGEM_FENCE_WRITE};
	const uint64_t before_ns = now_ns();

	call(card, DRM_IOCTL_VGEM_FENCE_ATTACH, &attach, "attach");
	printf("attached %d %llu %llu\n", index, (unsigned long long)before_ns,
	       (unsigned long long)now_ns());
	return attach.fence;
}

static void signal_fence(int card, uint32_t fence, int index)
{
	struct drm_vgem_fence_signal signal = {.fence = fence};
	const uint64_t before_ns = now_ns();

	call(card, DRM_IOCTL_VGEM_FENCE_SIGNAL, &signal, "signal");
	printf("signaled %d %llu %llu\n", index, (unsigned long long)before_ns,
	       (unsigned long long)now_ns());
}

/* To read a buffer is to wait for who writes it. */
static void *wait_for_buffer(void *context)
{
	struct waiter *waiter = context;
	struct dma_buf_sync sync = {.flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ};

	waiter->before_ns = now_ns();
	waiter->tid = gettid();
	call(waiter->buffer_fd, DMA_BUF_IOCTL_SYNC, &sync, "sync");
	waiter->after_ns = now_ns();
	return NULL;
}

static bool is_asleep(int tid)
{
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	if (file)
		fclose(file);
	return state == 'S' || state == 'D';
}

static void start_waiter(struct waiter *waiter, int card, uint32_t handle, pthread_t *ret_thread)
{
	struct drm_prime_handle export = {.handle = handle, .flags = O_CLOEXEC};

	call(card, DRM_IOCTL_PRIME_HANDLE_TO_FD, &export, "export");
	waiter->buffer_fd = export.fd;
	if (pthread_create(ret_thread, NULL, wait_for_buffer, waiter))
		exit(1);
	/* It has told its number just before it goes to sleep, and sleeps nowhere else. */
	while (!waiter->tid || !is_asleep(waiter->tid))
		pause_ms(1);
}

int main(void)
{
	const int card = open_vgem();
	uint32_t handles[BUFFERS], fences[BUFFERS];
	struct waiter waiter = {0};
	pthread_t thread;

	printf("process %d\n", getpid());
	for (int i = 0; i < BUFFERS; i++) {
		handles[i] = make_buffer(card);
		fences[i] = attach_fence(card, handles[i], i);
	}
	start_waiter(&waiter, card, handles[WAITED], &thread);
	for (int i = 0; i < BUFFERS; i++) {
		pause_ms(script[i].pause_ms);
		signal_fence(card, fences[script[i].buffer], script[i].buffer);
	}
	pthread_join(thread, NULL);
	printf("waited %d %llu %llu %d\n", WAITED, (unsigned long long)waiter.before_ns,
	       (unsigned long long)waiter.after_ns, waiter.tid);
	return 0;
}
