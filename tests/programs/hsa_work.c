/* SPDX-License-Identifier: MIT
 *
 * tests/programs/hsa_work.c - does a known number of everything with HSA and says what it did
 *
 *	hsa_work MODE [NAME=VALUE ...]
 *
 *	work      on every GPU: dispatches in turn on the queues and of the kernels fill and
 *	          vector_add, copies both ways, on the device and fills of it; then looks at the
 *	          data
 *	burst     on the first GPU and one queue: dispatches as fast as can be, a signal only behind
 *	          the last
 *	reload    dispatches times over: loads code=FILE, dispatches idle, unloads it; the same with
 *	          other=FILE and late
 *	barrier   on the first GPU: queue 1 waits for a kernel that comes later on queue 2,
 *	          dispatches times over
 *	dropped   on the first GPU: destroys each dispatch's signal while it is under way; copies
 *	          with one that is destroyed, which the runtime refuses
 *	crowd     on the first GPU and one queue: a thread for each of the dispatches, which waits
 *	          for it, waits for a second one without a signal by a barrier, and stays until all
 *	          have done so
 *	stuck     dispatches with a signal each, waits timeout_ms for each in turn, tells which
 *	          ended, and leaves without cleaning up
 *
 *	code=FILE          the code object of hsa_kernels.cl
 *	other=FILE         … of the same, in which idle is called late
 *	children=0         so many children, one after the other, do the same when all is shut down
 *	dispatches=23 h2d=7 d2h=5 d2d=0 fills=0 queues=2
 *	bytes=65536        of the first copy of a kind; each further one has 256 more
 *	items=256          work-items of a dispatch
 *	local=0            bytes of local memory of its work-groups
 *	signals=1          0: dispatches have no completion signal, and no times
 *	wait=0             1: for each dispatch and copy before the next
 *	barrier_bit=1      0: dispatches of a queue may overlap
 *	boxes=0            so many boxes each way in addition, with h2d and d2h
 *	chained=0          1: a copy waits on the GPU for the one before it
 *	shift=0            the host's side of copies is so many bytes off a page
 *	locked=0           1: the host's side of copies is ordinary memory that was locked
 *	forks=0            so many children, which do nothing, between the first dispatches
 *	stops=PID          that process does not run meanwhile
 *	held=0             so many signals that are not used, all the while
 *	ors=0              so many barrier-OR packets behind the dispatches of a queue
 *	cooperative=0      1: queues are
 *	timeout_ms=200
 *	leave=return       or exit, _exit, kill, which all leave without hsa_shut_down; atexit,
 *	                   destructor: hsa_shut_down in a handler of exit, in a function of the
 *	                   program's end
 *
 * Output: one line, JSON. Times are in ns of HSA's system clock, as the application got them:
 * before the packet was written, start and end on the GPU, after the wait. Failures are told on
 * stderr and end it with status 99.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

enum { MAX_GPUS = 8, MAX_QUEUES = 8, QUEUE_PACKETS = 1024, GROUP = 64, ARGUMENT_BYTES = 64 };

#define CHECK(call) check(call, #call)

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "hsa_work: %s: %s\n", what, why);
	exit(99);
}

static void check(hsa_status_t status, const char *what)
{
	const char *text = "unknown";

	if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK)
		return;
	hsa_status_string(status, &text);
	fail(what, text);
}

/* ---- options --------------------------------------------------------------------------------- */

static struct {
	const char *code, *other, *leave;
	int64_t dispatches, h2d, d2h, d2d, fills, queues, bytes, items, local, signals, wait,
		barrier_bit, boxes, chained, shift, children, locked, forks, held, ors, stops,
		cooperative, timeout_ms;
} options = {
	.leave = "return",
	.dispatches = 23,
	.h2d = 7,
	.d2h = 5,
	.queues = 2,
	.bytes = 65536,
	.items = 256,
	.signals = 1,
	.barrier_bit = 1,
	.timeout_ms = 200,
};

static bool set_number(const char *name, const char *value)
{
	const struct {
		const char *name;
		int64_t *place;
	} rows[] = {
		{"dispatches", &options.dispatches},
		{"h2d", &options.h2d},
		{"d2h", &options.d2h},
		{"d2d", &options.d2d},
		{"fills", &options.fills},
		{"queues", &options.queues},
		{"bytes", &options.bytes},
		{"items", &options.items},
		{"local", &options.local},
		{"signals", &options.signals},
		{"wait", &options.wait},
		{"barrier_bit", &options.barrier_bit},
		{"boxes", &options.boxes},
		{"chained", &options.chained},
		{"shift", &options.shift},
		{"children", &options.children},
		{"locked", &options.locked},
		{"forks", &options.forks},
		{"held", &options.held},
		{"ors", &options.ors},
		{"stops", &options.stops},
		{"cooperative", &options.cooperative},
		{"timeout_ms", &options.timeout_ms},
	};
	char *end;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].name, name) != 0)
			continue;
		*rows[i].place = strtoll(value, &end, 10);
		return *value && !*end && *rows[i].place >= 0;
	}
	return false;
}

