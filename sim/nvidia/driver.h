/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/driver.h - shared by the files of the simulated libcuda
 *
 *	driver.c     cuInit and the injection, versions, errors, connection to CUPTI
 *	call.c       start and end of every call
 *	device.c     devices
 *	context.c    contexts
 *	module.c     modules and functions
 *	cubin.c      PTX text to a small made-up ELF
 *	timeline.c   start and end times of all work, and their log
 *	stream.c     streams and events
 *	memory.c     memory, copies, sets
 *	launch.c     kernels
 *	graph.c      graphs, streams captured into them
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "sim.h"

/* The driver's callback ids, numbers of 13.0, one for each function of CUDA_ALL_FUNCTIONS. */
#define SIM_CBIDS(X)                                        \
	X(cuInit, 1)                                        \
	X(cuDriverGetVersion, 2)                            \
	X(cuDeviceGet, 3)                                   \
	X(cuDeviceGetCount, 4)                              \
	X(cuDeviceGetName, 5)                               \
	X(cuDeviceGetAttribute, 9)                          \
	X(cuCtxGetDevice, 16)                               \
	X(cuCtxSynchronize, 17)                             \
	X(cuModuleLoadData, 19)                             \
	X(cuModuleLoadDataEx, 20)                           \
	X(cuModuleUnload, 22)                               \
	X(cuModuleGetFunction, 23)                          \
	X(cuMemFreeHost, 38)                                \
	X(cuFuncGetAttribute, 85)                           \
	X(cuEventCreate, 118)                               \
	X(cuEventRecord, 119)                               \
	X(cuEventQuery, 120)                                \
	X(cuEventSynchronize, 121)                          \
	X(cuEventElapsedTime, 123)                          \
	X(cuStreamCreate, 124)                              \
	X(cuStreamQuery, 125)                               \
	X(cuStreamSynchronize, 126)                         \
	X(cuMemsetD8Async, 216)                             \
	X(cuMemsetD32Async, 220)                            \
	X(cuCtxCreate_v2, 235)                              \
	X(cuModuleGetGlobal_v2, 241)                        \
	X(cuMemGetInfo_v2, 242)                             \
	X(cuMemAlloc_v2, 243)                               \
	X(cuMemFree_v2, 245)                                \
	X(cuMemsetD8_v2, 249)                               \
	X(cuMemsetD32_v2, 251)                              \
	X(cuDeviceTotalMem_v2, 259)                         \
	X(cuMemcpyHtoD_v2, 276)                             \
	X(cuMemcpyHtoDAsync_v2, 277)                        \
	X(cuMemcpyDtoH_v2, 278)                             \
	X(cuMemcpyDtoHAsync_v2, 279)                        \
	X(cuMemcpyDtoD_v2, 280)                             \
	X(cuMemcpyDtoDAsync_v2, 281)                        \
	X(cuMemAllocHost_v2, 294)                           \
	X(cuStreamWaitEvent, 295)                           \
	X(cuCtxSetCurrent, 303)                             \
	X(cuCtxGetCurrent, 304)                             \
	X(cuMemcpy, 305)                                    \
	X(cuMemcpyAsync, 306)                               \
	X(cuLaunchKernel, 307)                              \
	X(cuMemcpyPeerAsync, 319)                           \
	X(cuCtxDestroy_v2, 322)                             \
	X(cuCtxPushCurrent_v2, 323)                         \
	X(cuCtxPopCurrent_v2, 324)                          \
	X(cuEventDestroy_v2, 325)                           \
	X(cuStreamDestroy_v2, 326)                          \
	X(cuDeviceGetPCIBusId, 332)                         \
	X(cuStreamCreateWithPriority, 367)                  \
	X(cuMemAllocManaged, 371)                           \
	X(cuGetErrorString, 372)                            \
	X(cuGetErrorName, 373)                              \
	X(cuOccupancyMaxActiveBlocksPerMultiprocessor, 374) \
	X(cuOccupancyMaxPotentialBlockSize, 384)            \
	X(cuDevicePrimaryCtxRetain, 386)                    \
	X(cuDevicePrimaryCtxGetState, 392)                  \
	X(cuLaunchCooperativeKernel, 477)                   \
	X(cuFuncSetAttribute, 481)                          \
	X(cuStreamEndCapture, 497)                          \
	X(cuStreamIsCapturing, 499)                         \
	X(cuGraphCreate, 501)                               \
	X(cuGraphLaunch, 514)                               \
	X(cuGraphExecDestroy, 516)                          \
	X(cuGraphDestroy, 517)                              \
	X(cuLaunchHostFunc, 527)                            \
	X(cuStreamBeginCapture_v2, 539)                     \
	X(cuDevicePrimaryCtxRelease_v2, 544)                \
	X(cuDevicePrimaryCtxReset_v2, 545)                  \
	X(cuDevicePrimaryCtxSetFlags_v2, 546)               \
	X(cuMemAllocAsync, 598)                             \
	X(cuMemFreeAsync, 600)                              \
	X(cuGraphInstantiateWithFlags, 643)                 \
	X(cuDeviceGetUuid_v2, 647)                          \
	X(cuLaunchKernelEx, 652)                            \
	X(cuGetProcAddress_v2, 677)                         \
	X(cuGraphAddKernelNode_v2, 689)                     \
	X(cuFuncGetName, 718)

