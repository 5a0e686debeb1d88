/* SPDX-License-Identifier: MIT
 *
 * agent/labels.c - container and Kubernetes labels of a control group, from files of the runtimes
 *
 * Runs in:  the agent's recorder
 * Gets:     the path of a control group; files of Docker, containerd, CRI-O, Podman and kubelet
 * Gives:    names of container, image, pod and namespace
 * Owns:     a cache of CACHE_SLOTS containers
 * Fails:    never; a label that no file has is empty
 * Why:      only files are read. A socket of a runtime or the API server would need rights, may
 *           hang, and changes with each version. The path may be chosen by a user, so only an id of
 *           64 hexadecimal digits, or a pod's UID, becomes a part of a file name
 */
#include "agent/labels.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file/regular_file.h"
#include "base/io.h"
#include "base/json_reader.h"
#include "base/string.h"

enum {
	CACHE_SLOTS = 256,
	MAX_FILE_BYTES = 1 << 20,
	MAX_DEPTH = 8,
	ID_DIGITS = 64,
	UID_LENGTH = 36
};

struct label_cache {
	char root[PATH_MAX];
	struct labels slots[CACHE_SLOTS]; /* by hash of the key; the newest wins */
	char keys[CACHE_SLOTS][2 * LABEL_ID];
};

int label_cache_new(const char *root, struct label_cache **ret_cache)
{
	struct label_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return error_no_memory();
	snprintf(cache->root, sizeof(cache->root), "%s", root);
	*ret_cache = cache;
	return 0;
}

void label_cache_free(struct label_cache *cache)
{
	free(cache);
}

/* ---- the path -------------------------------------------------------------------------------- */

/* The last run of 64 hexadecimal digits. */
static void find_container_id(const char *path, char ret_id[LABEL_ID])
{
	static const char digits[] = "0123456789abcdef";
	size_t length;

	ret_id[0] = '\0';
	for (const char *at = path; *at; at += length ? length : 1) {
		length = strspn(at, digits);
		if (length == ID_DIGITS)
			snprintf(ret_id, LABEL_ID, "%.*s", ID_DIGITS, at);
	}
}

/* "kubepods-burstable-pod1234_5678_….slice" (systemd) or "/kubepods/burstable/pod1234-…" */
static void find_pod_uid(const char *path, char ret_uid[LABEL_ID])
{
	const char *at = strstr(path, "kubepods");
	size_t length;

	ret_uid[0] = '\0';
	while (at && (at = strstr(at, "pod"))) {
		at += strlen("pod");
		length = strspn(at, "0123456789abcdef-_");
		/* A static pod's UID is a hash of 32 digits. */
		if (length == UID_LENGTH || length == 32)
			break;
	}
	if (!at)
		return;
	snprintf(ret_uid, LABEL_ID, "%.*s", (int)length, at);
	for (char *byte = ret_uid; *byte; byte++)
		if (*byte == '_')
			*byte = '-';
}

static void find_runtime(const char *path, char *ret_runtime, size_t size)
{
	static const struct {
		const char *word, *runtime;
	} words[] = {{"cri-containerd", "containerd"},
		     {"crio", "crio"},
		     {"libpod", "podman"},
		     {"podman", "podman"},
		     {"docker", "docker"},
		     {"containerd", "containerd"}};

	for (size_t i = 0; i < ARRAY_COUNT(words); i++)
		if (strstr(path, words[i].word)) {
			snprintf(ret_runtime, size, "%s", words[i].runtime);
			return;
		}
}

/* ---- files ----------------------------------------------------------------------------------- */

/* A label in a JSON file: its keys joined by a tab, because names of annotations contain dots.
 */
struct label_key {
	const char *path;
	size_t offset, size;
};

#define LABEL(member) offsetof(struct labels, member), sizeof(((struct labels *)0)->member)
#define CRI           "annotations\tio.kubernetes.cri."
#define CRIO          "annotations\tio.kubernetes.cri-o."
#define KUBERNETES    "annotations\tio.kubernetes."
#define DOCKER        "Config\tLabels\tio.kubernetes."

