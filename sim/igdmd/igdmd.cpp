/* SPDX-License-Identifier: MIT
 *
 * sim/igdmd/igdmd.cpp - simulated library of Intel's metric sets: two sets of a GPU that need not
 * exist
 *
 * Runs in:  duet
 * Gets:     SIM_IGDMD: the GPU's PCI bus number; default 4
 * Gives:    classes as the library's header declares them
 * Owns:     nothing
 * Fails:    as the library does, by a result
 * Why:      C++, because a C++ compiler then makes the tables of virtual functions, as in the real
 *           library. Newer classes override functions of older ones and append others
 */
#include <fcntl.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

extern "C" {
#include "abi/xe.h"
}

void operator delete(void *) noexcept
{
}

void operator delete(void *, size_t) noexcept
{
}

extern "C" void __cxa_pure_virtual()
{
	abort();
}

enum Result { OK = 0, STILL_INITIALIZED = 3, ERROR_GENERAL = 42, ACCESS_DENIED = 45 };

/* ---- as the header has them -------------------------------------------------------------------- */

struct Element {
	enum Type { OPERATION = 0, UINT32 = 4, UINT64 = 5, BITS_40 = 7, IMMEDIATE = 8 } type;
	union {
		uint64_t value;
		struct {
			uint32_t size;
			uint8_t *data;
		} mask;
		struct {
			uint32_t offset, bit, bits, high;
		} read;
	};
	char *symbol;
};

class Equation {
public:
	virtual ~Equation()
	{
	}
	virtual uint32_t count()
	{
		return elements_count;
	}
	virtual Element *element(uint32_t index)
	{
		return index < elements_count ? &elements[index] : nullptr;
	}
	Equation(uint32_t offset, uint32_t several)
		: elements_count(several ? 3 : 1)
	{
		elements[0] = {Element::UINT64, {}, nullptr};
		elements[0].read = {offset, 0, 0, 0};
		elements[1] = {Element::IMMEDIATE, {several}, nullptr};
		elements[2] = {Element::OPERATION, {}, nullptr};
	}

private:
	Element elements[3];
	uint32_t elements_count;
};

struct MetricParams {
	uint32_t id, group;
	const char *symbol, *name, *group_name, *text, *alias;
	uint32_t usage, apis;
	int result;
	const char *unit;
	int type;
	uint64_t low, high;
	int hardware;
	Equation *read, *query;
	int delta, bits;
	Equation *norm, *most;
};

class Metric {
public:
	virtual ~Metric()
	{
	}
	virtual MetricParams *params()
	{
		return &facts;
	}
	Metric(const char *symbol, Equation *read)
	{
		facts = {};
		facts.symbol = facts.name = symbol;
		facts.unit = "cycles";
		facts.read = read;
	}

private:
	MetricParams facts;
};

struct SetParams {
	const char *symbol, *name;
	uint32_t apis, categories, report_bytes, query_bytes, metrics, informations, complementary;
};

class Set {
public:
	virtual ~Set()
	{
	}
	virtual SetParams *params() = 0;
	virtual Metric *metric(uint32_t index) = 0;
	virtual void *information(uint32_t)
	{
		return nullptr;
	}
	virtual Set *complementary(uint32_t)
	{
		return nullptr;
	}
	virtual Result activate()
	{
		return ERROR_GENERAL;
	}
	virtual Result deactivate()
	{
		return ERROR_GENERAL;
	}
	virtual Metric *add_custom(const char *)
	{
		return nullptr;
	}
};

struct GroupParams {
	const char *symbol, *text;
	uint32_t measures, sets, informations, contexts;
};

class Group {
public:
	virtual ~Group()
	{
	}
	virtual GroupParams *params() = 0;
	virtual Set *set(uint32_t index) = 0;
	virtual Result open_stream()
	{
		return ERROR_GENERAL;
	}
};

struct Version {
	uint32_t major, minor, build;
};

struct DeviceParams {
	Version version;
	uint32_t groups, symbols, functions, types, operations;
	const char *name;
};

class Device {
public:
	virtual ~Device()
	{
	}
	virtual DeviceParams *params() = 0;
	virtual Group *group(uint32_t index) = 0;
};

struct AdapterParams {
	const char *name;
	struct {
		int type;
		uint32_t major, minor;
	} id;
	uint32_t vendor, subvendor, device, platform, bus, slot, function;
	int type;
	uint32_t capabilities, domain;
};

class Adapter {
public:
	virtual ~Adapter()
	{
	}
	virtual const AdapterParams *params() const = 0;
	virtual Result reset()
	{
		return OK;
	}
	virtual Result open(Device **ret_device) = 0;
	virtual Result open_file(const char *, void *, Device **)
	{
		return ERROR_GENERAL;
	}
	virtual Result close(Device *device) = 0;
	virtual Result save(const char *, void *, Device *)
	{
		return ERROR_GENERAL;
	}
};

struct AdaptersParams {
	Version version;
	uint32_t count;
};

class Adapters {
public:
	virtual ~Adapters()
	{
	}
	virtual const AdaptersParams *params() const = 0;
	virtual Adapter *adapter(uint32_t index) = 0;
	virtual Result close() = 0;
};

/* ---- a set that the driver can be given -------------------------------------------------------- */

static uint32_t bus()
{
	const char *named = getenv("SIM_IGDMD");

	return named && *named ? (uint32_t)strtoul(named, nullptr, 16) : 4;
}

