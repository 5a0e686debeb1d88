/* SPDX-License-Identifier: MIT
 *
 * collect/intel/gpu_node.c - a render node of an Intel driver, and facts that the driver reports
 *
 * Runs in:  the recorder
 * Gets:     a minor device number
 * Gives:    the driver's name, its answers, the GPU's graphics IP
 * Owns:     the descriptor
 * Fails:    returns -errno; nothing is changed
 * Why:      The generation follows from the graphics IP, because a GPU whose PCI id is newer than
 *           duet may still have a known generation
 */
#include "collect/intel/gpu_node.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/xe.h"
#include "base/cleanup.h"
#include "base/error.h"

enum { MAX_ANSWER = 1 << 16, MAIN_GT = 0 };

static int ask_kernel(int fd, unsigned long request, void *argument)
{
	return ioctl(fd, request, argument);
}

static void find_address(struct gpu_node *node)
{
	char path[64], target[512];
	ssize_t length;

	snprintf(path, sizeof(path), "/sys/class/drm/renderD%d/device", node->minor);
	length = readlink(path, target, sizeof(target) - 1);
	target[length > 0 ? length : 0] = '\0';
	snprintf(node->address, sizeof(node->address), "%.63s",
		 length > 0 ? basename(target) : path);
}

bool gpu_node_open(int minor, struct gpu_node *ret_node)
{
	struct gpu_node node = {.minor = minor, .ioctl = ask_kernel, .read = read};
	struct xe_version version = {.name_length = sizeof(node.driver) - 1, .name = node.driver};
	char path[64];

	snprintf(path, sizeof(path), "/dev/dri/renderD%d", minor);
	node.fd = open(path, O_RDWR | O_CLOEXEC);
	if (node.fd < 0)
		return false;
	if (node.ioctl(node.fd, XE_IOCTL_VERSION, &version) ||
	    (strcmp(node.driver, "xe") != 0 && strcmp(node.driver, "i915") != 0)) {
		close(node.fd);
		return false;
	}
	find_address(&node);
	snprintf(node.folder, sizeof(node.folder), "/sys/class/drm/renderD%d/device/drm", minor);
	*ret_node = node;
	return true;
}

bool gpu_node_is_shut(const char *root, int minor, char *ret_text, size_t size)
{
	char path[512], target[512] = "";
	const struct group *group;
	const char *driver;
	struct stat about;
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "%s/sys/class/drm/renderD%d/device/driver", root, minor);
	length = readlink(path, target, sizeof(target) - 1);
	target[length > 0 ? length : 0] = '\0';
	driver = basename(target);
	if (strcmp(driver, "xe") != 0 && strcmp(driver, "i915") != 0)
		return false;
	snprintf(path, sizeof(path), "%s/dev/dri/renderD%d", root, minor);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	if (fd >= 0 || errno != EACCES || stat(path, &about))
		return false;
	group = getgrgid(about.st_gid);
	snprintf(ret_text, size,
		 "%s, a GPU of the driver %s, may not be opened by this user; the user must be in "
		 "the group %s ('sudo usermod -aG %s $USER', then log in again)",
		 path, driver, group ? group->gr_name : "that owns the file",
		 group ? group->gr_name : "render");
	return true;
}

void gpu_node_close(struct gpu_node *node)
{
	close(node->fd);
}

int gpu_node_begin(const struct gpu_node *node, int fd, bool keeps, unsigned long enable)
{
	int error;

	if (fd < 0)
		return -errno;
	if ((!keeps ||
	     (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0)) &&
	    (!enable || node->ioctl(fd, enable, NULL) == 0))
		return fd;
	error = -errno;
	close(fd);
	return error;
}

int gpu_node_refused(const struct gpu_stream_words *words, const char *driver, int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
		return error_set(-EACCES,
				 "%s: the driver %s allows %s for root and cap_perfmon only; to "
				 "allow all users: 'sudo sysctl dev.%s_paranoid=0'",
				 words->what, driver, words->allowed,
				 strcmp(driver, "xe") == 0 ? "xe.observation" : "i915.perf_stream");
	case EBUSY:
		return error_set(-EBUSY, "%s: another program %s already; only one can at a time",
				 words->what, words->busy);
	default:
		return error_set(-error, "%s: the driver %s refuses %s: %s", words->what, driver,
				 words->stream, strerror(error));
	}
}

int gpu_node_ask(const struct gpu_node *node, uint32_t what, void **ret_answer, uint32_t *ret_size)
{
	struct xe_device_query query = {.query = what};
	auto_free void *answer = NULL;

	if (node->ioctl(node->fd, XE_IOCTL_DEVICE_QUERY, &query))
		return -errno;
	if (!query.size || query.size > MAX_ANSWER)
		return -EPROTO;
	answer = calloc(1, query.size);
	if (!answer)
		return -ENOMEM;
	query.data = (uintptr_t)answer;
	if (node->ioctl(node->fd, XE_IOCTL_DEVICE_QUERY, &query))
		return -errno;
	*ret_answer = answer;
	*ret_size = query.size;
	answer = NULL;
	return 0;
}

int gpu_node_find_gt(const struct gpu_node *node, uint32_t nth, struct gpu_gt *ret_gt)
{
	auto_free struct xe_query_gt_list *list = NULL;
	uint32_t size, left = nth;
	int error = gpu_node_ask(node, XE_QUERY_GT_LIST, (void **)&list, &size);

	if (error)
		return error_set(error, "the driver xe does not report its GTs: %s",
				 strerror(-error));
	for (uint32_t i = 0; i < list->num_gt; i++) {
		const struct xe_gt *gt = &list->gt_list[i];

		if (size < sizeof(*list) + (i + 1) * sizeof(*gt))
			break;
		if (gt->type != MAIN_GT || left--)
			continue;
		if (!gt->ip_ver_major)
			return error_set(-ENOTSUP,
					 "the driver xe of this kernel is too old: it does not "
					 "report the GPU's graphics IP. It has OA since Linux 6.11 "
					 "and instruction samples since Linux 6.15");
		*ret_gt = (struct gpu_gt){gt->gt_id, gt->ip_ver_major, gt->ip_ver_minor};
		return 0;
	}
	return error_set(-ENOENT, "the driver xe reports %u compute GTs", nth - left);
}
