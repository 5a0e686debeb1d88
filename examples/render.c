/* SPDX-License-Identifier: MIT
 *
 * examples/render.c - a small renderer to profile: a ray-marched scene with bloom and tone mapping
 *
 *	render [--iterations N] [--width PX] [--height PX] [--output FILE.ppm]
 *
 * Every iteration is one frame: the scene is uploaded, marched, its bright parts are blurred in two
 * passes, the result is tone mapped and read back. Copies go through a queue of their own and two
 * frames are in flight, so that frame N is read while frame N + 1 is computed; events tie the two
 * queues together. The last frame is written as a PPM.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPHERE_COUNT 8
#define SLOT_COUNT   2 /* frames in flight */

struct sphere {
	cl_float4 centre_radius;
	cl_float4 colour_glow;
};

struct scene {
	cl_float4 eye;
	cl_float4 light;
	struct sphere spheres[SPHERE_COUNT];
};

struct settings {
	unsigned int iterations, width, height;
	const char *output;
};

/* What one frame in flight owns. */
struct slot {
	struct scene scene;
	cl_mem scene_buffer;
	cl_mem picture;
	unsigned char *pixels;
	cl_event read; /* the copy into pixels, NULL before the first */
};

struct renderer {
	struct settings settings;
	cl_context context;
	cl_device_id device;
	cl_command_queue compute, copy;
	cl_program program;
	cl_kernel march, blur_rows, blur_columns, tone_map;
	cl_mem radiance, scratch, bloom;
	struct slot slots[SLOT_COUNT];
};

static const char source[] =
	"typedef struct { float4 centre_radius, colour_glow; } sphere;\n"
	"typedef struct { float4 eye, light; sphere spheres[8]; } scene;\n"
	"\n"
	"static float distance_to(constant scene *s, float3 p, int *hit)\n"
	"{\n"
	"	float nearest = p.y + 1.0f; /* the floor */\n"
	"	*hit = -1;\n"
	"	for (int i = 0; i < 8; i++) {\n"
	"		float4 c = s->spheres[i].centre_radius;\n"
	"		float d = length(p - c.xyz) - c.w;\n"
	"		if (d < nearest) {\n"
	"			nearest = d;\n"
	"			*hit = i;\n"
	"		}\n"
	"	}\n"
	"	return nearest;\n"
	"}\n"
	"\n"
	"static float3 normal_at(constant scene *s, float3 p)\n"
	"{\n"
	"	const float e = 1e-3f;\n"
	"	int hit;\n"
	"	float d = distance_to(s, p, &hit);\n"
	"	return normalize((float3)(distance_to(s, p + (float3)(e, 0, 0), &hit) - d,\n"
	"				  distance_to(s, p + (float3)(0, e, 0), &hit) - d,\n"
	"				  distance_to(s, p + (float3)(0, 0, e), &hit) - d));\n"
	"}\n"
	"\n"
	"kernel void march(constant scene *s, global float4 *radiance)\n"
	"{\n"
	"	int x = get_global_id(0), y = get_global_id(1);\n"
	"	int width = get_global_size(0), height = get_global_size(1);\n"
	"	float3 eye = s->eye.xyz;\n"
	"	float3 ray = normalize((float3)((2.0f * x - width) / height,\n"
	"					(height - 2.0f * y) / height, 1.5f));\n"
	"	float travelled = 0.0f;\n"
	"	int hit = -1;\n"
	"	for (int i = 0; i < 96 && travelled < 60.0f; i++) {\n"
	"		float d = distance_to(s, eye + ray * travelled, &hit);\n"
	"		if (d < 1e-3f)\n"
	"			break;\n"
	"		travelled += d;\n"
	"	}\n"
	"	float3 colour = (float3)(0.35f, 0.5f, 0.8f) * (0.6f + 0.4f * ray.y);\n"
	"	if (travelled < 60.0f) {\n"
	"		float3 p = eye + ray * travelled;\n"
	"		float3 n = normal_at(s, p);\n"
	"		float lit = fmax(0.0f, dot(n, normalize(s->light.xyz - p)));\n"
	"		int square = ((int)floor(p.x) + (int)floor(p.z)) & 1;\n"
	"		float4 c = hit < 0 ? (float4)(0.3f + 0.4f * square) * (float4)(1, 1, 1, "
	"0)\n"
	"				   : s->spheres[hit].colour_glow;\n"
	"		colour = c.xyz * (0.1f + 0.9f * lit + 4.0f * c.w);\n"
	"	}\n"
	"	radiance[y * width + x] = (float4)(colour, 1.0f);\n"
	"}\n"
	"\n"
	"kernel void blur_rows(global const float4 *from, global float4 *to, int radius)\n"
	"{\n"
	"	int x = get_global_id(0), y = get_global_id(1), width = get_global_size(0);\n"
	"	float4 sum = 0.0f;\n"
	"	for (int i = -radius; i <= radius; i++) {\n"
	"		float4 c = from[y * width + clamp(x + i, 0, width - 1)];\n"
	"		sum += fmax(c - 1.0f, 0.0f); /* only what is brighter than white */\n"
	"	}\n"
	"	to[y * width + x] = sum / (2 * radius + 1);\n"
	"}\n"
	"\n"
	"kernel void blur_columns(global const float4 *from, global float4 *to, int radius)\n"
	"{\n"
	"	int x = get_global_id(0), y = get_global_id(1);\n"
	"	int width = get_global_size(0), height = get_global_size(1);\n"
	"	float4 sum = 0.0f;\n"
	"	for (int i = -radius; i <= radius; i++)\n"
	"		sum += from[clamp(y + i, 0, height - 1) * width + x];\n"
	"	to[y * width + x] = sum / (2 * radius + 1);\n"
	"}\n"
	"\n"
	"kernel void tone_map(global const float4 *radiance, global const float4 *bloom,\n"
	"		     global uchar *pixels)\n"
	"{\n"
	"	int i = get_global_id(1) * get_global_size(0) + get_global_id(0);\n"
	"	float3 c = radiance[i].xyz + bloom[i].xyz;\n"
	"	c = pow(c / (1.0f + c), (float3)(1.0f / 2.2f)); /* Reinhard, then gamma */\n"
	"	vstore3(convert_uchar3_sat(c * 255.0f), i, pixels);\n"
	"}\n";

