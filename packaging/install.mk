# SPDX-License-Identifier: GPL-2.0-only
# What is installed, and where. Included by the Makefile. Runs none of the programs: they may be for another machine.

PREFIX ?= /usr/local
DESTDIR ?=
sysconfdir ?= /etc
sbindir ?= $(PREFIX)/sbin
libdir ?= $(PREFIX)/lib
datadir ?= $(PREFIX)/share
mandir ?= $(datadir)/man
docdir ?= $(datadir)/doc/bpf-bbr
unitdir ?= $(libdir)/systemd/system
zshdir ?= $(datadir)/zsh/site-functions

# The compiler for programs that run on the build machine.
HOSTCC ?= cc

# The version is defined only there.
VERSION := $(shell sed -n 's/^\#define BBR_VERSION "\(.*\)"/\1/p' include/bpf_bbr/abi.h)

# ---- the manual of each algorithm: manual.7 in its folder, with the table of its parameters

MANUALS := $(patsubst %/manual.7,%,$(wildcard $(addsuffix /manual.7,$(ALGORITHMS))))
MANUALS := $(patsubst %,$(BUILD)/man/bpf_%.7,$(notdir $(MANUALS)))
$(foreach folder,$(ALGORITHMS),$(eval $(BUILD)/man/bpf_$(notdir $(folder)).7: $(folder)/manual.7))

