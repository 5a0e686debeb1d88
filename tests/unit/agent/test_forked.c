/* SPDX-License-Identifier: MIT
 *
 * tests/unit/agent/test_forked.c - bytes that a child computes, and children that fail
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "agent/endpoints/forked.h"
#include "harness.h"

#define S UINT64_C(1000000000)

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * S + (uint64_t)now.tv_nsec;
}

static uint64_t max_memory;

/* Waits for the result of a function. */
static int run(int (*make)(void *context, void **ret_bytes, size_t *ret_size), void *context,
	       uint64_t limit_ns, char **ret_bytes, size_t *ret_size)
{
	const struct forked_options options = {.make = make,
					       .context = context,
					       .time_limit_ns = limit_ns,
					       .max_bytes = 1000000,
					       .max_memory = max_memory};
	struct forked *forked = NULL;
	int error = forked_start(&options, now_ns(), &forked);

	*ret_bytes = NULL;
	while (!error &&
	       (error = forked_take(forked, now_ns(), (void **)ret_bytes, ret_size)) == -EAGAIN) {
		struct pollfd wait = {.fd = forked_fd(forked), .events = POLLIN};

		poll(&wait, 1, 50);
		error = 0;
	}
	forked_free(forked);
	return error;
}

static int make_bytes(void *context, void **ret_bytes, size_t *ret_size)
{
	size_t size = *(size_t *)context;
	char *bytes = malloc(size + 1);

	if (!bytes)
		return -ENOMEM;
	for (size_t i = 0; i < size; i++)
		bytes[i] = (char)(i * 7);
	*ret_bytes = bytes;
	*ret_size = size;
	return 0;
}

TEST(the_bytes_arrive)
{
	static const size_t sizes[] = {0, 1, 65532, 65536, 999999};

	for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
		size_t size = sizes[k], got = 77, wrong = 0;
		char *bytes;

		CHECK_EQUAL(run(make_bytes, &size, 60 * S, &bytes, &got), 0);
		CHECK_EQUAL(got, size);
		for (size_t i = 0; bytes && i < size; i++)
			wrong += bytes[i] != (char)(i * 7);
		CHECK_EQUAL(wrong, 0);
		free(bytes);
	}
}

TEST(too_many_bytes_are_refused)
{
	size_t size = 1000001, got = 77;
	char *bytes;

	CHECK_EQUAL(run(make_bytes, &size, 60 * S, &bytes, &got), -EFBIG);
	CHECK(!bytes);
	CHECK_EQUAL(got, 77);
}

static int fail(void *context, void **ret_bytes, size_t *ret_size)
{
	(void)context;
	(void)ret_bytes;
	(void)ret_size;
	return -ENODATA;
}

static int die(void *context, void **ret_bytes, size_t *ret_size)
{
	(void)context;
	(void)ret_bytes;
	(void)ret_size;
	_exit(3);
	return 0;
}

static int hang(void *context, void **ret_bytes, size_t *ret_size)
{
	(void)context;
	(void)ret_bytes;
	(void)ret_size;
	while (pause())
		;
	return 0;
}

static int take_memory(void *context, void **ret_bytes, size_t *ret_size)
{
	char *bytes = malloc(256 << 20);

	(void)context;
	*ret_bytes = bytes;
	*ret_size = 1;
	return bytes ? 0 : -ENOMEM;
}

TEST(children_that_fail_have_an_error)
{
	uint64_t begin_ns = now_ns();
	size_t got;
	char *bytes;

	CHECK_EQUAL(run(fail, NULL, 60 * S, &bytes, &got), -ENODATA);
	CHECK_EQUAL(run(die, NULL, 60 * S, &bytes, &got), -ECHILD);
	CHECK_EQUAL(run(hang, NULL, S / 4, &bytes, &got), -ETIMEDOUT);
	CHECK(now_ns() - begin_ns < 50 * S);
	if (HARNESS_IS_SLOW)
		SKIP("the sanitizer needs memory without a limit");
	max_memory = 64 << 20;
	CHECK_EQUAL(run(take_memory, NULL, 60 * S, &bytes, &got), -ENOMEM);
}

int main(void)
{
	RUN(the_bytes_arrive);
	RUN(too_many_bytes_are_refused);
	RUN(children_that_fail_have_an_error);
	return harness_end();
}
