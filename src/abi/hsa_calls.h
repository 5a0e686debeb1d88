/* SPDX-License-Identifier: MIT
 *
 * abi/hsa_calls.h - events that the HSA guest records as calls, one row each: HSA_CALL(number,
 * name, text)
 *
 * Runs in:  the guest writes the numbers; the recorder turns each into its name
 *
 * The number is the function id in records. It differs from those of abi/opencl_calls.table and is
 * never given to another function. Programs write AQL packets straight into a queue, without a
 * function call, so the rows name the packets.
 */
#ifdef HSA_CALL
/* clang-format off */
HSA_CALL(256, DISPATCH,           "AQL dispatch")
HSA_CALL(257, BATCH,              "AQL batch")
HSA_CALL(258, COPY,               "hsa_amd_memory_async_copy")
HSA_CALL(259, COPY_ON_ENGINE,     "hsa_amd_memory_async_copy_on_engine")
HSA_CALL(260, COPY_RECT,          "hsa_amd_memory_async_copy_rect")
HSA_CALL(261, WAIT_SCACQUIRE,     "hsa_signal_wait_scacquire")
HSA_CALL(262, WAIT_RELAXED,       "hsa_signal_wait_relaxed")
HSA_CALL(263, BARRIER_AND,        "AQL barrier-AND")
HSA_CALL(264, BARRIER_OR,         "AQL barrier-OR")
HSA_CALL(265, BARRIER_VALUE,      "AQL barrier-value")
HSA_CALL(266, MEMORY_COPY,        "hsa_memory_copy")
HSA_CALL(267, MEMORY_FILL,        "hsa_amd_memory_fill")
HSA_CALL(268, COPY_BATCH,         "hsa_amd_memory_async_batch_copy")
/* clang-format on */
#endif
