/* SPDX-License-Identifier: MIT
 *
 * abi/level_zero_calls.h - calls of Level Zero that duet records or that the guest needs, one row
 * each
 *
 * Runs in:  the guest makes a typed wrapper from each row; the recorder turns each number into its
 *           name
 * Source:   ze_api.h and ze_ddi.h of Level Zero 1.17; tests compare the rows with the headers that
 *           are installed
 *
 * The number is the function id in records. It differs from those of abi/hip_calls.h and is never
 * given to another function. A row has its table of functions, its slot in the table, and the minor
 * version 1.N that added it: the table of an older loader ends before it. Queries that a program
 * may make millions of times and that neither launch nor wait (zeEventQueryStatus, properties) have
 * no record. An append that takes no event of its own (a wait for others, a signal, a prefetch) is
 * recorded as a call and not as a command, because its completion cannot be detected.
 *
 * Include with these macros defined:
 *
 *	ZE_CALL(number, name, table, slot, minor, parameters, arguments, callee, look, argument,
 *		after)
 *	ZE_WAIT(number, name, table, slot, minor, parameters, arguments, argument)
 *		waits for a device
 *	ZE_APPEND(number, name, table, slot, minor, command, parameters, arguments, describe)
 *		puts a command that may signal an event into `list`
 *	ZE_EXECUTE(number, name, table, slot, minor, parameters, arguments, queue, count, lists,
 *		describe)
 *		puts the commands of lists into a queue
 *	ZE_QUIET(name, table, slot, minor, parameters, arguments)
 *		the guest tracks it; no record
 *	ZE_GIVE(name, table, slot, minor, parameters, arguments)
 *		as ZE_QUIET, for a function that returns a handle instead of a result
 *	ZE_BELOW(name, table, slot, minor, parameters)
 *		only the guest calls it
 *
 * callee: next (the next function) or own (our own body around it); with the suffix _gone if the
 * call releases something, because pending commands are not polled in such a call. look: LOOK if an
 * idle guest looks for a recorder in this call. argument: argument of the record. after: code that
 * runs when the call was recorded.
 */
/* clang-format off */
/* ---- initialization ---- */
ZE_CALL(1024, zeInit, global, 0, 0, (uint32_t flags), (flags), next, LOOK, 0, )
ZE_CALL(1025, zeInitDrivers, global, 1, 11, (uint32_t *count, ze_handle *drivers, void *desc), (count, drivers,
	desc), next, LOOK, 0, )
ZE_CALL(1026, zeContextCreate, context, 0, 0, (ze_handle driver, const void *desc, ze_handle *ret_context),
	(driver, desc, ret_context), own, LOOK, 0, )
ZE_CALL(1027, zeContextCreateEx, context, 8, 1, (ze_handle driver, const void *desc, uint32_t count, ze_handle
	*devices, ze_handle *ret_context), (driver, desc, count, devices, ret_context), own, LOOK, 0, )
ZE_CALL(1028, zeContextDestroy, context, 1, 0, (ze_handle context), (context), own_gone, LOOK, 0, )
ZE_CALL(1029, zeContextMakeMemoryResident, context, 4, 0, (ze_handle context, ze_handle device, void *memory,
	size_t bytes), (context, device, memory, bytes), next, NO_LOOK, bytes, )
ZE_CALL(1030, zeContextEvictMemory, context, 5, 0, (ze_handle context, ze_handle device, void *memory, size_t
	bytes), (context, device, memory, bytes), next_gone, NO_LOOK, bytes, )
ZE_CALL(1031, zeContextSystemBarrier, context, 3, 0, (ze_handle context, ze_handle device), (context, device),
	next, NO_LOOK, 0, )

/* ---- queues and lists ---- */
ZE_CALL(1032, zeCommandQueueCreate, command_queue, 0, 0, (ze_handle context, ze_handle device, const struct
	ze_queue_desc *desc, ze_handle *ret_queue), (context, device, desc, ret_queue), own, LOOK, 0, )
ZE_CALL(1033, zeCommandQueueDestroy, command_queue, 1, 0, (ze_handle queue), (queue), own_gone, LOOK, 0, )
ZE_EXECUTE(1034, zeCommandQueueExecuteCommandLists, command_queue, 2, 0, (ze_handle queue, uint32_t count,
	ze_handle *lists, ze_handle fence), (queue, count, lists, fence), queue, count, lists, )
