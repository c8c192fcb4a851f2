/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The labels of pods, from the container runtime. Neither the kubelet's folders nor the cgroups have
 * them; the runtime has those with which a pod began, in its Container Runtime Interface (CRI), that
 * is gRPC over a Unix socket.
 */
#ifndef LOADER_CRI_H
#define LOADER_CRI_H

#include "cgroup/pods.h"

/* Where containerd, k3s, CRI-O and cri-dockerd listen; with a NULL at the end. */
extern const char *const cri_sockets[];

/*
 * Asks the first of these that is there, and gives the pods the labels that it knows. Pods that it
 * does not know (yet) remain without. Returns an exit status.
 */
int cri_read_labels(const char *const *sockets, struct pod *list, int n);

/*
 * Does so with an answer to ListPodSandbox, without asking. Returns false if it is malformed; the
 * pods may then have some of the labels.
 */
bool cri_take_labels(const void *answer, size_t size, struct pod *list, int n);

#endif
