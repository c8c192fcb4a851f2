# SPDX-License-Identifier: GPL-2.0-only
# Image, chart and role, and the checks of them that take minutes. Included by the Makefile.

# ---- image: the static programs, the configuration, and nothing else

STRIP ?= strip
# The architecture that CC compiles for, by the name that registries use.
ARCHITECTURE := $(patsubst x86_64-%,amd64,$(patsubst aarch64-%,arm64,$(shell $(CC) -dumpmachine)))
IMAGE := $(DIST)/bpf-bbr-$(VERSION)-image-$(ARCHITECTURE).tar
IMAGE_ROOT := $(BUILD)/image/root

# For two targets: each by a make of its own, they would write the same files at once.
static-programs:
	$(MAKE) STATIC=1 all

# It has a folder /run, because bbrctl locks a file there.
image: static-programs ## make an image for containers with the static programs, in build/dist
	rm -rf $(IMAGE_ROOT)
	mkdir -p $(DIST) $(addprefix $(IMAGE_ROOT)/,run usr/sbin usr/share/doc/bpf-bbr)
	$(foreach program,bbrctl bbrmon,$(STRIP) -o $(IMAGE_ROOT)/usr/sbin/$(program) $(BUILD)/static/$(program) &&) \
		cp -r packaging/etc $(IMAGE_ROOT)/ && cp LICENSE $(IMAGE_ROOT)/usr/share/doc/bpf-bbr/
	packaging/image/archive $(IMAGE_ROOT) $(VERSION) $(ARCHITECTURE) $(RELEASED) $(IMAGE)
	@echo $(IMAGE)

# ---- static tarball: what STATIC=1 install puts below PREFIX, for machines without packages

# tar's options for an archive whose bytes depend only on the names and contents of its files.
SAME_BYTES := --sort=name --mtime=@$(RELEASED) --owner=0 --group=0 --numeric-owner --mode=u+rw,go+r-w,a+X --format=gnu
STATIC_ROOT := $(BUILD)/static-root
STATIC_TARBALL := $(DIST)/bpf-bbr-$(VERSION)-static-$(ARCHITECTURE).tar.gz

static-tarball: static-programs ## pack the static programs and what belongs to them, to unpack in /, in build/dist
	rm -rf $(STATIC_ROOT)
	@mkdir -p $(DIST)
	$(MAKE) STATIC=1 DESTDIR=$(STATIC_ROOT) install
	$(STRIP) $(STATIC_ROOT)$(sbindir)/bbrctl $(STATIC_ROOT)$(sbindir)/bbrmon
	cd $(STATIC_ROOT) && find .$(PREFIX) -type f -printf '%P\n' | sed 's|^|.$(PREFIX)/|' | LC_ALL=C sort | \
		tar $(SAME_BYTES) --transform='s|^\./||' -c -T - | gzip -9n >$(CURDIR)/$(STATIC_TARBALL)
	@echo $(STATIC_TARBALL)

# ---- chart: with the version, and the alerts

CHART_ROOT := $(BUILD)/helm/bpf-bbr
CHART := $(DIST)/bpf-bbr-chart-$(VERSION).tgz

chart: ## make the Helm chart, in build/dist
	rm -rf $(CHART_ROOT)
	@mkdir -p $(DIST) $(dir $(CHART_ROOT))
	cp -r packaging/helm/bpf-bbr $(dir $(CHART_ROOT))
	cp packaging/prometheus/bpf-bbr.rules.yml LICENSE $(CHART_ROOT)/
	sed -i 's/@VERSION@/$(VERSION)/' $(CHART_ROOT)/Chart.yaml
	tar -C $(dir $(CHART_ROOT)) $(SAME_BYTES) -c bpf-bbr | gzip -9n >$(CHART)
	@echo $(CHART)

# ---- checks; each loads an instance into the running kernel, and removes it

check-image: image dist ## make the image twice, and try it in podman; needs root: minutes
	scripts/deps build deploy
	$(MAKE) WERROR=1 $(BUILD)/bbrctl
	$(PYTHON) -B tests/deploy/check_image.py $(IMAGE) $(TARBALL)

check-kube: chart image ## run the chart's pod in podman; needs root: minutes
	scripts/deps build deploy
	$(MAKE) WERROR=1 $(BUILD)/bbrctl
	$(PYTHON) -B tests/deploy/check_kube.py $(CHART) $(IMAGE)

check-cluster: chart image ## the chart in a cluster of Kubernetes of one node, its own, in namespaces; needs root: minutes, and to build Kubernetes once
	scripts/deps build run deploy
	$(MAKE) WERROR=1 $(BUILD)/bbrctl
	$(PYTHON) -B tests/deploy/check_cluster.py $(CHART) $(IMAGE)

check-ansible: static-tarball ## the role for Ansible, twice and in check mode, and a rollout that an alert stops; needs root: minutes
	scripts/deps build deploy
	$(MAKE) WERROR=1 $(BUILD)/bbrctl
	$(PYTHON) -B tests/deploy/check_ansible.py $(STATIC_TARBALL)

# The factor by which alerts fire sooner, and the playbook waits less for them. 1: unchanged, two hours.
FASTER ?= 10
check-rollout: static-tarball ## a rollout by Ansible over three virtual machines, which an alert stops, and one that succeeds; needs root: half an hour
	scripts/deps build run test deploy
	$(PYTHON) -B tests/deploy/check_rollout.py $(STATIC_TARBALL) $(FASTER)

# check_arm64.py must come first: the matrix takes the programs from build/arm64.
check-arm64: dist ## compile for arm64, run its unit tests, and test its kernels under emulation; needs root: half an hour
	scripts/deps build run test deploy
	$(PYTHON) -B tests/package/check_arm64.py $(TARBALL) $(BUILD)/arm64
	BBR_LAB_KERNELS=arm64 $(PYTHON) -m pytest -q -p no:cacheprovider tests/lab/test_matrix.py \
		-k 'not refused and not folder'

.PHONY: static-programs image static-tarball chart check-image check-kube check-cluster check-ansible check-rollout check-arm64
