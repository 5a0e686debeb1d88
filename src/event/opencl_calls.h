/* SPDX-License-Identifier: MIT
 *
 * event/opencl_calls.h - every call of OpenCL 1.0 to 3.0, one row each
 *
 * Runs in:  the guest makes a typed wrapper of each row, the recorder a name of each number
 * Source:   the dispatch table of the ICD loader (cl_icd.h, 149 slots; tests check the order against the
 *           real header) and the extension headers cl_ext.h, cl_gl.h, cl_egl.h
 *
 * The number is the slot in the dispatch table, from 150 on an extension function fetched by address. It
 * is the function id of a record and is never given to another function. Include with these macros
 * defined (all take the number and the name first):
 *
 *	STATUS(number, name, parameters, arguments, callee, before, argument, after)   returns cl_int
 *	CREATE(number, name, type, parameters, arguments, callee, before, argument, after)
 *	                                         returns an object, the error through errcode_ret
 *	POINTER(number, name, parameters, arguments, callee, argument)   returns an address or NULL
 *	NOTHING(number, name, parameters, arguments)                     returns nothing
 *	WAIT(number, name, parameters, arguments, argument, after)       returns cl_int after waiting
 *	ENQUEUE(number, name, command, parameters, arguments, describe)  returns cl_int, gives an event
 *	ENQUEUE_PLAIN(…)                                                 … gives none
 *	ENQUEUE_MAP(…)                  … gives an event and an address, the error through errcode_ret
 *	PASSED(number, name)            not wrapped: Direct3D, which no Linux loader has, and the functions of
 *	                                cl_khr_command_buffer whose parameters changed between its versions
 *
 * callee: next (the function below), own (our own body around it) or release (the function below; the guest asks the
 * runtime nothing before or after it); before: run before the call and its time, LOOK where an idle guest looks
 * for a recorder; argument: what the record's argument holds; after: run when the call was recorded.
 */
/* clang-format off */
STATUS(0, clGetPlatformIDs,
	(cl_uint num_entries, cl_platform_id *platforms, cl_uint *num_platforms),
	(num_entries, platforms, num_platforms), next, NO_LOOK, 0, )
STATUS(1, clGetPlatformInfo,
	(cl_platform_id platform, cl_uint param_name, size_t param_value_size, void *param_value,
	size_t *param_value_size_ret),
	(platform, param_name, param_value_size, param_value, param_value_size_ret), next, NO_LOOK,
	0, )
STATUS(2, clGetDeviceIDs,
	(cl_platform_id platform, cl_ulong device_type, cl_uint num_entries, cl_device_id
	*devices, cl_uint *num_devices), (platform, device_type, num_entries, devices, num_devices),
	next, LOOK, 0, )
STATUS(3, clGetDeviceInfo,
	(cl_device_id device, cl_uint param_name, size_t param_value_size, void *param_value,
	size_t *param_value_size_ret),
	(device, param_name, param_value_size, param_value, param_value_size_ret), next, NO_LOOK, 0,
	)
CREATE(4, clCreateContext, cl_context,
	(const intptr_t *properties, cl_uint num_devices, const cl_device_id *devices, cl_callback
	pfn_notify, void *user_data, cl_int *errcode_ret),
	(properties, num_devices, devices, pfn_notify, user_data, errcode_ret), next, LOOK, 0,
	forget(object))
CREATE(5, clCreateContextFromType, cl_context,
	(const intptr_t *properties, cl_ulong device_type, cl_callback pfn_notify, void
	*user_data, cl_int *errcode_ret),
	(properties, device_type, pfn_notify, user_data, errcode_ret), next, LOOK, 0,
	forget(object))
STATUS(6, clRetainContext, (cl_context context), (context), next, NO_LOOK, 0, )
STATUS(7, clReleaseContext, (cl_context context), (context), release, NO_LOOK, 0, )
STATUS(8, clGetContextInfo,
	(cl_context context, cl_uint param_name, size_t param_value_size, void *param_value,
	size_t *param_value_size_ret),
	(context, param_name, param_value_size, param_value, param_value_size_ret), next, NO_LOOK,
	0, )
CREATE(9, clCreateCommandQueue, cl_command_queue,
	(cl_context context, cl_device_id device, cl_ulong properties, cl_int *errcode_ret),
	(context, device, properties, errcode_ret), own, LOOK, 0,
	after_queue(thread, object))
STATUS(10, clRetainCommandQueue, (cl_command_queue queue), (queue), next, NO_LOOK, 0, )
STATUS(11, clReleaseCommandQueue, (cl_command_queue queue), (queue), release, NO_LOOK, 0, )
STATUS(12, clGetCommandQueueInfo,
	(cl_command_queue queue, cl_uint param_name, size_t param_value_size, void *param_value,
	size_t *param_value_size_ret),
	(queue, param_name, param_value_size, param_value, param_value_size_ret), own, NO_LOOK, 0, )
STATUS(13, clSetCommandQueueProperty,
	(cl_command_queue queue, cl_ulong properties, cl_bool enable, cl_ulong *old_properties),
	(queue, properties, enable, old_properties), own, NO_LOOK, 0, )
CREATE(14, clCreateBuffer, cl_mem,
	(cl_context context, cl_ulong flags, size_t size, void *host_ptr, cl_int *errcode_ret),
	(context, flags, size, host_ptr, errcode_ret), next, NO_LOOK, size, )
CREATE(15, clCreateImage2D, cl_mem,
	(cl_context context, cl_ulong flags, const cl_image_format *image_format, size_t
	image_width, size_t image_height, size_t image_row_pitch, void *host_ptr, cl_int
	*errcode_ret),
	(context, flags, image_format, image_width, image_height, image_row_pitch, host_ptr,
	errcode_ret), next, NO_LOOK, 0, )
CREATE(16, clCreateImage3D, cl_mem,
	(cl_context context, cl_ulong flags, const cl_image_format *image_format, size_t
	image_width, size_t image_height, size_t image_depth, size_t image_row_pitch, size_t
	image_slice_pitch, void *host_ptr, cl_int *errcode_ret),
	(context, flags, image_format, image_width, image_height, image_depth, image_row_pitch,
	image_slice_pitch, host_ptr, errcode_ret), next, NO_LOOK, 0, )
STATUS(17, clRetainMemObject, (cl_mem memobj), (memobj), next, NO_LOOK, 0, )
STATUS(18, clReleaseMemObject, (cl_mem memobj), (memobj), release, NO_LOOK, 0, )
STATUS(19, clGetSupportedImageFormats,
	(cl_context context, cl_ulong flags, cl_uint image_type, cl_uint num_entries,
	cl_image_format *image_formats, cl_uint *num_image_formats),
	(context, flags, image_type, num_entries, image_formats, num_image_formats), next, NO_LOOK,
	0, )
STATUS(20, clGetMemObjectInfo,
	(cl_mem memobj, cl_uint param_name, size_t param_value_size, void *param_value, size_t
	*param_value_size_ret),
	(memobj, param_name, param_value_size, param_value, param_value_size_ret), next, NO_LOOK, 0,
	)
