/* SPDX-License-Identifier: MIT
 *
 * tests/unit/inject/test_cuda_abi.c - our declarations of CUPTI and of the CUDA driver against the
 * real ones
 *
 * Arguments: the paths of src/abi/cupti.h, src/abi/cuda.h, sim/nvidia/cupti_abi.h and
 * sim/nvidia/cuda_abi.h, so that nothing added there is forgotten here. Compared with the headers
 * of a CUDA 13 toolkit, where meson finds one, and with the library libcupti.so.13, where the
 * loader does; part of that works without a driver.
 */
#include <ctype.h>
#include <dlfcn.h>
#include <stdlib.h>

#include "cuda_facts.h"
#include "harness.h"
#include "sim/nvidia/cupti_abi.h"

enum { ABI_CUPTI, ABI_CUDA, ABI_CUPTI_SIM, ABI_CUDA_SIM, ABI_COUNT };
static const char *abi_paths[ABI_COUNT];

static bool is_listed(const struct fact *facts, const char *name)
{
	for (; facts->name; facts++)
		if (strcmp(facts->name, name) == 0)
			return true;
	return false;
}

/* Opens one of the headers. NULL, and the test failed: it is not there. */
static FILE *open_abi(int which)
{
	FILE *file = abi_paths[which] ? fopen(abi_paths[which], "r") : NULL;

	if (!file)
		harness_fail(__FILE__, __LINE__, "a header's path is an argument");
	return file;
}

TEST(every_constant_is_compared)
{
	static const int least[ABI_COUNT] = {60, 5, 110, 70};

	for (int which = 0; which < ABI_COUNT; which++) {
		FILE *file = open_abi(which);
		char line[256], name[128];
		int found = 0;

		REQUIRE(file);
		while (fgets(line, sizeof(line), file)) {
			int end = 0;

			/* "#define NAME(" is a table, "#define NAME" alone an include guard */
			if ((sscanf(line, "\t%127[A-Za-z0-9_] = %n", name, &end) != 1 || !end) &&
			    (sscanf(line, "#define %127[A-Za-z0-9_]%n", name, &end) != 1 ||
			     line[end] != ' '))
				continue;
			found++;
			CHECK(is_listed(ours_facts, name));
			if (!is_listed(ours_facts, name))
				printf("#   %s is not in the list of constants\n", name);
		}
		fclose(file);
		CHECK(found > least[which]);
	}
}

/* The next name that a line declares: in "uint8_t a, pad1[3];" a, then pad1. NULL: no more. */
static const char *next_member(const char *at, char *ret_name, size_t bytes)
{
	const char *end = strpbrk(at, ",;["), *start = end;

	while (start && start > at && (isalnum((unsigned char)start[-1]) || start[-1] == '_'))
		start--;
	if (start == end || (size_t)(end - start) >= bytes)
		return NULL;
	memcpy(ret_name, start, end - start);
	ret_name[end - start] = '\0';
	return end + 1 + strspn(end, "[]0123456789");
}

/* Whether a fact is about this member: "struct.member", "struct.union.member" or
 * "struct.member.…". */
static bool is_member_listed(const char *type, const char *member)
{
	size_t type_length = strlen(type), length = strlen(member);

	for (const struct fact *fact = ours_facts; fact->name; fact++) {
		const char *at = fact->name + type_length;

		if (strncmp(fact->name, type, type_length) != 0)
			continue;
		for (; *at == '.'; at += strcspn(at + 1, ".") + 1)
			if (strncmp(at + 1, member, length) == 0 &&
			    (at[1 + length] == '\0' || at[1 + length] == '.'))
				return true;
	}
	return false;
}

/* -> how many members the header has. */
static int compare_members(FILE *file)
{
	char line[256], type[128] = "", member[128];
	int found = 0;

	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "struct %127[a-z0-9_] {", type) == 1 ||
		    sscanf(line, "union %127[a-z0-9_] {", type) == 1)
			continue;
		/* cupti_pc_data_56 is the beginning of cupti_pc_data, and the next test's */
		if (line[0] == '}' || strcmp(type, "cupti_pc_data_56") == 0 ||
		    strcmp(type, "cupti_functions") == 0 ||
		    strcmp(type, "cupti_all_functions") == 0)
			type[0] = '\0';
		if (!type[0] || line[0] != '\t' || strstr(line, "/*"))
			continue;
		for (const char *at = next_member(line, member, sizeof(member)); at;
		     at = next_member(at, member, sizeof(member))) {
			if (strncmp(member, "pad", 3) == 0)
				continue;
			found++;
			CHECK(is_member_listed(type, member));
			if (!is_member_listed(type, member))
				printf("#   %s.%s is not in cupti_structs.inc\n", type, member);
		}
	}
	return found;
}

