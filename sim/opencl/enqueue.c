/* SPDX-License-Identifier: MIT
 *
 * sim/opencl/enqueue.c - the core calls that put a command into a queue
 *
 * Runs in:  the test program
 * Gets:     the program's commands
 * Gives:    completed copies, and an event with the device's times
 * Fails:    with the standard's codes for the mistakes that tests make
 * Why:      memory is copied during the call and not at the command's time. Programs that wait as
 *           required cannot detect this, and the program's memory need not be kept.
 */
#include <stdlib.h>
#include <string.h>

#include "sim.h"

/* Enqueues one command of a queue; the names are the ones of the standard's parameters. */
#define ENQUEUE(what, ns, ...)                                                         \
	sim_enqueue(&(const struct sim_command){.queue = command_queue,                \
						.type = what,                          \
						.duration_ns = ns,                     \
						.wait_count = num_events_in_wait_list, \
						.wait_list = event_wait_list,          \
						__VA_ARGS__},                          \
		    event)
#define CHECK sim_check(command_queue, num_events_in_wait_list, event_wait_list)

static bool is_inside(const struct _cl_mem *memory, size_t offset, size_t size)
{
	return size && offset <= memory->size && size <= memory->size - offset;
}

static cl_int check_buffer(cl_mem buffer, size_t offset, size_t size)
{
	if (!sim_is(buffer, SIM_MEMORY))
		return CL_INVALID_MEM_OBJECT;
	return is_inside(buffer, offset, size) ? CL_SUCCESS : CL_INVALID_VALUE;
}

/* The first thing wrong of three. */
static cl_int first(cl_int a, cl_int b, cl_int c)
{
	return a != CL_SUCCESS ? a : b != CL_SUCCESS ? b : c;
}

/* ---- buffers --------------------------------------------------------------------------------- */

cl_int sim_clEnqueueReadBuffer(cl_command_queue command_queue, cl_mem buffer, cl_bool blocking,
			       size_t offset, size_t size, void *ptr,
			       cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
			       cl_event *event)
{
	cl_int result = first(CHECK, check_buffer(buffer, offset, size),
			      ptr ? CL_SUCCESS : CL_INVALID_VALUE);

	if (result != CL_SUCCESS)
		return result;
	memcpy(ptr, buffer->bytes + offset, size);
	return ENQUEUE(CL_COMMAND_READ_BUFFER, sim_copy_ns(size), .blocking = blocking);
}

cl_int sim_clEnqueueWriteBuffer(cl_command_queue command_queue, cl_mem buffer, cl_bool blocking,
				size_t offset, size_t size, const void *ptr,
				cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
				cl_event *event)
{
	cl_int result = first(CHECK, check_buffer(buffer, offset, size),
			      ptr ? CL_SUCCESS : CL_INVALID_VALUE);

	if (result != CL_SUCCESS)
		return result;
	memcpy(buffer->bytes + offset, ptr, size);
	return ENQUEUE(CL_COMMAND_WRITE_BUFFER, sim_copy_ns(size), .blocking = blocking);
}

cl_int sim_clEnqueueCopyBuffer(cl_command_queue command_queue, cl_mem src_buffer, cl_mem dst_buffer,
			       size_t src_offset, size_t dst_offset, size_t size,
			       cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
			       cl_event *event)
{
	cl_int result = first(CHECK, check_buffer(src_buffer, src_offset, size),
			      check_buffer(dst_buffer, dst_offset, size));

	if (result != CL_SUCCESS)
		return result;
	memmove(dst_buffer->bytes + dst_offset, src_buffer->bytes + src_offset, size);
	return ENQUEUE(CL_COMMAND_COPY_BUFFER, sim_copy_ns(size));
}

static void fill(char *to, const void *pattern, size_t pattern_size, size_t size)
{
	for (size_t i = 0; i + pattern_size <= size; i += pattern_size)
		memcpy(to + i, pattern, pattern_size);
}

