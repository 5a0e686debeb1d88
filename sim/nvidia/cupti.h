/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/cupti.h - shared by the files of the simulated libcupti
 *
 *	cupti.c         connection to the driver, versions, ids, supported features
 *	callbacks.c     the subscription, and the delivery of callbacks
 *	names.c         names of callback ids
 *	stamps.c        convert the GPU's time to the program's
 *	activity.c      enabled kinds, items that the driver reports, flushing
 *	delivery.c      the worker thread, the program's buffers, losses
 *	records.c       records and their lengths
 *	pc_sampling.c   samples of program counters
 *	pm_sampling.c   counters of a device over time
 *	host_metrics.c  names and values of counters
 */
#pragma once

#include <stdatomic.h>

#include "sim.h"

enum { MAX_SIM_CBIDS = 1024, SIM_DOMAINS = 7, MAX_SIM_RECORD_BYTES = 256 };

#define X(need, name, parameters) SIM_EXPORT cupti_result name parameters;
CUPTI_ALL_FUNCTIONS(X)
#undef X

/* First in each function: the result that SIM_NVIDIA's fail_FUNCTION and similar options
 * request. */
#define SIM_FAIL_AS_ASKED()                          \
	do {                                         \
		int asked_ = sim_failure(__func__);  \
                                                     \
		sim_note_call(__func__);             \
		if (asked_)                          \
			return (cupti_result)asked_; \
	} while (0)

/* Writes the lines that calls=FILE requests, and waits while gate=FILE exists. */
void sim_note_call(const char *function);
void sim_note_flushed(uint64_t begin_ns, uint64_t passes);

/* ---- the driver ------------------------------------------------------------------------------ */

/* The driver, with our hooks in it; NULL: there is none, for which CUPTI returns 999. */
const struct sim_driver *sim_driver(void);
uint32_t sim_thread_id(void);

/* ---- callbacks ------------------------------------------------------------------------------- */

void sim_on_enter(struct sim_call *call);
void sim_on_exit(struct sim_call *call);
void sim_on_resource(uint32_t cbid, CUcontext context, CUstream stream, void *descriptor);
void sim_on_synchronized(const struct sim_wait *wait);
void sim_callbacks_reset(void);
/* NULL: not known here. */
const char *sim_callback_name(cupti_domain domain, uint32_t cbid);
bool sim_is_callback(cupti_domain domain, uint32_t cbid);

/* ---- time ------------------------------------------------------------------------------------ */

/* Present value of the program's timestamp callback or of CLOCK_REALTIME. */
uint64_t sim_timestamp(void);
/* Reads the GPU's clock beside it. */
void sim_stamp_pair(void);
/* The GPU's time at a time of CLOCK_MONOTONIC, interpolated between two such readings. */
uint64_t sim_stamp(uint64_t host_ns);

/* ---- activity -------------------------------------------------------------------------------- */

enum sim_item_type { SIM_ITEM_WORK, SIM_ITEM_WAIT, SIM_ITEM_OVERHEAD, SIM_ITEM_RECORD };

/* A piece of work that becomes a record once it has ended. */
struct sim_item {
	struct sim_item *next;
	enum sim_item_type type;
	uint32_t kind;   /* of the record */
	uint64_t due_ns; /* CLOCK_MONOTONIC */
	uint32_t thread_id;
	struct sim_kernel kernel; /* WORK: a copy, its name interned */
	union {
		struct sim_work work;
		struct sim_wait wait;
		struct sim_overhead overhead;
		uint8_t record[MAX_SIM_RECORD_BYTES]; /* RECORD: ready */
	};
};

bool sim_is_kind_on(uint32_t kind, uint32_t context_id);
void sim_on_work(const struct sim_work *work);
void sim_on_waited(const struct sim_wait *wait);
void sim_on_overhead(const struct sim_overhead *overhead);
void sim_on_memory(const struct sim_memory *memory);
void sim_on_context(uint32_t context_id, uint32_t device_id);
void sim_on_stream(const struct sim_stream_facts *facts);
bool sim_is_serialized(uint32_t context_id);
/* Records of a completed call of the driver or the runtime. */
void sim_on_api(const struct sim_call *call);
void sim_activity_reset(void);
bool sim_has_latency_stamps(void);

/* ---- delivery -------------------------------------------------------------------------------- */

/* Takes the item; NULL is ignored. */
void sim_deliver(struct sim_item *item);
/* Writes ended items into buffers and delivers them; is_forced: items that have not ended, too. */
cupti_result sim_flush(bool is_forced);
cupti_result sim_delivery_start(void);
void sim_delivery_stop(void);
/* Number of times that the worker has looked for ended items. */
uint64_t sim_passes(void);

/* ---- records --------------------------------------------------------------------------------- */

/* Bytes of a record in the version that SIM_NVIDIA selects; 0: no such kind. */
size_t sim_stride(uint32_t kind);
/* is_over: false leaves the times 0. */
void sim_make_record(const struct sim_item *item, bool is_over, void *ret_record);
void sim_make_device(uint32_t device_id, struct cupti_activity_device *ret_record);
/* A copy that lives for ever. */
const char *sim_intern(const char *text);

/* ---- PC sampling ----------------------------------------------------------------------------- */

void sim_pc_on_kernel(const struct sim_work *work);
bool sim_pc_is_serialized(uint32_t context_id);
/* Another thread is inside of a call of PM sampling that takes long. */
bool sim_pm_is_inside(void);
/* A call of the driver ends; in serialized mode only once its kernel has ended. */
void sim_pc_on_exit(uint32_t context_id);

/* ---- counters -------------------------------------------------------------------------------- */

enum { MAX_SIM_METRICS = 64, SIM_METRIC_BYTES = 96 };

/* Contents of our configuration images. */
struct sim_config_image {
	uint64_t magic;
	uint32_t metric_count, pass_count;
	char chip[32];
	char names[MAX_SIM_METRICS][SIM_METRIC_BYTES];
};

#define SIM_CONFIG_MAGIC UINT64_C(0x676966636d697353)
#define SIM_DATA_MAGIC   UINT64_C(0x617461646d697353)

struct sim_sample {
	uint64_t start_ns, end_ns; /* as the program sees time */
	double load;               /* 0 … 1: of this interval a kernel ran */
	uint64_t index;
};

/* Contents of our counter data images. */
struct sim_data_image {
	uint64_t magic;
	uint32_t capacity, count;
	struct sim_sample samples[];
};
