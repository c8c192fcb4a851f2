# SPDX-License-Identifier: GPL-2.0-only
# Tarball, packages, and the checks of them that take minutes. Included by the Makefile. The quick checks are in make check.

# The maintainer of the packages: "NAME <ADDRESS>".
MAINTAINER ?= bpf-bbr maintainers <maintainers@bpf-bbr.example.org>
DIST := $(BUILD)/dist
TARBALL := $(DIST)/bpf-bbr-$(VERSION).tar.gz
# The time of everything in a tarball or a package: the day of the version.
RELEASED := $(shell date -ud "$$(sed -n 's/^\#\# .*(\(.*\))$$/\1/p' CHANGELOG.md | head -n 1)" +%s)

# All files that git tracks; without git, in an unpacked tarball, all files.
dist: ## make a tarball of the sources, in build/dist
	@mkdir -p $(DIST)
	@if [ -e .git ]; then git ls-files; else find . -path ./$(BUILD) -prune -o -type f -printf '%P\n'; fi | LC_ALL=C sort | \
		tar -cf $(TARBALL:.gz=) --no-recursion --mtime=@$(RELEASED) --owner=0 --group=0 --numeric-owner \
			--mode=u+rw,go+r,go-w --format=gnu --transform='flags=r;s|^|bpf-bbr-$(VERSION)/|' -T -
	@gzip -9nf $(TARBALL:.gz=)
	@echo $(TARBALL)

sbom: dist ## list what the programs are made of, as SPDX and CycloneDX
	packaging/sbom $(VERSION) $(TARBALL) $(RELEASED) $(TARBALL:.tar.gz=)

# To verify: ssh-keygen -Y verify -f ALLOWED_SIGNERS -I WHO -n bpf-bbr -s SHA256SUMS.sig <SHA256SUMS && sha256sum -c SHA256SUMS
release: sbom ## SHA256SUMS of all in build/dist, signed with SIGNING_KEY, a key of ssh
	@[ -n "$(SIGNING_KEY)" ] || { echo "release: SIGNING_KEY=FILE names the key to sign with" >&2; exit 1; }
	cd $(DIST) && rm -f SHA256SUMS* && sha256sum * >SHA256SUMS
	ssh-keygen -q -Y sign -f $(SIGNING_KEY) -n bpf-bbr $(DIST)/SHA256SUMS

# Unpacks the sources where the packaging tools expect them; $1: deb or rpm.
unpacked_sources = rm -rf $(BUILD)/$1 && mkdir -p $(BUILD)/$1 && tar -C $(BUILD)/$1 -xf $(TARBALL)

# Prepares debian/ in build/deb/bpf-bbr-VERSION, for dpkg-buildpackage, sbuild or gbp.
deb-sources: dist
	$(call unpacked_sources,deb)
	cp $(TARBALL) $(BUILD)/deb/bpf-bbr_$(VERSION).orig.tar.gz
	cp -r packaging/debian $(BUILD)/deb/bpf-bbr-$(VERSION)/
	sed -i 's/@MAINTAINER@/$(MAINTAINER)/' $(BUILD)/deb/bpf-bbr-$(VERSION)/debian/control
	packaging/changelog deb '$(MAINTAINER)' >$(BUILD)/deb/bpf-bbr-$(VERSION)/debian/changelog

deb: deb-sources ## make the Debian packages, in build/deb
	cd $(BUILD)/deb/bpf-bbr-$(VERSION) && dpkg-buildpackage -b -uc

rpm-sources: dist
	rm -rf $(BUILD)/rpm
	@mkdir -p $(BUILD)/rpm
	cp $(TARBALL) $(BUILD)/rpm/
	packaging/changelog rpm '$(MAINTAINER)' >$(BUILD)/rpm/changelog
	sed -e 's/@VERSION@/$(VERSION)/; s/@MAINTAINER@/$(MAINTAINER)/' -e '/@CHANGELOG@/{r $(BUILD)/rpm/changelog' -e 'd}' \
		packaging/rpm/bpf-bbr.spec.in >$(BUILD)/rpm/bpf-bbr.spec
	rm $(BUILD)/rpm/changelog

# All of rpmbuild's files are in the folder of the spec.
RPMBUILD := rpmbuild --define '_topdir %(pwd)/$(BUILD)/rpm' --define '_sourcedir %{_topdir}'
rpm: rpm-sources ## make the rpm packages, in build/rpm/RPMS
	$(RPMBUILD) -bb $(BUILD)/rpm/bpf-bbr.spec

check-static: ## the static programs in an empty root; needs root
	scripts/deps build test
	$(MAKE) -j2 WERROR=1 STATIC=1 all
	$(PYTHON) -m pytest -q -p no:cacheprovider tests/package/test_install.py -k hard_to_exploit
	tests/package/check_static.sh $(BUILD)/static

check-deb: deb-sources ## build, check and install the Debian packages in roots of Debian 12 and 13: minutes
	scripts/deps build package
	$(PYTHON) tests/package/check_deb.py $(BUILD)/deb/bpf-bbr-$(VERSION)

check-rpm: rpm-sources ## build and check the rpm packages in a root of Debian 12: minutes
	scripts/deps build package
	$(PYTHON) tests/package/check_rpm.py $(BUILD)/rpm

check-boot: deb-sources ## install the Debian packages as docs/install.md says in machines of Debian 12 and 13, and boot them: minutes
	scripts/deps build test package
	$(PYTHON) tests/package/check_boot.py $(BUILD)/deb/bpf-bbr-$(VERSION)

.PHONY: dist sbom release deb-sources deb rpm-sources rpm check-static check-deb check-rpm check-boot
