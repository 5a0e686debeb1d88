/* SPDX-License-Identifier: MIT
 *
 * analyze/text/cgroup.c - the path of a process's control group, and the container that it names
 *
 * Runs in:  our own process
 * Gets:     the first line of /proc/PID/cgroup, as recorded
 * Gives:    its path, and the container's engine and id
 * Owns:     nothing
 * Fails:    never; an unknown form of path has no container
 * Why by the id: engines name the group in many ways (docker-ID.scope, cri-containerd-ID.scope,
 *           docker/ID, kubepods/…/ID), but the id is always 64 hexadecimal digits
 */
#include "analyze/text/cgroup.h"

#include <stdio.h>
#include <string.h>

enum { ID_DIGITS = 64, SHOWN_DIGITS = 12 };

const char *cgroup_path_of(const char *line)
{
	const char *controllers = strchr(line, ':');
	const char *path = controllers ? strchr(controllers + 1, ':') : NULL;

	return path && path[1] && path[2] ? path + 1 : "";
}

/* The engine's name, in "docker-ID" and in "docker/ID"; its length is 0 if another word stands
 * there. */
static size_t engine_before(const char *path, const char *id, const char **ret_engine)
{
	static const char *const engines[] = {"docker", "cri-containerd", "containerd", "crio",
					      "libpod", "podman",         "lxc",        "garden"};
	const char *end = id > path ? id - 1 : path, *begin = end;

	while (begin > path && begin[-1] != '/')
		begin--;
	*ret_engine = begin;
	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++)
		if (strlen(engines[i]) == (size_t)(end - begin) &&
		    memcmp(engines[i], begin, (size_t)(end - begin)) == 0)
			return (size_t)(end - begin);
	return 0;
}

const char *cgroup_container(const char *path, char *ret_text, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	const char *id = NULL, *engine;
	size_t length;

	ret_text[0] = '\0';
	for (const char *at = path; *at; at += length ? length : 1) {
		length = strspn(at, digits);
		if (length == ID_DIGITS)
			id = at;
	}
	if (!id)
		return ret_text;
	length = engine_before(path, id, &engine);
	snprintf(ret_text, size, "%.*s%s%.*s", (int)length, engine, length ? " " : "", SHOWN_DIGITS,
		 id);
	return ret_text;
}
