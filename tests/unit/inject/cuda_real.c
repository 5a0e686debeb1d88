/* SPDX-License-Identifier: MIT */
/* What the installed headers of CUPTI and of the CUDA driver say. */
#include "cuda_facts.h"

/* Otherwise cuda.h declares no version of a function but the newest, and we call those of CUDA 12.
 * It leaves no room for cupti.h, which declares some of the same for itself: hence the headers
 * below that. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <cupti_pcsampling.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_runtime_cbid.h>
#include <cupti_target.h>
#include <cupti_version.h>
#include <generated_cuda_meta.h>

#define CUDA_ABI_TABLES_ONLY
#define CUPTI_ABI_TABLES_ONLY
#include "sim/nvidia/cuda_abi.h"
#include "sim/nvidia/cupti_abi.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* Our names for their types, so that our tables of functions can be read here. */
typedef CUptiResult cupti_result;
typedef CUpti_CallbackDomain cupti_domain;
typedef CUpti_ActivityKind cupti_kind;
typedef CUpti_ActivityAttribute cupti_attribute;
typedef CUpti_ActivityThreadIdType cupti_thread_id_type;
typedef CUpti_ExternalCorrelationKind cupti_external_kind;
typedef CUpti_SubscriberHandle cupti_subscriber;
typedef CUpti_CallbackFunc cupti_callback_function;
typedef CUpti_BuffersCallbackRequestFunc cupti_buffer_requested;
typedef CUpti_BuffersCallbackCompleteFunc cupti_buffer_completed;
typedef CUpti_TimestampCallbackFunc cupti_timestamp_function;
typedef CUpti_ComputeCrcCallbackFunc cupti_crc_function;
#define FIELD(...)
#define STRUCT(ours, real) typedef real ours;
#define UNION(ours, real)  typedef real ours;
#include "cupti_structs.inc"
#undef FIELD
#undef STRUCT
#undef UNION

#define PLACES(type, name, field) \
	{name, offsetof(type, field)}, {name, sizeof(((type *)NULL)->field)},

