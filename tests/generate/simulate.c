// SPDX-License-Identifier: MIT
/*
 * tests/generate/simulate.c - what happens in a made-up recording, call by call
 *
 * Runs in:  generate_trace
 * Gets:     a world and how many events are wanted
 * Gives:    rows, in the order in which a recorder would get them, and their answers
 * Owns:     the commands that are not complete yet
 * Fails:    the writer's errors and -ENOMEM, kept in world->error
 * Why true host time inside: every moment is made up in CLOCK_MONOTONIC nanoseconds and shown in
 * another clock only when its row is written, so that no answer depends on an alignment.
 */
#include "world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS      1000000000u
#define CHOICES        1024
#define LOSS_AT_ONCE   16
#define IN_FUNCTION_NS 300

/* A command whose completion is not seen yet. */
struct pending {
	uint64_t seen_ns;
	uint32_t slot;
};

struct simulation {
	struct world *world;
	uint64_t now_ns, next_second_ns;
	uint8_t choices[CHOICES]; /* functions by weight */
	uint32_t finish;          /* index of clFinish */
	struct pending *heap;     /* smallest seen_ns first */
	size_t count, capacity;
	struct event_execution *slots;
	uint32_t *free_slots;
	size_t slot_count, free_count;
	uint64_t lost[EVENT_KIND_COUNT], lost_since_ns[EVENT_KIND_COUNT];
};

/* ---- commands on their way ---- */

static int grow(struct simulation *simulation)
{
	size_t capacity = simulation->capacity ? 2 * simulation->capacity : 4096;
	struct pending *heap = realloc(simulation->heap, capacity * sizeof(*heap));
	struct event_execution *slots;
	uint32_t *free_slots;

	if (heap)
		simulation->heap = heap;
	slots = realloc(simulation->slots, capacity * sizeof(*slots));
	if (slots)
		simulation->slots = slots;
	free_slots = realloc(simulation->free_slots, capacity * sizeof(*free_slots));
	if (free_slots)
		simulation->free_slots = free_slots;
	if (!heap || !slots || !free_slots)
		return -ENOMEM;
	simulation->capacity = capacity;
	return 0;
}