ZE_WAIT(1035, zeCommandQueueSynchronize, command_queue, 3, 0, (ze_handle queue, uint64_t timeout), (queue,
	timeout), queue_id(thread, queue))
ZE_CALL(1036, zeCommandListCreate, command_list, 0, 0, (ze_handle context, ze_handle device, const void *desc,
	ze_handle *ret_list), (context, device, desc, ret_list), own, NO_LOOK, 0, )
ZE_CALL(1037, zeCommandListCreateImmediate, command_list, 1, 0, (ze_handle context, ze_handle device, const struct
	ze_queue_desc *desc, ze_handle *ret_list), (context, device, desc, ret_list), own, LOOK, 0, )
ZE_CALL(1038, zeCommandListCreateCloneExp, command_list_exp, 0, 8, (ze_handle list, ze_handle *ret_list), (list,
	ret_list), own, NO_LOOK, 0, )
ZE_CALL(1039, zeCommandListDestroy, command_list, 2, 0, (ze_handle list), (list), own_gone, NO_LOOK, 0, )
ZE_CALL(1040, zeCommandListClose, command_list, 3, 0, (ze_handle list), (list), next, NO_LOOK, 0, )
ZE_CALL(1041, zeCommandListReset, command_list, 4, 0, (ze_handle list), (list), own_gone, NO_LOOK, 0, )
ZE_EXECUTE(1042, zeCommandListImmediateAppendCommandListsExp, command_list_exp, 1, 8, (ze_handle list, uint32_t
	count, ze_handle *lists, ze_handle signal, uint32_t wait_count, ze_handle *waits), (list, count, lists, signal,
	wait_count, waits), list, count, lists, SIGNALS(signal, wait_count, waits))
ZE_EXECUTE(1043, zeCommandListImmediateAppendCommandListsWithParameters, command_list, 40, 16, (ze_handle list,
	uint32_t count, ze_handle *lists, const void *next_desc, ze_handle signal, uint32_t wait_count, ze_handle
	*waits), (list, count, lists, next_desc, signal, wait_count, waits), list, count, lists, SIGNALS(signal,
	wait_count, waits))
ZE_WAIT(1044, zeCommandListHostSynchronize, command_list, 28, 6, (ze_handle list, uint64_t timeout), (list,
	timeout), queue_id(thread, list))

/* ---- commands ---- */
ZE_APPEND(1045, zeCommandListAppendLaunchKernel, command_list, 22, 0, COMMAND_KERNEL, (ze_handle list, ze_handle
	kernel, const struct ze_size *groups, ze_handle signal, uint32_t wait_count, ze_handle *waits), (list, kernel,
	groups, signal, wait_count, waits), KERNEL(kernel, groups); WAITS(wait_count, waits))
ZE_APPEND(1046, zeCommandListAppendLaunchCooperativeKernel, command_list, 23, 0, COMMAND_KERNEL, (ze_handle list,
	ze_handle kernel, const struct ze_size *groups, ze_handle signal, uint32_t wait_count, ze_handle *waits), (list,
	kernel, groups, signal, wait_count, waits), COOPERATIVE; KERNEL(kernel, groups); WAITS(wait_count, waits))
ZE_APPEND(1047, zeCommandListAppendLaunchKernelIndirect, command_list, 24, 0, COMMAND_KERNEL, (ze_handle list,
	ze_handle kernel, const struct ze_size *groups, ze_handle signal, uint32_t wait_count, ze_handle *waits), (list,
	kernel, groups, signal, wait_count, waits), KERNEL(kernel, NULL); WAITS(wait_count, waits))
ZE_APPEND(1048, zeCommandListAppendLaunchMultipleKernelsIndirect, command_list, 25, 0, COMMAND_KERNEL, (ze_handle
	list, uint32_t count, ze_handle *kernels, const uint32_t *counts, const struct ze_size *groups, ze_handle signal,
	uint32_t wait_count, ze_handle *waits), (list, count, kernels, counts, groups, signal, wait_count, waits),
	KERNEL(count == 1 && kernels ? kernels[0] : NULL, NULL); WAITS(wait_count, waits))
