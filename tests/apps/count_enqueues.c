/* SPDX-License-Identifier: MIT
 *
 * tests/apps/count_enqueues.c - an OpenCL layer that counts enqueues without duet
 *
 * Runs in: the program under test, loaded by OpenCL's loader (OPENCL_LAYERS), below duet's guest or
 * without it.
 * Gives:    two 64-bit numbers in the file COUNT_ENQUEUES: successful enqueues and failed ones. All
 * processes share the file.
 * Fails:    silently. Without the file the counts are lost and the program runs on.
 *
 * Why:      duet's ledger needs a second opinion that shares no code with its guest.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct counts {
	_Atomic unsigned long succeeded;
	_Atomic unsigned long failed;
};

static struct counts unshared;
static struct counts *counts = &unshared;
static const struct _cl_icd_dispatch *driver;
static struct _cl_icd_dispatch layer;

static cl_int count(cl_int status)
{
	atomic_fetch_add(status == CL_SUCCESS ? &counts->succeeded : &counts->failed, 1);
	return status;
}

#define WAITS          cl_uint wait_count, const cl_event *waits, cl_event *event
#define WAIT_ARGUMENTS wait_count, waits, event

/* name, parameters, arguments: of functions that return a status */
#define STATUS_FUNCTIONS(X)                                                                       \
	X(clEnqueueReadBuffer,                                                                    \
	  (cl_command_queue q, cl_mem b, cl_bool w, size_t o, size_t n, void *p, WAITS),          \
	  (q, b, w, o, n, p, WAIT_ARGUMENTS))                                                     \
	X(clEnqueueWriteBuffer,                                                                   \
	  (cl_command_queue q, cl_mem b, cl_bool w, size_t o, size_t n, const void *p, WAITS),    \
	  (q, b, w, o, n, p, WAIT_ARGUMENTS))                                                     \
	X(clEnqueueReadBufferRect,                                                                \
	  (cl_command_queue q, cl_mem b, cl_bool w, const size_t *o, const size_t *h,             \
	   const size_t *r, size_t br, size_t bs, size_t hr, size_t hs, void *p, WAITS),          \
	  (q, b, w, o, h, r, br, bs, hr, hs, p, WAIT_ARGUMENTS))                                  \
	X(clEnqueueWriteBufferRect,                                                               \
	  (cl_command_queue q, cl_mem b, cl_bool w, const size_t *o, const size_t *h,             \
	   const size_t *r, size_t br, size_t bs, size_t hr, size_t hs, const void *p, WAITS),    \
	  (q, b, w, o, h, r, br, bs, hr, hs, p, WAIT_ARGUMENTS))                                  \
	X(clEnqueueCopyBuffer,                                                                    \
	  (cl_command_queue q, cl_mem s, cl_mem d, size_t so, size_t to, size_t n, WAITS),        \
	  (q, s, d, so, to, n, WAIT_ARGUMENTS))                                                   \
	X(clEnqueueCopyBufferRect,                                                                \
	  (cl_command_queue q, cl_mem s, cl_mem d, const size_t *so, const size_t *to,            \
	   const size_t *r, size_t sr, size_t ss, size_t dr, size_t ds, WAITS),                   \
	  (q, s, d, so, to, r, sr, ss, dr, ds, WAIT_ARGUMENTS))                                   \
	X(clEnqueueFillBuffer,                                                                    \
	  (cl_command_queue q, cl_mem b, const void *p, size_t k, size_t o, size_t n, WAITS),     \
	  (q, b, p, k, o, n, WAIT_ARGUMENTS))                                                     \
	X(clEnqueueReadImage,                                                                     \
	  (cl_command_queue q, cl_mem i, cl_bool w, const size_t *o, const size_t *r, size_t y,   \
	   size_t z, void *p, WAITS),                                                             \
	  (q, i, w, o, r, y, z, p, WAIT_ARGUMENTS))                                               \
	X(clEnqueueWriteImage,                                                                    \
	  (cl_command_queue q, cl_mem i, cl_bool w, const size_t *o, const size_t *r, size_t y,   \
	   size_t z, const void *p, WAITS),                                                       \
	  (q, i, w, o, r, y, z, p, WAIT_ARGUMENTS))                                               \
	X(clEnqueueFillImage,                                                                     \
	  (cl_command_queue q, cl_mem i, const void *p, const size_t *o, const size_t *r, WAITS), \
	  (q, i, p, o, r, WAIT_ARGUMENTS))                                                        \
	X(clEnqueueCopyImage,                                                                     \
	  (cl_command_queue q, cl_mem s, cl_mem d, const size_t *so, const size_t *to,            \
	   const size_t *r, WAITS),                                                               \
	  (q, s, d, so, to, r, WAIT_ARGUMENTS))                                                   \
	X(clEnqueueCopyImageToBuffer,                                                             \
	  (cl_command_queue q, cl_mem s, cl_mem d, const size_t *o, const size_t *r, size_t to,   \
	   WAITS),                                                                                \
	  (q, s, d, o, r, to, WAIT_ARGUMENTS))                                                    \
	X(clEnqueueCopyBufferToImage,                                                             \
	  (cl_command_queue q, cl_mem s, cl_mem d, size_t so, const size_t *o, const size_t *r,   \
	   WAITS),                                                                                \
	  (q, s, d, so, o, r, WAIT_ARGUMENTS))                                                    \
	X(clEnqueueUnmapMemObject, (cl_command_queue q, cl_mem m, void *p, WAITS),                \
	  (q, m, p, WAIT_ARGUMENTS))                                                              \
	X(clEnqueueMigrateMemObjects,                                                             \
	  (cl_command_queue q, cl_uint n, const cl_mem *m, cl_mem_migration_flags f, WAITS),      \
	  (q, n, m, f, WAIT_ARGUMENTS))                                                           \
	X(clEnqueueNDRangeKernel,                                                                 \
	  (cl_command_queue q, cl_kernel k, cl_uint d, const size_t *o, const size_t *g,          \
	   const size_t *l, WAITS),                                                               \
	  (q, k, d, o, g, l, WAIT_ARGUMENTS))                                                     \
	X(clEnqueueNativeKernel,                                                                  \
	  (cl_command_queue q, void(CL_CALLBACK * f)(void *), void *a, size_t s, cl_uint n,       \
	   const cl_mem *m, const void **l, WAITS),                                               \
	  (q, f, a, s, n, m, l, WAIT_ARGUMENTS))                                                  \
	X(clEnqueueTask, (cl_command_queue q, cl_kernel k, WAITS), (q, k, WAIT_ARGUMENTS))        \
	X(clEnqueueMarker, (cl_command_queue q, cl_event * e), (q, e))                            \
	X(clEnqueueBarrier, (cl_command_queue q), (q))                                            \
	X(clEnqueueWaitForEvents, (cl_command_queue q, cl_uint n, const cl_event *e), (q, n, e))  \
	X(clEnqueueMarkerWithWaitList, (cl_command_queue q, WAITS), (q, WAIT_ARGUMENTS))          \
	X(clEnqueueBarrierWithWaitList, (cl_command_queue q, WAITS), (q, WAIT_ARGUMENTS))         \
	X(clEnqueueSVMFree,                                                                       \
	  (cl_command_queue q, cl_uint n, void **p,                                               \
	   void(CL_CALLBACK * f)(cl_command_queue, cl_uint, void **, void *), void *u, WAITS),    \
	  (q, n, p, f, u, WAIT_ARGUMENTS))                                                        \
	X(clEnqueueSVMMemcpy,                                                                     \
	  (cl_command_queue q, cl_bool w, void *d, const void *s, size_t n, WAITS),               \
	  (q, w, d, s, n, WAIT_ARGUMENTS))                                                        \
	X(clEnqueueSVMMemFill,                                                                    \
	  (cl_command_queue q, void *d, const void *p, size_t k, size_t n, WAITS),                \
	  (q, d, p, k, n, WAIT_ARGUMENTS))                                                        \
	X(clEnqueueSVMMap,                                                                        \
	  (cl_command_queue q, cl_bool w, cl_map_flags f, void *p, size_t n, WAITS),              \
	  (q, w, f, p, n, WAIT_ARGUMENTS))                                                        \
	X(clEnqueueSVMUnmap, (cl_command_queue q, void *p, WAITS), (q, p, WAIT_ARGUMENTS))        \
	X(clEnqueueSVMMigrateMem,                                                                 \
	  (cl_command_queue q, cl_uint n, const void **p, const size_t *s,                        \
	   cl_mem_migration_flags f, WAITS),                                                      \
	  (q, n, p, s, f, WAIT_ARGUMENTS))

