/* SPDX-License-Identifier: MIT */
/* What abi/cupti.h and abi/cuda.h, and their other halves in sim/nvidia, declare. */
#include "cuda_facts.h"

#include "sim/nvidia/cuda_abi.h"
#include "sim/nvidia/cupti_abi.h"

/* cupti_object_id is a union: as typedefs the structs can be named without saying which. */
#define FIELD(...)
#define STRUCT(ours, real) typedef struct ours ours;
#define UNION(ours, real)  typedef union ours ours;
#include "cupti_structs.inc"
#undef FIELD
#undef STRUCT
#undef UNION

#define PLACES(type, field)                        \
	{#type "." #field, offsetof(type, field)}, \
		{#type "." #field, sizeof(((type *)NULL)->field)},

const struct fact ours_facts[] = {
#define FACT(name) {#name, (long long)(name)},
#include "cuda_constants.inc"
#include "cupti_constants.inc"
#define CBID(name, number, class) {"driver " #name, number},
	CUPTI_DRIVER_CALLBACKS(CBID)
#undef CBID
#define CBID(name, number, class) {"runtime " #name, number},
		CUPTI_RUNTIME_CALLBACKS(CBID)
#define STRUCT(ours, real)              {#ours, sizeof(ours)},
#define UNION(ours, real)               {#ours, sizeof(ours)},
#define FIELD(ours, field, real, other) PLACES(ours, field)
#include "cupti_structs.inc"
#define TYPE(type)                {#type, sizeof(type)},
#define PLACE(type, field, other) PLACES(type, field)
#include "cuda_structs.inc"
			{"a PC's record before 12.4", sizeof(struct cupti_pc_data_56)},
#define RECORD(kind, version, bytes) {#kind " " #version, bytes},
	CUPTI_RECORD_SIZES(RECORD){NULL, 0},
};

const struct fact ours_functions[] = {
#define CALLBACK(name, type, parameters)   {#name, 1},
#define CUPTI_CALL(need, name, parameters) {#name, 1},
#define CUDA_CALL(name, parameters)        {#name, 1},
	CUPTI_CALLBACK_TYPES(CALLBACK) CUPTI_ALL_FUNCTIONS(CUPTI_CALL)
		CUDA_ALL_FUNCTIONS(CUDA_CALL){NULL, 0},
};
