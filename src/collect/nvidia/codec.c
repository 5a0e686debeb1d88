/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/codec.c - use of the video encoders and decoders of each GPU
 *
 * Runs in:  a sampler's thread
 * Gets:     percentages of an interval before the reading, whose length the driver chooses
 * Gives:    shares of the time
 * Owns:     the shares
 * Fails:    a value that a GPU lacks is absent
 */
#include "collect/host_clocks.h"
#include "collect/nvidia/nvidia.h"

enum { ENCODER, DECODER, TIME };

static const struct metric metrics[] = {
	[ENCODER] = {"gpu.encoder.busy", "ns",
		     "share of the time in which the GPU's video encoder was busy",
		     "nvmlDeviceGetEncoderUtilization", METRIC_PART, TIME, LIMIT_WHOLE},
	[DECODER] = {"gpu.decoder.busy", "ns",
		     "share of the time in which the GPU's video decoder was busy",
		     "nvmlDeviceGetDecoderUtilization", METRIC_PART, TIME, LIMIT_WHOLE},
	[TIME] = {NULL},
};

struct own {
	struct share encoders[MAX_NVIDIA_DEVICES], decoders[MAX_NVIDIA_DEVICES];
};

static uint64_t read_codecs(struct source_state *state, struct tick *tick, size_t index,
			    uint64_t *values)
{
	struct own *own = state->own;
	struct nvidia *nvidia = tick->context;
	struct share *encoder = &own->encoders[index], *decoder = &own->decoders[index];
	unsigned percent[2] = {0}, period_us;
	uint64_t now_ns = host_clocks_now_ns();

	/* Both or neither, because they are for the same interval. */
	if (!NVIDIA_ASK(nvidia, tick, index, nvmlDeviceGetEncoderUtilization, &percent[ENCODER],
			&period_us) ||
	    !NVIDIA_ASK(nvidia, tick, index, nvmlDeviceGetDecoderUtilization, &percent[DECODER],
			&period_us))
		return 0;
	share_add(encoder, now_ns, percent[ENCODER]);
	share_add(decoder, now_ns, percent[DECODER]);
	values[ENCODER] = encoder->part_ns;
	values[DECODER] = decoder->part_ns;
	values[TIME] = encoder->of_ns;
	return 1u << ENCODER | 1u << DECODER | 1u << TIME;
}

const struct source nvidia_codec_source = {
	.name = "codec",
	.file = "NVML",
	SOURCE_METRICS(metrics),
	.group = GROUP_MACHINE,
	.max_hz = 10,
	.max_instances = MAX_NVIDIA_DEVICES,
	.own_bytes = sizeof(struct own),
	.open = nvidia_open_any,
	.read = nvidia_read_each,
	.read_one = read_codecs,
};
