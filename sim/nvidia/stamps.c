/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/stamps.c - convert the GPU's time to the program's
 *
 * Runs in:  a program that uses CUDA; clocks are read on CUPTI's worker and when activity is
 *           enabled
 * Gets:     the GPU's clock, and the program's timestamp callback or CLOCK_REALTIME
 * Owns:     the latest readings of both
 * Why:      linear interpolation between two readings, like the real library. The readings are
 *           spread over most of a second, so that an error of 100 ns in a reading does not bend the
 *           line.
 */
#include <pthread.h>

#include "cupti.h"

enum { PAIRS = 16, READINGS = 5 };
#define SPACING_NS UINT64_C(50000000)
#define LENGTH_NS  UINT64_C(2000000)

static _Atomic(cupti_timestamp_function) callback;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	uint64_t gpu, shown;
} pairs[PAIRS];
/* number of all readings; the latest stays last until SPACING_NS have passed */
static size_t pair_count;

/* Under the lock. */
static size_t first_pair(void)
{
	return pair_count > PAIRS ? pair_count - PAIRS : 0;
}

uint64_t sim_timestamp(void)
{
	cupti_timestamp_function function = callback;

	return function ? function() : sim_realtime();
}

void sim_stamp_pair(void)
{
	uint64_t best_ns = UINT64_MAX, gpu = 0, shown = 0;

	for (int i = 0; i < READINGS; i++) {
		uint64_t before_ns = sim_now(), now = sim_timestamp(), after_ns = sim_now();

		if (after_ns - before_ns >= best_ns)
			continue;
		best_ns = after_ns - before_ns;
		gpu = sim_gpu_clock(before_ns + best_ns / 2);
		shown = now;
	}
	pthread_mutex_lock(&lock);
	if (pair_count < 2 ||
	    pairs[(pair_count - 1) % PAIRS].gpu - pairs[(pair_count - 2) % PAIRS].gpu >= SPACING_NS)
		pair_count++;
	pairs[(pair_count - 1) % PAIRS].gpu = gpu;
	pairs[(pair_count - 1) % PAIRS].shown = shown;
	pthread_mutex_unlock(&lock);
}

/* A line through two readings needs some length. */
static bool is_long_enough(void)
{
	bool is_so;

	pthread_mutex_lock(&lock);
	is_so = pair_count >= 2 &&
		pairs[(pair_count - 1) % PAIRS].gpu - pairs[first_pair() % PAIRS].gpu >= LENGTH_NS;
	pthread_mutex_unlock(&lock);
	return is_so;
}

uint64_t sim_stamp(uint64_t host_ns)
{
	int64_t gpu_ns, shown_ns, since_ns;
	uint64_t first_shown;
	size_t first;

	while (!is_long_enough()) {
		sim_stamp_pair();
		sim_sleep_until(sim_now() + LENGTH_NS / 2);
	}
	pthread_mutex_lock(&lock);
	first = first_pair() % PAIRS;
	first_shown = pairs[first].shown;
	since_ns = (int64_t)(sim_gpu_clock(host_ns) - pairs[first].gpu);
	gpu_ns = (int64_t)(pairs[(pair_count - 1) % PAIRS].gpu - pairs[first].gpu);
	shown_ns = (int64_t)(pairs[(pair_count - 1) % PAIRS].shown - first_shown);
	pthread_mutex_unlock(&lock);
	return first_shown + (uint64_t)((__int128)since_ns * shown_ns / gpu_ns);
}

cupti_result cuptiActivityRegisterTimestampCallback(cupti_timestamp_function function)
{
	SIM_FAIL_AS_ASKED();
	if (!sim_driver())
		return CUPTI_ERROR_UNKNOWN;
	if (!function)
		return CUPTI_ERROR_INVALID_PARAMETER;
	callback = function;
	pthread_mutex_lock(&lock);
	pair_count = 0;
	pthread_mutex_unlock(&lock);
	sim_stamp_pair();
	return CUPTI_SUCCESS;
}

cupti_result cuptiGetTimestamp(uint64_t *ret_ns)
{
	SIM_FAIL_AS_ASKED();
	if (!ret_ns)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*ret_ns = sim_timestamp();
	return CUPTI_SUCCESS;
}
