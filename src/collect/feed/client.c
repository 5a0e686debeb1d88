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
#include "base/pair_map.h"
#include "collect/devices.h"
#include "collect/feed/message.h"
#include "collect/host_clocks.h"
#include "collect/processes.h"
#include "ring/descriptor.h"
#include "ring/session.h"
#include "trace/copy.h"
#include "trace/reader.h"
#include "trace/tail.h"

#define LOOK_NS      UINT64_C(1000000000)
#define FINISH_NS    UINT64_C(2000000000)
/* A process has rows in segments that have ended after this time. */
#define SEEN_NS      UINT64_C(3000000000)
#define STEP_BYTES   ((uint64_t)4 << 20)
/* Bytes of the other recorder's file that are looked through in a step: 2 ms. */
#define UPDATE_BYTES ((uint64_t)16 << 20)
/* Interval of questions whether processes are still wanted. */
#define WANT_NS      UINT64_C(1000000000)
/* A command that was launched before a pause may end this much later. A guest that leaves has the
 * same time for its last answers. */
#define LAST_NS      UINT64_C(500000000)

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
	unsigned int place;      /* among all feeds of our recording */
	struct trace_tail *tail; /* owned; NULL: no welcome yet */
	struct trace_copy *copy; /* owned */
	struct hash_map owned;   /* ids of the processes that are attached there -> 1 */
	uint32_t last_segment;   /* copied */
	bool has_started;        /* last_segment is known */
	bool has_taken;          /* a process was taken over */
	uint64_t owned_ns;       /* when the last process became known */
	bool has_left;           /* its recording has ended */
	bool has_gap;            /* rows are missing, and a note says so */
	uint64_t copied_ns;      /* when rows were copied last, or looked for first */
	struct hash_map threads; /* our ids of threads -> our ids of their processes */
	/* (process, command) launched before our recording began, or in a pause -> 1; their
	 * executions are left out. */
	struct pair_map earlier;
};

/* ---- ids of this recording ------------------------------------------------------------------- */