static void read_options(int count, char **texts)
{
	for (int i = 0; i < count; i++) {
		char *value = strchr(texts[i], '=');

		if (!value)
			fail(texts[i], "not NAME=VALUE");
		*value++ = '\0';
		if (strcmp(texts[i], "code") == 0)
			options.code = value;
		else if (strcmp(texts[i], "other") == 0)
			options.other = value;
		else if (strcmp(texts[i], "leave") == 0)
			options.leave = value;
		else if (!set_number(texts[i], value))
			fail(texts[i], "no such option, or not a number");
	}
	if (options.queues < 1 || options.queues > MAX_QUEUES)
		fail("queues", "1 to 8");
}

/* ---- the machine ----------------------------------------------------------------------------- */

enum kernel { FILL, VECTOR_ADD, IDLE, LATE, KERNELS };

static const char *const kernel_names[KERNELS] = {"fill", "vector_add", "idle", "late"};

enum copy { H2D, D2H, D2D, COPIES };

static const char *const copy_names[COPIES] = {"h2d", "d2h", "d2d"};

struct gpu {
	hsa_agent_t agent;
	hsa_amd_memory_pool_t memory;
	uint64_t kernels[KERNELS];
	hsa_queue_t *queues[MAX_QUEUES];
	uint64_t dispatched[MAX_QUEUES][KERNELS];
	uint64_t copied[COPIES], copied_bytes[COPIES];
	struct {
		uint64_t copied, copied_bytes, filled, filled_bytes;
	} now; /* by calls that return when it is done */
};

static struct {
	hsa_agent_t cpu;
	hsa_amd_memory_pool_t host_memory, argument_memory;
	struct gpu gpus[MAX_GPUS];
	size_t gpu_count;
	uint64_t barriers; /* barrier-AND packets */
	uint64_t wrong;    /* words that are not what they should be */
} machine;

static hsa_status_t on_agent(hsa_agent_t agent, void *unused)
{
	hsa_device_type_t type;

	CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
	if (type == HSA_DEVICE_TYPE_CPU)
		machine.cpu = agent;
	else if (type == HSA_DEVICE_TYPE_GPU && machine.gpu_count < MAX_GPUS)
		machine.gpus[machine.gpu_count++].agent = agent;
	return HSA_STATUS_SUCCESS;
}

static uint32_t flags_of(hsa_amd_memory_pool_t pool)
{
	hsa_amd_segment_t segment;
	uint32_t flags = 0;

	CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
	if (segment == HSA_AMD_SEGMENT_GLOBAL)
		CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS,
						   &flags));
	return flags;
}

static hsa_status_t on_host_pool(hsa_amd_memory_pool_t pool, void *unused)
{
	uint32_t flags = flags_of(pool);

	if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT)
		machine.argument_memory = pool;
	if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED)
		machine.host_memory = pool;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t on_device_pool(hsa_amd_memory_pool_t pool, void *gpu)
{
	if (flags_of(pool) & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED)
		((struct gpu *)gpu)->memory = pool;
	return HSA_STATUS_SUCCESS;
}

static void *allocate(hsa_amd_memory_pool_t pool, const struct gpu *gpu, size_t bytes)
{
	void *memory;

	CHECK(hsa_amd_memory_pool_allocate(pool, bytes, 0, &memory));
	CHECK(hsa_amd_agents_allow_access(1, &gpu->agent, NULL, memory));
	return memory;
}

static hsa_signal_t make_signal(hsa_signal_value_t value)
{
	hsa_signal_t signal;

	CHECK(hsa_signal_create(value, 0, NULL, &signal));
	return signal;
}

static hsa_executable_t load_code(const struct gpu *gpu, const char *path)
{
	hsa_code_object_reader_t reader;
	hsa_executable_t executable;
	int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (file < 0)
		fail(path ? path : "code or other", "cannot be read");
	CHECK(hsa_code_object_reader_create_from_file(file, &reader));
	CHECK(hsa_executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
					NULL, &executable));
	CHECK(hsa_executable_load_agent_code_object(executable, gpu->agent, reader, NULL, NULL));
	CHECK(hsa_executable_freeze(executable, NULL));
	CHECK(hsa_code_object_reader_destroy(reader));
	close(file);
	return executable;
}

