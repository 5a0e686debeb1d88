/* SPDX-License-Identifier: MIT
 *
 * sim/opencl/sim.h - shared by the files of the simulated OpenCL driver
 *
 *	driver.c      entry point for the loader, the dispatch table
 *	options.c     SIM_OPENCL
 *	clock.c       host time, and the simulated device clock
 *	platform.c    the platform and its devices
 *	objects.c     contexts, queues, memory objects, samplers
 *	program.c     programs and kernels
 *	command.c     events, the device's timeline, waiting, callbacks
 *	enqueue.c     the core calls that put a command into a queue
 *	extensions.c  USM, command buffers, semaphores
 *	only.c        abort the program if it calls another function than announced
 *
 * Runs in a test program, loaded by the ICD loader. It simulates drivers that no test machine
 * has.
 */
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl_icd.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_NEVER UINT64_MAX

enum {
	MAX_SIM_DEVICES = 16,
	MAX_SIM_ENGINES = 16,
	MAX_SIM_QUEUE_PROPERTIES = 16,
	MAX_SIM_COPY_NS = 1000000000
};

/* ---- options --------------------------------------------------------------------------------- */

enum sim_clock {
	SIM_CLOCK_DEVICE, /* offset_ns + host time, drifting, in ticks */
	SIM_CLOCK_MONOTONIC,
	SIM_CLOCK_RAW,
	SIM_CLOCK_BOOTTIME,
	SIM_CLOCK_REALTIME,
	SIM_CLOCK_TSC /* cycles, not nanoseconds */
};

enum sim_bad_stamp {
	SIM_BAD_REVERSED,  /* END before START */
	SIM_BAD_UNTOUCHED, /* the query succeeds and writes nothing */
	SIM_BAD_ZERO,      /* START and END are 0 */
	SIM_BAD_FAR        /* START and END are years away */
};

struct sim_options {
	int64_t devices, first, engines, offset_ns, drift_ppb, timer, query_ns, latency_ns;
	int64_t fail_every, bad_stamp_every, never_every, uuid, pci, no_profiling;
	int64_t copy_ns;          /* of each copy, beside the time of its bytes */
	int64_t doze_ms, wake_us; /* a device idle for longer starts a command so much later */
	int64_t local_bytes, private_bytes; /* of each kernel */
	int64_t no_success;                 /* a queue that is made writes no CL_SUCCESS */
	int64_t no_needs;                   /* clGetKernelWorkGroupInfo fails */
	int64_t cpu;                        /* the devices are CPUs */
	int64_t odd_context;  /* clCreateContextFromType fails with a context, as PoCL's */
	double tick_ns;       /* how long the device's clock takes for a step */
	double tick_reads_ns; /* … and the duration that the driver reports; 0: the same */
	double drift_ppm, kernel_us, copy_gbps;
	enum sim_clock clock;
	enum sim_bad_stamp bad_stamp;
	char log[512]; /* file to which the true times go, one line a command; empty: none */
};

extern struct sim_options sim_options;

/* False if SIM_OPENCL is invalid; a line on stderr explains it. */
bool sim_options_read(void);
/* us_NAME of a kernel, otherwise kernel_us. */
double sim_kernel_us(const char *name);

/* ---- clock ----------------------------------------------------------------------------------- */

uint64_t sim_now(void); /* CLOCK_MONOTONIC */
void sim_sleep_until(uint64_t host_ns);
void sim_spin(int64_t ns);
/* Value of the device's clock at a host time. */
uint64_t sim_stamp(uint64_t host_ns);

/* ---- objects --------------------------------------------------------------------------------- */

enum sim_kind {
	SIM_PLATFORM = 0x51a0,
	SIM_DEVICE,
	SIM_CONTEXT,
	SIM_QUEUE,
	SIM_MEMORY,
	SIM_SAMPLER,
	SIM_PROGRAM,
	SIM_KERNEL,
	SIM_EVENT,
	SIM_SEMAPHORE,
	SIM_COMMAND_BUFFER
};

/* Every object begins with the loader's table; the rest is ours. */
struct sim_object {
	const cl_icd_dispatch *dispatch;
	enum sim_kind kind;
	atomic_uint references;
};

struct _cl_platform_id {
	struct sim_object object;
};

struct _cl_device_id {
	struct sim_object object;
	unsigned int index;
	uint64_t engine_free_ns[MAX_SIM_ENGINES]; /* under sim_lock */
};

struct _cl_context {
	struct sim_object object;
	cl_uint device_count;
	cl_device_id devices[MAX_SIM_DEVICES];
	cl_context_properties properties[16];
	cl_uint property_count;
};

struct _cl_command_queue {
	struct sim_object object;
	cl_context context;
	cl_device_id device;
	cl_command_queue_properties properties;
	cl_queue_properties asked[MAX_SIM_QUEUE_PROPERTIES];
	cl_uint asked_count; /* 0: made by clCreateCommandQueue */
	/* under sim_lock: */
	cl_event last;       /* in order: the latest command */
	cl_event barrier;    /* out of order: dependencies of later commands */
	uint64_t ended_ns;   /* the latest end of all commands whose end is known */
	uint32_t unresolved; /* commands whose end is not known yet */
};

