/* SPDX-License-Identifier: MIT
 *
 * tests/unit/net/test_address.c - the address on which a server listens
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <unistd.h>

#include "base/error.h"
#include "harness.h"
#include "net/address.h"

static const struct sockaddr_in *v4_of(const struct net_address *address)
{
	return (const struct sockaddr_in *)&address->storage;
}

TEST(no_address_is_this_machine)
{
	static const char *const texts[] = {"9464", ":9464", "localhost:9464", "127.0.0.1:9464"};
	struct net_address address;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		CHECK_EQUAL(net_address_parse(texts[i], &address), 0);
		CHECK(address.is_loopback);
		CHECK_EQUAL(address.storage.ss_family, AF_INET);
		CHECK_EQUAL(ntohl(v4_of(&address)->sin_addr.s_addr), INADDR_LOOPBACK);
		CHECK_EQUAL(ntohs(v4_of(&address)->sin_port), 9464);
	}
}

TEST(other_addresses_are_written_out)
{
	struct net_address address;

	CHECK_EQUAL(net_address_parse("0.0.0.0:1", &address), 0);
	CHECK(!address.is_loopback);
	CHECK_EQUAL(net_address_parse("[::]:65535", &address), 0);
	CHECK(!address.is_loopback);
	CHECK_EQUAL(address.storage.ss_family, AF_INET6);
	CHECK_EQUAL(net_address_parse("[::1]:0", &address), 0);
	CHECK(address.is_loopback);
	CHECK_EQUAL(net_address_parse("127.8.9.10:80", &address), 0);
	CHECK(address.is_loopback);
}

TEST(other_texts_are_refused)
{
	static const char *const texts[] = {"",
					    "127.0.0.1",
					    "127.0.0.1:",
					    "127.0.0.1:65536",
					    "127.0.0.1:-1",
					    "::1:80",
					    "[::1:80",
					    "[::1]80",
					    "example.com:80",
					    "1.2.3:80",
					    "127.0.0.1:8x",
					    "127.0.0.1: 80",
					    "[127.0.0.1:80"};
	struct net_address address = {.size = 77};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		CHECK_EQUAL(net_address_parse(texts[i], &address), -EINVAL);
		CHECK(strstr(error_text(), "write ADDRESS:PORT"));
	}
	CHECK_EQUAL(address.size, 77);
	error_clear();
}

TEST(a_free_port_is_found_and_a_used_one_refused)
{
	struct net_address address;
	int first = -1, second = -1;
	uint16_t port = 0, other = 0;
	char text[32];

	CHECK_EQUAL(net_address_parse("127.0.0.1:0", &address), 0);
	REQUIRE(!net_address_listen(&address, &first, &port));
	CHECK(port != 0);
	snprintf(text, sizeof(text), "127.0.0.1:%u", port);
	CHECK_EQUAL(net_address_parse(text, &address), 0);
	CHECK_EQUAL(net_address_listen(&address, &second, &other), -EADDRINUSE);
	CHECK(strstr(error_text(), "listen on 127.0.0.1: Address already in use"));
	error_clear();
	CHECK_EQUAL(second, -1);
	close(first);
}

int main(void)
{
	RUN(no_address_is_this_machine);
	RUN(other_addresses_are_written_out);
	RUN(other_texts_are_refused);
	RUN(a_free_port_is_found_and_a_used_one_refused);
	return harness_end();
}