static void find_kernel(struct gpu *gpu, hsa_executable_t executable, enum kernel kernel)
{
	hsa_executable_symbol_t symbol;
	char name[32];

	snprintf(name, sizeof(name), "%s.kd", kernel_names[kernel]);
	CHECK(hsa_executable_get_symbol_by_name(executable, name, &gpu->agent, &symbol));
	CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
					     &gpu->kernels[kernel]));
}

static void load_kernels(struct gpu *gpu)
{
	hsa_executable_t executable = load_code(gpu, options.code);

	for (enum kernel kernel = FILL; kernel <= IDLE; kernel++)
		find_kernel(gpu, executable, kernel);
}

static void open_gpu(struct gpu *gpu)
{
	CHECK(hsa_amd_agent_iterate_memory_pools(gpu->agent, on_device_pool, gpu));
	if (options.code && !options.other)
		load_kernels(gpu);
	for (int64_t i = 0; i < options.queues; i++) {
		CHECK(hsa_queue_create(gpu->agent, QUEUE_PACKETS,
				       options.cooperative ? HSA_QUEUE_TYPE_COOPERATIVE
							   : HSA_QUEUE_TYPE_MULTI,
				       NULL, NULL, UINT32_MAX, UINT32_MAX, &gpu->queues[i]));
		CHECK(hsa_amd_profiling_set_profiler_enabled(gpu->queues[i], 1));
	}
}

static void open_machine(void)
{
	memset(&machine, 0, sizeof(machine));
	CHECK(hsa_init());
	CHECK(hsa_iterate_agents(on_agent, NULL));
	if (!machine.gpu_count)
		fail("hsa_iterate_agents", "no GPU");
	CHECK(hsa_amd_agent_iterate_memory_pools(machine.cpu, on_host_pool, NULL));
	for (size_t i = 0; i < machine.gpu_count; i++)
		open_gpu(&machine.gpus[i]);
	CHECK(hsa_amd_profiling_async_copy_enable(true));
}

static void close_machine(void)
{
	for (size_t i = 0; i < machine.gpu_count; i++)
		for (int64_t k = 0; k < options.queues; k++)
			CHECK(hsa_queue_destroy(machine.gpus[i].queues[k]));
	CHECK(hsa_shut_down());
}

static uint64_t now_ns(void)
{
	uint64_t time;

	CHECK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &time));
	return time;
}

/* ---- packets --------------------------------------------------------------------------------- */

static void submit(hsa_queue_t *queue, const void *packet)
{
	uint64_t index = hsa_queue_add_write_index_scacq_screl(queue, 1);
	char *slot = (char *)queue->base_address + index % queue->size * 64;

	while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size)
		usleep(20);
	memcpy(slot + 4, (const char *)packet + 4, 60);
	__atomic_store_n((uint32_t *)slot, *(const uint32_t *)packet, __ATOMIC_RELEASE);
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

static uint16_t header_of(hsa_packet_type_t type, bool barrier_bit)
{
	return (uint16_t)(type << HSA_PACKET_HEADER_TYPE |
			  barrier_bit << HSA_PACKET_HEADER_BARRIER |
			  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_ACQUIRE_FENCE_SCOPE |
			  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_RELEASE_FENCE_SCOPE);
}

static void dispatch(struct gpu *gpu, size_t queue, enum kernel kernel, void *arguments,
		     hsa_signal_t signal)
{
	hsa_kernel_dispatch_packet_t packet = {
		.header = header_of(HSA_PACKET_TYPE_KERNEL_DISPATCH, options.barrier_bit),
		.setup = 1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS,
		.workgroup_size_x = GROUP,
		.workgroup_size_y = 1,
		.workgroup_size_z = 1,
		.grid_size_x = (uint32_t)options.items,
		.grid_size_y = 1,
		.grid_size_z = 1,
		.group_segment_size = (uint32_t)options.local,
		.kernel_object = gpu->kernels[kernel],
		.kernarg_address = arguments,
		.completion_signal = signal};

	gpu->dispatched[queue][kernel]++;
	submit(gpu->queues[queue], &packet);
}

static void wait_for_any(hsa_queue_t *queue)
{
	hsa_barrier_or_packet_t packet = {.header = header_of(HSA_PACKET_TYPE_BARRIER_OR, true)};

	submit(queue, &packet);
}

static void wait_in_queue(hsa_queue_t *queue, hsa_signal_t awaited, hsa_signal_t signal)
{
	hsa_barrier_and_packet_t packet = {.header = header_of(HSA_PACKET_TYPE_BARRIER_AND, true),
					   .dep_signal = {awaited},
					   .completion_signal = signal};

	machine.barriers++;
	submit(queue, &packet);
}