/* A power of two up to 128, and a whole number of them. */
static cl_int check_pattern(const void *pattern, size_t pattern_size, size_t size)
{
	if (!pattern || !pattern_size || pattern_size > 128 || (pattern_size & (pattern_size - 1)))
		return CL_INVALID_VALUE;
	return size % pattern_size ? CL_INVALID_VALUE : CL_SUCCESS;
}

cl_int sim_clEnqueueFillBuffer(cl_command_queue command_queue, cl_mem buffer, const void *pattern,
			       size_t pattern_size, size_t offset, size_t size,
			       cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
			       cl_event *event)
{
	cl_int result = first(CHECK, check_buffer(buffer, offset, size),
			      check_pattern(pattern, pattern_size, size));

	if (result != CL_SUCCESS)
		return result;
	fill(buffer->bytes + offset, pattern, pattern_size, size);
	return ENQUEUE(CL_COMMAND_FILL_BUFFER, sim_copy_ns(size));
}

/* ---- boxes: rectangles of buffers, regions of images ----------------------------------------- */

/* A box in memory: its start, and the pitch of its rows and slices. */
struct box {
	char *at;
	size_t row, slice;
	char *end; /* NULL: the program's memory, whose size is unknown */
};

static void copy_box(const struct box *to, const struct box *from, const size_t bytes[3])
{
	for (size_t z = 0; z < bytes[2]; z++)
		for (size_t y = 0; y < bytes[1]; y++)
			memmove(to->at + z * to->slice + y * to->row,
				from->at + z * from->slice + y * from->row, bytes[0]);
}

static bool fits(const struct box *box, const size_t bytes[3])
{
	size_t last = (bytes[2] - 1) * box->slice + (bytes[1] - 1) * box->row + bytes[0];

	return !box->end || (box->at <= box->end && last <= (size_t)(box->end - box->at));
}

static struct box box_of(char *bytes, size_t size, const size_t origin[3], const size_t region[3],
			 size_t row, size_t slice)
{
	struct box box = {.row = row ? row : region[0]};

	box.slice = slice ? slice : box.row * region[1];
	box.at = bytes + origin[2] * box.slice + origin[1] * box.row + origin[0];
	box.end = size ? bytes + size : NULL;
	return box;
}

static bool is_box(const size_t *a, const size_t *b, const size_t *region)
{
	return a && b && region && region[0] && region[1] && region[2];
}

static uint64_t box_ns(const size_t bytes[3])
{
	return sim_copy_ns((uint64_t)bytes[0] * bytes[1] * bytes[2]);
}

cl_int sim_clEnqueueReadBufferRect(cl_command_queue command_queue, cl_mem buffer, cl_bool blocking,
				   const size_t *buffer_origin, const size_t *host_origin,
				   const size_t *region, size_t buffer_row_pitch,
				   size_t buffer_slice_pitch, size_t host_row_pitch,
				   size_t host_slice_pitch, void *ptr,
				   cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
				   cl_event *event)
{
	cl_int result = first(CHECK, check_buffer(buffer, 0, 1),
			      ptr && is_box(buffer_origin, host_origin, region) ? CL_SUCCESS
										: CL_INVALID_VALUE);
	struct box from, to;

	if (result != CL_SUCCESS)
		return result;
	from = box_of(buffer->bytes, buffer->size, buffer_origin, region, buffer_row_pitch,
		      buffer_slice_pitch);
	to = box_of(ptr, 0, host_origin, region, host_row_pitch, host_slice_pitch);
	if (!fits(&from, region))
		return CL_INVALID_VALUE;
	copy_box(&to, &from, region);
	return ENQUEUE(CL_COMMAND_READ_BUFFER_RECT, box_ns(region), .blocking = blocking);
}

