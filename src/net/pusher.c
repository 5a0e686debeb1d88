/* SPDX-License-Identifier: MIT
 *
 * net/pusher.c - send bodies to a receiver in a thread of its own; nothing waits for the receiver
 *
 * Runs in:  our own process; requests in the pusher's thread
 * Gets:     bodies and URLs
 * Gives:    HTTP POST requests, counts, messages
 * Owns:     the queue, the client, the thread
 * Fails:    a receiver that fails costs drops, which are counted
 * Why a thread per receiver: a receiver that hangs for its whole timeout must not delay another
 * one.
 */
#include "net/pusher.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock_ns.h"
#include "base/error.h"
#include "base/thread.h"
#include "net/http_client.h"

enum { NS_PER_S = 1000000000 };

struct pusher {
	struct pusher_options options;
	struct http_client *client;
	pthread_mutex_t lock; /* guards all members below */
	pthread_cond_t changed;
	pthread_t thread;
	bool has_thread, is_stopping, is_off, is_sending;
	bool is_failing; /* the last request failed, and a message said so */
	struct push_queue queue;
	/* The last problem, and whether no push was accepted since. */
	char problem[PUSHER_PROBLEM];
	uint64_t problem_ns;
	bool has_problem;
};

static void wait_until(struct pusher *pusher, uint64_t until_ns)
{
	const struct timespec until = {.tv_sec = (time_t)(until_ns / NS_PER_S),
				       .tv_nsec = (long)(until_ns % NS_PER_S)};

	pthread_cond_timedwait(&pusher->changed, &pusher->lock, &until);
}

/* ---- messages ---- */

__attribute__((format(printf, 2, 3))) static void report(const struct pusher *pusher,
							 const char *format, ...)
{
	char text[1024];
	va_list list;
	int length = snprintf(text, sizeof(text), "%s: ", pusher->options.name);

	va_start(list, format);
	vsnprintf(text + length, sizeof(text) - (size_t)length, format, list);
	va_end(list);
	if (pusher->options.on_message)
		pusher->options.on_message(pusher->options.context, text);
}

void pusher_show_url(const char *url, char ret_text[PUSHER_URL])
{
	const char *begin = strstr(url, "://"), *at;
	size_t host;

	begin = begin ? begin + 3 : url;
	host = strcspn(begin, "/?#");
	at = memrchr(begin, '@', host);
	if (at)
		begin = at + 1;
	snprintf(ret_text, PUSHER_URL, "%.*s", (int)strcspn(begin, "?#"), begin);
}

static void describe_cause(const struct http_answer *answer, char *text, size_t size)
{
	if (answer->status)
		snprintf(text, size, "status %u", answer->status);
	else
		snprintf(text, size, "%s", answer->problem);
}

/* Called with the lock. */
static void note_problem(struct pusher *pusher, const char *text)
{
	snprintf(pusher->problem, sizeof(pusher->problem), "%s", text);
	pusher->problem_ns = clock_ns(CLOCK_MONOTONIC);
	pusher->has_problem = true;
}

static void report_change(struct pusher *pusher, enum retry_verdict verdict,
			  const struct http_answer *answer, const char *url, uint64_t dropped)
{
	bool is_failure = verdict != RETRY_DONE;
	char cause[300], shown[PUSHER_URL];

	if (is_failure == pusher->is_failing)
		return;
	pusher_show_url(url, shown);
	pusher->is_failing = is_failure;
	if (!is_failure) {
		report(pusher, "the receiver accepts data again; %llu pushes were dropped so far",
		       (unsigned long long)dropped);
		return;
	}
	describe_cause(answer, cause, sizeof(cause));
	report(pusher, "push to %s failed (%s); %s", shown, cause,
	       verdict == RETRY_AGAIN ? "it is repeated, and the oldest data are dropped"
				      : "these data are dropped; check the URL and its headers");
}

static void switch_off(struct pusher *pusher, const struct http_answer *answer, const char *url)
{
	char shown[PUSHER_URL];

	pusher_show_url(url, shown);
	report(pusher,
	       "%s does not take these data (status %u); they are no longer sent until the "
	       "agent starts again",
	       shown, answer->status);
}

/* ---- the thread ---- */

static enum retry_verdict send_item(struct pusher *pusher, const struct push_item *item,
				    struct http_answer *answer)
{
	const struct http_post post = {
		.url = item->url,
		.content_type = pusher->options.content_type,
		.content_encoding = pusher->options.content_encoding,
		.headers = pusher->options.headers,
		.body = item->body,
		.size = item->size,
		.timeout_ms = pusher->options.timeout_ms,
	};

	return retry_judge(http_client_post(pusher->client, &post, answer), answer);
}

