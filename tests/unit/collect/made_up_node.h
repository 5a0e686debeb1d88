/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/made_up_node.h - a render node that there is none of: what its driver answers,
 * and what is read of its stream
 *
 * One at a time. What is read comes in the order in which it was put: bytes, or an errno; behind
 * the last EAGAIN.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "collect/intel/gpu_node.h"
#include "abi/i915_perf.h"
#include "abi/xe.h"

/* An answer is the driver's head with what belongs to it, one behind the other. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wgnu-variable-sized-type-not-at-end"
#endif

enum { MAX_READS_PUT = 32, MAX_READ_BYTES = 1 << 16, MAX_QUERIES = 16, MAX_ASKED = 64 };

struct made_up_answer {
	const void *answer;
	uint32_t size;
};

static struct {
	pthread_mutex_t lock;
	struct made_up_answer queries[MAX_QUERIES]; /* of xe, by number; NULL: EINVAL */
	struct made_up_answer engines;              /* of i915 */
	int params[64];                             /* of i915; 0: EINVAL */
	uint32_t i915_format;                       /* the one that is opened */
	_Atomic int open_error, add_error;          /* 0: none */
	uint64_t status;                            /* of OA, after EIO */
	/* what was asked */
	_Atomic uint64_t values[MAX_ASKED]; /* of properties, by number from 0 or from 1000 on */
	_Atomic uint32_t instances;         /* of engines, as bits */
	_Atomic uint32_t opened, added, removed, tried;
	_Atomic int fd; /* of the last stream */
	char uuid[XE_OA_UUID_CHARACTERS + 1];
	/* what is read */
	struct {
		int error;
		size_t size;
		uint8_t bytes[MAX_READ_BYTES];
	} reads[MAX_READS_PUT];
	size_t put, taken;
} made_up = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int made_up_fail(int error)
{
	errno = error;
	return -1;
}

static void made_up_note(uint64_t number, uint64_t value)
{
	if (number == PRELIM_EU_STALL_ENGINE_INSTANCE)
		made_up.instances |= 1u << value;
	if (number >= 1000)
		number -= 980;
	if (number < MAX_ASKED)
		made_up.values[number] = value;
}

/* It can be polled for, and always can be read from. */
static int made_up_stream(bool is_closed_by_exec)
{
	made_up.tried++;
	if (made_up.open_error)
		return made_up_fail(made_up.open_error);
	made_up.opened++;
	made_up.fd = eventfd(1, is_closed_by_exec ? EFD_CLOEXEC : 0);
	return made_up.fd;
}

static int made_up_observe(const struct xe_observation_param *param)
{
	const struct xe_oa_config *config = (const void *)(uintptr_t)param->param;
	const struct xe_set_property *property = (const void *)(uintptr_t)param->param;

	switch (param->observation_op) {
	case XE_OBSERVATION_ADD_CONFIG:
		memcpy(made_up.uuid, config->uuid, XE_OA_UUID_CHARACTERS);
		made_up.added++;
		return made_up.add_error ? made_up_fail(made_up.add_error) : 7;
	case XE_OBSERVATION_REMOVE_CONFIG:
		made_up.removed += *(const uint64_t *)(uintptr_t)param->param == 7;
		return 0;
	default:
		for (; property; property = (const void *)(uintptr_t)property->next_extension)
			made_up_note(property->property, property->value);
		/* xe has no flag for it */
		return made_up_stream(false);
	}
}

static int made_up_perf_open(const struct i915_perf_open_param *param)
{
	const uint64_t *pairs = (const void *)(uintptr_t)param->properties_ptr;

	for (uint32_t i = 0; i < param->num_properties; i++)
		made_up_note(pairs[2 * i], pairs[2 * i + 1]);
	made_up.values[0] = param->flags;
	if (!(param->flags & PRELIM_I915_PERF_EU_STALL) &&
	    made_up.values[I915_PERF_OA_FORMAT] != made_up.i915_format)
		return made_up_fail(EINVAL);
	return made_up_stream(param->flags & I915_PERF_CLOEXEC);
}

static int made_up_engines(const struct i915_query *query)
{
	struct i915_query_item *item = (void *)(uintptr_t)query->items_ptr;

	if (!made_up.engines.answer)
		return made_up_fail(EINVAL);
	item->length = (int32_t)made_up.engines.size;
	if (item->data_ptr)
		memcpy((void *)(uintptr_t)item->data_ptr, made_up.engines.answer,
		       made_up.engines.size);
	return 0;
}

static int made_up_query(struct xe_device_query *query)
{
	const struct made_up_answer *found =
		query->query < MAX_QUERIES ? &made_up.queries[query->query] : NULL;

	if (!found || !found->answer)
		return made_up_fail(EINVAL);
	if (query->size)
		memcpy((void *)(uintptr_t)query->data, found->answer, found->size);
	query->size = found->size;
	return 0;
}

static int made_up_param(const struct i915_getparam *ask)
{
	if (ask->param >= 64 || !made_up.params[ask->param])
		return made_up_fail(EINVAL);
	*ask->value = made_up.params[ask->param];
	return 0;
}

static int made_up_ioctl(int fd, unsigned long request, void *argument)
{
	switch (request) {
	case XE_IOCTL_DEVICE_QUERY:
		return made_up_query(argument);
	case XE_IOCTL_OBSERVATION:
		return made_up_observe(argument);
	case XE_STREAM_ENABLE:
		return 0;
	case XE_STREAM_STATUS:
		((struct xe_oa_stream_status *)argument)->oa_status = made_up.status;
		return 0;
	case I915_IOCTL_QUERY:
		return made_up_engines(argument);
	case I915_IOCTL_GETPARAM:
		return made_up_param(argument);
	case I915_IOCTL_PERF_OPEN:
		return made_up_perf_open(argument);
	case I915_IOCTL_PERF_ADD_CONFIG:
		made_up.added++;
		return 7;
	case I915_IOCTL_PERF_REMOVE_CONFIG:
		made_up.removed += *(const uint64_t *)argument == 7;
		return 0;
	default:
		return made_up_fail(ENOTTY);
	}
}

static ssize_t made_up_read(int fd, void *buffer, size_t size)
{
	ssize_t result = -1;

	pthread_mutex_lock(&made_up.lock);
	if (made_up.taken == made_up.put) {
		errno = EAGAIN;
	} else if (made_up.reads[made_up.taken].error) {
		errno = made_up.reads[made_up.taken++].error;
	} else {
		result = (ssize_t)made_up.reads[made_up.taken].size;
		memcpy(buffer, made_up.reads[made_up.taken++].bytes, (size_t)result);
	}
	pthread_mutex_unlock(&made_up.lock);
	return result;
}

static void made_up_put(int error, const void *bytes, size_t size)
{
	pthread_mutex_lock(&made_up.lock);
	made_up.reads[made_up.put].error = error;
	made_up.reads[made_up.put].size = size;
	if (size)
		memcpy(made_up.reads[made_up.put].bytes, bytes, size);
	made_up.put++;
	pthread_mutex_unlock(&made_up.lock);
}

/* Forgets all. */
static struct gpu_node made_up_begin(const char *driver)
{
	struct gpu_node node = {.fd = -1, .ioctl = made_up_ioctl, .read = made_up_read};
	const pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	memset(&made_up, 0, sizeof(made_up));
	made_up.lock = lock;
	strcpy(node.driver, driver);
	return node;
}