/* False: not within the timeout. */
static bool wait_for(hsa_signal_t signal, uint64_t timeout_ns)
{
	return hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, timeout_ns,
					 HSA_WAIT_STATE_BLOCKED) < 1;
}

/* ---- one piece of work, and its times -------------------------------------------------------- */

struct piece {
	const char *name;
	size_t gpu;
	uint64_t queue_id; /* UINT64_MAX: a copy */
	uint64_t bytes, before_ns, start_ns, end_ns, after_ns;
	hsa_signal_t signal;
};

static struct {
	struct piece *pieces;
	size_t count;
} done;

static struct piece *add_piece(void)
{
	done.pieces = realloc(done.pieces, (done.count + 1) * sizeof(*done.pieces));
	if (!done.pieces)
		fail("realloc", "no memory");
	memset(&done.pieces[done.count], 0, sizeof(*done.pieces));
	return &done.pieces[done.count++];
}

/* Waits and takes the times. */
static void finish(struct piece *piece)
{
	hsa_agent_t agent = machine.gpus[piece->gpu].agent;
	hsa_amd_profiling_dispatch_time_t kernel_time;
	hsa_amd_profiling_async_copy_time_t copy_time;

	if (!piece->signal.handle || piece->after_ns)
		return;
	wait_for(piece->signal, UINT64_MAX);
	piece->after_ns = now_ns();
	if (piece->queue_id == UINT64_MAX) {
		CHECK(hsa_amd_profiling_get_async_copy_time(piece->signal, &copy_time));
		piece->start_ns = copy_time.start;
		piece->end_ns = copy_time.end;
	} else {
		CHECK(hsa_amd_profiling_get_dispatch_time(agent, piece->signal, &kernel_time));
		piece->start_ns = kernel_time.start;
		piece->end_ns = kernel_time.end;
	}
	CHECK(hsa_signal_destroy(piece->signal));
}

static void finish_all(void)
{
	for (size_t i = 0; i < done.count; i++)
		finish(&done.pieces[i]);
}

/* ---- work ------------------------------------------------------------------------------------ */

/* As the kernels have their arguments. */
struct fill_arguments {
	uint32_t *out;
	uint32_t value, count;
};

struct add_arguments {
	const float *a, *b;
	float *out;
	uint32_t count;
};

static uint32_t fill_value(size_t gpu, int64_t dispatch_index)
{
	return (uint32_t)(1000000 * (gpu + 1) + (size_t)dispatch_index);
}

static void dispatch_one(size_t gpu_index, int64_t i, char *arguments, uint32_t *out,
			 const float *inputs)
{
	struct gpu *gpu = &machine.gpus[gpu_index];
	size_t queue = (size_t)(i % options.queues);
	enum kernel kernel = i % 3 == 2 ? VECTOR_ADD : FILL;
	struct piece *piece = add_piece();
	uint32_t count = (uint32_t)options.items;

	if (kernel == FILL)
		*(struct fill_arguments *)(void *)arguments = (struct fill_arguments){
			.out = out, .value = fill_value(gpu_index, i), .count = count};
	else
		*(struct add_arguments *)(void *)arguments = (struct add_arguments){
			.a = inputs, .b = inputs + count, .out = (float *)out, .count = count};
	piece->name = kernel_names[kernel];
	piece->gpu = gpu_index;
	piece->queue_id = gpu->queues[queue]->id;
	if (options.signals)
		piece->signal = make_signal(1);
	piece->before_ns = now_ns();
	dispatch(gpu, queue, kernel, arguments, piece->signal);
	if (options.wait)
		finish(piece);
}

static void check_dispatch(size_t gpu_index, int64_t i, const uint32_t *out)
{
	for (int64_t k = 0; k < options.items; k++)
		machine.wrong += i % 3 == 2 ? ((const float *)out)[k] != 3.0F * (float)k
					    : out[k] != fill_value(gpu_index, i);
}

static void fork_child(void)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(0);
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		fail("fork", "the child did not end well");
}

