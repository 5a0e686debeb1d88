/* SPDX-License-Identifier: MIT
 *
 * collect/guest/injected.c - one guest: attach it, read its rings, detach it
 *
 * Runs in:  the recorder
 * Gets:     the pid of a process whose guest has connected
 * Gives:    rows, entities and losses in the trace
 * Owns:     the rings of a guest, the tables of ids, a pidfd
 * Fails:    opening returns -errno if the region is refused. Later only the writer can fail, and it
 *           counts that.
 * Why:      At the end of a recording the recorder frees the pages of the region: the program keeps
 *           the region mapped, and each recording would otherwise cost the program 8 MiB per thread
 *           for the rest of its life.
 */
#include "collect/guest/injected.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collect/guest/decode.h"
#include "collect/guest/robust_region.h"
#include "collect/host_clocks.h"
#include "collect/proc.h"
#include "collect/processes.h"

/* Bytes read between two looks at the clock: up to 1 ms of the most expensive records. */
enum { PIECE_BYTES = 64 << 10 };

/* /proc finds processes by pid only. The data are used if the process is still alive after reading
 * them. */
static int read_identity(struct injected *injected, struct proc_info *info)
{
	bool known = proc_read((uint32_t)injected->pid, info) == 0;

	if (!proc_is_alive(injected->pid_fd, (uint32_t)injected->pid))
		return error_set(-ESRCH, "process %d has ended", (int)injected->pid);
	if (!known) /* /proc may be hidden (hidepid) or not mounted */
		*info = (struct proc_info){0};
	return 0;
}

static void describe_process(struct injected *injected, const struct injected_peer *peer,
			     const struct proc_info *info)
{
	struct recording *recording = injected->recording;
	struct injected_process *process = injected->process;
	uint64_t kept_bytes = recording->kept_bytes;

	process->row = (struct event_process){
		.host = recording->host,
		.pid = (uint32_t)injected->pid,
		/* The kernel's pid is used if it is known; the guest's own value could be wrong. */
		.ns_pid = info->ns_pid ? info->ns_pid : peer->ns_pid,
		.parent_pid = info->parent_pid,
		.uid = peer->uid,
		.name_string = recording_string(recording, info->name),
		.exe_string = recording_string(recording, info->exe),
		.command_string = recording_string(recording, info->command),
		.cgroup_string = recording_string(recording, info->cgroup),
		.status = -1,
		.rank = info->rank.rank,
		.local_rank = info->rank.local_rank,
		.rank_count = info->rank.count,
		.start_ticks = info->start_ticks,
		.begin_ns = host_clocks_now_ns(),
		.guest_begin_ns = host_clocks_now_ns(),
	};
	process_adopt(recording->processes, injected->process->row.pid, &injected->process->row);
	guest_budget_keep(&injected->budget, recording->kept_bytes - kept_bytes);
	guest_budget_charge(&injected->budget, ENTITY_BYTES);
	trace_writer_entity(recording->writer, EVENT_PROCESS, &injected->process->row);
}

/* Returns the sibling's process row, or a new one. All guests of a process share one row. */
static struct injected_process *get_process(struct injected *sibling)
{
	struct injected_process *process = sibling ? sibling->process : calloc(1, sizeof(*process));

	if (process)
		process->references++;
	return process;
}

static void put_process(struct injected_process *process)
{
	if (process && --process->references == 0)
		free(process);
}

/* Comes last in injected_open: a failed attempt must not describe a process. */
static int join_process(struct injected *injected, const struct injected_peer *peer,
			const struct proc_info *info)
{
	injected->process = get_process(peer->sibling);
	if (!injected->process)
		return error_set(-ENOMEM, "process %d: out of memory", (int)peer->pid);
	injected->attachment = injected->process->attachments++;
	injected->exe = strdup(info->exe);
	snprintf(injected->name, sizeof(injected->name), "%s", info->name);
	guest_budget_charge(&injected->budget,
			    injected->region.ring_count * sizeof(*injected->rings));
	if (!peer->sibling)
		describe_process(injected, peer, info);
	return 0;
}

