/* SPDX-License-Identifier: MIT
 *
 * bpf/submit/batches.bpf.h - parse the batch buffers of a submission and send its kernels
 *
 * Runs in:  the kernel, in the thread that calls the driver
 * Gives:    submit_record, at once or after a later call completes the batch
 * Fails:    a batch that cannot be read or is too long is sent as far as it was parsed
 *
 * A part of submit.bpf.h. Include with these macros defined, or functions: find_range, on_found,
 * on_missed.
 */
#pragma once

/* ---- looking through batches ----------------------------------------------------------------- */

/* The next batch of a submission that has several: earlier results stay. */
static __always_inline bool begin_next(struct submit_open *open)
{
	struct batch_state *state = &open->state;
	__u64 address;

	if (open->further_next >= open->further_count)
		return false;
	address = open->further[open->further_next++ & (MAX_SUBMIT_BATCHES - 1)];
	state->address = state->levels[0].mark = batch_plain_address(state, address) & ~3ULL;
	state->levels[0].jumps = 0;
	state->levels[0].renew_after = 1;
	state->level = state->noops_in_row = 0;
	state->status = BATCH_GOING;
	return true;
}

static long submit_step(__u32 index, void *context)
{
	struct submit_scratch *scratch = ((struct submit_work *)context)->scratch;

	if (!batch_step(&scratch->open.state, context))
		return 0;
	return scratch->open.state.status != BATCH_DONE || !begin_next(&scratch->open);
}

static __always_inline void look_through(struct submit_scratch *scratch)
{
	struct submit_work work = {scratch};

	scratch->piece.bytes = 0;
	bpf_loop(MAX_SUBMIT_STEPS, submit_step, &work, 0);
	if (scratch->open.state.status == BATCH_GOING)
		scratch->open.state.status = BATCH_LIMIT;
}

/* Batches that were incomplete, a few per process: its next call parses them again, in the thread
 * that has their memory. */
struct submit_open_key {
	__u32 tgid, slot;
};

MAP(opens, HASH, MAX_SUBMIT_OPENS, struct submit_open_key, struct submit_open);

__u32 opens_count; /* upper bound of their number: most calls find none and skip the search */

static __always_inline struct submit_open_key open_key(__u32 slot)
{
	return (struct submit_open_key){bpf_get_current_pid_tgid() >> 32, slot};
}

/* Only the thread that removes it may use it: two threads may try. */
static __always_inline bool remove_open(__u32 slot)
{
	const struct submit_open_key key = open_key(slot);

	if (bpf_map_delete_elem(&opens, &key))
		return false;
	__sync_fetch_and_add(&opens_count, -1);
	return true;
}

SUBMIT_CALL drop_open(__u32 slot)
{
	const struct submit_open_key key = open_key(slot);
	const struct submit_open *open = bpf_map_lookup_elem(&opens, &key);
	struct submit_dropped record = {0};

	if (!open)
		return;
	record.number = open->number;
	if (!remove_open(slot))
		return;
	fill_head(&record.head, SUBMIT_RECORD_DROPPED);
	put_record(&record, sizeof(record));
}

/* Drops the submission that has waited longest, because it was tried most often. */
SUBMIT_CALL drop_oldest(void)
{
	__u64 oldest = ~0ULL;
	__u32 slot = 0;

	for (__u32 i = 0; i < SUBMIT_OPENS_A_PROCESS; i++) {
		const struct submit_open_key key = open_key(i);
		const struct submit_open *open = bpf_map_lookup_elem(&opens, &key);

		if (!open || open->number >= oldest)
			continue;
		oldest = open->number;
		slot = i;
	}
	drop_open(slot);
}

static __always_inline bool put_open(struct submit_open *open)
{
	for (__u32 i = 0; i < SUBMIT_OPENS_A_PROCESS; i++) {
		const struct submit_open_key key = open_key(i);

		if (bpf_map_update_elem(&opens, &key, open, BPF_NOEXIST))
			continue;
		__sync_fetch_and_add(&opens_count, 1);
		return true;
	}
	return false;
}

/* False: no room, and it stays incomplete. */
static __always_inline bool keep_open(struct submit_open *open)
{
	if (put_open(open))
		return true;
	drop_oldest();
	return put_open(open);
}

static __always_inline void put_found(struct submit_scratch *scratch)
{
	const struct batch_state *state = &scratch->open.state;
	struct submit_record *record = &scratch->record;

	for (__u32 i = 0; i < MAX_BATCH_FOUND; i++) {
		if (i >= state->found_count)
			break;
		record->found[i].address = state->found[i].address;
		record->found[i].count = state->found[i].count;
		record->found[i].kind = state->found[i].kind;
		record->found[i].flags = state->found[i].flags;
	}
}

static __always_inline void send_record(struct submit_scratch *scratch)
{
	struct submit_open *open = &scratch->open;
	struct submit_record *record = &scratch->record;
	__u32 found = open->state.found_count;

	record->number = open->number;
	record->vm = open->vm;
	record->enter_ns = open->enter_ns;
	record->queue = open->queue;
	record->minor = open->minor;
	record->status = open->state.status;
	record->counts = open->state.counts;
	record->found_count = found;
	record->found_first = open->found_before;
	barrier_var(found);
	if (found > MAX_BATCH_FOUND)
		found = MAX_BATCH_FOUND;
	put_record(record, __builtin_offsetof(struct submit_record, found) +
				   found * sizeof(struct submit_found));
}

