/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_drm_formats.c - files of DRM drivers, whole and odd
 */
#include "collect/drm/cards.h"
#include "collect/drm/formats.h"
#include "harness.h"

static bool dpm(const char *text, uint64_t *ret_mhz)
{
	return dpm_parse(text, strlen(text), ret_mhz);
}

TEST(levels_of_a_clock)
{
	uint64_t mhz = 0;

	CHECK(dpm("0: 500Mhz\n1: 1200Mhz *\n2: 2304Mhz\n", &mhz));
	CHECK_EQUAL(mhz, 1200);
	CHECK(dpm("S: 19Mhz *\n0: 500Mhz\n", &mhz));
	CHECK_EQUAL(mhz, 19);
	CHECK(!dpm("0: 500Mhz\n1: 1200Mhz\n", &mhz));
	CHECK(!dpm("", &mhz));
	CHECK(!dpm("*", &mhz));
	CHECK(!dpm("0: *\n", &mhz));
	CHECK(!dpm("0: Mhz *\n", &mhz));
	CHECK(!dpm("0: 99999999999999999999Mhz *\n", &mhz));
	CHECK(!dpm("0: 8.0GT/s, x16 *\n", &mhz));
}

static struct card card_of(const char *text)
{
	struct card card = {.id = 0};

	card_parse(text, strlen(text), &card);
	return card;
}

TEST(what_a_card_says_of_itself)
{
	struct card card = card_of("DRIVER=xe\nPCI_CLASS=30000\nPCI_ID=8086:E20B\n"
				   "PCI_SUBSYS_ID=8086:1100\nPCI_SLOT_NAME=0000:03:00.0\n");

	CHECK_TEXT(card.driver, "xe");
	CHECK_TEXT(card.address, "0000:03:00.0");
	CHECK_TEXT(card.pci_id, "8086:E20B");
	CHECK_TEXT(card_vendor(&card), "Intel");
	card = card_of("DRIVER=panfrost\nOF_NAME=gpu\nOF_FULLNAME=/soc/gpu@ff9a0000\n");
	CHECK_TEXT(card.address, "/soc/gpu@ff9a0000");
	CHECK_TEXT(card_vendor(&card), "");
	card = card_of("DRIVER");
	CHECK_TEXT(card.driver, "");
}

TEST(a_client_finds_its_card)
{
	struct cards cards = {.count = 2};

	cards.all[0] = card_of("DRIVER=amdgpu\nPCI_SLOT_NAME=0000:03:00.0\n");
	cards.all[1] = card_of("DRIVER=panfrost\nOF_FULLNAME=/soc/gpu\n");
	CHECK(cards_match(&cards, "0000:03:00.0", "amdgpu") == &cards.all[0]);
	CHECK(cards_match(&cards, "0000:04:00.0", "amdgpu") == NULL);
	CHECK(cards_match(&cards, "", "panfrost") == &cards.all[1]);
	CHECK(cards_match(&cards, "", "xe") == NULL);
}

int main(void)
{
	RUN(levels_of_a_clock);
	RUN(what_a_card_says_of_itself);
	RUN(a_client_finds_its_card);
	return harness_end();
}