static bool is_wanted(const struct feed *feed, const struct event_process *process)
{
	return process->guest_begin_ns && hash_map_find(&feed->owned, process->id) &&
	       feed->feeds->options.wants(feed->feeds->options.context, process);
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

static uint32_t find_process(struct feed *feed, struct event_process *row)
{
	struct recording *recording = feed->feeds->recording;
	struct process *process;

	/* a thread or queue of another process refers to it */
	if (!is_wanted(feed, row))
		return 0;
	row->host = recording->host;
	process_adopt(recording->processes, row->pid, row);
	feed->has_taken = true;
	feed->feeds->processes++;
	feed->feeds->options.on_process(feed->feeds->options.context, row);
	process = processes_find(recording->processes, row->pid);
	if (process) {
		process->is_fed = true;
		process->row.labels_string = row->labels_string;
	}
	feed_identities_add(&feed->feeds->identities, row->id, row->pid, row->uid);
	hint_process(feed, row);
	return row->id;
}

static uint32_t find_thread(struct feed *feed, struct event_thread *row)
{
	struct recording *recording = feed->feeds->recording;
	const struct event_process *process;
	struct event_process found;

	if (!trace_writer_find_entity(recording->writer, EVENT_PROCESS, row->process, &found))
		return 0;
	process = &found;
	process_thread_adopt(recording->processes, process->pid, row);
	hash_map_put(&feed->threads, row->id, row->process);
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
	struct feed *feed = context;
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

/* The labels are our own recording's, if it has some. The account must not expect earlier calls. */
static void update_process(const struct feed *feed, struct event_process *row)
{
	const struct process *process = processes_find(feed->feeds->recording->processes, row->pid);

	if (process && process->row.id == row->id && process->row.labels_string)
		row->labels_string = process->row.labels_string;
	if (row->guest_begin_ns < feed->feeds->begin_ns)
		row->guest_begin_ns = feed->feeds->begin_ns;
	feed->feeds->options.complete(feed->feeds->options.context, row);
}

static bool update(void *context, enum event_kind kind, void *row)
{
	const struct feed *feed = context;

	if (kind == EVENT_PROCESS)
		update_process(feed, row);
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

/* How many rows are missing is not known. */
static void note_gap(struct feed *feed)
{
	struct feeds *feeds = feed->feeds;
	const uint64_t now_ns = host_clocks_now_ns();
	char text[200];

	recording_lose(feeds->recording, EVENT_PADDING, LOSS_GAP, feed->copied_ns, now_ns, 1);
	if (feed->has_gap)
		return;
	feed->has_gap = true;
	snprintf(text, sizeof(text),
		 "some rows of programs that process %d records are missing: a part of its file "
		 "was dropped or could not be read",
		 (int)feed->pid);
	recording_note(feeds->recording, "recorder", COLLECTOR_PARTIAL, 0, text);
}

static uint32_t process_of(const struct feed *feed, uint32_t thread)
{
	return (uint32_t)hash_map_get(&feed->threads, thread, 0);
}

/* False: our recording was not to contain the process then. */
static bool is_recorded(const struct feed *feed, uint32_t process, uint64_t time)
{
	return is_inside(feed, time) &&
	       !feed_identities_is_paused(&feed->feeds->identities, process, time, 0);
}

/* A process may be taken over from several recorders, one after the other. 0 stays: no command.
 * False: it has no number. */
static bool take_correlation(struct feed *feed, uint32_t process, uint64_t *inout_correlation)
{
	if (!*inout_correlation ||
	    feed_identities_translate(&feed->feeds->identities, process, feed->place,
				      *inout_correlation, inout_correlation))
		return true;
	note_gap(feed);
	return false;
}

static bool has_launch(struct feed *feed, struct event_launch *row)
{
	const uint32_t process = process_of(feed, row->thread);

	if (!take_correlation(feed, process, &row->correlation))
		return false;
	if (is_recorded(feed, process, row->enter))
		return true;
	if (row->correlation && feed->earlier.count < EARLIER_MAX)
		pair_map_put(&feed->earlier, process, row->correlation, 1);
	return false;
}

static bool has_execution(struct feed *feed, struct event_execution *row)
{
	return take_correlation(feed, row->process, &row->correlation) &&
	       is_inside(feed, row->seen) &&
	       !feed_identities_is_paused(&feed->feeds->identities, row->process, row->seen,
					  feed->feeds->last_time) &&
	       pair_map_remove(&feed->earlier, row->process, row->correlation) == PAIR_MAP_NONE;
}

static bool has_range(const struct feed *feed, const struct event_range *row)
{
	return row->end >= feed->feeds->begin_time && row->begin <= feed->feeds->end_time &&
	       !feed_identities_is_paused(&feed->feeds->identities, row->process, row->end, 0);
}

static bool has_call(const struct feed *feed, struct event_api *row)
{
	translate_wait(feed, row);
	return is_recorded(feed, process_of(feed, row->thread), row->begin);
}

/* Samples have the device's times, so the present counts: they are 1.3 s old. */
static bool has_sample(struct feed *feed, struct event_instruction_sample *row)
{
	return take_correlation(feed, row->process, &row->correlation) &&
	       !feed_identities_is_paused(&feed->feeds->identities, row->process,
					  recording_now(feed->feeds->recording), 0);
}

static bool has_row(void *context, enum event_kind kind, void *row)
{
	struct event_dependency *dependency = row;
	struct feed *feed = context;

	switch (kind) {
	case EVENT_LAUNCH:
		return has_launch(feed, row);
	case EVENT_EXECUTION:
		return has_execution(feed, row);
	case EVENT_RANGE:
		return has_range(feed, row);
	case EVENT_DEPENDENCY:
		return take_correlation(feed, dependency->process, &dependency->correlation) &&
		       is_recorded(feed, dependency->process, dependency->time);
	case EVENT_API:
		return has_call(feed, row);
	case EVENT_INSTRUCTION_SAMPLE:
		return has_sample(feed, row);
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
	hash_map_fini(&feed->threads);
	pair_map_fini(&feed->earlier);
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
	feed->place = feeds->places;
	hash_map_init(&feed->owned);
	hash_map_init(&feed->threads);
	pair_map_init(&feed->earlier);
	feed->copied_ns = host_clocks_now_ns();
	feed->connection = connect_to(feeds->options.uid, number, &feed->pid);
	options.context = feed;
	if (feed->connection < 0 || feed->pid == getpid() ||
	    trace_copy_new(feeds->recording->writer, &options, &feed->copy) ||
	    array_append(feeds->all, feeds->capacity, feeds->count, feed)) {
		free_feed(feed);
		error_clear();
		return;
	}
	feeds->places++;
}

/* A message may carry more than one descriptor: the others are closed. */
static void open_tail(struct feed *feed, int fd, uint64_t offset)
{
	if (trace_tail_new(fd, &feed->tail))
		feed->has_left = true;
	else
		trace_tail_start_at(feed->tail, offset);
}

/* Handles one message. */
static void take_message(struct feed *feed, const struct feed_message *message, int fd)
{
	if (message->magic != FEED_MAGIC || message->version != FEED_VERSION) {
		feed->has_left = true;
	} else if (message->type == FEED_OWNS) {
		feed->owned_ns = host_clocks_now_ns();
		for (uint32_t i = 0; i < message->count && i < FEED_BATCH; i++)
			hash_map_put(&feed->owned, message->processes[i], 1);
	} else if (message->type == FEED_WELCOME && fd >= 0 && !feed->tail) {
		open_tail(feed, fd, message->offset);
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
		const int fd = got < 0 ? -1 : descriptor_take(&header);

		if (got == (ssize_t)sizeof(message)) {
			take_message(feed, &message, fd);
			continue;
		}
		if (fd >= 0)
			close(fd);
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

/* Segments that ended before our recording began are left out. False: it is not known yet where to
 * begin. */
static bool find_start(struct feed *feed, bool has_more)
{
	const uint32_t first = feed->has_started || has_more
				       ? 0
				       : trace_tail_segment_at(feed->tail, feed->feeds->begin_ns);

	if (first) {
		feed->last_segment = first - 1;
		feed->has_started = true;
	}
	return feed->has_started;
}

/* Copies some segments that have ended. False: there were none. */
static bool copy_some(struct feed *feed)
{
	auto_free uint8_t *bytes = NULL;
	const int more = feed->tail ? trace_tail_update_part(feed->tail, UPDATE_BYTES) : -ENODATA;
	size_t size;
	uint32_t last;

	if (more < 0)
		return false;
	if (!more && feed->has_left)
		trace_tail_set_gone(feed->tail);
	if (!find_start(feed, more) ||
	    trace_tail_read_ended(feed->tail, feed->last_segment, STEP_BYTES, &bytes, &size, &last))
		return more;
	if (trace_tail_next(feed->tail, feed->last_segment) != feed->last_segment + 1)
		note_gap(feed);
	feed->last_segment = last;
	if (copy_bytes(feed, bytes, size)) {
		error_clear();
		note_gap(feed);
	}
	feed->copied_ns = host_clocks_now_ns();
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
	feed_identities_init(&feeds->identities);
}

void feeds_close(struct feeds *feeds)
{
	while (feeds->count)
		remove_feed(feeds, feeds->count - 1);
	free(feeds->all);
	feed_identities_fini(&feeds->identities);
	*feeds = (struct feeds){0};
}

/* A process may be wanted for a part of the time only. */
static void look_at_processes(struct feeds *feeds, uint64_t now_ns)
{
	const uint64_t time = recording_now(feeds->recording);
	bool is_wanted;

	if (now_ns < feeds->next_want_ns)
		return;
	feeds->next_want_ns = now_ns + WANT_NS;
	if (now_ns > feeds->begin_ns)
		feeds->last_time = (uint64_t)((double)(time - feeds->begin_time) * (double)LAST_NS /
					      (double)(now_ns - feeds->begin_ns));
	for (size_t i = 0; i < feeds->identities.count; i++) {
		struct taken_process *process = &feeds->identities.processes[i];
		const struct process *image =
			processes_find(feeds->recording->processes, process->pid);

		if (!image || !image->is_fed || image->row.id != process->id || image->has_ended)
			continue;
		is_wanted = feeds->options.wants(feeds->options.context, &image->row);
		taken_process_want(process, is_wanted, time);
		processes_pause(feeds->recording->processes, process->pid, !is_wanted);
	}
}

/* A recorder that has left has closed its file: its last segment has ended. */
void feeds_step(struct feeds *feeds, uint64_t now_ns)
{
	if (!feeds->recording)
		return;
	look_for_recorders(feeds, now_ns);
	look_at_processes(feeds, now_ns);
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
	/* the rows of its processes were seen, and none of them is wanted */
	if (!feed->has_taken && end_ns > feed->owned_ns + SEEN_NS)
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
