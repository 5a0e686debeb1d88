/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/c/socket.c - a server that answers slowly, over TCP
 */
#include "diagnosis.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static void connect_server(void);
static void fetch_parameters(uint64_t ns);

PLANT(.name = "socket", .kinds = "network", .words = "fetch_parameters network socket",
      .prepare = connect_server, .act = fetch_parameters);

static int peer, connection;

static void connect_server(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof(address);
	int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), accepted;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	check(bind(server, (struct sockaddr *)&address, size) == 0, "bind");
	check(listen(server, 1) == 0, "listen");
	check(getsockname(server, (struct sockaddr *)&address, &size) == 0, "getsockname");
	connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	check(connect(connection, (struct sockaddr *)&address, size) == 0, "connect");
	accepted = accept(server, NULL, NULL);
	check(accepted >= 0, "accept");
	peer = start_slow_peer(accepted);
	close(accepted);
	close(server);
}

NOINLINE static void fetch_parameters(uint64_t ns)
{
	char value;

	PLANT_BEGIN();
	ask_slow_peer(peer, ns);
	check(recv(connection, &value, 1, 0) == 1, "recv");
	PLANT_END();
}