cl_int sim_clEnqueueWriteBufferRect(cl_command_queue command_queue, cl_mem buffer, cl_bool blocking,
				    const size_t *buffer_origin, const size_t *host_origin,
				    const size_t *region, size_t buffer_row_pitch,
				    size_t buffer_slice_pitch, size_t host_row_pitch,
				    size_t host_slice_pitch, const void *ptr,
				    cl_uint num_events_in_wait_list,
				    const cl_event *event_wait_list, cl_event *event)
{
	cl_int result = first(CHECK, check_buffer(buffer, 0, 1),
			      ptr && is_box(buffer_origin, host_origin, region) ? CL_SUCCESS
										: CL_INVALID_VALUE);
	struct box from, to;

	if (result != CL_SUCCESS)
		return result;
	to = box_of(buffer->bytes, buffer->size, buffer_origin, region, buffer_row_pitch,
		    buffer_slice_pitch);
	from = box_of((char *)ptr, 0, host_origin, region, host_row_pitch, host_slice_pitch);
	if (!fits(&to, region))
		return CL_INVALID_VALUE;
	copy_box(&to, &from, region);
	return ENQUEUE(CL_COMMAND_WRITE_BUFFER_RECT, box_ns(region), .blocking = blocking);
}

cl_int sim_clEnqueueCopyBufferRect(cl_command_queue command_queue, cl_mem src_buffer,
				   cl_mem dst_buffer, const size_t *src_origin,
				   const size_t *dst_origin, const size_t *region,
				   size_t src_row_pitch, size_t src_slice_pitch,
				   size_t dst_row_pitch, size_t dst_slice_pitch,
				   cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
				   cl_event *event)
{
	cl_int result = first(
		CHECK, first(check_buffer(src_buffer, 0, 1), check_buffer(dst_buffer, 0, 1), 0),
		is_box(src_origin, dst_origin, region) ? CL_SUCCESS : CL_INVALID_VALUE);
	struct box from, to;

	if (result != CL_SUCCESS)
		return result;
	from = box_of(src_buffer->bytes, src_buffer->size, src_origin, region, src_row_pitch,
		      src_slice_pitch);
	to = box_of(dst_buffer->bytes, dst_buffer->size, dst_origin, region, dst_row_pitch,
		    dst_slice_pitch);
	if (!fits(&from, region) || !fits(&to, region))
		return CL_INVALID_VALUE;
	copy_box(&to, &from, region);
	return ENQUEUE(CL_COMMAND_COPY_BUFFER_RECT, box_ns(region));
}

static cl_int check_image(cl_mem image, const size_t *origin, const size_t *region)
{
	if (!sim_is(image, SIM_MEMORY) || !image->row)
		return CL_INVALID_MEM_OBJECT;
	return is_box(origin, origin, region) ? CL_SUCCESS : CL_INVALID_VALUE;
}

/* The part of an image, and the region in bytes. */
static struct box image_box(cl_mem image, const size_t *origin, const size_t *region,
			    size_t bytes[3])
{
	const size_t begin[3] = {origin[0] * image->element, origin[1], origin[2]};

	bytes[0] = region[0] * image->element;
	bytes[1] = region[1];
	bytes[2] = region[2];
	return box_of(image->bytes, image->size, begin, bytes, image->row, image->slice);
}

static const size_t zero[3];

cl_int sim_clEnqueueReadImage(cl_command_queue command_queue, cl_mem image, cl_bool blocking,
			      const size_t *origin, const size_t *region, size_t row_pitch,
			      size_t slice_pitch, void *ptr, cl_uint num_events_in_wait_list,
			      const cl_event *event_wait_list, cl_event *event)
{
	cl_int result = first(CHECK, check_image(image, origin, region),
			      ptr ? CL_SUCCESS : CL_INVALID_VALUE);
	struct box from, to;
	size_t bytes[3];

	if (result != CL_SUCCESS)
		return result;
	from = image_box(image, origin, region, bytes);
	to = box_of(ptr, 0, zero, bytes, row_pitch, slice_pitch);
	if (!fits(&from, bytes))
		return CL_INVALID_VALUE;
	copy_box(&to, &from, bytes);
	return ENQUEUE(CL_COMMAND_READ_IMAGE, box_ns(bytes), .blocking = blocking);
}

