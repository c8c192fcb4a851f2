# SPDX-License-Identifier: GPL-2.0-only
# The programs of the tests. Included by the Makefile.

# ---- unit tests: to add one, add a file tests/unit/PLACE/test_*.c

# -g1 (in SANITIZE) is enough for the sanitizers' reports. With -g gcc would follow each variable through functions of thousands of
# lines, which took three quarters of the time of test_params.
UNIT_CFLAGS := -std=gnu11 $(WARN) $(SANITIZE)
TEST_LIBS := -ljson-c -lcmocka

# Tests of an algorithm, in a folder of its name, include its source.
define algorithm_tests
$(BUILD)/unit/$2/%: tests/unit/$2/%.c
	@mkdir -p $$(@D)
	$$(CC) -Iinclude -Ibpf -I$1 $$(UNIT_CFLAGS) $$(DEPS) $$< -lcmocka -o $$@

endef
$(eval $(foreach folder,$(ALGORITHMS),$(call algorithm_tests,$(folder),$(notdir $(folder)))))

# Tests of the tools are linked with archives, so only with the objects that they call.
$(BUILD)/asan/lib.a: $(call sanitized,$(LIB))
$(BUILD)/asan/loader.a: $(call sanitized,$(filter-out %/main.o,$(LOADER)))
$(BUILD)/asan/tools.a: $(call sanitized,$(filter-out %/main.o,$(MONITOR)))
$(BUILD)/asan/%.a:
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/unit/tools/%: tests/unit/tools/%.c $(BUILD)/asan/tools.a $(BUILD)/asan/lib.a
	@mkdir -p $(@D)
	$(CC) $(INCLUDES) $(UNIT_CFLAGS) $(DEPS) $(filter-out %.h,$^) $(LDLIBS) $(MONITOR_LIBS) $(TEST_LIBS) -o $@

$(BUILD)/unit/experiment/%: tests/unit/experiment/%.c $(BUILD)/asan/loader.a $(BUILD)/asan/tools.a $(BUILD)/asan/lib.a
	@mkdir -p $(@D)
	$(CC) $(INCLUDES) $(UNIT_CFLAGS) $(DEPS) $(filter-out %.h,$^) $(LDLIBS) $(LOADER_LIBS) $(MONITOR_LIBS) $(TEST_LIBS) -o $@

$(BUILD)/unit/loader/%: tests/unit/loader/%.c $(BUILD)/asan/loader.a $(BUILD)/asan/lib.a
	@mkdir -p $(@D)
	$(CC) $(INCLUDES) $(UNIT_CFLAGS) $(DEPS) $(filter-out %.h,$^) $(LDLIBS) $(LOADER_LIBS) $(TEST_LIBS) -o $@

$(BUILD)/unit/lib/%: tests/unit/lib/%.c $(BUILD)/asan/lib.a
	@mkdir -p $(@D)
	$(CC) $(INCLUDES) $(UNIT_CFLAGS) $(DEPS) $(filter-out %.h,$^) $(LDLIBS) $(TEST_LIBS) -o $@

# These tests load these objects from build/.
$(BUILD)/unit/loader/test_object: | $(BUILD)/bpf_bbr.bpf.o
$(BUILD)/unit/loader/test_patched_kernels: | $(PROBES) $(BUILD)/oracle/record_bbr3.bpf.o $(patsubst %,$(BUILD)/snapshot_%.bpf.o,$(notdir $(ALGORITHMS)))

UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/*/test_*.c))

unit: $(UNIT_TESTS)

# ---- objects for comparisons

# Nobody can watch this one.
$(BUILD)/no_telemetry.bpf.o: bpf/bbr/bbr.bpf.c
	$(call bpf_object,-Ibpf/bbr -DBBR_NO_TELEMETRY)

# This one estimates flights even on a kernel that knows them.
$(BUILD)/bbr3_estimates.bpf.o: bpf/bbr3/bbr3.bpf.c
	$(call bpf_object,-Ibpf/bbr3 -DBBR_ESTIMATES_ALWAYS=true)

# A changed copy of an algorithm's folder.
define patched
	rm -rf $(@D)
	@mkdir -p $(@D)
	cp $(1)/*.[ch] $(@D)
	patch --quiet --strip 3 --directory $(@D) <$<
endef

# As of a release whose connections have a larger second part.
LARGER := $(BUILD)/larger/bpf/bbr3
$(LARGER)/bbr3.bpf.c: tests/native/traffic/larger_state.patch $(wildcard bpf/bbr3/*.[ch])
	$(call patched,bpf/bbr3)
$(BUILD)/bbr3_larger.bpf.o: $(LARGER)/bbr3.bpf.c
	$(call bpf_object,-I$(LARGER))

# This one mends a shortage of CPU as arXiv 2601.05665 does, in place of cpu_gain.
ROBUST := $(BUILD)/robust/bpf/bbr
$(ROBUST)/bbr.bpf.c: lab/scenarios/robust.patch $(wildcard bpf/bbr/*.[ch])
	$(call patched,bpf/bbr)
$(BUILD)/robust_paper.bpf.o: $(ROBUST)/bbr.bpf.c
	$(call bpf_object,-I$(ROBUST))

# A later version and its tools, for the upgrade tests, made by the recipes of CONTRIBUTING.md: it has one more parameter,
# one more field of its events, which this version does not know, and one more verb in each program. And an object of an ABI
# that no tool knows.
NEXT_BBR := $(BUILD)/next/bpf/bbr
NEXT_VERSION := -DBBR_VERSION='"9.9.9"' -DBBR_ABI_MINOR=1
$(NEXT_BBR)/bbr.bpf.c: tests/native/loading/next_version.patch $(wildcard bpf/bbr/*.[ch])
	$(call patched,bpf/bbr)
$(NEXT_BBR)/descriptor.c: $(NEXT_BBR)/bbr.bpf.c

$(BUILD)/next_version.bpf.o: $(NEXT_BBR)/bbr.bpf.c
	$(call bpf_object,-I$(NEXT_BBR) $(NEXT_VERSION))

$(BUILD)/next_abi.bpf.o: bpf/bbr/bbr.bpf.c
	$(call bpf_object,-Ibpf/bbr -DBBR_VERSION='"9.9.9"' -DBBR_ABI_MAJOR=999)

NEXT_VERBS := $(BUILD)/next/verbs
NEXT_VERB_SOURCES := loader/verbs/verbs.c loader/verbs/hello.c tools/main.c tools/hello/hello.c
$(NEXT_VERB_SOURCES:%=$(NEXT_VERBS)/%) &: tests/native/loading/next_verbs.patch \
		loader/verbs/verbs.c loader/verbs/verbs.h tools/main.c tools/verbs.h
	rm -rf $(NEXT_VERBS)
	@mkdir -p $(NEXT_VERBS)
	cp --parents $(filter %.c %.h,$^) $(NEXT_VERBS)
	patch --quiet --strip 1 --directory $(NEXT_VERBS) <$<

# Only the sources that name the version, the descriptor and the lists of verbs are compiled again.
NEXT_SOURCES := $(shell grep -l BBR_VERSION $(wildcard lib/*.c lib/*/*.c loader/*.c loader/*/*.c experiment/*/*.c)) bpf/bbr/descriptor.c
NEXT_OTHERS := $(call objects,$(NEXT_SOURCES)) $(CARRIED)
NEXT_LOADER := $(call sanitized,$(filter-out $(NEXT_OTHERS) %/verbs/verbs.o,$(LOADER) $(LIB))) \
	$(patsubst %.c,$(BUILD)/next/obj/%.o,$(NEXT_SOURCES) loader/verbs/hello.c loader/verbs/verbs.c)
NEXT_CC = @mkdir -p $(@D); $(CC) $(NEXT_VERSION) -I$(NEXT_VERBS)/loader $(OUR_CFLAGS) $(CFLAGS) $(SANITIZE) -w $(DEPS)
$(BUILD)/next/obj/%.o: %.c
	$(NEXT_CC) -c $< -o $@

$(BUILD)/next/obj/bpf/bbr/descriptor.o: $(NEXT_BBR)/descriptor.c
	$(NEXT_CC) -c $< -o $@

$(BUILD)/next/obj/loader/verbs/%.o: $(NEXT_VERBS)/loader/verbs/%.c
	$(NEXT_CC) -c $< -o $@

# The assembler finds its BPF object before that of this version.
$(BUILD)/next/bpf_bbr.bpf.o: $(BUILD)/next_version.bpf.o
	cp $< $@
$(BUILD)/next/obj/loader/carried.o: EMBEDDED = -I$(BUILD)/next \
	-DMIGRATE_OBJECT='"migrate.bpf.o"' -DATTACH_OBJECT='"attach.bpf.o"' \
	-DEXPERIMENT_OBJECT='"experiment.bpf.o"'
$(BUILD)/next/obj/loader/carried.o: loader/carried.S $(BUILD)/next/bpf_bbr.bpf.o $(BUILD)/obj/loader/carried.o
	@mkdir -p $(@D)
	$(CC) $(EMBEDDED) $(INCLUDES) -c $< -o $@

$(BUILD)/asan/next/bbrctl: $(NEXT_LOADER) $(BUILD)/next/obj/loader/carried.o
	@mkdir -p $(@D)
	$(CC) $(SANITIZE) $(SANITIZER_LINK) $(LDFLAGS) $^ $(LDLIBS) $(LOADER_LIBS) -o $@

NEXT_PLAIN := $(addprefix $(BUILD)/next/obj/plain/,bpf/bbr/descriptor.o tools/main.o tools/hello/hello.o)
NEXT_MONITOR := $(filter-out %/bpf/bbr/descriptor.o %/tools/main.o,$(MONITOR) $(LIB)) $(NEXT_PLAIN)
NEXT_PLAIN_CC = @mkdir -p $(@D); $(CC) -I$(NEXT_VERBS)/tools $(OUR_CFLAGS) $(CFLAGS) $(DEPS)
$(BUILD)/next/obj/plain/bpf/bbr/descriptor.o: $(NEXT_BBR)/descriptor.c
	$(NEXT_PLAIN_CC) -c $< -o $@
$(BUILD)/next/obj/plain/tools/%.o: $(NEXT_VERBS)/tools/%.c
	$(NEXT_PLAIN_CC) -c $< -o $@
$(BUILD)/next/bbrmon: $(NEXT_MONITOR)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) $(MONITOR_LIBS) -o $@

# ---- fuzzers

FUZZ := $(BUILD)/fuzz
FUZZERS := $(addprefix $(FUZZ)/,algorithm algorithm3 params tuning object events filter recording experiment verbs web)
CORPORA := $(patsubst tests/fuzz/%.tar.xz,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/corpus/*.tar.xz))
FUZZ_SECONDS ?= 600
FUZZ_SANITIZE := -fsanitize=fuzzer,address,undefined,float-cast-overflow -fno-sanitize-recover=all
FUZZ_FLAGS := -O1 -g1 -std=gnu11 $(WARN) -Wno-missing-field-initializers $(FUZZ_SANITIZE) -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
FUZZED := $(FUZZ)/obj
# $(call fuzzed,OBJECTS): the same objects for a fuzzer. Those of embedded files stay as they are.
fuzzed = $(patsubst $(BUILD)/obj/%,$(FUZZED)/%,$(filter-out $(CARRIED),$1)) $(filter $(CARRIED),$1)

$(FUZZED)/%.o: %.c
	@mkdir -p $(@D)
	$(CLANG) $(INCLUDES) $(FUZZ_FLAGS) $(DEPS) -c $< -o $@

$(FUZZ)/lib.a: $(call fuzzed,$(LIB))
$(FUZZ)/loader.a: $(call fuzzed,$(filter-out %/main.o,$(LOADER)))
$(FUZZ)/tools.a: $(call fuzzed,$(filter-out %/main.o,$(MONITOR)))
$(FUZZ)/%.a:
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/fuzz/corpus/%: tests/fuzz/corpus/%.tar.xz
	@rm -rf $@
	@mkdir -p $@
	$(PYTHON) -m tarfile -e $< $@
	@touch $@

# Those of an algorithm include its source.
$(FUZZ)/algorithm: FUZZ_INCLUDES := -Iinclude -Ibpf -Ibpf/bbr
$(FUZZ)/algorithm3: FUZZ_INCLUDES := -Iinclude -Ibpf -Ibpf/bbr3
$(FUZZ)/algorithm $(FUZZ)/algorithm3: $(FUZZ)/%: tests/fuzz/fuzz_%.c
	@mkdir -p $(@D)
	$(CLANG) $(FUZZ_INCLUDES) $(FUZZ_FLAGS) $(DEPS) $< -o $@

# The others are linked as unit tests are, with archives. They call nothing that talks to the kernel: they contain
# stand-ins for it. The static library of libbpf calls those, too.
$(FUZZED)/tools/main.o: FUZZ_FLAGS += -Dmain=bbrmon_main
# The verbs that handle BPF programs are linked, but do not run; of the files for pods only some functions are stood in for.
$(FUZZ)/params $(FUZZ)/tuning: private FUZZ_FLAGS += -Wl,-z,muldefs
$(FUZZ)/params: $(FUZZ)/tools.a $(FUZZ)/loader.a
$(FUZZ)/tuning $(FUZZ)/object: $(FUZZ)/loader.a
$(FUZZ)/verbs: $(FUZZED)/tools/main.o
$(addprefix $(FUZZ)/,events filter recording experiment verbs web): $(FUZZ)/tools.a
$(addprefix $(FUZZ)/,params tuning object events filter recording experiment verbs web): $(FUZZ)/%: $(FUZZED)/tests/fuzz/fuzz_%.o $(FUZZ)/lib.a
	$(CLANG) $(FUZZ_FLAGS) $(filter %.o,$^) $(filter-out %/lib.a,$(filter %.a,$^)) $(FUZZ)/lib.a $(LDLIBS) $(LOADER_LIBS) $(MONITOR_LIBS) -ljson-c -o $@

# The same programs with clang's coverage of lines, in a folder of their own.
FUZZ_COVERAGE := FUZZ=$(BUILD)/fuzz-coverage \
	FUZZ_SANITIZE="-fsanitize=fuzzer -fprofile-instr-generate -fcoverage-mapping -fcoverage-compilation-dir=."

fuzzers: $(FUZZERS) $(CORPORA)

# ---- the lab's programs, which run in its guests

$(BUILD)/flow: lab/runs/flow.c
$(BUILD)/start: lab/vm/start.c
$(BUILD)/peer: lab/studies/peer.c
$(BUILD)/unusual: tests/lab/unusual.c
$(BUILD)/flags: lab/vm/flags.c
$(BUILD)/flags: CFLAGS += -static
$(BUILD)/measure: tests/native/cost/measure.c
$(BUILD)/relay: tests/native/watching/relay.c
$(BUILD)/cost: lab/cost/cost.c
$(BUILD)/recorder: lab/runs/recorder.c
$(BUILD)/recorder: LDLIBS := -lbpf -lmnl
$(BUILD)/cost: LDLIBS := -lbpf
$(BUILD)/flow $(BUILD)/start $(BUILD)/peer $(BUILD)/unusual $(BUILD)/flags $(BUILD)/measure $(BUILD)/relay: LDLIBS :=
$(addprefix $(BUILD)/,flow start peer unusual flags measure relay cost recorder):
	@mkdir -p $(@D)
	$(CC) $(OUR_CFLAGS) $(CFLAGS) $(DEPS) $< $(LDLIBS) -o $@

# Preloaded into the emulator.
$(BUILD)/warp.so: lab/vm/warp.c
# Preloaded into the tools: their allocations fail.
$(BUILD)/no_memory.so: tests/native/no_memory.c
$(BUILD)/warp.so $(BUILD)/no_memory.so:
	@mkdir -p $(@D)
	$(CC) $(OUR_CFLAGS) $(CFLAGS) $(DEPS) -fPIC -shared $< -o $@

$(BUILD)/cost.bpf.o: lab/cost/cost.bpf.c
$(BUILD)/recorder.bpf.o: lab/runs/recorder.bpf.c
$(BUILD)/mark_ce.bpf.o: lab/runs/mark_ce.bpf.c
$(BUILD)/stall.bpf.o: lab/runs/stall.bpf.c
$(BUILD)/returns.bpf.o: lab/studies/returns.bpf.c
$(addprefix $(BUILD)/,cost.bpf.o recorder.bpf.o mark_ce.bpf.o stall.bpf.o returns.bpf.o):
	@mkdir -p $(@D)
	$(CLANG) $(BPF_CFLAGS) $(DEPS) -c $< -o $@

# Writes many rules at once.
$(BUILD)/write_rules: $(call objects,lab/cost/write_rules.c $(addprefix loader/,self/lock.c tuning/rule_text.c tuning/rule_list.c)) $(LIB)
	$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

LAB_PROGRAMS := $(addprefix $(BUILD)/,flow start peer unusual flags warp.so cost cost.bpf.o mark_ce.bpf.o stall.bpf.o returns.bpf.o no_telemetry.bpf.o bbr3_estimates.bpf.o robust_paper.bpf.o recorder recorder.bpf.o write_rules measure)

# ---- the oracle: the recorder of the kernel's own BBR, and the programs that feed its recordings to the algorithm

ORACLE := $(BUILD)/oracle
ORACLE_CC = @mkdir -p $(@D); $(CC) -Ibpf $(OUR_CFLAGS) $(CFLAGS)
# $(call oracle_objects,SOURCES): an object for each source of tests/oracle, so that each notes its headers; and the same with
# the sanitizers.
oracle_objects = $(patsubst %.c,$(ORACLE)/%.o,$1)
oracle_sanitized = $(patsubst %.c,$(ORACLE)/asan/%.o,$1)

$(ORACLE)/bbr/%.o $(ORACLE)/asan/bbr/%.o $(ORACLE)/kinds.o: ORACLE_CC += -Ibpf/bbr
$(ORACLE)/bbr3/%.o $(ORACLE)/asan/bbr3/%.o: ORACLE_CC += -Ibpf/bbr3

$(ORACLE)/%.o: tests/oracle/%.c
	$(ORACLE_CC) $(DEPS) -c $< -o $@

$(ORACLE)/asan/%.o: tests/oracle/%.c
	$(ORACLE_CC) $(SANITIZE) $(DEPS) -c $< -o $@

$(ORACLE)/record: $(call oracle_objects,record.c bbr/recorder.c bbr/stream.c bbr3/recorder.c bbr3/v3r_write.c)
	$(ORACLE_CC) $^ -lbpf -lz -lzstd -ljson-c -lm -o $@

# The recorder's programs for each algorithm.
$(ORACLE)/record_%.bpf.o: tests/oracle/record.bpf.c
	@mkdir -p $(@D)
	$(CLANG) $(BPF_CFLAGS) -Itests/oracle -Ibpf/$* -DRECORD_H='"$*/record.bpf.h"' $(DEPS) -c $< -o $@