static int make_rings(struct injected *injected, int *ret_fd)
{
	int error =
		guest_region_open(&injected->region, injected->recording, injected->pid, ret_fd);

	if (error)
		return error;
	injected->rings = calloc(injected->region.ring_count, sizeof(*injected->rings));
	if (!injected->rings) {
		guest_region_close(&injected->region);
		close(*ret_fd);
		return error_set(-ENOMEM, "process %d: out of memory", (int)injected->pid);
	}
	for (uint32_t i = 0; i < injected->region.ring_count; i++)
		ring_reader_init(&injected->rings[i].reader, injected->region.shared,
				 injected->region.ring_bytes, i);
	return 0;
}

enum { IMAGES_LOOKUPS = 16 }; /* cost of reading the mappings, in units of other /proc files */

static void look_at_images(struct injected *injected)
{
	const struct images_process process = {injected->process->row.pid, injected->pid_fd,
					       injected->exe ? injected->exe : "",
					       &injected->looks};

	if (injected->recording->lookups < IMAGES_LOOKUPS)
		return;
	injected->recording->lookups -= IMAGES_LOOKUPS;
	images_begin(&injected->images, &process);
}

int injected_open(struct recording *recording, const struct injected_peer *peer,
		  struct injected **ret_injected, int *ret_fd)
{
	struct injected *injected = calloc(1, sizeof(*injected));
	auto_free struct proc_info *info = calloc(1, sizeof(*info));
	int error;

	if (!injected || !info) {
		free(injected);
		if (peer->pid_fd >= 0)
			close(peer->pid_fd);
		return error_set(-ENOMEM, "process %d: out of memory", (int)peer->pid);
	}
	injected->recording = recording;
	injected->kind = peer->kind;
	snprintf(injected->guest, sizeof(injected->guest), "%s", peer->guest);
	injected->pid = peer->pid;
	injected->pid_fd = peer->pid_fd;
	guest_region_init(&injected->region, peer->pid, peer->ring_bytes);
	injected->region.options = peer->options;
	memcpy(injected->region.numbers, peer->numbers, sizeof(injected->region.numbers));
	guest_budget_init(&injected->budget, peer->memory);
	injected->looks = peer->looks;
	identities_init(&injected->ids.codes_known);
	error = read_identity(injected, info);
	if (!error)
		error = make_rings(injected, ret_fd);
	if (!error && peer->on_region)
		peer->on_region(peer->context, injected, *ret_fd);
	if (!error)
		error = join_process(injected, peer, info);
	if (error) {
		injected_close(injected);
		return error;
	}
	injected->losses.since_ns = host_clocks_now_ns();
	look_at_images(injected);
	*ret_injected = injected;
	return 0;
}

static bool is_parent(const struct injected *parent, const struct injected *child)
{
	/* A parent starts before its children. Otherwise the pid was reused. */
	return parent->process->row.pid == child->process->row.parent_pid &&
	       parent->process->row.start_ticks <= child->process->row.start_ticks;
}

static void set_parent(struct injected *child, const struct injected *parent)
{
	child->process->row.parent = parent->process->row.id;
	trace_writer_entity(child->recording->writer, EVENT_PROCESS, &child->process->row);
}

void injected_relate(struct injected *one, struct injected *other)
{
	if (is_parent(one, other))
		set_parent(other, one);
	else if (is_parent(other, one))
		set_parent(one, other);
}

/* ---- draining -------------------------------------------------------------------------------- */

struct taking {
	struct injected *injected;
	struct injected_ring *ring;
};

static void take_record(void *context, const struct record *record)
{
	struct taking *taking = context;

	decode_record(taking->injected, taking->ring, record);
}