static void dispatch_all(size_t gpu_index)
{
	struct gpu *gpu = &machine.gpus[gpu_index];
	size_t items = (size_t)options.items, count = (size_t)options.dispatches;
	char *arguments = allocate(machine.argument_memory, gpu, (count + 1) * ARGUMENT_BYTES);
	uint32_t *out = allocate(machine.host_memory, gpu, (count + 1) * items * sizeof(*out));
	float *inputs = allocate(machine.host_memory, gpu, 2 * items * sizeof(*inputs));
	hsa_signal_t all = make_signal(options.queues);

	for (size_t k = 0; k < items; k++) {
		inputs[k] = (float)k;
		inputs[items + k] = 2.0F * (float)k;
	}
	for (int64_t i = 0; i < options.dispatches; i++) {
		dispatch_one(gpu_index, i, arguments + i * ARGUMENT_BYTES, out + (size_t)i * items,
			     inputs);
		if (i < options.forks)
			fork_child();
	}
	for (int64_t i = 0; i < options.queues; i++) {
		for (int64_t k = 0; k < options.ors; k++)
			wait_for_any(gpu->queues[i]);
		wait_in_queue(gpu->queues[i], (hsa_signal_t){0}, all);
	}
	wait_for(all, UINT64_MAX);
	finish_all();
	for (int64_t i = 0; i < options.dispatches; i++)
		check_dispatch(gpu_index, i, out + (size_t)i * items);
	CHECK(hsa_signal_destroy(all));
	CHECK(hsa_amd_memory_pool_free(arguments));
	CHECK(hsa_amd_memory_pool_free(out));
	CHECK(hsa_amd_memory_pool_free(inputs));
}

/* A signal that the next copy is to wait for; none where it need not. */
static hsa_signal_t latest_copy(void)
{
	const struct piece *piece = done.count ? &done.pieces[done.count - 1] : NULL;

	if (!options.chained || !piece || piece->queue_id != UINT64_MAX || piece->after_ns)
		return (hsa_signal_t){0};
	return piece->signal;
}

static struct piece *add_copy(size_t gpu_index, enum copy kind, size_t bytes)
{
	struct gpu *gpu = &machine.gpus[gpu_index];
	struct piece *piece = add_piece();

	gpu->copied[kind]++;
	gpu->copied_bytes[kind] += bytes;
	piece->name = copy_names[kind];
	piece->gpu = gpu_index;
	piece->queue_id = UINT64_MAX;
	piece->bytes = bytes;
	piece->signal = make_signal(1);
	piece->before_ns = now_ns();
	return piece;
}

static void copy_one(size_t gpu_index, enum copy kind, void *to, const void *from, size_t bytes)
{
	hsa_agent_t agent = machine.gpus[gpu_index].agent;
	hsa_signal_t awaited = latest_copy();
	struct piece *piece = add_copy(gpu_index, kind, bytes);

	CHECK(hsa_amd_memory_async_copy(
		to, kind == D2H ? machine.cpu : agent, from, kind == H2D ? machine.cpu : agent,
		bytes, awaited.handle != 0, awaited.handle ? &awaited : NULL, piece->signal));
	if (options.wait)
		finish(piece);
}

static void copy_many(size_t gpu_index, enum copy kind, int64_t count, void *to, const void *from)
{
	for (int64_t i = 0; i < count; i++)
		copy_one(gpu_index, kind, to, from, (size_t)(options.bytes + 256 * i));
	if (!options.chained)
		finish_all();
}

static void fill_now(size_t gpu_index, unsigned char *to, uint32_t value, size_t words_count)
{
	CHECK(hsa_amd_memory_fill(to, value, words_count));
	machine.gpus[gpu_index].now.filled++;
	machine.gpus[gpu_index].now.filled_bytes += 4 * words_count;
}

/* A box of 48 bytes by 5 rows by 3 layers, of rows of 64 bytes and layers of 8 rows, not from its
 * corner. */
static void copy_box(size_t gpu_index, enum copy kind, void *to, void *from)
{
	enum { ROW = 64, LAYER = 8 * ROW };
	const hsa_pitched_ptr_t to_box = {.base = to, .pitch = ROW, .slice = LAYER};
	const hsa_pitched_ptr_t from_box = {.base = from, .pitch = ROW, .slice = LAYER};
	const hsa_dim3_t corner = {.x = 4, .y = 2, .z = 1}, size = {.x = 48, .y = 5, .z = 3};
	struct piece *piece = add_copy(gpu_index, kind, (size_t)size.x * size.y * size.z);

	CHECK(hsa_amd_memory_async_copy_rect(
		&to_box, &corner, &from_box, &corner, &size, machine.gpus[gpu_index].agent,
		kind == H2D ? hsaHostToDevice : hsaDeviceToHost, 0, NULL, piece->signal));
	finish(piece);
}

static void check_bytes(const unsigned char *memory, size_t bytes, unsigned char want)
{
	for (size_t i = 0; i < bytes; i++)
		machine.wrong += memory[i] != want;
}

/* Host memory and where the GPU sees it, which differs for what was locked. */
struct host_memory {
	unsigned char *bytes, *for_gpu;
};

static struct host_memory allocate_host(const struct gpu *gpu, size_t bytes)
{
	struct host_memory memory;
	hsa_agent_t agent = gpu->agent;

