# SPDX-License-Identifier: GPL-2.0-only
# `make help` lists the targets. `sudo make demo` and `sudo make check` install what they need.

BUILD := build

# The newest clang from 15 on: older ones lack __builtin_preserve_type_info's type matching.
CLANG ?= $(shell scripts/find-clang clang)
CLANG_FORMAT ?= $(shell scripts/find-clang clang-format)
BPFTOOL ?= $(shell PATH=$$PATH:/usr/sbin:/sbin command -v bpftool || echo bpftool)
PYTHON ?= /usr/bin/python3
NM ?= nm

# Warnings are errors only in our own builds (WERROR=1): a later compiler has more warnings, and must still build this.
WERROR ?=
WARN := -Wall -Wextra $(if $(WERROR),-Werror)
# The same bytes in any folder: the key of the lab's cache is the hash of what runs in a guest.
HERE := -ffile-prefix-map=$(CURDIR)=.
# CPPFLAGS, CFLAGS and LDFLAGS belong to the user: on the command line or in the environment.
CFLAGS ?= -O2 -g
INCLUDES := -I. -Iinclude -Ilib -Iloader -Itools -I$(BUILD)
OUR_CFLAGS := $(INCLUDES) -std=gnu11 $(WARN) $(HERE)
LDLIBS := -lbpf -lelf -lz -lcap -lm
LOADER_LIBS := -lnghttp2
MONITOR_LIBS := -lncursesw -ltinfo -lmicrohttpd -lyaml -lcrypt -lgnutls
# After CFLAGS. With -O2 -g the same code takes twice as long to compile. Objects of the tools also have -w: their plain objects have the
# warnings, and at -O1 gcc warns of texts that are not cut off.
SANITIZE := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all
# Linked into the programs that tests start thousands of times: loading it as a library takes 2 ms. clang always does.
SANITIZER_LINK = $(eval SANITIZER_LINK := $(call taken,-static-libasan -static-libubsan))$(SANITIZER_LINK)
# What makes a mistake hard to exploit, in all programs that users get. The user's flags come later, so they win.
# $(call taken,FLAGS): those that this compiler takes; asked when a recipe first needs them.
taken = $(shell for flag in $1; do $(CC) -Werror $$flag -x c -c /dev/null -o /dev/null 2>/dev/null && echo $$flag; done)
HARD = $(eval HARD := -fPIE -fstack-protector-strong $(call taken,-fstack-clash-protection -fcf-protection -mbranch-protection=standard))$(HARD)
# Needs the optimizer, and clashes with ASan. A distribution brings its own.
FORTIFY := $(if $(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),,$(if $(filter-out -O0,$(filter -O%,$(CFLAGS))),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2))
HARD_LINK := -Wl,-z,relro -Wl,-z,now
# Each compiler run notes which headers it read, so that a change to one rebuilds what includes it.
DEPS = -MMD -MF $@.d

# The algorithms: one folder each (bpf/defaults.bpf.h says what it contains). `make ALGORITHMS=FOLDER` adds one from
# elsewhere. build/bpf_NAME.bpf.o is made from FOLDER/NAME.bpf.c.
OURS := bpf/bbr bpf/bbr3
override ALGORITHMS := $(OURS) $(filter-out $(OURS),$(sort $(ALGORITHMS)))
OBJECTS := $(foreach name,$(notdir $(ALGORITHMS)),$(BUILD)/bpf_$(name).bpf.o)
# FOLDER/NAME_*.bpf.c: the same algorithm with another op table, for bpftool.
VARIANTS := $(foreach folder,$(ALGORITHMS),$(patsubst $(folder)/%,$(BUILD)/bpf_%,$(patsubst %.c,%.o,$(wildcard $(folder)/$(notdir $(folder))_*.bpf.c))))

# STATIC=1: programs that need no library of the machine they run on.
STATIC ?=
PROGRAMS := $(addprefix $(BUILD)/$(if $(STATIC),static/),bbrctl bbrmon)

all: $(OBJECTS) $(VARIANTS) $(PROGRAMS) ## build everything (the default); with STATIC=1 fully static, in build/static

# ---- BPF