STATUS(21, clGetImageInfo,
	(cl_mem image, cl_uint param_name, size_t param_value_size, void *param_value, size_t
	*param_value_size_ret),
	(image, param_name, param_value_size, param_value, param_value_size_ret), next, NO_LOOK, 0,
	)
CREATE(22, clCreateSampler, cl_sampler,
	(cl_context context, cl_bool normalized_coords, cl_uint addressing_mode, cl_uint
	filter_mode, cl_int *errcode_ret),
	(context, normalized_coords, addressing_mode, filter_mode, errcode_ret), next, NO_LOOK, 0, )
STATUS(23, clRetainSampler, (cl_sampler sampler), (sampler), next, NO_LOOK, 0, )
STATUS(24, clReleaseSampler, (cl_sampler sampler), (sampler), release, NO_LOOK, 0, )
STATUS(25, clGetSamplerInfo,
	(cl_sampler sampler, cl_uint param_name, size_t param_value_size, void *param_value,
	size_t *param_value_size_ret),
	(sampler, param_name, param_value_size, param_value, param_value_size_ret), next, NO_LOOK,
	0, )
CREATE(26, clCreateProgramWithSource, cl_program,
	(cl_context context, cl_uint count, const char **strings, const size_t *lengths, cl_int
	*errcode_ret), (context, count, strings, lengths, errcode_ret), next, LOOK, 0,
	forget(object))
CREATE(27, clCreateProgramWithBinary, cl_program,
	(cl_context context, cl_uint num_devices, const cl_device_id *device_list, const size_t
	*lengths, const unsigned char **binaries, cl_int *binary_status, cl_int *errcode_ret),
	(context, num_devices, device_list, lengths, binaries, binary_status, errcode_ret), next,
	LOOK, 0, forget(object))
STATUS(28, clRetainProgram, (cl_program program), (program), next, NO_LOOK, 0, )
STATUS(29, clReleaseProgram, (cl_program program), (program), release, NO_LOOK, 0, )
STATUS(30, clBuildProgram,
	(cl_program program, cl_uint num_devices, const cl_device_id *device_list, const char
	*options, cl_callback pfn_notify, void *user_data),
	(program, num_devices, device_list, options, pfn_notify, user_data), next, LOOK, 0,
	pfn_notify ? (void)0 : after_build(thread, program, result))
STATUS(31, clUnloadCompiler, (void), (), next, NO_LOOK, 0, )
STATUS(32, clGetProgramInfo,
	(cl_program program, cl_uint param_name, size_t param_value_size, void *param_value,
	size_t *param_value_size_ret),
	(program, param_name, param_value_size, param_value, param_value_size_ret), next, NO_LOOK,
	0, )
STATUS(33, clGetProgramBuildInfo,
	(cl_program program, cl_device_id device, cl_uint param_name, size_t param_value_size,
	void *param_value, size_t *param_value_size_ret),
	(program, device, param_name, param_value_size, param_value, param_value_size_ret), next,
	NO_LOOK, 0, )
CREATE(34, clCreateKernel, cl_kernel,
	(cl_program program, const char *kernel_name, cl_int *errcode_ret),
	(program, kernel_name, errcode_ret), next, NO_LOOK, 0, forget(object))
STATUS(35, clCreateKernelsInProgram,
	(cl_program program, cl_uint num_kernels, cl_kernel *kernels, cl_uint *num_kernels_ret),
	(program, num_kernels, kernels, num_kernels_ret), next, NO_LOOK, 0,
	after_kernels(num_kernels, kernels, result))
STATUS(36, clRetainKernel, (cl_kernel kernel), (kernel), next, NO_LOOK, 0, )
STATUS(37, clReleaseKernel, (cl_kernel kernel), (kernel), release, NO_LOOK, 0, )
STATUS(38, clSetKernelArg,
	(cl_kernel kernel, cl_uint arg_index, size_t arg_size, const void *arg_value),
	(kernel, arg_index, arg_size, arg_value), next, NO_LOOK, arg_size, )
STATUS(39, clGetKernelInfo,
	(cl_kernel kernel, cl_uint param_name, size_t param_value_size, void *param_value, size_t
	*param_value_size_ret),
	(kernel, param_name, param_value_size, param_value, param_value_size_ret), next, NO_LOOK, 0,
	)
STATUS(40, clGetKernelWorkGroupInfo,
	(cl_kernel kernel, cl_device_id device, cl_uint param_name, size_t param_value_size, void
	*param_value, size_t *param_value_size_ret),
	(kernel, device, param_name, param_value_size, param_value, param_value_size_ret), next,
	NO_LOOK, 0, )
WAIT(41, clWaitForEvents, (cl_uint num_events, const cl_event *event_list),
	(num_events, event_list), 0, harvest_all(thread))
STATUS(42, clGetEventInfo,
	(cl_event event, cl_uint param_name, size_t param_value_size, void *param_value, size_t
	*param_value_size_ret),
	(event, param_name, param_value_size, param_value, param_value_size_ret), next, NO_LOOK, 0,
	)
STATUS(43, clRetainEvent, (cl_event event), (event), next, NO_LOOK, 0, )
STATUS(44, clReleaseEvent, (cl_event event), (event), release, NO_LOOK, 0, )
STATUS(45, clGetEventProfilingInfo,
	(cl_event event, cl_uint param_name, size_t param_value_size, void *param_value, size_t
	*param_value_size_ret),
	(event, param_name, param_value_size, param_value, param_value_size_ret), own, NO_LOOK, 0, )
STATUS(46, clFlush, (cl_command_queue queue), (queue), next, NO_LOOK, 0, )
WAIT(47, clFinish, (cl_command_queue queue), (queue), queue_id(thread, queue),
	harvest_queue(thread, queue))
ENQUEUE(48, clEnqueueReadBuffer, COMMAND_READ,
	(cl_command_queue queue, cl_mem buffer, cl_bool blocking_read, size_t offset, size_t size,
	void *ptr, cl_uint wait_count, const cl_event *wait_list, cl_event *event),
	(queue, buffer, blocking_read, offset, size, ptr, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list); BYTES(size); BLOCKING(blocking_read))
ENQUEUE(49, clEnqueueWriteBuffer, COMMAND_WRITE,
	(cl_command_queue queue, cl_mem buffer, cl_bool blocking_write, size_t offset, size_t
	size, const void *ptr, cl_uint wait_count, const cl_event *wait_list, cl_event *event),
	(queue, buffer, blocking_write, offset, size, ptr, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list); BYTES(size); BLOCKING(blocking_write))
ENQUEUE(50, clEnqueueCopyBuffer, COMMAND_COPY,
	(cl_command_queue queue, cl_mem src_buffer, cl_mem dst_buffer, size_t src_offset, size_t
	dst_offset, size_t size, cl_uint wait_count, const cl_event *wait_list, cl_event *event),
	(queue, src_buffer, dst_buffer, src_offset, dst_offset, size, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list); BYTES(size))
