/* SPDX-License-Identifier: MIT
 *
 * event/hsa_calls.h - what the HSA guest makes rows of, a row each: HSA_CALL(number, name, text)
 *
 * Runs in:  the guest writes the numbers, the recorder makes a name of each
 *
 * The number is the function id of a record, beside those of event/opencl_calls.h, and is never given to another
 * function. AQL packets are no functions: one that was written into a queue makes no call that has a name.
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