$(ORACLE)/%.bpf.o: tests/oracle/%.bpf.c
	@mkdir -p $(@D)
	$(CLANG) $(BPF_CFLAGS) -Itests/oracle $(DEPS) -c $< -o $@

# $(call replayed,ALGORITHM,REPLAY_H): the algorithm on recorded callbacks, as BPF.
define replayed
$(ORACLE)/replay_$1.bpf.o: tests/oracle/replay.bpf.c
	@mkdir -p $$(@D)
	$$(CLANG) $$(BPF_CFLAGS) -Itests/oracle -Ibpf/$1 -DNAME=$1 -DREPLAY_H='"$2"' $$(DEPS) -c $$< -o $$@

endef
$(eval $(call replayed,bbr,bbr/replay.h))
$(eval $(call replayed,bbr3,bbr3/replay.h))
$(ORACLE)/replay.bpf.o: $(ORACLE)/replay_bbr.bpf.o $(ORACLE)/replay_bbr3.bpf.o
	$(BPFTOOL) gen object $@ $^

REPLAY := replay.c bbr/replayer.c bbr/mainline.c bbr/stream.c bbr3/google.c bbr3/v3r.c
REPLAY_LIBS := -lbpf -lz -lzstd -ljson-c
$(ORACLE)/replay: $(call oracle_objects,$(REPLAY))
	$(ORACLE_CC) $^ $(REPLAY_LIBS) -o $@

