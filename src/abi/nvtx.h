/* SPDX-License-Identifier: MIT
 *
 * abi/nvtx.h - the part of NVTX's binary interface that the guest uses
 *
 * Our own declarations, so that building duet needs no header of NVTX; tests/unit/inject compares
 * them with the real ones where those are installed. Constants carry the vendor's names; fields are
 * ours. Source: nvToolsExt.h and nvtxTypes.h of NVTX 3; NVTX 2 loads a tool in the same way.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { NVTX_ETID_CALLBACKS = 1, NVTX_CB_MODULE_CORE = 1, NVTX_CB_MODULE_CORE2 = 5 };

/* Result of the push and pop functions without a tool. */
#define NVTX_NO_PUSH_POP_TRACKING (-2)

enum {
	NVTX_MESSAGE_TYPE_ASCII = 1,
	NVTX_MESSAGE_TYPE_UNICODE = 2, /* wchar_t */
	NVTX_MESSAGE_TYPE_REGISTERED = 3
};

#define NVTX_COLOR_ARGB 1

enum {
	NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 = 1,
	NVTX_PAYLOAD_TYPE_INT64 = 2,
	NVTX_PAYLOAD_TYPE_DOUBLE = 3,
	NVTX_PAYLOAD_TYPE_UNSIGNED_INT32 = 4,
	NVTX_PAYLOAD_TYPE_INT32 = 5,
	NVTX_PAYLOAD_TYPE_FLOAT = 6
};

enum {
	NVTX_CBID_CORE_MarkEx = 1,
	NVTX_CBID_CORE_MarkA = 2,
	NVTX_CBID_CORE_MarkW = 3,
	NVTX_CBID_CORE_RangeStartEx = 4,
	NVTX_CBID_CORE_RangeStartA = 5,
	NVTX_CBID_CORE_RangeStartW = 6,
	NVTX_CBID_CORE_RangeEnd = 7,
	NVTX_CBID_CORE_RangePushEx = 8,
	NVTX_CBID_CORE_RangePushA = 9,
	NVTX_CBID_CORE_RangePushW = 10,
	NVTX_CBID_CORE_RangePop = 11,
	NVTX_CBID_CORE_NameCategoryA = 12,
	NVTX_CBID_CORE_NameCategoryW = 13
};

enum {
	NVTX_CBID_CORE2_DomainMarkEx = 1,
	NVTX_CBID_CORE2_DomainRangeStartEx = 2,
	NVTX_CBID_CORE2_DomainRangeEnd = 3,
	NVTX_CBID_CORE2_DomainRangePushEx = 4,
	NVTX_CBID_CORE2_DomainRangePop = 5,
	NVTX_CBID_CORE2_DomainNameCategoryA = 8,
	NVTX_CBID_CORE2_DomainNameCategoryW = 9,
	NVTX_CBID_CORE2_DomainRegisterStringA = 10,
	NVTX_CBID_CORE2_DomainRegisterStringW = 11,
	NVTX_CBID_CORE2_DomainCreateA = 12,
	NVTX_CBID_CORE2_DomainCreateW = 13
};

struct nvtx_attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	union {
		const char *ascii;
		const wchar_t *unicode;
		const void *registered;
	} message;
};

typedef void nvtx_function(void);

/* table: for each callback id, the address of its function pointer; NULL if there is none. */
struct nvtx_callbacks {
	size_t struct_size;
	int (*get_module_function_table)(int module, nvtx_function ***ret_table,
					 unsigned int *ret_size);
};

typedef const void *nvtx_get_export_table(uint32_t id);
