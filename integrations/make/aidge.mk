# SPDX-License-Identifier: MIT
# A neural-network model as a source file, for GNU make 4.2 or newer:
#
#   include aidge.mk
#   $(eval $(call aidge_model,kws,models/kws.onnx,--board=stm32f7))
#   app.elf: main.o $(AIDGE_OBJECTS)
#   	$(CC) $(LDFLAGS) -o $@ $^
#   	$(AIDGE_CHECK)
#   main.o: $(AIDGE_HEADERS)
#
# The objects are compiled by your own rules; CPPFLAGS gets the folder of the headers. Paths must not contain spaces: make cannot.
# A build in which nothing changed starts no process: make compares the times itself.
AIDGE ?= aidge-build
AIDGE_OUT ?= build/aidge
AIDGE_MODELS :=

# aidge_model(name,model,options): options are those of `aidge-build compile`. Two programs with models of one name are two makes, each
# with an AIDGE_OUT of its own: here every object sees every header.
define aidge_model
$(if $(filter $(1),$(AIDGE_MODELS)),$(error aidge.mk: two models are called $(1). Name one of them otherwise, or build its program by a make of its own: $$(MAKE) -C that AIDGE_OUT=...))
AIDGE_MODELS += $(1)
CPPFLAGS += $(filter-out $(CPPFLAGS),-I$(AIDGE_OUT))
AIDGE_FILES_$(1) := $(addprefix $(AIDGE_OUT)/$(1),.c _weights.c .h .plan.json)
AIDGE_OBJECTS += $(AIDGE_OUT)/$(1).o $(AIDGE_OUT)/$(1)_weights.o
AIDGE_HEADERS += $(AIDGE_OUT)/$(1).h
AIDGE_PLANS += $(AIDGE_OUT)/$(1).plan.json
AIDGE_BOARD += $(filter --board=% --board-path=%,$(3))

# Read now: a deleted file or another option makes the stamp old.
ifneq ($$(wildcard $$(AIDGE_FILES_$(1)) $(AIDGE_OUT)/$(1).d),$$(AIDGE_FILES_$(1)) $(AIDGE_OUT)/$(1).d)
$$(shell rm -f $(AIDGE_OUT)/$(1).stamp)
endif
ifneq ($$(file <$(AIDGE_OUT)/$(1).options),$(2) $(3))
$$(shell mkdir -p $(AIDGE_OUT))
$$(file >$(AIDGE_OUT)/$(1).options,$(2) $(3))
endif

# The stamp is touched by every run, the files are written where they differ: weights alone compile one file.
$(AIDGE_OUT)/$(1).stamp: $(2) $(patsubst --quantize=%,%,$(filter --quantize=%,$(3))) $(AIDGE_OUT)/$(1).options
	$$(AIDGE) compile --out=$(AIDGE_OUT) --name=$(1) $(3) --depfile=$(AIDGE_OUT)/$(1).d --stamp=$$@ -- $(2)
$$(AIDGE_FILES_$(1)): $(AIDGE_OUT)/$(1).stamp ;
$(AIDGE_OUT)/$(1).o $(AIDGE_OUT)/$(1)_weights.o: $(AIDGE_OUT)/$(1).h
-include $(AIDGE_OUT)/$(1).d
# Nothing makes these; said so that make need not try a hundred names for each.
$(AIDGE_OUT)/$(1).d $(AIDGE_OUT)/$(1).options: ;

# What the generator read. Make need not look for a rule that makes aidge_build itself (it would try a hundred names for each of its
# files), and a file that is gone, there or in a folder of yours, is no error but a reason to generate.
AIDGE_READ := $$(filter-out \ %: $(2) $(patsubst --quantize=%,%,$(filter --quantize=%,$(3))),$$(file <$(AIDGE_OUT)/$(1).d))
AIDGE_FOLDER := $$(patsubst %/__init__.py,%,$$(firstword $$(filter %/aidge_build/__init__.py,$$(AIDGE_READ))))
AIDGE_PACKAGE := $$(filter $$(AIDGE_FOLDER)/% $$(patsubst %/aidge_build,%/kernels/%,$$(AIDGE_FOLDER)) $$(patsubst %/aidge_build,%/boards/%,$$(AIDGE_FOLDER)),$$(AIDGE_READ))
ifneq ($$(filter-out $$(AIDGE_KNOWN),$$(AIDGE_PACKAGE)),)
$$(filter-out $$(AIDGE_KNOWN),$$(AIDGE_PACKAGE)): ;
endif
ifneq ($$(filter-out $$(AIDGE_PACKAGE),$$(AIDGE_READ)),)
$$(filter-out $$(AIDGE_PACKAGE),$$(AIDGE_READ)):
endif
AIDGE_KNOWN := $$(AIDGE_KNOWN) $$(filter-out $$(AIDGE_KNOWN),$$(AIDGE_PACKAGE))
endef

# The last line of the rule that links: proves the memory use, or removes the program and fails.
AIDGE_CHECK = $(AIDGE) check $(sort $(AIDGE_BOARD)) $(addprefix --plan=,$(AIDGE_PLANS)) $(addprefix --objects=,$(AIDGE_OBJECTS)) --out=$@.check.json -- $@ || { rm -f $@; exit 1; }