$(BUILD)/asan/replay: $(call oracle_sanitized,$(REPLAY))
	$(ORACLE_CC) $(SANITIZE) $^ $(REPLAY_LIBS) -o $@

# How good are the estimates of the inputs of BBR version 3 that a stock kernel does not have?
$(ORACLE)/inputs: $(call oracle_objects,bbr3/inputs.c bbr3/distribution.c bbr3/google.c bbr3/v3r.c)
	$(ORACLE_CC) $^ -lzstd -ljson-c -o $@

# Does an ACK's own kind give the same result as the code for any ACK? The fuzzer of each algorithm, and the BPF object that it runs.
KINDS_BBR := KINDS_H='"bbr/kinds.h"'
KINDS_BBR3 := KINDS_H='"bbr3/kinds.h"'
$(ORACLE)/bbr/changes.o $(ORACLE)/kinds.o: ORACLE_CC += -Itests/oracle -D$(KINDS_BBR)
$(ORACLE)/bbr3/changes.o $(ORACLE)/bbr3/kinds.o: ORACLE_CC += -Itests/oracle -D$(KINDS_BBR3)
$(ORACLE)/bbr3/kinds.o: tests/oracle/kinds.c
	$(ORACLE_CC) $(DEPS) -c $< -o $@

$(ORACLE)/kinds: $(call oracle_objects,kinds.c bbr/changes.c bbr/mainline.c bbr/stream.c)
	$(ORACLE_CC) $^ -lbpf -lz -o $@

