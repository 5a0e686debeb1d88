/* SPDX-License-Identifier: MIT
 *
 * abi/hip_calls.h - the calls of HIP that are recorded, one row each
 *
 * Runs in:  the guest makes a typed wrapper of each row, the recorder a name of each number
 * Source:   hip_runtime_api.h and hip_ext.h of HIP 5.2, the list of exported symbols (hip_hcc.map)
 *           of HIP 4.2 to 7.1; tests compare both with the HIP that is installed
 *
 * The number is the function id in records. It differs from those of abi/hsa_calls.h and is never
 * given to another function. The version is that of the symbol. A program linked to HIP contains
 * the version, so it never changes. Queries that a program may make millions of times and that
 * neither launch nor wait (hipGetDevice, hipGetLastError, attributes) have no row: they go straight
 * to the runtime and cost nothing. Include with these macros defined:
 *
 *	HIP_CALL(number, name, version, parameters, arguments, argument)
 *		argument: argument of the record
 *	HIP_WAIT(number, name, version, parameters, arguments)
 *		waits for the device
 *	HIP_LAUNCH(number, name, version, parameters, arguments)
 *		launches kernels
 *	HIP_LAUNCH_EX(number, name, version, parameters, arguments)
 *		launches the kernel of its second parameter; default: HIP_LAUNCH
 *	HIP_COOPERATIVE(number, name, version, parameters, arguments)
 *		launches a kernel whose work-groups can wait for each other; default: HIP_LAUNCH
 *	HIP_GRAPH(number, name, version, parameters, arguments)
 *		launches the kernels of its first parameter, `graph`; default: HIP_LAUNCH
 *	HIP_COPY(number, name, version, parameters, arguments, command, bytes)
 *		copies or fills, without waiting
 *	HIP_COPY_NOW(...)
 *		copies or fills, and waits for it
 *	HIP_OTHER_SYMBOL(name, symbol, version)
 *		another symbol of the row's function
 *
 * HIP_BOTH is two rows: a function, and the one with the suffix _spt, which uses the default stream
 * of its thread and takes the same arguments.
 */