/* Called with the lock, which is released during the request. */
static void push_item(struct pusher *pusher, struct push_item *item)
{
	struct http_answer answer;
	enum retry_verdict verdict;
	uint64_t dropped = push_counts_dropped(&pusher->queue.counts);
	char cause[300];
	bool is_off;

	pusher->is_sending = true;
	pthread_mutex_unlock(&pusher->lock);
	verdict = send_item(pusher, item, &answer);
	is_off = verdict == RETRY_UNKNOWN && pusher->options.is_optional;
	if (is_off)
		switch_off(pusher, &answer, item->url);
	else
		report_change(pusher, verdict, &answer, item->url, dropped);
	pthread_mutex_lock(&pusher->lock);
	pusher->is_sending = false;
	pusher->is_off |= is_off;
	describe_cause(&answer, cause, sizeof(cause));
	if (verdict != RETRY_DONE)
		note_problem(pusher, cause);
	else
		pusher->has_problem = false;
	push_queue_finish(&pusher->queue, item, verdict, answer.retry_after_ns,
			  clock_ns(CLOCK_MONOTONIC));
	if (is_off)
		push_queue_fini(&pusher->queue);
	pthread_cond_broadcast(&pusher->changed);
}

static void *run(void *argument)
{
	struct pusher *pusher = argument;
	struct push_item item;

	pthread_mutex_lock(&pusher->lock);
	while (!pusher->is_stopping) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC),
			 wait = push_queue_wait_ns(&pusher->queue, now);

		if (push_queue_take(&pusher->queue, now, &item))
			push_item(pusher, &item);
		else if (wait == UINT64_MAX)
			pthread_cond_wait(&pusher->changed, &pusher->lock);
		else if (wait)
			wait_until(pusher, now + wait);
	}
	pthread_mutex_unlock(&pusher->lock);
	return NULL;
}

/* ---- for the caller ---- */

static uint64_t choose_seed(const struct pusher *pusher)
{
	return (clock_ns(CLOCK_MONOTONIC) ^ (uint64_t)(uintptr_t)pusher << 16) | 1;
}

int pusher_new(const struct pusher_options *options, struct pusher **ret_pusher)
{
	struct pusher *pusher = calloc(1, sizeof(*pusher));
	pthread_condattr_t attributes;
	int error;

	if (!pusher)
		return error_no_memory();
	pusher->options = *options;
	pusher->queue = (struct push_queue){.max_items = options->max_items,
					    .max_bytes = options->max_bytes,
					    .max_age_ns = options->max_age_ns,
					    .retry.seed = choose_seed(pusher)};
	pthread_mutex_init(&pusher->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&pusher->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	error = http_client_new(&pusher->client);
	if (!error && !thread_start(&pusher->thread, run, pusher))
		error = error_set(-EAGAIN, "%s: cannot start a thread", options->name);
	pusher->has_thread = !error;
	if (error) {
		pusher_free(pusher, 0, NULL);
		return error;
	}
	*ret_pusher = pusher;
	return 0;
}

static void stop_thread(struct pusher *pusher, uint64_t drain_ns)
{
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + drain_ns;

	pthread_mutex_lock(&pusher->lock);
	while ((pusher->queue.count || pusher->is_sending) && clock_ns(CLOCK_MONOTONIC) < end_ns)
		wait_until(pusher, end_ns);
	pusher->is_stopping = true;
	pthread_cond_broadcast(&pusher->changed);
	pthread_mutex_unlock(&pusher->lock);
	http_client_stop(pusher->client);
	pthread_join(pusher->thread, NULL);
}

void pusher_free(struct pusher *pusher, uint64_t drain_ns, struct push_counts *ret_counts)
{
	if (!pusher)
		return;
	if (pusher->has_thread)
		stop_thread(pusher, drain_ns);
	push_queue_fini(&pusher->queue);
	if (ret_counts)
		*ret_counts = pusher->queue.counts;
	http_client_free(pusher->client);
	pthread_cond_destroy(&pusher->changed);
	pthread_mutex_destroy(&pusher->lock);
	free(pusher);
}

void pusher_send(struct pusher *pusher, char *url, void *body, size_t size)
{
	struct push_item item = {.url = url, .body = body, .size = size};

	pthread_mutex_lock(&pusher->lock);
	if (url && body && !pusher->is_off) {
		push_queue_add(&pusher->queue, &item, clock_ns(CLOCK_MONOTONIC));
		pthread_cond_broadcast(&pusher->changed);
	} else {
		push_item_fini(&item);
		if (!pusher->is_off)
			pusher->queue.counts.dropped_full++;
	}
	pthread_mutex_unlock(&pusher->lock);
}

bool pusher_is_on(struct pusher *pusher)
{
	bool is_off;

	pthread_mutex_lock(&pusher->lock);
	is_off = pusher->is_off;
	pthread_mutex_unlock(&pusher->lock);
	return !is_off;
}

void pusher_skip(struct pusher *pusher, bool is_slow, const char *problem)
{
	struct push_counts *counts = &pusher->queue.counts;

	pthread_mutex_lock(&pusher->lock);
	++*(is_slow ? &counts->dropped_slow : &counts->dropped_failed);
	note_problem(pusher, problem);
	pthread_mutex_unlock(&pusher->lock);
}

void pusher_read_state(struct pusher *pusher, struct pusher_state *ret_state)
{
	pthread_mutex_lock(&pusher->lock);
	*ret_state = (struct pusher_state){.is_on = !pusher->is_off,
					   .is_failing = pusher->has_problem,
					   .problem_ns = pusher->problem_ns,
					   .counts = pusher->queue.counts};
	ret_state->counts.waiting = pusher->queue.count + pusher->is_sending;
	snprintf(ret_state->problem, sizeof(ret_state->problem), "%s", pusher->problem);
	pthread_mutex_unlock(&pusher->lock);
}