ENQUEUE(51, clEnqueueReadImage, COMMAND_READ,
	(cl_command_queue queue, cl_mem image, cl_bool blocking_read, const size_t *origin, const
	size_t *region, size_t row_pitch, size_t slice_pitch, void *ptr, cl_uint wait_count, const
	cl_event *wait_list, cl_event *event),
	(queue, image, blocking_read, origin, region, row_pitch, slice_pitch, ptr, wait_count,
	wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list); IMAGE(image, region); BLOCKING(blocking_read))
ENQUEUE(52, clEnqueueWriteImage, COMMAND_WRITE,
	(cl_command_queue queue, cl_mem image, cl_bool blocking_write, const size_t *origin, const
	size_t *region, size_t input_row_pitch, size_t input_slice_pitch, const void *ptr, cl_uint
	wait_count, const cl_event *wait_list, cl_event *event),
	(queue, image, blocking_write, origin, region, input_row_pitch, input_slice_pitch, ptr,
	wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list); IMAGE(image, region); BLOCKING(blocking_write))
ENQUEUE(53, clEnqueueCopyImage, COMMAND_COPY,
	(cl_command_queue queue, cl_mem src_image, cl_mem dst_image, const size_t *src_origin,
	const size_t *dst_origin, const size_t *region, cl_uint wait_count, const cl_event
	*wait_list, cl_event *event),
	(queue, src_image, dst_image, src_origin, dst_origin, region, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list); IMAGE(src_image, region))
ENQUEUE(54, clEnqueueCopyImageToBuffer, COMMAND_COPY,
	(cl_command_queue queue, cl_mem src_image, cl_mem dst_buffer, const size_t *src_origin,
	const size_t *region, size_t dst_offset, cl_uint wait_count, const cl_event *wait_list,
	cl_event *event),
	(queue, src_image, dst_buffer, src_origin, region, dst_offset, wait_count, wait_list,
	event), QUEUE(queue); WAITS(wait_count, wait_list); IMAGE(src_image, region))
ENQUEUE(55, clEnqueueCopyBufferToImage, COMMAND_COPY,
	(cl_command_queue queue, cl_mem src_buffer, cl_mem dst_image, size_t src_offset, const
	size_t *dst_origin, const size_t *region, cl_uint wait_count, const cl_event *wait_list,
	cl_event *event),
	(queue, src_buffer, dst_image, src_offset, dst_origin, region, wait_count, wait_list,
	event), QUEUE(queue); WAITS(wait_count, wait_list); IMAGE(dst_image, region))
ENQUEUE_MAP(56, clEnqueueMapBuffer, COMMAND_MAP,
	(cl_command_queue queue, cl_mem buffer, cl_bool blocking_map, cl_ulong map_flags, size_t
	offset, size_t size, cl_uint wait_count, const cl_event *wait_list, cl_event *event,
	cl_int *errcode_ret),
	(queue, buffer, blocking_map, map_flags, offset, size, wait_count, wait_list, event,
	errcode_ret),
	QUEUE(queue); WAITS(wait_count, wait_list); BYTES(size); BLOCKING(blocking_map))
ENQUEUE_MAP(57, clEnqueueMapImage, COMMAND_MAP,
	(cl_command_queue queue, cl_mem image, cl_bool blocking_map, cl_ulong map_flags, const
	size_t *origin, const size_t *region, size_t *image_row_pitch, size_t *image_slice_pitch,
	cl_uint wait_count, const cl_event *wait_list, cl_event *event, cl_int *errcode_ret),
	(queue, image, blocking_map, map_flags, origin, region, image_row_pitch,
	image_slice_pitch, wait_count, wait_list, event, errcode_ret),
	QUEUE(queue); WAITS(wait_count, wait_list); IMAGE(image, region); BLOCKING(blocking_map))
ENQUEUE(58, clEnqueueUnmapMemObject, COMMAND_UNMAP,
	(cl_command_queue queue, cl_mem memobj, void *mapped_ptr, cl_uint wait_count, const
	cl_event *wait_list, cl_event *event),
	(queue, memobj, mapped_ptr, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list))
ENQUEUE(59, clEnqueueNDRangeKernel, COMMAND_KERNEL,
	(cl_command_queue queue, cl_kernel kernel, cl_uint work_dim, const size_t
	*global_work_offset, const size_t *global_work_size, const size_t *local_work_size,
	cl_uint wait_count, const cl_event *wait_list, cl_event *event),
	(queue, kernel, work_dim, global_work_offset, global_work_size, local_work_size,
	wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list); KERNEL(kernel, work_dim, global_work_size,
	local_work_size))
ENQUEUE(60, clEnqueueTask, COMMAND_KERNEL,
	(cl_command_queue queue, cl_kernel kernel, cl_uint wait_count, const cl_event *wait_list,
	cl_event *event), (queue, kernel, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list); KERNEL(kernel, 1, one_item, one_item))
ENQUEUE(61, clEnqueueNativeKernel, COMMAND_NATIVE,
	(cl_command_queue queue, cl_callback user_func, void *args, size_t cb_args, cl_uint
	num_mem_objects, const cl_mem *mem_list, const void **args_mem_loc, cl_uint wait_count,
	const cl_event *wait_list, cl_event *event),
	(queue, user_func, args, cb_args, num_mem_objects, mem_list, args_mem_loc, wait_count,
	wait_list, event), QUEUE(queue); WAITS(wait_count, wait_list); BYTES(cb_args))
ENQUEUE(62, clEnqueueMarker, COMMAND_BARRIER, (cl_command_queue queue, cl_event *event),
	(queue, event), QUEUE(queue))
ENQUEUE_PLAIN(63, clEnqueueWaitForEvents, COMMAND_BARRIER,
	(cl_command_queue queue, cl_uint wait_count, const cl_event *wait_list),
	(queue, wait_count, wait_list), QUEUE(queue); WAITS(wait_count, wait_list))
ENQUEUE_PLAIN(64, clEnqueueBarrier, COMMAND_BARRIER, (cl_command_queue queue), (queue),
	QUEUE(queue))
POINTER(65, clGetExtensionFunctionAddress, (const char *func_name), (func_name), own, 0)
CREATE(66, clCreateFromGLBuffer, cl_mem,
	(cl_context context, cl_ulong flags, unsigned int bufobj, cl_int *errcode_ret),
	(context, flags, bufobj, errcode_ret), next, NO_LOOK, 0, )
CREATE(67, clCreateFromGLTexture2D, cl_mem,
	(cl_context context, cl_ulong flags, unsigned int target, int miplevel, unsigned int
	texture, cl_int *errcode_ret), (context, flags, target, miplevel, texture, errcode_ret),
	next, NO_LOOK, 0, )
CREATE(68, clCreateFromGLTexture3D, cl_mem,
	(cl_context context, cl_ulong flags, unsigned int target, int miplevel, unsigned int
	texture, cl_int *errcode_ret), (context, flags, target, miplevel, texture, errcode_ret),
	next, NO_LOOK, 0, )
