/* SPDX-License-Identifier: MIT
 *
 * sim/nvtx/nvtx3/nvToolsExt.h - a stand-in for NVTX 3, for machines without the CUDA toolkit
 *
 * Like the real NVTX it is only a header. The first call loads the tool that NVTX_INJECTION64_PATH
 * names and passes it a table of callbacks; without a tool a call does nothing. It has only the
 * functions that the test programs use, under their names.
 */
#pragma once

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <wchar.h>

#include "abi/nvtx.h"

#define NVTX_VERSION                  3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))

typedef uint64_t nvtxRangeId_t;
typedef struct nvtxDomain *nvtxDomainHandle_t;
typedef struct nvtxString *nvtxStringHandle_t;

typedef struct {
	uint16_t version, size;
	uint32_t category;
	int32_t colorType;
	uint32_t color;
	int32_t payloadType, reserved0;
	union {
		uint64_t ullValue;
		int64_t llValue;
		double dValue;
		int32_t iValue;
		float fValue;
	} payload;
	int32_t messageType;
	union {
		const char *ascii;
		const wchar_t *unicode;
		nvtxStringHandle_t registered;
	} message;
} nvtxEventAttributes_t;

enum { SIM_NVTX_CORE = 16, SIM_NVTX_CORE2 = 16 };

static nvtx_function *sim_nvtx_core[SIM_NVTX_CORE], *sim_nvtx_core2[SIM_NVTX_CORE2];
static int sim_nvtx_is_loaded;

static inline int sim_nvtx_get_table(int module, nvtx_function ***ret_table, unsigned int *ret_size)
{
	static nvtx_function **core[SIM_NVTX_CORE], **core2[SIM_NVTX_CORE2];

	/* 0 is no callback's */
	for (int i = 1; i < SIM_NVTX_CORE; i++) {
		core[i] = &sim_nvtx_core[i];
		core2[i] = &sim_nvtx_core2[i];
	}
	if (module != NVTX_CB_MODULE_CORE && module != NVTX_CB_MODULE_CORE2)
		return 0;
	*ret_table = (nvtx_function **)(module == NVTX_CB_MODULE_CORE ? core : core2);
	*ret_size = SIM_NVTX_CORE;
	return 1;
}

static inline const void *sim_nvtx_get_export_table(uint32_t id)
{
	static const struct nvtx_callbacks callbacks = {sizeof(callbacks), sim_nvtx_get_table};

	return id == NVTX_ETID_CALLBACKS ? &callbacks : NULL;
}

static inline nvtx_function *sim_nvtx_find(nvtx_function **functions, int id)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *tool = path && !sim_nvtx_is_loaded ? dlopen(path, RTLD_LAZY) : NULL;
	int (*init)(nvtx_get_export_table *) =
		tool ? (int (*)(nvtx_get_export_table *))dlsym(tool, "InitializeInjectionNvtx2")
		     : NULL;

	sim_nvtx_is_loaded = 1;
	if (init)
		init(sim_nvtx_get_export_table);
	return functions[id];
}

#define SIM_NVTX(module, type, name, parameters, arguments, otherwise)          \
	static inline type nvtx##name parameters                                \
	{                                                                       \
		type(*function) parameters = (type(*) parameters)sim_nvtx_find( \
			sim_nvtx_##module, SIM_NVTX_ID_##module(name));         \
		return function ? function arguments : otherwise;               \
	}
#define SIM_NVTX_ID_core(name)  NVTX_CBID_CORE_##name
#define SIM_NVTX_ID_core2(name) NVTX_CBID_CORE2_##name

SIM_NVTX(core, void, MarkA, (const char *text), (text), (void)0)
SIM_NVTX(core, void, NameCategoryA, (uint32_t id, const char *text), (id, text), (void)0)
SIM_NVTX(core, int, RangePushEx, (const nvtxEventAttributes_t *attributes), (attributes),
	 NVTX_NO_PUSH_POP_TRACKING)
SIM_NVTX(core2, void, DomainNameCategoryA,
	 (nvtxDomainHandle_t domain, uint32_t id, const char *text), (domain, id, text), (void)0)
SIM_NVTX(core, nvtxRangeId_t, RangeStartA, (const char *text), (text), 0)
SIM_NVTX(core, void, RangeEnd, (nvtxRangeId_t id), (id), (void)0)
SIM_NVTX(core, int, RangePushA, (const char *text), (text), NVTX_NO_PUSH_POP_TRACKING)
SIM_NVTX(core, int, RangePushW, (const wchar_t *text), (text), NVTX_NO_PUSH_POP_TRACKING)
SIM_NVTX(core, int, RangePop, (void), (), NVTX_NO_PUSH_POP_TRACKING)
SIM_NVTX(core2, int, DomainRangePushEx,
	 (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes), (domain, attributes),
	 NVTX_NO_PUSH_POP_TRACKING)
SIM_NVTX(core2, int, DomainRangePop, (nvtxDomainHandle_t domain), (domain),
	 NVTX_NO_PUSH_POP_TRACKING)
SIM_NVTX(core2, void, DomainMarkEx,
	 (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes), (domain, attributes),
	 (void)0)
SIM_NVTX(core2, nvtxRangeId_t, DomainRangeStartEx,
	 (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes), (domain, attributes),
	 0)
SIM_NVTX(core2, void, DomainRangeEnd, (nvtxDomainHandle_t domain, nvtxRangeId_t id), (domain, id),
	 (void)0)
SIM_NVTX(core2, nvtxStringHandle_t, DomainRegisterStringA,
	 (nvtxDomainHandle_t domain, const char *text), (domain, text), NULL)
SIM_NVTX(core2, nvtxDomainHandle_t, DomainCreateA, (const char *name), (name), NULL)
