/* SPDX-License-Identifier: MIT
 *
 * analyze/error_names.c - the errors of OpenCL, HIP and Level Zero by name
 *
 * Runs in:  the readers
 * Gets:     a function and what it returned   Gives: the error's name
 * Owns:     nothing
 * Fails:    with "" for an error without a name
 * Why by function: OpenCL's errors are below 0, but the runtimes that count upwards from 1 mean different things
 *           by one number.
 */
#include <string.h>

#include "analyze/analysis.h"
#include "base/array.h"

static const char *const opencl_errors[] = {
	[1] = "CL_DEVICE_NOT_FOUND",
	[2] = "CL_DEVICE_NOT_AVAILABLE",
	[3] = "CL_COMPILER_NOT_AVAILABLE",
	[4] = "CL_MEM_OBJECT_ALLOCATION_FAILURE",
	[5] = "CL_OUT_OF_RESOURCES",
	[6] = "CL_OUT_OF_HOST_MEMORY",
	[7] = "CL_PROFILING_INFO_NOT_AVAILABLE",
	[8] = "CL_MEM_COPY_OVERLAP",
	[9] = "CL_IMAGE_FORMAT_MISMATCH",
	[10] = "CL_IMAGE_FORMAT_NOT_SUPPORTED",
	[11] = "CL_BUILD_PROGRAM_FAILURE",
	[12] = "CL_MAP_FAILURE",
	[13] = "CL_MISALIGNED_SUB_BUFFER_OFFSET",
	[14] = "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
	[15] = "CL_COMPILE_PROGRAM_FAILURE",
	[16] = "CL_LINKER_NOT_AVAILABLE",
	[17] = "CL_LINK_PROGRAM_FAILURE",
	[18] = "CL_DEVICE_PARTITION_FAILED",
	[19] = "CL_KERNEL_ARG_INFO_NOT_AVAILABLE",
	[30] = "CL_INVALID_VALUE",
	[31] = "CL_INVALID_DEVICE_TYPE",
	[32] = "CL_INVALID_PLATFORM",
	[33] = "CL_INVALID_DEVICE",
	[34] = "CL_INVALID_CONTEXT",
	[35] = "CL_INVALID_QUEUE_PROPERTIES",
	[36] = "CL_INVALID_COMMAND_QUEUE",
	[37] = "CL_INVALID_HOST_PTR",
	[38] = "CL_INVALID_MEM_OBJECT",
	[39] = "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR",
	[40] = "CL_INVALID_IMAGE_SIZE",
	[41] = "CL_INVALID_SAMPLER",
	[42] = "CL_INVALID_BINARY",
	[43] = "CL_INVALID_BUILD_OPTIONS",
	[44] = "CL_INVALID_PROGRAM",
	[45] = "CL_INVALID_PROGRAM_EXECUTABLE",
	[46] = "CL_INVALID_KERNEL_NAME",
	[47] = "CL_INVALID_KERNEL_DEFINITION",
	[48] = "CL_INVALID_KERNEL",
	[49] = "CL_INVALID_ARG_INDEX",
	[50] = "CL_INVALID_ARG_VALUE",
	[51] = "CL_INVALID_ARG_SIZE",
	[52] = "CL_INVALID_KERNEL_ARGS",
	[53] = "CL_INVALID_WORK_DIMENSION",
	[54] = "CL_INVALID_WORK_GROUP_SIZE",
	[55] = "CL_INVALID_WORK_ITEM_SIZE",
	[56] = "CL_INVALID_GLOBAL_OFFSET",
	[57] = "CL_INVALID_EVENT_WAIT_LIST",
	[58] = "CL_INVALID_EVENT",
	[59] = "CL_INVALID_OPERATION",
	[60] = "CL_INVALID_GL_OBJECT",
	[61] = "CL_INVALID_BUFFER_SIZE",
	[62] = "CL_INVALID_MIP_LEVEL",
	[63] = "CL_INVALID_GLOBAL_WORK_SIZE",
	[64] = "CL_INVALID_PROPERTY",
	[65] = "CL_INVALID_IMAGE_DESCRIPTOR",
	[66] = "CL_INVALID_COMPILER_OPTIONS",
	[67] = "CL_INVALID_LINKER_OPTIONS",
	[68] = "CL_INVALID_DEVICE_PARTITION_COUNT",
	[69] = "CL_INVALID_PIPE_SIZE",
	[70] = "CL_INVALID_DEVICE_QUEUE",
	[71] = "CL_INVALID_SPEC_ID",
	[72] = "CL_MAX_SIZE_RESTRICTION_EXCEEDED",
};