CREATE(69, clCreateFromGLRenderbuffer, cl_mem,
	(cl_context context, cl_ulong flags, unsigned int renderbuffer, cl_int *errcode_ret),
	(context, flags, renderbuffer, errcode_ret), next, NO_LOOK, 0, )
STATUS(70, clGetGLObjectInfo,
	(cl_mem memobj, cl_uint *gl_object_type, unsigned int *gl_object_name),
	(memobj, gl_object_type, gl_object_name), next, NO_LOOK, 0, )
STATUS(71, clGetGLTextureInfo,
	(cl_mem memobj, cl_uint param_name, size_t param_value_size, void *param_value, size_t
	*param_value_size_ret),
	(memobj, param_name, param_value_size, param_value, param_value_size_ret), next, NO_LOOK, 0,
	)
ENQUEUE(72, clEnqueueAcquireGLObjects, COMMAND_ACQUIRE,
	(cl_command_queue queue, cl_uint num_objects, const cl_mem *mem_objects, cl_uint
	wait_count, const cl_event *wait_list, cl_event *event),
	(queue, num_objects, mem_objects, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list))
ENQUEUE(73, clEnqueueReleaseGLObjects, COMMAND_RELEASE,
	(cl_command_queue queue, cl_uint num_objects, const cl_mem *mem_objects, cl_uint
	wait_count, const cl_event *wait_list, cl_event *event),
	(queue, num_objects, mem_objects, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list))
STATUS(74, clGetGLContextInfoKHR,
	(const intptr_t *properties, cl_uint param_name, size_t param_value_size, void
	*param_value, size_t *param_value_size_ret),
	(properties, param_name, param_value_size, param_value, param_value_size_ret), next,
	NO_LOOK, 0, )
PASSED(75, clGetDeviceIDsFromD3D10KHR)
PASSED(76, clCreateFromD3D10BufferKHR)
PASSED(77, clCreateFromD3D10Texture2DKHR)
PASSED(78, clCreateFromD3D10Texture3DKHR)
PASSED(79, clEnqueueAcquireD3D10ObjectsKHR)
PASSED(80, clEnqueueReleaseD3D10ObjectsKHR)
STATUS(81, clSetEventCallback,
	(cl_event event, cl_int command_exec_callback_type, cl_callback pfn_notify, void
	*user_data), (event, command_exec_callback_type, pfn_notify, user_data), next, NO_LOOK, 0, )
CREATE(82, clCreateSubBuffer, cl_mem,
	(cl_mem buffer, cl_ulong flags, cl_uint buffer_create_type, const void
	*buffer_create_info, cl_int *errcode_ret),
	(buffer, flags, buffer_create_type, buffer_create_info, errcode_ret), next, NO_LOOK, 0, )
STATUS(83, clSetMemObjectDestructorCallback,
	(cl_mem memobj, cl_callback pfn_notify, void *user_data), (memobj, pfn_notify, user_data),
	next, NO_LOOK, 0, )
CREATE(84, clCreateUserEvent, cl_event, (cl_context context, cl_int *errcode_ret),
	(context, errcode_ret), next, NO_LOOK, 0, )
STATUS(85, clSetUserEventStatus, (cl_event event, cl_int execution_status),
	(event, execution_status), next, NO_LOOK, 0, )
ENQUEUE(86, clEnqueueReadBufferRect, COMMAND_READ,
	(cl_command_queue queue, cl_mem buffer, cl_bool blocking_read, const size_t
	*buffer_origin, const size_t *host_origin, const size_t *region, size_t buffer_row_pitch,
	size_t buffer_slice_pitch, size_t host_row_pitch, size_t host_slice_pitch, void *ptr,
	cl_uint wait_count, const cl_event *wait_list, cl_event *event),
	(queue, buffer, blocking_read, buffer_origin, host_origin, region, buffer_row_pitch,
	buffer_slice_pitch, host_row_pitch, host_slice_pitch, ptr, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list); RECT(region); BLOCKING(blocking_read))
ENQUEUE(87, clEnqueueWriteBufferRect, COMMAND_WRITE,
	(cl_command_queue queue, cl_mem buffer, cl_bool blocking_write, const size_t
	*buffer_origin, const size_t *host_origin, const size_t *region, size_t buffer_row_pitch,
	size_t buffer_slice_pitch, size_t host_row_pitch, size_t host_slice_pitch, const void
	*ptr, cl_uint wait_count, const cl_event *wait_list, cl_event *event),
	(queue, buffer, blocking_write, buffer_origin, host_origin, region, buffer_row_pitch,
	buffer_slice_pitch, host_row_pitch, host_slice_pitch, ptr, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list); RECT(region); BLOCKING(blocking_write))
ENQUEUE(88, clEnqueueCopyBufferRect, COMMAND_COPY,
	(cl_command_queue queue, cl_mem src_buffer, cl_mem dst_buffer, const size_t *src_origin,
	const size_t *dst_origin, const size_t *region, size_t src_row_pitch, size_t
	src_slice_pitch, size_t dst_row_pitch, size_t dst_slice_pitch, cl_uint wait_count, const
	cl_event *wait_list, cl_event *event),
	(queue, src_buffer, dst_buffer, src_origin, dst_origin, region, src_row_pitch,
	src_slice_pitch, dst_row_pitch, dst_slice_pitch, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list); RECT(region))
STATUS(89, clCreateSubDevicesEXT,
	(cl_device_id in_device, const cl_ulong *properties, cl_uint num_entries, cl_device_id
	*out_devices, cl_uint *num_devices),
	(in_device, properties, num_entries, out_devices, num_devices), next, NO_LOOK, 0,
	after_devices(num_entries, out_devices, num_devices, result))
STATUS(90, clRetainDeviceEXT, (cl_device_id device), (device), next, NO_LOOK, 0, )
STATUS(91, clReleaseDeviceEXT, (cl_device_id device), (device), release, NO_LOOK, 0, )
CREATE(92, clCreateEventFromGLsyncKHR, cl_event,
	(cl_context context, cl_GLsync sync, cl_int *errcode_ret), (context, sync, errcode_ret),
	next, NO_LOOK, 0, )
STATUS(93, clCreateSubDevices,
	(cl_device_id in_device, const intptr_t *properties, cl_uint num_devices, cl_device_id
	*out_devices, cl_uint *num_devices_ret),
	(in_device, properties, num_devices, out_devices, num_devices_ret), next, NO_LOOK, 0,
	after_devices(num_devices, out_devices, num_devices_ret, result))
STATUS(94, clRetainDevice, (cl_device_id device), (device), next, NO_LOOK, 0, )
STATUS(95, clReleaseDevice, (cl_device_id device), (device), release, NO_LOOK, 0, )
CREATE(96, clCreateImage, cl_mem,
	(cl_context context, cl_ulong flags, const cl_image_format *image_format, const
	cl_image_desc *image_desc, void *host_ptr, cl_int *errcode_ret),
	(context, flags, image_format, image_desc, host_ptr, errcode_ret), next, NO_LOOK, 0, )
