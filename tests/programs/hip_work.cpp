// SPDX-License-Identifier: MIT
//
// tests/programs/hip_work.cpp - does a known number of everything with HIP and says what it did
//
//	hip_work MODE [NAME=VALUE ...]
//
//	work      on every device: copies of all directions, memset, kernels launched with <<<>>> on two streams, an
//	          event around them; then looks at the data
//	module    launches=5000 of the kernel idle of code=FILE, a code object of hsa_kernels.cl
//	graph     captures nodes=8 kernels of <<<>>> and launches the graph launches=3 times
//	forking   one thread launches the kernel fill, the other makes forks=6 children meanwhile, one after the other:
//	          every second executes this program in mode work, silently, the others end at once
//	callback  launches=23 times: a function of the host in one stream waits until the kernel and the copies in another
//	          are done
//	awaited   launches=23 times: a kernel, and a wait for its stream
//	cooperative  launches=23 of the kernel fill, cooperative, which takes a GPU with gws=64
//	late      kernels in all streams and the default one in turn, whose queue HIP makes at its first launch
//	failing   two kernels of one name; a launch, a copy and an allocation that fail
//	jump      leaves launches=23 calls that wait for a stream by siglongjmp, and goes on
//
//	launches=23 h2d=7 d2h=5 d2d=3 memsets=2
//	bytes=65536        of the first copy of a kind; each further one has 256 more
//	items=256          work-items of a launch
//
// Output: one line, JSON. Times are in ns of CLOCK_BOOTTIME. Failures are told on stderr and end it with status 99.
// Compiled as HIP by an ordinary clang, without AMD's device libraries.
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#define __HIP_PLATFORM_HCC__ 1 // what Debian's headers of HIP 5.2 still ask for
#include <hip/hip_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <dlfcn.h>
#include <semaphore.h>
#include <setjmp.h>
#include <unistd.h>

// What <<<>>> becomes; hip_runtime.h would want the device libraries.
extern "C" hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
						 hipStream_t stream);

enum { GROUP = 64, STREAMS = 2 };

#define KERNEL __attribute__((global))
#define ITEM   (__builtin_amdgcn_workgroup_id_x() * GROUP + __builtin_amdgcn_workitem_id_x())

// Executed by the simulated GPU, which knows these names.
extern "C" KERNEL void fill(uint32_t *out, uint32_t value, uint32_t count)
{
	if (ITEM < count)
		out[ITEM] = value;
}

extern "C" KERNEL void vector_add(const float *a, const float *b, float *out, uint32_t count)
{
	if (ITEM < count)
		out[ITEM] = a[ITEM] + b[ITEM];
}

// A kernel whose symbol is a mangled name.
namespace shapes
{
template <typename number> KERNEL void scale(number *values, number factor, uint32_t count)
{
	if (ITEM < count)
		values[ITEM] *= factor;
}

// Two kernels that only their parameters tell apart.
KERNEL void clear(float *values)
{
	values[ITEM] = 0.0F;
}

KERNEL void clear(uint32_t *values)
{
	values[ITEM] = 0;
}
} // namespace shapes

#define CHECK(call) check(call, #call)

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "hip_work: %s: %s\n", what, why);
	exit(99);
}

static void check(hipError_t error, const char *what)
{
	if (error != hipSuccess)
		fail(what, hipGetErrorString(error));
}

static uint64_t now_ns()
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return uint64_t(now.tv_sec) * 1000000000 + uint64_t(now.tv_nsec);
}

static struct {
	const char *code;
	int64_t launches, h2d, d2h, d2d, memsets, bytes, items, nodes, forks;
} options = {nullptr, 23, 7, 5, 3, 2, 65536, 256, 8, 6};

static void read_option(char *text)
{
	const struct {
		const char *name;
		int64_t *place;
	} rows[] = {{"launches", &options.launches}, {"h2d", &options.h2d},
		    {"d2h", &options.d2h},           {"d2d", &options.d2d},
		    {"memsets", &options.memsets},   {"bytes", &options.bytes},
		    {"items", &options.items},       {"nodes", &options.nodes},
		    {"forks", &options.forks}};
	char *value = strchr(text, '=');

	if (!value)
		fail(text, "not NAME=VALUE");
	*value++ = '\0';
	if (strcmp(text, "code") == 0) {
		options.code = value;
		return;
	}
	for (const auto &row : rows)
		if (strcmp(row.name, text) == 0) {
			*row.place = strtoll(value, nullptr, 10);
			return;
		}
	fail(text, "no such option");
}

