/* SPDX-License-Identifier: MIT
 *
 * abi/hsa.h - the part of the HSA runtime's binary interface that the guest uses
 *
 * Our own declarations, so that building duet needs no ROCm header; tests/unit/inject compares them
 * with the real ones where those are installed. Source: the HSA 1.2 specification, hsa.h,
 * hsa_ext_amd.h, hsa_api_trace.h, amd_hsa_signal.h and hsa_ven_amd_loader.h of ROCm 5.2 to 10.
 *
 * A table starts with its version. `size_bytes` in it (the runtime calls it the minor version) is
 * the size of the whole table. Entries have the offsets below; the guest reads none beyond the
 * size. The core table has never changed. ROCm 5.6 inserted two entries behind memory_async_copy in
 * the table of AMD's extensions, and did not change the version. The offset of an entry behind them
 * therefore follows from the table's size. Later releases only append.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t hsa_status;
typedef struct {
	uint64_t handle;
} hsa_handle; /* an agent, a signal, an executable …; passed by value */
typedef hsa_handle hsa_agent, hsa_signal, hsa_executable, hsa_symbol, hsa_pool, hsa_reader,
	hsa_loaded_code;
typedef int64_t hsa_signal_value;

enum {
	HSA_SUCCESS = 0,
	HSA_ERROR = 0x1000,
	HSA_ERROR_INVALID_SIGNAL = 0x1006,
	HSA_ERROR_INVALID_QUEUE = 0x1007,

	HSA_SYSTEM_VERSION_MAJOR = 0,
	HSA_SYSTEM_VERSION_MINOR = 1,
	HSA_SYSTEM_TIMESTAMP = 2,

	HSA_AGENT_NAME = 0,
	HSA_AGENT_VENDOR_NAME = 1,
	HSA_AGENT_WAVEFRONT_SIZE = 6,
	MAX_HSA_AGENT_WORKGROUP = 8,
	HSA_AGENT_DEVICE = 17,
	HSA_AGENT_COMPUTE_UNITS = 0xA002,
	HSA_AGENT_BDFID = 0xA006,
	HSA_AGENT_PRODUCT_NAME = 0xA009,
	HSA_AGENT_DOMAIN = 0xA00F,
	HSA_AGENT_UUID = 0xA011,
	HSA_DEVICE_CPU = 0,
	HSA_DEVICE_GPU = 1,
	HSA_QUEUE_COOPERATIVE = 2,

	HSA_POOL_SEGMENT = 0,
	HSA_POOL_SIZE = 2,
	HSA_SEGMENT_GLOBAL = 0,
	HSA_SEGMENT_GROUP = 3,

	HSA_CONDITION_LT = 2,
	/* a signal that raises no interrupt and takes no event of the driver */
	HSA_SIGNAL_GPU_ONLY = 1,

	HSA_SYMBOL_TYPE = 0,
	HSA_SYMBOL_NAME_LENGTH = 1,
	HSA_SYMBOL_NAME = 2,
	HSA_SYMBOL_GROUP_BYTES = 13,
	HSA_SYMBOL_PRIVATE_BYTES = 14,
	HSA_SYMBOL_AGENT = 20,
	HSA_SYMBOL_KERNEL_OBJECT = 22,
	HSA_SYMBOL_IS_KERNEL = 1,

	HSA_EXTENSION_LOADER = 0x201,
	HSA_LOADED_STORAGE_TYPE = 4,
	HSA_LOADED_MEMORY_BASE = 5,
	HSA_LOADED_MEMORY_SIZE = 6,
	HSA_LOADED_FILE = 7,
	HSA_LOADED_DELTA = 8, /* difference between the load address and the address in the file */
	HSA_LOADED_BASE = 9,
	HSA_LOADED_SIZE = 10,
	HSA_STORAGE_FILE = 1,
	HSA_STORAGE_MEMORY = 2,

	HSA_PACKET_VENDOR = 0,
	HSA_PACKET_DISPATCH = 2,
	HSA_PACKET_BARRIER_AND = 3,
	HSA_PACKET_BARRIER_OR = 5,
	HSA_PACKET_FORMAT_BARRIER_VALUE = 2, /* format of a vendor's packet, in its third byte */

	HSA_POINTER_UNKNOWN = 0,
	HSA_POINTER_HSA = 1,    /* allocated by the runtime */
	HSA_POINTER_LOCKED = 2, /* ordinary memory, locked */
	HSA_POINTER_IPC = 4,

	HSA_COPY_HOST_TO_DEVICE = 1,
	HSA_COPY_DEVICE_TO_HOST = 2,
	HSA_COPY_DEVICE_TO_DEVICE = 3,
};

