/* SPDX-License-Identifier: MIT
 *
 * sim/opencl/objects.c - contexts, queues, memory objects, samplers
 *
 * Runs in:  the test program
 * Owns:     each object; it is freed with its last reference
 * Fails:    with the standard's error codes
 */
#include <stdlib.h>
#include <string.h>

#include "sim.h"

/* ---- references ------------------------------------------------------------------------------ */

void *sim_new(enum sim_kind kind, size_t size)
{
	struct sim_object *object = calloc(1, size);

	if (!object)
		return NULL;
	object->dispatch = &sim_dispatch;
	object->kind = kind;
	atomic_store(&object->references, 1);
	return object;
}

bool sim_is(const void *handle, enum sim_kind kind)
{
	const struct sim_object *object = handle;

	return object && object->kind == kind;
}

void sim_retain(void *handle)
{
	struct sim_object *object = handle;

	if (object)
		atomic_fetch_add(&object->references, 1);
}

bool sim_drop(void *handle)
{
	struct sim_object *object = handle;

	if (!object || atomic_fetch_sub(&object->references, 1) != 1)
		return false;
	object->kind =
		0; /* a use after the release is detected as long as the memory is not reused */
	return true;
}

static cl_uint references(const void *handle)
{
	return atomic_load(&((struct sim_object *)handle)->references);
}

void *sim_no(cl_int error, cl_int *errcode_ret)
{
	if (errcode_ret)
		*errcode_ret = error;
	return NULL;
}

void *sim_yes(void *object, cl_int *errcode_ret)
{
	if (errcode_ret)
		*errcode_ret = object ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
	return object;
}

/* ---- contexts -------------------------------------------------------------------------------- */

void sim_put_context(cl_context context)
{
	if (sim_drop(context))
		free(context);
}

cl_context sim_clCreateContext(const cl_context_properties *properties, cl_uint num_devices,
			       const cl_device_id *devices,
			       void(CL_CALLBACK *pfn_notify)(const char *, const void *, size_t,
							     void *),
			       void *user_data, cl_int *errcode_ret)
{
	cl_context context;

	if (!devices || !num_devices || num_devices > MAX_SIM_DEVICES)
		return sim_no(CL_INVALID_VALUE, errcode_ret);
	for (cl_uint i = 0; i < num_devices; i++)
		if (!sim_is(devices[i], SIM_DEVICE))
			return sim_no(CL_INVALID_DEVICE, errcode_ret);
	context = sim_new(SIM_CONTEXT, sizeof(*context));
	if (!context)
		return sim_no(CL_OUT_OF_HOST_MEMORY, errcode_ret);
	context->device_count = num_devices;
	memcpy(context->devices, devices, num_devices * sizeof(*devices));
	while (properties && properties[context->property_count] && context->property_count < 14) {
		memcpy(&context->properties[context->property_count],
		       &properties[context->property_count], 2 * sizeof(*properties));
		context->property_count += 2;
	}
	context->property_count += properties ? 1 : 0; /* the 0 at the end */
	return sim_yes(context, errcode_ret);
}

cl_context sim_clCreateContextFromType(const cl_context_properties *properties,
				       cl_device_type device_type,
				       void(CL_CALLBACK *pfn_notify)(const char *, const void *,
								     size_t, void *),
				       void *user_data, cl_int *errcode_ret)
{
	cl_device_id devices[MAX_SIM_DEVICES];
	cl_uint count = 0;
	cl_int result =
		sim_clGetDeviceIDs(&sim_platform, device_type, MAX_SIM_DEVICES, devices, &count);

	if (result != CL_SUCCESS && sim_options.odd_context) {
		cl_device_id first = &sim_devices[0];
		cl_context context = sim_clCreateContext(properties, 1, &first, pfn_notify,
							 user_data, errcode_ret);

		if (errcode_ret)
			*errcode_ret = result;
		return context;
	}
	if (result != CL_SUCCESS)
		return sim_no(result, errcode_ret);
	return sim_clCreateContext(properties, count, devices, pfn_notify, user_data, errcode_ret);
}

