/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/harness/diagnosis.h - a program with a planted cause
 *
 * A program is main.c, one device_NAME.c, and one file for each cause, which says PLANT(...).
 * main.c runs iterations: work for the device, which it waits for, then each cause while the device
 * idles. The cause measures itself with the macros below, which record the place in the source as
 * well.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NOINLINE __attribute__((noinline))

enum { STATUS_SKIPPED = 77, MS = 1000000 };

/* Lines from first to last are accepted. The function may be several, separated by spaces. */
struct place {
	const char *function;
	const char *file;
	int first;
	int last;
};

enum measure {
	MEASURE_WALL,  /* wall time without the time of waiting for a processor */
	MEASURE_DELAY, /* the time of waiting for a processor */
	MEASURE_AWAY,  /* wall time without processor time */
};

struct plant {
	const char *name;
	const char *kinds;  /* accepted, separated by spaces */
	const char *words;  /* one of which the verdict contains, separated by spaces */
	uint64_t amount_ns; /* for each iteration, on average; 5 ms if 0 */
	unsigned every;     /* the cause acts in one of at least this many iterations */
	enum measure measure;
	void (*prepare)(void);       /* before the device is opened: processes start here */
	void (*start)(void);         /* before the first iteration */
	void (*during)(uint64_t ns); /* while the device works, before act */
	void (*act)(uint64_t ns);    /* while the device idles */
	void (*finish)(void);
	/* measured */
	struct place guilty; /* in another thread, if that one holds up this one */
	struct place waiter;
	uint64_t ns;
	uint64_t wall_ns;
	uint64_t delay_ns;
	struct plant *next;
};

void plant_add(struct plant *plant);
void plant_start_clock(struct plant *plant);
void plant_stop_clock(struct plant *plant);
/* Since plant_start_clock: wall time without the time of waiting for a processor, but at least a
 * quarter of the wall time: loops end beside many competing threads, too. */
uint64_t planted_ns(void);
void place_begin(struct place *place, const char *function, const char *file, int line);

#define PLANT(...)                                               \
	static struct plant plant = {__VA_ARGS__};               \
	__attribute__((constructor)) static void add_plant(void) \
	{                                                        \
		plant_add(&plant);                               \
	}                                                        \
	struct plant

/* Around the code that is guilty. */
#define GUILTY_BEGIN() place_begin(&plant.guilty, __func__, __FILE__, __LINE__)
#define GUILTY_END()   (plant.guilty.last = __LINE__)
/* Around a wait for another thread; GUILTY_BEGIN is used in that one. */
#define WAIT_BEGIN() \
	(place_begin(&plant.waiter, __func__, __FILE__, __LINE__), plant_start_clock(&plant))
#define WAIT_END()    (plant_stop_clock(&plant), plant.waiter.last = __LINE__)
/* Both: the launching thread itself is guilty. */
#define PLANT_BEGIN() (GUILTY_BEGIN(), plant_start_clock(&plant))
#define PLANT_END()   (plant_stop_clock(&plant), GUILTY_END())

/* Macros: a function here would be the innermost one of the program's own. */
#define clock_ns(clock)                                                                  \
	({                                                                               \
		struct timespec clock_now;                                               \
		clock_gettime(clock, &clock_now);                                        \
		(uint64_t) clock_now.tv_sec * 1000000000u + (uint64_t)clock_now.tv_nsec; \
	})
#define now_ns() clock_ns(CLOCK_MONOTONIC)
#define cpu_ns() clock_ns(CLOCK_THREAD_CPUTIME_ID)
#define sleep_ns(ns)                                                              \
	({                                                                        \
		const struct timespec sleep_time = {(time_t)((ns) / 1000000000u), \
						    (long)((ns) % 1000000000u)};  \
		nanosleep(&sleep_time, NULL);                                     \
	})

static inline void check(int is_good, const char *what)
{
	if (is_good)
		return;
	perror(what);
	exit(1);
}

/* A process that sleeps for each number of nanoseconds that is written to the returned descriptor,
 * then writes a byte to reply. */
int start_slow_peer(int reply);
void ask_slow_peer(int peer, uint64_t ns);
/* An open file of this size, full of numbers, without a name. */
int open_scratch(size_t size, int flags);

/* The device, device_NAME.c. */
void device_open(void);
void device_launch(void); /* a few ms of work in flight */
void device_finish(void); /* waits for it */

#ifdef __cplusplus
}
#endif