ZE_APPEND(1049, zeCommandListAppendLaunchKernelWithParameters, command_list, 36, 14, COMMAND_KERNEL, (ze_handle
	list, ze_handle kernel, const struct ze_size *groups, const void *next_desc, ze_handle signal, uint32_t
	wait_count, ze_handle *waits), (list, kernel, groups, next_desc, signal, wait_count, waits), MORE(next_desc);
	KERNEL(kernel, groups); WAITS(wait_count, waits))
ZE_APPEND(1050, zeCommandListAppendLaunchKernelWithArguments, command_list, 37, 14, COMMAND_KERNEL, (ze_handle
	list, ze_handle kernel, const struct ze_size groups, const struct ze_size group, void **values, const void
	*next_desc, ze_handle signal, uint32_t wait_count, ze_handle *waits), (list, kernel, groups, group, values,
	next_desc, signal, wait_count, waits), GROUP(group); MORE(next_desc); KERNEL(kernel, &groups);
	WAITS(wait_count, waits))
ZE_APPEND(1051, zeCommandListAppendMemoryCopy, command_list, 8, 0, COMMAND_COPY, (ze_handle list, void *to, const
	void *from, size_t bytes, ze_handle signal, uint32_t wait_count, ze_handle *waits), (list, to, from, bytes,
	signal, wait_count, waits), COPY(to, from, NULL, bytes); WAITS(wait_count, waits))
ZE_APPEND(1052, zeCommandListAppendMemoryCopyFromContext, command_list, 11, 0, COMMAND_COPY, (ze_handle list, void
	*to, ze_handle from_context, const void *from, size_t bytes, ze_handle signal, uint32_t wait_count, ze_handle
	*waits), (list, to, from_context, from, bytes, signal, wait_count, waits), COPY(to, from, from_context, bytes);
	WAITS(wait_count, waits))
ZE_APPEND(1053, zeCommandListAppendMemoryCopyRegion, command_list, 10, 0, COMMAND_COPY, (ze_handle list, void *to,
	const struct ze_region *to_region, uint32_t to_pitch, uint32_t to_slice, const void *from, const struct ze_region
	*from_region, uint32_t from_pitch, uint32_t from_slice, ze_handle signal, uint32_t wait_count, ze_handle *waits),
	(list, to, to_region, to_pitch, to_slice, from, from_region, from_pitch, from_slice, signal, wait_count, waits),
	COPY(to, from, NULL, volume(to_region)); WAITS(wait_count, waits))
ZE_APPEND(1054, zeCommandListAppendMemoryCopyWithParameters, command_list, 38, 16, COMMAND_COPY, (ze_handle list,
	void *to, const void *from, size_t bytes, const void *next_desc, ze_handle signal, uint32_t wait_count, ze_handle
	*waits), (list, to, from, bytes, next_desc, signal, wait_count, waits), COPY(to, from, NULL, bytes);
	WAITS(wait_count, waits))
ZE_APPEND(1055, zeCommandListAppendMemoryFill, command_list, 9, 0, COMMAND_FILL, (ze_handle list, void *memory,
	const void *pattern, size_t pattern_bytes, size_t bytes, ze_handle signal, uint32_t wait_count, ze_handle
	*waits), (list, memory, pattern, pattern_bytes, bytes, signal, wait_count, waits), BYTES(bytes);
	WAITS(wait_count, waits))
ZE_APPEND(1056, zeCommandListAppendMemoryFillWithParameters, command_list, 39, 16, COMMAND_FILL, (ze_handle list,
	void *memory, const void *pattern, size_t pattern_bytes, size_t bytes, const void *next_desc, ze_handle signal,
	uint32_t wait_count, ze_handle *waits), (list, memory, pattern, pattern_bytes, bytes, next_desc, signal,
	wait_count, waits), BYTES(bytes); WAITS(wait_count, waits))
ZE_APPEND(1057, zeCommandListAppendImageCopy, command_list, 12, 0, COMMAND_COPY, (ze_handle list, ze_handle
	to_image, ze_handle from_image, ze_handle signal, uint32_t wait_count, ze_handle *waits), (list, to_image,
	from_image, signal, wait_count, waits), WAITS(wait_count, waits))
