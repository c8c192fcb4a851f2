# SPDX-License-Identifier: GPL-2.0-only
# `make help` lists the targets. `sudo make demo` and `sudo make check` install what they need.

PREFIX ?= /usr/local
DESTDIR ?=
BUILD := build

# The newest clang from 15 on: older ones lack __builtin_preserve_type_info's type matching.
CLANG ?= $(shell scripts/find-clang clang)
CLANG_FORMAT ?= $(shell scripts/find-clang clang-format)
BPFTOOL ?= $(shell PATH=$$PATH:/usr/sbin:/sbin command -v bpftool || echo bpftool)
PYTHON ?= /usr/bin/python3

WARN := -Wall -Wextra -Werror
CPPFLAGS += -Iinclude -Ilib
CFLAGS ?= -O2 -g
# The same bytes in any folder: the lab's cache goes by the hash of what runs in a guest.
HERE := -ffile-prefix-map=$(CURDIR)=.
CFLAGS += -std=gnu11 $(WARN) $(HERE)
LDLIBS := -lbpf -lelf -lz -ljson-c -lcap -linih -lm
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all

# BPF_PROG() gives every program a parameter ctx, used or not. asm/ is where Debian keeps it.
BPF_CFLAGS := -O2 -g $(HERE) -target bpf -mcpu=v3 $(WARN) -Wno-unused-parameter -I. -Iinclude -Ibpf \
	-isystem /usr/include/$(shell $(CC) -print-multiarch)