static const struct label_key spec_keys[] = {
	{CRI "container-name", LABEL(container)},
	{CRI "image-name", LABEL(image)},
	{CRI "sandbox-name", LABEL(pod)},
	{CRI "sandbox-namespace", LABEL(namespace)},
	{CRI "sandbox-uid", LABEL(pod_uid)},
	{CRIO "ImageName", LABEL(image)},
	{CRIO "KubeName", LABEL(pod)},
	{CRIO "Namespace", LABEL(namespace)},
	{KUBERNETES "container.name", LABEL(container)},
	{KUBERNETES "pod.name", LABEL(pod)},
	{KUBERNETES "pod.namespace", LABEL(namespace)},
	{KUBERNETES "pod.uid", LABEL(pod_uid)},
	{"annotations\tnerdctl/name", LABEL(container)},
	{"annotations\tio.podman.annotations.container.name", LABEL(container)},
	{NULL}};
static const struct label_key docker_keys[] = {{"Name", LABEL(container)},
					       {"Config\tImage", LABEL(image)},
					       {DOCKER "container.name", LABEL(container)},
					       {DOCKER "pod.name", LABEL(pod)},
					       {DOCKER "pod.namespace", LABEL(namespace)},
					       {DOCKER "pod.uid", LABEL(pod_uid)},
					       {NULL}};

/* %s is the container's id. Files of containerd lie in a folder per namespace: see below. */
static const struct label_file {
	const char *runtime, *path;
	const struct label_key *keys;
} label_files[] = {
	{"docker", "/var/lib/docker/containers/%s/config.v2.json", docker_keys},
	{"crio", "/run/containers/storage/overlay-containers/%s/userdata/config.json", spec_keys},
	{"podman", "/var/lib/containers/storage/overlay-containers/%s/userdata/config.json",
	 spec_keys},
};

#define CONTAINERD_TASKS "/run/containerd/io.containerd.runtime.v2.task"

/* Copies printable ASCII; other bytes, and those that separate labels, become '_'. */
static void copy_label(const char *text, size_t length, char *ret_label, size_t size)
{
	size_t count = 0;

	for (size_t i = 0; i < length && count + 1 < size; i++) {
		const char byte = text[i];

		if (!count && byte == '/')
			continue; /* Docker's names begin with one */
		ret_label[count++] =
			byte > ' ' && byte < 0x7f && byte != ',' && byte != '=' ? byte : '_';
	}
	ret_label[count] = '\0';
}

static void take_text(const char *path, const char *text, size_t length,
		      const struct label_key *keys, struct labels *labels)
{
	for (const struct label_key *key = keys; key->path; key++) {
		char *label = (char *)labels + key->offset;

		if (strcmp(key->path, path) == 0 && length)
			copy_label(text, length, label, key->size);
	}
}

struct text_source {
	const char *text;
	size_t length;
};

static ssize_t read_more(void *context, void *buffer, size_t size)
{
	struct text_source *source = context;
	const size_t count = source->length < size ? source->length : size;

	memcpy(buffer, source->text, count);
	source->text += count;
	source->length -= count;
	return (ssize_t)count;
}

/* Path of the present key; keys of objects only, since no label is in an array. */
struct json_path {
	char text[512];
	size_t ends[MAX_DEPTH + 1]; /* length of the path of each open object */
	int depth;
};

static void path_set_key(struct json_path *path, const char *key)
{
	const size_t start = path->ends[path->depth];

	snprintf(path->text + start, sizeof(path->text) - start, "%s%s", start ? "\t" : "", key);
}

/* Errors: that of the reader; -E2BIG: too deep. */
static int read_token(struct json_reader *reader, int token, struct json_path *path,
		      const struct label_key *keys, struct labels *labels)
{
	const char *text;
	size_t length;

	if (token == JSON_OBJECT_BEGIN) {
		if (path->depth == MAX_DEPTH)
			return json_reader_skip(reader, token);
		path->depth++;
		path->ends[path->depth] = path->depth > 1 ? strlen(path->text) : 0;
	} else if (token == JSON_OBJECT_END) {
		path->text[path->ends[path->depth]] = '\0';
		path->depth--;
	} else if (token == JSON_ARRAY_BEGIN) {
		return json_reader_skip(reader, token);
	} else if (token == JSON_KEY) {
		path_set_key(path, json_reader_text(reader, &length));
	} else if (token == JSON_STRING) {
		text = json_reader_text(reader, &length);
		take_text(path->text, text, length, keys, labels);
	}
	return 0;
}