ZE_APPEND(1058, zeCommandListAppendImageCopyRegion, command_list, 13, 0, COMMAND_COPY, (ze_handle list, ze_handle
	to_image, ze_handle from_image, const void *to_region, const void *from_region, ze_handle signal, uint32_t
	wait_count, ze_handle *waits), (list, to_image, from_image, to_region, from_region, signal, wait_count, waits),
	WAITS(wait_count, waits))
ZE_APPEND(1059, zeCommandListAppendImageCopyToMemory, command_list, 14, 0, COMMAND_READ, (ze_handle list, void
	*to, ze_handle from_image, const void *from_region, ze_handle signal, uint32_t wait_count, ze_handle *waits),
	(list, to, from_image, from_region, signal, wait_count, waits), WAITS(wait_count, waits))
ZE_APPEND(1060, zeCommandListAppendImageCopyFromMemory, command_list, 15, 0, COMMAND_WRITE, (ze_handle list,
	ze_handle to_image, const void *from, const void *to_region, ze_handle signal, uint32_t wait_count, ze_handle
	*waits), (list, to_image, from, to_region, signal, wait_count, waits), WAITS(wait_count, waits))
ZE_APPEND(1061, zeCommandListAppendImageCopyToMemoryExt, command_list, 26, 3, COMMAND_READ, (ze_handle list, void
	*to, ze_handle from_image, const void *from_region, uint32_t to_pitch, uint32_t to_slice, ze_handle signal,
	uint32_t wait_count, ze_handle *waits), (list, to, from_image, from_region, to_pitch, to_slice, signal,
	wait_count, waits), WAITS(wait_count, waits))
ZE_APPEND(1062, zeCommandListAppendImageCopyFromMemoryExt, command_list, 27, 3, COMMAND_WRITE, (ze_handle list,
	ze_handle to_image, const void *from, const void *to_region, uint32_t from_pitch, uint32_t from_slice, ze_handle
	signal, uint32_t wait_count, ze_handle *waits), (list, to_image, from, to_region, from_pitch, from_slice, signal,
	wait_count, waits), WAITS(wait_count, waits))
ZE_APPEND(1063, zeCommandListAppendBarrier, command_list, 6, 0, COMMAND_BARRIER, (ze_handle list, ze_handle
	signal, uint32_t wait_count, ze_handle *waits), (list, signal, wait_count, waits), WAITS(wait_count, waits))
ZE_APPEND(1064, zeCommandListAppendMemoryRangesBarrier, command_list, 7, 0, COMMAND_BARRIER, (ze_handle list,
	uint32_t count, const size_t *sizes, const void **ranges, ze_handle signal, uint32_t wait_count, ze_handle
	*waits), (list, count, sizes, ranges, signal, wait_count, waits), WAITS(wait_count, waits))
ZE_APPEND(1065, zeCommandListAppendWriteGlobalTimestamp, command_list, 5, 0, COMMAND_OTHER, (ze_handle list,
	uint64_t *to, ze_handle signal, uint32_t wait_count, ze_handle *waits), (list, to, signal, wait_count, waits),
	WAITS(wait_count, waits))
ZE_APPEND(1066, zeCommandListAppendQueryKernelTimestamps, command_list, 21, 0, COMMAND_OTHER, (ze_handle list,
	uint32_t count, ze_handle *events, void *to, const size_t *offsets, ze_handle signal, uint32_t wait_count,
	ze_handle *waits), (list, count, events, to, offsets, signal, wait_count, waits), WAITS(wait_count, waits))
ZE_CALL(1067, zeCommandListAppendMemoryPrefetch, command_list, 16, 0, (ze_handle list, const void *memory, size_t
	bytes), (list, memory, bytes), next, NO_LOOK, bytes, )
ZE_CALL(1068, zeCommandListAppendSignalEvent, command_list, 18, 0, (ze_handle list, ze_handle event), (list,
	event), own, NO_LOOK, 0, )
ZE_CALL(1069, zeCommandListAppendWaitOnEvents, command_list, 19, 0, (ze_handle list, uint32_t count, ze_handle
	*events), (list, count, events), next, NO_LOOK, 0, )
ZE_CALL(1070, zeCommandListAppendEventReset, command_list, 20, 0, (ze_handle list, ze_handle event), (list,
	event), own, NO_LOOK, 0, )