# BPF_PROG() gives every program a parameter ctx, used or not. The -isystem folder is where Debian keeps asm/.
BPF_CFLAGS := -O2 -g $(HERE) -target bpf -mcpu=v3 $(WARN) -Wno-unused-parameter -I. -Iinclude -Ibpf \
	-isystem /usr/include/$(shell $(CC) -print-multiarch)

# $(call bpf_object,OPTIONS): $@ from $<, a BPF program.
define bpf_object
	@mkdir -p $(@D)
	$(CLANG) $1 $(BPF_CFLAGS) $(DEPS) -MT $@ -c $< -o $@.tmp
	$(BPFTOOL) gen object $@ $@.tmp
	@rm $@.tmp
endef

$(BUILD)/%.bpf.o: bpf/%.bpf.c
	$(call bpf_object)

$(BUILD)/why.bpf.o $(BUILD)/uses.bpf.o: $(BUILD)/%.bpf.o: bpf/why/%.bpf.c
	$(call bpf_object)

$(BUILD)/experiment.bpf.o: experiment/experiment.bpf.c
	$(call bpf_object)

# $(call algorithm_objects,FOLDER,NAME): the congestion control, and the programs that read its sockets.
define algorithm_objects
$(BUILD)/bpf_$2.bpf.o: $1/$2.bpf.c
	$$(call bpf_object,-I$1)

$(BUILD)/bpf_$2_%.bpf.o: $1/$2_%.bpf.c
	$$(call bpf_object,-I$1)

$(BUILD)/snapshot_$2.bpf.o: bpf/snapshot.bpf.c
	$$(call bpf_object,-I$1)

$(BUILD)/probe_$2.bpf.o: bpf/probe.bpf.c
	$$(call bpf_object,-I$1)

endef
$(eval $(foreach folder,$(ALGORITHMS),$(call algorithm_objects,$(folder),$(notdir $(folder)))))

# A light skeleton: it loads its programs without libbpf, and without the kernel's BTF in memory.
$(BUILD)/%.lskel.h: $(BUILD)/%.bpf.o
	$(BPFTOOL) gen skeleton -L $< name $*_bpf >$@

# ---- the tools: an object for each source, plain and (for the tests) with the sanitizers

# It changes with these flags, and then what is in build/ is compiled again.
$(BUILD)/hardening: FORCE | $(BUILD)
	$(call if_changed,echo '$(HARD) $(FORTIFY)')

$(BUILD)/obj/%.o: %.c $(BUILD)/hardening
	@mkdir -p $(@D)
	$(CC) $(HARD) $(FORTIFY) $(CPPFLAGS) $(OUR_CFLAGS) $(CFLAGS) $(DEPS) -c $< -o $@

$(BUILD)/asan/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(OUR_CFLAGS) $(CFLAGS) $(SANITIZE) -w $(DEPS) -c $< -o $@

# Files that are embedded in a program.
$(BUILD)/obj/%.o: %.S $(BUILD)/hardening
	@mkdir -p $(@D)
	$(CC) $(HARD) $(INCLUDES) $(EMBEDDED) -c $< -o $@

# Sources that name the algorithms or embed their programs. All other objects do not depend on the algorithms: a build with
# other algorithms takes them from SHARED.
OF_ALGORITHMS := lib/descriptor loader/self/embedded tools/watch/probe tools/watch/embedded tools/sockets/snapshot_programs %/carried \
	$(addsuffix /descriptor,$(filter-out $(OURS),$(ALGORITHMS)))
SHARED ?= $(BUILD)
# $(call objects,SOURCES): the plain objects of SOURCES.
objects = $(foreach name,$(basename $1),$(if $(filter $(OF_ALGORITHMS),$(name)),$(BUILD),$(SHARED))/obj/$(name).o)
# $(call sanitized,OBJECTS): the same objects with the sanitizers. Those of embedded files stay as they are.
sanitized = $(patsubst $(BUILD)/obj/%,$(BUILD)/asan/obj/%,$(filter-out $(CARRIED),$1)) $(filter $(CARRIED),$1)

# $(call if_changed,COMMANDS): writes their output to $@ if it differs from what is there.
if_changed = @($1) >$@.tmp; if cmp -s $@.tmp $@; then rm $@.tmp; else mv $@.tmp $@; fi