CREATE(97, clCreateProgramWithBuiltInKernels, cl_program,
	(cl_context context, cl_uint num_devices, const cl_device_id *device_list, const char
	*kernel_names, cl_int *errcode_ret),
	(context, num_devices, device_list, kernel_names, errcode_ret), next, NO_LOOK, 0,
	forget(object))
STATUS(98, clCompileProgram,
	(cl_program program, cl_uint num_devices, const cl_device_id *device_list, const char
	*options, cl_uint num_input_headers, const cl_program *input_headers, const char
	**header_include_names, cl_callback pfn_notify, void *user_data),
	(program, num_devices, device_list, options, num_input_headers, input_headers,
	header_include_names, pfn_notify, user_data), next, NO_LOOK, 0,
	pfn_notify ? (void)0 : after_build(thread, program, result))
CREATE(99, clLinkProgram, cl_program,
	(cl_context context, cl_uint num_devices, const cl_device_id *device_list, const char
	*options, cl_uint num_input_programs, const cl_program *input_programs, cl_callback
	pfn_notify, void *user_data, cl_int *errcode_ret),
	(context, num_devices, device_list, options, num_input_programs, input_programs,
	pfn_notify, user_data, errcode_ret), next, NO_LOOK, 0, pfn_notify ? forget(object) : after_link(thread, object, *errcode_ret))
STATUS(100, clUnloadPlatformCompiler, (cl_platform_id platform), (platform), next, NO_LOOK, 0, )
STATUS(101, clGetKernelArgInfo,
	(cl_kernel kernel, cl_uint arg_indx, cl_uint param_name, size_t param_value_size, void
	*param_value, size_t *param_value_size_ret),
	(kernel, arg_indx, param_name, param_value_size, param_value, param_value_size_ret), next,
	NO_LOOK, 0, )
ENQUEUE(102, clEnqueueFillBuffer, COMMAND_FILL,
	(cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_size, size_t
	offset, size_t size, cl_uint wait_count, const cl_event *wait_list, cl_event *event),
	(queue, buffer, pattern, pattern_size, offset, size, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list); BYTES(size))
ENQUEUE(103, clEnqueueFillImage, COMMAND_FILL,
	(cl_command_queue queue, cl_mem image, const void *fill_color, const size_t *origin, const
	size_t *region, cl_uint wait_count, const cl_event *wait_list, cl_event *event),
	(queue, image, fill_color, origin, region, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list); IMAGE(image, region))
ENQUEUE(104, clEnqueueMigrateMemObjects, COMMAND_MIGRATE,
	(cl_command_queue queue, cl_uint num_mem_objects, const cl_mem *mem_objects, cl_ulong
	flags, cl_uint wait_count, const cl_event *wait_list, cl_event *event),
	(queue, num_mem_objects, mem_objects, flags, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list); OBJECTS(num_mem_objects, mem_objects))
ENQUEUE(105, clEnqueueMarkerWithWaitList, COMMAND_BARRIER,
	(cl_command_queue queue, cl_uint wait_count, const cl_event *wait_list, cl_event *event),
	(queue, wait_count, wait_list, event), QUEUE(queue); WAITS(wait_count, wait_list))
ENQUEUE(106, clEnqueueBarrierWithWaitList, COMMAND_BARRIER,
	(cl_command_queue queue, cl_uint wait_count, const cl_event *wait_list, cl_event *event),
	(queue, wait_count, wait_list, event), QUEUE(queue); WAITS(wait_count, wait_list))
POINTER(107, clGetExtensionFunctionAddressForPlatform,
	(cl_platform_id platform, const char *func_name), (platform, func_name), own, 0)
CREATE(108, clCreateFromGLTexture, cl_mem,
	(cl_context context, cl_ulong flags, unsigned int target, int miplevel, unsigned int
	texture, cl_int *errcode_ret), (context, flags, target, miplevel, texture, errcode_ret),
	next, NO_LOOK, 0, )
PASSED(109, clGetDeviceIDsFromD3D11KHR)
PASSED(110, clCreateFromD3D11BufferKHR)
PASSED(111, clCreateFromD3D11Texture2DKHR)
PASSED(112, clCreateFromD3D11Texture3DKHR)
PASSED(113, clCreateFromDX9MediaSurfaceKHR)
PASSED(114, clEnqueueAcquireD3D11ObjectsKHR)
PASSED(115, clEnqueueReleaseD3D11ObjectsKHR)
PASSED(116, clGetDeviceIDsFromDX9MediaAdapterKHR)
PASSED(117, clEnqueueAcquireDX9MediaSurfacesKHR)
PASSED(118, clEnqueueReleaseDX9MediaSurfacesKHR)
CREATE(119, clCreateFromEGLImageKHR, cl_mem,
	(cl_context context, CLeglDisplayKHR egldisplay, CLeglImageKHR eglimage, cl_ulong flags,
	const intptr_t *properties, cl_int *errcode_ret),
	(context, egldisplay, eglimage, flags, properties, errcode_ret), next, NO_LOOK, 0, )
ENQUEUE(120, clEnqueueAcquireEGLObjectsKHR, COMMAND_ACQUIRE,
	(cl_command_queue queue, cl_uint num_objects, const cl_mem *mem_objects, cl_uint
	wait_count, const cl_event *wait_list, cl_event *event),
	(queue, num_objects, mem_objects, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list))
ENQUEUE(121, clEnqueueReleaseEGLObjectsKHR, COMMAND_RELEASE,
	(cl_command_queue queue, cl_uint num_objects, const cl_mem *mem_objects, cl_uint
	wait_count, const cl_event *wait_list, cl_event *event),
	(queue, num_objects, mem_objects, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list))
CREATE(122, clCreateEventFromEGLSyncKHR, cl_event,
	(cl_context context, CLeglSyncKHR sync, CLeglDisplayKHR display, cl_int *errcode_ret),
	(context, sync, display, errcode_ret), next, NO_LOOK, 0, )
CREATE(123, clCreateCommandQueueWithProperties, cl_command_queue,
	(cl_context context, cl_device_id device, const cl_ulong *properties, cl_int *errcode_ret),
	(context, device, properties, errcode_ret), own, LOOK, 0,
	after_queue(thread, object))
CREATE(124, clCreatePipe, cl_mem,
	(cl_context context, cl_ulong flags, cl_uint pipe_packet_size, cl_uint pipe_max_packets,
	const intptr_t *properties, cl_int *errcode_ret),
	(context, flags, pipe_packet_size, pipe_max_packets, properties, errcode_ret), next,
	NO_LOOK, 0, )
STATUS(125, clGetPipeInfo,
	(cl_mem pipe, cl_uint param_name, size_t param_value_size, void *param_value, size_t
	*param_value_size_ret),
	(pipe, param_name, param_value_size, param_value, param_value_size_ret), next, NO_LOOK, 0, )
POINTER(126, clSVMAlloc, (cl_context context, cl_ulong flags, size_t size, cl_uint alignment),
	(context, flags, size, alignment), next, size)