static const char *const hip_errors[] = {
	[1] = "hipErrorInvalidValue",
	[2] = "hipErrorOutOfMemory",
	[3] = "hipErrorNotInitialized",
	[4] = "hipErrorDeinitialized",
	[5] = "hipErrorProfilerDisabled",
	[6] = "hipErrorProfilerNotInitialized",
	[7] = "hipErrorProfilerAlreadyStarted",
	[8] = "hipErrorProfilerAlreadyStopped",
	[9] = "hipErrorInvalidConfiguration",
	[12] = "hipErrorInvalidPitchValue",
	[13] = "hipErrorInvalidSymbol",
	[17] = "hipErrorInvalidDevicePointer",
	[21] = "hipErrorInvalidMemcpyDirection",
	[35] = "hipErrorInsufficientDriver",
	[52] = "hipErrorMissingConfiguration",
	[53] = "hipErrorPriorLaunchFailure",
	[98] = "hipErrorInvalidDeviceFunction",
	[100] = "hipErrorNoDevice",
	[101] = "hipErrorInvalidDevice",
	[200] = "hipErrorInvalidImage",
	[201] = "hipErrorInvalidContext",
	[202] = "hipErrorContextAlreadyCurrent",
	[205] = "hipErrorMapFailed",
	[206] = "hipErrorUnmapFailed",
	[207] = "hipErrorArrayIsMapped",
	[208] = "hipErrorAlreadyMapped",
	[209] = "hipErrorNoBinaryForGpu",
	[210] = "hipErrorAlreadyAcquired",
	[211] = "hipErrorNotMapped",
	[212] = "hipErrorNotMappedAsArray",
	[213] = "hipErrorNotMappedAsPointer",
	[214] = "hipErrorECCNotCorrectable",
	[215] = "hipErrorUnsupportedLimit",
	[216] = "hipErrorContextAlreadyInUse",
	[217] = "hipErrorPeerAccessUnsupported",
	[218] = "hipErrorInvalidKernelFile",
	[219] = "hipErrorInvalidGraphicsContext",
	[300] = "hipErrorInvalidSource",
	[301] = "hipErrorFileNotFound",
	[302] = "hipErrorSharedObjectSymbolNotFound",
	[303] = "hipErrorSharedObjectInitFailed",
	[304] = "hipErrorOperatingSystem",
	[400] = "hipErrorInvalidHandle",
	[401] = "hipErrorIllegalState",
	[500] = "hipErrorNotFound",
	[600] = "hipErrorNotReady",
	[700] = "hipErrorIllegalAddress",
	[701] = "hipErrorLaunchOutOfResources",
	[702] = "hipErrorLaunchTimeOut",
	[704] = "hipErrorPeerAccessAlreadyEnabled",
	[705] = "hipErrorPeerAccessNotEnabled",
	[708] = "hipErrorSetOnActiveProcess",
	[709] = "hipErrorContextIsDestroyed",
	[710] = "hipErrorAssert",
	[712] = "hipErrorHostMemoryAlreadyRegistered",
	[713] = "hipErrorHostMemoryNotRegistered",
	[719] = "hipErrorLaunchFailure",
	[720] = "hipErrorCooperativeLaunchTooLarge",
	[801] = "hipErrorNotSupported",
	[900] = "hipErrorStreamCaptureUnsupported",
	[901] = "hipErrorStreamCaptureInvalidated",
	[902] = "hipErrorStreamCaptureMerge",
	[903] = "hipErrorStreamCaptureUnmatched",
	[904] = "hipErrorStreamCaptureUnjoined",
	[905] = "hipErrorStreamCaptureIsolation",
	[906] = "hipErrorStreamCaptureImplicit",
	[907] = "hipErrorCapturedEvent",
	[908] = "hipErrorStreamCaptureWrongThread",
	[910] = "hipErrorGraphExecUpdateFailure",
	[999] = "hipErrorUnknown",
	[1052] = "hipErrorRuntimeMemory",
	[1053] = "hipErrorRuntimeOther",
};

static const char *pick(const char *const *names, size_t count, uint32_t index)
{
	return index < count && names[index] ? names[index] : "";
}

