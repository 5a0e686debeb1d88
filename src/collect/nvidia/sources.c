/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/sources.c - the sources of NVIDIA's counters
 *
 * Runs in:  our own process
 * Gets:     nothing
 * Gives:    the list of sources
 * Owns:     nothing
 * Fails:    never
 */
#include "collect/nvidia/nvidia.h"

#include "base/array.h"

static const struct source *const all[] = {
	&nvidia_state_source,
	&nvidia_energy_source,
	&nvidia_fields_source,
	&nvidia_load_source,
	&nvidia_throttle_source,
	&nvidia_codec_source,
	&nvidia_gpm_source,
	&nvidia_process_source,
	&nvidia_pcie_source,
	&nvidia_pm_source,
	&own_source,
};
const struct source_list nvidia_sources = {all, ARRAY_COUNT(all), .rights = RIGHTS_ALL};