static void parse_labels(const char *text, size_t length, const struct label_key *keys,
			 struct labels *labels)
{
	struct text_source source = {text, length};
	struct json_path path = {.depth = 0};
	struct json_reader *reader = NULL;
	int token, error;

	if (json_reader_new(read_more, &source, &reader))
		return;
	do {
		token = json_reader_next(reader);
		error = token > JSON_END ? read_token(reader, token, &path, keys, labels) : token;
	} while (token > JSON_END && !error);
	json_reader_free(reader);
	error_clear();
}

/* False: there is no such file. */
static bool read_labels(const char *path, const struct label_key *keys, struct labels *labels)
{
	auto_close int fd = regular_file_open(path);
	auto_free char *text = NULL;
	size_t length = 0;

	if (fd < 0 || read_fd(fd, MAX_FILE_BYTES, &text, &length))
		return false;
	parse_labels(text, length, keys, labels);
	return true;
}

/* A folder per namespace of containerd: k8s.io, moby (Docker), default. */
static bool read_containerd(const struct label_cache *cache, const char *id, struct labels *labels)
{
	struct string_builder path = {0};
	const struct dirent *entry;
	bool is_found = false;
	DIR *folder;

	string_builder_appendf(&path, "%s" CONTAINERD_TASKS, cache->root);
	folder = opendir(string_builder_text(&path));
	while (folder && !is_found && (entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		string_builder_clear(&path);
		string_builder_appendf(&path, "%s" CONTAINERD_TASKS "/%s/%s/config.json",
				       cache->root, entry->d_name, id);
		is_found =
			!path.error && read_labels(string_builder_text(&path), spec_keys, labels);
	}
	if (folder)
		closedir(folder);
	string_builder_fini(&path);
	return is_found;
}

#define PODMAN_LIST "/var/lib/containers/storage/overlay-containers/containers.json"

/* Podman's list of containers: [{"id": ID, "names": [NAME, …], …}, …]; "id" comes first. */
static void parse_podman_list(struct json_reader *reader, struct labels *labels)
{
	bool is_key_id = false, is_key_names = false, is_this = false;
	const char *text;
	size_t length;
	int token;

	while ((token = json_reader_next(reader)) > JSON_END) {
		text = token == JSON_KEY || token == JSON_STRING ? json_reader_text(reader, &length)
								 : NULL;
		if (token == JSON_KEY) {
			is_key_id = strcmp(text, "id") == 0;
			is_key_names = strcmp(text, "names") == 0;
		} else if (token == JSON_STRING && is_key_id) {
			is_this = strcmp(text, labels->container_id) == 0;
			is_key_id = false;
		} else if (token == JSON_STRING && is_key_names && is_this) {
			copy_label(text, length, labels->container, sizeof(labels->container));
			return;
		}
	}
}

static void read_podman_name(const struct label_cache *cache, struct labels *labels)
{
	struct text_source source;
	struct json_reader *reader = NULL;
	char path[PATH_MAX + 128];
	auto_free char *text = NULL;
	auto_close int fd = -1;
	size_t length = 0;

	snprintf(path, sizeof(path), "%s" PODMAN_LIST, cache->root);
	fd = regular_file_open(path);
	if (fd < 0 || read_fd(fd, MAX_FILE_BYTES, &text, &length))
		return;
	source = (struct text_source){text, length};
	if (json_reader_new(read_more, &source, &reader) == 0)
		parse_podman_list(reader, labels);
	json_reader_free(reader);
	error_clear();
}

static bool read_runtime_files(const struct label_cache *cache, struct labels *labels)
{
	char path[PATH_MAX + 256], id[LABEL_ID];
	bool is_found = false;

	memcpy(id, labels->container_id, sizeof(id));
	for (size_t i = 0; i < ARRAY_COUNT(label_files) && !is_found; i++) {
		const struct label_file *file = &label_files[i];
		int length = snprintf(path, sizeof(path), "%s", cache->root);

		snprintf(path + length, sizeof(path) - (size_t)length, file->path, id);
		is_found = read_labels(path, file->keys, labels);
		if (is_found && !labels->runtime[0])
			snprintf(labels->runtime, sizeof(labels->runtime), "%s", file->runtime);
	}
	/* Docker's own file has the names; containerd's below it only repeats the id. */
	return is_found || read_containerd(cache, id, labels);
}

/* Kubelet's folder of logs: /var/log/pods/NAMESPACE_POD_UID. A name has no '_'. */
static void read_pod_folder(const struct label_cache *cache, struct labels *labels)
{
	char path[PATH_MAX + 64];
	const struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/var/log/pods", cache->root);
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		const char *pod = strchr(entry->d_name, '_');
		const char *uid = pod ? strchr(pod + 1, '_') : NULL;

		if (!uid || strcmp(uid + 1, labels->pod_uid) != 0)
			continue;
		copy_label(entry->d_name, (size_t)(pod - entry->d_name), labels->namespace,
			   sizeof(labels->namespace));
		copy_label(pod + 1, (size_t)(uid - pod - 1), labels->pod, sizeof(labels->pod));
		break;
	}
	if (folder)
		closedir(folder);
}