cl_int sim_clEnqueueWriteImage(cl_command_queue command_queue, cl_mem image, cl_bool blocking,
			       const size_t *origin, const size_t *region, size_t row_pitch,
			       size_t slice_pitch, const void *ptr, cl_uint num_events_in_wait_list,
			       const cl_event *event_wait_list, cl_event *event)
{
	cl_int result = first(CHECK, check_image(image, origin, region),
			      ptr ? CL_SUCCESS : CL_INVALID_VALUE);
	struct box from, to;
	size_t bytes[3];

	if (result != CL_SUCCESS)
		return result;
	to = image_box(image, origin, region, bytes);
	from = box_of((char *)ptr, 0, zero, bytes, row_pitch, slice_pitch);
	if (!fits(&to, bytes))
		return CL_INVALID_VALUE;
	copy_box(&to, &from, bytes);
	return ENQUEUE(CL_COMMAND_WRITE_IMAGE, box_ns(bytes), .blocking = blocking);
}

cl_int sim_clEnqueueCopyImage(cl_command_queue command_queue, cl_mem src_image, cl_mem dst_image,
			      const size_t *src_origin, const size_t *dst_origin,
			      const size_t *region, cl_uint num_events_in_wait_list,
			      const cl_event *event_wait_list, cl_event *event)
{
	cl_int result = first(CHECK, check_image(src_image, src_origin, region),
			      check_image(dst_image, dst_origin, region));
	struct box from, to;
	size_t bytes[3];

	if (result != CL_SUCCESS)
		return result;
	from = image_box(src_image, src_origin, region, bytes);
	to = image_box(dst_image, dst_origin, region, bytes);
	if (!fits(&from, bytes) || !fits(&to, bytes))
		return CL_INVALID_VALUE;
	copy_box(&to, &from, bytes);
	return ENQUEUE(CL_COMMAND_COPY_IMAGE, box_ns(bytes));
}

cl_int sim_clEnqueueFillImage(cl_command_queue command_queue, cl_mem image, const void *fill_color,
			      const size_t *origin, const size_t *region,
			      cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
			      cl_event *event)
{
	cl_int result = first(CHECK, check_image(image, origin, region),
			      fill_color ? CL_SUCCESS : CL_INVALID_VALUE);
	struct box box;
	size_t bytes[3];

	if (result != CL_SUCCESS)
		return result;
	box = image_box(image, origin, region, bytes);
	if (!fits(&box, bytes))
		return CL_INVALID_VALUE;
	for (size_t z = 0; z < bytes[2]; z++) /* no colour is converted: the first bytes are it */
		for (size_t y = 0; y < bytes[1]; y++)
			fill(box.at + z * box.slice + y * box.row, fill_color, image->element,
			     bytes[0]);
	return ENQUEUE(CL_COMMAND_FILL_IMAGE, box_ns(bytes));
}

cl_int sim_clEnqueueCopyImageToBuffer(cl_command_queue command_queue, cl_mem src_image,
				      cl_mem dst_buffer, const size_t *src_origin,
				      const size_t *region, size_t dst_offset,
				      cl_uint num_events_in_wait_list,
				      const cl_event *event_wait_list, cl_event *event)
{
	cl_int result = first(CHECK, check_image(src_image, src_origin, region),
			      check_buffer(dst_buffer, dst_offset, 1));
	struct box from, to;
	size_t bytes[3];

	if (result != CL_SUCCESS)
		return result;
	from = image_box(src_image, src_origin, region, bytes);
	to = box_of(dst_buffer->bytes + dst_offset, dst_buffer->size - dst_offset, zero, bytes, 0,
		    0);
	if (!fits(&from, bytes) || !fits(&to, bytes))
		return CL_INVALID_VALUE;
	copy_box(&to, &from, bytes);
	return ENQUEUE(CL_COMMAND_COPY_IMAGE_TO_BUFFER, box_ns(bytes));
}

