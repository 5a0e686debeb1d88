/* SPDX-License-Identifier: MIT
 *
 * collect/drm/cards.h - lists the GPUs for which the kernel has a DRM driver
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/counter/source.h"

enum { MAX_CARDS = 64, CARD_TEXT_BYTES = 64 };

struct card {
	char name[CARD_TEXT_BYTES]; /* "card0", its name below /sys/class/drm */
	char driver[CARD_TEXT_BYTES];
	/* PCI address "0000:03:00.0"; otherwise its name in the device tree. */
	char address[CARD_TEXT_BYTES];
	char pci_id[CARD_TEXT_BYTES]; /* "1002:744C"; "": not on PCI */
	uint32_t id;                  /* id of the trace; 0: not described */
};

/* The context of all sources of the collector. */
struct cards {
	struct card all[MAX_CARDS];
	size_t count;
	bool keeps_awake; /* also read values that keep a GPU awake (option xe-engines) */
};

/* Parses a card's uevent. */
void card_parse(const char *text, size_t length, struct card *card);

/* Lists the cards below root. */
void cards_find(const char *root, struct cards *ret_cards);

/* Finds a card by its address or, without one, by its driver. NULL: none. */
const struct card *cards_match(const struct cards *cards, const char *address, const char *driver);

/* Vendor of a card on PCI, as "AMD"; "": unknown. */
const char *card_vendor(const struct card *card);

extern const struct source_list drm_sources;

/* The sources, one file each. */
extern const struct source drm_client_source;
extern const struct source drm_engine_source;
extern const struct source drm_sensor_source;