enum {
#define X(name, number) SIM_CBID_##name = number,
	SIM_CBIDS(X)
#undef X
	/* variants for programs in which each thread has its own default stream */
	SIM_CBID_cuLaunchKernel_ptsz = 442,
	SIM_CBID_cuLaunchCooperativeKernel_ptsz = 478,
	SIM_CBID_cuLaunchHostFunc_ptsz = 528,
	SIM_CBID_cuLaunchKernelEx_ptsz = 653,
};

/* Prototypes from the table `X(name, parameters)`. */
#define X(name, parameters) SIM_EXPORT CUresult name parameters;
CUDA_ALL_FUNCTIONS(X)
#undef X
SIM_EXPORT __typeof__(cuLaunchKernel) cuLaunchKernel_ptsz;
SIM_EXPORT __typeof__(cuLaunchCooperativeKernel) cuLaunchCooperativeKernel_ptsz;
SIM_EXPORT __typeof__(cuLaunchHostFunc) cuLaunchHostFunc_ptsz;
SIM_EXPORT __typeof__(cuLaunchKernelEx) cuLaunchKernelEx_ptsz;

/* Guards contexts, streams, the timeline and graphs; not held while a hook or the program is
 * called. */
extern pthread_mutex_t sim_lock;

/* ---- calls ----------------------------------------------------------------------------------- */

/* Start and end of each function. SIM_BEGIN declares the call with its arguments as CUPTI shows
 * them, and reports it to CUPTI. If sim_call_begin returns false, the result is already in the
 * call.
 */