cl_int sim_clEnqueueCopyBufferToImage(cl_command_queue command_queue, cl_mem src_buffer,
				      cl_mem dst_image, size_t src_offset, const size_t *dst_origin,
				      const size_t *region, cl_uint num_events_in_wait_list,
				      const cl_event *event_wait_list, cl_event *event)
{
	cl_int result = first(CHECK, check_image(dst_image, dst_origin, region),
			      check_buffer(src_buffer, src_offset, 1));
	struct box from, to;
	size_t bytes[3];

	if (result != CL_SUCCESS)
		return result;
	to = image_box(dst_image, dst_origin, region, bytes);
	from = box_of(src_buffer->bytes + src_offset, src_buffer->size - src_offset, zero, bytes, 0,
		      0);
	if (!fits(&from, bytes) || !fits(&to, bytes))
		return CL_INVALID_VALUE;
	copy_box(&to, &from, bytes);
	return ENQUEUE(CL_COMMAND_COPY_BUFFER_TO_IMAGE, box_ns(bytes));
}

/* ---- maps ------------------------------------------------------------------------------------ */

void *sim_clEnqueueMapBuffer(cl_command_queue command_queue, cl_mem buffer, cl_bool blocking,
			     cl_map_flags map_flags, size_t offset, size_t size,
			     cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
			     cl_event *event, cl_int *errcode_ret)
{
	cl_int result = first(CHECK, check_buffer(buffer, offset, size), CL_SUCCESS);

	if (result == CL_SUCCESS)
		result = ENQUEUE(CL_COMMAND_MAP_BUFFER, sim_copy_ns(size), .blocking = blocking);
	if (result != CL_SUCCESS)
		return sim_no(result, errcode_ret);
	buffer->map_count++;
	return sim_yes(buffer->bytes + offset, errcode_ret);
}

void *sim_clEnqueueMapImage(cl_command_queue command_queue, cl_mem image, cl_bool blocking,
			    cl_map_flags map_flags, const size_t *origin, const size_t *region,
			    size_t *image_row_pitch, size_t *image_slice_pitch,
			    cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
			    cl_event *event, cl_int *errcode_ret)
{
	cl_int result = first(CHECK, check_image(image, origin, region),
			      image_row_pitch ? CL_SUCCESS : CL_INVALID_VALUE);
	size_t bytes[3];
	struct box box;

	if (result != CL_SUCCESS)
		return sim_no(result, errcode_ret);
	box = image_box(image, origin, region, bytes);
	if (!fits(&box, bytes))
		return sim_no(CL_INVALID_VALUE, errcode_ret);
	result = ENQUEUE(CL_COMMAND_MAP_IMAGE, box_ns(bytes), .blocking = blocking);
	if (result != CL_SUCCESS)
		return sim_no(result, errcode_ret);
	image->map_count++;
	*image_row_pitch = image->row;
	if (image_slice_pitch)
		*image_slice_pitch = image->image.image_depth ? image->slice : 0;
	return sim_yes(box.at, errcode_ret);
}

cl_int sim_clEnqueueUnmapMemObject(cl_command_queue command_queue, cl_mem memory, void *mapped_ptr,
				   cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
				   cl_event *event)
{
	const char *pointer = mapped_ptr;
	cl_int result = first(CHECK, check_buffer(memory, 0, 1), CL_SUCCESS);

	if (result != CL_SUCCESS)
		return result;
	if (!memory->map_count || pointer < memory->bytes ||
	    pointer >= memory->bytes + memory->size)
		return CL_INVALID_VALUE;
	memory->map_count--;
	return ENQUEUE(CL_COMMAND_UNMAP_MEM_OBJECT, sim_copy_ns(0));
}

cl_int sim_clEnqueueMigrateMemObjects(cl_command_queue command_queue, cl_uint num_mem_objects,
				      const cl_mem *mem_objects, cl_mem_migration_flags flags,
				      cl_uint num_events_in_wait_list,
				      const cl_event *event_wait_list, cl_event *event)
{
	uint64_t bytes = 0;

	if (!num_mem_objects || !mem_objects)
		return CL_INVALID_VALUE;
	for (cl_uint i = 0; i < num_mem_objects; i++) {
		if (!sim_is(mem_objects[i], SIM_MEMORY))
			return CL_INVALID_MEM_OBJECT;
		bytes += mem_objects[i]->size;
	}
	return ENQUEUE(CL_COMMAND_MIGRATE_MEM_OBJECTS, sim_copy_ns(bytes));
}