TEST(every_member_is_compared)
{
	static const int least[ABI_COUNT] = {[ABI_CUPTI] = 350, [ABI_CUPTI_SIM] = 120};

	for (int which = 0; which < ABI_COUNT; which++) {
		FILE *file = least[which] ? open_abi(which) : NULL;

		if (!least[which])
			continue;
		REQUIRE(file);
		CHECK(compare_members(file) > least[which]);
		fclose(file);
	}
}

TEST(the_older_record_of_a_pc_is_the_beginning_of_the_newer)
{
	CHECK_EQUAL(sizeof(struct cupti_pc_data_56), 56);
	CHECK_EQUAL(sizeof(struct cupti_pc_data), 64);
#define SAME(field) \
	CHECK_EQUAL(offsetof(struct cupti_pc_data_56, field), offsetof(struct cupti_pc_data, field))
	SAME(struct_bytes);
	SAME(cubin_crc);
	SAME(pc_offset_bytes);
	SAME(function_index);
	SAME(function_name);
	SAME(stall_count);
	SAME(stalls);
}

static const struct record {
	const char *name;
	uint32_t kind, version, bytes;
} records[] = {
#define RECORD(kind, version, bytes) {#kind, CUPTI_ACTIVITY_KIND_##kind, version, bytes},
	CUPTI_RECORD_SIZES(RECORD)};
enum { RECORDS = sizeof(records) / sizeof(records[0]) };

/* The newest generation of a kind that a version has. 0: the kind came later. */
static uint32_t record_bytes(uint32_t kind, uint32_t version)
{
	uint32_t bytes = 0;

	for (int i = 0; i < RECORDS; i++)
		if (records[i].kind == kind && records[i].version <= version)
			bytes = records[i].bytes;
	return bytes;
}

/* What the header says in front of fields: since when they are, so that an older record ends before
 * them. */
TEST(fields_came_with_the_record_that_has_room_for_them)
{
#define SINCE(type, field, kind, version)                                                  \
	{                                                                                  \
#type "." #field, CUPTI_ACTIVITY_KIND_##kind, version,                     \
			offsetof(struct type, field), sizeof(((struct type *)NULL)->field) \
	}
	static const struct {
		const char *name;
		uint32_t kind, version;
		size_t at, bytes;
	} fields[] = {
		SINCE(cupti_activity_kernel, shared_executed_bytes, CONCURRENT_KERNEL, 13),
		SINCE(cupti_activity_kernel, graph_id, CONCURRENT_KERNEL, 13),
		SINCE(cupti_activity_kernel, access_policy_window, CONCURRENT_KERNEL, 15),
		SINCE(cupti_activity_kernel, channel_id, CONCURRENT_KERNEL, 17),
		SINCE(cupti_activity_kernel, channel_type, CONCURRENT_KERNEL, 17),
		SINCE(cupti_activity_kernel, cluster_x, CONCURRENT_KERNEL, 18),
		SINCE(cupti_activity_kernel, local_total_wide_bytes, CONCURRENT_KERNEL, 18),
		SINCE(cupti_activity_kernel, max_potential_cluster_size, CONCURRENT_KERNEL, 19),
		SINCE(cupti_activity_kernel, max_active_clusters, CONCURRENT_KERNEL, 19),
		SINCE(cupti_activity_kernel, is_device_launched, CONCURRENT_KERNEL, 130000),
		SINCE(cupti_activity_memcpy, graph_node_id, MEMCPY, 13),
		SINCE(cupti_activity_memcpy, graph_id, MEMCPY, 14),
		SINCE(cupti_activity_memcpy, channel_type, MEMCPY, 17),
		SINCE(cupti_activity_memcpy, copy_count, MEMCPY, 26),
		SINCE(cupti_activity_memcpy_peer, graph_node_id, MEMCPY2, 13),
		SINCE(cupti_activity_memcpy_peer, graph_id, MEMCPY2, 14),
		SINCE(cupti_activity_memcpy_peer, channel_type, MEMCPY2, 17),
		SINCE(cupti_activity_memset, graph_node_id, MEMSET, 13),
		SINCE(cupti_activity_memset, graph_id, MEMSET, 14),
		SINCE(cupti_activity_memset, channel_type, MEMSET, 17),
		SINCE(cupti_activity_synchronization, event_id, SYNCHRONIZATION, 13),
		SINCE(cupti_activity_synchronization, event_sync_id, SYNCHRONIZATION, 26),
		SINCE(cupti_activity_synchronization, return_value, SYNCHRONIZATION, 26),
		SINCE(cupti_activity_cuda_event, event_id, CUDA_EVENT, 13),
		SINCE(cupti_activity_cuda_event, device_id, CUDA_EVENT, 26),
		SINCE(cupti_activity_cuda_event, event_sync_id, CUDA_EVENT, 26),
		SINCE(cupti_activity_overhead, end_ns, OVERHEAD, 13),
		SINCE(cupti_activity_overhead, correlation_id, OVERHEAD, 20),
		SINCE(cupti_activity_overhead, data, OVERHEAD, 22),
		SINCE(cupti_activity_context, null_stream_id, CONTEXT, 13),
		SINCE(cupti_activity_context, parent_context_id, CONTEXT, 22),
		SINCE(cupti_activity_context, cig_mode, CONTEXT, 23),
		SINCE(cupti_activity_graph_trace, stream_id, GRAPH_TRACE, 17),
		SINCE(cupti_activity_graph_trace, end_device_id, GRAPH_TRACE, 21),
		SINCE(cupti_activity_graph_trace, end_context_id, GRAPH_TRACE, 21),
		SINCE(cupti_activity_jit, cache_path, JIT, 18),
		SINCE(cupti_activity_jit, process_id, JIT, 22),
		SINCE(cupti_activity_jit, thread_id, JIT, 22),
		SINCE(cupti_activity_memory_operation, pool_size_or_process_id, MEMORY2, 15),
		SINCE(cupti_activity_memory_operation, pool_used_bytes, MEMORY2, 17),
		SINCE(cupti_activity_memory_operation, source, MEMORY2, 24),
		SINCE(cupti_activity_unified_memory, flags, UNIFIED_MEMORY_COUNTER, 13),
		SINCE(cupti_activity_unified_memory, processors, UNIFIED_MEMORY_COUNTER, 26),
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		uint32_t bytes = record_bytes(fields[i].kind, fields[i].version);
		uint32_t before = record_bytes(fields[i].kind, fields[i].version - 1);
		/* 4 bytes of padding at its end may have become a field */
		bool is_new = fields[i].at + 4 >= before;

		CHECK(fields[i].at + fields[i].bytes <= bytes && is_new);
		if (fields[i].at + fields[i].bytes > bytes || !is_new)
			printf("#   %s at %zu: %u bytes, before them %u\n", fields[i].name,
			       fields[i].at, bytes, before);
	}
	for (int i = 1; i < RECORDS; i++)
		CHECK(records[i].kind != records[i - 1].kind ||
		      (records[i].version > records[i - 1].version &&
		       records[i].bytes > records[i - 1].bytes));
}

