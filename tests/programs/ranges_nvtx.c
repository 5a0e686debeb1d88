/* SPDX-License-Identifier: MIT
 *
 * tests/programs/ranges_nvtx.c - names ranges by NVTX 3, in counts that a test knows
 *
 * 13 times "epoch" of the default domain, in each "batch" of domain "trainer" (registered) and a
 * wide name; 3 ranges that are started and ended; 2 marks. With the word "attributes": 4 more. With
 * a real header it is NVIDIA's; else sim/nvtx.
 */
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include <nvtx3/nvToolsExt.h>

enum { EPOCHS = 13, STARTED = 3, MARKS = 2 };

static nvtxEventAttributes_t attributes_of(nvtxStringHandle_t string, const char *text)
{
	nvtxEventAttributes_t attributes;

	memset(&attributes, 0, sizeof(attributes));
	attributes.version = NVTX_VERSION;
	attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	if (text) {
		attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
		attributes.message.ascii = text;
	} else {
		attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
		attributes.message.registered = string;
	}
	return attributes;
}

/* Categories with and without a name, colours, payloads of each type; the number 5 is "five" in the
 * domain alone. */
static void name_attributes(nvtxDomainHandle_t domain)
{
	nvtxEventAttributes_t attributes = attributes_of(NULL, "attributes");

	nvtxNameCategoryA(3, "loader");
	nvtxDomainNameCategoryA(domain, 5, "five");
	attributes.category = 3;
	attributes.colorType = NVTX_COLOR_ARGB;
	attributes.color = 0xff76b900;
	attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
	attributes.payload.ullValue = UINT64_MAX;
	nvtxRangePushEx(&attributes);
	nvtxRangePop();
	attributes.category = 5;
	attributes.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
	attributes.payload.dValue = -0.125;
	nvtxRangePushEx(&attributes);
	nvtxRangePop();
	attributes.colorType = 0;
	attributes.payloadType = NVTX_PAYLOAD_TYPE_INT32;
	attributes.payload.iValue = -7;
	nvtxDomainMarkEx(domain, &attributes);
	attributes.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
	attributes.payload.fValue = 1.5f;
	attributes.category = 0;
	nvtxDomainRangeEnd(domain, nvtxDomainRangeStartEx(domain, &attributes));
}

int main(int argc, char **argv)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("trainer");
	nvtxEventAttributes_t batch =
		attributes_of(nvtxDomainRegisterStringA(domain, "batch"), NULL);
	nvtxEventAttributes_t plain = attributes_of(NULL, "loaded");
	int levels = 0;

	for (int i = 0; i < EPOCHS; i++) {
		nvtxRangeId_t id;

		levels += nvtxRangePushA("epoch");
		levels += nvtxDomainRangePushEx(domain, &batch);
		levels += nvtxRangePushW(L"größe \u2603");
		levels += nvtxRangePop();
		levels += nvtxDomainRangePop(domain);
		levels += nvtxRangePop();
		if (i < STARTED) {
			id = i ? nvtxDomainRangeStartEx(domain, &plain) : nvtxRangeStartA("begun");
			i ? nvtxDomainRangeEnd(domain, id) : nvtxRangeEnd(id);
		}
		if (i < MARKS)
			i ? nvtxDomainMarkEx(domain, &plain) : nvtxMarkA("marked");
	}
	if (argc > 1 && strcmp(argv[1], "attributes") == 0)
		name_attributes(domain);
	printf("levels %d\n", levels);
	return 0;
}