#define SIM_CALL(function, ...)  \
	struct sim_call call = { \
		.cbid = SIM_CBID_##function, .name = #function, .parameters = (__VA_ARGS__)}

/* False: the call is refused; the reason is in call->result. */
bool sim_call_begin(struct sim_call *call);
/* The same for functions that need a context. */
bool sim_call_begin_in_context(struct sim_call *call);
CUresult sim_call_end(struct sim_call *call);
const struct sim_hooks *sim_hooks(void);

extern const struct sim_driver sim_driver_table;
bool sim_is_ready(void);
void sim_attach(const struct sim_hooks *hooks);
void sim_runtime_enter(struct sim_call *call, uint32_t cbid, const char *name,
		       const void *parameters);
void sim_runtime_exit(struct sim_call *call);

/* Calls the hook if there is one. */
void sim_resource(uint32_t cbid, CUcontext context, CUstream stream, void *descriptor);

/* ---- objects --------------------------------------------------------------------------------- */

enum { MAX_SIM_CONTEXTS = 64, MAX_SIM_STACK = 16 };

enum sim_magic {
	SIM_CONTEXT_MAGIC = 0x5c0de001,
	SIM_STREAM_MAGIC,
	SIM_EVENT_MAGIC,
	SIM_MODULE_MAGIC,
	SIM_FUNCTION_MAGIC,
	SIM_GRAPH_MAGIC,
	SIM_NODE_MAGIC,
	SIM_EXEC_MAGIC
};

struct CUstream_st {
	enum sim_magic magic;
	struct CUctx_st *context;
	uint32_t id, flags, correlation_id;
	int priority;
	bool is_null;
	uint64_t free_ns;    /* when all of its work is done; under sim_lock */
	uint32_t host_count; /* functions to be called yet; under sim_lock */
	CUgraph capture;
	CUgraphNode capture_last;
	struct CUstream_st *next; /* in its context */
};

struct CUctx_st {
	enum sim_magic magic;
	uint32_t id, device_id;
	bool is_live, is_primary;
	unsigned flags;
	uint32_t references; /* of a primary context */
	struct CUstream_st null, per_thread, *streams;
	uint64_t all_ns, blocking_ns; /* latest end of all work that the null stream waits for */
};

struct CUevent_st {
	enum sim_magic magic;
	uint32_t id;
	unsigned flags;
	uint64_t at_ns;  /* 0: not recorded; under sim_lock */
	CUgraph capture; /* recorded in a stream that was being captured, after this node: */
	CUgraphNode capture_node;
};

struct CUfunc_st {
	enum sim_magic magic;
	struct sim_kernel kernel;
	struct CUmod_st *module;
	char *name;
	int attributes[16];
	_Atomic bool is_loaded; /* its first launch was seen */
};

struct CUmod_st {
	enum sim_magic magic;
	uint32_t id;
	CUcontext context;
	uint8_t *cubin;
	size_t cubin_bytes;
	struct CUfunc_st *functions;
	size_t function_count;
};

/* ---- contexts and streams -------------------------------------------------------------------- */

CUcontext sim_current(void);
bool sim_is_context(CUcontext context);
/* The stream that a handle means in the current context; NULL: none. */
CUstream sim_stream_of(CUstream handle);
void sim_stream_init(CUstream stream, CUcontext context, uint32_t id, unsigned flags);
uint32_t sim_next_stream_id(void);
void sim_streams_free(CUcontext context);
void sim_replay(void);
bool sim_context_ids(CUcontext context, uint32_t *ret_id, uint32_t *ret_device_id);
bool sim_stream_id(CUcontext context, CUstream stream, uint32_t *ret_id);
void sim_tell_stream(CUstream stream);
struct sim_stream_facts sim_stream_facts_of(const struct CUstream_st *stream);

/* ---- modules --------------------------------------------------------------------------------- */

/* Makes one function for each .entry of a PTX text. -> their number; -1: the text has none, or is
 * not text. */
int sim_scan_ptx(const char *text, char ***ret_names);
/* Duration for a kernel with this number in its module. */
uint32_t sim_registers(size_t index);
/* An ELF with a .text.NAME for each; NULL: no memory. *ret_text_bytes: of each of them. */
uint8_t *sim_make_cubin(char *const *names, size_t count, size_t *ret_bytes,
			uint32_t *ret_text_bytes);

/* ---- work ------------------------------------------------------------------------------------ */

/* Places the work after the work in the stream, logs it and reports it to CUPTI. -> its end. */
uint64_t sim_place(CUstream stream, struct sim_work *work, uint64_t duration_ns);
/* Waits until the host's clock has passed the time, and reports the wait to CUPTI. */
void sim_wait(struct sim_call *call, uint32_t type, CUstream stream, uint32_t event_id,
	      uint64_t until_ns);
uint64_t sim_copy_ns(uint64_t bytes);
/* Waits for the stream's host functions. */
void sim_wait_for_hosts(CUstream stream);
uint64_t sim_busy_ns(uint32_t device_id, uint64_t from_ns, uint64_t to_ns);

/* Something to do in a stream, now or whenever a graph is launched. */
struct sim_task {
	enum { SIM_TASK_EMPTY, SIM_TASK_KERNEL, SIM_TASK_COPY, SIM_TASK_SET, SIM_TASK_HOST } type;
	CUfunction function;
	struct sim_shape shape;
	bool is_async, is_peer;
	uint8_t copy_kind, source_kind, destination_kind;
	CUcontext source_context, destination_context;
	void *to;
	const void *from;
	uint64_t size_bytes;
	uint32_t value, element_bytes;
	CUhostFn host;
	void *user;
};

/* Does the task or, where the stream is being captured, makes it a node. */
CUresult sim_submit(struct sim_call *call, CUstream stream, const struct sim_task *task);
/* Does it. -> when it ends */
uint64_t sim_run(struct sim_call *call, CUstream stream, const struct sim_task *task,
		 uint64_t graph_node_id, uint32_t graph_id);

/* ---- graphs ---------------------------------------------------------------------------------- */

CUresult sim_capture(CUstream stream, const struct sim_task *task);
CUresult sim_graph_create(CUgraph *ret_graph);
CUresult sim_graph_add(CUgraph graph, const struct sim_task *task, CUgraphNode *ret_node);
uint64_t sim_node_id(CUgraphNode node);
uint32_t sim_graph_id(CUgraph graph);
uint32_t sim_graph_exec_id(CUgraphExec graph_exec);
uint32_t sim_graph_exec_count(void);