	bytes += (size_t)options.shift;
	if (options.locked) {
		memory.bytes = malloc(bytes);
		if (!memory.bytes)
			fail("malloc", "no memory");
		CHECK(hsa_amd_memory_lock(memory.bytes, bytes, &agent, 1,
					  (void **)&memory.for_gpu));
	} else {
		memory.bytes = memory.for_gpu = allocate(machine.host_memory, gpu, bytes);
	}
	memory.bytes += options.shift;
	memory.for_gpu += options.shift;
	return memory;
}

static void free_host(struct host_memory memory)
{
	unsigned char *first = memory.bytes - options.shift;

	if (options.locked) {
		CHECK(hsa_amd_memory_unlock(first));
		free(first);
	} else {
		CHECK(hsa_amd_memory_pool_free(first));
	}
}

/* Only the box of copy_box may have come. */
static void check_box(const unsigned char *memory, unsigned char want)
{
	for (unsigned z = 0; z < 5; z++)
		for (unsigned y = 0; y < 8; y++)
			for (unsigned x = 0; x < 64; x++) {
				bool is_in = x >= 4 && x < 52 && y >= 2 && y < 7 && z >= 1 && z < 4;

				machine.wrong += memory[(z * 8 + y) * 64 + x] != (is_in ? want : 0);
			}
}

/* To the device's first half, from there to its second, and that or the first back to the host. */
static void copy_there_and_back(size_t gpu_index, struct host_memory host, struct host_memory back,
				unsigned char *device, size_t half_bytes)
{
	unsigned char want = (unsigned char)(17 * (gpu_index + 1));

	memset(host.bytes, want, half_bytes);
	memset(back.bytes, 0, half_bytes);
	fill_now(gpu_index, device, 0, half_bytes / 2);
	copy_many(gpu_index, H2D, options.h2d, device, host.for_gpu);
	copy_many(gpu_index, D2D, options.d2d, device + half_bytes, device);
	copy_many(gpu_index, D2H, options.d2h, back.for_gpu,
		  options.d2d ? device + half_bytes : device);
	finish_all();
	if (options.h2d && options.d2h)
		check_bytes(back.bytes, (size_t)options.bytes, want);
	for (int64_t i = 0; i < options.boxes; i++) {
		memset(back.bytes, 0, half_bytes);
		fill_now(gpu_index, device, 0, half_bytes / 4);
		copy_box(gpu_index, H2D, device, host.for_gpu);
		copy_box(gpu_index, D2H, back.for_gpu, device);
		check_box(back.bytes, want);
	}
}

static void fill_all(size_t gpu_index, struct host_memory back, unsigned char *device, size_t bytes)
{
	for (int64_t i = 0; i < options.fills; i++)
		fill_now(gpu_index, device, 0x01010101U * (uint32_t)(i + 1), bytes / 4);
	CHECK(hsa_memory_copy(back.for_gpu, device, bytes));
	machine.gpus[gpu_index].now.copied++;
	machine.gpus[gpu_index].now.copied_bytes += bytes;
	if (options.fills)
		check_bytes(back.bytes, bytes, (unsigned char)options.fills);
}

static void copy_all(size_t gpu_index)
{
	struct gpu *gpu = &machine.gpus[gpu_index];
	size_t most = (size_t)(options.bytes + 256 * (options.h2d + options.d2h + options.d2d));
	struct host_memory host, back;
	unsigned char *device;

	most = (most + 4096) & ~(size_t)4095; /* whole words, and a box fits */
	host = allocate_host(gpu, most);
	back = allocate_host(gpu, most);
	device = allocate(gpu->memory, gpu, 2 * most);
	copy_there_and_back(gpu_index, host, back, device, most);
	fill_all(gpu_index, back, device, most);
	free_host(host);
	free_host(back);
	CHECK(hsa_amd_memory_pool_free(device));
}

static void do_work(void)
{
	for (size_t i = 0; i < machine.gpu_count; i++) {
		dispatch_all(i);
		copy_all(i);
	}
}

/* ---- the other modes ------------------------------------------------------------------------- */

static void do_burst(void)
{
	struct gpu *gpu = &machine.gpus[0];
	hsa_signal_t all = make_signal(1);

	for (int64_t i = 0; i < options.dispatches; i++)
		dispatch(gpu, 0, IDLE, NULL, (hsa_signal_t){0});
	wait_in_queue(gpu->queues[0], (hsa_signal_t){0}, all);
	wait_for(all, UINT64_MAX);
	CHECK(hsa_signal_destroy(all));
}