// What was done, by name, and how many bytes of what should be there are not.
struct tally {
	int64_t count, bytes;
};

static struct {
	tally h2d, d2h, d2d, memset, fill, vector_add, scale, idle;
	int64_t graphs, wrong;
	uint64_t graph; // handle of the graph that was launched
	float event_ms;
} done;

static void add(tally *one, int64_t bytes)
{
	one->count++;
	one->bytes += bytes;
}

// ---- work ----

static void copy_all()
{
	int64_t most =
		options.bytes + 256 * (options.h2d + options.d2h + options.d2d + options.memsets);
	std::vector<char> host(size_t(most), 'h'), back(size_t(most), 0);
	char *first, *second;

	CHECK(hipMalloc((void **)&first, size_t(most)));
	CHECK(hipMalloc((void **)&second, size_t(most)));
	for (int64_t i = 0, bytes = options.bytes; i < options.h2d; i++, bytes += 256) {
		CHECK(hipMemcpy(first, host.data(), size_t(bytes), hipMemcpyHostToDevice));
		add(&done.h2d, bytes);
	}
	for (int64_t i = 0, bytes = options.bytes; i < options.d2d; i++, bytes += 256) {
		CHECK(hipMemcpy(second, first, size_t(bytes), hipMemcpyDeviceToDevice));
		add(&done.d2d, bytes);
	}
	CHECK(hipDeviceSynchronize());
	for (int64_t i = 0, bytes = options.bytes; i < options.d2h; i++, bytes += 256) {
		CHECK(hipMemcpy(back.data(), options.d2d ? second : first, size_t(bytes),
				hipMemcpyDeviceToHost));
		add(&done.d2h, bytes);
	}
	for (int64_t i = 0; options.h2d && options.d2h && i < options.bytes; i++)
		done.wrong += back[size_t(i)] != 'h';
	for (int64_t i = 0, bytes = options.bytes; i < options.memsets; i++, bytes += 256) {
		CHECK(hipMemset(first, int(i + 1), size_t(bytes)));
		add(&done.memset, bytes);
	}
	CHECK(hipMemcpy(back.data(), first, size_t(options.bytes), hipMemcpyDeviceToHost));
	add(&done.d2h, options.bytes);
	for (int64_t i = 0; options.memsets && i < options.bytes; i++)
		done.wrong += back[size_t(i)] != char(options.memsets);
	CHECK(hipFree(first));
	CHECK(hipFree(second));
}

struct arrays {
	uint32_t *filled;
	float *a, *b, *sum;
};

static void launch_one(int64_t i, hipStream_t stream, const arrays &on_device)
{
	uint32_t count = uint32_t(options.items), groups = (count + GROUP - 1) / GROUP;

	switch (i % 3) {
	case 0:
		fill<<<groups, GROUP, 0, stream>>>(on_device.filled + i * options.items,
						   uint32_t(i), count);
		add(&done.fill, 0);
		break;
	case 1:
		vector_add<<<groups, GROUP, 0, stream>>>(on_device.a, on_device.b, on_device.sum,
							 count);
		add(&done.vector_add, 0);
		break;
	default:
		shapes::scale<float><<<groups, GROUP, 0, stream>>>(on_device.a, 1.0F, count);
		add(&done.scale, 0);
	}
	CHECK(hipGetLastError());
}

static void check_filled(const uint32_t *on_device, uint32_t value)
{
	std::vector<uint32_t> filled(size_t(options.items));

	CHECK(hipMemcpy(filled.data(), on_device, filled.size() * 4, hipMemcpyDeviceToHost));
	add(&done.d2h, int64_t(filled.size() * 4));
	for (uint32_t one : filled)
		done.wrong += one != value;
}

static void check_launches(const arrays &on_device)
{
	size_t items = size_t(options.items);
	std::vector<float> sum(items);

	for (int64_t i = 0; i < options.launches; i += 3)
		check_filled(on_device.filled + i * options.items, uint32_t(i));
	CHECK(hipMemcpy(sum.data(), on_device.sum, items * 4, hipMemcpyDeviceToHost));
	add(&done.d2h, int64_t(items * 4));
	for (size_t k = 0; options.launches > 1 && k < items; k++)
		done.wrong += sum[k] != 3.0F * float(k);
}