$(ORACLE)/kinds_bbr3: $(call oracle_objects,bbr3/kinds.c bbr3/changes.c bbr3/google.c bbr3/v3r.c)
	$(ORACLE_CC) $^ -lbpf -lzstd -ljson-c -o $@

$(ORACLE)/kinds.bpf.o: BPF_CFLAGS += -Ibpf/bbr -D$(KINDS_BBR)
$(ORACLE)/kinds_bbr3.bpf.o: tests/oracle/kinds.bpf.c
	@mkdir -p $(@D)
	$(CLANG) $(BPF_CFLAGS) -Itests/oracle -Ibpf/bbr3 -D$(KINDS_BBR3) $(DEPS) -c $< -o $@

# Makes small recordings from large ones: bbr/path.c calls bbr/path_trace.c at each branch and comparison.
$(ORACLE)/bbr/path.o: ORACLE_CC += -O1 -fsanitize-coverage=trace-pc,trace-cmp

$(ORACLE)/select: $(call oracle_objects,$(addprefix bbr/,select.c path_trace.c mainline.c stream.c path.c))
	$(ORACLE_CC) $^ -lz -o $@

$(ORACLE)/test_replay: $(call oracle_sanitized,$(addprefix bbr/,test_replay.c mainline.c stream.c))
	$(ORACLE_CC) $(SANITIZE) $^ -lcmocka -lz -o $@