NOTHING(127, clSVMFree, (cl_context context, void *svm_pointer), (context, svm_pointer))
ENQUEUE(128, clEnqueueSVMFree, COMMAND_FREE,
	(cl_command_queue queue, cl_uint num_svm_pointers, void **svm_pointers, cl_callback
	pfn_free_func, void *user_data, cl_uint wait_count, const cl_event *wait_list, cl_event
	*event),
	(queue, num_svm_pointers, svm_pointers, pfn_free_func, user_data, wait_count, wait_list,
	event), QUEUE(queue); WAITS(wait_count, wait_list))
ENQUEUE(129, clEnqueueSVMMemcpy, COMMAND_COPY,
	(cl_command_queue queue, cl_bool blocking_copy, void *dst_ptr, const void *src_ptr, size_t
	size, cl_uint wait_count, const cl_event *wait_list, cl_event *event),
	(queue, blocking_copy, dst_ptr, src_ptr, size, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list); BYTES(size); BLOCKING(blocking_copy))
ENQUEUE(130, clEnqueueSVMMemFill, COMMAND_FILL,
	(cl_command_queue queue, void *svm_ptr, const void *pattern, size_t pattern_size, size_t
	size, cl_uint wait_count, const cl_event *wait_list, cl_event *event),
	(queue, svm_ptr, pattern, pattern_size, size, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list); BYTES(size))
ENQUEUE(131, clEnqueueSVMMap, COMMAND_MAP,
	(cl_command_queue queue, cl_bool blocking_map, cl_ulong flags, void *svm_ptr, size_t size,
	cl_uint wait_count, const cl_event *wait_list, cl_event *event),
	(queue, blocking_map, flags, svm_ptr, size, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list); BYTES(size); BLOCKING(blocking_map))
ENQUEUE(132, clEnqueueSVMUnmap, COMMAND_UNMAP,
	(cl_command_queue queue, void *svm_ptr, cl_uint wait_count, const cl_event *wait_list,
	cl_event *event), (queue, svm_ptr, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list))
CREATE(133, clCreateSamplerWithProperties, cl_sampler,
	(cl_context context, const cl_ulong *sampler_properties, cl_int *errcode_ret),
	(context, sampler_properties, errcode_ret), next, NO_LOOK, 0, )
STATUS(134, clSetKernelArgSVMPointer, (cl_kernel kernel, cl_uint arg_index, const void *arg_value),
	(kernel, arg_index, arg_value), next, NO_LOOK, 0, )
STATUS(135, clSetKernelExecInfo,
	(cl_kernel kernel, cl_uint param_name, size_t param_value_size, const void *param_value),
	(kernel, param_name, param_value_size, param_value), next, NO_LOOK, 0, )
STATUS(136, clGetKernelSubGroupInfoKHR,
	(cl_kernel in_kernel, cl_device_id in_device, cl_uint param_name, size_t input_value_size,
	const void *input_value, size_t param_value_size, void *param_value, size_t
	*param_value_size_ret),
	(in_kernel, in_device, param_name, input_value_size, input_value, param_value_size,
	param_value, param_value_size_ret), next, NO_LOOK, 0, )
CREATE(137, clCloneKernel, cl_kernel, (cl_kernel source_kernel, cl_int *errcode_ret),
	(source_kernel, errcode_ret), next, NO_LOOK, 0, forget(object))
CREATE(138, clCreateProgramWithIL, cl_program,
	(cl_context context, const void *il, size_t length, cl_int *errcode_ret),
	(context, il, length, errcode_ret), next, LOOK, 0, forget(object))
ENQUEUE(139, clEnqueueSVMMigrateMem, COMMAND_MIGRATE,
	(cl_command_queue queue, cl_uint num_svm_pointers, const void **svm_pointers, const size_t
	*sizes, cl_ulong flags, cl_uint wait_count, const cl_event *wait_list, cl_event *event),
	(queue, num_svm_pointers, svm_pointers, sizes, flags, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list); SUM(num_svm_pointers, sizes))
STATUS(140, clGetDeviceAndHostTimer,
	(cl_device_id device, cl_ulong *device_timestamp, cl_ulong *host_timestamp),
	(device, device_timestamp, host_timestamp), next, NO_LOOK, 0, )
STATUS(141, clGetHostTimer, (cl_device_id device, cl_ulong *host_timestamp),
	(device, host_timestamp), next, NO_LOOK, 0, )
STATUS(142, clGetKernelSubGroupInfo,
	(cl_kernel kernel, cl_device_id device, cl_uint param_name, size_t input_value_size, const
	void *input_value, size_t param_value_size, void *param_value, size_t
	*param_value_size_ret),
	(kernel, device, param_name, input_value_size, input_value, param_value_size, param_value,
	param_value_size_ret), next, NO_LOOK, 0, )
STATUS(143, clSetDefaultDeviceCommandQueue,
	(cl_context context, cl_device_id device, cl_command_queue queue), (context, device, queue),
	next, NO_LOOK, 0, )
STATUS(144, clSetProgramReleaseCallback,
	(cl_program program, cl_callback pfn_notify, void *user_data),
	(program, pfn_notify, user_data), next, NO_LOOK, 0, )
STATUS(145, clSetProgramSpecializationConstant,
	(cl_program program, cl_uint spec_id, size_t spec_size, const void *spec_value),
	(program, spec_id, spec_size, spec_value), next, NO_LOOK, 0, )
CREATE(146, clCreateBufferWithProperties, cl_mem,
	(cl_context context, const cl_ulong *properties, cl_ulong flags, size_t size, void
	*host_ptr, cl_int *errcode_ret), (context, properties, flags, size, host_ptr, errcode_ret),
	next, NO_LOOK, size, )
CREATE(147, clCreateImageWithProperties, cl_mem,
	(cl_context context, const cl_ulong *properties, cl_ulong flags, const cl_image_format
	*image_format, const cl_image_desc *image_desc, void *host_ptr, cl_int *errcode_ret),
	(context, properties, flags, image_format, image_desc, host_ptr, errcode_ret), next,
	NO_LOOK, 0, )
STATUS(148, clSetContextDestructorCallback,
	(cl_context context, cl_callback pfn_notify, void *user_data),
	(context, pfn_notify, user_data), next, NO_LOOK, 0, )

#ifndef OPENCL_CORE_ONLY
/* Extension functions, fetched with clGetExtensionFunctionAddress[ForPlatform]. */
CREATE(150, clCreateCommandQueueWithPropertiesKHR, cl_command_queue,
	(cl_context context, cl_device_id device, const cl_ulong *properties, cl_int *errcode_ret),
	(context, device, properties, errcode_ret), own, NO_LOOK, 0,
	after_queue(thread, object))
CREATE(151, clCreateProgramWithILKHR, cl_program,
	(cl_context context, const void *il, size_t length, cl_int *errcode_ret),
	(context, il, length, errcode_ret), next, NO_LOOK, 0, forget(object))
