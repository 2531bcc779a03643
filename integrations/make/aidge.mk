# SPDX-License-Identifier: MIT
# A neural-network model as a source file, for GNU make 4.2 or newer. Anywhere in the makefile, also before its first rule:
#
#   include aidge.mk
#   $(eval $(call aidge_model,kws,models/kws.onnx,--board=stm32f7))
#   app.elf: main.o $(AIDGE_OBJECTS)
#   	$(CC) $(LDFLAGS) -o $@ $^
#   	$(AIDGE_CHECK)
#   main.o: $(AIDGE_HEADERS)
#
# Who compiles the C: your own rule `%.o: %.c` (AIDGE_OBJECTS), or the rule of your list of sources (AIDGE_SOURCES, with
# `VPATH += $(AIDGE_OUT)` where objects have a folder of their own), or, where neither finds it, `AIDGE_COMPILE = $(CC) $(CFLAGS)`.
# The folder of the headers is in CPPFLAGS; makefiles that use other variables add $(AIDGE_INCLUDE) to theirs.
# Where the rule that links stands in somebody's file: $(eval $(call aidge_check,app.elf)), and `all: $(AIDGE_CHECKS)`.
# Paths must not contain spaces: make cannot. A build in which nothing changed starts no process: make compares the times itself.
AIDGE ?= aidge-build
AIDGE_OUT ?= build/aidge
AIDGE_MODELS :=

# aidge_model(name,model,options): options are those of `aidge-build compile`. Two programs with models of one name are two makes, each
# with an AIDGE_OUT of its own: here every object sees every header.
define aidge_model
$(if $(filter $(1),$(AIDGE_MODELS)),$(error aidge.mk: two models are called $(1). Name one of them otherwise, or build its program by a make of its own: $$(MAKE) -C that AIDGE_OUT=...))
$(call aidge_rules,$(1),$(2),$(3),$(AIDGE_OUT)/$(1),$(patsubst --quantize=%,%,$(filter --quantize=%,$(3))))
endef

# aidge_rules(name,model,options,out/name,samples). The goal of a plain `make` stays the first target of the makefile itself.
define aidge_rules
AIDGE_GOAL := $$(.DEFAULT_GOAL)
AIDGE_MODELS += $(1)
AIDGE_INCLUDE += $(filter-out $(AIDGE_INCLUDE),-I$(AIDGE_OUT))
CPPFLAGS += $(filter-out $(CPPFLAGS),-I$(AIDGE_OUT))
AIDGE_FILES_$(1) := $(addprefix $(4),.c _weights.c .h .plan.json)
AIDGE_SOURCES += $(4).c $(4)_weights.c
AIDGE_OBJECTS += $(4).o $(4)_weights.o
AIDGE_HEADERS += $(4).h
AIDGE_PLANS += $(4).plan.json
AIDGE_BOARD += $(filter --board=% --board-path=%,$(3))

# Read now: a deleted file or another option makes the stamp old. (No compiler's -MD writes a file of the depfile's name.)
ifneq ($$(wildcard $$(AIDGE_FILES_$(1)) $(4).read.d),$$(AIDGE_FILES_$(1)) $(4).read.d)
$$(shell rm -f $(4).stamp)
endif
ifneq ($$(file <$(4).options),$(2) $(3))
$$(shell mkdir -p $(AIDGE_OUT))
$$(file >$(4).options,$(2) $(3))
endif

# The stamp is touched by every run, the files are written where they differ: weights alone compile one file.
$(4).stamp: $(2) $(5) $(4).options
	$$(AIDGE) compile --out=$(AIDGE_OUT) --name=$(1) $(3) --depfile=$(4).read.d --stamp=$$@ -- $(2)
$$(AIDGE_FILES_$(1)): $(4).stamp ;
$(4).o $(4)_weights.o: $(4).h
ifneq ($$(AIDGE_COMPILE),)
$(4).o $(4)_weights.o: %.o: %.c
	$$(AIDGE_COMPILE) -c -o $$@ $$<
endif
-include $(4).read.d
# Nothing makes these; said so that make need not try a hundred names for each.
$(4).read.d $(4).options: ;

# What the generator read. Make need not look for a rule that makes aidge_build itself (it would try a hundred names for each of its
# files), and a file that is gone, there or in a folder of yours, is no error but a reason to generate.
AIDGE_READ := $$(filter-out \ %: $(2) $(5),$$(file <$(4).read.d))
AIDGE_FOLDER := $$(patsubst %/__init__.py,%,$$(firstword $$(filter %/aidge_build/__init__.py,$$(AIDGE_READ))))
AIDGE_PACKAGE := $$(filter $$(AIDGE_FOLDER)/% $$(patsubst %/aidge_build,%/kernels/%,$$(AIDGE_FOLDER)) $$(patsubst %/aidge_build,%/boards/%,$$(AIDGE_FOLDER)),$$(AIDGE_READ))
ifneq ($$(filter-out $$(AIDGE_KNOWN),$$(AIDGE_PACKAGE)),)
$$(filter-out $$(AIDGE_KNOWN),$$(AIDGE_PACKAGE)): ;
endif
ifneq ($$(filter-out $$(AIDGE_PACKAGE),$$(AIDGE_READ)),)
$$(filter-out $$(AIDGE_PACKAGE),$$(AIDGE_READ)):
endif
AIDGE_KNOWN := $$(AIDGE_KNOWN) $$(filter-out $$(AIDGE_KNOWN),$$(AIDGE_PACKAGE))
.DEFAULT_GOAL := $$(AIDGE_GOAL)
endef

# aidge_prove(program,prerequisites): proves the memory use, or removes the program and fails. The objects are those among the
# prerequisites, wherever the rule of the makefile puts them, or else those beside the C. AIDGE_CHECK_OPTIONS: those of
# `aidge-build check` (--region=..., --quiet=...), for programs whose models name no board.
aidge_linked = $(or $(filter $(AIDGE_OBJECTS) $(addprefix %/,$(notdir $(AIDGE_OBJECTS))),$(1)),$(wildcard $(AIDGE_OBJECTS)))
aidge_prove = $(AIDGE) check $(sort $(AIDGE_BOARD)) $(AIDGE_CHECK_OPTIONS) $(addprefix --plan=,$(AIDGE_PLANS)) $(addprefix --objects=,$(call aidge_linked,$(2))) --out=$(1).check.json -- $(1) || { rm -f $(1); exit 1; }

# The last line of the rule that links.
AIDGE_CHECK = $(call aidge_prove,$@,$^)

# aidge_check(program): a target of its own, program.check.json, for a program that another file's rule links.
define aidge_check
AIDGE_GOAL := $$(.DEFAULT_GOAL)
AIDGE_CHECKS += $(1).check.json
$(1).check.json: $(1) $(AIDGE_PLANS)
	$$(call aidge_prove,$(1),)
	@touch $$@
.DEFAULT_GOAL := $$(AIDGE_GOAL)
endef