struct _cl_mem {
	struct sim_object object;
	cl_context context;
	cl_mem parent; /* of a sub-buffer */
	size_t origin;
	cl_mem_object_type type;
	cl_mem_flags flags;
	size_t size;
	char *bytes;
	bool owned; /* bytes are ours */
	void *host_pointer;
	cl_uint map_count;
	cl_image_format format;
	cl_image_desc image;
	size_t element, row, slice; /* bytes */
};

struct _cl_sampler {
	struct sim_object object;
	cl_context context;
};

struct _cl_program {
	struct sim_object object;
	cl_context context;
	char *source;
	bool from_binary, built;
	cl_build_status status;
	char options[256], log[256];
	char (*names)[64]; /* kernels, as a scan of the source found them */
	cl_uint *argument_counts;
	cl_uint name_count;
};

struct _cl_kernel {
	struct sim_object object;
	cl_program program;
	cl_uint index; /* in the program's names */
};

struct sim_callback {
	struct sim_callback *next;
	cl_int type;
	void(CL_CALLBACK *function)(cl_event, cl_int, void *);
	void *data;
};

struct _cl_event {
	struct sim_object object;
	cl_context context;
	cl_command_queue queue; /* NULL: a user event */
	cl_command_type type;
	uint64_t duration_ns;
	uint64_t queued_ns, submitted_ns, started_ns, ended_ns; /* host time */
	uint64_t stamps[4];
	uint64_t floor_ns; /* not to start before */
	bool resolved;     /* the times are known; under sim_lock */
	bool never, bad;
	cl_int status;   /* once ended */
	cl_event *waits; /* until resolved; retained */
	cl_uint wait_count;
	cl_uint listed_count; /* the first of waits: of the program; a failed one fails this command
			       */
	cl_event next_unresolved, next_called;
	struct sim_callback *callbacks;
};

struct _cl_semaphore_khr {
	struct sim_object object;
	cl_context context;
	cl_event signal; /* the latest command that signals it; under sim_lock */
};

struct _cl_command_buffer_khr {
	struct sim_object object;
	cl_command_queue queue;
	uint64_t duration_ns;
	cl_sync_point_khr sync_point;
	bool finalized;
};

extern pthread_mutex_t sim_lock;
extern cl_icd_dispatch sim_dispatch;
extern struct _cl_platform_id sim_platform;
extern struct _cl_device_id sim_devices[MAX_SIM_DEVICES];

/* Zeroed memory with one reference; NULL: none left. */
void *sim_new(enum sim_kind kind, size_t size);
/* The handle is a live object of this kind. */
bool sim_is(const void *handle, enum sim_kind kind);
void sim_retain(void *handle);
/* True: that was the last reference. */
bool sim_drop(void *handle);

/* Internal releases, NULL-safe. */
void sim_put_context(cl_context context);
void sim_put_queue(cl_command_queue queue);
void sim_put_event(cl_event event);

/* An answer to a clGet…Info query. */
cl_int sim_answer(const void *value, size_t value_size, size_t size, void *ret_value,
		  size_t *ret_size);
cl_int sim_answer_text(const char *text, size_t size, void *ret_value, size_t *ret_size);

#define SIM_ANSWER(type, ...)                                                               \
	sim_answer(&(const type){__VA_ARGS__}, sizeof(type), param_value_size, param_value, \
		   param_value_size_ret)
#define SIM_ANSWER_TEXT(text) \
	sim_answer_text(text, param_value_size, param_value, param_value_size_ret)

/* Writes an error where the program wants one; NULL for the caller to return. */
void *sim_no(cl_int error, cl_int *errcode_ret);
void *sim_yes(void *object, cl_int *errcode_ret);

/* ---- commands -------------------------------------------------------------------------------- */

struct sim_command {
	cl_command_queue queue;
	cl_command_type type;
	uint64_t duration_ns;
	bool blocking;
	bool is_barrier,
		is_marker; /* waits for earlier commands of the queue; no time on the device */
	cl_uint wait_count;
	const cl_event *wait_list;
	cl_semaphore_khr *signals; /* … and waits are in wait_list */
	cl_uint signal_count;
};

/* CL_SUCCESS, or the error in a queue and a wait list. */
cl_int sim_check(cl_command_queue queue, cl_uint wait_count, const cl_event *wait_list);
/* Puts a command into its queue; blocking ones return when the host's clock has passed its end. */
cl_int sim_enqueue(const struct sim_command *command, cl_event *event);
uint64_t sim_copy_ns(uint64_t bytes);
/* NULL: a native kernel. */
uint64_t sim_kernel_ns(const struct _cl_kernel *kernel);
/* Calls the program's callbacks for ended commands. No lock may be held. */
void sim_notice(void);
/* Waits for all commands of a queue. */
cl_int sim_finish(cl_command_queue queue);

/* ---- dispatch -------------------------------------------------------------------------------- */