/* ---- kernels --------------------------------------------------------------------------------- */

cl_int sim_clEnqueueNDRangeKernel(cl_command_queue command_queue, cl_kernel kernel,
				  cl_uint work_dim, const size_t *global_work_offset,
				  const size_t *global_work_size, const size_t *local_work_size,
				  cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
				  cl_event *event)
{
	if (!sim_is(command_queue, SIM_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	if (!sim_is(kernel, SIM_KERNEL))
		return CL_INVALID_KERNEL;
	if (work_dim < 1 || work_dim > 3)
		return CL_INVALID_WORK_DIMENSION;
	return ENQUEUE(CL_COMMAND_NDRANGE_KERNEL, sim_kernel_ns(kernel));
}

cl_int sim_clEnqueueTask(cl_command_queue command_queue, cl_kernel kernel,
			 cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
			 cl_event *event)
{
	if (!sim_is(kernel, SIM_KERNEL))
		return CL_INVALID_KERNEL;
	return ENQUEUE(CL_COMMAND_TASK, sim_kernel_ns(kernel));
}

cl_int sim_clEnqueueNativeKernel(cl_command_queue command_queue,
				 void(CL_CALLBACK *user_func)(void *), void *args, size_t cb_args,
				 cl_uint num_mem_objects, const cl_mem *mem_list,
				 const void **args_mem_loc, cl_uint num_events_in_wait_list,
				 const cl_event *event_wait_list, cl_event *event)
{
	cl_int result = first(CHECK, user_func ? CL_SUCCESS : CL_INVALID_VALUE, CL_SUCCESS);
	char *copy;

	if (result != CL_SUCCESS)
		return result;
	copy = malloc(cb_args + 1);
	if (!copy)
		return CL_OUT_OF_HOST_MEMORY;
	if (cb_args)
		memcpy(copy, args, cb_args);
	for (cl_uint i = 0; i < num_mem_objects; i++) {
		size_t place = (size_t)((const char *)args_mem_loc[i] - (const char *)args);

		memcpy(copy + place, &mem_list[i]->bytes, sizeof(void *));
	}
	user_func(cb_args ? copy : NULL);
	free(copy);
	return ENQUEUE(CL_COMMAND_NATIVE_KERNEL, sim_kernel_ns(NULL));
}

/* ---- markers and barriers -------------------------------------------------------------------- */

cl_int sim_clEnqueueMarkerWithWaitList(cl_command_queue command_queue,
				       cl_uint num_events_in_wait_list,
				       const cl_event *event_wait_list, cl_event *event)
{
	return ENQUEUE(CL_COMMAND_MARKER, 0, .is_marker = true);
}

cl_int sim_clEnqueueBarrierWithWaitList(cl_command_queue command_queue,
					cl_uint num_events_in_wait_list,
					const cl_event *event_wait_list, cl_event *event)
{
	return ENQUEUE(CL_COMMAND_BARRIER, 0, .is_barrier = true);
}

cl_int sim_clEnqueueMarker(cl_command_queue command_queue, cl_event *event)
{
	return event ? sim_clEnqueueMarkerWithWaitList(command_queue, 0, NULL, event)
		     : CL_INVALID_VALUE;
}

cl_int sim_clEnqueueBarrier(cl_command_queue command_queue)
{
	return sim_clEnqueueBarrierWithWaitList(command_queue, 0, NULL, NULL);
}

cl_int sim_clEnqueueWaitForEvents(cl_command_queue command_queue, cl_uint num_events,
				  const cl_event *event_list)
{
	return num_events ? sim_clEnqueueBarrierWithWaitList(command_queue, num_events, event_list,
							     NULL)
			  : CL_INVALID_VALUE;
}

/* ---- shared virtual memory ------------------------------------------------------------------- */

cl_int
sim_clEnqueueSVMFree(cl_command_queue command_queue, cl_uint num_svm_pointers, void *svm_pointers[],
		     void(CL_CALLBACK *pfn_free_func)(cl_command_queue, cl_uint, void **, void *),
		     void *user_data, cl_uint num_events_in_wait_list,
		     const cl_event *event_wait_list, cl_event *event)
{
	cl_int result =
		first(CHECK, num_svm_pointers && svm_pointers ? CL_SUCCESS : CL_INVALID_VALUE,
		      CL_SUCCESS);

	if (result != CL_SUCCESS)
		return result;
	if (pfn_free_func)
		pfn_free_func(command_queue, num_svm_pointers, svm_pointers, user_data);
	for (cl_uint i = 0; !pfn_free_func && i < num_svm_pointers; i++)
		free(svm_pointers[i]);
	return ENQUEUE(CL_COMMAND_SVM_FREE, sim_copy_ns(0));
}

cl_int sim_clEnqueueSVMMemcpy(cl_command_queue command_queue, cl_bool blocking, void *dst_ptr,
			      const void *src_ptr, size_t size, cl_uint num_events_in_wait_list,
			      const cl_event *event_wait_list, cl_event *event)
{
	cl_int result =
		first(CHECK, dst_ptr && src_ptr ? CL_SUCCESS : CL_INVALID_VALUE, CL_SUCCESS);

	if (result != CL_SUCCESS)
		return result;
	memmove(dst_ptr, src_ptr, size);
	return ENQUEUE(CL_COMMAND_SVM_MEMCPY, sim_copy_ns(size), .blocking = blocking);
}

cl_int sim_clEnqueueSVMMemFill(cl_command_queue command_queue, void *svm_ptr, const void *pattern,
			       size_t pattern_size, size_t size, cl_uint num_events_in_wait_list,
			       const cl_event *event_wait_list, cl_event *event)
{
	cl_int result = first(CHECK, check_pattern(pattern, pattern_size, size),
			      svm_ptr ? CL_SUCCESS : CL_INVALID_VALUE);

	if (result != CL_SUCCESS)
		return result;
	fill(svm_ptr, pattern, pattern_size, size);
	return ENQUEUE(CL_COMMAND_SVM_MEMFILL, sim_copy_ns(size));
}

cl_int sim_clEnqueueSVMMap(cl_command_queue command_queue, cl_bool blocking, cl_map_flags flags,
			   void *svm_ptr, size_t size, cl_uint num_events_in_wait_list,
			   const cl_event *event_wait_list, cl_event *event)
{
	return svm_ptr ? ENQUEUE(CL_COMMAND_SVM_MAP, sim_copy_ns(size), .blocking = blocking)
		       : CL_INVALID_VALUE;
}

cl_int sim_clEnqueueSVMUnmap(cl_command_queue command_queue, void *svm_ptr,
			     cl_uint num_events_in_wait_list, const cl_event *event_wait_list,
			     cl_event *event)
{
	return svm_ptr ? ENQUEUE(CL_COMMAND_SVM_UNMAP, sim_copy_ns(0)) : CL_INVALID_VALUE;
}

cl_int sim_clEnqueueSVMMigrateMem(cl_command_queue command_queue, cl_uint num_svm_pointers,
				  const void **svm_pointers, const size_t *sizes,
				  cl_mem_migration_flags flags, cl_uint num_events_in_wait_list,
				  const cl_event *event_wait_list, cl_event *event)
{
	uint64_t bytes = 0;

	if (!num_svm_pointers || !svm_pointers)
		return CL_INVALID_VALUE;
	for (cl_uint i = 0; sizes && i < num_svm_pointers; i++)
		bytes += sizes[i];
	return ENQUEUE(CL_COMMAND_SVM_MIGRATE_MEM, sim_copy_ns(bytes));
}
