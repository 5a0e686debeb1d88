/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/names.c - names of the simulated CUPTI's callback ids
 *
 * Runs in:  a program that uses CUDA
 * Gives:    the names of functions that a subscriber may enable, and of those that the simulated
 *           driver has. The real library has some hundreds more. As there, other domains have no
 *           names
 */
#include "cupti.h"
#include "driver.h"

static const struct {
	uint32_t cbid;
	const char *name;
} driver_names[] =
	{
#define X(name, number, class) {number, #name},
		CUPTI_DRIVER_CALLBACKS(X)
#undef X
#define X(name, number) {number, #name},
			SIM_CBIDS(X)
#undef X
},
  runtime_names[] = {
#define X(name, number, class) {number, #name},
	  CUPTI_RUNTIME_CALLBACKS(X)
#undef X
};

#define FIND(table)                                                           \
	do {                                                                  \
		for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) \
			if (table[i].cbid == cbid)                            \
				return table[i].name;                         \
		return NULL;                                                  \
	} while (0)

const char *sim_callback_name(cupti_domain domain, uint32_t cbid)
{
	switch (domain) {
	case CUPTI_CB_DOMAIN_DRIVER_API:
		FIND(driver_names);
	case CUPTI_CB_DOMAIN_RUNTIME_API:
		FIND(runtime_names);
	default:
		return NULL;
	}
}

bool sim_is_callback(cupti_domain domain, uint32_t cbid)
{
	static const uint32_t ends[SIM_DOMAINS] = {
		[CUPTI_CB_DOMAIN_DRIVER_API] = 807, [CUPTI_CB_DOMAIN_RUNTIME_API] = 523,
		[CUPTI_CB_DOMAIN_RESOURCE] = 24,    [CUPTI_CB_DOMAIN_SYNCHRONIZE] = 3,
		[CUPTI_CB_DOMAIN_NVTX] = 256,       [CUPTI_CB_DOMAIN_STATE] = 4};

	return domain < SIM_DOMAINS && cbid > 0 && cbid < ends[domain];
}
