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

static bool event_of(const char *text, uint64_t *ret_config)
{
	return event_parse(text, strlen(text), ret_config);
}

TEST(events_of_a_driver)
{
	uint64_t config = 0;

	CHECK(event_of("event=0x02\n", &config));
	CHECK_EQUAL(config, 2);
	CHECK(event_of("config=0x10000000100Ab3", &config));
	CHECK_EQUAL(config, 0x10000000100ab3);
	CHECK(event_of("config=0xffffffffffffffff\n", &config));
	CHECK_EQUAL(config, UINT64_MAX);
	CHECK(!event_of("", &config));
	CHECK(!event_of("ns\n", &config));
	CHECK(!event_of("event=\n", &config));
	CHECK(!event_of("event=0x\n", &config));
	CHECK(!event_of("event=2\n", &config));
	CHECK(!event_of("event=0x2,umask=0x3\n", &config));
	CHECK(!event_of("config=0x10000000000000000\n", &config));
	CHECK_EQUAL(config, UINT64_MAX);
}

static bool field_of(const char *text, struct event_field *ret_field)
{
	return event_field_parse(text, strlen(text), ret_field);
}

TEST(fields_of_an_event)
{
	struct event_field field = {0};
	uint64_t words[EVENT_WORDS] = {2, 0, 0};

	CHECK(field_of("config:60-63\n", &field));
	CHECK(event_field_put(&field, 9, words));
	CHECK(!event_field_put(&field, 16, words));
	CHECK(field_of("config:12-19\n", &field));
	CHECK(event_field_put(&field, 255, words));
	CHECK(field_of("config2:7", &field));
	CHECK(event_field_put(&field, 1, words));
	CHECK(!event_field_put(&field, 2, words));
	CHECK(field_of("config1:0-63\n", &field));
	CHECK(event_field_put(&field, UINT64_MAX, words));
	CHECK_EQUAL(words[0], UINT64_C(9) << 60 | 0xff000 | 2);
	CHECK_EQUAL(words[1], UINT64_MAX);
	CHECK_EQUAL(words[2], 1 << 7);
	CHECK(!field_of("", &field));
	CHECK(!field_of("config3:0-7\n", &field));
	CHECK(!field_of("config:7-0\n", &field));
	CHECK(!field_of("config:0-64\n", &field));
	CHECK(!field_of("config:0-7,9\n", &field));
	CHECK(!field_of("config:-7\n", &field));
	CHECK(!field_of("config:0-\n", &field));
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
	RUN(events_of_a_driver);
	RUN(fields_of_an_event);
	RUN(what_a_card_says_of_itself);
	RUN(a_client_finds_its_card);
	return harness_end();
}
