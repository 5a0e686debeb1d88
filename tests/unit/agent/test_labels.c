/* SPDX-License-Identifier: MIT
 *
 * tests/unit/agent/test_labels.c - labels from files of container runtimes
 */
#include "agent/labels.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

#define ID      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define POD_UID "12345678-1234-1234-1234-123456789abc"

static char root[] = "/tmp/labels.XXXXXX";

static void write_below(const char *path, const char *text)
{
	char whole[512];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (char *at = whole + strlen(root) + 1; *at; at++)
		if (*at == '/') {
			*at = '\0';
			mkdir(whole, 0755);
			*at = '/';
		}
	file = fopen(whole, "w");
	if (!file)
		return;
	fputs(text, file);
	fclose(file);
}

static const char *found(const char *cgroup)
{
	static char text[LABELS_TEXT];
	struct label_cache *cache = NULL;
	struct labels labels;

	if (label_cache_new(root, &cache))
		return "";
	labels_find(cache, cgroup, &labels);
	labels_find(cache, cgroup, &labels); /* from the cache */
	label_cache_free(cache);
	return labels_format(&labels, text, sizeof(text));
}

static void remove_all(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s/*", root);
	if (system(command))
		return;
}

TEST(no_container)
{
	CHECK_TEXT(found("/user.slice/user-1000.slice"), "");
	CHECK_TEXT(found(""), "");
}

TEST(unknown_container_has_its_id)
{
	CHECK_TEXT(found("/system.slice/docker-" ID ".scope"), "runtime=docker,container_id=" ID);
}

TEST(docker)
{
	write_below("/var/lib/docker/containers/" ID "/config.v2.json",
		    "{\"State\":{\"Name\":\"no\",\"X\":[1,{\"Name\":\"no\"}]},\"Name\":\"/web\","
		    "\"Config\":{\"Image\":\"nginx:1\",\"Labels\":{\"other\":\"x\"}}}");
	CHECK_TEXT(found("/docker/" ID),
		   "runtime=docker,container=web,container_id=" ID ",image=nginx:1");
	remove_all();
}

TEST(containerd_of_kubernetes)
{
	write_below("/run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json",
		    "{\"process\":{\"args\":[\"a\"]},\"annotations\":{"
		    "\"io.kubernetes.cri.container-name\":\"train\","
		    "\"io.kubernetes.cri.image-name\":\"img\","
		    "\"io.kubernetes.cri.sandbox-name\":\"pod-1\","
		    "\"io.kubernetes.cri.sandbox-namespace\":\"ml\"}}");
	CHECK_TEXT(found("/kubepods.slice/kubepods-burstable.slice/"
			 "kubepods-burstable-pod12345678_1234_1234_1234_123456789abc.slice/"
			 "cri-containerd-" ID ".scope"),
		   "runtime=containerd,container=train,container_id=" ID
		   ",image=img,pod=pod-1,namespace=ml,pod_uid=" POD_UID);
	remove_all();
}

TEST(crio)
{
	write_below("/run/containers/storage/overlay-containers/" ID "/userdata/config.json",
		    "{\"annotations\":{\"io.kubernetes.container.name\":\"c\","
		    "\"io.kubernetes.pod.name\":\"p\",\"io.kubernetes.pod.namespace\":\"n\"}}");
	CHECK_TEXT(found("/kubepods/besteffort/pod" POD_UID "/crio-" ID),
		   "runtime=crio,container=c,container_id=" ID
		   ",pod=p,namespace=n,pod_uid=" POD_UID);
	remove_all();
}

TEST(podman)
{
	write_below("/var/lib/containers/storage/overlay-containers/containers.json",
		    "[{\"id\":\"fff\",\"names\":[\"no\"]},{\"id\":\"" ID
		    "\",\"names\":[\"job\",\"other\"]}]");
	CHECK_TEXT(found("/machine.slice/libpod-" ID ".scope"),
		   "runtime=podman,container=job,container_id=" ID);
	remove_all();
}

TEST(pod_by_its_folder)
{
	write_below("/var/log/pods/ml_train-7_" POD_UID "/c/0.log", "");
	CHECK_TEXT(found("/kubepods/burstable/pod" POD_UID),
		   "pod=train-7,namespace=ml,pod_uid=" POD_UID);
	remove_all();
	write_below("/var/lib/kubelet/pods/" POD_UID "/etc-hosts",
		    "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n10.0.0.7\ttrain-8\n"
		    "10.0.0.8\tanother\n# Entries added by HostAliases.\n10.0.0.9\talias\n");
	CHECK_TEXT(found("/kubepods/burstable/pod" POD_UID), "pod=train-8,pod_uid=" POD_UID);
	remove_all();
	write_below("/var/lib/kubelet/pods/" POD_UID "/etc-hosts",
		    "127.0.0.1\tlocalhost\n# Entries added by HostAliases.\n10.0.0.9\talias\n");
	CHECK_TEXT(found("/kubepods/burstable/pod" POD_UID), "pod_uid=" POD_UID);
	remove_all();
}

TEST(hostile_files)
{
	write_below("/var/lib/docker/containers/" ID "/config.v2.json",
		    "{\"Name\":\"/a,b=c\\nd\\u001b[31m\",\"Config\":{\"Image\":");
	CHECK_TEXT(found("/docker/" ID), "runtime=docker,container=a_b_c_d_[31m,container_id=" ID);
	write_below(
		"/var/lib/docker/containers/" ID "/config.v2.json",
		"{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"Name\":"
		"\"no\"}}}}}}}}}}, \"Name\":\"deep\"}");
	CHECK_TEXT(found("/docker/" ID), "runtime=docker,container=deep,container_id=" ID);
	write_below("/var/lib/docker/containers/" ID "/config.v2.json", "]");
	CHECK_TEXT(found("/docker/../../" ID), "runtime=docker,container_id=" ID);
	remove_all();
}

int main(void)
{
	if (!mkdtemp(root))
		return 1;
	RUN(no_container);
	RUN(unknown_container_has_its_id);
	RUN(docker);
	RUN(containerd_of_kubernetes);
	RUN(crio);
	RUN(podman);
	RUN(pod_by_its_folder);
	RUN(hostile_files);
	rmdir(root);
	return harness_end();
}