static void give_name(struct injected *injected, struct event_thread *row)
{
	struct recording *recording = injected->recording;
	char name[64];

	if (!quota_has(injected->budget.user, sizeof(name) + TEXT_BYTES))
		return;
	proc_thread_name(injected->process->row.pid, row->tid, name);
	row->name_string = recording_string(recording, name);
}

static void begin_thread(struct injected *injected, struct injected_ring *ring)
{
	uint32_t ns_tid = ring->reader.control->tid;
	struct event_thread *row = &ring->thread;

	*row = (struct event_thread){
		.process = injected->process->row.id,
		.ns_tid = ns_tid,
		.tid = proc_thread(injected->process->row.pid, injected->process->row.ns_pid,
				   ns_tid, &injected->recording->lookups),
		.begin_ns = host_clocks_now_ns(),
	};
	give_name(injected, row);
	process_thread_adopt(injected->recording->processes, injected->process->row.pid, row);
	trace_writer_entity(injected->recording->writer, EVENT_THREAD, row);
	ring->used = true;
	ring->has_launched = false;
}

static void end_thread(struct injected *injected, struct injected_ring *ring)
{
	uint64_t now_ns = host_clocks_now_ns();

	decode_end_assembly(injected, ring);
	ranges_end_thread(injected, ring);
	/* Another thread may own the ring before the next second. */
	injected_count_ring_losses(injected, ring, now_ns);
	ring->thread.end_ns = now_ns;
	trace_writer_entity(injected->recording->writer, EVENT_THREAD, &ring->thread);
	ring->used = false;
}

static uint64_t head_of(const struct injected_ring *ring)
{
	return atomic_load_explicit(&ring->reader.control->head, memory_order_acquire);
}

/* Returns the bytes that this round may read: the bytes in the ring now, or those when it was
 * frozen. Never more than the ring's size, whatever the program wrote. */
static uint64_t bytes_ahead(const struct injected *injected, const struct injected_ring *ring)
{
	uint64_t end = injected->round.is_frozen ? ring->until : head_of(ring),
		 tail = ring->reader.tail;

	if (!injected->round.is_frozen && end < tail)
		return 1; /* ring_drain detects and counts the error */
	if (end <= tail)
		return 0;
	return end - tail < injected->region.ring_bytes ? end - tail : injected->region.ring_bytes;
}

static size_t drain_ring(struct injected *injected, struct injected_ring *ring, uint64_t end_ns)
{
	struct taking taking = {injected, ring};
	uint32_t state = atomic_load_explicit(&ring->reader.control->state, memory_order_acquire);
	uint64_t left;
	size_t taken = 0, piece;

	if (!ring->used && (state == RING_BUSY || state == RING_CLOSED))
		begin_thread(injected, ring);
	if (!ring->used)
		return 0;
	left = bytes_ahead(injected, ring);
	while (left) {
		piece = ring_drain(&ring->reader, left < PIECE_BYTES ? left : PIECE_BYTES,
				   injected->recording->scratch, take_record, &taking);
		taken += piece;
		left = piece && piece < left ? left - piece : 0;
		if (left && host_clocks_now_ns() >= end_ns)
			break;
	}
	injected->round.has_more |= left != 0;
	if (!taken && state == RING_CLOSED) {
		end_thread(injected, ring);
		ring_recycle(&ring->reader);
	}
	return taken;
}

/* Threads claim the lowest free ring, so the search ends at the first free one. */
static void find_rings(struct injected *injected)
{
	while (!injected->round.is_frozen &&
	       injected->round.rings_seen < injected->region.ring_count &&
	       atomic_load_explicit(
		       &injected->rings[injected->round.rings_seen].reader.control->state,
		       memory_order_relaxed) != RING_FREE)
		injected->round.rings_seen++;
}

void injected_freeze(struct injected *injected)
{
	find_rings(injected);
	for (uint32_t i = 0; i < injected->round.rings_seen; i++)
		injected->rings[i].until = head_of(&injected->rings[i]);
	injected->round.is_frozen = true;
}

