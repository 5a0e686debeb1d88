/* SPDX-License-Identifier: MIT
 *
 * examples/cuda_steps.c - two small programs of CUDA in one: a "step" of some large kernels, and
 * many small ones
 *
 *	cuda_steps step|eager SECONDS [STEPS]
 *
 * step: 24 kernels of some hundred microseconds and a copy back, then a wait, as a step of training
 * has. eager: 200 kernels of some microseconds without a wait between them, as a framework launches
 * them one by one. It goes on for so many seconds, or does so many steps, and prints how long the
 * steps took and how many kernels they launched, as a line of JSON.
 *
 * Needs the driver alone (libcuda.so.1): its kernel is PTX, which the driver compiles.
 *
 *	cc -O2 cuda_steps.c -o cuda_steps -ldl
 *	duet record --collect nvidia:cuda -- ./cuda_steps step 3
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A thread goes around a loop of multiplications so many times, and stores what comes of it. */
static const char ptx[] = ".version 7.0\n"
			  ".target sm_50\n"
			  ".address_size 64\n"
			  ".visible .entry work(.param .u64 p, .param .u32 n)\n"
			  "{\n"
			  ".reg .pred %q;\n"
			  ".reg .f32 %f<2>;\n"
			  ".reg .b32 %r<5>;\n"
			  ".reg .b64 %d<4>;\n"
			  "ld.param.u64 %d1, [p];\n"
			  "ld.param.u32 %r1, [n];\n"
			  "cvta.to.global.u64 %d1, %d1;\n"
			  "mov.u32 %r2, %tid.x;\n"
			  "cvt.rn.f32.u32 %f1, %r2;\n"
			  "mov.u32 %r3, 0;\n"
			  "L:\n"
			  "fma.rn.f32 %f1, %f1, 0f3F7FFFFF, 0f3F800000;\n"
			  "add.u32 %r3, %r3, 1;\n"
			  "setp.lt.u32 %q, %r3, %r1;\n"
			  "@%q bra L;\n"
			  "mul.wide.u32 %d2, %r2, 4;\n"
			  "add.u64 %d3, %d1, %d2;\n"
			  "st.global.f32 [%d3], %f1;\n"
			  "ret;\n"
			  "}\n";

typedef uint64_t device_memory;

static struct {
	int (*init)(unsigned flags);
	int (*get_device)(int *device, int ordinal);
	int (*retain)(void **context, int device);
	int (*set_current)(void *context);
	int (*load)(void **module, const void *image);
	int (*get_function)(void **function, void *module, const char *name);
	int (*allocate)(device_memory *memory, size_t bytes);
	int (*create_stream)(void **stream, unsigned flags);
	int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
		      unsigned by, unsigned bz, unsigned shared_bytes, void *stream,
		      void **parameters, void **extra);
	int (*copy_back)(void *to, device_memory from, size_t bytes, void *stream);
	int (*wait)(void *stream);
} cuda;

static const struct {
	const char *name;
	void *place;
} functions[] = {
	{"cuInit", &cuda.init},
	{"cuDeviceGet", &cuda.get_device},
	{"cuDevicePrimaryCtxRetain", &cuda.retain},
	{"cuCtxSetCurrent", &cuda.set_current},
	{"cuModuleLoadData", &cuda.load},
	{"cuModuleGetFunction", &cuda.get_function},
	{"cuMemAlloc_v2", &cuda.allocate},
	{"cuStreamCreate", &cuda.create_stream},
	{"cuLaunchKernel", &cuda.launch},
	{"cuMemcpyDtoHAsync_v2", &cuda.copy_back},
	{"cuStreamSynchronize", &cuda.wait},
};

enum { THREADS = 256, BYTES = 4 * THREADS };

static void *stream, *function;
static device_memory memory;
static unsigned long kernels;

static void check(const char *name, int result)
{
	if (!result)
		return;
	fprintf(stderr, "cuda_steps: %s returned %d\n", name, result);
	exit(1);
}

static void open_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library) {
		fprintf(stderr, "cuda_steps: %s\n", dlerror());
		exit(3);
	}
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *found = dlsym(library, functions[i].name);

		if (!found) {
			fprintf(stderr, "cuda_steps: libcuda has no %s\n", functions[i].name);
			exit(3);
		}
		memcpy(functions[i].place, &found, sizeof(found));
	}
}

static void prepare(void)
{
	void *context, *module;
	int device;

	open_driver();
	check("cuInit", cuda.init(0));
	check("cuDeviceGet", cuda.get_device(&device, 0));
	check("cuDevicePrimaryCtxRetain", cuda.retain(&context, device));
	check("cuCtxSetCurrent", cuda.set_current(context));
	check("cuModuleLoadData", cuda.load(&module, ptx));
	check("cuModuleGetFunction", cuda.get_function(&function, module, "work"));
	check("cuMemAlloc_v2", cuda.allocate(&memory, BYTES));
	check("cuStreamCreate", cuda.create_stream(&stream, 1));
}

__attribute__((noinline)) static void launch(unsigned blocks, uint32_t rounds)
{
	void *parameters[] = {&memory, &rounds};

	check("cuLaunchKernel",
	      cuda.launch(function, blocks, 1, 1, THREADS, 1, 1, 0, stream, parameters, NULL));
	kernels++;
}

__attribute__((noinline)) static void train(void)
{
	static char back[BYTES];

	for (int i = 0; i < 24; i++)
		launch(512, 20000);
	check("cuMemcpyDtoHAsync_v2", cuda.copy_back(back, memory, BYTES, stream));
	check("cuStreamSynchronize", cuda.wait(stream));
}

__attribute__((noinline)) static void launch_small(void)
{
	for (int i = 0; i < 200; i++)
		launch(8, 50);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	const double seconds = argc > 2 ? atof(argv[2]) : 3;
	const unsigned long wanted = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	void (*step)(void) = strcmp(name, "step") == 0 ? train : launch_small;
	unsigned long steps = 0;
	double begin;

	if (strcmp(name, "step") != 0 && strcmp(name, "eager") != 0) {
		fprintf(stderr, "usage: cuda_steps step|eager SECONDS [STEPS]\n");
		return 2;
	}
	prepare();
	step();
	check("cuStreamSynchronize", cuda.wait(stream));
	begin = now();
	while (wanted ? steps < wanted : now() < begin + seconds) {
		step();
		steps++;
	}
	check("cuStreamSynchronize", cuda.wait(stream));
	printf("{\"seconds\": %.6f, \"steps\": %lu, \"kernels\": %lu}\n", now() - begin, steps,
	       kernels);
	return 0;
}