#ifndef HIP_LAUNCH_EX
#define HIP_LAUNCH_EX HIP_LAUNCH
#endif
#ifndef HIP_COOPERATIVE
#define HIP_COOPERATIVE HIP_LAUNCH
#endif
#ifndef HIP_GRAPH
#define HIP_GRAPH HIP_LAUNCH
#endif
/* clang-format off */
#define HIP_BOTH(kind, number, spt_number, name, version, spt_version, ...) \
	kind(number, name, version, __VA_ARGS__)                            \
	kind(spt_number, name##_spt, spt_version, __VA_ARGS__)

/* ---- kernels and graphs ---- */
HIP_BOTH(HIP_LAUNCH, 288, 289, hipLaunchKernel, "hip_4.2", "hip_5.2",
	(const void *function, struct hip_size grid, struct hip_size block, void **values, size_t shared_bytes,
	hip_handle stream), (function, grid, block, values, shared_bytes, stream))
HIP_LAUNCH(290, hipExtLaunchKernel, "hip_4.2",
	(const void *function, struct hip_size grid, struct hip_size block, void **values, size_t shared_bytes,
	hip_handle stream, hip_handle first, hip_handle last, int flags), (function, grid, block, values, shared_bytes,
	stream, first, last, flags))
HIP_BOTH(HIP_COOPERATIVE, 291, 292, hipLaunchCooperativeKernel, "hip_4.2", "hip_5.2",
	(const void *function, struct hip_size grid, struct hip_size block, void **values, uint32_t shared_bytes,
	hip_handle stream), (function, grid, block, values, shared_bytes, stream))
HIP_COOPERATIVE(293, hipLaunchCooperativeKernelMultiDevice, "hip_4.2",
	(void *launches, int count, uint32_t flags), (launches, count, flags))
HIP_LAUNCH(294, hipExtLaunchMultiKernelMultiDevice, "hip_4.2",
	(void *launches, int count, uint32_t flags), (launches, count, flags))
HIP_LAUNCH(295, hipLaunchByPtr, "hip_4.2",
	(const void *function), (function))
HIP_LAUNCH(296, hipModuleLaunchKernel, "hip_4.2",
	(hip_handle function, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, uint32_t block_x, uint32_t block_y,
	uint32_t block_z, uint32_t shared_bytes, hip_handle stream, void **values, void **extra), (function, grid_x,
	grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, values, extra))
HIP_LAUNCH(297, hipExtModuleLaunchKernel, "hip_4.2",
	(hip_handle function, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, uint32_t block_x, uint32_t block_y,
	uint32_t block_z, size_t shared_bytes, hip_handle stream, void **values, void **extra, hip_handle first,
	hip_handle last, uint32_t flags), (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
	stream, values, extra, first, last, flags))
HIP_LAUNCH(298, hipHccModuleLaunchKernel, "hip_4.2",
	(hip_handle function, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, uint32_t block_x, uint32_t block_y,
	uint32_t block_z, size_t shared_bytes, hip_handle stream, void **values, void **extra, hip_handle first,
	hip_handle last), (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, values,
	extra, first, last))
HIP_COOPERATIVE(299, hipModuleLaunchCooperativeKernel, "hip_5.5",
	(hip_handle function, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, uint32_t block_x, uint32_t block_y,
	uint32_t block_z, uint32_t shared_bytes, hip_handle stream, void **values), (function, grid_x, grid_y, grid_z,
	block_x, block_y, block_z, shared_bytes, stream, values))
HIP_COOPERATIVE(300, hipModuleLaunchCooperativeKernelMultiDevice, "hip_5.5",
	(void *launches, uint32_t count, uint32_t flags), (launches, count, flags))
HIP_LAUNCH_EX(301, hipLaunchKernelExC, "hip_6.5",
	(const void *how, const void *function, void **values), (how, function, values))
HIP_LAUNCH_EX(302, hipDrvLaunchKernelEx, "hip_6.5",
	(const void *how, hip_handle function, void **values, void **extra), (how, function, values, extra))
HIP_BOTH(HIP_GRAPH, 303, 304, hipGraphLaunch, "hip_4.3", "hip_5.3",
	(hip_handle graph, hip_handle stream), (graph, stream))

/* ---- copies ---- */
HIP_BOTH(HIP_COPY_NOW, 305, 306, hipMemcpy, "hip_4.2", "hip_5.2",
	(void *to, const void *from, size_t bytes, int kind), (to, from, bytes, kind), direction(kind), bytes)
HIP_BOTH(HIP_COPY, 307, 308, hipMemcpyAsync, "hip_4.2", "hip_5.2",
	(void *to, const void *from, size_t bytes, int kind, hip_handle stream), (to, from, bytes, kind, stream),
	direction(kind), bytes)
HIP_COPY_NOW(309, hipMemcpyWithStream, "hip_4.2",
	(void *to, const void *from, size_t bytes, int kind, hip_handle stream), (to, from, bytes, kind, stream),
	direction(kind), bytes)
HIP_COPY_NOW(310, hipMemcpyHtoD, "hip_4.2",
	(void *to, const void *from, size_t bytes), (to, from, bytes), COMMAND_WRITE, bytes)
HIP_COPY(311, hipMemcpyHtoDAsync, "hip_4.2",
	(void *to, const void *from, size_t bytes, hip_handle stream), (to, from, bytes, stream), COMMAND_WRITE, bytes)
HIP_COPY_NOW(312, hipMemcpyDtoH, "hip_4.2",
	(void *to, const void *from, size_t bytes), (to, from, bytes), COMMAND_READ, bytes)
HIP_COPY(313, hipMemcpyDtoHAsync, "hip_4.2",
	(void *to, const void *from, size_t bytes, hip_handle stream), (to, from, bytes, stream), COMMAND_READ, bytes)
HIP_COPY_NOW(314, hipMemcpyDtoD, "hip_4.2",
	(void *to, const void *from, size_t bytes), (to, from, bytes), COMMAND_COPY, bytes)
HIP_COPY(315, hipMemcpyDtoDAsync, "hip_4.2",
	(void *to, const void *from, size_t bytes, hip_handle stream), (to, from, bytes, stream), COMMAND_COPY, bytes)
HIP_COPY_NOW(316, hipMemcpyPeer, "hip_4.2",
	(void *to, int to_device, const void *from, int from_device, size_t bytes), (to, to_device, from, from_device,
	bytes), COMMAND_COPY, bytes)
HIP_COPY(317, hipMemcpyPeerAsync, "hip_4.2",
	(void *to, int to_device, const void *from, int from_device, size_t bytes, hip_handle stream), (to, to_device,
	from, from_device, bytes, stream), COMMAND_COPY, bytes)
HIP_BOTH(HIP_COPY_NOW, 318, 319, hipMemcpyToSymbol, "hip_4.2", "hip_5.2",
	(const void *symbol, const void *from, size_t bytes, size_t offset, int kind), (symbol, from, bytes, offset,
	kind), direction(kind), bytes)
HIP_BOTH(HIP_COPY, 320, 321, hipMemcpyToSymbolAsync, "hip_4.2", "hip_5.3",
	(const void *symbol, const void *from, size_t bytes, size_t offset, int kind, hip_handle stream), (symbol,
	from, bytes, offset, kind, stream), direction(kind), bytes)
HIP_BOTH(HIP_COPY_NOW, 322, 323, hipMemcpyFromSymbol, "hip_4.2", "hip_5.2",
	(void *to, const void *symbol, size_t bytes, size_t offset, int kind), (to, symbol, bytes, offset, kind),
	direction(kind), bytes)
HIP_BOTH(HIP_COPY, 324, 325, hipMemcpyFromSymbolAsync, "hip_4.2", "hip_5.3",
	(void *to, const void *symbol, size_t bytes, size_t offset, int kind, hip_handle stream), (to, symbol, bytes,
	offset, kind, stream), direction(kind), bytes)
HIP_BOTH(HIP_COPY_NOW, 326, 327, hipMemcpy2D, "hip_4.2", "hip_5.2",
	(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind), (to,
	to_pitch, from, from_pitch, width, height, kind), direction(kind), width * height)
HIP_BOTH(HIP_COPY, 328, 329, hipMemcpy2DAsync, "hip_4.2", "hip_5.3",
	(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind,
	hip_handle stream), (to, to_pitch, from, from_pitch, width, height, kind, stream), direction(kind), width *
	height)
HIP_BOTH(HIP_COPY_NOW, 330, 331, hipMemcpy2DToArray, "hip_4.2", "hip_5.2",
	(hip_handle to, size_t x, size_t y, const void *from, size_t from_pitch, size_t width, size_t height, int
	kind), (to, x, y, from, from_pitch, width, height, kind), direction(kind), width * height)
HIP_BOTH(HIP_COPY, 332, 333, hipMemcpy2DToArrayAsync, "hip_4.3", "hip_5.3",
	(hip_handle to, size_t x, size_t y, const void *from, size_t from_pitch, size_t width, size_t height, int kind,
	hip_handle stream), (to, x, y, from, from_pitch, width, height, kind, stream), direction(kind), width * height)
HIP_BOTH(HIP_COPY_NOW, 334, 335, hipMemcpy2DFromArray, "hip_4.2", "hip_5.2",
	(void *to, size_t to_pitch, hip_handle from, size_t x, size_t y, size_t width, size_t height, int kind), (to,
	to_pitch, from, x, y, width, height, kind), direction(kind), width * height)
HIP_BOTH(HIP_COPY, 336, 337, hipMemcpy2DFromArrayAsync, "hip_4.2", "hip_5.3",
	(void *to, size_t to_pitch, hip_handle from, size_t x, size_t y, size_t width, size_t height, int kind,
	hip_handle stream), (to, to_pitch, from, x, y, width, height, kind, stream), direction(kind), width * height)
HIP_COPY_NOW(338, hipMemcpyToArray, "hip_4.2",
	(hip_handle to, size_t x, size_t y, const void *from, size_t bytes, int kind), (to, x, y, from, bytes, kind),
	direction(kind), bytes)
HIP_BOTH(HIP_COPY_NOW, 339, 340, hipMemcpyFromArray, "hip_4.2", "hip_5.3",
	(void *to, hip_handle from, size_t x, size_t y, size_t bytes, int kind), (to, from, x, y, bytes, kind),
	direction(kind), bytes)
HIP_COPY_NOW(341, hipMemcpyAtoH, "hip_4.2",
	(void *to, hip_handle from, size_t offset, size_t bytes), (to, from, offset, bytes), COMMAND_READ, bytes)
HIP_COPY_NOW(342, hipMemcpyHtoA, "hip_4.2",
	(hip_handle to, size_t offset, const void *from, size_t bytes), (to, offset, from, bytes), COMMAND_WRITE,
	bytes)
HIP_BOTH(HIP_COPY_NOW, 343, 344, hipMemcpy3D, "hip_4.2", "hip_5.2",
	(const struct hip_copy_3d *copy), (copy), direction_3d(copy), bytes_3d(copy))
HIP_BOTH(HIP_COPY, 345, 346, hipMemcpy3DAsync, "hip_4.2", "hip_5.3",
	(const struct hip_copy_3d *copy, hip_handle stream), (copy, stream), direction_3d(copy), bytes_3d(copy))
HIP_COPY_NOW(347, hipMemcpyParam2D, "hip_4.2",
	(const struct hip_copy_2d *copy), (copy), COMMAND_COPY, bytes_2d(copy))
HIP_COPY(348, hipMemcpyParam2DAsync, "hip_4.2",
	(const struct hip_copy_2d *copy, hip_handle stream), (copy, stream), COMMAND_COPY, bytes_2d(copy))
HIP_COPY_NOW(349, hipDrvMemcpy2DUnaligned, "hip_4.3",
	(const struct hip_copy_2d *copy), (copy), COMMAND_COPY, bytes_2d(copy))
HIP_COPY_NOW(350, hipDrvMemcpy3D, "hip_4.2",
	(const struct hip_drv_copy_3d *copy), (copy), COMMAND_COPY, bytes_drv_3d(copy))
HIP_COPY(351, hipDrvMemcpy3DAsync, "hip_4.2",
	(const struct hip_drv_copy_3d *copy, hip_handle stream), (copy, stream), COMMAND_COPY, bytes_drv_3d(copy))
HIP_COPY(352, hipMemPrefetchAsync, "hip_4.2",
	(const void *memory, size_t bytes, int device, hip_handle stream), (memory, bytes, device, stream),
	COMMAND_MIGRATE, bytes)

/* ---- fills ---- */
HIP_BOTH(HIP_COPY, 353, 354, hipMemset, "hip_4.2", "hip_5.2",
	(void *to, int value, size_t bytes), (to, value, bytes), COMMAND_FILL, bytes)
HIP_BOTH(HIP_COPY, 355, 356, hipMemsetAsync, "hip_4.2", "hip_5.3",
	(void *to, int value, size_t bytes, hip_handle stream), (to, value, bytes, stream), COMMAND_FILL, bytes)
HIP_COPY(357, hipMemsetD8, "hip_4.2",
	(void *to, unsigned char value, size_t count), (to, value, count), COMMAND_FILL, count)
HIP_COPY(358, hipMemsetD8Async, "hip_4.2",
	(void *to, unsigned char value, size_t count, hip_handle stream), (to, value, count, stream), COMMAND_FILL,
	count)
HIP_COPY(359, hipMemsetD16, "hip_4.2",
	(void *to, unsigned short value, size_t count), (to, value, count), COMMAND_FILL, 2 * count)
HIP_COPY(360, hipMemsetD16Async, "hip_4.2",
	(void *to, unsigned short value, size_t count, hip_handle stream), (to, value, count, stream), COMMAND_FILL, 2
	* count)
HIP_COPY(361, hipMemsetD32, "hip_4.2",
	(void *to, int value, size_t count), (to, value, count), COMMAND_FILL, 4 * count)
HIP_COPY(362, hipMemsetD32Async, "hip_4.2",
	(void *to, int value, size_t count, hip_handle stream), (to, value, count, stream), COMMAND_FILL, 4 * count)
HIP_BOTH(HIP_COPY, 363, 364, hipMemset2D, "hip_4.2", "hip_5.2",
	(void *to, size_t pitch, int value, size_t width, size_t height), (to, pitch, value, width, height),
	COMMAND_FILL, width * height)
HIP_BOTH(HIP_COPY, 365, 366, hipMemset2DAsync, "hip_4.2", "hip_5.3",
	(void *to, size_t pitch, int value, size_t width, size_t height, hip_handle stream), (to, pitch, value, width,
	height, stream), COMMAND_FILL, width * height)
HIP_BOTH(HIP_COPY, 367, 368, hipMemset3D, "hip_4.2", "hip_5.2",
	(struct hip_pitched to, int value, struct hip_extent extent), (to, value, extent), COMMAND_FILL, extent.width *
	extent.height * extent.depth)
HIP_BOTH(HIP_COPY, 369, 370, hipMemset3DAsync, "hip_4.2", "hip_5.3",
	(struct hip_pitched to, int value, struct hip_extent extent, hip_handle stream), (to, value, extent, stream),
	COMMAND_FILL, extent.width * extent.height * extent.depth)

/* ---- waits ---- */
HIP_WAIT(371, hipDeviceSynchronize, "hip_4.2",
	(void), ())
HIP_WAIT(372, hipCtxSynchronize, "hip_4.2",
	(void), ())
HIP_BOTH(HIP_WAIT, 373, 374, hipStreamSynchronize, "hip_4.2", "hip_5.2",
	(hip_handle stream), (stream))
HIP_WAIT(375, hipEventSynchronize, "hip_4.2",
	(hip_handle event), (event))

/* ---- streams and events ---- */
HIP_CALL(376, hipStreamCreate, "hip_4.2",
	(hip_handle *stream), (stream), 0)
HIP_CALL(377, hipStreamCreateWithFlags, "hip_4.2",
	(hip_handle *stream, uint32_t flags), (stream, flags), 0)
HIP_CALL(378, hipStreamCreateWithPriority, "hip_4.2",
	(hip_handle *stream, uint32_t flags, int priority), (stream, flags, priority), 0)
HIP_CALL(379, hipExtStreamCreateWithCUMask, "hip_4.2",
	(hip_handle *stream, uint32_t words, const uint32_t *mask), (stream, words, mask), 0)
HIP_CALL(380, hipStreamDestroy, "hip_4.2",
	(hip_handle stream), (stream), 0)
HIP_BOTH(HIP_CALL, 381, 382, hipStreamQuery, "hip_4.2", "hip_5.2",
	(hip_handle stream), (stream), 0)
HIP_BOTH(HIP_CALL, 383, 384, hipStreamWaitEvent, "hip_4.2", "hip_5.2",
	(hip_handle stream, hip_handle event, uint32_t flags), (stream, event, flags), 0)
HIP_BOTH(HIP_CALL, 385, 386, hipStreamAddCallback, "hip_4.2", "hip_5.3",
	(hip_handle stream, void *callback, void *data, uint32_t flags), (stream, callback, data, flags), 0)
HIP_BOTH(HIP_CALL, 387, 388, hipLaunchHostFunc, "hip_5.3", "hip_5.3",
	(hip_handle stream, void *callback, void *data), (stream, callback, data), 0)
HIP_CALL(389, hipStreamWaitValue32, "hip_4.4",
	(hip_handle stream, void *place, uint32_t value, uint32_t flags, uint32_t mask), (stream, place, value, flags,
	mask), 0)
HIP_CALL(390, hipStreamWaitValue64, "hip_4.4",
	(hip_handle stream, void *place, uint64_t value, uint32_t flags, uint64_t mask), (stream, place, value, flags,
	mask), 0)
HIP_CALL(391, hipStreamWriteValue32, "hip_4.4",
	(hip_handle stream, void *place, uint32_t value, uint32_t flags), (stream, place, value, flags), 0)
HIP_CALL(392, hipStreamWriteValue64, "hip_4.4",
	(hip_handle stream, void *place, uint64_t value, uint32_t flags), (stream, place, value, flags), 0)
HIP_CALL(393, hipEventCreate, "hip_4.2",
	(hip_handle *event), (event), 0)
HIP_CALL(394, hipEventCreateWithFlags, "hip_4.2",
	(hip_handle *event, uint32_t flags), (event, flags), 0)
HIP_BOTH(HIP_CALL, 395, 396, hipEventRecord, "hip_4.2", "hip_5.2",
	(hip_handle event, hip_handle stream), (event, stream), 0)
HIP_CALL(397, hipEventRecordWithFlags, "hip_6.4",
	(hip_handle event, hip_handle stream, uint32_t flags), (event, stream, flags), 0)
HIP_CALL(398, hipEventDestroy, "hip_4.2",
	(hip_handle event), (event), 0)
HIP_CALL(399, hipEventQuery, "hip_4.2",
	(hip_handle event), (event), 0)
HIP_CALL(400, hipEventElapsedTime, "hip_4.2",
	(float *ms, hip_handle first, hip_handle last), (ms, first, last), 0)

/* ---- graphs ---- */
/* The call's stack is the place of a capture. */
HIP_BOTH(HIP_CALL, 401, 402, hipStreamBeginCapture, "hip_4.3", "hip_5.3",
	(hip_handle stream, int mode), (stream, mode), (take_stack(call, 0), 0))
HIP_BOTH(HIP_CALL, 403, 404, hipStreamEndCapture, "hip_4.3", "hip_5.3",
	(hip_handle stream, hip_handle *graph), (stream, graph), 0)
HIP_CALL(405, hipGraphCreate, "hip_4.3",
	(hip_handle *graph, uint32_t flags), (graph, flags), 0)
HIP_CALL(406, hipGraphDestroy, "hip_4.3",
	(hip_handle graph), (graph), 0)
HIP_CALL(407, hipGraphInstantiate, "hip_4.3",
	(hip_handle *ready, hip_handle graph, hip_handle *node, char *log, size_t log_bytes), (ready, graph, node, log,
	log_bytes), 0)
HIP_CALL(408, hipGraphInstantiateWithFlags, "hip_4.5",
	(hip_handle *ready, hip_handle graph, unsigned long long flags), (ready, graph, flags), 0)
HIP_CALL(409, hipGraphInstantiateWithParams, "hip_6.1",
	(hip_handle *ready, hip_handle graph, void *how), (ready, graph, how), 0)
HIP_CALL(410, hipGraphExecUpdate, "hip_4.5",
	(hip_handle ready, hip_handle graph, hip_handle *node, void *outcome), (ready, graph, node, outcome), 0)
HIP_CALL(411, hipGraphUpload, "hip_5.3",
	(hip_handle ready, hip_handle stream), (ready, stream), 0)
HIP_CALL(412, hipGraphExecDestroy, "hip_4.3",
	(hip_handle ready), (ready), 0)

/* ---- memory ---- */
HIP_CALL(413, hipMalloc, "hip_4.2",
	(void **memory, size_t bytes), (memory, bytes), bytes)
HIP_CALL(414, hipExtMallocWithFlags, "hip_4.2",
	(void **memory, size_t bytes, uint32_t flags), (memory, bytes, flags), bytes)
HIP_CALL(415, hipMallocManaged, "hip_4.2",
	(void **memory, size_t bytes, uint32_t flags), (memory, bytes, flags), bytes)
HIP_CALL(416, hipMallocHost, "hip_4.2",
	(void **memory, size_t bytes), (memory, bytes), bytes)
HIP_CALL(417, hipMemAllocHost, "hip_4.2",
	(void **memory, size_t bytes), (memory, bytes), bytes)
HIP_CALL(418, hipHostMalloc, "hip_4.2",
	(void **memory, size_t bytes, uint32_t flags), (memory, bytes, flags), bytes)
HIP_CALL(419, hipHostAlloc, "hip_4.2",
	(void **memory, size_t bytes, uint32_t flags), (memory, bytes, flags), bytes)
HIP_CALL(420, hipMallocPitch, "hip_4.2",
	(void **memory, size_t *pitch, size_t width, size_t height), (memory, pitch, width, height), width * height)
HIP_CALL(421, hipMemAllocPitch, "hip_4.2",
	(void **memory, size_t *pitch, size_t width, size_t height, uint32_t element_bytes), (memory, pitch, width,
	height, element_bytes), width * height)
HIP_CALL(422, hipMallocAsync, "hip_5.1",
	(void **memory, size_t bytes, hip_handle stream), (memory, bytes, stream), bytes)
HIP_CALL(423, hipMallocFromPoolAsync, "hip_5.1",
	(void **memory, size_t bytes, hip_handle pool, hip_handle stream), (memory, bytes, pool, stream), bytes)
HIP_CALL(424, hipFree, "hip_4.2",
	(void *memory), (memory), 0)
HIP_CALL(425, hipFreeHost, "hip_4.2",
	(void *memory), (memory), 0)
HIP_CALL(426, hipHostFree, "hip_4.2",
	(void *memory), (memory), 0)
HIP_CALL(427, hipFreeAsync, "hip_5.1",
	(void *memory, hip_handle stream), (memory, stream), 0)
HIP_CALL(428, hipFreeArray, "hip_4.2",
	(hip_handle array), (array), 0)
HIP_CALL(429, hipHostRegister, "hip_4.2",
	(void *memory, size_t bytes, uint32_t flags), (memory, bytes, flags), bytes)
HIP_CALL(430, hipHostUnregister, "hip_4.2",
	(void *memory), (memory), 0)

/* ---- devices and modules ---- */
HIP_CALL(431, hipInit, "hip_4.2",
	(uint32_t flags), (flags), 0)
HIP_CALL(432, hipSetDevice, "hip_4.2",
	(int device), (device), 0)
HIP_CALL(433, hipDeviceReset, "hip_4.2",
	(void), (), 0)
HIP_CALL(434, hipModuleLoad, "hip_4.2",
	(hip_handle *module, const char *path), (module, path), 0)
HIP_CALL(435, hipModuleLoadData, "hip_4.2",
	(hip_handle *module, const void *image), (module, image), 0)
HIP_CALL(436, hipModuleLoadDataEx, "hip_4.2",
	(hip_handle *module, const void *image, uint32_t count, int *options, void **values), (module, image, count,
	options, values), 0)
HIP_CALL(437, hipModuleUnload, "hip_4.2",
	(hip_handle module), (module), 0)
HIP_CALL(438, hipModuleGetFunction, "hip_4.2",
	(hip_handle *function, hip_handle module, const char *name), (function, module, name), 0)

/* ---- names of C++ ---- */
HIP_OTHER_SYMBOL(hipExtModuleLaunchKernel,
	"_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j", "hip_4.2")
HIP_OTHER_SYMBOL(hipHccModuleLaunchKernel,
	"_Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_", "hip_4.2")
/* clang-format on */
#undef HIP_BOTH
#undef HIP_LAUNCH_EX
#undef HIP_COOPERATIVE
#undef HIP_GRAPH