static bool has_full_ring(const struct injected *injected)
{
	for (uint32_t i = 0; i < injected->round.rings_seen; i++)
		for (uint32_t kind = 0; kind < EVENT_KIND_COUNT; kind++)
			if (atomic_load_explicit(&injected->rings[i].reader.control->lost[kind],
						 memory_order_relaxed) >
			    injected->rings[i].lost[kind])
				return true;
	return false;
}

/* Records that events may be missing; their number is unknown. */
static void put_gap(struct injected *injected)
{
	if (!injected->notes.has_gap)
		injected_put_loss(injected, 0, EVENT_PADDING, LOSS_GAP, 1, host_clocks_now_ns());
	injected->notes.has_gap = true;
}

/* Writes the heartbeat. If the recorder was stopped for long, the guest may have given it up and
 * not come back. A full ring after such a silence is recorded as a gap. */
static void beat(struct injected *injected, uint64_t now_ns)
{
	uint64_t silent_ns = now_ns - injected->region.beat_ns;

	guest_region_beat(&injected->region, now_ns);
	if (injected->region.beat_ns && silent_ns >= UINT64_C(1000000) * RING_SILENT_MS &&
	    has_full_ring(injected))
		put_gap(injected);
	injected->region.beat_ns = now_ns;
}

void injected_beat(struct injected *injected)
{
	beat(injected, host_clocks_now_ns());
}

static struct jit_code_owner owner_of_code(struct injected *injected)
{
	const struct event_process *process = &injected->process->row;

	return (struct jit_code_owner){
		.recording = injected->recording,
		.images = &injected->images,
		.process = {process->pid, injected->pid_fd, injected->exe ? injected->exe : "",
			    &injected->looks},
		.ns_pid = process->ns_pid,
		.uid = process->uid,
		.process_id = process->id,
		.start_ticks = process->start_ticks,
		.is_limited = quota_is_limited(injected->budget.user),
	};
}

/* Runs only if the round has time left, because it cannot be interrupted. */
static void name_made_code(struct injected *injected, uint64_t end_ns)
{
	struct jit_code_owner owner = owner_of_code(injected);
	uint64_t now_ns = host_clocks_now_ns();

	if (now_ns >= end_ns || !jit_code_is_due(&injected->made, now_ns))
		return;
	if (lookup_budget_is_due(&injected->looks, now_ns))
		jit_code_name(&injected->made, &owner);
	else if (lookup_budget_is_left(&injected->looks, now_ns))
		jit_code_hold(&injected->made, &owner);
}

static void finish_made_code(struct injected *injected)
{
	struct jit_code_owner owner = owner_of_code(injected);
	bool is_refused;
	size_t nameless = jit_code_finish(&injected->made, &owner, &is_refused);
	char text[200];
	int length;

	if (!nameless)
		return;
	length = snprintf(text, sizeof(text),
			  "%zu %s in JIT code of process %u %s no name: ", nameless,
			  nameless == 1 ? "place" : "places", owner.process.pid,
			  nameless == 1 ? "has" : "have");
	if (is_refused)
		snprintf(text + length, sizeof(text) - (size_t)length,
			 "the time limit for reading files of user %u's programs is used up",
			 owner.uid);
	else
		snprintf(text + length, sizeof(text) - (size_t)length,
			 "neither /tmp/perf-%u.map nor a mapped jit-%u.dump contains one",
			 owner.ns_pid, owner.ns_pid);
	recording_note(injected->recording, injected->kind.collector, COLLECTOR_PARTIAL,
		       owner.process_id, text);
}