ABI := $(wildcard include/bpf_bbr/*.h)
BPF_SRC := bpf/bbr.bpf.c $(wildcard bpf/*.h bpf/bbr/*.h) vmlinux.h $(ABI)
LIB_SRC := $(wildcard lib/*.c)
LOADER_SRC := $(wildcard loader/*.c)
TOOLS_SRC := $(wildcard tools/*.c)
HEADERS := $(wildcard lib/*.h lib/*.inc loader/*.h tools/*.h) $(ABI)
OBJECT := $(BUILD)/bpf_bbr.bpf.o
MIGRATE := $(BUILD)/migrate.bpf.o
ATTACH := $(BUILD)/attach.bpf.o
OBJECTS := $(OBJECT) $(MIGRATE) $(ATTACH) # those inside bbrctl
SNAPSHOT := $(BUILD)/snapshot.bpf.o
PROBE := $(BUILD)/probe.bpf.o
# What is inside bbrmon.
MONITORING := $(SNAPSHOT) $(PROBE)
DYGRAPHS := $(BUILD)/dygraphs.js $(BUILD)/dygraphs.css
INSIDE := $(MONITORING) $(DYGRAPHS) $(wildcard tools/report/*)
SKELETONS := $(BUILD)/snapshot.lskel.h
MONITOR_ASM := tools/object.S tools/report/page.S
MONITOR_CPPFLAGS = $(CPPFLAGS) -Itools -I$(BUILD) -DPROBE_OBJECT='"$(PROBE)"' \
	-DDYGRAPHS_JS='"$(BUILD)/dygraphs.js"' -DDYGRAPHS_CSS='"$(BUILD)/dygraphs.css"'
MONITOR_LIBS := -lncursesw -ltinfo
VERBS := $(addprefix tools/,stream.c snapshot.c record.c export.c report% top%) # patterns: what the fuzzers leave out
EMBEDDED := -DBBR_OBJECT='"$(OBJECT)"' -DMIGRATE_OBJECT='"$(MIGRATE)"' -DATTACH_OBJECT='"$(ATTACH)"'

FUZZ_FLAGS := -O1 -g -std=gnu11 $(WARN) -fsanitize=fuzzer,address,undefined,float-cast-overflow \
	-fno-sanitize-recover=all
FUZZERS := $(addprefix $(BUILD)/fuzz/,algorithm params tuning events filter recording)
FUZZ_SECONDS ?= 600

UNIT_TESTS := $(patsubst %.c,$(BUILD)/unit/%,$(notdir $(wildcard tests/unit/test_*.c tests/unit/tools/test_*.c)))
C_FILES := $(wildcard bpf/*.[ch] bpf/bbr/*.h lib/*.[ch] loader/*.[ch] tools/*.[ch] tests/*/*.[ch] tests/unit/tools/*.c) \
	$(ABI) vmlinux.h
SHELL_FILES := scripts/demo scripts/deps scripts/find-clang .ci/run loader/bbrctl.bash-completion \
	$(wildcard tests/lab/*.sh tests/oracle/*.sh)

all: $(OBJECT) $(BUILD)/bbrctl $(BUILD)/bbrmon ## build everything (the default)

$(BUILD) $(addprefix $(BUILD)/,asan fuzz oracle unit):
	mkdir -p $@

$(OBJECT): $(BPF_SRC) | $(BUILD)
	$(CLANG) $(BPF_CFLAGS) -c bpf/bbr.bpf.c -o $(BUILD)/bbr.tmp.o
	$(BPFTOOL) gen object $@ $(BUILD)/bbr.tmp.o
	rm $(BUILD)/bbr.tmp.o

$(MIGRATE): bpf/migrate.bpf.c vmlinux.h $(ABI) | $(BUILD)
	$(CLANG) $(BPF_CFLAGS) -c $< -o $(BUILD)/migrate.tmp.o
	$(BPFTOOL) gen object $@ $(BUILD)/migrate.tmp.o
	rm $(BUILD)/migrate.tmp.o

$(ATTACH): bpf/attach.bpf.c vmlinux.h $(ABI) | $(BUILD)
	$(CLANG) $(BPF_CFLAGS) -c $< -o $(BUILD)/attach.tmp.o
	$(BPFTOOL) gen object $@ $(BUILD)/attach.tmp.o
	rm $(BUILD)/attach.tmp.o

$(MONITORING): $(BUILD)/%.bpf.o: bpf/%.bpf.c $(BPF_SRC) | $(BUILD)
	$(CLANG) $(BPF_CFLAGS) -c $< -o $(BUILD)/$*.tmp.o
	$(BPFTOOL) gen object $@ $(BUILD)/$*.tmp.o
	rm $(BUILD)/$*.tmp.o

# A light skeleton: it loads its programs without libbpf, and without the kernel's BTF in memory.
$(BUILD)/%.lskel.h: $(BUILD)/%.bpf.o
	$(BPFTOOL) gen skeleton -L $< name $*_bpf >$@

# The plotting library of bbrmon's reports, without the remarks that make a browser look for its sources.
JAVASCRIPT ?= /usr/share/javascript
DYGRAPHS_FROM := $(addprefix $(JAVASCRIPT)/dygraphs/,dygraph.min.js extras/synchronizer.js dygraph.min.css)
$(DYGRAPHS_FROM):
	@echo "$@ is missing: install libjs-dygraphs (scripts/deps build does)" >&2; false
$(BUILD)/dygraphs.js: $(filter %.js,$(DYGRAPHS_FROM)) | $(BUILD)
	sed '/^..# sourceMappingURL=/d' $^ >$@
$(BUILD)/dygraphs.css: $(filter %.css,$(DYGRAPHS_FROM)) | $(BUILD)
	sed '/^..# sourceMappingURL=/d' $^ >$@

# To compare with: nobody can watch it.
$(BUILD)/no_telemetry.bpf.o: $(BPF_SRC) | $(BUILD)
	$(CLANG) $(BPF_CFLAGS) -DBBR_NO_TELEMETRY -c bpf/bbr.bpf.c -o $(BUILD)/no_telemetry.tmp.o
	$(BPFTOOL) gen object $@ $(BUILD)/no_telemetry.tmp.o
	rm $(BUILD)/no_telemetry.tmp.o

# A later version with one more parameter, which this one does not know: to upgrade to, and the tool for it. And one
# of an ABI that no tool knows.
NEXT_INCLUDE := $(BUILD)/next/include
NEXT_VERSION := -I$(NEXT_INCLUDE) -DBBR_VERSION='"9.9.9"'
$(NEXT_INCLUDE): $(ABI)
	rm -rf $@
	mkdir -p $(dir $@)
	cp -r include $@
	sed -i 's/^\tBBR_OPTIONS(X)$$/& X(later, 1, COUNT, BBR_V(0), 0, 7, "of a later version")/' $@/bpf_bbr/params.h

NEXT_OBJECTS := $(addprefix $(BUILD)/,next_version.bpf.o next_abi.bpf.o)
$(BUILD)/next_version.bpf.o: NEXT := $(NEXT_VERSION)
$(BUILD)/next_abi.bpf.o: NEXT := -DBBR_VERSION='"9.9.9"' -DBBR_ABI_MAJOR=999
$(NEXT_OBJECTS): $(BPF_SRC) $(NEXT_INCLUDE) | $(BUILD)
	$(CLANG) $(NEXT) $(BPF_CFLAGS) -c bpf/bbr.bpf.c -o $@.tmp.o
	$(BPFTOOL) gen object $@ $@.tmp.o
	rm $@.tmp.o

# The tools, and once more under the sanitizers for the tests.
$(BUILD)/bbrctl: $(LOADER_SRC) loader/object.S loader/profiles.ini $(LIB_SRC) $(HEADERS) $(OBJECTS)
	$(CC) $(CPPFLAGS) -Iloader $(CFLAGS) $(EMBEDDED) $(LOADER_SRC) loader/object.S $(LIB_SRC) \
		$(LDFLAGS) $(LDLIBS) -o $@

$(BUILD)/bbrmon: $(TOOLS_SRC) $(MONITOR_ASM) $(LIB_SRC) $(HEADERS) $(INSIDE) $(SKELETONS)
	$(CC) $(MONITOR_CPPFLAGS) $(CFLAGS) $(TOOLS_SRC) $(MONITOR_ASM) $(LIB_SRC) $(LDFLAGS) $(LDLIBS) $(MONITOR_LIBS) \
		-o $@

$(BUILD)/asan/bbrctl: $(BUILD)/bbrctl | $(BUILD)/asan
	$(CC) $(CPPFLAGS) -Iloader $(CFLAGS) $(SANITIZE) $(EMBEDDED) $(LOADER_SRC) \
		loader/object.S $(LIB_SRC) $(LDFLAGS) $(LDLIBS) -o $@

$(BUILD)/asan/next/bbrctl: $(BUILD)/bbrctl $(BUILD)/next_version.bpf.o
	mkdir -p $(dir $@)
	$(CC) $(NEXT_VERSION) $(CPPFLAGS) -Iloader $(CFLAGS) $(SANITIZE) \
		$(subst $(OBJECT),$(BUILD)/next_version.bpf.o,$(EMBEDDED)) $(LOADER_SRC) \
		loader/object.S $(LIB_SRC) $(LDFLAGS) $(LDLIBS) -o $@

$(BUILD)/asan/bbrmon: $(BUILD)/bbrmon | $(BUILD)/asan
	$(CC) $(MONITOR_CPPFLAGS) $(CFLAGS) $(SANITIZE) $(TOOLS_SRC) $(MONITOR_ASM) $(LIB_SRC) $(LDFLAGS) $(LDLIBS) \
		$(MONITOR_LIBS) -o $@

$(BUILD)/unit/%: tests/unit/%.c tests/unit/fixture.h $(wildcard bpf/bbr/*.h) $(ABI) | $(BUILD)/unit
	$(CC) -Iinclude -Ibpf/bbr -O1 -g -std=gnu11 $(WARN) $(SANITIZE) $< -lcmocka -o $@

# What of bbrmon top knows no terminal.
TOP_TESTED := $(addprefix tools/,conn_table.c conn_history.c event.c origin.c sparkline.c top_format.c top_table.c top_view.c) \
	$(addprefix lib/,address.c caps.c err.c units.c)
$(BUILD)/unit/test_conn_table $(BUILD)/unit/test_top_table: $(BUILD)/unit/%: tests/unit/tools/%.c $(TOP_TESTED) $(HEADERS) | $(BUILD)/unit
	$(CC) $(CPPFLAGS) -Itools -O1 -g -std=gnu11 $(WARN) $(SANITIZE) $< $(TOP_TESTED) $(LDLIBS) -lcmocka -o $@

# The fuzzers. Of what speaks to the kernel they call nothing.
$(BUILD)/fuzz/algorithm: tests/fuzz/fuzz_algorithm.c tests/fuzz/fuzz.h $(wildcard bpf/bbr/*.h) $(ABI) | $(BUILD)/fuzz
	$(CLANG) -Iinclude -Ibpf/bbr $(FUZZ_FLAGS) $< -o $@

PARAMS_FUZZED := $(addprefix loader/,main.c param.c set.c show.c socket_filter.c) lib/address.c lib/units.c \
	lib/caps.c tools/watch_options.c tools/options.c tools/privileges.c
$(BUILD)/fuzz/params: tests/fuzz/fuzz_params.c tests/fuzz/fuzz.h $(PARAMS_FUZZED) $(HEADERS) | $(BUILD)/fuzz
	$(CLANG) $(CPPFLAGS) -Iloader -Itools -Dmain=bbrctl_main $(FUZZ_FLAGS) $< $(PARAMS_FUZZED) -ljson-c -lcap -lm -o $@

TUNING_FUZZED := $(addprefix loader/,ini_file.c param.c profile.c profile_defs.c rule_text.c rules.c) \
	$(filter-out lib/attachment.c lib/cgroup.c,$(LIB_SRC))
$(BUILD)/fuzz/tuning: tests/fuzz/fuzz_tuning.c tests/fuzz/fuzz.h $(TUNING_FUZZED) $(HEADERS) | $(BUILD)/fuzz
	$(CLANG) $(CPPFLAGS) -Iloader $(FUZZ_FLAGS) $< $(TUNING_FUZZED) $(LDLIBS) -o $@

EVENTS_FUZZED := $(filter-out tools/main.c $(VERBS),$(TOOLS_SRC)) $(MONITOR_ASM) $(LIB_SRC)
$(BUILD)/fuzz/events: tests/fuzz/fuzz_events.c tests/fuzz/fuzz.h $(EVENTS_FUZZED) $(HEADERS) $(INSIDE) $(SKELETONS) | $(BUILD)/fuzz
	$(CLANG) $(MONITOR_CPPFLAGS) $(FUZZ_FLAGS) $< $(EVENTS_FUZZED) $(LDLIBS) $(MONITOR_LIBS) -o $@

FILTER_FUZZED := $(addprefix tools/,filter_expr.c filter_match.c event.c origin.c) $(addprefix lib/,address.c caps.c err.c units.c)
$(BUILD)/fuzz/filter: tests/fuzz/fuzz_filter.c tests/fuzz/fuzz.h $(FILTER_FUZZED) $(HEADERS) | $(BUILD)/fuzz
	$(CLANG) $(CPPFLAGS) -Itools -D_GNU_SOURCE $(FUZZ_FLAGS) $< $(FILTER_FUZZED) -lbpf -lcap -lm -o $@

$(BUILD)/fuzz/recording: tests/fuzz/fuzz_recording.c tests/fuzz/fuzz.h $(EVENTS_FUZZED) $(HEADERS) $(INSIDE) $(SKELETONS) | $(BUILD)/fuzz
	$(CLANG) $(MONITOR_CPPFLAGS) $(FUZZ_FLAGS) $< $(EVENTS_FUZZED) $(LDLIBS) $(MONITOR_LIBS) -o $@

demo: ## a flow over a shaped path, its BBR state live; needs root
	scripts/deps build run
	$(MAKE) all
	scripts/demo

check: ## every test; needs root
	scripts/deps build run test
	$(MAKE) tests
	$(PYTHON) -m pytest -q -p no:cacheprovider -n 2 --dist loadgroup tests

fuzz: ## each fuzzer for FUZZ_SECONDS, 600 if not given
	scripts/deps build test
	$(MAKE) $(FUZZERS)
	$(PYTHON) tests/fuzz/fuzzer.py $(FUZZ_SECONDS)

# The one flow generator of the lab's guests.
$(BUILD)/flow: tests/lab/flow.c | $(BUILD)
	$(CC) $(CFLAGS) $< -o $@

# What a command costs.
$(BUILD)/measure: tests/native/measure.c | $(BUILD)
	$(CC) $(CFLAGS) $< -o $@

# The lab's counter of instructions.
$(BUILD)/cost: tests/lab/cost.c tests/lab/cost.h | $(BUILD)
	$(CC) $(CFLAGS) $< -lbpf -o $@

$(BUILD)/cost.bpf.o: tests/lab/cost.bpf.c tests/lab/cost.h | $(BUILD)
	$(CLANG) $(BPF_CFLAGS) -c $< -o $@

# Many rules at once.
WRITE_RULES_SRC := tests/lab/write_rules.c $(addprefix loader/,lock.c rule_text.c rules.c) $(LIB_SRC)
$(BUILD)/write_rules: $(WRITE_RULES_SRC) $(HEADERS) | $(BUILD)
	$(CC) $(CPPFLAGS) -Iloader $(CFLAGS) $(WRITE_RULES_SRC) $(LDFLAGS) $(LDLIBS) -o $@

# The lab's recorder of ACKs and queues.
$(BUILD)/recorder: tests/lab/recorder.c tests/lab/recorder.h | $(BUILD)
	$(CC) $(CFLAGS) $< -lbpf -lmnl -o $@

$(BUILD)/recorder.bpf.o: tests/lab/recorder.bpf.c tests/lab/recorder.h | $(BUILD)
	$(CLANG) $(BPF_CFLAGS) -c $< -o $@

# The recorder of the kernel's own BBR.
ORACLE_HEADERS := $(wildcard tests/oracle/*.h)

$(BUILD)/oracle/record: tests/oracle/record.c tests/oracle/stream.c $(ORACLE_HEADERS) | $(BUILD)/oracle
	$(CC) $(CFLAGS) $(filter %.c,$^) -lbpf -lz -lm -o $@

$(BUILD)/oracle/record.bpf.o: tests/oracle/record.bpf.c $(BPF_SRC) $(ORACLE_HEADERS) | $(BUILD)/oracle
	$(CLANG) $(BPF_CFLAGS) -Itests/oracle -c $< -o $@

# What feeds its recordings to the algorithm, natively and as BPF.
REPLAY_SRC := $(addprefix tests/oracle/,replay.c mainline.c stream.c)

$(BUILD)/oracle/replay: $(REPLAY_SRC) $(ORACLE_HEADERS) $(wildcard bpf/bbr/*.h) $(ABI) | $(BUILD)/oracle
	$(CC) -Iinclude -Ibpf $(CFLAGS) $(REPLAY_SRC) -lbpf -lz -o $@

$(BUILD)/oracle/replay.bpf.o: tests/oracle/replay.bpf.c $(BPF_SRC) $(ORACLE_HEADERS) | $(BUILD)/oracle
	$(CLANG) $(BPF_CFLAGS) -Itests/oracle -c $< -o $@

$(BUILD)/asan/replay: $(REPLAY_SRC) $(ORACLE_HEADERS) $(wildcard bpf/bbr/*.h) $(ABI) | $(BUILD)/asan
	$(CC) -Iinclude -Ibpf $(CFLAGS) $(SANITIZE) $(REPLAY_SRC) -lbpf -lz -o $@

# What makes small recordings of large ones: path.c calls path_trace.c at each branch and comparison.
SELECT_SRC := $(addprefix tests/oracle/,select.c path_trace.c mainline.c stream.c)

$(BUILD)/oracle/path.o: tests/oracle/path.c $(ORACLE_HEADERS) $(wildcard bpf/bbr/*.h) $(ABI) | $(BUILD)/oracle
	$(CC) -Iinclude -Ibpf $(CFLAGS) -O1 -fsanitize-coverage=trace-pc,trace-cmp -c $< -o $@

$(BUILD)/oracle/select: $(SELECT_SRC) $(BUILD)/oracle/path.o
	$(CC) -Iinclude -Ibpf $(CFLAGS) $^ -lz -o $@

$(BUILD)/oracle/test_replay: tests/oracle/test_replay.c tests/oracle/mainline.c tests/oracle/stream.c \
		$(ORACLE_HEADERS) $(wildcard bpf/bbr/*.h) $(ABI) | $(BUILD)/oracle
	$(CC) -Iinclude -Ibpf $(CFLAGS) $(SANITIZE) $(filter %.c,$^) \
		-lcmocka -lz -o $@

ORACLE_PROGRAMS := $(addprefix $(BUILD)/oracle/,record record.bpf.o replay replay.bpf.o select test_replay) \
	$(BUILD)/asan/replay

LAB_PROGRAMS := $(addprefix $(BUILD)/,flow cost cost.bpf.o no_telemetry.bpf.o recorder recorder.bpf.o write_rules)

oracle: ## records the kernel's own BBR afresh on every kernel, and compares: some hours
	scripts/deps build run test
	$(MAKE) tests
	$(PYTHON) tests/oracle/oracle replay --fresh
	$(PYTHON) tests/oracle/oracle sample

lab: ## every scenario over five seeds, every kernel: most of an hour
	scripts/deps build run test
	$(MAKE) tests
	$(PYTHON) tests/lab/lab matrix
	$(PYTHON) tests/lab/lab all

lab-matrix: ## every kernel of the lab, not just those of make check
	scripts/deps build run test
	$(MAKE) tests
	$(PYTHON) tests/lab/lab matrix

tests: all $(BUILD)/measure $(NEXT_OBJECTS) $(LAB_PROGRAMS) $(ORACLE_PROGRAMS) $(addprefix $(BUILD)/asan/,bbrctl bbrmon next/bbrctl) $(UNIT_TESTS) $(FUZZERS)

lint: ## formatting and shell scripts
	$(CLANG_FORMAT) --dry-run --Werror $(C_FILES)
	shellcheck $(SHELL_FILES)

fmt: ## format the C files
	$(CLANG_FORMAT) -i $(C_FILES)

# The table of parameters as a man page; keys, ranges and meanings come from bbrctl.
$(BUILD)/bpf_bbr.7: docs/man/bpf_bbr.7.in $(BUILD)/bbrctl
	$(BUILD)/bbrctl -j show --defaults | jq -r '.params[] | ".TP\n.BR \(.key) \" (\(.unit), default \(.default | if type == "array" then map(tostring) | join(",") else . end), \(.range[0]) to \(.range[1]))\"\n\(.meaning)"' >$@.tmp
	sed -e '/@PARAMETERS@/{r $@.tmp' -e 'd}' docs/man/bpf_bbr.7.in >$@
	rm $@.tmp

install: all $(BUILD)/bpf_bbr.7 ## to PREFIX, /usr/local by default
	install -D -m 755 $(BUILD)/bbrctl $(DESTDIR)$(PREFIX)/sbin/bbrctl
	install -D -m 755 $(BUILD)/bbrmon $(DESTDIR)$(PREFIX)/sbin/bbrmon
	install -D -m 644 $(OBJECT) $(DESTDIR)$(PREFIX)/lib/bpf-bbr/bpf_bbr.bpf.o
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man8 docs/man/bbrctl.8 docs/man/bbrmon.8
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man7 $(BUILD)/bpf_bbr.7
	install -D -m 644 loader/bbrctl.bash-completion \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/bbrctl

clean: ## remove build/
	rm -rf $(BUILD)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12

.PHONY: all demo check fuzz oracle lab lab-matrix tests lint fmt install clean help
.DELETE_ON_ERROR:
