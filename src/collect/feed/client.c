/* SPDX-License-Identifier: MIT
 *
 * collect/feed/client.c - takes over rows of processes whose guests are attached to another
 * recorder
 *
 * Runs in:  the recorder
 * Gets:     trace files of other recorders of the same user, while they are written (untrusted)
 * Gives:    their rows about the wanted processes, with ids of this recording
 * Owns:     a connection and a copy for each other recorder
 * Fails:    never; a recorder that cannot be read is left, and a note says so
 * Why:      Only calls, commands and ranges are taken over, because only they come from guests.
 *           Samples and counters are this recorder's own. A row is copied about 1.3 s after it was
 *           recorded: when its segment has ended and was written.
 */
#include "collect/feed/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collect/devices.h"
#include "collect/feed/message.h"
#include "collect/host_clocks.h"
#include "collect/processes.h"
#include "ring/session.h"
#include "trace/copy.h"
#include "trace/reader.h"
#include "trace/tail.h"

#define LOOK_NS         UINT64_C(1000000000)
#define FINISH_NS       UINT64_C(2000000000)
#define STEP_BYTES      ((uint64_t)4 << 20)
/* Commands that are taken over have numbers of their own: a guest that attaches to this recorder
 * later counts from 1 again. */
#define CORRELATION_BIT ((uint64_t)1 << 63)

enum { EARLIER_MAX = 1 << 20 };

/* The rows that come from guests. */
#define FEED_KINDS                                                                               \
	(1u << EVENT_API | 1u << EVENT_LAUNCH | 1u << EVENT_DEPENDENCY | 1u << EVENT_EXECUTION | \
	 1u << EVENT_RANGE | 1u << EVENT_INSTRUCTION_SAMPLE | 1u << EVENT_LOSS)

struct feed {
	struct feeds *feeds;     /* borrowed */
	int connection;          /* owned */
	pid_t pid;               /* the other recorder's */
	unsigned int number;     /* its name has this number */
	struct trace_tail *tail; /* owned; NULL: no welcome yet */
	struct trace_copy *copy; /* owned */
	struct hash_map owned;   /* ids of the processes that are attached there -> 1 */
	uint32_t last_segment;   /* copied */
	bool has_started;        /* last_segment is known */
	bool has_left;           /* its recording has ended */
	/* Commands that were launched before our recording began -> 1; their executions are left
	 * out. */
	struct hash_map earlier;
};

/* ---- ids of this recording ------------------------------------------------------------------- */

static bool is_wanted(const struct feed *feed, const struct event_process *process)
{
	return process->guest_begin_ns && hash_map_find(&feed->owned, process->id) &&
	       feed->feeds->options.wants(feed->feeds->options.context, process->pid);
}

static bool has_entity(void *context, enum event_kind kind, const void *row)
{
	const struct feed *feed = context;

	switch (kind) {
	case EVENT_PROCESS:
		return is_wanted(feed, row);
	case EVENT_COLLECTOR:
		return ((const struct event_collector *)row)->process != 0;
	case EVENT_THREAD:
	case EVENT_CONTEXT:
	case EVENT_QUEUE:
	case EVENT_CODE:
		return true;
	default: /* if another row refers to it */
		return false;
	}
}

static void hint_process(const struct feed *feed, const struct event_process *row)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "the calls of process %u are taken over from the recorder in process %d, to which "
		 "its guest is attached",
		 row->pid, (int)feed->pid);
	recording_hint(feed->feeds->recording, text);
}

static uint32_t find_process(const struct feed *feed, struct event_process *row)
{
	struct recording *recording = feed->feeds->recording;
	struct process *process;

	/* a thread or queue of another process refers to it */
	if (!is_wanted(feed, row))
		return 0;
	row->host = recording->host;
	process_adopt(recording->processes, row->pid, row);
	process = processes_find(recording->processes, row->pid);
	if (process)
		process->is_fed = true;
	feed->feeds->processes++;
	feed->feeds->options.on_process(feed->feeds->options.context, row->pid);
	hint_process(feed, row);
	return row->id;
}

static uint32_t find_thread(const struct feed *feed, struct event_thread *row)
{
	struct recording *recording = feed->feeds->recording;
	const struct event_process *process;
	struct event_process found;

	if (!trace_writer_find_entity(recording->writer, EVENT_PROCESS, row->process, &found))
		return 0;
	process = &found;
	process_thread_adopt(recording->processes, process->pid, row);
	return row->id;
}

static uint32_t find_device(const struct feed *feed, const struct event_device *row)
{
	struct recording *recording = feed->feeds->recording;
	char key[512];
	uint32_t id;

	snprintf(key, sizeof(key), "%s", trace_writer_text(recording->writer, row->key_string));
	id = devices_find(recording, key);
	if (id) {
		devices_take_sketch(recording, id);
		return id;
	}
	id = ++recording->last_device;
	devices_remember(recording, key, id);
	return id;
}

static uint32_t find_clock(struct recording *recording, const struct event_clock *row)
{
	return row->type == CLOCK_TYPE_DEVICE ? ++recording->last_clock : row->id;
}

/* Host clocks have the same ids in all traces. */
static uint32_t find_id(void *context, enum event_kind kind, void *row)
{
	const struct feed *feed = context;
	struct recording *recording = feed->feeds->recording;

	switch (kind) {
	case EVENT_HOST:
		return recording->host;
	case EVENT_PROCESS:
		return find_process(feed, row);
	case EVENT_THREAD:
		return find_thread(feed, row);
	case EVENT_DEVICE:
		return find_device(feed, row);
	case EVENT_CONTEXT:
		return ++recording->last_context;
	case EVENT_QUEUE:
		return ++recording->last_queue;
	case EVENT_CLOCK:
		return find_clock(recording, row);
	case EVENT_CODE:
		return ++recording->last_code;
	case EVENT_COLLECTOR:
		return ++recording->last_collector;
	default:
		return 0;
	}
}

static bool update(void *context, enum event_kind kind, void *row)
{
	const struct feed *feed = context;
	struct event_process *process = row;

	/* the account must not expect earlier calls */
	if (kind == EVENT_PROCESS && process->guest_begin_ns < feed->feeds->begin_ns)
		process->guest_begin_ns = feed->feeds->begin_ns;
	if (kind == EVENT_CLOCK)
		return ((const struct event_clock *)row)->type == CLOCK_TYPE_DEVICE;
	return kind != EVENT_HOST;
}

/* A call that waits for a queue has the queue's id as its argument. */
static void translate_wait(const struct feed *feed, struct event_api *row)
{
	if (row->type == API_TYPE_WAIT && row->argument && row->argument <= UINT32_MAX)
		row->argument = trace_copy_id(feed->copy, EVENT_QUEUE, (uint32_t)row->argument);
}

/* Whether a time of the guests' clock lies in our recording. */
static bool is_inside(const struct feed *feed, uint64_t time)
{
	return time >= feed->feeds->begin_time && time <= feed->feeds->end_time;
}

static bool has_launch(struct feed *feed, struct event_launch *row)
{
	if (!row->correlation)
		return is_inside(feed, row->enter);
	row->correlation |= CORRELATION_BIT;
	if (is_inside(feed, row->enter))
		return true;
	if (feed->earlier.count < EARLIER_MAX)
		hash_map_put(&feed->earlier, row->correlation, 1);
	return false;
}

static bool has_execution(struct feed *feed, struct event_execution *row)
{
	row->correlation |= CORRELATION_BIT;
	return is_inside(feed, row->seen) &&
	       !hash_map_remove(&feed->earlier, row->correlation, NULL);
}

static bool has_row(void *context, enum event_kind kind, void *row)
{
	struct feed *feed = context;

	switch (kind) {
	case EVENT_LAUNCH:
		return has_launch(feed, row);
	case EVENT_EXECUTION:
		return has_execution(feed, row);
	case EVENT_RANGE:
		return ((const struct event_range *)row)->end >= feed->feeds->begin_time &&
		       ((const struct event_range *)row)->begin <= feed->feeds->end_time;
	case EVENT_DEPENDENCY:
		((struct event_dependency *)row)->correlation |= CORRELATION_BIT;
		return true;
	case EVENT_API:
		translate_wait(feed, row);
		return is_inside(feed, ((const struct event_api *)row)->begin);
	case EVENT_INSTRUCTION_SAMPLE:
		((struct event_instruction_sample *)row)->correlation |=
			((struct event_instruction_sample *)row)->correlation ? CORRELATION_BIT : 0;
		return true;
	case EVENT_LOSS: /* without a process it is a loss of the other recording */
		return ((const struct event_loss *)row)->process != 0;
	default:
		return true;
	}
}