/* The render node at the address; -1: there is none. */
static int open_node()
{
	char wanted[32], path[300], target[300];
	int fd = -1;
	glob_t found;

	snprintf(wanted, sizeof(wanted), "/0000:%02x:00.0", bus());
	if (glob("/sys/class/drm/renderD*", 0, nullptr, &found))
		return -1;
	for (size_t i = 0; i < found.gl_pathc && fd < 0; i++) {
		ssize_t length;

		snprintf(path, sizeof(path), "%s/device", found.gl_pathv[i]);
		length = readlink(path, target, sizeof(target) - 1);
		target[length > 0 ? length : 0] = '\0';
		if (!strstr(target, wanted))
			continue;
		snprintf(path, sizeof(path), "/dev/dri%s", strrchr(found.gl_pathv[i], '/'));
		fd = open(path, O_RDWR | O_CLOEXEC);
	}
	globfree(&found);
	return fd;
}

static int observe(int fd, uint64_t operation, void *what)
{
	xe_observation_param param = {};

	param.observation_type = XE_OBSERVATION_OA;
	param.observation_op = operation;
	param.param = (uintptr_t)what;
	return ioctl(fd, XE_IOCTL_OBSERVATION, &param);
}

/* As since 1.13 of the interface: more behind, and some of what was there anew. */
class NewerSet : public Set {
public:
	SetParams *params() override
	{
		return &facts;
	}
	Metric *metric(uint32_t index) override
	{
		return index < facts.metrics ? metrics[index] : nullptr;
	}
	Result activate() override
	{
		/* the 4th counter of reports: busy cycles; the 6th: those of EUs that execute */
		static const uint32_t registers[][2] = {{0x13018, 0x5a00}, {0x13028, 0x605}};
		xe_oa_config config = {};
		const int fd = open_node();

		if (fd < 0)
			return ACCESS_DENIED;
		memcpy(config.uuid, "2f01b241-7014-42a7-9eb6-a925cad3daba", sizeof(config.uuid));
		config.n_regs = 2;
		config.regs_ptr = (uintptr_t)registers;
		number = observe(fd, XE_OBSERVATION_ADD_CONFIG, &config);
		close(fd);
		return number > 0 ? OK : ERROR_GENERAL;
	}
	Result deactivate() override
	{
		/* it stays until the device is closed */
		return OK;
	}
	virtual Result open()
	{
		return OK;
	}
	virtual Result finalize()
	{
		return OK;
	}
	void forget()
	{
		const int fd = number > 0 ? open_node() : -1;
		uint64_t id = (uint64_t)number;

		if (fd < 0)
			return;
		observe(fd, XE_OBSERVATION_REMOVE_CONFIG, &id);
		close(fd);
		number = 0;
	}
	NewerSet(const char *symbol, const char *name, Metric *const *all, uint32_t count)
		: metrics(all)
	{
		facts = {symbol, name, 0, 0, 576, 576, count, 0, 0};
	}

private:
	SetParams facts;
	Metric *const *metrics;
	int number = 0;
};

static Equation time_of(0x08, 52), busy_of(0x38, 0), active_of(0x48, 0), twice(0x50, 2);
static Metric gpu_time("GpuTime", &time_of), gpu_busy("GpuBusyTicks", &busy_of),
	eu_active("EuActiveTicks", &active_of), eu_ratio("EuRatio", &twice),
	unread("QueryBegin", nullptr);
static Metric *const all_metrics[] = {&gpu_time, &gpu_busy, &unread, &eu_ratio, &eu_active};
static NewerSet basic("SimBasic", "Simulated basic set", all_metrics, 5),
	small("SimSmall", "Simulated small set", all_metrics, 2);
static NewerSet *const all_sets[] = {&basic, &small};

class OneGroup : public Group {
public:
	GroupParams *params() override
	{
		return &facts;
	}
	Set *set(uint32_t index) override
	{
		return index < facts.sets ? all_sets[index] : nullptr;
	}
	OneGroup(const char *symbol, uint32_t measures, uint32_t sets)
	{
		facts = {symbol, symbol, measures, sets, 0, 0};
	}

private:
	GroupParams facts;
};

static OneGroup statistics("PipelineStatistics", 6, 0), oa("OA", 5, 2);
static OneGroup *const groups[] = {&statistics, &oa};

class OneDevice : public Device {
public:
	DeviceParams *params() override
	{
		static DeviceParams facts = {{1, 16, 1}, 2, 0, 0, 0, 0, "a GPU that there is none of"};

		return &facts;
	}
	Group *group(uint32_t index) override
	{
		return index < 2 ? groups[index] : nullptr;
	}
};

static OneDevice device;

class OneAdapter : public Adapter {
public:
	const AdapterParams *params() const override
	{
		static AdapterParams facts;

		facts = {};
		facts.name = "a GPU that there is none of";
		facts.vendor = 0x8086;
		facts.bus = bus();
		return &facts;
	}
	Result open(Device **ret_device) override
	{
		*ret_device = &device;
		return OK;
	}
	Result close(Device *) override
	{
		for (NewerSet *set : all_sets)
			set->forget();
		return OK;
	}
};

static OneAdapter adapter;

class OneOfAll : public Adapters {
public:
	const AdaptersParams *params() const override
	{
		static const AdaptersParams facts = {{1, 16, 1}, 1};

		return &facts;
	}
	Adapter *adapter(uint32_t index) override
	{
		return index ? nullptr : &::adapter;
	}
	Result close() override
	{
		return STILL_INITIALIZED;
	}
};

static OneOfAll all;

extern "C" int OpenAdapterGroup(Adapters **ret_adapters)
{
	*ret_adapters = &all;
	return OK;
}