struct hsa_queue {
	uint32_t type, features;
	void *base_address;
	hsa_signal doorbell;
	uint32_t size; /* number of packets */
	uint32_t reserved;
	uint64_t id;
};

/* 64 bytes, as every AQL packet. */
struct hsa_dispatch_packet {
	uint16_t header; /* the type in its low byte */
	uint16_t dimensions;
	uint16_t workgroup[3];
	uint16_t reserved0;
	uint32_t grid[3];
	uint32_t private_bytes, group_bytes;
	uint64_t kernel_object;
	uint64_t kernarg;
	uint64_t reserved1;
	hsa_signal completion;
};
_Static_assert(sizeof(struct hsa_dispatch_packet) == 64, "an AQL packet");

/* Memory behind the handle of a signal. */
struct hsa_signal_memory {
	int64_t kind; /* HSA_SIGNAL_KIND_USER … */
	_Atomic int64_t value;
	uint64_t mailbox;
	uint32_t event_id, reserved0;
	uint64_t start_ticks, end_ticks; /* times of the command that completed it */
	uint64_t reserved1[2];
};
enum { HSA_SIGNAL_KIND_INVALID = 0, HSA_SIGNAL_KIND_USER = 1 };
_Static_assert(sizeof(struct hsa_signal_memory) == 64, "amd_signal_t");

struct hsa_times {
	uint64_t start, end;
};

struct hsa_table_version {
	uint32_t major;
	uint32_t size_bytes; /* size of the whole table */
	uint32_t step;
	uint32_t reserved;
};

/* Argument of OnLoad. */
struct hsa_tables {
	struct hsa_table_version version;
	uint8_t *core, *amd; /* each begins with a struct hsa_table_version */
	uint8_t *finalizer, *image;
	uint8_t *tools; /* from ROCm 6.1 on */
	uint8_t *pcs;   /* from ROCm 6.2 on, if the table's size includes it */
};

/* Functions of the two tables that the guest calls: X(offset, name of the offset, member of
 * struct hsa_functions, type). Not formatted, because clang-format would dissolve the columns. */
/* clang-format off */
#define HSA_CORE_FUNCTIONS(X)                                                                      \
	X(32,  CORE_SYSTEM_GET_INFO, system_get_info, hsa_system_get_info_function)                \
	X(56,  CORE_ITERATE_AGENTS, iterate_agents, hsa_iterate_agents_function)                   \
	X(64,  CORE_AGENT_GET_INFO, agent_get_info, hsa_agent_get_info_function)                   \
	X(72,  CORE_QUEUE_CREATE, queue_create, hsa_queue_create_function)                         \
	X(88,  CORE_QUEUE_DESTROY, queue_destroy, hsa_queue_destroy_function)                      \
	X(128, CORE_QUEUE_WRITE_INDEX, queue_write_index, hsa_queue_index_function)                \
	X(296, CORE_MEMORY_COPY, memory_copy, hsa_memory_copy_function)                            \
	X(312, CORE_SIGNAL_CREATE, signal_create, hsa_signal_create_function)                      \
	X(320, CORE_SIGNAL_DESTROY, signal_destroy, hsa_signal_destroy_function)                   \
	X(360, CORE_SIGNAL_WAIT_RELAXED, wait_relaxed, hsa_signal_wait_function)                   \
	X(368, CORE_SIGNAL_WAIT_SCACQUIRE, wait_scacquire, hsa_signal_wait_function)               \
	X(552, CORE_SIGNAL_SUBTRACT_SCRELEASE, subtract, hsa_signal_change_function)               \
	X(688, CORE_EXECUTABLE_DESTROY, executable_destroy, hsa_executable_destroy_function)       \
	X(704, CORE_EXECUTABLE_FREEZE, executable_freeze, hsa_executable_freeze_function)          \
	X(760, CORE_SYMBOL_GET_INFO, symbol_get_info, hsa_symbol_get_info_function)                \
	X(768, CORE_ITERATE_SYMBOLS, iterate_symbols, hsa_iterate_symbols_function)                \
	X(800, CORE_EXTENSION_TABLE, extension_table, hsa_extension_table_function)                \
	X(832, CORE_SIGNAL_SILENT_STORE, silent_store, hsa_signal_change_function)                 \
	X(976, CORE_LOAD_AGENT_CODE, load_agent_code, hsa_load_agent_code_function)