$(ORACLE)/test_recorder: $(call oracle_sanitized,bbr3/test_recorder.c bbr3/recorder.c bbr3/v3r_write.c bbr3/v3r.c)
	$(ORACLE_CC) $(SANITIZE) $^ -lcmocka -lbpf -lzstd -ljson-c -o $@

ORACLE_PROGRAMS := $(addprefix $(ORACLE)/,record record_bbr.bpf.o record_bbr3.bpf.o replay replay.bpf.o inputs kinds kinds.bpf.o kinds_bbr3 kinds_bbr3.bpf.o select test_replay test_recorder) $(BUILD)/asan/replay

tests: all unit toy fuzzers $(LAB_PROGRAMS) $(BUILD)/relay $(ORACLE_PROGRAMS) $(addprefix $(BUILD)/,bbr3_larger.bpf.o next_version.bpf.o next_abi.bpf.o next/bbrmon no_memory.so) \
	$(addprefix $(BUILD)/asan/,bbrctl bbrmon next/bbrctl)

# ---- the tools with an algorithm that nothing outside its folder knows

toy: all
	$(MAKE) BUILD=$(BUILD)/toy SHARED=$(BUILD) ALGORITHMS=tests/toy all

mutants: ## make the mistakes of tests/mutants one at a time, and write who noticed to build/ (minutes)
	@mkdir -p $(BUILD)
	tests/mutants/mutate.py > $(BUILD)/mutants.md
	tests/mutants/mutate.py --list tests/mutants/bbr3.txt > $(BUILD)/mutants-bbr3.md
.PHONY: mutants