/* Every core function that is implemented; the other slots refuse. */
#define SIM_FUNCTIONS(X)                      \
	X(clGetPlatformIDs)                   \
	X(clGetPlatformInfo)                  \
	X(clGetDeviceIDs)                     \
	X(clGetDeviceInfo)                    \
	X(clRetainDevice)                     \
	X(clReleaseDevice)                    \
	X(clGetDeviceAndHostTimer)            \
	X(clGetHostTimer)                     \
	X(clCreateContext)                    \
	X(clCreateContextFromType)            \
	X(clRetainContext)                    \
	X(clReleaseContext)                   \
	X(clGetContextInfo)                   \
	X(clCreateCommandQueue)               \
	X(clCreateCommandQueueWithProperties) \
	X(clSetCommandQueueProperty)          \
	X(clRetainCommandQueue)               \
	X(clReleaseCommandQueue)              \
	X(clGetCommandQueueInfo)              \
	X(clCreateBuffer)                     \
	X(clCreateBufferWithProperties)       \
	X(clCreateSubBuffer)                  \
	X(clCreateImage)                      \
	X(clCreateImageWithProperties)        \
	X(clCreateImage2D)                    \
	X(clCreateImage3D)                    \
	X(clRetainMemObject)                  \
	X(clReleaseMemObject)                 \
	X(clGetMemObjectInfo)                 \
	X(clGetImageInfo)                     \
	X(clGetSupportedImageFormats)         \
	X(clCreateSampler)                    \
	X(clCreateSamplerWithProperties)      \
	X(clRetainSampler)                    \
	X(clReleaseSampler)                   \
	X(clSVMAlloc)                         \
	X(clSVMFree)                          \
	X(clCreateProgramWithSource)          \
	X(clCreateProgramWithBinary)          \
	X(clRetainProgram)                    \
	X(clReleaseProgram)                   \
	X(clBuildProgram)                     \
	X(clCompileProgram)                   \
	X(clUnloadCompiler)                   \
	X(clUnloadPlatformCompiler)           \
	X(clGetProgramInfo)                   \
	X(clGetProgramBuildInfo)              \
	X(clCreateKernel)                     \
	X(clCreateKernelsInProgram)           \
	X(clCloneKernel)                      \
	X(clRetainKernel)                     \
	X(clReleaseKernel)                    \
	X(clSetKernelArg)                     \
	X(clSetKernelArgSVMPointer)           \
	X(clSetKernelExecInfo)                \
	X(clGetKernelInfo)                    \
	X(clGetKernelWorkGroupInfo)           \
	X(clWaitForEvents)                    \
	X(clGetEventInfo)                     \
	X(clRetainEvent)                      \
	X(clReleaseEvent)                     \
	X(clCreateUserEvent)                  \
	X(clSetUserEventStatus)               \
	X(clSetEventCallback)                 \
	X(clGetEventProfilingInfo)            \
	X(clFlush)                            \
	X(clFinish)                           \
	X(clEnqueueReadBuffer)                \
	X(clEnqueueWriteBuffer)               \
	X(clEnqueueCopyBuffer)                \
	X(clEnqueueFillBuffer)                \
	X(clEnqueueReadBufferRect)            \
	X(clEnqueueWriteBufferRect)           \
	X(clEnqueueCopyBufferRect)            \
	X(clEnqueueReadImage)                 \
	X(clEnqueueWriteImage)                \
	X(clEnqueueCopyImage)                 \
	X(clEnqueueFillImage)                 \
	X(clEnqueueCopyImageToBuffer)         \
	X(clEnqueueCopyBufferToImage)         \
	X(clEnqueueMapBuffer)                 \
	X(clEnqueueMapImage)                  \
	X(clEnqueueUnmapMemObject)            \
	X(clEnqueueMigrateMemObjects)         \
	X(clEnqueueNDRangeKernel)             \
	X(clEnqueueTask)                      \
	X(clEnqueueNativeKernel)              \
	X(clEnqueueMarker)                    \
	X(clEnqueueBarrier)                   \
	X(clEnqueueWaitForEvents)             \
	X(clEnqueueMarkerWithWaitList)        \
	X(clEnqueueBarrierWithWaitList)       \
	X(clEnqueueSVMFree)                   \
	X(clEnqueueSVMMemcpy)                 \
	X(clEnqueueSVMMemFill)                \
	X(clEnqueueSVMMap)                    \
	X(clEnqueueSVMUnmap)                  \
	X(clEnqueueSVMMigrateMem)             \
	X(clGetExtensionFunctionAddress)      \
	X(clGetExtensionFunctionAddressForPlatform)

#define X(name) extern __typeof__(*(cl_api_##name)NULL) sim_##name;
SIM_FUNCTIONS(X)
#undef X

/* Extension functions, found by name only. */
void *sim_extension(const char *name);

/* Puts a check before each function of the table, which is filled by then. */
void sim_only_install(void);
/* void simOnly(const char *NAME): from now on a call of any other function of the table aborts the
 * program. */
void *sim_only_extension(const char *name);
