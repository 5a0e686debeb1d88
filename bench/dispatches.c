/* SPDX-License-Identifier: MIT
 *
 * bench/dispatches.c - what a dispatch costs the thread that writes it
 *
 *	dispatches signal|none [ROUNDS]
 *
 * Writes as many packets as a queue holds without being full, waits until all are done, and again.
 * The kernel is made up: a simulated GPU takes any. Output: the least and the middle of the rounds,
 * in ns a dispatch, how many were done in a second with the waits between rounds, and the most
 * memory that the process had.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hsa/hsa.h>

#include "rounds.h"

enum { PACKETS = 512, QUEUE_PACKETS = 4096 };

static hsa_agent_t gpu;

static void check(hsa_status_t status, const char *what)
{
	if (status == HSA_STATUS_SUCCESS)
		return;
	fprintf(stderr, "dispatches: %s: status %#x\n", what, (unsigned)status);
	exit(1);
}

static hsa_status_t on_agent(hsa_agent_t agent, void *unused)
{
	hsa_device_type_t type;

	(void)unused;
	if (hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type) == HSA_STATUS_SUCCESS &&
	    type == HSA_DEVICE_TYPE_GPU)
		gpu = agent;
	return HSA_STATUS_SUCCESS;
}

static void submit(hsa_queue_t *queue, const void *packet)
{
	uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
	char *slot = (char *)queue->base_address + index % queue->size * 64;

	memcpy(slot + 4, (const char *)packet + 4, 60);
	__atomic_store_n((uint32_t *)slot, *(const uint32_t *)packet, __ATOMIC_RELEASE);
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

static double round_ns(hsa_queue_t *queue, hsa_signal_t done, hsa_signal_t all)
{
	hsa_kernel_dispatch_packet_t packet = {.header = HSA_PACKET_TYPE_KERNEL_DISPATCH,
					       .setup = 1,
					       .workgroup_size_x = 64,
					       .workgroup_size_y = 1,
					       .workgroup_size_z = 1,
					       .grid_size_x = 64,
					       .grid_size_y = 1,
					       .grid_size_z = 1,
					       .kernel_object = 0x1000,
					       .completion_signal = done};
	hsa_barrier_and_packet_t last = {.header = HSA_PACKET_TYPE_BARRIER_AND |
						   1 << HSA_PACKET_HEADER_BARRIER,
					 .completion_signal = all};
	uint64_t begin = now_ns(), end;

	for (int i = 0; i < PACKETS; i++)
		submit(queue, &packet);
	end = now_ns();
	submit(queue, &last);
	while (hsa_signal_wait_scacquire(all, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
					 HSA_WAIT_STATE_BLOCKED) > 0)
		;
	if (done.handle)
		while (hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
						 HSA_WAIT_STATE_BLOCKED) > 0)
			;
	hsa_signal_store_relaxed(all, 1);
	if (done.handle)
		hsa_signal_store_relaxed(done, PACKETS);
	return (double)(end - begin) / PACKETS;
}

/* Of this program alone: what getrusage says begins with the process that started it. */
static long peak_kib(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	long kib = 0;

	while (file && !kib && fgets(line, sizeof(line), file))
		if (strncmp(line, "VmHWM:", 6) == 0)
			kib = atol(line + 6);
	if (file)
		fclose(file);
	return kib;
}

int main(int count, char **texts)
{
	static double rounds[MAX_ROUNDS];
	int number = count > 2 ? atoi(texts[2]) : 200;
	hsa_signal_t done = {0}, all;
	hsa_queue_t *queue;
	uint64_t begin;
	double sustained;

	if (count < 2 || number < 1 || number > MAX_ROUNDS) {
		fprintf(stderr, "usage: dispatches signal|none [ROUNDS]\n");
		return 2;
	}
	check(hsa_init(), "hsa_init");
	hsa_iterate_agents(on_agent, NULL);
	check(hsa_queue_create(gpu, QUEUE_PACKETS, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX,
			       UINT32_MAX, &queue),
	      "hsa_queue_create");
	check(hsa_signal_create(1, 0, NULL, &all), "hsa_signal_create");
	if (strcmp(texts[1], "signal") == 0)
		check(hsa_signal_create(PACKETS, 0, NULL, &done), "hsa_signal_create");
	begin = now_ns();
	for (int i = 0; i < number; i++)
		rounds[i] = round_ns(queue, done, all);
	sustained = (double)number * PACKETS * 1e9 / (double)(now_ns() - begin);
	rounds_print(rounds, number);
	printf("sustained %.0f peak_kib %ld\n", sustained, peak_kib());
	hsa_queue_destroy(queue);
	hsa_shut_down();
	return 0;
}
