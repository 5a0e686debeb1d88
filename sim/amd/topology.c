/* SPDX-License-Identifier: MIT
 *
 * sim/amd/topology.c - the files below /sys/devices/virtual/kfd/kfd/topology
 *
 * Runs in:  a program that uses ROCr
 * Gives:    the text of each file; node 0 is the host's processor, the others are the GPUs
 * Why:      the text is made when a file is opened, so a killed process leaves no files. ROCr or
 *           HIP require the values that have a comment; the others are like an MI210's.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim.h"

#define FOLDER "/sys/devices/virtual/kfd/kfd/topology"

enum {
	CAPABILITY_DOORBELLS = 2 << 12,
	CAPABILITY_RINGS_OF_2N = 1 << 3,
	CAPABILITY_WATCHPOINTS = 2 << 8,
	CAPABILITY_ECC = 1 << 26
};
enum { HEAP_SYSTEM = 0, HEAP_VRAM = 1, LINK_PCIE = 2, GPU_CACHES = 2 };

static void write_cpu(FILE *file)
{
	fprintf(file,
		"cpu_cores_count %ld\nsimd_count 0\nmem_banks_count 1\ncaches_count 0\n"
		"io_links_count %" PRId64
		"\np2p_links_count 0\ncpu_core_id_base 0\nsimd_id_base 0\n"
		"max_engine_clk_ccompute 3000\n",
		sysconf(_SC_NPROCESSORS_ONLN), sim_options()->gpus);
}

static void write_gpu(FILE *file, uint32_t node)
{
	const struct sim_options *options = sim_options();
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{"cpu_cores_count", 0},
		{"simd_count", 128},
		{"mem_banks_count", 1},
		{"caches_count", GPU_CACHES},
		{"io_links_count", 1},
		{"p2p_links_count", 0},
		{"cpu_core_id_base", 0},
		{"simd_id_base", 0x80001000 + node * 0x1000},
		{"max_waves_per_simd", 8},
		{"lds_size_in_kb", 64},
		{"gds_size_in_kb", 0},
		{"num_gws", (uint64_t)options->gws},
		{"wave_front_size", options->gfx_major >= 10 ? 32 : 64},
		{"array_count", 1},
		{"simd_arrays_per_engine", 1},
		{"cu_per_simd_array", 32},
		{"simd_per_cu", 4},
		{"max_slots_scratch_cu", 32},
		{"gfx_target_version",
		 options->gfx_major * 10000 + options->gfx_minor * 100 + options->gfx_step},
		{"vendor_id", 0x1002},
		{"device_id",
		 0xd0e7}, /* in no table of the thunk's, which then believes the target */
		{"location_id", (0x10 + node) << 8},
		{"domain", 0},
		{"drm_render_minor", SIM_RENDER_MINOR + node - 1},
		{"hive_id", 0},
		{"num_sdma_engines", 2},
		{"num_sdma_xgmi_engines", 0},
		{"num_sdma_queues_per_engine", 8},
		{"num_cp_queues", 24},
		{"max_engine_clk_fcompute", 1700},
		{"max_engine_clk_ccompute", 2400},
		{"local_mem_size", SIM_VRAM_BYTES},
		{"fw_version", 78},
		{"sdma_fw_version", 8},
		/* packet indices in doorbells; ROCr does not support gfx90a without ECC */
		{"capability", CAPABILITY_DOORBELLS | CAPABILITY_RINGS_OF_2N |
				       CAPABILITY_WATCHPOINTS |
				       (strcmp(options->gfx, "gfx90a") == 0 ? CAPABILITY_ECC : 0)},
		{"debug_prop", 0},
		{"unique_id", UINT64_C(0xd0e7000000000000) + node},
		{"num_xcc", 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		fprintf(file, "%s %" PRIu64 "\n", rows[i].name, rows[i].value);
}

static void write_bank(FILE *file, uint32_t node)
{
	uint64_t host_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	fprintf(file,
		"heap_type %d\nsize_in_bytes %" PRIu64 "\nflags 0\nwidth 4096\nmem_clk_max 1600\n",
		node ? HEAP_VRAM : HEAP_SYSTEM, node ? SIM_VRAM_BYTES : host_bytes);
}

static void write_cache(FILE *file, uint32_t index)
{
	fprintf(file,
		"processor_id_low 0\nlevel %u\nsize %d\ncache_line_size 128\ncache_lines_per_tag "
		"1\n"
		"association 16\nlatency 0\ntype 9\nsibling_map 1\n",
		index + 1, index ? 8192 : 16);
}

static void write_link(FILE *file, uint32_t node, uint32_t index)
{
	fprintf(file,
		"type %d\nversion_major 0\nversion_minor 0\nnode_from %u\nnode_to %u\nweight 20\n"
		"min_latency 0\nmax_latency 0\nmin_bandwidth 312\nmax_bandwidth 32000\n"
		"recommended_transfer_size 0\nflags 0\n",
		LINK_PCIE, node, node ? 0 : index + 1);
}

/* The part of a path behind "nodes/N/". */
static bool write_file_of_node(FILE *file, uint32_t node, const char *name)
{
	uint32_t links = node ? 1 : (uint32_t)sim_options()->gpus, index = 0;
	int length = 0;

	if (strcmp(name, "gpu_id") == 0)
		fprintf(file, "%u\n", node ? SIM_GPU_ID + node - 1 : 0);
	else if (strcmp(name, "name") == 0)
		fprintf(file, "%s\n", node ? "simulated" : "");
	else if (strcmp(name, "properties") == 0)
		node ? write_gpu(file, node) : write_cpu(file);
	else if (strcmp(name, "mem_banks/0/properties") == 0)
		write_bank(file, node);
	else if (sscanf(name, "caches/%u/properties%n", &index, &length) == 1 && length && node &&
		 index < GPU_CACHES)
		write_cache(file, index);
	else if (sscanf(name, "io_links/%u/properties%n", &index, &length) == 1 && length &&
		 index < links)
		write_link(file, node, index);
	else
		return false;
	return true;
}

static bool write_file(FILE *file, const char *name)
{
	unsigned node;
	int length = 0;

	if (strcmp(name, "generation_id") == 0)
		return fputs("1\n", file) >= 0;
	if (strcmp(name, "system_properties") == 0)
		return fputs("platform_oem 0\nplatform_id 0\nplatform_rev 0\n", file) >= 0;
	return sscanf(name, "nodes/%u/%n", &node, &length) == 1 && length &&
	       node <= sim_options()->gpus && write_file_of_node(file, node, name + length);
}

bool sim_topology_has(const char *path)
{
	return strncmp(path, FOLDER, strlen(FOLDER)) == 0;
}

char *sim_topology_read(const char *path)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *file = open_memstream(&text, &bytes);
	bool exists;

	if (!file)
		return NULL;
	path += strlen(FOLDER);
	exists = write_file(file, path + strspn(path, "/"));
	fclose(file);
	if (exists)
		return text;
	free(text);
	return NULL;
}

bool sim_topology_entry(const char *path, size_t index, char ret_name[16])
{
	if (strcmp(path, FOLDER "/nodes") != 0 || index > (size_t)sim_options()->gpus)
		return false;
	snprintf(ret_name, 16, "%zu", index);
	return true;
}