# The program that prints such a table. It runs on the build machine.
DESCRIPTORS := $(addsuffix /descriptor.c,$(ALGORITHMS))
$(BUILD)/man/params: $(BUILD)/algorithms.h lib/descriptor.h lib/cli/units.h loader/tuning/param.h
$(BUILD)/man/params: $(wildcard include/bpf_bbr/*.h $(addsuffix /*.h,$(ALGORITHMS)))
$(BUILD)/man/params: docs/man/params.c loader/tuning/param_text.c lib/cli/units.c lib/descriptor.c $(DESCRIPTORS)
	@mkdir -p $(@D)
	$(HOSTCC) -O1 $(OUR_CFLAGS) $(filter %.c,$^) -lm -o $@

$(BUILD)/man/bpf_%.7: $(BUILD)/man/params
	$< $* >$@.table
	sed -e '/@PARAMETERS@/{r $@.table' -e 'd}' $(filter %/manual.7,$^) >$@
	@rm $@.table

# ---- units: they contain the path at which the programs are installed

UNITS := $(addprefix $(BUILD)/,$(wildcard packaging/systemd/*))
# FORCE: they change when sbindir changes.
$(BUILD)/packaging/systemd/%: packaging/systemd/% FORCE
	@mkdir -p $(@D)
	$(call if_changed,sed 's|/usr/local/sbin|$(sbindir)|g' $<)

# ---- completions: the same for each program, except for its name

COMPLETIONS := $(BUILD)/completions
BASH_COMPLETIONS := $(addprefix $(COMPLETIONS)/bash/,bbrctl bbrmon)
ZSH_COMPLETIONS := $(addprefix $(COMPLETIONS)/zsh/_,bbrctl bbrmon)
FISH_COMPLETIONS := $(addprefix $(COMPLETIONS)/fish/,bbrctl.fish bbrmon.fish)
for_program = @mkdir -p $(@D); sed 's/@PROGRAM@/$*/g' $< >$@
$(COMPLETIONS)/bash/%: packaging/completions/bash.in
	$(for_program)
$(COMPLETIONS)/zsh/_%: packaging/completions/zsh.in
	$(for_program)
$(COMPLETIONS)/fish/%.fish: packaging/completions/fish.in
	$(for_program)
completions: $(BASH_COMPLETIONS) $(ZSH_COMPLETIONS) $(FISH_COMPLETIONS)

# ---- documents: without links to what is not there. Each package has a folder of them.

DOCS := README.md CHANGELOG.md SECURITY.md $(wildcard docs/*.md docs/*.svg docs/*.png)
DOCS_OF_BBRMON := $(addprefix docs/,metrics.md monitoring-cost.md report.md report.svg watching.md why.md)
docs: ## copy the documents that packages have
	@packaging/ship-docs $(BUILD)/doc/bpf-bbr $(DOCS)
	@packaging/ship-docs $(BUILD)/doc/bbrmon $(DOCS_OF_BBRMON)
.PHONY: docs

# ---- install, uninstall

# MODE:FOLDER:FILE of each file. A file keeps its name.
placed = $(addprefix $1:$2:,$3)
INSTALLED := \
	$(call placed,755,$(sbindir),$(PROGRAMS)) \
	$(call placed,644,$(libdir)/bpf-bbr,$(OBJECTS) $(VARIANTS)) \
	$(call placed,644,$(mandir)/man8,docs/man/bbrctl.8 docs/man/bbrmon.8) \
	$(call placed,644,$(mandir)/man7,$(MANUALS)) \
	$(call placed,644,$(unitdir),$(UNITS)) \
	$(call placed,644,$(datadir)/bash-completion/completions,$(BASH_COMPLETIONS)) \
	$(call placed,644,$(zshdir),$(ZSH_COMPLETIONS)) \
	$(call placed,644,$(datadir)/fish/vendor_completions.d,$(FISH_COMPLETIONS)) \
	$(call placed,644,$(datadir)/bpf-bbr,docs/grafana-dashboard.json packaging/prometheus/bpf-bbr.rules.yml) \
	$(call placed,644,$(docdir),LICENSE $(addprefix $(BUILD)/doc/bpf-bbr/,$(notdir $(DOCS))))
# What bbrctl apply --undo needs (loader/machine/undo.c).
KEPT := /var/lib/bpf-bbr
# uninstall removes these folders if they are empty then; all others belong to the system.
OUR_FOLDERS := $(libdir)/bpf-bbr $(datadir)/bpf-bbr $(docdir) $(sysconfdir)/bpf-bbr $(KEPT)

# FOLDER:FILE of each file that the administrator may change: install does not overwrite it, and uninstall keeps it if it was
# changed.
CONFIGURATION := $(foreach file,$(shell [ ! -d packaging/etc ] || find packaging/etc -type f), \
	$(patsubst packaging/etc%,$(sysconfdir)%,$(patsubst %/,%,$(dir $(file)))):$(file))

install: all completions docs $(MANUALS) $(UNITS) ## install to PREFIX, by default /usr/local
	@for entry in $(INSTALLED); do \
		mode=$${entry%%:*} file=$${entry##*:} folder=$${entry#*:}; folder=$${folder%:*}; \
		install -D -m $$mode -t "$(DESTDIR)$$folder" "$$file" || exit; \
	done
	@for entry in $(CONFIGURATION); do \
		file=$${entry##*:} folder="$(DESTDIR)$${entry%:*}"; \
		[ -e "$$folder/$${file##*/}" ] || install -D -m 644 -t "$$folder" "$$file" || exit; \
	done
	@install -d -m 700 "$(DESTDIR)$(KEPT)"

uninstall: $(UNITS) ## remove what install has installed
	@for entry in $(INSTALLED); do \
		file=$${entry##*:} folder=$${entry#*:}; rm -f "$(DESTDIR)$${folder%:*}/$${file##*/}"; \
	done
	@for entry in $(CONFIGURATION); do \
		file=$${entry##*:} installed="$(DESTDIR)$${entry%:*}/$${entry##*/}"; \
		! cmp -s "$$file" "$$installed" || rm "$$installed"; \
	done
	@rm -f "$(DESTDIR)$(KEPT)"/undo*
	@for folder in $(OUR_FOLDERS); do \
		[ ! -d "$(DESTDIR)$$folder" ] || find "$(DESTDIR)$$folder" -depth -type d -empty -delete; \
	done

# ---- the lab alone: it compares the congestion controls of a kernel, and struct_ops objects, without bbrctl and bbrmon

LAB_ALONE := $(addprefix $(BUILD)/,flow recorder recorder.bpf.o stall.bpf.o start flags warp.so)
LAB_FILES = lab/lab $(shell find lab -name '*.sh' -o -name '*.toml' -o -name '*.css' -o -name '*.py')
install-lab: $(LAB_ALONE) ## install the lab alone, as PREFIX/bin/bbr-lab: it needs neither bbrctl nor bbrmon
	@for file in $(LAB_ALONE); do install -D -t "$(DESTDIR)$(libdir)/bbr-lab/build" "$$file" || exit; done
	@for file in $(LAB_FILES); do install -D -m 644 "$$file" "$(DESTDIR)$(libdir)/bbr-lab/$$file" || exit; done
	@chmod +x "$(DESTDIR)$(libdir)/bbr-lab/lab/lab"
	@mkdir -p "$(DESTDIR)$(PREFIX)/bin"
	@ln -sfr "$(DESTDIR)$(libdir)/bbr-lab/lab/lab" "$(DESTDIR)$(PREFIX)/bin/bbr-lab"

uninstall-lab: ## remove what install-lab has installed
	@rm -rf "$(DESTDIR)$(libdir)/bbr-lab" "$(DESTDIR)$(PREFIX)/bin/bbr-lab"

.PHONY: completions install uninstall install-lab uninstall-lab