/* The loader may put the other code where the first was: there, that is another kernel. */
static void do_reload(void)
{
	struct gpu *gpu = &machine.gpus[0];
	hsa_signal_t over = make_signal(0);

	for (int64_t i = 0; i < options.dispatches; i++) {
		enum kernel kernel = i % 2 ? LATE : IDLE;
		hsa_executable_t executable = load_code(gpu, i % 2 ? options.other : options.code);

		find_kernel(gpu, executable, kernel);
		hsa_signal_store_relaxed(over, 1);
		dispatch(gpu, 0, kernel, NULL, over);
		wait_for(over, UINT64_MAX);
		CHECK(hsa_executable_destroy(executable));
	}
	CHECK(hsa_signal_destroy(over));
}

static void do_barrier(void)
{
	struct gpu *gpu = &machine.gpus[0];

	if (options.queues < 2)
		fail("barrier", "needs two queues");
	for (int64_t i = 0; i < options.dispatches; i++) {
		hsa_signal_t first = make_signal(1), second = make_signal(1);

		wait_in_queue(gpu->queues[0], second, (hsa_signal_t){0});
		dispatch(gpu, 0, IDLE, NULL, first);
		dispatch(gpu, 1, IDLE, NULL, second);
		wait_for(first, UINT64_MAX);
		CHECK(hsa_signal_destroy(first));
		CHECK(hsa_signal_destroy(second));
	}
}

/* A piece of work whose end nobody wants to know of. */
static void do_dropped(void)
{
	struct gpu *gpu = &machine.gpus[0];
	unsigned char *device = allocate(gpu->memory, gpu, 4096);
	hsa_signal_t all = make_signal(1), last = make_signal(1);

	for (int64_t i = 0; i < options.dispatches; i++) {
		hsa_signal_t dropped = make_signal(1);

		dispatch(gpu, 0, IDLE, NULL, dropped);
		CHECK(hsa_signal_destroy(dropped));
	}
	wait_in_queue(gpu->queues[0], (hsa_signal_t){0}, all);
	wait_for(all, UINT64_MAX);
	CHECK(hsa_signal_destroy(last));
	machine.wrong +=
		hsa_amd_memory_async_copy(device, gpu->agent, device + 2048, gpu->agent, 2048, 0,
					  NULL, last) != HSA_STATUS_ERROR_INVALID_SIGNAL;
	CHECK(hsa_signal_destroy(all));
	CHECK(hsa_amd_memory_pool_free(device));
}

static struct {
	pthread_mutex_t stays; /* the threads until it is free */
	sem_t is_done;
} crowd = {.stays = PTHREAD_MUTEX_INITIALIZER};

static void *be_of_crowd(void *unused)
{
	struct gpu *gpu = &machine.gpus[0];
	hsa_signal_t own = make_signal(1);

	dispatch(gpu, 0, IDLE, NULL, own);
	wait_for(own, UINT64_MAX);
	hsa_signal_store_relaxed(own, 1);
	dispatch(gpu, 0, IDLE, NULL, (hsa_signal_t){0});
	wait_in_queue(gpu->queues[0], (hsa_signal_t){0}, own);
	wait_for(own, UINT64_MAX);
	CHECK(hsa_signal_destroy(own));
	sem_post(&crowd.is_done);
	pthread_mutex_lock(&crowd.stays);
	pthread_mutex_unlock(&crowd.stays);
	return unused;
}