const struct fact real_facts[] = {
#define FACT(name) {#name, (long long)(name)},
#include "cuda_constants.inc"
#include "cupti_constants.inc"
#define CBID(name, number, class) {"driver " #name, CUPTI_DRIVER_TRACE_CBID_##name},
	CUPTI_DRIVER_CALLBACKS(CBID)
#undef CBID
#define CBID(name, number, class) {"runtime " #name, CUPTI_RUNTIME_TRACE_CBID_##name},
		CUPTI_RUNTIME_CALLBACKS(CBID)
#define STRUCT(ours, real)              {#ours, sizeof(real)},
#define UNION(ours, real)               {#ours, sizeof(real)},
#define FIELD(ours, field, real, other) PLACES(real, #ours "." #field, other)
#include "cupti_structs.inc"
#define TYPE(type)                {#type, sizeof(type)},
#define PLACE(type, field, other) PLACES(type, #type "." #field, other)
#include "cuda_structs.inc"
			{"a PC's record before 12.4",
			 offsetof(CUpti_PCSamplingPCData, correlationId)},
	{"CONCURRENT_KERNEL 13", sizeof(CUpti_ActivityKernel5)},
	{"CONCURRENT_KERNEL 15", sizeof(CUpti_ActivityKernel6)},
	{"CONCURRENT_KERNEL 17", sizeof(CUpti_ActivityKernel7)},
	{"CONCURRENT_KERNEL 18", sizeof(CUpti_ActivityKernel8)},
	{"CONCURRENT_KERNEL 19", sizeof(CUpti_ActivityKernel9)},
	{"CONCURRENT_KERNEL 130000", sizeof(CUpti_ActivityKernel10)},
	{"MEMCPY 13", sizeof(CUpti_ActivityMemcpy3)},
	{"MEMCPY 14", sizeof(CUpti_ActivityMemcpy4)},
	{"MEMCPY 17", sizeof(CUpti_ActivityMemcpy5)},
	{"MEMCPY 26", sizeof(CUpti_ActivityMemcpy6)},
	{"MEMCPY2 13", sizeof(CUpti_ActivityMemcpyPtoP2)},
	{"MEMCPY2 14", sizeof(CUpti_ActivityMemcpyPtoP3)},
	{"MEMCPY2 17", sizeof(CUpti_ActivityMemcpyPtoP4)},
	{"MEMSET 13", sizeof(CUpti_ActivityMemset2)},
	{"MEMSET 14", sizeof(CUpti_ActivityMemset3)},
	{"MEMSET 17", sizeof(CUpti_ActivityMemset4)},
	{"DRIVER 13", sizeof(CUpti_ActivityAPI)},
	{"RUNTIME 13", sizeof(CUpti_ActivityAPI)},
	{"SYNCHRONIZATION 13", sizeof(CUpti_ActivitySynchronization)},
	{"SYNCHRONIZATION 26", sizeof(CUpti_ActivitySynchronization2)},
	{"CUDA_EVENT 13", sizeof(CUpti_ActivityCudaEvent)},
	{"CUDA_EVENT 26", sizeof(CUpti_ActivityCudaEvent2)},
	{"OVERHEAD 13", sizeof(CUpti_ActivityOverhead)},
	{"OVERHEAD 20", sizeof(CUpti_ActivityOverhead2)},
	{"OVERHEAD 22", sizeof(CUpti_ActivityOverhead3)},
	{"CONTEXT 13", sizeof(CUpti_ActivityContext)},
	{"CONTEXT 22", sizeof(CUpti_ActivityContext2)},
	{"CONTEXT 23", sizeof(CUpti_ActivityContext3)},
	{"STREAM 13", sizeof(CUpti_ActivityStream)},
	{"NAME 13", sizeof(CUpti_ActivityName)},
	{"MARKER 13", sizeof(CUpti_ActivityMarker2)},
	{"EXTERNAL_CORRELATION 13", sizeof(CUpti_ActivityExternalCorrelation)},
	{"GRAPH_TRACE 17", sizeof(CUpti_ActivityGraphTrace)},
	{"GRAPH_TRACE 21", sizeof(CUpti_ActivityGraphTrace2)},
	{"JIT 18", sizeof(CUpti_ActivityJit)},
	{"JIT 22", sizeof(CUpti_ActivityJit2)},
	{"MEMORY 13", sizeof(CUpti_ActivityMemory)},
	{"MEMORY2 15", sizeof(CUpti_ActivityMemory2)},
	{"MEMORY2 17", sizeof(CUpti_ActivityMemory3)},
	{"MEMORY2 24", sizeof(CUpti_ActivityMemory4)},
	{"UNIFIED_MEMORY_COUNTER 13", sizeof(CUpti_ActivityUnifiedMemoryCounter2)},
	{"UNIFIED_MEMORY_COUNTER 26", sizeof(CUpti_ActivityUnifiedMemoryCounter3)},
	{"DEVICE_GRAPH_TRACE 26", sizeof(CUpti_ActivityDeviceGraphTrace)},
	{NULL, 0},
};

#define IS(function, type, parameters) \
	__builtin_types_compatible_p(__typeof__(function), type(*) parameters)
#define CALLBACK(name, type, parameters)   {#name, IS((name)NULL, type, parameters)},
#define CUPTI_CALL(need, name, parameters) {#name, IS(&(name), CUptiResult, parameters)},
#define CUDA_CALL(name, parameters)        {#name, IS(&(name), CUresult, parameters)},

const struct fact real_functions[] = {
/* Theirs are typedefs of structs without a tag: in our tables the word has to go. */
#define struct
	CUPTI_CALLBACK_TYPES(CALLBACK) CUPTI_ALL_FUNCTIONS(CUPTI_CALL) CUDA_ALL_FUNCTIONS(CUDA_CALL)
#undef struct
		{NULL, 0},
};
