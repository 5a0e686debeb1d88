/* SPDX-License-Identifier: MIT
 *
 * sim/guard/rules.h - calls that a guest may make while a program releases something or a process
 * exits; one row each
 *
 * Include with these macros defined:
 *
 *	RULE(when, by, function, reason)
 *
 *	when   RELEASE   inside a call of the program that destroys, frees or unloads
 *	       EXIT      the process exits, and the thread is not in a call of the program
 *	by     ANY       the calling thread may be the program's
 *	       OTHER     only another thread than the one that exits: the guest's own, for which the
 *	                 program waits for a limited time, or one of the runtime's that calls the
 *	                 guest
 *
 * The function that the program itself called is always passed on. Every other call ends the
 * process. docs/design/guest_calls.md has the same table for readers.
 */
/* clang-format off */
/* ---- CUDA and CUPTI ---- */
RULE(RELEASE, ANY, cuptiGetDeviceId, "reads the ordinal of a context that is still there")
RULE(RELEASE, ANY, cuptiGetContextId, "reads the number of a context that is still there")
RULE(RELEASE, ANY, cuptiGetStreamIdEx, "reads the number of a stream that is still there")
RULE(RELEASE, ANY, cuptiPCSamplingGetData, "nvidia:pc only: … and hands over the samples that CUPTI holds")
RULE(RELEASE, ANY, cuptiPCSamplingDisable, "nvidia:pc only: … and gives its memory back")
RULE(RELEASE, ANY, cuptiGetTimestamp, "nvidia:pc only: reads a clock, when samples are read")
RULE(RELEASE, ANY, cuptiActivityGetNextRecord, "reads a buffer of the guest's own, where CUPTI hands it over")
RULE(EXIT, OTHER, cuptiActivityFlushAll, "hands over records that CUPTI holds; the program waits a second at most")
RULE(EXIT, ANY, cuptiActivityGetNextRecord, "reads a buffer of the guest's own, where CUPTI hands it over")
RULE(EXIT, OTHER, cuptiActivityGetNumDroppedRecords, "reads a counter")
RULE(EXIT, OTHER, cuptiGetTimestamp, "reads a clock")
RULE(EXIT, OTHER, cuptiPCSamplingGetData, "nvidia:pc only: as in a release")
RULE(EXIT, OTHER, cuptiPCSamplingDisable, "nvidia:pc only: as in a release")
RULE(EXIT, ANY, cuptiGetDeviceId, "reads the ordinal of a context that is still there")
RULE(EXIT, ANY, cuptiGetContextId, "reads the number of a context that is still there")
RULE(EXIT, ANY, cuptiGetStreamIdEx, "reads the number of a stream that is still there")

/* ---- HSA and HIP ---- */
RULE(RELEASE, ANY, hsa_amd_profiling_get_dispatch_time, "reads times in a signal of the guest's own")
RULE(RELEASE, ANY, hsa_amd_profiling_get_async_copy_time, "reads times beside a signal of the guest's own")
RULE(RELEASE, ANY, hsa_signal_subtract_screlease, "completes the program's signal, which the guest's has replaced")
RULE(RELEASE, ANY, hsa_signal_silent_store_relaxed, "writes to a signal of the guest's own")
RULE(RELEASE, ANY, hsa_queue_load_write_index_relaxed, "reads a number of a queue that is still there")
RULE(RELEASE, ANY, hsa_signal_destroy, "OnUnload: gives back signals of the guest's own that no device writes to")
RULE(EXIT, OTHER, hsa_amd_profiling_get_dispatch_time, "reads times in a signal of the guest's own")
RULE(EXIT, OTHER, hsa_amd_profiling_get_async_copy_time, "reads times beside a signal of the guest's own")
RULE(EXIT, OTHER, hsa_signal_subtract_screlease, "completes the program's signal, which the guest's has replaced")
RULE(EXIT, OTHER, hsa_signal_silent_store_relaxed, "writes to a signal of the guest's own")
RULE(EXIT, OTHER, hsa_queue_load_write_index_relaxed, "reads a number of a queue that is still there")
RULE(EXIT, OTHER, hsa_system_get_info, "reads a clock")

/* ---- Level Zero: nothing at exit ---- */
RULE(RELEASE, ANY, zeEventQueryStatus, "reads the state of an event that is still there")
RULE(RELEASE, ANY, zeEventQueryKernelTimestamp, "reads the times of an event that is still there")
RULE(RELEASE, ANY, zeEventHostReset, "of an event of the guest's own")
RULE(RELEASE, ANY, zeEventDestroy, "of an event of the guest's own, before its context goes")
RULE(RELEASE, ANY, zeEventPoolDestroy, "of a pool of the guest's own, before its context goes")
