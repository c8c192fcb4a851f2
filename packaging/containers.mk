# SPDX-License-Identifier: GPL-2.0-only
# Image and chart, and the checks of them that take minutes: included by the Makefile.

# ---- image: the static programs, the configuration, and nothing else

STRIP ?= strip
# As registries name the architecture that CC compiles for.
ARCHITECTURE := $(patsubst x86_64-%,amd64,$(patsubst aarch64-%,arm64,$(shell $(CC) -dumpmachine)))
IMAGE := $(DIST)/bpf-bbr-$(VERSION)-image-$(ARCHITECTURE).tar
IMAGE_ROOT := $(BUILD)/image/root

# bbrctl locks a file in /run.
image: ## make an image for containers with the static programs, in build/dist
	$(MAKE) STATIC=1 all
	rm -rf $(IMAGE_ROOT)
	mkdir -p $(DIST) $(addprefix $(IMAGE_ROOT)/,run usr/sbin usr/share/doc/bpf-bbr)
	$(foreach program,bbrctl bbrmon,$(STRIP) -o $(IMAGE_ROOT)/usr/sbin/$(program) $(BUILD)/static/$(program) &&) \
		cp -r packaging/etc $(IMAGE_ROOT)/ && cp LICENSE $(IMAGE_ROOT)/usr/share/doc/bpf-bbr/
	packaging/image/archive $(IMAGE_ROOT) $(VERSION) $(ARCHITECTURE) $(RELEASED) $(IMAGE)
	@echo $(IMAGE)

# ---- chart: with the version, and the alerts

CHART_ROOT := $(BUILD)/helm/bpf-bbr
CHART := $(DIST)/bpf-bbr-chart-$(VERSION).tgz
# Files in an archive whose bytes go by their names and contents alone.
SAME_BYTES := --sort=name --mtime=@$(RELEASED) --owner=0 --group=0 --numeric-owner --mode=u+rw,go+r-w,a+X --format=gnu

chart: ## make the Helm chart, in build/dist
	rm -rf $(CHART_ROOT)
	@mkdir -p $(DIST) $(dir $(CHART_ROOT))
	cp -r packaging/helm/bpf-bbr $(dir $(CHART_ROOT))
	cp packaging/prometheus/bpf-bbr.rules.yml LICENSE $(CHART_ROOT)/
	sed -i 's/@VERSION@/$(VERSION)/' $(CHART_ROOT)/Chart.yaml
	tar -C $(dir $(CHART_ROOT)) $(SAME_BYTES) -c bpf-bbr | gzip -9n >$(CHART)
	@echo $(CHART)

# ---- checks; each loads an instance into the running kernel, and takes it away

check-image: image dist ## make the image twice, and try it in podman; needs root: minutes
	scripts/deps build container
	$(MAKE) WERROR=1 $(BUILD)/bbrctl
	$(PYTHON) -B tests/package/check_image.py $(IMAGE) $(TARBALL)

check-kube: chart image ## hold the chart against Kubernetes' schemas, and run its pod in podman; needs root: minutes
	scripts/deps build container
	$(MAKE) WERROR=1 $(BUILD)/bbrctl
	$(PYTHON) -B tests/package/check_kube.py $(CHART) $(IMAGE)

.PHONY: image chart check-image check-kube