static const struct trace_copy_options copy_options = {.has_entity = has_entity,
						       .find_id = find_id,
						       .update = update,
						       .has_row = has_row,
						       .kinds = FEED_KINDS};

/* ---- the connection -------------------------------------------------------------------------- */

static void free_feed(struct feed *feed)
{
	if (!feed)
		return;
	if (feed->connection >= 0)
		close(feed->connection);
	trace_tail_free(feed->tail);
	trace_copy_free(feed->copy);
	hash_map_fini(&feed->owned);
	hash_map_fini(&feed->earlier);
	free(feed);
}

static int connect_to(uid_t uid, unsigned int number, pid_t *ret_pid)
{
	struct sockaddr_un address;
	char name[64];
	int length = snprintf(name, sizeof(name), FEED_NAME, (unsigned)uid, number);
	socklen_t size = session_address(name, (size_t)length, &address);
	struct ucred peer = {0};
	socklen_t peer_size = sizeof(peer);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	/* any user can take an abstract name */
	if (connect(fd, (struct sockaddr *)&address, size) == 0 &&
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) == 0 &&
	    (peer.uid == uid || peer.uid == 0)) {
		*ret_pid = peer.pid;
		return fd;
	}
	close(fd);
	return -1;
}

static bool is_connected(const struct feeds *feeds, unsigned int number)
{
	for (size_t i = 0; i < feeds->count; i++)
		if (feeds->all[i]->number == number)
			return true;
	return number == feeds->options.own_number;
}

static void add_feed(struct feeds *feeds, unsigned int number)
{
	struct trace_copy_options options = copy_options;
	struct feed *feed = calloc(1, sizeof(*feed));

	if (!feed)
		return;
	feed->feeds = feeds;
	feed->number = number;
	feed->connection = connect_to(feeds->options.uid, number, &feed->pid);
	options.context = feed;
	if (feed->connection < 0 || feed->pid == getpid() ||
	    trace_copy_new(feeds->recording->writer, &options, &feed->copy) ||
	    array_append(feeds->all, feeds->capacity, feeds->count, feed)) {
		free_feed(feed);
		error_clear();
	}
}

static int take_descriptor(struct msghdr *message)
{
	struct cmsghdr *head = CMSG_FIRSTHDR(message);
	int fd = -1;

	if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
	    head->cmsg_len >= CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(head), sizeof(fd));
	return fd;
}

/* Handles one message. */
static void take_message(struct feed *feed, const struct feed_message *message, int fd)
{
	if (message->magic != FEED_MAGIC || message->version != FEED_VERSION) {
		feed->has_left = true;
	} else if (message->type == FEED_OWNS) {
		hash_map_put(&feed->owned, message->process, 1);
	} else if (message->type == FEED_WELCOME && fd >= 0 && !feed->tail) {
		feed->has_left |= trace_tail_new(fd, &feed->tail) != 0;
		return;
	}
	if (fd >= 0)
		close(fd);
}