/* Sparse, and all above 2^30: a command that failed has them negated. */
static const struct {
	uint32_t number;
	const char *name;
} level_zero_errors[] = {
	{1, "ZE_RESULT_NOT_READY"},
	{0x70000001, "ZE_RESULT_ERROR_DEVICE_LOST"},
	{0x70000002, "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY"},
	{0x70000003, "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"},
	{0x70000004, "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE"},
	{0x70000005, "ZE_RESULT_ERROR_MODULE_LINK_FAILURE"},
	{0x70000006, "ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET"},
	{0x70000007, "ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE"},
	{0x70010000, "ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS"},
	{0x70010001, "ZE_RESULT_ERROR_NOT_AVAILABLE"},
	{0x70020000, "ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE"},
	{0x70020001, "ZE_RESULT_WARNING_DROPPED_DATA"},
	{0x78000001, "ZE_RESULT_ERROR_UNINITIALIZED"},
	{0x78000002, "ZE_RESULT_ERROR_UNSUPPORTED_VERSION"},
	{0x78000003, "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE"},
	{0x78000004, "ZE_RESULT_ERROR_INVALID_ARGUMENT"},
	{0x78000005, "ZE_RESULT_ERROR_INVALID_NULL_HANDLE"},
	{0x78000006, "ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE"},
	{0x78000007, "ZE_RESULT_ERROR_INVALID_NULL_POINTER"},
	{0x78000008, "ZE_RESULT_ERROR_INVALID_SIZE"},
	{0x78000009, "ZE_RESULT_ERROR_UNSUPPORTED_SIZE"},
	{0x7800000a, "ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT"},
	{0x7800000b, "ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT"},
	{0x7800000c, "ZE_RESULT_ERROR_INVALID_ENUMERATION"},
	{0x7800000d, "ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION"},
	{0x7800000e, "ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT"},
	{0x7800000f, "ZE_RESULT_ERROR_INVALID_NATIVE_BINARY"},
	{0x78000010, "ZE_RESULT_ERROR_INVALID_GLOBAL_NAME"},
	{0x78000011, "ZE_RESULT_ERROR_INVALID_KERNEL_NAME"},
	{0x78000012, "ZE_RESULT_ERROR_INVALID_FUNCTION_NAME"},
	{0x78000013, "ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION"},
	{0x78000014, "ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION"},
	{0x78000015, "ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX"},
	{0x78000016, "ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE"},
	{0x78000017, "ZE_RESULT_ERROR_INVALID_KERNEL_ATTRIBUTE_VALUE"},
	{0x78000018, "ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED"},
	{0x78000019, "ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE"},
	{0x7800001a, "ZE_RESULT_ERROR_OVERLAPPING_REGIONS"},
	{0x7800001b, "ZE_RESULT_WARNING_ACTION_REQUIRED"},
	{0x7800001c, "ZE_RESULT_ERROR_INVALID_KERNEL_HANDLE"},
	{0x7800001d, "ZE_RESULT_EXT_RTAS_BUILD_RETRY"},
	{0x7800001e, "ZE_RESULT_EXT_RTAS_BUILD_DEFERRED"},
	{0x7800001f, "ZE_RESULT_EXT_ERROR_OPERANDS_INCOMPATIBLE"},
	{0x78000020, "ZE_RESULT_ERROR_SURVIVABILITY_MODE_DETECTED"},
	{0x78000021, "ZE_RESULT_ERROR_ADDRESS_NOT_FOUND"},
	{0x78000022, "ZE_RESULT_QUERY_TRUE"},
	{0x78000023, "ZE_RESULT_QUERY_FALSE"},
	{0x78000024, "ZE_RESULT_ERROR_INVALID_GRAPH"},
	{0x78000025, "ZE_RESULT_ERROR_GRAPH_CAPTURE_UNSUPPORTED"},
	{0x78000026, "ZE_RESULT_ERROR_GRAPH_CAPTURE_INVALIDATED"},
	{0x78000027, "ZE_RESULT_ERROR_GRAPH_CAPTURE_MERGE_ATTEMPT"},
	{0x78000028, "ZE_RESULT_ERROR_COMMAND_LIST_NOT_CAPTURING"},
	{0x78000029, "ZE_RESULT_ERROR_GRAPH_UNJOINED_FORKS"},
	{0x7800002a, "ZE_RESULT_ERROR_GRAPH_INTERNAL_EVENT"},
	{0x7ffffffe, "ZE_RESULT_ERROR_UNKNOWN"},
};

static const char *level_zero_error(uint32_t number)
{
	for (size_t i = 0; i < ARRAY_COUNT(level_zero_errors); i++)
		if (level_zero_errors[i].number == number)
			return level_zero_errors[i].name;
	return "";
}

const char *analysis_error_name(const char *function, int32_t result)
{
	if (strncmp(function, "ze", 2) == 0)
		return level_zero_error(result < 0 ? 0u - (uint32_t)result : (uint32_t)result);
	if (result < 0)
		return pick(opencl_errors, ARRAY_COUNT(opencl_errors), 0u - (uint32_t)result);
	if (strncmp(function, "hip", 3) == 0)
		return pick(hip_errors, ARRAY_COUNT(hip_errors), (uint32_t)result);
	return "";
}