static void launch_all()
{
	size_t bytes = size_t(options.items) * 4;
	std::vector<float> input(size_t(options.items));
	hipStream_t streams[STREAMS];
	hipEvent_t begin, end;
	arrays on_device;

	CHECK(hipMalloc((void **)&on_device.filled, bytes * size_t(options.launches + 1)));
	for (float **array : {&on_device.a, &on_device.b, &on_device.sum})
		CHECK(hipMalloc((void **)array, bytes));
	for (int64_t k = 0; k < options.items; k++)
		input[size_t(k)] = 1.5F * float(k);
	for (float *array : {on_device.a, on_device.b}) {
		CHECK(hipMemcpy(array, input.data(), bytes, hipMemcpyHostToDevice));
		add(&done.h2d, int64_t(bytes));
	}
	for (hipStream_t &stream : streams)
		CHECK(hipStreamCreate(&stream));
	CHECK(hipEventCreate(&begin));
	CHECK(hipEventCreate(&end));
	CHECK(hipEventRecord(begin, streams[0]));
	for (int64_t i = 0; i < options.launches; i++)
		launch_one(i, streams[i % STREAMS], on_device);
	CHECK(hipEventRecord(end, streams[0]));
	for (hipStream_t stream : streams)
		CHECK(hipStreamSynchronize(stream));
	CHECK(hipEventElapsedTime(&done.event_ms, begin, end));
	check_launches(on_device);
}

static void do_work()
{
	int devices = 0;

	CHECK(hipGetDeviceCount(&devices));
	for (int i = 0; i < devices; i++) {
		CHECK(hipSetDevice(i));
		copy_all();
		launch_all();
	}
}

// ---- module, graph ----

static hipFunction_t load_idle()
{
	hipModule_t module;
	hipFunction_t function;

	if (!options.code)
		fail("code", "is wanted");
	CHECK(hipModuleLoad(&module, options.code));
	CHECK(hipModuleGetFunction(&function, module, "idle"));
	return function;
}

static void launch_idle(hipFunction_t function, hipStream_t stream)
{
	CHECK(hipModuleLaunchKernel(function, unsigned(options.items / GROUP), 1, 1, GROUP, 1, 1, 0,
				    stream, nullptr, nullptr));
}

static void do_module()
{
	hipFunction_t function = load_idle();
	hipStream_t stream;

	CHECK(hipStreamCreate(&stream));
	for (int64_t i = 0; i < options.launches; i++) {
		launch_idle(function, stream);
		add(&done.idle, 0);
	}
	CHECK(hipStreamSynchronize(stream));
}

// HIP 5.2 captures kernels that are launched by <<<>>>, and executes a module's at once.
static void do_graph()
{
	uint32_t count = uint32_t(options.items);
	uint32_t *out;
	hipStream_t stream;
	hipGraph_t graph;
	hipGraphExec_t executable;

	CHECK(hipMalloc((void **)&out, count * sizeof(*out)));
	CHECK(hipStreamCreate(&stream));
	CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
	for (int64_t i = 0; i < options.nodes; i++)
		fill<<<(count + GROUP - 1) / GROUP, GROUP, 0, stream>>>(out, uint32_t(i), count);
	CHECK(hipStreamEndCapture(stream, &graph));
	CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
	for (int64_t i = 0; i < options.launches; i++) {
		CHECK(hipGraphLaunch(executable, stream));
		CHECK(hipStreamSynchronize(stream));
		done.graphs++;
		done.fill.count += options.nodes;
	}
	check_filled(out, uint32_t(options.nodes - 1));
	done.graph = uint64_t(uintptr_t(executable));
	CHECK(hipGraphExecDestroy(executable));
	CHECK(hipGraphDestroy(graph));
}

// ---- cooperative ----

static void do_cooperative()
{
	uint32_t count = uint32_t(options.items), value = 7;
	uint32_t *out;
	void *values[] = {&out, &value, &count};

	CHECK(hipMalloc((void **)&out, count * sizeof(*out)));
	for (int64_t i = 0; i < options.launches; i++) {
		CHECK(hipLaunchCooperativeKernel((const void *)fill, dim3(count / GROUP),
						 dim3(GROUP), values, 0, nullptr));
		add(&done.fill, 0);
	}
	check_filled(out, value);
}

// ---- late ----

static void do_late()
{
	uint32_t count = uint32_t(options.items), *out;
	hipStream_t streams[STREAMS + 1] = {};

	CHECK(hipMalloc((void **)&out, count * sizeof(*out)));
	for (int i = 0; i < STREAMS; i++)
		CHECK(hipStreamCreate(&streams[i]));
	for (int64_t i = 0; i < options.launches; i++) {
		fill<<<(count + GROUP - 1) / GROUP, GROUP, 0, streams[i % (STREAMS + 1)]>>>(
			out, uint32_t(i), count);
		add(&done.fill, 0);
	}
}