#define HSA_AMD_FUNCTIONS(X)                                                                       \
	X(32,  AMD_SET_PROFILER, set_profiler, hsa_set_profiler_function)                          \
	X(40,  AMD_ASYNC_COPY_ENABLE, async_copy_enable, hsa_async_copy_enable_function)           \
	X(48,  AMD_DISPATCH_TIME, dispatch_time, hsa_dispatch_time_function)                       \
	X(56,  AMD_COPY_TIME, copy_time, hsa_copy_time_function)                                   \
	X(72,  AMD_ASYNC_HANDLER, async_handler, hsa_async_handler_function)                       \
	X(104, AMD_POOL_GET_INFO, pool_get_info, hsa_pool_get_info_function)                       \
	X(112, AMD_ITERATE_POOLS, iterate_pools, hsa_iterate_pools_function)                       \
	X(136, AMD_ASYNC_COPY, async_copy, hsa_async_copy_function)                                \
	/* from ROCm 5.6 on */                                                                     \
	X(144, AMD_ASYNC_COPY_ON_ENGINE, async_copy_on_engine, hsa_async_copy_on_engine_function)  \
	/* offsets before ROCm 5.6; since then AMD_INSERTED_BYTES more */                          \
	X(192, AMD_MEMORY_FILL, memory_fill, hsa_memory_fill_function)                             \
	X(224, AMD_POINTER_INFO, pointer_info, hsa_pointer_info_function)                          \
	X(264, AMD_SIGNAL_CREATE, amd_signal_create, hsa_amd_signal_create_function)               \
	X(296, AMD_INTERCEPT_CREATE, intercept_create, hsa_queue_create_function)                  \
	X(304, AMD_INTERCEPT_REGISTER, intercept_register, hsa_intercept_register_function)        \
	X(320, AMD_ASYNC_COPY_RECT, async_copy_rect, hsa_async_copy_rect_function)                 \
	/* from ROCm 7.13 on */                                                                    \
	X(640, AMD_COPY_BATCH, copy_batch, hsa_copy_batch_function)                                \
	/* from ROCm 10 on */                                                                      \
	X(704, AMD_QUEUE_CREATE, amd_queue_create, hsa_amd_queue_create_function)
/* clang-format on */

enum {
#define HSA_OFFSET(offset, name, ...) name = (offset),
	HSA_CORE_FUNCTIONS(HSA_OFFSET) HSA_AMD_FUNCTIONS(HSA_OFFSET)
#undef HSA_OFFSET
};

enum {
	CORE_BYTES = 1016, /* size of the core table in all releases */
	AMD_INSERTED_BYTES = 16,
	AMD_INSERTED_FROM = 456, /* tables of this size or larger have the inserted entries */
	AMD_QUEUE_CREATE_STEP =
		0x10, /* from this step version on: a nightly build had another entry there */
	/* ROCm 7.0 to 7.2: an intercept queue writes beyond the end of its own buffer. */
	AMD_OVERFLOW_FROM = 600,
	AMD_OVERFLOW_BELOW = 632,
};

typedef void hsa_packet_writer(const void *packets, uint64_t count);
typedef void hsa_packet_handler(const void *packets, uint64_t count, uint64_t index, void *data,
				hsa_packet_writer *writer);
typedef void hsa_queue_error(hsa_status status, struct hsa_queue *queue, void *data);
typedef bool hsa_signal_handler(hsa_signal_value value, void *data);

/* Request to create a queue, from ROCm 10 on. */
struct hsa_queue_request {
	uint16_t version; /* HSA_REQUEST_VERSION */
	uint16_t flags;   /* 0: in system memory */
	uint8_t engine;   /* 0: compute */
	uint8_t reserved0[3];
	uint32_t size_bytes;
	uint32_t priority;
	hsa_queue_error *callback;
	void *data;
	struct hsa_queue *queue; /* output: the queue */
	const uint32_t *cu_mask;
	uint32_t type;
	uint32_t private_bytes;
	uint32_t cu_mask_bits;
	uint32_t reserved1[3];
	uint32_t traffic_class;
	uint8_t reserved2[20];
};
enum { HSA_REQUEST_VERSION = 1, HSA_PRIORITY_NORMAL = 1 };

struct hsa_extent {
	uint32_t x, y, z;
};

/* Properties of memory; the first member is the size of the struct that we know. */
struct hsa_pointer_info {
	uint32_t size;
	uint32_t type; /* HSA_POINTER_HSA … */
	void *agent_base, *host_base;
	size_t size_bytes;
	void *data;
	hsa_agent owner;
	uint32_t global_flags;
};

/* One copy of a batch. With `entries` it is several copies, and `from`, `to`, `to_agent` and `size`
 * point to lists. */