static void push(struct simulation *simulation, uint64_t seen_ns,
		 const struct event_execution *execution)
{
	struct pending *heap;
	uint32_t slot;
	size_t at = simulation->count;

	if (at == simulation->capacity && grow(simulation)) {
		simulation->world->error = -ENOMEM;
		return;
	}
	heap = simulation->heap;
	slot = simulation->free_count ? simulation->free_slots[--simulation->free_count]
				      : (uint32_t)simulation->slot_count++;
	simulation->slots[slot] = *execution;
	for (simulation->count++; at && heap[(at - 1) / 2].seen_ns > seen_ns; at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = (struct pending){seen_ns, slot};
}

static struct pending pop(struct simulation *simulation)
{
	struct pending *heap = simulation->heap, first = heap[0];
	struct pending moving = heap[--simulation->count];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < simulation->count) {
		if (child + 1 < simulation->count && heap[child + 1].seen_ns < heap[child].seen_ns)
			child++;
		if (moving.seen_ns <= heap[child].seen_ns)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moving;
	return first;
}

/* Executions are written when their completion is seen. */
static void harvest(struct simulation *simulation, uint64_t until_ns)
{
	while (simulation->count && simulation->heap[0].seen_ns <= until_ns) {
		struct pending pending = pop(simulation);
		struct event_execution *execution = &simulation->slots[pending.slot];
		struct queue *queue = &simulation->world->queues[execution->queue - 1];

		queue->outstanding--;
		world_row(simulation->world, EVENT_EXECUTION, execution->queue,
			  CLOCK_FIRST_DEVICE + queue->device - 1, execution);
		simulation->free_slots[simulation->free_count++] = pending.slot;
	}
}

static void advance(struct simulation *simulation, uint64_t now_ns)
{
	struct world *world = simulation->world;

	simulation->now_ns = now_ns;
	harvest(simulation, now_ns);
	for (uint32_t i = 0; i < ANSWERS_DEVICES; i++)
		busy_advance(&world->answers->devices[i].busy, device_at(i + 1, now_ns));
	while (now_ns >= simulation->next_second_ns) {
		world_pairs(world, simulation->next_second_ns);
		trace_writer_flush(world->writer, simulation->next_second_ns);
		simulation->next_second_ns += SECOND_NS;
	}
}

/* ---- trouble ---- */

static bool happens(struct world *world, uint32_t once_in)
{
	return world->shape->has_trouble && random_below(world, once_in) == 0;
}

static void write_loss(struct simulation *simulation, enum event_kind kind, uint32_t thread)
{
	struct world *world = simulation->world;
	struct event_loss loss = {.begin = simulation->lost_since_ns[kind],
				  .end = simulation->now_ns,
				  .process = world->threads[thread].process,
				  .thread = thread + 1,
				  .kind = kind,
				  .reason = LOSS_RING_FULL,
				  .count = simulation->lost[kind]};

	if (!loss.count)
		return;
	world_row(world, EVENT_LOSS, 0, CLOCK_ID_MONOTONIC, &loss);
	simulation->lost[kind] = 0;
}

static void lose(struct simulation *simulation, enum event_kind kind, uint32_t thread)
{
	if (!simulation->lost[kind]++)
		simulation->lost_since_ns[kind] = simulation->now_ns;
	if (kind == EVENT_API)
		simulation->world->answers->lost_calls++;
	else
		simulation->world->answers->dropped++;
	if (simulation->lost[kind] >= LOSS_AT_ONCE)
		write_loss(simulation, kind, thread);
}

/* ---- calls ---- */

static void count_call(struct world *world, uint32_t function, uint64_t duration_ns, bool failed)
{
	count_total_add(&world->answers->functions[function], duration_ns);
	world->answers->functions[function].failures += failed;
}

static void call(struct simulation *simulation, uint32_t thread, uint32_t function, uint64_t end_ns,
		 uint64_t argument)
{
	struct world *world = simulation->world;
	bool failed = happens(world, 500);
	struct event_api api = {.begin = tsc_at(simulation->now_ns),
				.end = tsc_at(end_ns),
				.thread = thread + 1,
				.function_string = world->function_strings[function],
				.result = failed ? -30 : 0,
				.type = argument ? API_TYPE_WAIT : API_TYPE_CALL,
				.argument = argument};

	world->threads[thread].free_ns = end_ns;
	if (happens(world, 5000)) {
		lose(simulation, EVENT_API, thread);
		return;
	}
	count_call(world, function, end_ns - simulation->now_ns, failed);
	world_row(world, EVENT_API, thread + 1, CLOCK_TSC, &api);
}

/* ---- commands ---- */

static uint64_t lane_free(const struct queue *queue, bool last)
{
	uint64_t chosen = queue->lane_free_ns[0];

	for (uint32_t i = 1; i < queue->lanes; i++)
		if ((queue->lane_free_ns[i] > chosen) == last)
			chosen = queue->lane_free_ns[i];
	return chosen;
}

struct command {
	struct queue *queue;
	struct event_launch launch;
	struct event_execution execution;
	uint64_t enter_ns, exit_ns;
	uint64_t queued_ns, submitted_ns, started_ns, ended_ns, seen_ns; /* truth */
	uint32_t kernel;
	uint32_t answer; /* index of its answer */
	bool is_copy;
};

static uint64_t duration_of(struct world *world, const struct command *command)
{
	if (command->launch.command == COMMAND_KERNEL)
		return world->shape->kernel_ns * (1 + command->kernel) +
		       random_below(world, world->shape->kernel_ns * 2) +
		       (random_below(world, 1000) ? 0 : 500000);
	if (command->launch.bytes)
		return 200 + command->launch.bytes / 16 + random_below(world, 300);
	return random_below(world, 200);
}

static void choose_sizes(struct world *world, struct command *command)
{
	struct event_launch *launch = &command->launch;

	switch (launch->command) {
	case COMMAND_KERNEL:
		do
			command->kernel = (uint32_t)random_below(world, KERNELS);
		while (kernels[command->kernel].device != command->queue->device);
		launch->kernel = kernel_code(command->queue->process, command->kernel);
		launch->dimensions = 1 + command->kernel % 3;
		for (uint32_t i = 0; i < launch->dimensions; i++) {
			launch->global_size[i] = 256u << command->kernel;
			launch->local_size[i] = command->kernel ? 16 : 0;
		}
		break;
	case COMMAND_READ:
	case COMMAND_WRITE:
	case COMMAND_COPY:
		command->is_copy = true;
		/* fall through */
	case COMMAND_FILL:
	case COMMAND_MAP:
		launch->bytes = 4u << random_below(world, 15);
		break;
	default:
		break;
	}
}

static void choose_times(struct simulation *simulation, struct command *command)
{
	struct world *world = simulation->world;
	struct queue *queue = command->queue;
	uint64_t *lane = &queue->lane_free_ns[random_below(world, queue->lanes)];
	uint32_t apart_ns = world->shape->harvest_ns;

	command->enter_ns = simulation->now_ns;
	command->queued_ns = command->enter_ns + 100 + random_below(world, 100);
	command->exit_ns = command->enter_ns + IN_FUNCTION_NS + random_below(world, 1500);
	command->submitted_ns = command->queued_ns + 100 + random_below(world, 2000);
	command->started_ns = command->submitted_ns + random_below(world, 800);
	if (command->started_ns < *lane)
		command->started_ns = *lane + random_below(world, 100);
	command->ended_ns = command->started_ns + duration_of(world, command);
	*lane = command->ended_ns;
	command->seen_ns = command->ended_ns + 500 + random_below(world, 20000);
	if (apart_ns)
		command->seen_ns += apart_ns - command->seen_ns % apart_ns;
	if (world->shape->is_blocking && command->launch.command == COMMAND_READ &&
	    random_below(world, 10) < 3) {
		command->launch.flags |= LAUNCH_BLOCKING;
		command->exit_ns = command->seen_ns + 50;
	}
}

static void show_times(struct command *command)
{
	struct event_execution *execution = &command->execution;
	uint32_t device = command->queue->device;

	command->launch.enter = tsc_at(command->enter_ns);
	command->launch.exit = tsc_at(command->exit_ns);
	execution->seen = tsc_at(command->seen_ns);
	if (command->queue->is_untimed) {
		command->launch.flags |= LAUNCH_UNTIMED;
		return;
	}
	execution->valid = EXECUTION_TIMED;
	execution->queued = device_at(device, command->queued_ns);
	execution->submitted = device_at(device, command->submitted_ns);
	execution->started = device_at(device, command->started_ns);
	execution->ended = device_at(device, command->ended_ns);
}

/* Stamps that a report must not believe. */
static bool spoil(struct world *world, struct command *command)
{
	struct event_execution *execution = &command->execution;

	if (command->queue->is_untimed || !happens(world, 1000))
		return false;
	switch (random_below(world, 3)) {
	case 0:
		execution->ended = execution->started - 1 - random_below(world, 1000);
		break;
	case 1:
		execution->submitted = execution->queued - 1 - random_below(world, 1000);
		break;
	default:
		execution->valid = 0;
		execution->queued = execution->submitted = 0;
		execution->started = execution->ended = 0;
		execution->status = -14;
	}
	return true;
}

static void count_execution(struct world *world, const struct command *command)
{
	const struct event_execution *execution = &command->execution;
	struct answers *answers = world->answers;
	struct device_answer *device = &answers->devices[command->queue->device - 1];
	struct copy_answer *copy = &answers->commands[command->queue->device - 1][command->answer];
	uint64_t duration_ns = execution->ended - execution->started;

	answers->matched++;
	copy->matched++;
	copy->matched_bytes += command->launch.bytes;
	if (command->launch.command == COMMAND_KERNEL)
		answers->kernel_matched[command->kernel]++;
	if (!execution->valid) {
		answers->untimed++;
		return;
	}
	answers->executed++;
	device->executions++;
	device->kernels += command->launch.command == COMMAND_KERNEL;
	device->copies += command->is_copy;
	copy->timed++;
	copy->timed_bytes += command->launch.bytes;
	copy->total_ns += duration_ns;
	if (command->launch.command == COMMAND_KERNEL)
		count_total_add(&answers->kernels[command->kernel], duration_ns);
	if (busy_add(&device->busy, execution->started, execution->ended))
		world->error = -ENOMEM;
}

static void execute(struct simulation *simulation, struct command *command, uint32_t thread)
{
	struct world *world = simulation->world;
	bool is_spoiled = spoil(world, command);

	if (happens(world, 2000)) {
		lose(simulation, EVENT_EXECUTION, thread);
		return;
	}
	if (is_spoiled)
		world->answers->rejected++;
	else
		count_execution(world, command);
	command->queue->outstanding++;
	push(simulation, command->seen_ns, &command->execution);
}

static void write_launch(struct simulation *simulation, struct command *command, uint32_t thread)
{
	struct world *world = simulation->world;
	struct event_launch *launch = &command->launch;
	struct copy_answer *copy =
		&world->answers->commands[command->queue->device - 1][command->answer];

	launch->handle = launch->correlation << 4;
	world_row(world, EVENT_LAUNCH, thread + 1, CLOCK_TSC, launch);
	if (launch->correlation > 1 && random_below(world, 10) == 0) {
		struct event_dependency dependency = {launch->enter, command->queue->process,
						      launch->correlation,
						      (launch->correlation - 1) << 4};

		world_row(world, EVENT_DEPENDENCY, thread + 1, CLOCK_TSC, &dependency);
	}
	copy->launches++;
	copy->launched_bytes += launch->bytes;
	if (launch->command == COMMAND_KERNEL)
		world->answers->kernel_launches[command->kernel]++;
}

static struct queue *choose_queue(struct world *world, uint32_t thread)
{
	return &world->queues[world->threads[thread].queues[random_below(world, 2)]];
}

static void launch(struct simulation *simulation, uint32_t thread, uint32_t function,
		   bool completes)
{
	struct world *world = simulation->world;
	struct command command = {.queue = choose_queue(world, thread)};
	uint32_t process = command.queue->process;
	bool failed = completes && happens(world, 400);

	command.launch.thread = thread + 1;
	command.launch.function_string = world->function_strings[function];
	command.launch.command = functions[function].command;
	command.answer = strstr(functions[function].name, "Marker") ? ANSWERS_MARKER
								    : command.launch.command;
	command.launch.queue = command.queue->id;
	choose_sizes(world, &command);
	if (failed) {
		uint64_t exit_ns = simulation->now_ns + IN_FUNCTION_NS;

		command.launch.enter = tsc_at(simulation->now_ns);
		command.launch.exit = tsc_at(exit_ns);
		command.launch.result = -5;
		world->threads[thread].free_ns = exit_ns;
		count_call(world, function, IN_FUNCTION_NS, true);
		world_row(world, EVENT_LAUNCH, thread + 1, CLOCK_TSC, &command.launch);
		return;
	}
	choose_times(simulation, &command);
	if (!completes)
		command.exit_ns = command.enter_ns + IN_FUNCTION_NS;
	show_times(&command);
	world->threads[thread].free_ns = command.exit_ns;
	command.launch.correlation = ++world->correlations[process];
	command.execution.correlation = command.launch.correlation;
	command.execution.process = process;
	command.execution.queue = command.queue->id;
	world->answers->launched++;
	if (completes && happens(world, 2000)) {
		lose(simulation, EVENT_LAUNCH, thread);
		return;
	}
	count_call(world, function, command.exit_ns - command.enter_ns, false);
	write_launch(simulation, &command, thread);
	if (completes)
		execute(simulation, &command, thread);
}

/* ---- the run ---- */

/* A thread that may call now; time goes on where all are inside a call. */
static uint32_t choose_thread(struct simulation *simulation)
{
	struct world *world = simulation->world;
	uint32_t count = world->shape->threads;
	uint32_t thread = (uint32_t)random_below(world, count), first = thread;
	uint64_t now_ns = simulation->now_ns + 1 + random_below(world, 2 * world->shape->gap_ns);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t other = (thread + i) % count;

		if (world->threads[other].free_ns < world->threads[first].free_ns)
			first = other;
		if (world->threads[other].free_ns <= now_ns) {
			first = other;
			break;
		}
	}
	if (world->threads[first].free_ns > now_ns)
		now_ns = world->threads[first].free_ns;
	advance(simulation, now_ns);
	return first;
}