static void do_crowd(void)
{
	pthread_t *threads = calloc((size_t)options.dispatches, sizeof(*threads));

	if (!threads)
		fail("calloc", "no memory");
	sem_init(&crowd.is_done, 0, 0);
	pthread_mutex_lock(&crowd.stays);
	for (int64_t i = 0; i < options.dispatches; i++) {
		if (pthread_create(&threads[i], NULL, be_of_crowd, NULL) != 0)
			fail("pthread_create", "no thread");
		sem_wait(&crowd.is_done);
	}
	pthread_mutex_unlock(&crowd.stays);
	for (int64_t i = 0; i < options.dispatches; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

static void do_stuck(void)
{
	struct gpu *gpu = &machine.gpus[0];

	for (int64_t i = 0; i < options.dispatches; i++) {
		struct piece *piece = add_piece();

		piece->name = kernel_names[IDLE];
		piece->queue_id = gpu->queues[i % options.queues]->id;
		piece->signal = make_signal(1);
		piece->before_ns = now_ns();
		dispatch(gpu, (size_t)(i % options.queues), IDLE, NULL, piece->signal);
	}
	for (size_t i = 0; i < done.count; i++)
		if (wait_for(done.pieces[i].signal, (uint64_t)options.timeout_ms * 1000000))
			finish(&done.pieces[i]);
}

/* ---- output ---------------------------------------------------------------------------------- */

static void print_queues(const struct gpu *gpu)
{
	printf("\"queues\":[");
	for (int64_t i = 0; i < options.queues; i++) {
		printf("%s{\"id\":%" PRIu64, i ? "," : "", gpu->queues[i]->id);
		for (int k = 0; k < KERNELS; k++)
			printf(",\"%s\":%" PRIu64, kernel_names[k], gpu->dispatched[i][k]);
		printf("}");
	}
	printf("]");
}

static void print_count(const char *name, uint64_t count, uint64_t bytes)
{
	printf(",\"%s\":{\"count\":%" PRIu64 ",\"bytes\":%" PRIu64 "}", name, count, bytes);
}

static void print_gpus(void)
{
	printf("\"gpus\":[");
	for (size_t i = 0; i < machine.gpu_count; i++) {
		char name[64] = "";

		CHECK(hsa_agent_get_info(machine.gpus[i].agent, HSA_AGENT_INFO_NAME, name));
		printf("%s{\"name\":\"%s\",", i ? "," : "", name);
		print_queues(&machine.gpus[i]);
		for (int k = 0; k < COPIES; k++)
			print_count(copy_names[k], machine.gpus[i].copied[k],
				    machine.gpus[i].copied_bytes[k]);
		print_count("copy_now", machine.gpus[i].now.copied,
			    machine.gpus[i].now.copied_bytes);
		print_count("fill_now", machine.gpus[i].now.filled,
			    machine.gpus[i].now.filled_bytes);
		printf("}");
	}
	printf("]");
}

static void print_pieces(void)
{
	bool first = true;

	printf("\"times\":[");
	for (size_t i = 0; i < done.count; i++) {
		const struct piece *piece = &done.pieces[i];

		if (!piece->after_ns)
			continue;
		printf("%s{\"name\":\"%s\",\"gpu\":%zu,", first ? "" : ",", piece->name,
		       piece->gpu);
		if (piece->queue_id == UINT64_MAX)
			printf("\"bytes\":%" PRIu64, piece->bytes);
		else
			printf("\"queue\":%" PRIu64, piece->queue_id);
		printf(",\"before\":%" PRIu64 ",\"start\":%" PRIu64 ",\"end\":%" PRIu64
		       ",\"after\":%" PRIu64 "}",
		       piece->before_ns, piece->start_ns, piece->end_ns, piece->after_ns);
		first = false;
	}
	printf("]");
}

static void print_all(const char *mode, uint64_t begin_ns, uint64_t end_ns)
{
	printf("{\"mode\":\"%s\",\"pid\":%d,\"begin\":%" PRIu64 ",\"end\":%" PRIu64
	       ",\"wrong\":%" PRIu64 ",\"barriers\":%" PRIu64 ",",
	       mode, (int)getpid(), begin_ns, end_ns, machine.wrong, machine.barriers);
	print_gpus();
	printf(",");
	print_pieces();
	printf("}\n");
	fflush(stdout);
}

static void leave(void)
{
	if (strcmp(options.leave, "exit") == 0)
		exit(0);
	if (strcmp(options.leave, "_exit") == 0)
		_exit(0);
	if (strcmp(options.leave, "kill") == 0)
		kill(getpid(), SIGKILL);
	if (strcmp(options.leave, "atexit") == 0)
		atexit(close_machine);
	else if (strcmp(options.leave, "destructor") != 0)
		close_machine();
}

static __attribute__((destructor)) void leave_at_last(void)
{
	if (strcmp(options.leave, "destructor") == 0)
		close_machine();
}

static void run(const char *mode)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {{"work", do_work},       {"burst", do_burst},     {"reload", do_reload},
		     {"barrier", do_barrier}, {"dropped", do_dropped}, {"crowd", do_crowd},
		     {"stuck", do_stuck}};
	uint64_t begin_ns;
	size_t i = 0;

	while (i < sizeof(modes) / sizeof(modes[0]) && strcmp(modes[i].name, mode) != 0)
		i++;
	if (i == sizeof(modes) / sizeof(modes[0]))
		fail(mode, "no such mode");
	open_machine();
	for (int64_t k = 0; k < options.held; k++)
		make_signal(1);
	begin_ns = now_ns();
	if (options.stops)
		kill((pid_t)options.stops, SIGSTOP);
	modes[i].run();
	if (options.stops)
		kill((pid_t)options.stops, SIGCONT);
	print_all(mode, begin_ns, now_ns());
	leave();
}

/* In a child, when the parent has shut all down. */
static void run_in_child(const char *mode)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		done.count = 0;
		run(mode);
		_exit(machine.wrong ? 1 : 0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		fail("children", "one did not end well");
}

int main(int count, char **texts)
{
	if (count < 2)
		fail("usage", "hsa_work MODE [NAME=VALUE ...]");
	read_options(count - 2, texts + 2);
	run(texts[1]);
	for (int64_t i = 0; i < options.children; i++)
		run_in_child(texts[1]);
	return machine.wrong ? 1 : 0;
}
