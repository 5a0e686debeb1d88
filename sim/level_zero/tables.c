/* SPDX-License-Identifier: MIT
 *
 * sim/level_zero/tables.c - the tables whose functions are not simulated
 *
 * Runs in:  the test program
 * Fails:    never: a table stays empty, and the loader answers its calls. The loader rejects a
 *           driver that lacks a table.
 */
#include <level_zero/ze_api.h>

#define EXPORTED __attribute__((visibility("default")))

#define GIVES_NONE(name)                                                                 \
	EXPORTED ze_result_t name(ze_api_version_t version, void *table);                \
	EXPORTED ze_result_t name(ze_api_version_t version, void *table)                 \
	{                                                                                \
		return table ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_NULL_POINTER; \
	}
GIVES_NONE(zeGetDeviceExpProcAddrTable)
GIVES_NONE(zeGetEventExpProcAddrTable)
GIVES_NONE(zeGetFabricEdgeExpProcAddrTable)
GIVES_NONE(zeGetFabricVertexExpProcAddrTable)
GIVES_NONE(zeGetImageExpProcAddrTable)
GIVES_NONE(zeGetImageProcAddrTable)
GIVES_NONE(zeGetKernelExpProcAddrTable)
GIVES_NONE(zeGetModuleBuildLogProcAddrTable)
GIVES_NONE(zeGetPhysicalMemProcAddrTable)
GIVES_NONE(zeGetSamplerProcAddrTable)
GIVES_NONE(zeGetVirtualMemProcAddrTable)
GIVES_NONE(zesGetDeviceProcAddrTable)
GIVES_NONE(zesGetDiagnosticsProcAddrTable)
GIVES_NONE(zesGetDriverProcAddrTable)
GIVES_NONE(zesGetEngineProcAddrTable)
GIVES_NONE(zesGetFabricPortProcAddrTable)
GIVES_NONE(zesGetFanProcAddrTable)
GIVES_NONE(zesGetFirmwareProcAddrTable)
GIVES_NONE(zesGetFrequencyProcAddrTable)
GIVES_NONE(zesGetLedProcAddrTable)
GIVES_NONE(zesGetMemoryProcAddrTable)
GIVES_NONE(zesGetPerformanceFactorProcAddrTable)
GIVES_NONE(zesGetPowerProcAddrTable)
GIVES_NONE(zesGetPsuProcAddrTable)
GIVES_NONE(zesGetRasProcAddrTable)
GIVES_NONE(zesGetSchedulerProcAddrTable)
GIVES_NONE(zesGetStandbyProcAddrTable)
GIVES_NONE(zesGetTemperatureProcAddrTable)
GIVES_NONE(zetGetCommandListProcAddrTable)
GIVES_NONE(zetGetContextProcAddrTable)
GIVES_NONE(zetGetDebugProcAddrTable)
GIVES_NONE(zetGetDeviceProcAddrTable)
GIVES_NONE(zetGetKernelProcAddrTable)
GIVES_NONE(zetGetMetricGroupExpProcAddrTable)
GIVES_NONE(zetGetMetricGroupProcAddrTable)
GIVES_NONE(zetGetMetricProcAddrTable)
GIVES_NONE(zetGetMetricQueryPoolProcAddrTable)
GIVES_NONE(zetGetMetricQueryProcAddrTable)
GIVES_NONE(zetGetMetricStreamerProcAddrTable)
GIVES_NONE(zetGetModuleProcAddrTable)
GIVES_NONE(zetGetTracerExpProcAddrTable)