/* Kubelet's own folder has a pod's host name in the first line with its name: "IP NAME". Names that
 * the pod's author chose (HostAliases) follow. */
static void read_pod_hosts(const struct label_cache *cache, struct labels *labels)
{
	char path[PATH_MAX + 128], line[256], address[64], name[LABEL_NAME];
	auto_close int fd = -1;
	auto_fclose FILE *file = NULL;

	snprintf(path, sizeof(path), "%s/var/lib/kubelet/pods/%s/etc-hosts", cache->root,
		 labels->pod_uid);
	fd = regular_file_open(path);
	if (fd < 0 || !(file = fdopen(fd, "re")))
		return;
	take_fd(&fd);
	while (!labels->pod[0] && fgets(line, sizeof(line), file) && !strstr(line, "HostAliases"))
		if (line[0] != '#' && sscanf(line, "%63s %127s", address, name) == 2 &&
		    strcmp(name, "localhost") != 0 && strncmp(name, "ip6-", 4) != 0)
			copy_label(name, strlen(name), labels->pod, sizeof(labels->pod));
}

/* ---- the cache ------------------------------------------------------------------------------- */

static void look_up(const struct label_cache *cache, const char *cgroup, struct labels *labels)
{
	if (labels->container_id[0]) {
		find_runtime(cgroup, labels->runtime, sizeof(labels->runtime));
		read_runtime_files(cache, labels);
	}
	if (labels->container_id[0] && !labels->container[0])
		read_podman_name(cache, labels);
	if (labels->pod_uid[0] && !labels->namespace[0])
		read_pod_folder(cache, labels);
	if (labels->pod_uid[0] && !labels->pod[0])
		read_pod_hosts(cache, labels);
}

static size_t slot_of(const char *key)
{
	uint32_t hash = 2166136261u;

	for (; *key; key++)
		hash = (hash ^ (unsigned char)*key) * 16777619u;
	return hash % CACHE_SLOTS;
}

void labels_find(struct label_cache *cache, const char *cgroup, struct labels *ret_labels)
{
	char key[2 * LABEL_ID];
	size_t slot;

	*ret_labels = (struct labels){0};
	find_container_id(cgroup, ret_labels->container_id);
	find_pod_uid(cgroup, ret_labels->pod_uid);
	if (!ret_labels->container_id[0] && !ret_labels->pod_uid[0])
		return;
	snprintf(key, sizeof(key), "%s/%s", ret_labels->container_id, ret_labels->pod_uid);
	slot = slot_of(key);
	if (strcmp(cache->keys[slot], key) == 0) {
		*ret_labels = cache->slots[slot];
		return;
	}
	look_up(cache, cgroup, ret_labels);
	cache->slots[slot] = *ret_labels;
	snprintf(cache->keys[slot], sizeof(cache->keys[slot]), "%s", key);
}

const char *labels_format(const struct labels *labels, char *ret_text, size_t size)
{
	const struct {
		const char *name, *value;
	} pairs[] = {{"runtime", labels->runtime},
		     {"container", labels->container},
		     {"container_id", labels->container_id},
		     {"image", labels->image},
		     {"pod", labels->pod},
		     {"namespace", labels->namespace},
		     {"pod_uid", labels->pod_uid}};
	size_t length = 0;

	ret_text[0] = '\0';
	for (size_t i = 0; i < ARRAY_COUNT(pairs) && length < size; i++)
		if (pairs[i].value[0])
			length +=
				(size_t)snprintf(ret_text + length, size - length, "%s%s=%s",
						 length ? "," : "", pairs[i].name, pairs[i].value);
	return ret_text;
}