static bool is_full(const struct simulation *simulation, const struct queue *queue)
{
	const struct shape *shape = simulation->world->shape;

	return queue->outstanding >= shape->outstanding ||
	       (shape->backlog_ns != UINT64_MAX &&
		lane_free(queue, false) > simulation->now_ns + shape->backlog_ns);
}

static void step(struct simulation *simulation)
{
	struct world *world = simulation->world;
	uint32_t thread = choose_thread(simulation);
	uint32_t function = simulation->choices[random_below(world, CHOICES)];

	for (int i = 0; i < 2; i++) {
		struct queue *queue = &world->queues[world->threads[thread].queues[i]];
		uint64_t free_ns = lane_free(queue, true);

		if (is_full(simulation, queue)) {
			if (free_ns < simulation->now_ns)
				free_ns = simulation->now_ns;
			/* long enough that all of it is seen, too */
			call(simulation, thread, simulation->finish, free_ns + 21000, queue->id);
			return;
		}
	}
	if (functions[function].command == COMMAND_COUNT)
		call(simulation, thread, function,
		     simulation->now_ns + 50 + random_below(world, 400), 0);
	else
		launch(simulation, thread, function, true);
}

static void finish(struct simulation *simulation)
{
	struct world *world = simulation->world;
	uint64_t end_ns = simulation->now_ns;

	for (uint32_t i = 0; i < world->shape->threads; i++)
		end_ns = world->threads[i].free_ns > end_ns ? world->threads[i].free_ns : end_ns;
	while (simulation->count) {
		end_ns =
			simulation->heap[0].seen_ns > end_ns ? simulation->heap[0].seen_ns : end_ns;
		advance(simulation, end_ns);
	}
	for (uint32_t i = 0; i < world->shape->in_flight; i++) {
		advance(simulation, simulation->now_ns + 1000);
		launch(simulation, i % world->shape->threads, simulation->finish + 1, false);
	}
	for (int kind = 0; kind < EVENT_KIND_COUNT; kind++)
		write_loss(simulation, kind, 0);
	for (uint32_t i = 0; i < ANSWERS_DEVICES; i++)
		busy_advance(&world->answers->devices[i].busy, UINT64_MAX);
	world_end(world, simulation->now_ns + 1000000);
}

static void weigh_functions(struct simulation *simulation)
{
	uint32_t sum = 0, at = 0, before = 0;

	for (size_t i = 0; i < function_count; i++)
		sum += functions[i].weight;
	for (size_t i = 0; i < function_count; i++) {
		if (functions[i].command == COMMAND_COUNT && !functions[i].weight)
			simulation->finish = (uint32_t)i;
		before += functions[i].weight;
		while (at < CHOICES && at * sum < before * CHOICES)
			simulation->choices[at++] = (uint8_t)i;
	}
}

void simulate(struct world *world, uint64_t events)
{
	struct simulation simulation = {.world = world,
					.now_ns = BEGIN_NS + 1000000,
					.next_second_ns = BEGIN_NS + SECOND_NS};
	const uint64_t *rows = world->answers->rows;

	weigh_functions(&simulation);
	while (!world->shape->is_empty && !world->error &&
	       rows[EVENT_API] + rows[EVENT_LAUNCH] + rows[EVENT_EXECUTION] + simulation.count <
		       events)
		step(&simulation);
	finish(&simulation);
	free(simulation.heap);
	free(simulation.slots);
	free(simulation.free_slots);
}
