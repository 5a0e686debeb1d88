/* SPDX-License-Identifier: MIT
 *
 * collect/drm/cards.c - lists the GPUs for which the kernel has a DRM driver
 *
 * Runs in:  the recorder's main thread
 * Gets:     /sys/class/drm/card*
 * Gives:    driver and address of each
 * Owns:     nothing
 * Fails:    a card without these facts, or without hardware, is left out
 * Why the file uevent: it contains driver, address and PCI id; outside of it, each needs a link or
 *           file of its own
 */
#include "collect/drm/cards.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "collect/counter/scan.h"

#define FOLDER "/sys/class/drm"

static const struct source *const all[] = {&drm_sensor_source, &drm_engine_source,
					   &drm_client_source, &own_source};
const struct source_list drm_sources = {all, ARRAY_COUNT(all)};

static const struct {
	const char *key;
	size_t offset;
} keys[] = {
	{"DRIVER=", offsetof(struct card, driver)},
	{"PCI_SLOT_NAME=", offsetof(struct card, address)},
	{"PCI_ID=", offsetof(struct card, pci_id)},
	{"OF_FULLNAME=", offsetof(struct card, address)},
};

void card_parse(const char *text, size_t length, struct card *card)
{
	struct scan rest = scan_of(text, length), line;

	while (scan_line(&rest, &line))
		for (size_t i = 0; i < ARRAY_COUNT(keys); i++)
			if (scan_text(&line, keys[i].key))
				snprintf((char *)card + keys[i].offset, CARD_TEXT_BYTES, "%.*s",
					 (int)(line.end - line.at), line.at);
}

/* Whether the entry is a card, as "card0". "card0-HDMI-A-1" is a connector. */
static int is_card(const struct dirent *entry)
{
	const char *number = entry->d_name + strlen("card");

	return strncmp(entry->d_name, "card", strlen("card")) == 0 &&
	       isdigit((unsigned char)*number) && !number[strspn(number, "0123456789")];
}

static bool read_card(const char *root, const char *name, struct card *ret_card)
{
	auto_free char *text = NULL;
	char path[512];
	size_t length;

	*ret_card = (struct card){.id = 0};
	if (strlen(name) >= sizeof(ret_card->name))
		return false;
	memcpy(ret_card->name, name, strlen(name));
	snprintf(path, sizeof(path), "%s" FOLDER "/%s/device/uevent", root, name);
	if (read_file(path, 1 << 16, &text, &length)) {
		error_clear();
		return false;
	}
	card_parse(text, length, ret_card);
	return *ret_card->driver && *ret_card->address;
}

void cards_find(const char *root, struct cards *ret_cards)
{
	struct dirent **entries = NULL;
	char path[512];
	int count;

	ret_cards->count = 0;
	snprintf(path, sizeof(path), "%s" FOLDER, root);
	count = scandir(path, &entries, is_card, versionsort);
	for (int i = 0; i < count; i++) {
		if (ret_cards->count < MAX_CARDS)
			ret_cards->count += read_card(root, entries[i]->d_name,
						      &ret_cards->all[ret_cards->count]);
		free(entries[i]);
	}
	free(entries);
}

const struct card *cards_match(const struct cards *cards, const char *address, const char *driver)
{
	for (size_t i = 0; i < cards->count; i++)
		if (*address ? strcmp(cards->all[i].address, address) == 0
			     : strcmp(cards->all[i].driver, driver) == 0)
			return &cards->all[i];
	return NULL;
}

const char *card_vendor(const struct card *card)
{
	static const struct {
		const char *id, *name;
	} vendors[] = {{"1002:", "AMD"}, {"8086:", "Intel"}, {"10DE:", "NVIDIA"}};

	for (size_t i = 0; i < ARRAY_COUNT(vendors); i++)
		if (strncasecmp(card->pci_id, vendors[i].id, strlen(vendors[i].id)) == 0)
			return vendors[i].name;
	return "";
}