/* Parses and sends the result. The flags are in the record because the verifier follows each known
 * value separately, but treats a value in memory as unknown. */
static __always_inline void parse_and_send(struct submit_scratch *scratch)
{
	struct submit_open *open = &scratch->open;
	__u32 *flags = &scratch->record.head.flags;

	scratch->record.tries = open->tries;
	if (!(*flags & ~SUBMIT_HAS_MORE)) {
		look_through(scratch);
		open->found_before = open->found_sent;
		open->found_sent = open->state.found_count;
		on_found(scratch);
		put_found(scratch);
		if (open->state.status == BATCH_INCOMPLETE && open->tries++ < MAX_SUBMIT_TRIES &&
		    keep_open(open))
			*flags |= SUBMIT_IS_OPEN;
	}
	send_record(scratch);
}

/* A batch that is parsed late must not overwrite state that a later batch has set; state that it
 * only inherited may be even older. */
static __always_inline void keep_bases(struct submit_queue *queue, const struct submit_open *open)
{
	const struct batch_bases *bases = &open->state.bases;

	if ((bases->known & BATCH_SETS_BASES) && queue->bases_by <= open->number) {
		queue->bases_by = open->number;
		queue->bases.instruction = bases->instruction;
		queue->bases.dynamic = bases->dynamic;
		queue->bases.known = bases->known & (BATCH_KNOWS_INSTRUCTION | BATCH_KNOWS_DYNAMIC);
	}
	if ((bases->known & BATCH_SETS_DESCRIPTORS) && queue->descriptors_by <= open->number) {
		queue->descriptors_by = open->number;
		queue->bases.descriptors = bases->descriptors;
		queue->bases.descriptors_bytes = bases->descriptors_bytes;
	}
}

/* Starts parsing an accepted call. scratch->open has number, vm, file, queue, and more batches; the
 * arguments address and bases give the start. */
static __always_inline void parse_submission(struct submit_scratch *scratch,
					     const struct submit_call *call, __u64 address,
					     struct submit_queue *queue)
{
	struct submit_open *open = &scratch->open;
	struct submit_record *record = &scratch->record;
	__u32 *generation;

	fill_head(&record->head, SUBMIT_RECORD_BATCH);
	if (!open->vm)
		record->head.flags |= SUBMIT_NO_VM;
	open->enter_ns = call->enter_ns;
	open->minor = call->node ? call->node - 1 : minor_of(call->file);
	open->tries = open->found_sent = open->found_before = 0;
	record->address = address;
	record->start_ns = start_of(bpf_get_current_task_btf());
	record->batches = open->further_count + 1;
	if (open->further_count > MAX_SUBMIT_BATCHES) {
		record->head.flags |= SUBMIT_HAS_MORE;
		open->further_count = MAX_SUBMIT_BATCHES;
	}
	record->user_stack = find_stack(bpf_get_current_task_btf());
	bpf_get_current_comm(record->thread, sizeof(record->thread));
	copy_frames(call, record);
	generation = bpf_map_lookup_elem(&generations, &open->minor);
	if (!generation || !*generation)
		record->head.flags |= SUBMIT_NO_GENERATION;
	else
		open->state.generation = *generation - 1;
	open->state.vm = open->vm;
	open->state.max_steps = MAX_SUBMIT_STEPS;
	if (queue)
		open->state.bases = queue->bases;
	else
		__builtin_memset(&open->state.bases, 0, sizeof(open->state.bases));
	batch_begin(&open->state, address);
	parse_and_send(scratch);
	if (queue && !(record->head.flags & SUBMIT_NO_GENERATION))
		keep_bases(queue, open);
}

static long try_slot(__u32 slot, void *context)
{
	const struct submit_open_key key_of_open = open_key(slot);
	struct submit_open *open = bpf_map_lookup_elem(&opens, &key_of_open);
	struct submit_scratch *scratch;
	struct submit_id key = {0};
	struct submit_queue *queue;

	if (!open)
		return 0;
	scratch = take_scratch();
	if (!scratch)
		return 1;
	bpf_probe_read_kernel(&scratch->open, sizeof(scratch->open), open);
	if (remove_open(slot)) {
		fill_head(&scratch->record.head, SUBMIT_RECORD_MORE);
		batch_resume(&scratch->open.state);
		parse_and_send(scratch);
		key.file = scratch->open.file;
		key.id = scratch->open.queue;
		queue = bpf_map_lookup_elem(&queues, &key);
		if (queue)
			keep_bases(queue, &scratch->open);
	}
	put_scratch(scratch);
	return 0;
}

/* At any later call of a process: missing memory may be present by now. */
static __always_inline void try_again(void)
{
	if (*(volatile __u32 *)&opens_count)
		bpf_loop(SUBMIT_OPENS_A_PROCESS, try_slot, NULL, 0);
}

/* Without a driver: an existing mapping. */
SUBMIT_CALL run_mmap(const struct submit_request *request)
{
	const struct submit_id key = {file_number((const void *)request->file), request->offset};
	const __u64 *object = bpf_map_lookup_elem(&offsets, &key);

	if (object)
		add_mapping(*object, request->address, 0);
}
