/* SPDX-License-Identifier: MIT
 *
 * tests/device/capture/capture_pm_offline.c - evaluates kept counter images again, without the GPU
 * they are of
 *
 * Runs in:  capture_pm
 * Gets:     a capture file
 * Gives:    lines of text: how far the values are from those of then
 * Owns:     the file's bytes
 * Fails:    with status 1
 */
#include "capture_pm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct offline {
	uint8_t *bytes;
	size_t size;
	const uint8_t *availability;
	char chip[64], *metrics;
	const char *names[MAX_PM_METRICS];
	size_t count;
};

static bool read_file(const char *path, struct offline *offline)
{
	FILE *file = fopen(path, "rbe");
	long size;

	if (!file)
		return false;
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	rewind(file);
	offline->bytes = size > 0 ? calloc(1, (size_t)size + 16) : NULL;
	if (offline->bytes)
		offline->size = fread(offline->bytes, 1, (size_t)size, file);
	fclose(file);
	return offline->size >= sizeof(struct capture_header) &&
	       !memcmp(offline->bytes, CAPTURE_MAGIC, 8);
}

/* The chunk at *at, which moves behind it; NULL: the end. */
static const uint8_t *next_chunk(const struct offline *offline, size_t *at,
				 struct capture_chunk *ret_chunk)
{
	const uint8_t *contents;

	if (*at + sizeof(*ret_chunk) > offline->size)
		return NULL;
	memcpy(ret_chunk, offline->bytes + *at, sizeof(*ret_chunk));
	if (ret_chunk->bytes > offline->size - *at - sizeof(*ret_chunk))
		return NULL;
	contents = offline->bytes + *at + sizeof(*ret_chunk);
	*at += sizeof(*ret_chunk) + (ret_chunk->bytes + 7) / 8 * 8;
	return contents;
}

static void read_heads(struct offline *offline)
{
	size_t at = sizeof(struct capture_header);
	struct capture_chunk chunk;
	const uint8_t *contents;
	char *rest, *name;

	while ((contents = next_chunk(offline, &at, &chunk))) {
		if (chunk.type == CAPTURE_FACTS && chunk.bytes > 5 && chunk.bytes < 64 &&
		    !memcmp(contents, "chip=", 5))
			snprintf(offline->chip, sizeof(offline->chip), "%.*s", (int)chunk.bytes - 6,
				 (const char *)contents + 5);
		if (chunk.type == CAPTURE_PM_IMAGE && chunk.number == CAPTURE_IMAGE_AVAILABILITY)
			offline->availability = contents;
		if (chunk.type == CAPTURE_PM_METRICS && !offline->metrics)
			offline->metrics = strndup((const char *)contents, chunk.bytes);
	}
	rest = offline->metrics;
	while (rest && (name = strsep(&rest, "\n")) && offline->count < MAX_PM_METRICS)
		if (*name)
			offline->names[offline->count++] = name;
}

/* Compares the values of a block of samples with what its image gives now. */
static void compare(struct pm_host *host, const uint8_t *image, size_t image_bytes,
		    const uint8_t *samples, size_t sample_bytes)
{
	struct capture_pm_block block;
	double now[MAX_PM_METRICS], then, worst = 0;
	size_t width = 8 * (2 + host->metric_count), equal = 0, other = 0, failed = 0;

	memcpy(&block, samples, sizeof(block));
	if (block.value_count != host->metric_count ||
	    sizeof(block) + block.count * width > sample_bytes)
		return;
	for (uint32_t i = 0; i < block.count; i++) {
		if (!pm_host_evaluate(host, image, image_bytes, i, now)) {
			failed++;
			continue;
		}
		for (size_t k = 0; k < host->metric_count; k++) {
			memcpy(&then, samples + sizeof(block) + i * width + 16 + 8 * k, 8);
			if (then == now[k] || (isnan(then) && isnan(now[k]))) {
				equal++;
				continue;
			}
			other++;
			worst = fmax(worst, fabs(then - now[k]) / fmax(fabs(then), 1e-300));
		}
	}
	printf("offline image of %zu bytes: %u samples, %zu values equal, %zu differ by %g at "
	       "most, %zu samples refused\n",
	       image_bytes, block.count, equal, other, worst, failed);
}

static void count_samples(const struct capture_cupti *cupti, const uint8_t *image, size_t bytes)
{
	struct cupti_pm_sampling_counter_data_info_params info = {
		.struct_bytes = CUpti_PmSampling_GetCounterDataInfo_Params_STRUCT_SIZE,
		.counter_data = image,
		.counter_data_bytes = bytes};
	cupti_result result = cupti->call.cuptiPmSamplingGetCounterDataInfo
				      ? cupti->call.cuptiPmSamplingGetCounterDataInfo(&info)
				      : (cupti_result)CAPTURE_ABSENT;

	printf("offline cuptiPmSamplingGetCounterDataInfo=%d %s: total %zu populated %zu "
	       "completed %zu\n",
	       (int)result, capture_cupti_text(cupti, result), info.ret_total_count,
	       info.ret_populated_count, info.ret_completed_count);
}

int pm_offline(const char *path)
{
	size_t at = sizeof(struct capture_header), image_bytes = 0;
	const uint8_t *image = NULL, *contents;
	struct capture_cupti cupti;
	struct pm_host host = {.cupti = &cupti};
	struct offline offline = {0};
	struct capture_chunk chunk;
	uint32_t images = 0;

	if (!read_file(path, &offline) || capture_cupti_open(&cupti) != 0) {
		fprintf(stderr, "capture_pm: %s: no capture, or no libcupti is found\n", path);
		return 1;
	}
	read_heads(&offline);
	if (!pm_host_take(&host, offline.chip, offline.availability, offline.names,
			  offline.count)) {
		printf("offline chip '%s' with %zu metrics: the host library takes them not\n",
		       offline.chip, offline.count);
		return 1;
	}
	while ((contents = next_chunk(&offline, &at, &chunk))) {
		if (chunk.type == CAPTURE_PM_IMAGE && chunk.number == CAPTURE_IMAGE_COUNTERS) {
			image = contents;
			image_bytes = chunk.bytes;
			count_samples(&cupti, image, image_bytes);
			images++;
		} else if (chunk.type == CAPTURE_PM_SAMPLES && image &&
			   chunk.bytes >= sizeof(struct capture_pm_block)) {
			compare(&host, image, image_bytes, contents, chunk.bytes);
			image = NULL;
		}
	}
	printf("offline images=%u metrics=%zu\n", images, offline.count);
	pm_host_close(&host);
	return images ? 0 : 1;
}

int pm_show_metrics(const char *chip, const char *set)
{
	const char *names[MAX_PM_METRICS];
	struct capture_cupti cupti;
	struct pm_host host = {.cupti = &cupti}, finder = {.cupti = &cupti};
	size_t count;

	if (capture_cupti_open(&cupti) != 0) {
		fprintf(stderr, "capture_pm: no libcupti is found\n");
		return 1;
	}
	count = pm_host_names(&finder, chip, NULL, set, names);
	if (!pm_host_choose(&host, chip, NULL, names, count)) {
		fprintf(stderr, "capture_pm: none of %zu metrics fits\n", count);
		return 1;
	}
	printf("%s %s: %zu of %zu metrics in one pass, a configuration of %zu bytes\n", chip, set,
	       host.metric_count, count, host.config_bytes);
	for (size_t i = 0; i < host.metric_count; i++)
		printf("%s\n", host.metrics[i]);
	pm_host_close(&host);
	return 0;
}