CREATE(152, clCreateCommandBufferKHR, cl_command_buffer_khr,
	(cl_uint num_queues, const cl_command_queue *queues, const cl_ulong *properties, cl_int
	*errcode_ret), (num_queues, queues, properties, errcode_ret), next, NO_LOOK, 0,
	command_buffer_made(object, num_queues, queues))
STATUS(153, clRetainCommandBufferKHR, (cl_command_buffer_khr command_buffer), (command_buffer),
	next, NO_LOOK, 0, )
STATUS(154, clReleaseCommandBufferKHR, (cl_command_buffer_khr command_buffer), (command_buffer),
	release, NO_LOOK, 0, )
STATUS(155, clFinalizeCommandBufferKHR, (cl_command_buffer_khr command_buffer), (command_buffer),
	next, NO_LOOK, 0, )
ENQUEUE(156, clEnqueueCommandBufferKHR, COMMAND_GRAPH,
	(cl_uint num_queues, cl_command_queue *queues, cl_command_buffer_khr command_buffer,
	cl_uint wait_count, const cl_event *wait_list, cl_event *event),
	(num_queues, queues, command_buffer, wait_count, wait_list, event),
	WAITS(wait_count, wait_list); QUEUE(graph_queue(command_buffer, num_queues, queues)))
PASSED(157, clCommandBarrierWithWaitListKHR)
PASSED(158, clCommandCopyBufferKHR)
PASSED(159, clCommandCopyBufferRectKHR)
PASSED(160, clCommandCopyBufferToImageKHR)
PASSED(161, clCommandCopyImageKHR)
PASSED(162, clCommandCopyImageToBufferKHR)
PASSED(163, clCommandFillBufferKHR)
PASSED(164, clCommandFillImageKHR)
PASSED(165, clCommandNDRangeKernelKHR)
STATUS(166, clGetCommandBufferInfoKHR,
	(cl_command_buffer_khr command_buffer, cl_uint param_name, size_t param_value_size, void
	*param_value, size_t *param_value_size_ret),
	(command_buffer, param_name, param_value_size, param_value, param_value_size_ret), next,
	NO_LOOK, 0, )
PASSED(167, clUpdateMutableCommandsKHR)
STATUS(168, clGetMutableCommandInfoKHR,
	(cl_mutable_command_khr command, cl_uint param_name, size_t param_value_size, void
	*param_value, size_t *param_value_size_ret),
	(command, param_name, param_value_size, param_value, param_value_size_ret), next, NO_LOOK,
	0, )
CREATE(169, clCreateSemaphoreWithPropertiesKHR, cl_semaphore_khr,
	(cl_context context, const cl_ulong *sema_props, cl_int *errcode_ret),
	(context, sema_props, errcode_ret), next, NO_LOOK, 0, )
STATUS(170, clRetainSemaphoreKHR, (cl_semaphore_khr sema_object), (sema_object), next, NO_LOOK, 0, )
STATUS(171, clReleaseSemaphoreKHR, (cl_semaphore_khr sema_object), (sema_object), release, NO_LOOK,
	0, )
STATUS(172, clGetSemaphoreInfoKHR,
	(cl_semaphore_khr sema_object, cl_uint param_name, size_t param_value_size, void
	*param_value, size_t *param_value_size_ret),
	(sema_object, param_name, param_value_size, param_value, param_value_size_ret), next,
	NO_LOOK, 0, )
STATUS(173, clGetSemaphoreHandleForTypeKHR,
	(cl_semaphore_khr sema_object, cl_device_id device, cl_uint handle_type, size_t
	handle_size, void *handle_ptr, size_t *handle_size_ret),
	(sema_object, device, handle_type, handle_size, handle_ptr, handle_size_ret), next, NO_LOOK,
	0, )
ENQUEUE(174, clEnqueueSignalSemaphoresKHR, COMMAND_SEMAPHORE,
	(cl_command_queue queue, cl_uint num_sema_objects, const cl_semaphore_khr *sema_objects,
	const cl_ulong *sema_payload_list, cl_uint wait_count, const cl_event *wait_list, cl_event
	*event),
	(queue, num_sema_objects, sema_objects, sema_payload_list, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list))
ENQUEUE(175, clEnqueueWaitSemaphoresKHR, COMMAND_SEMAPHORE,
	(cl_command_queue queue, cl_uint num_sema_objects, const cl_semaphore_khr *sema_objects,
	const cl_ulong *sema_payload_list, cl_uint wait_count, const cl_event *wait_list, cl_event
	*event),
	(queue, num_sema_objects, sema_objects, sema_payload_list, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list))
ENQUEUE(176, clEnqueueAcquireExternalMemObjectsKHR, COMMAND_ACQUIRE,
	(cl_command_queue queue, cl_uint num_mem_objects, const cl_mem *mem_objects, cl_uint
	wait_count, const cl_event *wait_list, cl_event *event),
	(queue, num_mem_objects, mem_objects, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list))
ENQUEUE(177, clEnqueueReleaseExternalMemObjectsKHR, COMMAND_RELEASE,
	(cl_command_queue queue, cl_uint num_mem_objects, const cl_mem *mem_objects, cl_uint
	wait_count, const cl_event *wait_list, cl_event *event),
	(queue, num_mem_objects, mem_objects, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list))
CREATE(178, clHostMemAllocINTEL, void *,
	(cl_context context, const cl_ulong *properties, size_t size, cl_uint alignment, cl_int
	*errcode_ret), (context, properties, size, alignment, errcode_ret), next, NO_LOOK, size, )
CREATE(179, clDeviceMemAllocINTEL, void *,
	(cl_context context, cl_device_id device, const cl_ulong *properties, size_t size, cl_uint
	alignment, cl_int *errcode_ret),
	(context, device, properties, size, alignment, errcode_ret), next, NO_LOOK, size, )
CREATE(180, clSharedMemAllocINTEL, void *,
	(cl_context context, cl_device_id device, const cl_ulong *properties, size_t size, cl_uint
	alignment, cl_int *errcode_ret),
	(context, device, properties, size, alignment, errcode_ret), next, NO_LOOK, size, )
STATUS(181, clMemFreeINTEL, (cl_context context, void *ptr), (context, ptr), next, NO_LOOK, 0, )
STATUS(182, clMemBlockingFreeINTEL, (cl_context context, void *ptr), (context, ptr), next, NO_LOOK,
	0, )
STATUS(183, clGetMemAllocInfoINTEL,
	(cl_context context, const void *ptr, cl_uint param_name, size_t param_value_size, void
	*param_value, size_t *param_value_size_ret),
	(context, ptr, param_name, param_value_size, param_value, param_value_size_ret), next,
	NO_LOOK, 0, )
STATUS(184, clSetKernelArgMemPointerINTEL,
	(cl_kernel kernel, cl_uint arg_index, const void *arg_value),
	(kernel, arg_index, arg_value), next, NO_LOOK, 0, )