# A line X(name) for each algorithm. The file changes only when the list does: whatever uses the list depends on the file.
$(BUILD)/algorithms.h: FORCE | $(BUILD)
	$(call if_changed,printf 'X(%s)\n' $(notdir $(ALGORITHMS)))
$(foreach dir,obj asan/obj fuzz/obj fuzz-coverage/obj next/obj,$(addprefix $(BUILD)/$(dir)/,lib/descriptor.o loader/self/embedded.o tools/watch/probe.o)): $(BUILD)/algorithms.h

LIB := $(call objects,$(wildcard lib/*.c lib/*/*.c experiment/handle.c experiment/analysis/*.c) $(addsuffix /descriptor.c,$(ALGORITHMS)))
LOADER := $(call objects,$(wildcard loader/*.c loader/*/*.c experiment/running/*.c experiment/verbs/*.c) loader/carried.S)
MONITOR := $(call objects,$(wildcard tools/*.c tools/*/*.[cS] experiment/results/*.c))
CARRIED := $(call objects,loader/carried.S $(wildcard tools/*/*.S))

# The object of each algorithm, and its profiles if it has any.
PROFILES := $(wildcard $(addsuffix /profiles.ini,$(ALGORITHMS)))
carry_profiles = profiles_$(notdir $1) $(or $(wildcard $1/profiles.ini),'')
$(BUILD)/carried.inc: FORCE | $(BUILD)
	$(call if_changed,printf 'carry object_%s "%s"\n' $(foreach name,$(notdir $(ALGORITHMS)),$(name) bpf_$(name).bpf.o); \
		printf 'carry %s "%s"\n' $(foreach folder,$(ALGORITHMS),$(call carry_profiles,$(folder))))

# The assembler finds them in build/, which is in INCLUDES.
$(BUILD)/obj/loader/carried.o: EMBEDDED := -DMIGRATE_OBJECT='"migrate.bpf.o"' -DATTACH_OBJECT='"attach.bpf.o"' \
	-DEXPERIMENT_OBJECT='"experiment.bpf.o"'
$(BUILD)/obj/loader/carried.o: $(OBJECTS) $(PROFILES) $(addprefix $(BUILD)/,carried.inc migrate.bpf.o attach.bpf.o experiment.bpf.o) lib/carry.inc

# The programs that watch the kernel's own bbr: one for each algorithm that it may be.
PROBES := $(patsubst %,$(BUILD)/probe_%.bpf.o,$(notdir $(patsubst %/kernel_bbr.bpf.h,%,$(wildcard $(addsuffix /kernel_bbr.bpf.h,$(ALGORITHMS))))))
carry_probe = probe_$1 '$(notdir $(filter %/probe_$1.bpf.o,$(PROBES)))'
$(BUILD)/probes.inc: FORCE | $(BUILD)
	$(call if_changed,printf 'carry %s "%s"\n' $(foreach name,$(notdir $(ALGORITHMS)),$(call carry_probe,$(name))))
$(BUILD)/obj/tools/watch/embedded.o: $(PROBES) $(BUILD)/probes.inc lib/carry.inc