cl_int sim_clRetainContext(cl_context context)
{
	if (!sim_is(context, SIM_CONTEXT))
		return CL_INVALID_CONTEXT;
	sim_retain(context);
	return CL_SUCCESS;
}

cl_int sim_clReleaseContext(cl_context context)
{
	if (!sim_is(context, SIM_CONTEXT))
		return CL_INVALID_CONTEXT;
	sim_put_context(context);
	return CL_SUCCESS;
}

cl_int sim_clGetContextInfo(cl_context context, cl_context_info param_name, size_t param_value_size,
			    void *param_value, size_t *param_value_size_ret)
{
	if (!sim_is(context, SIM_CONTEXT))
		return CL_INVALID_CONTEXT;
	switch (param_name) {
	case CL_CONTEXT_REFERENCE_COUNT:
		return SIM_ANSWER(cl_uint, references(context));
	case CL_CONTEXT_NUM_DEVICES:
		return SIM_ANSWER(cl_uint, context->device_count);
	case CL_CONTEXT_DEVICES:
		return sim_answer(context->devices, context->device_count * sizeof(cl_device_id),
				  param_value_size, param_value, param_value_size_ret);
	case CL_CONTEXT_PROPERTIES:
		return sim_answer(context->properties,
				  context->property_count * sizeof(context->properties[0]),
				  param_value_size, param_value, param_value_size_ret);
	default:
		return CL_INVALID_VALUE;
	}
}

/* ---- queues ---------------------------------------------------------------------------------- */

void sim_put_queue(cl_command_queue queue)
{
	if (!sim_drop(queue))
		return;
	sim_put_event(queue->last);
	sim_put_event(queue->barrier);
	sim_put_context(queue->context);
	free(queue);
}

static cl_int check_queue(cl_context context, cl_device_id device,
			  cl_command_queue_properties properties)
{
	const cl_command_queue_properties known =
		CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE;

	if (!sim_is(context, SIM_CONTEXT))
		return CL_INVALID_CONTEXT;
	if (!sim_is(device, SIM_DEVICE))
		return CL_INVALID_DEVICE;
	if (properties & ~known)
		return CL_INVALID_VALUE;
	if ((properties & CL_QUEUE_PROFILING_ENABLE) && sim_options.no_profiling)
		return CL_INVALID_QUEUE_PROPERTIES;
	return CL_SUCCESS;
}

cl_command_queue sim_clCreateCommandQueue(cl_context context, cl_device_id device,
					  cl_command_queue_properties properties,
					  cl_int *errcode_ret)
{
	cl_int result = check_queue(context, device, properties);
	cl_command_queue queue;

	if (result != CL_SUCCESS)
		return sim_no(result, errcode_ret);
	queue = sim_new(SIM_QUEUE, sizeof(*queue));
	if (!queue)
		return sim_no(CL_OUT_OF_HOST_MEMORY, errcode_ret);
	sim_retain(context);
	queue->context = context;
	queue->device = device;
	queue->properties = properties;
	return sim_yes(queue, sim_options.no_success ? NULL : errcode_ret);
}

cl_command_queue sim_clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
							const cl_queue_properties *properties,
							cl_int *errcode_ret)
{
	cl_command_queue_properties bits = 0;
	cl_command_queue queue;
	cl_uint count = 0;

	for (; properties && properties[count]; count += 2) {
		if (count + 3 > MAX_SIM_QUEUE_PROPERTIES ||
		    properties[count] != CL_QUEUE_PROPERTIES)
			return sim_no(CL_INVALID_VALUE, errcode_ret);
		bits = properties[count + 1];
	}
	queue = sim_clCreateCommandQueue(context, device, bits, errcode_ret);
	if (queue && properties) {
		queue->asked_count = count + 1;
		memcpy(queue->asked, properties, (count + 1) * sizeof(*properties));
	}
	return queue;
}

