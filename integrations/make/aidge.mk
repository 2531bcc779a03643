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
# The folder of the headers is in CPPFLAGS; makefiles that use other variables add $(AIDGE_INCLUDE) (-Ibuild/aidge) to their flags, or
# $(AIDGE_INCLUDE_DIRS) (build/aidge) to a list of folders. `clean` removes $(AIDGE_CLEAN).
# Where the rule that links stands in somebody's file: $(eval $(call aidge_check,app.elf,$(OBJECTS),app.bin app.hex)), and
# `all: $(AIDGE_CHECKS)`.
# Paths must not contain spaces: make cannot. A build in which nothing changed starts no process: make compares the times itself.
AIDGE ?= aidge-build
AIDGE_OUT ?= build/aidge
AIDGE_MODELS :=

# A name becomes targets of make and words of commands: what make or a shell would read in it, neither can carry.
AIDGE_READ_BY_SHELLS := $$ ` ' " \ ( ) \#
AIDGE_READ_IN_NAMES := $(AIDGE_READ_BY_SHELLS) ; & | < > * ? [ ] { } ! = %
aidge_read = $(strip $(foreach one,$(1),$(findstring $(one),$(2))))
aidge_refuse = $(error aidge.mk: $(1) '$(2)' holds $(3), which make or its shell would read: $(4))
aidge_name = $(if $(call aidge_read,$(AIDGE_READ_IN_NAMES),$(2)),$(call aidge_refuse,$(1),$(2),$(call aidge_read,$(AIDGE_READ_IN_NAMES),$(2)),rename it))$(if $(word 2,$(2)),$(call aidge_refuse,$(1),$(2),a blank,rename it))
# Options, each a word of the command, whatever is in it.
aidge_words = $(foreach word,$(1),$(if $(call aidge_read,$(AIDGE_READ_BY_SHELLS),$(word)),$(call aidge_refuse,the option,$(word),$(call aidge_read,$(AIDGE_READ_BY_SHELLS),$(word)),leave it out: every option is one word without quotes))'$(word)')
aidge_missing = there is no command $(firstword $(AIDGE)): install the Python package aidge_build (pip install . in its checkout), or say where it is: make AIDGE=/path/to/aidge-build
# Kernels read no words at any address where the compiler's flags, if they are set by now, say so; the compiler finds it otherwise.
aidge_unaligned = $(if $(filter -mno-unaligned-access,$(CC) $(CPPFLAGS) $(CFLAGS)),--unaligned=off)
# The last value of a flag of the compiler, and the core that -march and -mabi of RISC-V name where options name no target.
aidge_flag = $(patsubst $(1)%,%,$(lastword $(filter $(1)%,$(CC) $(CPPFLAGS) $(CFLAGS))))
aidge_march = $(addsuffix $(addprefix +,$(call aidge_flag,-mabi=)),$(filter rv%,$(call aidge_flag,-march=)))
aidge_core = $(if $(filter --board=% --cpu=%,$(1)),,$(addprefix --cpu=,$(aidge_march)))

# aidge_model(name,model,options): options are those of `aidge-build compile`. Two programs with models of one name are two makes, each
# with an AIDGE_OUT of its own: here every object sees every header.
define aidge_model
$(if $(filter $(1),$(AIDGE_MODELS)),$(error aidge.mk: two models are called $(1). Name one of them otherwise, or build its program by a make of its own: $$(MAKE) -C that AIDGE_OUT=...))
$(call aidge_name,the name,$(1))$(call aidge_name,the model,$(2))$(call aidge_name,AIDGE_OUT,$(AIDGE_OUT))
$(foreach samples,$(patsubst --quantize=%,%,$(filter --quantize=%,$(3))),$(call aidge_name,--quantize,$(samples)))
$(call aidge_rules,$(strip $(1)),$(strip $(2)),$(strip $(call aidge_core,$(3)) $(aidge_unaligned) $(3)),$(AIDGE_OUT)/$(strip $(1)),$(patsubst --quantize=%,%,$(filter --quantize=%,$(3))))
endef

# aidge_rules(name,model,options,out/name,samples). The goal of a plain `make` stays the first target of the makefile itself.
define aidge_rules
AIDGE_GOAL := $$(.DEFAULT_GOAL)
AIDGE_MODELS += $(1)
AIDGE_INCLUDE_DIRS += $(filter-out $(AIDGE_INCLUDE_DIRS),$(AIDGE_OUT))
AIDGE_INCLUDE += $(filter-out $(AIDGE_INCLUDE),-I$(AIDGE_OUT))
CPPFLAGS += $(filter-out $(CPPFLAGS),-I$(AIDGE_OUT))
AIDGE_FILES_$(1) := $(addprefix $(4),.c _weights.c .h .plan.json)
AIDGE_SOURCES += $(4).c $(4)_weights.c
AIDGE_OBJECTS += $(4).o $(4)_weights.o
AIDGE_HEADERS += $(4).h
AIDGE_PLANS += $(4).plan.json
AIDGE_BOARD += $(filter --board=% --board-path=%,$(3))
AIDGE_CLEAN += $(addprefix $(4),.c _weights.c _weights.bin .h .plan.json .stamp .options .read.d .o _weights.o .d _weights.d)
$(call aidge_killed,$(AIDGE_OUT))

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
	@command -v $$(firstword $$(AIDGE)) >/dev/null || { echo "aidge.mk: $$(aidge_missing)" >&2; exit 127; }
	$$(AIDGE) compile --out=$(AIDGE_OUT) --name=$(1) $(call aidge_words,$(3)) --depfile=$(4).read.d --stamp=$$@ -- $(2)
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

# aidge_prove(program,linked,images): proves the memory use, or removes program and images and fails. The objects are those of models
# among what is linked, wherever the rule of the makefile puts them, or else those beside the C. AIDGE_CHECK_OPTIONS: those of
# `aidge-build check` (--region=..., --quiet=...), for programs whose models name no board.
aidge_linked = $(or $(filter $(AIDGE_OBJECTS) $(foreach name,$(notdir $(AIDGE_OBJECTS)),$(name) %/$(name)),$(1)),$(wildcard $(AIDGE_OBJECTS)))
aidge_prove = $(AIDGE) check $(call aidge_words,$(sort $(AIDGE_BOARD)) $(AIDGE_CHECK_OPTIONS)) $(addprefix --plan=,$(AIDGE_PLANS)) $(addprefix --objects=,$(call aidge_linked,$(2))) --out=$(1).check.json -- $(1)$(aidge_note) || { rm -f $(1) $(3); exit 1; }
aidge_note = $(if $(filter -O0,$(lastword $(filter -O%,$(AIDGE_COMPILE) $(CFLAGS)))),$(if $(filter --board=host,$(AIDGE_BOARD)),, && echo "$(1): models are compiled with -O0$(AIDGE_UNOPTIMIZED)"))
AIDGE_UNOPTIMIZED := , which costs instructions and several times the stack: append -O2 or -Os to CFLAGS
aidge_images = $(sort $(foreach ending,.bin .hex .srec .s19 .uf2 .dfu,$(1)$(ending) $(basename $(1))$(ending)))

# The last line of the rule that links. Make expands a rule's lines before it runs the first one: a mark is there from before the link
# to the proof. What a killed build left under a mark is removed by the next one, and not taken for done.
AIDGE_CHECK = $(file >$(call aidge_mark,$@).unchecked,$@)$(call aidge_prove,$@,$^,$(call aidge_images,$@)) && mv $(call aidge_mark,$@).unchecked $(call aidge_mark,$@).checked
aidge_mark = $(AIDGE_OUT)/$(subst /,+,$(1))
# aidge_killed(folder): not in a make that such a rule starts, whose folder is the same.
aidge_killed = $(if $(filter $(abspath $(1)),$(AIDGE_RUNNING)),,$(foreach mark,$(wildcard $(1)/*.unchecked),$(shell rm -f $(file <$(mark)) $(mark)))$(eval export AIDGE_RUNNING += $(abspath $(1))))
AIDGE_CLEAN = $(foreach mark,$(wildcard $(AIDGE_OUT)/*.checked),$(mark) $(file <$(mark)).check.json)

# aidge_check(program,objects,images): a target of its own, program.check.json, for a program that another file's rule links. `objects`
# are all that are linked, so that those of models are compared; `images` are made from the program: they wait for the proof, and a
# program that fails takes them along (without the argument: those that are called as the program is, .bin, .hex, ...).
define aidge_check
$(foreach name,$(1) $(3),$(call aidge_name,the program or image,$(name)))
AIDGE_GOAL := $$(.DEFAULT_GOAL)
AIDGE_CHECKS += $(1).check.json
AIDGE_CLEAN += $(1).check.json
$(1).check.json: $(1) $(AIDGE_PLANS)
	$$(call aidge_prove,$(1),$(2),$(or $(3),$(call aidge_images,$(1))))
	@touch $$@
$(or $(3),$(call aidge_images,$(1))): | $(1).check.json
.DEFAULT_GOAL := $$(AIDGE_GOAL)
endef