ZE_CALL(1071, zeCommandListAppendMemAdvise, command_list, 17, 0, (ze_handle list, ze_handle device, const void
	*memory, size_t bytes, uint32_t advice), (list, device, memory, bytes, advice), next, NO_LOOK, bytes, )

/* ---- events and fences ---- */
ZE_CALL(1072, zeEventPoolCreate, event_pool, 0, 0, (ze_handle context, const struct ze_event_pool_desc *desc,
	uint32_t count, ze_handle *devices, ze_handle *ret_pool), (context, desc, count, devices, ret_pool), own,
	NO_LOOK, 0, )
ZE_CALL(1073, zeEventPoolDestroy, event_pool, 1, 0, (ze_handle pool), (pool), own_gone, NO_LOOK, 0, )
ZE_QUIET(zeEventPoolGetFlags, event_pool, 7, 8, (ze_handle pool, uint32_t *ret_flags), (pool, ret_flags))
ZE_QUIET(zeEventCreate, event, 0, 0, (ze_handle pool, const struct ze_event_desc *desc, ze_handle *ret_event),
	(pool, desc, ret_event))
ZE_QUIET(zeEventDestroy, event, 1, 0, (ze_handle event), (event))
ZE_QUIET(zeEventHostSignal, event, 2, 0, (ze_handle event), (event))
ZE_QUIET(zeEventHostReset, event, 5, 0, (ze_handle event), (event))
ZE_QUIET(zeEventQueryKernelTimestamp, event, 6, 0, (ze_handle event, struct ze_kernel_stamps *to), (event, to))
ZE_QUIET(zeEventQueryKernelTimestampsExt, event, 7, 6, (ze_handle event, ze_handle device, uint32_t *count, void
	*results), (event, device, count, results))
ZE_QUIET(zeEventQueryTimestampsExp, event_exp, 0, 2, (ze_handle event, ze_handle device, uint32_t *count, struct
	ze_kernel_stamps *stamps), (event, device, count, stamps))
ZE_WAIT(1074, zeEventHostSynchronize, event, 3, 0, (ze_handle event, uint64_t timeout), (event, timeout), 0)
ZE_WAIT(1075, zeFenceHostSynchronize, fence, 2, 0, (ze_handle fence, uint64_t timeout), (fence, timeout), 0)
ZE_QUIET(zeEventQueryStatus, event, 4, 0, (ze_handle event), (event))

/* ---- modules and kernels ---- */
ZE_CALL(1076, zeModuleCreate, module, 0, 0, (ze_handle context, ze_handle device, const void *desc, ze_handle
	*ret_module, ze_handle *ret_log), (context, device, desc, ret_module, ret_log), own, LOOK, 0,
	describe_module(thread, result, ret_module))
ZE_CALL(1077, zeModuleDestroy, module, 1, 0, (ze_handle module), (module), own_gone, NO_LOOK, 0, )
ZE_CALL(1078, zeModuleDynamicLink, module, 2, 0, (uint32_t count, ze_handle *modules, ze_handle *ret_log), (count,
	modules, ret_log), next, NO_LOOK, 0, )
ZE_CALL(1079, zeKernelCreate, kernel, 0, 0, (ze_handle module, const void *desc, ze_handle *ret_kernel), (module,
	desc, ret_kernel), own, NO_LOOK, 0, )
ZE_CALL(1080, zeKernelDestroy, kernel, 1, 0, (ze_handle kernel), (kernel), own_gone, NO_LOOK, 0, )
ZE_QUIET(zeKernelSetGroupSize, kernel, 3, 0, (ze_handle kernel, uint32_t x, uint32_t y, uint32_t z), (kernel, x,
	y, z))
ZE_BELOW(zeModuleGetNativeBinary, module, 3, 0, (ze_handle module, size_t *bytes, uint8_t *binary))
ZE_BELOW(zeKernelGetName, kernel, 11, 0, (ze_handle kernel, size_t *bytes, char *name))
ZE_BELOW(zeKernelGetProperties, kernel, 10, 0, (ze_handle kernel, struct ze_kernel_properties *properties))

/* ---- memory ---- */
ZE_CALL(1081, zeMemAllocShared, mem, 0, 0, (ze_handle context, const void *device_desc, const void *host_desc,
	size_t bytes, size_t alignment, ze_handle device, void **ret_memory), (context, device_desc, host_desc, bytes,
	alignment, device, ret_memory), next, NO_LOOK, bytes, )
