/* SPDX-License-Identifier: MIT
 *
 * abi/igdmd.h - the part of the interface of Intel's library of metric sets (libigdmd.so.1) that
 * duet uses
 *
 * Source: metrics_discovery_api.h of metrics-discovery 1.6 to 1.16. It has C++ classes with virtual
 *         functions and single inheritance. An object starts with a pointer to a table of
 *         functions, and each function takes the object as its first argument. By the C++ ABI on
 *         Linux, the table has the functions of the first version in their order, with two entries
 *         for the destructor. Later versions append functions; a function that they override keeps
 *         its entry. Structures grow only at their ends.
 */
#pragma once

#include <stdint.h>

enum { MD_OK = 0, MD_ALREADY_INITIALIZED = 2, MD_ACCESS_DENIED = 45 };
enum { MD_MAJOR = 1, MIN_MD_MINOR = 6, MD_MINOR_DOMAIN = 8 };

typedef void *md_unused;

/* ---- contents of a report ---- */

enum md_element_type { MD_READ_UINT32 = 4, MD_READ_UINT64 = 5, MD_READ_40_BITS = 7 };

struct md_element {
	int32_t type; /* enum md_element_type */
	union {
		struct {
			uint32_t offset, bit, bits, high_offset;
		} read;
		uint64_t value;
		struct {
			uint32_t size;
			uint8_t *data;
		} mask;
	};
	char *symbol;
};

struct md_equation;
struct md_equation_table {
	md_unused destructors[2];
	uint32_t (*count)(struct md_equation *equation);
	struct md_element *(*element)(struct md_equation *equation, uint32_t index);
};
struct md_equation {
	const struct md_equation_table *table;
};

/* ---- metrics and their sets ---- */

struct md_metric_facts {
	uint32_t id, group;
	const char *symbol; /* "GpuBusy" */
	const char *name, *group_name, *text, *alias;
	uint32_t usage, apis;
	int32_t result;
	const char *unit;
	int32_t type;
	uint64_t low, high;
	int32_t hardware;
	/* how to read it from the report of a stream; NULL: not part of a report */
	struct md_equation *read;
};

struct md_metric;
struct md_metric_table {
	md_unused destructors[2];
	struct md_metric_facts *(*facts)(struct md_metric *metric);
};
struct md_metric {
	const struct md_metric_table *table;
};

struct md_set_facts {
	const char *symbol; /* "ComputeBasic" */
	const char *name;   /* "Compute Metrics Basic set" */
	uint32_t apis, categories;
	uint32_t report_bytes, query_bytes;
	uint32_t metrics, informations;
};

struct md_set;
struct md_set_table {
	md_unused destructors[2];
	struct md_set_facts *(*facts)(struct md_set *set);
	struct md_metric *(*metric)(struct md_set *set, uint32_t index);
	md_unused information, complementary;
	int32_t (*activate)(struct md_set *set);
	int32_t (*deactivate)(struct md_set *set);
};
struct md_set {
	const struct md_set_table *table;
};

/* ---- groups of sets, devices, adapters ---- */

enum { MD_MEASURES_STREAMS = 1 };

struct md_group_facts {
	const char *symbol; /* "OA" */
	const char *text;
	uint32_t measures; /* MD_MEASURES_… */
	uint32_t sets;
};

struct md_group;
struct md_group_table {
	md_unused destructors[2];
	struct md_group_facts *(*facts)(struct md_group *group);
	struct md_set *(*set)(struct md_group *group, uint32_t index);
};
struct md_group {
	const struct md_group_table *table;
};

struct md_version {
	uint32_t major, minor, build;
};

struct md_device_facts {
	struct md_version version;
	uint32_t groups;
};

struct md_device;
struct md_device_table {
	md_unused destructors[2];
	struct md_device_facts *(*facts)(struct md_device *device);
	struct md_group *(*group)(struct md_device *device, uint32_t index);
};
struct md_device {
	const struct md_device_table *table;
};

struct md_adapter_facts {
	const char *name;
	struct {
		int32_t type;
		uint32_t first, second;
	} id;
	uint32_t vendor, subvendor, device, platform;
	uint32_t bus, slot, function; /* position on PCI */
	int32_t type;
	uint32_t capabilities;
	uint32_t domain; /* since 1.8 */
};

struct md_adapter;
struct md_adapter_table {
	md_unused destructors[2];
	const struct md_adapter_facts *(*facts)(const struct md_adapter *adapter);
	md_unused reset;
	int32_t (*open)(struct md_adapter *adapter, struct md_device **ret_device);
	md_unused open_file;
	int32_t (*close)(struct md_adapter *adapter, struct md_device *device);
};
struct md_adapter {
	const struct md_adapter_table *table;
};

struct md_adapters_facts {
	struct md_version version;
	uint32_t count;
};

struct md_adapters;
struct md_adapters_table {
	md_unused destructors[2];
	const struct md_adapters_facts *(*facts)(const struct md_adapters *adapters);
	struct md_adapter *(*adapter)(struct md_adapters *adapters, uint32_t index);
	int32_t (*close)(struct md_adapters *adapters);
};
struct md_adapters {
	const struct md_adapters_table *table;
};

/* The only function that the library exports. */
#define MD_OPEN "OpenAdapterGroup"
typedef int32_t md_open(struct md_adapters **ret_adapters);
