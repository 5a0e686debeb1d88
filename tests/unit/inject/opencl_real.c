/* SPDX-License-Identifier: MIT */
/* What the installed OpenCL headers say. */
#include "opencl_facts.h"

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#define CL_ENABLE_BETA_EXTENSIONS
#include <CL/cl_ext_intel.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include "event/event.h"

/* Not in Debian's headers; the numbers are those of NVIDIA's and of later Khronos headers. */
#ifndef CL_DEVICE_PCI_BUS_ID_NV
#define CL_DEVICE_PCI_BUS_ID_NV  0x4008
#define CL_DEVICE_PCI_SLOT_ID_NV 0x4009
#endif
#ifndef CL_DEVICE_PCI_DOMAIN_ID_NV
#define CL_DEVICE_PCI_DOMAIN_ID_NV 0x400A
#endif

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

const struct fact real_facts[] = {
#define FACT(name) {#name, (int)(name)},
#include "opencl_constants.inc"
	{"size of cl_int", sizeof(cl_int)},
	{"size of cl_uint", sizeof(cl_uint)},
	{"size of cl_bool", sizeof(cl_bool)},
	{"size of cl_long", sizeof(cl_long)},
	{"size of cl_ulong", sizeof(cl_ulong)},
	{"size of a device type", sizeof(cl_device_type)},
	{"size of memory flags", sizeof(cl_mem_flags)},
	{"size of queue properties", sizeof(cl_command_queue_properties)},
	{"size of an info name", sizeof(cl_device_info)},
	{"size of the PCI address", sizeof(cl_device_pci_bus_info_khr)},
	{"PCI bus", offsetof(cl_device_pci_bus_info_khr, pci_bus)},
	{"PCI device", offsetof(cl_device_pci_bus_info_khr, pci_device)},
	{"PCI function", offsetof(cl_device_pci_bus_info_khr, pci_function)},
	{"size of AMD's topology", sizeof(cl_device_topology_amd)},
	{"AMD's PCI bus", offsetof(cl_device_topology_amd, pcie.bus)},
	{"AMD's PCI device", offsetof(cl_device_topology_amd, pcie.device)},
	{"AMD's PCI function", offsetof(cl_device_topology_amd, pcie.function)},
	{"device type: CPU", CL_DEVICE_TYPE_CPU},
	{"device type: GPU", CL_DEVICE_TYPE_GPU},
	{"device type: accelerator", CL_DEVICE_TYPE_ACCELERATOR},
	{NULL, 0},
};

#define SLOT(number, name) \
	[number] = {#name, offsetof(struct _cl_icd_dispatch, name) / sizeof(void (*)(void))},
#define STATUS(number, name, ...)        SLOT(number, name)
#define CREATE(number, name, ...)        SLOT(number, name)
#define POINTER(number, name, ...)       SLOT(number, name)
#define NOTHING(number, name, ...)       SLOT(number, name)
#define WAIT(number, name, ...)          SLOT(number, name)
#define ENQUEUE(number, name, ...)       SLOT(number, name)
#define ENQUEUE_PLAIN(number, name, ...) SLOT(number, name)
#define ENQUEUE_MAP(number, name, ...)   SLOT(number, name)
#define PASSED(number, name)             SLOT(number, name)
#define OPENCL_CORE_ONLY
const struct fact real_slots[FUNCTIONS] = {
#include "opencl_calls.inc"
};
#undef OPENCL_CORE_ONLY
const int real_slot_count = sizeof(struct _cl_icd_dispatch) / sizeof(void (*)(void));

#include "abi/opencl_calls_end.h"
#define COMPARE(number, name, type, parameters) \
	case number:                            \
		return __builtin_types_compatible_p(__typeof__(&(name)), type(*) parameters);
#define STATUS(number, name, parameters, ...)           COMPARE(number, name, cl_int, parameters)
#define CREATE(number, name, type, parameters, ...)     COMPARE(number, name, type, parameters)
#define POINTER(number, name, parameters, ...)          COMPARE(number, name, void *, parameters)
#define NOTHING(number, name, parameters, ...)          COMPARE(number, name, void, parameters)
#define WAIT(number, name, parameters, ...)             COMPARE(number, name, cl_int, parameters)
#define ENQUEUE(number, name, command, parameters, ...) COMPARE(number, name, cl_int, parameters)
#define ENQUEUE_PLAIN(number, name, command, parameters, ...) \
	COMPARE(number, name, cl_int, parameters)
#define ENQUEUE_MAP(number, name, command, parameters, ...) \
	COMPARE(number, name, void *, parameters)
#define PASSED(number, name) /* Direct3D: declared for Windows alone */

/* One function per callback that OpenCL has: in it cl_callback, which our rows call them all, is
 * that one. */
static int context_notified(int number)
{
	typedef void(CL_CALLBACK * cl_callback)(const char *, const void *, size_t, void *);

	switch (number) {
#include "opencl_calls.inc"
	default:
		return -1;
	}
}

static int context_ended(int number)
{
	typedef void(CL_CALLBACK * cl_callback)(cl_context, void *);

	switch (number) {
#include "opencl_calls.inc"
	default:
		return -1;
	}
}

static int program_notified(int number)
{
	typedef void(CL_CALLBACK * cl_callback)(cl_program, void *);

	switch (number) {
#include "opencl_calls.inc"
	default:
		return -1;
	}
}

static int event_notified(int number)
{
	typedef void(CL_CALLBACK * cl_callback)(cl_event, cl_int, void *);

	switch (number) {
#include "opencl_calls.inc"
	default:
		return -1;
	}
}

static int memory_ended(int number)
{
	typedef void(CL_CALLBACK * cl_callback)(cl_mem, void *);

	switch (number) {
#include "opencl_calls.inc"
	default:
		return -1;
	}
}

static int native_kernel(int number)
{
	typedef void(CL_CALLBACK * cl_callback)(void *);

	switch (number) {
#include "opencl_calls.inc"
	default:
		return -1;
	}
}

static int svm_freed(int number)
{
	typedef void(CL_CALLBACK * cl_callback)(cl_command_queue, cl_uint, void *[], void *);

	switch (number) {
#include "opencl_calls.inc"
	default:
		return -1;
	}
}

int real_is_compatible(int number)
{
	static int (*const callbacks[])(int) = {context_notified, context_ended, program_notified,
						event_notified,   memory_ended,  native_kernel,
						svm_freed};
	int compatible = -1;

	for (size_t i = 0; i < sizeof(callbacks) / sizeof(callbacks[0]); i++) {
		int one = callbacks[i](number);

		compatible = one > compatible ? one : compatible;
	}
	return compatible;
}
