/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/codec.c - how busy the encoders and decoders of video are
 *
 * Runs in:  a sampler's thread
 * Gets:     percentages of a time before, whose length the driver chooses   Gives: shares of the time
 * Owns:     the shares
 * Fails:    what a GPU does not have is absent
 */
#include "base/array.h"
#include "collect/host_clocks.h"
#include "collect/nvidia/nvidia.h"

enum { ENCODER, DECODER, TIME };

static const struct metric metrics[] = {
	[ENCODER] = {"gpu.encoder.busy", "ns", "share of the time in which video was encoded",
		     "nvmlDeviceGetEncoderUtilization", METRIC_PART, TIME, LIMIT_WHOLE},
	[DECODER] = {"gpu.decoder.busy", "ns", "share of the time in which video was decoded",
		     "nvmlDeviceGetDecoderUtilization", METRIC_PART, TIME, LIMIT_WHOLE},
	[TIME] = {NULL},
};

struct own {
	struct share encoders[NVIDIA_DEVICES_MOST], decoders[NVIDIA_DEVICES_MOST];
};

static uint64_t read_codecs(struct source_state *state, struct tick *tick, size_t index,
			    uint64_t *values)
{
	struct own *own = state->own;
	struct nvidia *nvidia = tick->context;
	struct share *encoder = &own->encoders[index], *decoder = &own->decoders[index];
	unsigned percent[2] = {0}, period_us;
	uint64_t now_ns = host_clocks_now_ns();

	/* Both or none: they have one time. */
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

static void read_all(struct source_state *state, struct tick *tick)
{
	nvidia_read_each(state, tick, read_codecs);
}

extern const struct source nvidia_codec_source;
const struct source nvidia_codec_source = {
	.name = "codec",
	.file = "NVML",
	SOURCE_METRICS(metrics),
	.group = GROUP_MACHINE,
	.most_hz = 10,
	.things_most = NVIDIA_DEVICES_MOST,
	.own_bytes = sizeof(struct own),
	.open = nvidia_open_any,
	.read = read_all,
};