#ifdef NO_CUDA_HEADERS
TEST(constants_sizes_and_places)
{
	SKIP(NO_CUDA_HEADERS);
}
#else
static void compare(const struct fact *ours, const struct fact *real)
{
	int rows = 0;

	for (; ours->name && real->name; ours++, real++, rows++) {
		CHECK_TEXT(ours->name, real->name);
		CHECK_EQUAL(ours->value, real->value);
		if (ours->value != real->value)
			printf("#   %s\n", ours->name);
	}
	CHECK(!ours->name && !real->name);
	printf("# %d compared\n", rows);
}

TEST(constants_sizes_and_places)
{
	compare(ours_facts, real_facts);
}

TEST(types_of_the_functions)
{
	compare(ours_functions, real_functions);
}
#endif

/* The real library, looked up by our own table. NULL: it is not there. */
static void *open_cupti(struct cupti_all_functions *ret_functions)
{
	static const char *const names[] = {"libcupti.so.13",
					    "/usr/local/cuda/lib64/libcupti.so.13",
					    "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13"};
	void *library = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !library; i++)
		library = dlopen(names[i], RTLD_NOW);
	if (!library)
		return NULL;
#define LOOK_UP(need, name, parameters) *(void **)&ret_functions->name = dlsym(library, #name);
	CUPTI_ALL_FUNCTIONS(LOOK_UP)
	return library;
}