size_t injected_drain(struct injected *injected, uint64_t most_ns)
{
	struct guest_budget *budget = &injected->budget;
	uint64_t kept_bytes = injected->recording->kept_bytes - budget->kept;
	uint64_t now_ns = host_clocks_now_ns();
	uint64_t end_ns = most_ns < UINT64_MAX - now_ns ? now_ns + most_ns : UINT64_MAX;
	uint32_t first = injected->round.next_ring;
	size_t most = 0;

	beat(injected, now_ns);
	find_rings(injected);
	injected->round.has_more = false;
	for (uint32_t i = 0; i < injected->round.rings_seen && !injected->round.has_more; i++) {
		uint32_t index = (first + i) % injected->round.rings_seen;
		size_t taken = drain_ring(injected, &injected->rings[index], end_ns);

		/* A ring that was not finished comes last in the next round. Otherwise it would be
		 * the only one read. */
		injected->round.next_ring = index + 1;
		if (i + 1 < injected->round.rings_seen && host_clocks_now_ns() >= end_ns)
			injected->round.has_more = true;
		if (taken > most)
			most = taken;
	}
	if (injected->pending.executions_count || injected->nodes.waiting_count)
		decode_waiting(injected, false);
	name_made_code(injected, end_ns);
	/* Bytes that the records were not charged for. */
	guest_budget_keep(budget, injected->recording->kept_bytes - budget->kept - kept_bytes);
	return most;
}

/* Rings that will not be read any more may hold records of unknown number. */
static void count_unread(struct injected *injected, uint64_t now_ns)
{
	for (uint32_t i = 0; i < injected->round.rings_seen && injected->round.is_frozen; i++)
		if (injected->rings[i].used && bytes_ahead(injected, &injected->rings[i]))
			injected_put_loss(injected, injected->rings[i].thread.id, EVENT_PADDING,
					  LOSS_RING_FULL, 1, now_ns);
}

bool injected_ask_last(struct injected *injected)
{
	uint32_t offered = RING_LAST_OFFERED;

	return injected->region.shared && !injected->round.is_frozen &&
	       atomic_compare_exchange_strong(&injected->region.shared->last, &offered,
					      RING_LAST_ASKED);
}

bool injected_has_given_last(const struct injected *injected)
{
	return atomic_load(&injected->region.shared->last) != RING_LAST_ASKED;
}

uint64_t injected_begun_ns(const struct injected *injected)
{
	return injected->region.shared ? atomic_load(&injected->region.shared->begun_ns) : 0;
}

void injected_stop(struct injected *injected)
{
	robust_region_disown(injected->region.shared);
}

static void free_rings(struct injected *injected)
{
	for (uint32_t i = 0; injected->rings && i < injected->region.ring_count; i++) {
		stacks_fini(&injected->rings[i].stacks);
		ranges_thread_fini(&injected->rings[i]);
		free(injected->rings[i].functions);
	}
	free(injected->rings);
	injected->rings = NULL;
}

/* Closes the rings of the threads, writes their losses and unmaps the region. If the process lives
 * on, it keeps its mapping, so the pages are freed as well. */
static void close_region(struct injected *injected, bool lives_on)
{
	uint64_t now_ns = host_clocks_now_ns();

	if (!injected->region.shared)
		return;
	count_unread(injected, now_ns);
	for (uint32_t i = 0; injected->rings && i < injected->round.rings_seen; i++)
		if (injected->rings[i].used)
			end_thread(injected, &injected->rings[i]);
	ranges_end(injected);
	program_counters_end(injected);
	injected_count_losses(injected, now_ns);
	if (lives_on) {
		injected_stop(injected);
		ring_give_back_data(injected->region.shared, injected->region.ring_count,
				    injected->region.ring_bytes);
	}
	guest_region_close(&injected->region);
	free_rings(injected);
}

bool injected_is_same_image(const struct injected *injected, bool if_unknown)
{
	uint32_t *lookups = &injected->recording->lookups;
	/* Reading one line of the mappings costs a fraction of a file. */
	const uint32_t cost = PROC_MAPPINGS / 64;

	if (*lookups < cost || !injected->region.inode)
		return if_unknown;
	*lookups -= cost;
	/* An exec removes all mappings; a guest never unmaps the first page of its region. */
	return proc_has_mapping(injected->process->row.pid, injected->region.inode);
}