cl_int sim_clSetCommandQueueProperty(cl_command_queue queue, cl_command_queue_properties properties,
				     cl_bool enable, cl_command_queue_properties *old_properties)
{
	if (!sim_is(queue, SIM_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	if (enable && check_queue(queue->context, queue->device, properties) != CL_SUCCESS)
		return CL_INVALID_QUEUE_PROPERTIES;
	if (old_properties)
		*old_properties = queue->properties;
	if (enable)
		queue->properties |= properties;
	else
		queue->properties &= ~properties;
	return CL_SUCCESS;
}

cl_int sim_clRetainCommandQueue(cl_command_queue queue)
{
	if (!sim_is(queue, SIM_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	sim_retain(queue);
	return CL_SUCCESS;
}

cl_int sim_clReleaseCommandQueue(cl_command_queue queue)
{
	if (!sim_is(queue, SIM_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	sim_notice();
	sim_put_queue(queue);
	return CL_SUCCESS;
}

cl_int sim_clGetCommandQueueInfo(cl_command_queue queue, cl_command_queue_info param_name,
				 size_t param_value_size, void *param_value,
				 size_t *param_value_size_ret)
{
	if (!sim_is(queue, SIM_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	switch (param_name) {
	case CL_QUEUE_CONTEXT:
		return SIM_ANSWER(cl_context, queue->context);
	case CL_QUEUE_DEVICE:
		return SIM_ANSWER(cl_device_id, queue->device);
	case CL_QUEUE_REFERENCE_COUNT:
		return SIM_ANSWER(cl_uint, references(queue));
	case CL_QUEUE_PROPERTIES:
		return SIM_ANSWER(cl_command_queue_properties, queue->properties);
	case CL_QUEUE_PROPERTIES_ARRAY:
		return sim_answer(queue->asked, queue->asked_count * sizeof(queue->asked[0]),
				  param_value_size, param_value, param_value_size_ret);
	case CL_QUEUE_DEVICE_DEFAULT:
		return SIM_ANSWER(cl_command_queue, NULL);
	default:
		return CL_INVALID_VALUE;
	}
}

/* ---- memory objects -------------------------------------------------------------------------- */

static cl_mem new_memory(cl_context context, cl_mem_object_type type, cl_mem_flags flags,
			 size_t size, void *host_ptr, cl_int *errcode_ret)
{
	cl_mem memory;

	if (!sim_is(context, SIM_CONTEXT))
		return sim_no(CL_INVALID_CONTEXT, errcode_ret);
	if (!size)
		return sim_no(CL_INVALID_BUFFER_SIZE, errcode_ret);
	if (!host_ptr != !(flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)))
		return sim_no(CL_INVALID_HOST_PTR, errcode_ret);
	memory = sim_new(SIM_MEMORY, sizeof(*memory));
	if (!memory)
		return sim_no(CL_OUT_OF_HOST_MEMORY, errcode_ret);
	memory->owned = !(flags & CL_MEM_USE_HOST_PTR);
	memory->bytes = memory->owned ? calloc(1, size) : host_ptr;
	if (!memory->bytes) {
		free(memory);
		return sim_no(CL_MEM_OBJECT_ALLOCATION_FAILURE, errcode_ret);
	}
	if (flags & CL_MEM_COPY_HOST_PTR)
		memcpy(memory->bytes, host_ptr, size);
	sim_retain(context);
	memory->context = context;
	memory->type = type;
	memory->flags = flags ? flags : CL_MEM_READ_WRITE;
	memory->size = size;
	memory->host_pointer = memory->owned ? NULL : host_ptr;
	memory->element = 1;
	return sim_yes(memory, errcode_ret);
}

cl_mem sim_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host_ptr,
			  cl_int *errcode_ret)
{
	return new_memory(context, CL_MEM_OBJECT_BUFFER, flags, size, host_ptr, errcode_ret);
}

cl_mem sim_clCreateBufferWithProperties(cl_context context, const cl_mem_properties *properties,
					cl_mem_flags flags, size_t size, void *host_ptr,
					cl_int *errcode_ret)
{
	if (properties && properties[0])
		return sim_no(CL_INVALID_PROPERTY, errcode_ret);
	return sim_clCreateBuffer(context, flags, size, host_ptr, errcode_ret);
}

cl_mem sim_clCreateSubBuffer(cl_mem buffer, cl_mem_flags flags,
			     cl_buffer_create_type buffer_create_type,
			     const void *buffer_create_info, cl_int *errcode_ret)
{
	const cl_buffer_region *region = buffer_create_info;
	cl_mem memory;

	if (!sim_is(buffer, SIM_MEMORY) || buffer->parent)
		return sim_no(CL_INVALID_MEM_OBJECT, errcode_ret);
	if (buffer_create_type != CL_BUFFER_CREATE_TYPE_REGION || !region || !region->size ||
	    region->origin > buffer->size || region->size > buffer->size - region->origin)
		return sim_no(CL_INVALID_VALUE, errcode_ret);
	memory = sim_new(SIM_MEMORY, sizeof(*memory));
	if (!memory)
		return sim_no(CL_OUT_OF_HOST_MEMORY, errcode_ret);
	sim_retain(buffer);
	sim_retain(buffer->context);
	memory->context = buffer->context;
	memory->parent = buffer;
	memory->origin = region->origin;
	memory->type = CL_MEM_OBJECT_BUFFER;
	memory->flags = flags ? flags : buffer->flags;
	memory->size = region->size;
	memory->bytes = buffer->bytes + region->origin;
	memory->element = 1;
	return sim_yes(memory, errcode_ret);
}

static size_t element_size(const cl_image_format *format)
{
	size_t channels, bytes;

	switch (format->image_channel_order) {
	case CL_RGBA:
	case CL_BGRA:
	case CL_ARGB:
		channels = 4;
		break;
	case CL_RG:
	case CL_RA:
		channels = 2;
		break;
	default:
		channels = 1;
	}
	switch (format->image_channel_data_type) {
	case CL_SNORM_INT8:
	case CL_UNORM_INT8:
	case CL_SIGNED_INT8:
	case CL_UNSIGNED_INT8:
		bytes = 1;
		break;
	case CL_SIGNED_INT32:
	case CL_UNSIGNED_INT32:
	case CL_FLOAT:
		bytes = 4;
		break;
	default:
		bytes = 2;
	}
	return channels * bytes;
}

/* An image is kept densely, whatever the pitches of the program's memory; USE_HOST_PTR copies. */
static void copy_in(cl_mem image, const char *from, size_t row_pitch, size_t slice_pitch)
{
	size_t rows = image->slice / image->row, slices = image->size / image->slice;

	row_pitch = row_pitch ? row_pitch : image->row;
	slice_pitch = slice_pitch ? slice_pitch : row_pitch * rows;
	for (size_t z = 0; z < slices; z++)
		for (size_t y = 0; y < rows; y++)
			memcpy(image->bytes + z * image->slice + y * image->row,
			       from + z * slice_pitch + y * row_pitch, image->row);
}

cl_mem sim_clCreateImage(cl_context context, cl_mem_flags flags, const cl_image_format *format,
			 const cl_image_desc *description, void *host_ptr, cl_int *errcode_ret)
{
	const cl_mem_flags with_pointer = CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR;
	size_t element, width, height, slices;
	cl_mem image;

	if (!format)
		return sim_no(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, errcode_ret);
	if (!description || !description->image_width)
		return sim_no(CL_INVALID_IMAGE_DESCRIPTOR, errcode_ret);
	if (!host_ptr != !(flags & with_pointer))
		return sim_no(CL_INVALID_HOST_PTR, errcode_ret);
	element = element_size(format);
	width = description->image_width;
	height = description->image_height ? description->image_height : 1;
	slices = description->image_depth ? description->image_depth : 1;
	if (description->image_array_size > 1)
		slices = description->image_array_size;
	image = new_memory(context, description->image_type, flags & ~with_pointer,
			   element * width * height * slices, NULL, errcode_ret);
	if (!image)
		return NULL;
	image->flags |= flags & with_pointer;
	image->format = *format;
	image->image = *description;
	image->element = element;
	image->row = element * width;
	image->slice = image->row * height;
	if (host_ptr)
		copy_in(image, host_ptr, description->image_row_pitch,
			description->image_slice_pitch);
	return image;
}

cl_mem sim_clCreateImageWithProperties(cl_context context, const cl_mem_properties *properties,
				       cl_mem_flags flags, const cl_image_format *format,
				       const cl_image_desc *description, void *host_ptr,
				       cl_int *errcode_ret)
{
	if (properties && properties[0])
		return sim_no(CL_INVALID_PROPERTY, errcode_ret);
	return sim_clCreateImage(context, flags, format, description, host_ptr, errcode_ret);
}

cl_mem sim_clCreateImage2D(cl_context context, cl_mem_flags flags, const cl_image_format *format,
			   size_t width, size_t height, size_t row_pitch, void *host_ptr,
			   cl_int *errcode_ret)
{
	const cl_image_desc description = {.image_type = CL_MEM_OBJECT_IMAGE2D,
					   .image_width = width,
					   .image_height = height,
					   .image_row_pitch = row_pitch};

	return sim_clCreateImage(context, flags, format, &description, host_ptr, errcode_ret);
}

cl_mem sim_clCreateImage3D(cl_context context, cl_mem_flags flags, const cl_image_format *format,
			   size_t width, size_t height, size_t depth, size_t row_pitch,
			   size_t slice_pitch, void *host_ptr, cl_int *errcode_ret)
{
	const cl_image_desc description = {.image_type = CL_MEM_OBJECT_IMAGE3D,
					   .image_width = width,
					   .image_height = height,
					   .image_depth = depth,
					   .image_row_pitch = row_pitch,
					   .image_slice_pitch = slice_pitch};

	return sim_clCreateImage(context, flags, format, &description, host_ptr, errcode_ret);
}

cl_int sim_clRetainMemObject(cl_mem memory)
{
	if (!sim_is(memory, SIM_MEMORY))
		return CL_INVALID_MEM_OBJECT;
	sim_retain(memory);
	return CL_SUCCESS;
}

cl_int sim_clReleaseMemObject(cl_mem memory)
{
	if (!sim_is(memory, SIM_MEMORY))
		return CL_INVALID_MEM_OBJECT;
	if (!sim_drop(memory))
		return CL_SUCCESS;
	if (memory->parent)
		sim_clReleaseMemObject(memory->parent);
	if (memory->owned)
		free(memory->bytes);
	sim_put_context(memory->context);
	free(memory);
	return CL_SUCCESS;
}

cl_int sim_clGetMemObjectInfo(cl_mem memory, cl_mem_info param_name, size_t param_value_size,
			      void *param_value, size_t *param_value_size_ret)
{
	if (!sim_is(memory, SIM_MEMORY))
		return CL_INVALID_MEM_OBJECT;
	switch (param_name) {
	case CL_MEM_TYPE:
		return SIM_ANSWER(cl_mem_object_type, memory->type);
	case CL_MEM_FLAGS:
		return SIM_ANSWER(cl_mem_flags, memory->flags);
	case CL_MEM_SIZE:
		return SIM_ANSWER(size_t, memory->size);
	case CL_MEM_HOST_PTR:
		return SIM_ANSWER(void *, memory->host_pointer);
	case CL_MEM_MAP_COUNT:
		return SIM_ANSWER(cl_uint, memory->map_count);
	case CL_MEM_REFERENCE_COUNT:
		return SIM_ANSWER(cl_uint, references(memory));
	case CL_MEM_CONTEXT:
		return SIM_ANSWER(cl_context, memory->context);
	case CL_MEM_ASSOCIATED_MEMOBJECT:
		return SIM_ANSWER(cl_mem, memory->parent);
	case CL_MEM_OFFSET:
		return SIM_ANSWER(size_t, memory->origin);
	case CL_MEM_USES_SVM_POINTER:
		return SIM_ANSWER(cl_bool, CL_FALSE);
	default:
		return CL_INVALID_VALUE;
	}
}

cl_int sim_clGetImageInfo(cl_mem image, cl_image_info param_name, size_t param_value_size,
			  void *param_value, size_t *param_value_size_ret)
{
	if (!sim_is(image, SIM_MEMORY) || !image->row)
		return CL_INVALID_MEM_OBJECT;
	switch (param_name) {
	case CL_IMAGE_FORMAT:
		return SIM_ANSWER(cl_image_format, image->format.image_channel_order,
				  image->format.image_channel_data_type);
	case CL_IMAGE_ELEMENT_SIZE:
		return SIM_ANSWER(size_t, image->element);
	case CL_IMAGE_ROW_PITCH:
		return SIM_ANSWER(size_t, image->row);
	case CL_IMAGE_SLICE_PITCH:
		return SIM_ANSWER(size_t, image->image.image_depth ? image->slice : 0);
	case CL_IMAGE_WIDTH:
		return SIM_ANSWER(size_t, image->image.image_width);
	case CL_IMAGE_HEIGHT:
		return SIM_ANSWER(size_t, image->image.image_height);
	case CL_IMAGE_DEPTH:
		return SIM_ANSWER(size_t, image->image.image_depth);
	case CL_IMAGE_ARRAY_SIZE:
		return SIM_ANSWER(size_t, image->image.image_array_size);
	default:
		return CL_INVALID_VALUE;
	}
}

cl_int sim_clGetSupportedImageFormats(cl_context context, cl_mem_flags flags,
				      cl_mem_object_type image_type, cl_uint num_entries,
				      cl_image_format *image_formats, cl_uint *num_image_formats)
{
	static const cl_image_format formats[] = {{CL_RGBA, CL_UNORM_INT8},
						  {CL_RGBA, CL_UNSIGNED_INT8},
						  {CL_RGBA, CL_FLOAT},
						  {CL_R, CL_UNSIGNED_INT8},
						  {CL_R, CL_FLOAT}};
	const cl_uint count = sizeof(formats) / sizeof(formats[0]);

	if (!sim_is(context, SIM_CONTEXT))
		return CL_INVALID_CONTEXT;
	for (cl_uint i = 0; image_formats && i < count && i < num_entries; i++)
		image_formats[i] = formats[i];
	if (num_image_formats)
		*num_image_formats = count;
	return CL_SUCCESS;
}

void *sim_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment)
{
	size_t rounded = (size + 127) & ~(size_t)127;
	void *memory = NULL;

	if (sim_is(context, SIM_CONTEXT) && size && alignment <= 128)
		memory = aligned_alloc(128, rounded);
	return memory ? memset(memory, 0, rounded) : NULL;
}

void sim_clSVMFree(cl_context context, void *pointer)
{
	free(pointer);
}

/* ---- samplers -------------------------------------------------------------------------------- */

cl_sampler sim_clCreateSampler(cl_context context, cl_bool normalized,
			       cl_addressing_mode addressing, cl_filter_mode filter,
			       cl_int *errcode_ret)
{
	cl_sampler sampler;

	if (!sim_is(context, SIM_CONTEXT))
		return sim_no(CL_INVALID_CONTEXT, errcode_ret);
	sampler = sim_new(SIM_SAMPLER, sizeof(*sampler));
	if (sampler) {
		sim_retain(context);
		sampler->context = context;
	}
	return sim_yes(sampler, errcode_ret);
}

cl_sampler sim_clCreateSamplerWithProperties(cl_context context,
					     const cl_sampler_properties *properties,
					     cl_int *errcode_ret)
{
	return sim_clCreateSampler(context, CL_TRUE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST,
				   errcode_ret);
}

cl_int sim_clRetainSampler(cl_sampler sampler)
{
	if (!sim_is(sampler, SIM_SAMPLER))
		return CL_INVALID_SAMPLER;
	sim_retain(sampler);
	return CL_SUCCESS;
}

cl_int sim_clReleaseSampler(cl_sampler sampler)
{
	if (!sim_is(sampler, SIM_SAMPLER))
		return CL_INVALID_SAMPLER;
	if (sim_drop(sampler)) {
		sim_put_context(sampler->context);
		free(sampler);
	}
	return CL_SUCCESS;
}