static void check(cl_int status, const char *what)
{
	if (status == CL_SUCCESS)
		return;
	fprintf(stderr, "render: %s failed: OpenCL error %d\n", what, status);
	exit(1);
}

static void *allocate(size_t size_bytes)
{
	void *memory = calloc(1, size_bytes);

	if (!memory) {
		fprintf(stderr, "render: no memory for %zu bytes\n", size_bytes);
		exit(1);
	}
	return memory;
}

static cl_device_id first_device(void)
{
	cl_platform_id platforms[16];
	cl_device_id device;
	cl_uint count = 0;

	if (clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS)
		count = 0;
	for (cl_uint i = 0; i < count && i < 16; i++)
		if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL) ==
		    CL_SUCCESS)
			return device;
	fprintf(stderr,
		"render: no OpenCL device found; install a driver such as pocl-opencl-icd\n");
	exit(1);
}

static cl_program build_program(cl_context context, cl_device_id device)
{
	const char *text = source;
	char log[4096] = "";
	cl_int status;
	cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);

	check(status, "clCreateProgramWithSource");
	status = clBuildProgram(program, 1, &device, "-cl-fast-relaxed-math", NULL, NULL);
	if (status == CL_BUILD_PROGRAM_FAILURE) {
		clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log,
				      NULL);
		fprintf(stderr, "%s\n", log);
	}
	check(status, "clBuildProgram");
	return program;
}

static cl_kernel create_kernel(cl_program program, const char *name)
{
	cl_int status;
	cl_kernel kernel = clCreateKernel(program, name, &status);

	check(status, name);
	return kernel;
}

static cl_mem create_buffer(cl_context context, cl_mem_flags flags, size_t size_bytes)
{
	cl_int status;
	cl_mem buffer = clCreateBuffer(context, flags, size_bytes, NULL, &status);

	check(status, "clCreateBuffer");
	return buffer;
}

static cl_command_queue create_queue(cl_context context, cl_device_id device)
{
	cl_int status;
	cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);

	check(status, "clCreateCommandQueue");
	return queue;
}