static void read_messages(struct feed *feed)
{
	while (!feed->has_left) {
		struct feed_message message = {0};
		_Alignas(struct cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {0};
		struct iovec part = {&message, sizeof(message)};
		struct msghdr header = {.msg_iov = &part,
					.msg_iovlen = 1,
					.msg_control = space,
					.msg_controllen = sizeof(space)};
		ssize_t got = recvmsg(feed->connection, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got == (ssize_t)sizeof(message))
			take_message(feed, &message, take_descriptor(&header));
		else
			feed->has_left = true;
	}
}

/* ---- copying --------------------------------------------------------------------------------- */

static int copy_bytes(struct feed *feed, const uint8_t *bytes, size_t size)
{
	struct trace_reader *reader;
	uint64_t skipped;
	int error = trace_reader_open_memory(bytes, size, &reader);

	if (error)
		return error;
	error = trace_copy_all(feed->copy, reader, &skipped);
	trace_reader_close(reader);
	return error;
}

/* Segments that ended before our recording began are left out. */
static void skip_earlier(struct feed *feed)
{
	uint64_t begin_ns;
	uint32_t present = trace_tail_present(feed->tail, &begin_ns);

	if (!feed->has_started && present)
		feed->last_segment = present - 1;
	feed->has_started |= present != 0;
}

/* Copies some segments that have ended. False: there were none. */
static bool copy_some(struct feed *feed)
{
	auto_free uint8_t *bytes = NULL;
	size_t size;
	uint32_t last;

	if (!feed->tail || trace_tail_update(feed->tail))
		return false;
	skip_earlier(feed);
	if (trace_tail_read_ended(feed->tail, feed->last_segment, STEP_BYTES, &bytes, &size, &last))
		return false;
	feed->last_segment = last;
	if (copy_bytes(feed, bytes, size))
		error_clear(); /* the segment is damaged, or the writer counts the loss */
	return true;
}

static void remove_feed(struct feeds *feeds, size_t index)
{
	free_feed(feeds->all[index]);
	feeds->all[index] = feeds->all[--feeds->count];
}

static void look_for_recorders(struct feeds *feeds, uint64_t now_ns)
{
	if (now_ns < feeds->next_look_ns)
		return;
	feeds->next_look_ns = now_ns + LOOK_NS;
	for (unsigned int number = 1; number <= FEED_NAMES; number++)
		if (!is_connected(feeds, number))
			add_feed(feeds, number);
}

void feeds_open(struct feeds *feeds, struct recording *recording,
		const struct feeds_options *options)
{
	*feeds = (struct feeds){.recording = recording,
				.options = *options,
				.begin_ns = host_clocks_now_ns(),
				.begin_time = recording_now(recording),
				.end_time = UINT64_MAX};
}

void feeds_close(struct feeds *feeds)
{
	while (feeds->count)
		remove_feed(feeds, feeds->count - 1);
	free(feeds->all);
	*feeds = (struct feeds){0};
}

/* A recorder that has left has closed its file: its last segment has ended. */
void feeds_step(struct feeds *feeds, uint64_t now_ns)
{
	if (!feeds->recording)
		return;
	look_for_recorders(feeds, now_ns);
	for (size_t i = feeds->count; i-- > 0;) {
		struct feed *feed = feeds->all[i];

		read_messages(feed);
		if (!copy_some(feed) && feed->has_left) {
			remove_feed(feeds, i);
			feeds->left_ns = now_ns;
		}
	}
}

/* Whether a recorder may still write rows of the time before end_ns. */
static bool is_behind(const struct feed *feed, uint64_t end_ns)
{
	uint64_t begin_ns;

	if (!feed->tail || feed->has_left || !feed->owned.count)
		return false;
	trace_tail_present(feed->tail, &begin_ns);
	return begin_ns < end_ns && !trace_tail_has_ended(feed->tail);
}

static void note_behind(struct feeds *feeds, const struct feed *feed)
{
	char text[200];

	snprintf(text, sizeof(text),
		 "the last rows of programs that process %d records are missing: that recorder did "
		 "not write them within 2 s",
		 (int)feed->pid);
	recording_note(feeds->recording, "recorder", COLLECTOR_PARTIAL, 0, text);
}

void feeds_finish(struct feeds *feeds, uint64_t end_ns)
{
	static const struct timespec tick = {0, 50000000};
	const uint64_t until_ns = host_clocks_now_ns() + FINISH_NS;
	bool has_more = feeds->count != 0;

	if (has_more)
		feeds->end_time = recording_now(feeds->recording);
	while (has_more && host_clocks_now_ns() < until_ns) {
		has_more = false;
		feeds->next_look_ns = UINT64_MAX;
		for (size_t i = 0; i < feeds->count; i++) {
			read_messages(feeds->all[i]);
			has_more |= copy_some(feeds->all[i]) || is_behind(feeds->all[i], end_ns);
		}
		if (has_more)
			nanosleep(&tick, NULL);
	}
	for (size_t i = 0; i < feeds->count; i++)
		if (is_behind(feeds->all[i], end_ns))
			note_behind(feeds, feeds->all[i]);
}
