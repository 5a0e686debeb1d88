/* SPDX-License-Identifier: MIT
 *
 * collect/drm/cards.h - the GPUs for which the kernel has a DRM driver
 */
#ifndef COLLECT_DRM_CARDS_H
#define COLLECT_DRM_CARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/source.h"

enum { CARDS_MOST = 64, CARD_TEXT_BYTES = 64 };

struct card {
	char name[CARD_TEXT_BYTES]; /* "card0", below /sys/class/drm */
	char driver[CARD_TEXT_BYTES];
	char address[CARD_TEXT_BYTES]; /* PCI, "0000:03:00.0"; else what the device tree calls it */
	char pci_id[CARD_TEXT_BYTES];  /* "1002:744C"; "": it is not on PCI */
	uint32_t id;                   /* the trace's; 0: it is not described */
};

/* The context of all of the collector's sources. */
struct cards {
	struct card all[CARDS_MOST];
	size_t count;
	bool keeps_awake; /* what keeps a GPU awake is read, too: the user asked for it */
};

/* What a card's uevent says. */
void card_parse(const char *text, size_t length, struct card *card);

/* Lists them below root. */
void cards_find(const char *root, struct cards *ret_cards);

/* By its address, and, where there is none, by its driver. NULL: none. */
const struct card *cards_match(const struct cards *cards, const char *address, const char *driver);

/* "AMD" … of a card on PCI; "" where the vendor is not known. */
const char *card_vendor(const struct card *card);

extern const struct source_list drm_sources;

#endif