// ---- children ----

static bool is_over;

static void *launch_along(void *unused)
{
	uint32_t count = uint32_t(options.items);
	uint32_t *out;

	CHECK(hipMalloc((void **)&out, count * sizeof(*out)));
	for (int64_t i = 0;
	     i < options.launches || !__atomic_load_n(&is_over, __ATOMIC_ACQUIRE); i++) {
		fill<<<(count + GROUP - 1) / GROUP, GROUP, 0, nullptr>>>(out, uint32_t(i), count);
		CHECK(hipGetLastError());
		add(&done.fill, 0);
		if (i % 64 == 63)
			CHECK(hipStreamSynchronize(nullptr));
	}
	CHECK(hipStreamSynchronize(nullptr));
	check_filled(out, uint32_t(done.fill.count - 1));
	CHECK(hipFree(out));
	return unused;
}

static void run_child(bool is_to_work)
{
	if (is_to_work) {
		dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
		execl("/proc/self/exe", "hip_work", "work", nullptr);
	}
	_exit(is_to_work ? 98 : 0);
}

static void do_forking()
{
	pthread_t other;

	CHECK(hipFree(nullptr)); // the runtime is there
	pthread_create(&other, nullptr, launch_along, nullptr);
	for (int64_t i = 0; i < options.forks; i++) {
		pid_t child = fork();
		int status;

		if (child == 0)
			run_child(i % 2);
		if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
			fail("fork", "a child did not end well");
	}
	__atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
	pthread_join(other, nullptr);
}

// ---- callback ----

enum { PATIENCE_S = 60 };

static sem_t other_is_done;

// In a thread of the runtime's, which calls nobody else meanwhile.
static void wait_for_other(hipStream_t, hipError_t, void *)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += PATIENCE_S;
	if (sem_timedwait(&other_is_done, &end) != 0)
		fail("callback", "the other stream is not done");
}

static void fill_and_copy(hipStream_t stream, uint32_t *on_device, uint32_t *host, uint32_t value)
{
	uint32_t count = uint32_t(options.items);
	size_t bytes = count * sizeof(*host);

	host[0] = value;
	CHECK(hipMemcpyAsync(on_device, host, bytes, hipMemcpyHostToDevice, stream));
	add(&done.h2d, int64_t(bytes));
	fill<<<(count + GROUP - 1) / GROUP, GROUP, 0, stream>>>(on_device + count, value, count);
	add(&done.fill, 0);
	CHECK(hipMemcpyAsync(host + count, on_device, 2 * bytes, hipMemcpyDeviceToHost, stream));
	add(&done.d2h, int64_t(2 * bytes));
}

static void do_callback()
{
	uint32_t count = uint32_t(options.items);
	uint32_t *host, *on_device;
	hipStream_t waits, works;

	CHECK(hipHostMalloc((void **)&host, 3 * count * sizeof(*host), 0));
	CHECK(hipMalloc((void **)&on_device, 2 * count * sizeof(*on_device)));
	CHECK(hipStreamCreate(&waits));
	CHECK(hipStreamCreate(&works));
	sem_init(&other_is_done, 0, 0);
	for (int64_t i = 0; i < options.launches; i++) {
		fill<<<1, GROUP, 0, waits>>>(on_device, 0, 0);
		add(&done.fill, 0);
		CHECK(hipStreamAddCallback(waits, wait_for_other, nullptr, 0));
		fill_and_copy(works, on_device, host, uint32_t(i + 1));
		CHECK(hipStreamSynchronize(works));
		done.wrong += host[count] != uint32_t(i + 1);
		done.wrong += host[2 * count] != uint32_t(i + 1);
		sem_post(&other_is_done);
		CHECK(hipStreamSynchronize(waits));
	}
}

// ---- jump ----

static sigjmp_buf before_the_wait;
static bool jumps;

// HIP's waits come here first, and are left while it is inside of the call.
extern "C" int64_t hsa_signal_wait_scacquire(uint64_t signal, int condition, int64_t value,
					     uint64_t timeout, int how)
{
	using function = decltype(hsa_signal_wait_scacquire);
	static auto *next = (function *)dlsym(RTLD_NEXT, "hsa_signal_wait_scacquire");

	if (jumps)
		siglongjmp(before_the_wait, 1);
	return next(signal, condition, value, timeout, how);
}