#define DEFINE(name, parameters, arguments)               \
	static cl_int CL_API_CALL count_##name parameters \
	{                                                 \
		return count(driver->name arguments);     \
	}
STATUS_FUNCTIONS(DEFINE)

static void *CL_API_CALL count_clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer,
						  cl_bool blocks, cl_map_flags flags, size_t offset,
						  size_t size, WAITS, cl_int *ret_status)
{
	cl_int status = CL_SUCCESS;
	void *address = driver->clEnqueueMapBuffer(queue, buffer, blocks, flags, offset, size,
						   WAIT_ARGUMENTS, &status);

	count(status);
	if (ret_status)
		*ret_status = status;
	return address;
}

static void *CL_API_CALL count_clEnqueueMapImage(cl_command_queue queue, cl_mem image,
						 cl_bool blocks, cl_map_flags flags,
						 const size_t *origin, const size_t *region,
						 size_t *row_pitch, size_t *slice_pitch, WAITS,
						 cl_int *ret_status)
{
	cl_int status = CL_SUCCESS;
	void *address = driver->clEnqueueMapImage(queue, image, blocks, flags, origin, region,
						  row_pitch, slice_pitch, WAIT_ARGUMENTS, &status);

	count(status);
	if (ret_status)
		*ret_status = status;
	return address;
}

static void share_counts(const char *path)
{
	int file = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
	void *shared;

	if (file < 0)
		return;
	if (ftruncate(file, sizeof(*counts)) == 0) {
		shared = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		if (shared != MAP_FAILED)
			counts = shared;
	}
	close(file);
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void *value,
					       size_t *ret_size)
{
	if (name != CL_LAYER_API_VERSION)
		return CL_INVALID_VALUE;
	if (value && size < sizeof(cl_layer_api_version))
		return CL_INVALID_VALUE;
	if (value)
		*(cl_layer_api_version *)value = CL_LAYER_API_VERSION_100;
	if (ret_size)
		*ret_size = sizeof(cl_layer_api_version);
	return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const struct _cl_icd_dispatch *target,
					    cl_uint *ret_entries,
					    const struct _cl_icd_dispatch **ret_layer)
{
	if (entries < sizeof(layer) / sizeof(void *))
		return CL_INVALID_VALUE;
	driver = target;
	share_counts(getenv("COUNT_ENQUEUES"));
#define ENTER(name, parameters, arguments) layer.name = count_##name;
	STATUS_FUNCTIONS(ENTER)
	layer.clEnqueueMapBuffer = count_clEnqueueMapBuffer;
	layer.clEnqueueMapImage = count_clEnqueueMapImage;
	*ret_entries = sizeof(layer) / sizeof(void *);
	*ret_layer = &layer;
	return CL_SUCCESS;
}
