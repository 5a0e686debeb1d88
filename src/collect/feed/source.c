/* SPDX-License-Identifier: MIT
 *
 * collect/feed/source.c - another recorder: the connection to it, its attachments, its trace file
 *
 * Runs in:  the recorder
 * Gets:     messages and the trace file of another recorder of the same user (untrusted)
 * Gives:    its segments as they end, and how far its attachments are read
 * Owns:     the connection, the file's descriptor, a list of attachments
 * Fails:    opening returns -errno; a recorder that breaks the protocol counts as gone
 */
#include "collect/feed/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "ring/descriptor.h"
#include "ring/session.h"

#define STEP_BYTES   ((uint64_t)4 << 20)
/* Bytes of the other recorder's file that are looked through in a step: 2 ms. */
#define UPDATE_BYTES ((uint64_t)16 << 20)

/* ---- connection ------------------------------------------------------------------------------ */

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

int feed_source_open(struct feed_source *source, uid_t uid, unsigned int number)
{
	*source = (struct feed_source){.number = number};
	hash_map_init(&source->processes);
	hash_map_init(&source->places);
	source->connection = connect_to(uid, number, &source->pid);
	if (source->connection < 0 || source->pid == getpid()) {
		feed_source_close(source);
		return -ENOENT;
	}
	return 0;
}

void feed_source_close(struct feed_source *source)
{
	if (source->connection >= 0)
		close(source->connection);
	trace_tail_free(source->tail);
	hash_map_fini(&source->processes);
	hash_map_fini(&source->places);
	free(source->owned);
	*source = (struct feed_source){.connection = -1, .has_left = true};
}

/* A known attachment that lasts gets its times. A guest that comes back has a new one. */
static void take_owned(struct feed_source *source, const struct feed_owned *owned)
{
	const uint64_t key = (uint64_t)owned->process << 32 | owned->guest;
	const uint64_t place = hash_map_get(&source->places, key, 0);
	struct feed_owned *known = place ? &source->owned[place - 1] : NULL;

	source->partings += owned->done_ns && !owned->is_over;
	if (known && !known->done_ns) {
		*known = *owned;
		return;
	}
	if (hash_map_put(&source->processes, owned->process, 1) ||
	    array_append(source->owned, source->owned_capacity, source->owned_count, *owned) ||
	    hash_map_put(&source->places, key, source->owned_count))
		source->has_left = true;
}

/* A message may carry a descriptor that is not expected. */
void feed_source_take(struct feed_source *source, const struct feed_message *message, int fd)
{
	if (message->magic != FEED_MAGIC || message->version != FEED_VERSION) {
		source->has_left = true;
	} else if (message->type == FEED_OWNS) {
		for (uint32_t i = 0; i < message->count && i < FEED_BATCH; i++)
			take_owned(source, &message->owned[i]);
	} else if (message->type == FEED_WELCOME && fd >= 0 && !source->tail) {
		if (trace_tail_new(fd, &source->tail))
			source->has_left = true;
		else
			trace_tail_start_at(source->tail, message->offset);
		return;
	}
	if (fd >= 0)
		close(fd);
}

void feed_source_listen(struct feed_source *source)
{
	while (!source->has_left) {
		struct feed_message message = {0};
		_Alignas(struct cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {0};
		struct iovec part = {&message, sizeof(message)};
		struct msghdr header = {.msg_iov = &part,
					.msg_iovlen = 1,
					.msg_control = space,
					.msg_controllen = sizeof(space)};
		ssize_t got = recvmsg(source->connection, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		const int fd = got < 0 ? -1 : descriptor_take(&header);

		if (got == (ssize_t)sizeof(message)) {
			feed_source_take(source, &message, fd);
			continue;
		}
		if (fd >= 0)
			close(fd);
		source->has_left = true;
	}
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Segments that ended before our recording began are left out. False: it is not known yet where to
 * begin. */
static bool find_start(struct feed_source *source, uint64_t begin_ns, bool has_more)
{
	const uint32_t first =
		source->has_started || has_more ? 0 : trace_tail_segment_at(source->tail, begin_ns);

	if (first) {
		source->last_segment = first - 1;
		source->has_started = true;
	}
	return source->has_started;
}

/* The time that the segments up to last_segment have all rows of. The last segment of a recorder
 * that was killed may lack some. */
static uint64_t find_until(const struct feed_source *source)
{
	const uint64_t next_ns = trace_tail_begin_of(source->tail, source->last_segment + 1);

	if (next_ns)
		return next_ns;
	return trace_tail_has_ended(source->tail)
		       ? UINT64_MAX
		       : trace_tail_begin_of(source->tail, source->last_segment);
}

enum feed_part feed_source_read(struct feed_source *source, uint64_t begin_ns, uint8_t **ret_bytes,
				size_t *ret_size, bool *ret_has_hole)
{
	const int more =
		source->tail ? trace_tail_update_part(source->tail, UPDATE_BYTES) : -ENODATA;
	uint32_t next, last;

	if (more < 0)
		return FEED_NOTHING;
	if (!more && source->has_left)
		trace_tail_set_gone(source->tail);
	if (!find_start(source, begin_ns, more) ||
	    trace_tail_read_ended(source->tail, source->last_segment, STEP_BYTES, ret_bytes,
				  ret_size, &last))
		return more ? FEED_LOOKING : FEED_NOTHING;
	next = trace_tail_next(source->tail, source->last_segment);
	*ret_has_hole = next != source->last_segment + 1;
	/* Nothing comes before the first segment. Its head may be written after its first rows were
	 * recorded. */
	if (*ret_has_hole || !source->from_ns)
		source->from_ns = next == 1 ? 1 : trace_tail_begin_of(source->tail, next);
	source->last_segment = last;
	source->until_ns = find_until(source);
	return FEED_ROWS;
}

uint64_t feed_source_until(const struct feed_source *source, const struct feed_owned *owned)
{
	const uint64_t until_ns = source->until_ns;
	uint64_t ready_ns;

	if (owned->done_ns && until_ns >= owned->done_ns)
		return owned->end_ns;
	ready_ns = until_ns > FEED_LATE_NS ? until_ns - FEED_LATE_NS : 0;
	return owned->done_ns && owned->end_ns < ready_ns ? owned->end_ns : ready_ns;
}