ZE_CALL(1082, zeMemAllocDevice, mem, 1, 0, (ze_handle context, const void *device_desc, size_t bytes, size_t
	alignment, ze_handle device, void **ret_memory), (context, device_desc, bytes, alignment, device, ret_memory),
	next, NO_LOOK, bytes, )
ZE_CALL(1083, zeMemAllocHost, mem, 2, 0, (ze_handle context, const void *host_desc, size_t bytes, size_t
	alignment, void **ret_memory), (context, host_desc, bytes, alignment, ret_memory), next, NO_LOOK, bytes, )
ZE_CALL(1084, zeMemFree, mem, 3, 0, (ze_handle context, void *memory), (context, memory), next_gone, NO_LOOK, 0, )
ZE_CALL(1085, zeMemFreeExt, mem, 9, 3, (ze_handle context, const void *desc, void *memory), (context, desc,
	memory), next_gone, NO_LOOK, 0, )
ZE_CALL(1086, zePhysicalMemCreate, physical_mem, 0, 0, (ze_handle context, ze_handle device, void *desc, ze_handle
	*ret_memory), (context, device, desc, ret_memory), next, NO_LOOK, 0, )
ZE_CALL(1087, zePhysicalMemDestroy, physical_mem, 1, 0, (ze_handle context, ze_handle physical), (context,
	physical), next_gone, NO_LOOK, 0, )
ZE_CALL(1088, zeVirtualMemMap, virtual_mem, 3, 0, (ze_handle context, const void *memory, size_t bytes, ze_handle
	physical, size_t offset, uint32_t access), (context, memory, bytes, physical, offset, access), next, NO_LOOK,
	bytes, )
ZE_CALL(1089, zeVirtualMemUnmap, virtual_mem, 4, 0, (ze_handle context, const void *memory, size_t bytes),
	(context, memory, bytes), next_gone, NO_LOOK, bytes, )
ZE_CALL(1090, zeImageCreate, image, 1, 0, (ze_handle context, ze_handle device, const void *desc, ze_handle
	*ret_image), (context, device, desc, ret_image), next, NO_LOOK, 0, )
ZE_CALL(1091, zeImageDestroy, image, 2, 0, (ze_handle image), (image), next_gone, NO_LOOK, 0, )
ZE_BELOW(zeMemGetAllocProperties, mem, 4, 0, (ze_handle context, const void *memory, struct
	ze_allocation_properties *properties, ze_handle *ret_device))

/* ---- contexts that exist without being created ---- */
ZE_GIVE(zeDriverGetDefaultContext, driver, 8, 14, (ze_handle driver), (driver))
ZE_GIVE(zerGetDefaultContext, zer_global, 3, 14, (void), ())

/* ---- functions that only the guest calls ---- */
ZE_BELOW(zeDriverGet, driver, 0, 0, (uint32_t *count, ze_handle *drivers))
ZE_BELOW(zeDriverGetProperties, driver, 2, 0, (ze_handle driver, struct ze_driver_properties *properties))
ZE_BELOW(zeDriverGetExtensionFunctionAddress, driver, 5, 1, (ze_handle driver, const char *name, void
	**ret_function))
ZE_BELOW(zeDeviceGetProperties, device, 2, 0, (ze_handle device, struct ze_device_properties *properties))
ZE_BELOW(zeDeviceGetComputeProperties, device, 3, 0, (ze_handle device, struct ze_compute_properties *properties))
ZE_BELOW(zeDeviceGetCommandQueueGroupProperties, device, 5, 0, (ze_handle device, uint32_t *count, struct
	ze_queue_group *groups))
ZE_BELOW(zeDeviceGetMemoryProperties, device, 6, 0, (ze_handle device, uint32_t *count, struct
	ze_memory_properties *properties))
ZE_BELOW(zeDeviceGetGlobalTimestamps, device, 14, 1, (ze_handle device, uint64_t *ret_host, uint64_t *ret_device))
ZE_BELOW(zeDevicePciGetPropertiesExt, device, 17, 3, (ze_handle device, struct ze_pci_properties *properties))
/* clang-format on */