static void library_has_the_functions(const struct cupti_all_functions *cupti)
{
#define IS_THERE(need, name, parameters) \
	CHECK(cupti->name);              \
	if (!cupti->name)                \
		printf("#   libcupti has no %s\n", #name);
	CUPTI_ALL_FUNCTIONS(IS_THERE)
}

static void library_knows_the_callbacks(const struct cupti_all_functions *cupti)
{
	const char *name;

#define IS_NAMED(domain, title, number)                                                 \
	name = NULL;                                                                    \
	CHECK_EQUAL(cupti->cuptiGetCallbackName(domain, number, &name), CUPTI_SUCCESS); \
	CHECK_TEXT(name, title);
#define DRIVER_CALL(name, number, class)  IS_NAMED(CUPTI_CB_DOMAIN_DRIVER_API, #name, number)
#define RUNTIME_CALL(name, number, class) IS_NAMED(CUPTI_CB_DOMAIN_RUNTIME_API, #name, number)
	CUPTI_DRIVER_CALLBACKS(DRIVER_CALL)
	CUPTI_RUNTIME_CALLBACKS(RUNTIME_CALL)
}

/* A buffer of kinds in turn, each as long as our table says: the library has to step from one to
 * the next. */
static void library_walks_our_records(const struct cupti_all_functions *cupti, uint32_t version)
{
	static const struct {
		uint32_t kind, bytes;
	} others[] = {
		/* not in the table: these have one length, or their steps are not known */
		{CUPTI_ACTIVITY_KIND_KERNEL, sizeof(struct cupti_activity_kernel)},
		{CUPTI_ACTIVITY_KIND_DEVICE, sizeof(struct cupti_activity_device)},
		{CUPTI_ACTIVITY_KIND_MARKER_DATA, sizeof(struct cupti_activity_marker_data)},
		{CUPTI_ACTIVITY_KIND_MODULE, sizeof(struct cupti_activity_module)},
		{CUPTI_ACTIVITY_KIND_FUNCTION, sizeof(struct cupti_activity_function)},
		{CUPTI_ACTIVITY_KIND_ENVIRONMENT, sizeof(struct cupti_activity_environment)},
		{CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API, sizeof(struct cupti_activity_api)},
	};
	enum { OTHERS = sizeof(others) / sizeof(others[0]), ROUNDS = 3 };
	static uint64_t
		buffer[ROUNDS * (RECORDS + OTHERS) * sizeof(struct cupti_activity_kernel) / 8];
	struct cupti_activity *record = NULL;
	size_t places[ROUNDS * (RECORDS + OTHERS)], end = 0;
	int count = 0, walked = 0;

	for (int i = 0; i < ROUNDS * (RECORDS + OTHERS); i++) {
		int row = i % (RECORDS + OTHERS);
		uint32_t kind = row < RECORDS ? records[row].kind : others[row - RECORDS].kind;
		uint32_t bytes = row < RECORDS ? records[row].bytes : others[row - RECORDS].bytes;

		if (row < RECORDS && bytes != record_bytes(kind, version))
			continue;
		((struct cupti_activity *)((uint8_t *)buffer + end))->kind = kind;
		places[count++] = end;
		end += bytes;
	}
	while (cupti->cuptiActivityGetNextRecord((uint8_t *)buffer, end, &record) ==
	       CUPTI_SUCCESS) {
		REQUIRE(walked < count);
		CHECK_EQUAL((uint8_t *)record - (uint8_t *)buffer, places[walked]);
		if ((size_t)((uint8_t *)record - (uint8_t *)buffer) != places[walked]) {
			printf("#   kind %u\n",
			       ((struct cupti_activity *)((uint8_t *)buffer + places[walked - 1]))
				       ->kind);
			return;
		}
		walked++;
	}
	CHECK_EQUAL(walked, count);
	CHECK_EQUAL(cupti->cuptiActivityGetNextRecord((uint8_t *)buffer, end, &record),
		    CUPTI_ERROR_MAX_LIMIT_REACHED);
	printf("# %d records\n", walked);
}

/* One test, for without the library there is one thing to say. */
TEST(the_real_library)
{
	struct cupti_all_functions cupti;
	void *library = open_cupti(&cupti);
	uint32_t version = 0;

	if (!library)
		SKIP("libcupti.so.13 (the CUDA 13 toolkit's) is not installed");
	library_has_the_functions(&cupti);
	REQUIRE(!harness_failed);
	CHECK_EQUAL(cupti.cuptiGetVersion(&version), CUPTI_SUCCESS);
	CHECK(version >= 130000);
	library_knows_the_callbacks(&cupti);
	/* Later ones have longer records, whose lengths no header here has told us. */
	if (version < 130100)
		library_walks_our_records(&cupti, version);
	else
		printf("# CUPTI %u: its records are longer than those of 13.0\n", version);
}

int main(int argc, char **argv)
{
	for (int i = 0; i < ABI_COUNT && i + 1 < argc; i++)
		abi_paths[i] = argv[i + 1];
	RUN(every_constant_is_compared);
	RUN(every_member_is_compared);
	RUN(the_older_record_of_a_pc_is_the_beginning_of_the_newer);
	RUN(fields_came_with_the_record_that_has_room_for_them);
	RUN(constants_sizes_and_places);
#ifndef NO_CUDA_HEADERS
	RUN(types_of_the_functions);
#endif
	RUN(the_real_library);
	return harness_end();
}
