/* SPDX-License-Identifier: MIT
 *
 * agent/labels.h - container and Kubernetes labels of a control group, from files of the runtimes
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { LABEL_ID = 65, LABEL_NAME = 128, LABELS_TEXT = 640 };

/* "" where a label is not known. */
struct labels {
	char runtime[16]; /* docker, containerd, crio, podman */
	char container_id[LABEL_ID];
	char container[LABEL_NAME]; /* name of the container */
	char image[LABEL_NAME];
	char pod[LABEL_NAME], namespace[LABEL_NAME];
	char pod_uid[LABEL_ID];
};

struct label_cache;

/* root: folder that takes the place of "/"; "" for the machine's own files. Errors: -ENOMEM. */
int label_cache_new(const char *root, struct label_cache **ret_cache);
void label_cache_free(struct label_cache *cache); /* NULL-safe */

/* Labels of a path of a control group, such as "/system.slice/docker-ID.scope". Files are read once
 * per container while it is in the cache. Containers without a file keep their id. */
void labels_find(struct label_cache *cache, const char *cgroup, struct labels *ret_labels);

/* "container=web,image=nginx,…"; "" without labels. Returns ret_text. */
const char *labels_format(const struct labels *labels, char *ret_text, size_t size);