ENQUEUE(185, clEnqueueMemcpyINTEL, COMMAND_COPY,
	(cl_command_queue queue, cl_bool blocking, void *dst_ptr, const void *src_ptr, size_t
	size, cl_uint wait_count, const cl_event *wait_list, cl_event *event),
	(queue, blocking, dst_ptr, src_ptr, size, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list); BYTES(size); BLOCKING(blocking))
ENQUEUE(186, clEnqueueMemFillINTEL, COMMAND_FILL,
	(cl_command_queue queue, void *dst_ptr, const void *pattern, size_t pattern_size, size_t
	size, cl_uint wait_count, const cl_event *wait_list, cl_event *event),
	(queue, dst_ptr, pattern, pattern_size, size, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list); BYTES(size))
ENQUEUE(187, clEnqueueMemsetINTEL, COMMAND_FILL,
	(cl_command_queue queue, void *dst_ptr, cl_int value, size_t size, cl_uint wait_count,
	const cl_event *wait_list, cl_event *event),
	(queue, dst_ptr, value, size, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list); BYTES(size))
ENQUEUE(188, clEnqueueMigrateMemINTEL, COMMAND_MIGRATE,
	(cl_command_queue queue, const void *ptr, size_t size, cl_ulong flags, cl_uint wait_count,
	const cl_event *wait_list, cl_event *event),
	(queue, ptr, size, flags, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list); BYTES(size))
ENQUEUE(189, clEnqueueMemAdviseINTEL, COMMAND_OTHER,
	(cl_command_queue queue, const void *ptr, size_t size, cl_uint advice, cl_uint wait_count,
	const cl_event *wait_list, cl_event *event),
	(queue, ptr, size, advice, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list); BYTES(size))
CREATE(190, clCreateBufferWithPropertiesINTEL, cl_mem,
	(cl_context context, const cl_ulong *properties, cl_ulong flags, size_t size, void
	*host_ptr, cl_int *errcode_ret), (context, properties, flags, size, host_ptr, errcode_ret),
	next, NO_LOOK, size, )
STATUS(191, clGetKernelSuggestedLocalWorkSizeKHR,
	(cl_command_queue queue, cl_kernel kernel, cl_uint work_dim, const size_t
	*global_work_offset, const size_t *global_work_size, size_t *suggested_local_work_size),
	(queue, kernel, work_dim, global_work_offset, global_work_size, suggested_local_work_size),
	next, NO_LOOK, 0, )
ENQUEUE(192, clEnqueueMigrateMemObjectEXT, COMMAND_MIGRATE,
	(cl_command_queue queue, cl_uint num_mem_objects, const cl_mem *mem_objects, cl_ulong
	flags, cl_uint wait_count, const cl_event *wait_list, cl_event *event),
	(queue, num_mem_objects, mem_objects, flags, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list); OBJECTS(num_mem_objects, mem_objects))
POINTER(193, clSVMAllocARM, (cl_context context, cl_ulong flags, size_t size, cl_uint alignment),
	(context, flags, size, alignment), next, size)
NOTHING(194, clSVMFreeARM, (cl_context context, void *svm_pointer), (context, svm_pointer))
ENQUEUE(195, clEnqueueSVMFreeARM, COMMAND_FREE,
	(cl_command_queue queue, cl_uint num_svm_pointers, void **svm_pointers, cl_callback
	pfn_free_func, void *user_data, cl_uint wait_count, const cl_event *wait_list, cl_event
	*event),
	(queue, num_svm_pointers, svm_pointers, pfn_free_func, user_data, wait_count, wait_list,
	event), QUEUE(queue); WAITS(wait_count, wait_list))
ENQUEUE(196, clEnqueueSVMMemcpyARM, COMMAND_COPY,
	(cl_command_queue queue, cl_bool blocking_copy, void *dst_ptr, const void *src_ptr, size_t
	size, cl_uint wait_count, const cl_event *wait_list, cl_event *event),
	(queue, blocking_copy, dst_ptr, src_ptr, size, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list); BYTES(size); BLOCKING(blocking_copy))
ENQUEUE(197, clEnqueueSVMMemFillARM, COMMAND_FILL,
	(cl_command_queue queue, void *svm_ptr, const void *pattern, size_t pattern_size, size_t
	size, cl_uint wait_count, const cl_event *wait_list, cl_event *event),
	(queue, svm_ptr, pattern, pattern_size, size, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list); BYTES(size))
ENQUEUE(198, clEnqueueSVMMapARM, COMMAND_MAP,
	(cl_command_queue queue, cl_bool blocking_map, cl_ulong flags, void *svm_ptr, size_t size,
	cl_uint wait_count, const cl_event *wait_list, cl_event *event),
	(queue, blocking_map, flags, svm_ptr, size, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list); BYTES(size); BLOCKING(blocking_map))
ENQUEUE(199, clEnqueueSVMUnmapARM, COMMAND_UNMAP,
	(cl_command_queue queue, void *svm_ptr, cl_uint wait_count, const cl_event *wait_list,
	cl_event *event), (queue, svm_ptr, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list))
STATUS(200, clSetKernelArgSVMPointerARM,
	(cl_kernel kernel, cl_uint arg_index, const void *arg_value),
	(kernel, arg_index, arg_value), next, NO_LOOK, 0, )
STATUS(201, clSetKernelExecInfoARM,
	(cl_kernel kernel, cl_uint param_name, size_t param_value_size, const void *param_value),
	(kernel, param_name, param_value_size, param_value), next, NO_LOOK, 0, )
ENQUEUE(202, clEnqueueAcquireGrallocObjectsIMG, COMMAND_ACQUIRE,
	(cl_command_queue queue, cl_uint num_objects, const cl_mem *mem_objects, cl_uint
	wait_count, const cl_event *wait_list, cl_event *event),
	(queue, num_objects, mem_objects, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list))
ENQUEUE(203, clEnqueueReleaseGrallocObjectsIMG, COMMAND_RELEASE,
	(cl_command_queue queue, cl_uint num_objects, const cl_mem *mem_objects, cl_uint
	wait_count, const cl_event *wait_list, cl_event *event),
	(queue, num_objects, mem_objects, wait_count, wait_list, event),
	QUEUE(queue); WAITS(wait_count, wait_list))
ENQUEUE(204, clEnqueueGenerateMipmapIMG, COMMAND_OTHER,
	(cl_command_queue queue, cl_mem src_image, cl_mem dst_image, cl_uint mipmap_filter_mode,
	const size_t *array_region, const size_t *mip_region, cl_uint wait_count, const cl_event
	*wait_list, cl_event *event),
	(queue, src_image, dst_image, mipmap_filter_mode, array_region, mip_region, wait_count,
	wait_list, event), QUEUE(queue); WAITS(wait_count, wait_list))
CREATE(205, clImportMemoryARM, cl_mem,
	(cl_context context, cl_ulong flags, const intptr_t *properties, void *memory, size_t
	size, cl_int *errcode_ret), (context, flags, properties, memory, size, errcode_ret), next,
	NO_LOOK, size, )
STATUS(206, clTerminateContextKHR, (cl_context context), (context), next, NO_LOOK, 0, )
#endif
/* clang-format on */