struct hsa_copy_piece {
	uint16_t version;
	uint16_t type; /* HSA_PIECE_LINEAR … */
	uint16_t entries;
	uint16_t traffic_class;
	hsa_signal completion;
	const void *from;
	hsa_agent from_agent;
	union {
		hsa_agent to_agent;
		const hsa_agent *to_agents;
	};
	void *to;
	union {
		size_t size;
		const size_t *sizes;
	};
	size_t size_back; /* for HSA_PIECE_SWAP without entries */
	uint64_t unused[8];
};
_Static_assert(sizeof(struct hsa_copy_piece) == 128, "hsa_amd_memory_copy_op_t");
enum {
	HSA_PIECE_LINEAR = 0,
	HSA_PIECE_BROADCAST = 1, /* one source and size, several targets */
	HSA_PIECE_SWAP = 2,
	HSA_PIECE_LAST =
		5 /* the types between are linear copies whose addresses are read when they run */
};

typedef hsa_status hsa_system_get_info_function(uint32_t what, void *value);
typedef hsa_status hsa_iterate_agents_function(hsa_status (*each)(hsa_agent, void *), void *data);
typedef hsa_status hsa_agent_get_info_function(hsa_agent, uint32_t what, void *value);
typedef hsa_status hsa_queue_create_function(hsa_agent, uint32_t size, uint32_t type,
					     hsa_queue_error *, void *data, uint32_t private_bytes,
					     uint32_t group_bytes, struct hsa_queue **ret_queue);
typedef hsa_status hsa_queue_destroy_function(struct hsa_queue *);
typedef uint64_t hsa_queue_index_function(const struct hsa_queue *);
typedef hsa_status hsa_signal_create_function(hsa_signal_value, uint32_t consumers_count,
					      const hsa_agent *consumers, hsa_signal *ret_signal);
typedef hsa_status hsa_amd_signal_create_function(hsa_signal_value, uint32_t consumers_count,
						  const hsa_agent *consumers, uint64_t attributes,
						  hsa_signal *ret_signal);
typedef hsa_status hsa_signal_destroy_function(hsa_signal);
typedef void hsa_signal_change_function(hsa_signal, hsa_signal_value);
typedef hsa_signal_value hsa_signal_wait_function(hsa_signal, uint32_t condition,
						  hsa_signal_value compared, uint64_t timeout,
						  uint32_t state);
typedef hsa_status hsa_executable_destroy_function(hsa_executable);
typedef hsa_status hsa_executable_freeze_function(hsa_executable, const char *options);
typedef hsa_status hsa_symbol_get_info_function(hsa_symbol, uint32_t what, void *value);
typedef hsa_status
hsa_iterate_symbols_function(hsa_executable, hsa_status (*each)(hsa_executable, hsa_symbol, void *),
			     void *data);
typedef hsa_status hsa_extension_table_function(uint16_t extension, uint16_t major, size_t size,
						void *table);
typedef hsa_status hsa_load_agent_code_function(hsa_executable, hsa_agent, hsa_reader,
						const char *options, hsa_loaded_code *ret_loaded);
typedef hsa_status hsa_loaded_get_info_function(hsa_loaded_code, uint32_t what, void *value);
typedef hsa_status hsa_set_profiler_function(struct hsa_queue *, int enable);
typedef hsa_status hsa_async_copy_enable_function(bool enable);
typedef hsa_status hsa_dispatch_time_function(hsa_agent, hsa_signal, struct hsa_times *);
typedef hsa_status hsa_copy_time_function(hsa_signal, struct hsa_times *);
typedef hsa_status hsa_async_handler_function(hsa_signal, uint32_t condition, hsa_signal_value,
					      hsa_signal_handler *, void *data);
typedef hsa_status hsa_pool_get_info_function(hsa_pool, uint32_t what, void *value);
typedef hsa_status hsa_iterate_pools_function(hsa_agent, hsa_status (*each)(hsa_pool, void *),
					      void *data);
typedef hsa_status hsa_async_copy_function(void *to, hsa_agent to_agent, const void *from,
					   hsa_agent from_agent, size_t size, uint32_t waits_count,
					   const hsa_signal *waits, hsa_signal completion);
typedef hsa_status hsa_async_copy_on_engine_function(void *to, hsa_agent to_agent, const void *from,
						     hsa_agent from_agent, size_t size,
						     uint32_t waits_count, const hsa_signal *waits,
						     hsa_signal completion, uint32_t engine,
						     bool force);
typedef hsa_status hsa_async_copy_rect_function(const void *to, const struct hsa_extent *to_offset,
						const void *from,
						const struct hsa_extent *from_offset,
						const struct hsa_extent *range, hsa_agent agent,
						uint32_t direction, uint32_t waits_count,
						const hsa_signal *waits, hsa_signal completion);