bool injected_has_left(const struct injected *injected)
{
	return atomic_load_explicit(&injected->region.shared->left, memory_order_relaxed);
}

int injected_renew(struct injected *injected, uint64_t most_ns, int *ret_fd)
{
	injected_freeze(injected);
	if (!injected_has_left(injected))
		put_gap(injected);
	injected_drain(injected, most_ns);
	close_region(injected, true);
	guest_budget_release_part(&injected->budget, &injected->budget.stacks,
				  injected->budget.stacks.used);
	injected->round.rings_seen = injected->round.next_ring = 0;
	injected->round.is_frozen = injected->round.has_more = injected->notes.has_gap = false;
	injected->region.beat_ns = 0;
	memset(injected->losses.trouble, 0, sizeof(injected->losses.trouble));
	injected->left_out = (struct guest_left_out){0};
	injected->harvest_ticks = 0;
	injected->attachment = injected->process->attachments++;
	return make_rings(injected, ret_fd);
}

static void end_ids(struct injected *injected, enum event_kind kind, const struct id_map *map)
{
	for (size_t i = 0; i < map->capacity; i++)
		if (map->items[i])
			trace_writer_end_entity(injected->recording->writer, kind, map->items[i],
						injected->process->row.end_ns);
}

/* Ends the entities, so that later segments of the trace do not repeat them. Devices are shared by
 * all processes and stay. */
static void end_entities(struct injected *injected)
{
	struct trace_writer *writer = injected->recording->writer;

	end_ids(injected, EVENT_CONTEXT, &injected->ids.contexts);
	end_ids(injected, EVENT_CLOCK, &injected->ids.device_clocks);
	end_ids(injected, EVENT_CODE, &injected->ids.codes);
	for (size_t i = 0; i < injected->ids.queues_capacity; i++)
		if (injected->ids.queues[i].id)
			trace_writer_end_entity(writer, EVENT_QUEUE, injected->ids.queues[i].id,
						injected->process->row.end_ns);
	if (injected->notes.id)
		trace_writer_end_entity(writer, EVENT_COLLECTOR, injected->notes.id,
					injected->process->row.end_ns);
}

/* Ends this guest's part of the process. The process row lives as long as one of its guests. */
static void end_process(struct injected *injected)
{
	struct injected_process *process = injected->process;
	struct recording *recording = injected->recording;

	close_region(injected, proc_is_alive(injected->pid_fd, (uint32_t)injected->pid));
	decode_waiting(injected, true);
	finish_made_code(injected);
	injected_note_facts(injected);
	injected_note_untimed_queues(injected);
	process->row.end_ns = host_clocks_now_ns();
	trace_writer_entity(recording->writer, EVENT_PROCESS, &process->row);
	if (process->row.ended)
		end_entities(injected);
	if (process->row.ended && process->references == 1)
		process_abandon(recording->processes, &process->row);
}

struct lookup_budget injected_close(struct injected *injected)
{
	struct lookup_budget looks = {0};

	if (!injected)
		return looks;
	if (injected->process)
		end_process(injected);
	guest_region_close(&injected->region);
	if (injected->pid_fd >= 0)
		close(injected->pid_fd);
	looks = injected->looks;
	guest_budget_fini(&injected->budget);
	put_process(injected->process);
	free_rings(injected);
	identities_fini(&injected->ids.codes_known);
	free(injected->exe);
	jit_code_fini(&injected->made);
	images_fini(&injected->images);
	program_counters_fini(&injected->counters);
	graph_nodes_fini(&injected->nodes);
	free(injected->ids.devices.items);
	free(injected->ids.device_clocks.items);
	free(injected->ids.contexts.items);
	free(injected->ids.codes.items);
	free(injected->ids.queues);
	free(injected->pending.executions);
	free(injected->pending.queues);
	free(injected);
	return looks;
}
