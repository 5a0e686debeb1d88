/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/names.c - callback ids of the simulated CUPTI to names
 *
 * Runs in:  a program that uses CUDA
 * Gives:    the names of the functions that somebody may subscribe to and of those that the simulated driver
 *           has; the real library knows some hundreds more
 */
#include "cupti.h"
#include "driver.h"

static const struct {
	uint32_t cbid;
	const char *name;
} driver_names[] = {
#define X(name, number, class) {number, #name},
	CUPTI_DRIVER_CALLBACKS(X)
#undef X
#define X(name, number) {number, #name},
	SIM_CBIDS(X)
#undef X
}, runtime_names[] = {
#define X(name, number, class) {number, #name},
	CUPTI_RUNTIME_CALLBACKS(X)
#undef X
}, resource_names[] = {
	{CUPTI_CBID_RESOURCE_CONTEXT_CREATED, "CONTEXT_CREATED"},
	{CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, "CONTEXT_DESTROY_STARTING"},
	{CUPTI_CBID_RESOURCE_STREAM_CREATED, "STREAM_CREATED"},
	{CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, "STREAM_DESTROY_STARTING"},
	{CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, "CU_INIT_FINISHED"},
	{CUPTI_CBID_RESOURCE_MODULE_LOADED, "MODULE_LOADED"},
	{CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, "MODULE_UNLOAD_STARTING"},
	{CUPTI_CBID_RESOURCE_MODULE_PROFILED, "MODULE_PROFILED"},
	{CUPTI_CBID_RESOURCE_GRAPH_CREATED, "GRAPH_CREATED"},
	{CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, "GRAPH_DESTROY_STARTING"},
	{CUPTI_CBID_RESOURCE_GRAPH_CLONED, "GRAPH_CLONED"},
	{CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING, "GRAPHNODE_CREATE_STARTING"},
	{CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, "GRAPHNODE_CREATED"},
	{CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, "GRAPHNODE_DESTROY_STARTING"},
	{CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED, "GRAPHNODE_DEPENDENCY_CREATED"},
	{CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_DESTROY_STARTING,
	 "GRAPHNODE_DEPENDENCY_DESTROY_STARTING"},
	{CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING, "GRAPHEXEC_CREATE_STARTING"},
	{CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, "GRAPHEXEC_CREATED"},
	{CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING, "GRAPHEXEC_DESTROY_STARTING"},
	{CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, "GRAPHNODE_CLONED"},
	{CUPTI_CBID_RESOURCE_STREAM_ATTRIBUTE_CHANGED, "STREAM_ATTRIBUTE_CHANGED"},
	{CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED, "GRAPH_NODE_UPDATED"},
	{CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS, "GRAPH_NODE_SET_PARAMS"},
}, other_names[] = {
	{CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED, "STREAM_SYNCHRONIZED"},
	{CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED, "CONTEXT_SYNCHRONIZED"},
	{CUPTI_CBID_STATE_WARNING, "WARNING"},
};

#define FIND(table)                                                             \
	do {                                                                    \
		for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)   \
			if (table[i].cbid == cbid)                              \
				return table[i].name;                           \
		return NULL;                                                    \
	} while (0)

const char *sim_callback_name(cupti_domain domain, uint32_t cbid)
{
	switch (domain) {
	case CUPTI_CB_DOMAIN_DRIVER_API:
		FIND(driver_names);
	case CUPTI_CB_DOMAIN_RUNTIME_API:
		FIND(runtime_names);
	case CUPTI_CB_DOMAIN_RESOURCE:
		FIND(resource_names);
	case CUPTI_CB_DOMAIN_SYNCHRONIZE:
	case CUPTI_CB_DOMAIN_STATE:
		FIND(other_names);
	default:
		return NULL;
	}
}