// What the stream waits for comes when the call was left.
static void leave_a_call(hipStream_t stream)
{
	if (sigsetjmp(before_the_wait, 1) == 0) {
		jumps = true;
		CHECK(hipStreamSynchronize(stream));
		fail("jump", "it did not wait");
	}
	jumps = false;
	sem_post(&other_is_done);
}

static void do_jump()
{
	uint32_t count = uint32_t(options.items);
	uint32_t *on_device;
	hipStream_t stream;

	CHECK(hipMalloc((void **)&on_device, count * sizeof(*on_device)));
	CHECK(hipStreamCreate(&stream));
	sem_init(&other_is_done, 0, 0);
	for (int64_t i = 0; i < options.launches; i++) {
		fill<<<(count + GROUP - 1) / GROUP, GROUP, 0, stream>>>(on_device, uint32_t(i),
									 count);
		add(&done.fill, 0);
		CHECK(hipStreamAddCallback(stream, wait_for_other, nullptr, 0));
		leave_a_call(stream);
		CHECK(hipStreamSynchronize(stream));
	}
}

static void do_awaited()
{
	uint32_t *on_device;
	hipStream_t stream;

	CHECK(hipMalloc((void **)&on_device, GROUP * sizeof(*on_device)));
	CHECK(hipStreamCreate(&stream));
	for (int64_t i = 0; i < options.launches; i++) {
		fill<<<1, GROUP, 0, stream>>>(on_device, uint32_t(i), GROUP);
		add(&done.fill, 0);
		CHECK(hipStreamSynchronize(stream));
	}
}

// ---- failures ----

static void want_error(hipError_t got, hipError_t wanted)
{
	done.wrong += got != wanted;
	(void)hipGetLastError();
}

static void do_failing()
{
	uint32_t *on_device;
	void *huge;

	CHECK(hipMalloc((void **)&on_device, GROUP * sizeof(*on_device)));
	shapes::clear<<<1, GROUP>>>(on_device);
	shapes::clear<<<1, GROUP>>>((float *)on_device);
	CHECK(hipDeviceSynchronize());
	shapes::clear<<<1, 1U << 20>>>(on_device);
	want_error(hipGetLastError(), hipErrorInvalidConfiguration);
	want_error(hipMemcpy(nullptr, on_device, GROUP, hipMemcpyDeviceToHost), hipErrorInvalidValue);
	want_error(hipMalloc(&huge, size_t(1) << 60), hipErrorOutOfMemory);
}

// ---- output ----

static void print_tally(const char *name, const tally &one)
{
	printf(",\"%s\":{\"count\":%lld,\"bytes\":%lld}", name, (long long)one.count,
	       (long long)one.bytes);
}

int main(int count, char **texts)
{
	const struct {
		const char *name;
		void (*run)();
	} modes[] = {{"work", do_work}, {"module", do_module}, {"graph", do_graph},
		     {"forking", do_forking}, {"callback", do_callback}, {"jump", do_jump},
		     {"awaited", do_awaited}, {"late", do_late}, {"cooperative", do_cooperative},
		     {"failing", do_failing}};
	uint64_t begin_ns = now_ns();

	for (int i = 2; i < count; i++)
		read_option(texts[i]);
	for (const auto &mode : modes) {
		if (count < 2 || strcmp(mode.name, texts[1]) != 0)
			continue;
		mode.run();
		CHECK(hipDeviceSynchronize());
		printf("{\"mode\":\"%s\",\"pid\":%d,\"begin\":%llu,\"end\":%llu,\"wrong\":%lld,"
		       "\"event_ms\":%.6f,\"graphs\":%lld,\"graph\":%llu",
		       mode.name, int(getpid()), (unsigned long long)begin_ns,
		       (unsigned long long)now_ns(), (long long)done.wrong, double(done.event_ms),
		       (long long)done.graphs, (unsigned long long)done.graph);
		print_tally("h2d", done.h2d);
		print_tally("d2h", done.d2h);
		print_tally("d2d", done.d2d);
		print_tally("memset", done.memset);
		print_tally("fill", done.fill);
		print_tally("vector_add", done.vector_add);
		print_tally("scale", done.scale);
		print_tally("idle", done.idle);
		printf("}\n");
		return done.wrong ? 1 : 0;
	}
	fail("usage", "hip_work MODE [NAME=VALUE ...]");
}
