/* SPDX-License-Identifier: MIT */
/* What abi/opencl.h says. */
#include "opencl_facts.h"

#include "event/event.h"
#include "abi/opencl.h"

const struct fact ours_facts[] = {
#define FACT(name) {#name, name},
#include "opencl_constants.inc"
	{"size of cl_int", sizeof(cl_int)},
	{"size of cl_uint", sizeof(cl_uint)},
	{"size of cl_bool", sizeof(cl_bool)},
	{"size of cl_long", sizeof(cl_long)},
	{"size of cl_ulong", sizeof(cl_ulong)},
	{"size of a device type", sizeof(cl_ulong)},
	{"size of memory flags", sizeof(cl_ulong)},
	{"size of queue properties", sizeof(cl_ulong)},
	{"size of an info name", sizeof(cl_uint)},
	{"size of the PCI address", sizeof(struct cl_pci_bus_info)},
	{"PCI bus", offsetof(struct cl_pci_bus_info, bus)},
	{"PCI device", offsetof(struct cl_pci_bus_info, device)},
	{"PCI function", offsetof(struct cl_pci_bus_info, function)},
	{"size of AMD's topology", sizeof(struct cl_topology_amd)},
	{"AMD's PCI bus", offsetof(struct cl_topology_amd, bus)},
	{"AMD's PCI device", offsetof(struct cl_topology_amd, device)},
	{"AMD's PCI function", offsetof(struct cl_topology_amd, function)},
	{"device type: CPU", 2}, /* device_type() knows these by number */
	{"device type: GPU", 4},
	{"device type: accelerator", 8},
	{NULL, 0},
};

#define SLOT(number, name) \
	[number] = {#name, offsetof(struct opencl_functions, name) / sizeof(void (*)(void))},
#define STATUS(number, name, ...)        SLOT(number, name)
#define CREATE(number, name, ...)        SLOT(number, name)
#define POINTER(number, name, ...)       SLOT(number, name)
#define NOTHING(number, name, ...)       SLOT(number, name)
#define WAIT(number, name, ...)          SLOT(number, name)
#define ENQUEUE(number, name, ...)       SLOT(number, name)
#define ENQUEUE_PLAIN(number, name, ...) SLOT(number, name)
#define ENQUEUE_MAP(number, name, ...)   SLOT(number, name)
#define PASSED(number, name)             SLOT(number, name)
const struct fact ours_slots[FUNCTIONS] = {
#include "opencl_calls.inc"
};