static void renderer_init(struct renderer *r, const struct settings *settings)
{
	size_t pixel_count = (size_t)settings->width * settings->height;
	cl_int status;

	memset(r, 0, sizeof *r);
	r->settings = *settings;
	r->device = first_device();
	r->context = clCreateContext(NULL, 1, &r->device, NULL, NULL, &status);
	check(status, "clCreateContext");
	r->compute = create_queue(r->context, r->device);
	r->copy = create_queue(r->context, r->device);
	r->program = build_program(r->context, r->device);
	r->march = create_kernel(r->program, "march");
	r->blur_rows = create_kernel(r->program, "blur_rows");
	r->blur_columns = create_kernel(r->program, "blur_columns");
	r->tone_map = create_kernel(r->program, "tone_map");
	r->radiance = create_buffer(r->context, CL_MEM_READ_WRITE, pixel_count * sizeof(cl_float4));
	r->scratch = create_buffer(r->context, CL_MEM_READ_WRITE, pixel_count * sizeof(cl_float4));
	r->bloom = create_buffer(r->context, CL_MEM_READ_WRITE, pixel_count * sizeof(cl_float4));
	for (int i = 0; i < SLOT_COUNT; i++) {
		struct slot *slot = &r->slots[i];

		slot->scene_buffer =
			create_buffer(r->context, CL_MEM_READ_ONLY, sizeof slot->scene);
		slot->picture = create_buffer(r->context, CL_MEM_WRITE_ONLY, pixel_count * 3);
		slot->pixels = allocate(pixel_count * 3);
	}
}

static void renderer_fini(struct renderer *r)
{
	for (int i = 0; i < SLOT_COUNT; i++) {
		if (r->slots[i].read)
			clReleaseEvent(r->slots[i].read);
		clReleaseMemObject(r->slots[i].scene_buffer);
		clReleaseMemObject(r->slots[i].picture);
		free(r->slots[i].pixels);
	}
	clReleaseMemObject(r->radiance);
	clReleaseMemObject(r->scratch);
	clReleaseMemObject(r->bloom);
	clReleaseKernel(r->march);
	clReleaseKernel(r->blur_rows);
	clReleaseKernel(r->blur_columns);
	clReleaseKernel(r->tone_map);
	clReleaseProgram(r->program);
	clReleaseCommandQueue(r->compute);
	clReleaseCommandQueue(r->copy);
	clReleaseContext(r->context);
}

static void set_memory(cl_kernel kernel, cl_uint index, cl_mem memory)
{
	check(clSetKernelArg(kernel, index, sizeof memory, &memory), "clSetKernelArg");
}

static void enqueue_kernel(struct renderer *r, cl_kernel kernel, const cl_event *wait,
			   cl_event *ret_done)
{
	size_t size[2] = {r->settings.width, r->settings.height};

	check(clEnqueueNDRangeKernel(r->compute, kernel, 2, NULL, size, NULL, wait ? 1 : 0, wait,
				     ret_done),
	      "clEnqueueNDRangeKernel");
}

static void place_spheres(struct scene *scene, unsigned int frame)
{
	scene->eye = (cl_float4){{0.0f, 1.2f, -6.0f, 0.0f}};
	scene->light = (cl_float4){{4.0f, 6.0f, -5.0f, 0.0f}};
	for (int i = 0; i < SPHERE_COUNT; i++) {
		float angle = 6.2832f * i / SPHERE_COUNT + 0.05f * frame;
		struct sphere *sphere = &scene->spheres[i];

		sphere->centre_radius = (cl_float4){{3.0f * cosf(angle), 0.5f * sinf(3.0f * angle),
						     3.0f * sinf(angle) + 1.0f, 0.6f}};
		sphere->colour_glow = (cl_float4){
			{0.5f + 0.5f * cosf(i), 0.5f + 0.5f * sinf(i), 0.4f, i % 3 ? 0.0f : 0.8f}};
	}
}

static void upload_scene(struct renderer *r, struct slot *slot, unsigned int frame,
			 cl_event *ret_uploaded)
{
	place_spheres(&slot->scene, frame);
	check(clEnqueueWriteBuffer(r->copy, slot->scene_buffer, CL_FALSE, 0, sizeof slot->scene,
				   &slot->scene, 0, NULL, ret_uploaded),
	      "clEnqueueWriteBuffer");
	check(clFlush(r->copy), "clFlush");
}

static void shade(struct renderer *r, struct slot *slot, cl_event uploaded)
{
	set_memory(r->march, 0, slot->scene_buffer);
	set_memory(r->march, 1, r->radiance);
	enqueue_kernel(r, r->march, &uploaded, NULL);
}