typedef hsa_status hsa_copy_batch_function(const struct hsa_copy_piece *pieces, uint32_t count,
					   uint32_t waits_count, const hsa_signal *waits);
typedef hsa_status hsa_memory_copy_function(void *to, const void *from, size_t size);
typedef hsa_status hsa_memory_fill_function(void *to, uint32_t value, size_t words_count);
typedef hsa_status hsa_pointer_info_function(const void *memory, struct hsa_pointer_info *,
					     void *(*allocate)(size_t), uint32_t *ret_agents_count,
					     hsa_agent **ret_agents);
typedef hsa_status hsa_intercept_register_function(struct hsa_queue *, hsa_packet_handler *,
						   void *data);
typedef hsa_status hsa_amd_queue_create_function(hsa_agent, struct hsa_queue_request *,
						 uint32_t count);

/* ---- samples of instructions ---- */

typedef hsa_handle hsa_pcs; /* a session */

enum {
	HSA_PCS_HOST_TRAP = 0,
	HSA_PCS_STOCHASTIC = 1,
	HSA_PCS_UNIT_US = 0,
	HSA_PCS_UNIT_CYCLES = 1,
	HSA_PCS_UNIT_INSTRUCTIONS = 2,
	HSA_PCS_POWER_OF_2 = 1, /* a flag: the interval must be a power of 2 */
	/* Bits of a snapshot of CDNA 3. The stall reason has three bits. */
	HSA_PCS_SNAPSHOT_VALID = 1,
	HSA_PCS_SNAPSHOT_ISSUED = 2,
	HSA_PCS_SNAPSHOT_REASON = 7,
	HSA_PCS_SNAPSHOT_ERROR = 1 << 26
};

struct hsa_pcs_configuration {
	uint32_t method, units;
	size_t shortest, longest; /* limits of the interval */
	uint64_t flags;
};

/* Sample of either method; a host trap has no snapshot. */
struct hsa_pcs_sample {
	uint64_t pc;
	uint64_t lanes;
	uint32_t group[3];
	uint32_t wave;
	uint32_t place;
	uint32_t snapshot, snapshot1, snapshot2;
	uint64_t time; /* in the runtime's clock */
	uint64_t correlation;
};
_Static_assert(sizeof(struct hsa_pcs_sample) == 64, "perf_sample_hosttrap_v1_t");

typedef hsa_status hsa_pcs_copy(void *what, size_t bytes, void *to);
typedef void hsa_pcs_ready(void *data, size_t bytes, size_t lost_count, hsa_pcs_copy *, void *what);

/* The table of sampling functions, starting with its version. */
struct hsa_pcs_functions {
	struct hsa_table_version version;
	hsa_status (*iterate)(hsa_agent,
			      hsa_status (*each)(const struct hsa_pcs_configuration *, void *),
			      void *data);
	hsa_status (*create)(hsa_agent, uint32_t method, uint32_t units, size_t interval,
			     size_t latency_us, size_t buffer_bytes, hsa_pcs_ready *, void *data,
			     hsa_pcs *ret_session);
	hsa_status (*create_from_id)(void);
	hsa_status (*destroy)(hsa_pcs);
	hsa_status (*start)(hsa_pcs);
	hsa_status (*stop)(hsa_pcs);
	hsa_status (*flush)(hsa_pcs);
};

/* ---- the loader ---- */

typedef hsa_status hsa_host_address_function(const void *on_device, const void **ret_on_host);

/* Offset in a kernel's descriptor: address of its first instruction, relative to the descriptor. */
enum { HSA_DESCRIPTOR_ENTRY = 16 };

/* Functions of the loader extension, version 1.01. */
struct hsa_loader_functions {
	hsa_host_address_function *host_address;
	void (*unused[3])(void);
	hsa_loaded_get_info_function *get_info;
};

/* Functions of the runtime's tables before the guest changed them. NULL: this runtime does not have
 * the function. */
struct hsa_functions {
#define HSA_MEMBER(offset, name, member, type) type *member;
	HSA_CORE_FUNCTIONS(HSA_MEMBER)
	HSA_AMD_FUNCTIONS(HSA_MEMBER)
#undef HSA_MEMBER
	hsa_loaded_get_info_function *loaded_get_info; /* NULL: no loader extension */
	hsa_host_address_function *host_address;       /* NULL: no loader extension */
	const struct hsa_pcs_functions *pcs;           /* NULL before ROCm 6.2 */
};