$(BUILD)/obj/tools/report/carried.o: EMBEDDED := -DDYGRAPHS_JS='"$(BUILD)/dygraphs.js"' -DDYGRAPHS_CSS='"$(BUILD)/dygraphs.css"'
$(BUILD)/obj/tools/report/carried.o: $(BUILD)/dygraphs.js $(BUILD)/dygraphs.css lib/carry.inc \
	$(wildcard tools/report/page/* experiment/results/page/*)

# The programs that read the sockets of each algorithm, each with its own skeleton.
SKELETONS := $(patsubst %,$(BUILD)/snapshot_%.lskel.h,$(notdir $(ALGORITHMS)))
$(BUILD)/snapshot_programs.h: FORCE | $(BUILD)
	@for name in $(notdir $(ALGORITHMS)); do \
		printf '#define ALGORITHM %s\n#include "snapshot_%s.lskel.h"\n' $$name $$name; \
		printf '#include "sockets/snapshot_program.inc"\n#undef ALGORITHM\n'; \
	done >$@.tmp
	@if cmp -s $@.tmp $@; then rm $@.tmp; else mv $@.tmp $@; fi
$(addsuffix /sockets/snapshot_programs.o,$(addprefix $(BUILD)/,obj/tools asan/obj/tools fuzz/obj/tools fuzz-coverage/obj/tools)): \
	$(BUILD)/snapshot_programs.h $(SKELETONS) $(BUILD)/algorithms.h

$(foreach dir,obj asan/obj fuzz/obj fuzz-coverage/obj,$(BUILD)/$(dir)/lib/kernel/netns.o): $(BUILD)/netns.lskel.h
$(foreach dir,obj asan/obj fuzz/obj fuzz-coverage/obj,$(BUILD)/$(dir)/tools/why/kernel_counts.o): $(BUILD)/why.lskel.h
$(foreach dir,obj asan/obj fuzz/obj fuzz-coverage/obj,$(BUILD)/$(dir)/loader/check/look.o): $(BUILD)/uses.lskel.h

# The plotting library of bbrmon's reports, without the comments that make a browser look for its sources.
JAVASCRIPT ?= /usr/share/javascript
DYGRAPHS_FROM := $(addprefix $(JAVASCRIPT)/dygraphs/,dygraph.min.js extras/synchronizer.js dygraph.min.css)
$(DYGRAPHS_FROM):
	@echo "$@ is missing: install libjs-dygraphs (scripts/deps build does)" >&2; false
$(BUILD)/dygraphs.js: $(filter %.js,$(DYGRAPHS_FROM)) | $(BUILD)
	sed '/^..# sourceMappingURL=/d' $^ >$@
$(BUILD)/dygraphs.css: $(filter %.css,$(DYGRAPHS_FROM)) | $(BUILD)
	sed '/^..# sourceMappingURL=/d' $^ >$@

$(BUILD):
	@mkdir -p $@

$(BUILD)/bbrctl: $(LOADER) $(LIB)
	$(CC) -pie $(HARD_LINK) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) $(LOADER_LIBS) -o $@

$(BUILD)/bbrmon: $(MONITOR) $(LIB)
	$(CC) -pie $(HARD_LINK) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) $(MONITOR_LIBS) -o $@

$(BUILD)/static/bbrctl: $(LOADER) $(LIB)
	@mkdir -p $(@D)
	$(CC) -static-pie $(HARD_LINK) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) $(LOADER_LIBS) -o $@

$(BUILD)/static/bbrmon: $(MONITOR) $(LIB) $(BUILD)/static/no_tls.o
	$(CC) -static-pie $(HARD_LINK) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) $(filter-out -lgnutls,$(MONITOR_LIBS)) -o $@

$(BUILD)/static/no_tls.o: packaging/static/no_tls.c $(BUILD)/static/tls_calls.inc
	$(CC) $(HARD) $(FORTIFY) $(OUR_CFLAGS) -I$(@D) $(CFLAGS) -c $< -o $@

$(BUILD)/static/tls_calls.inc: $(shell $(CC) -print-file-name=libmicrohttpd.a) $(call objects,tools/export/http.c tools/export/web_config.c)
	@mkdir -p $(@D)
	$(NM) $^ 2>/dev/null | sed -n 's/^ *U \(gnutls_[a-z0-9_]*\)$$/X(\1)/p' | sort -u >$@

$(BUILD)/asan/bbrctl: $(call sanitized,$(LOADER) $(LIB))
	$(CC) $(CFLAGS) $(SANITIZE) $(SANITIZER_LINK) $(LDFLAGS) $^ $(LDLIBS) $(LOADER_LIBS) -o $@

$(BUILD)/asan/bbrmon: $(call sanitized,$(MONITOR) $(LIB))
	$(CC) $(CFLAGS) $(SANITIZE) $(SANITIZER_LINK) $(LDFLAGS) $^ $(LDLIBS) $(MONITOR_LIBS) -o $@

include tests/tests.mk

# ---- targets

demo: ## run a flow over a shaped path and show its BBR state live; needs root
	scripts/deps build run
	$(MAKE) -j2 WERROR=1 all
	scripts/demo

check: ## run every test; needs root
	scripts/deps build run test
	$(MAKE) -j2 WERROR=1 tests
	$(PYTHON) -m pytest -q -p no:cacheprovider -n 3 --dist loadgroup tests

check-faults: ## kill bbrctl before its system calls, let each bpf(2) and each allocation fail; needs root, over an hour
	$(MAKE) -j2 WERROR=1 tests
	BBR_FAULTS=all $(PYTHON) -m pytest -q -s -p no:cacheprovider tests/native/loading/test_faults.py

bench: ## print what monitoring costs, beside ss on the same sockets, as one table; needs root, some minutes
	$(MAKE) -j2 WERROR=1 all $(BUILD)/measure
	$(PYTHON) tests/native/cost/bench.py

check-unit: ## run the tests that need neither root nor a virtual machine, in under a minute
	$(MAKE) -j2 WERROR=1 unit
	$(PYTHON) -m pytest -q -p no:cacheprovider tests/unit

fuzz: ## run each fuzzer for FUZZ_SECONDS, by default 600
	scripts/deps build test
	$(MAKE) -j2 WERROR=1 fuzzers
	$(PYTHON) tests/fuzz/fuzzer.py run $(FUZZ_SECONDS)

fuzz-coverage: ## print which lines of each reader the fuzzers' corpora reach
	scripts/deps build test
	$(MAKE) -j2 WERROR=1 $(FUZZ_COVERAGE) fuzzers
	$(PYTHON) tests/fuzz/fuzzer.py coverage

oracle: ## record the kernel's own BBR again on every kernel, and compare: some hours
	scripts/deps build run test
	$(MAKE) -j2 WERROR=1 tests
	$(PYTHON) tests/oracle/oracle replay --fresh
	$(PYTHON) tests/oracle/oracle sample

lab: ## run the short experiments of the literature over five seeds, and test every kernel: an hour or two
	scripts/deps build run test
	$(MAKE) -j2 WERROR=1 tests
	$(PYTHON) lab/lab matrix
	$(PYTHON) lab/lab all

lab-long: ## run every experiment of the literature over five seeds and make a page of them: one night
	scripts/deps build run test
	$(MAKE) -j2 WERROR=1 tests
	$(PYTHON) lab/lab all --long --out $(BUILD)/experiments; status=$$?; \
	[ $$status -le 1 ] && $(PYTHON) lab/lab report $(BUILD)/experiments && exit $$status

lab-matrix: ## test every kernel of the lab, not only those of make check
	scripts/deps build run test
	$(MAKE) -j2 WERROR=1 tests
	$(PYTHON) lab/lab matrix

C_FILES := $(wildcard $(addsuffix /*.[ch],bpf bpf/* docs/man experiment experiment/* lab/* packaging/static include/bpf_bbr lib lib/* loader loader/* tools tools/* tests/* tests/*/*)) vmlinux.h
SHELL_FILES := scripts/demo scripts/deps scripts/find-clang .ci/run packaging/changelog packaging/completions/bash.in \
	packaging/debian/bpf-bbr.postinst packaging/debian/bpf-bbr.postrm packaging/debian/bpf-bbr.prerm packaging/image/archive \
	$(wildcard lab/*/*.sh tests/lab/*.sh tests/oracle/*.sh tests/deploy/*.sh tests/package/*.sh tests/toy/*.sh)

lint: ## check the formatting and the shell scripts
	$(CLANG_FORMAT) --dry-run --Werror $(C_FILES)
	shellcheck $(SHELL_FILES)

fmt: ## format the C files
	$(CLANG_FORMAT) -i $(C_FILES)

include packaging/install.mk packaging/packages.mk packaging/deploy.mk

clean: ## remove build/
	rm -rf $(BUILD)

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile packaging/*.mk | expand -t 12

.PHONY: FORCE toy all bench demo check check-faults check-unit fuzz fuzz-coverage fuzzers oracle lab lab-long lab-matrix tests unit lint fmt clean help
.DELETE_ON_ERROR:
.SECONDARY:

NOTES := $(shell [ -d $(BUILD) ] && find $(BUILD) -name '*.d' -type f)
-include $(NOTES)
# If a noted source is gone or has moved, compile again instead of failing.
NOTED := $(if $(NOTES),$(shell sed 's/^[^ ]*://; s/\\$$//' $(NOTES) | tr ' ' '\n' | sort -u))
$(filter-out $(wildcard $(NOTED)),$(NOTED)): FORCE