static void add_bloom(struct renderer *r)
{
	cl_int radius = 6;

	set_memory(r->blur_rows, 0, r->radiance);
	set_memory(r->blur_rows, 1, r->scratch);
	check(clSetKernelArg(r->blur_rows, 2, sizeof radius, &radius), "clSetKernelArg");
	enqueue_kernel(r, r->blur_rows, NULL, NULL);
	set_memory(r->blur_columns, 0, r->scratch);
	set_memory(r->blur_columns, 1, r->bloom);
	check(clSetKernelArg(r->blur_columns, 2, sizeof radius, &radius), "clSetKernelArg");
	enqueue_kernel(r, r->blur_columns, NULL, NULL);
}

static void develop(struct renderer *r, struct slot *slot, cl_event *ret_developed)
{
	set_memory(r->tone_map, 0, r->radiance);
	set_memory(r->tone_map, 1, r->bloom);
	set_memory(r->tone_map, 2, slot->picture);
	enqueue_kernel(r, r->tone_map, NULL, ret_developed);
	check(clFlush(r->compute), "clFlush");
}

static void download(struct renderer *r, struct slot *slot, cl_event developed)
{
	size_t size_bytes = (size_t)r->settings.width * r->settings.height * 3;

	check(clEnqueueReadBuffer(r->copy, slot->picture, CL_FALSE, 0, size_bytes, slot->pixels, 1,
				  &developed, &slot->read),
	      "clEnqueueReadBuffer");
	check(clFlush(r->copy), "clFlush");
}

/* A slot may be used again once its picture has arrived. */
static void wait_for_slot(struct slot *slot)
{
	if (!slot->read)
		return;
	check(clWaitForEvents(1, &slot->read), "clWaitForEvents");
	clReleaseEvent(slot->read);
	slot->read = NULL;
}

static void render_frame(struct renderer *r, unsigned int frame)
{
	struct slot *slot = &r->slots[frame % SLOT_COUNT];
	cl_event uploaded, developed;

	wait_for_slot(slot);
	upload_scene(r, slot, frame, &uploaded);
	shade(r, slot, uploaded);
	add_bloom(r);
	develop(r, slot, &developed);
	download(r, slot, developed);
	clReleaseEvent(uploaded);
	clReleaseEvent(developed);
}

static int write_picture(const struct settings *settings, const unsigned char *pixels)
{
	size_t size_bytes = (size_t)settings->width * settings->height * 3;
	FILE *file = fopen(settings->output, "wb");
	int failed;

	if (!file) {
		fprintf(stderr, "render: %s: %s\n", settings->output, strerror(errno));
		return 1;
	}
	failed = fprintf(file, "P6\n%u %u\n255\n", settings->width, settings->height) < 0;
	failed |= fwrite(pixels, 1, size_bytes, file) != size_bytes;
	failed |= fclose(file) != 0;
	if (failed)
		fprintf(stderr, "render: %s: not all of it could be written\n", settings->output);
	return failed;
}

static unsigned int parse_count(const char *text, const char *name)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end || value < 1 || value > 16384) {
		fprintf(stderr, "render: %s must be a number from 1 to 16384, not '%s'\n", name,
			text);
		exit(2);
	}
	return (unsigned int)value;
}

static void parse_settings(int argc, char **argv, struct settings *settings)
{
	static const struct option options[] = {{"iterations", required_argument, NULL, 'i'},
						{"width", required_argument, NULL, 'w'},
						{"height", required_argument, NULL, 'h'},
						{"output", required_argument, NULL, 'o'},
						{NULL, 0, NULL, 0}};
	int option;

	while ((option = getopt_long(argc, argv, "i:w:h:o:", options, NULL)) != -1) {
		switch (option) {
		case 'i':
			settings->iterations = parse_count(optarg, "--iterations");
			break;
		case 'w':
			settings->width = parse_count(optarg, "--width");
			break;
		case 'h':
			settings->height = parse_count(optarg, "--height");
			break;
		case 'o':
			settings->output = optarg;
			break;
		default:
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	struct settings settings = {.iterations = 20, .width = 320, .height = 200};
	struct renderer renderer;
	int status = 0;

	parse_settings(argc, argv, &settings);
	renderer_init(&renderer, &settings);
	for (unsigned int frame = 0; frame < settings.iterations; frame++)
		render_frame(&renderer, frame);
	for (int i = 0; i < SLOT_COUNT; i++)
		wait_for_slot(&renderer.slots[i]);
	printf("rendered %u frames of %u x %u\n", settings.iterations, settings.width,
	       settings.height);
	if (settings.output)
		status = write_picture(
			&settings, renderer.slots[(settings.iterations - 1) % SLOT_COUNT].pixels);
	renderer_fini(&renderer);
	return status;
}
