# SPDX-License-Identifier: MIT
# CMake package: a neural-network model as a source file of the firmware (Ninja and Make generators, CMake 3.20 or newer).
#
#   find_package(aidge_build CONFIG REQUIRED)           # "-Daidge_build_DIR=$(aidge-build doctor --cmake-dir)", or CMAKE_PREFIX_PATH;
#                                                       # or add_subdirectory(<checkout>/aidge_build/cmake aidge_build)
#   aidge_add_model(kws MODEL models/kws.onnx BOARD stm32f7)
#   target_link_libraries(app PRIVATE kws)
#   aidge_check_memory(app kws)                         # the link fails if the ELF breaks the plan
#
# The flags are those of your own project and toolchain file: nothing here sets -mcpu. The generator is the command
# `aidge-build`; AIDGE_EXECUTABLE (a path, or a list of arguments) names it where it is not found.

include_guard(GLOBAL)  # a project and its subdirectories may each find the package
cmake_policy(PUSH)
cmake_policy(VERSION 3.20)

# What lies beside this package comes first: a wheel's scripts, then a checkout's .venv.
if(NOT AIDGE_EXECUTABLE)
  find_program(AIDGE_EXECUTABLE aidge-build DOC "The command aidge-build of the Python package aidge_build"
               HINTS "${CMAKE_CURRENT_LIST_DIR}/../../../../../bin" "${CMAKE_CURRENT_LIST_DIR}/../../../../Scripts"
                     "${CMAKE_CURRENT_LIST_DIR}/../../.venv/bin"
               NO_CMAKE_FIND_ROOT_PATH)
endif()

include("${CMAKE_CURRENT_LIST_DIR}/options.cmake")

# aidge_add_model(<target> MODEL <file.onnx or .tflite> [NAME <prefix>] [BOARD <board> | CPU <core> [FPU <fpu>]] [LIBS <library>...] ...)
#
# A static library <target> with the functions of the model; who links it finds <name>.h. The prefix of all files and symbols
# is NAME, or else the name of the target. Without BOARD and CPU the flags of the project decide. docs/options.md lists all options.
function(aidge_add_model target)
  _aidge_options_of_model()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "${single}" "${lists}")
  if(arg_UNPARSED_ARGUMENTS OR arg_KEYWORDS_MISSING_VALUES)
    string(REPLACE ";" " " wrong "${arg_UNPARSED_ARGUMENTS} ${arg_KEYWORDS_MISSING_VALUES}")
    string(STRIP "${wrong}" wrong)
    string(REPLACE ";" ", " known "${single};${lists}")
    message(FATAL_ERROR "aidge_add_model(${target}): unknown or without a value: ${wrong}. Options: ${known}")
  endif()
  if(NOT arg_MODEL)
    message(FATAL_ERROR "aidge_add_model(${target}): MODEL <file> is missing")
  endif()
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT "C" IN_LIST languages)
    message(FATAL_ERROR "aidge_add_model(${target}): the generated code is C. Write project(... LANGUAGES C CXX)")
  endif()
  _aidge_require_executable()

  set(name "${arg_NAME}")
  if(NOT name)
    set(name "${target}")
  endif()
  set(out "${arg_OUT}")
  if(NOT out)
    set(out "aidge/${target}")
  endif()
  get_filename_component(out "${out}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
  get_filename_component(model "${arg_MODEL}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
  _aidge_refuse_name(MODEL "${arg_MODEL}" TRUE)
  _aidge_refuse_name(OUT "${out}" TRUE)
  get_property(written GLOBAL PROPERTY AIDGE_WRITTEN)
  string(TOLOWER "${out}/${name}" lower)  # there are disks on which A.h and a.h are one file
  if("${lower}" IN_LIST written)
    message(FATAL_ERROR "aidge_add_model(${target}): another target generates ${out}/${name}.h, perhaps in other upper case. Give one of "
                        "them another OUT or NAME")
  endif()
  set_property(GLOBAL APPEND PROPERTY AIDGE_WRITTEN "${lower}")

  _aidge_words(options "${rows}")
  set(board_path ${options})
  list(FILTER board_path INCLUDE REGEX "^--board-path=")

  _aidge_where(where "${target}" "${arg_BOARD}" "${arg_CPU}" "${arg_FPU}" "${board_path}")
  list(PREPEND options "--name=${name}" ${where})

  set(files "${out}/${name}.c" "${out}/${name}_weights.c" "${out}/${name}.h" "${out}/${name}.plan.json")
  if(arg_WEIGHTS STREQUAL "incbin")
    list(APPEND files "${out}/${name}_weights.bin")
    set_source_files_properties("${out}/${name}_weights.c" PROPERTIES OBJECT_DEPENDS "${out}/${name}_weights.bin")
  endif()
  _aidge_generate("${target}" "${out}" "${name}" "${model};${options_files}" "${options}" "${files}")

  add_library(${target} STATIC ${files} "${out}/${name}.stamp")
  set(installed "${CMAKE_INSTALL_INCLUDEDIR}")
  if(NOT installed)
    set(installed "include")
  endif()
  target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${out}>" "$<INSTALL_INTERFACE:${installed}>")
  if("c_std_99" IN_LIST CMAKE_C_COMPILE_FEATURES)
    target_compile_features(${target} PRIVATE c_std_99)  # in a project of C90, too
  endif()
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C UNITY_BUILD OFF PUBLIC_HEADER "${out}/${name}.h" AIDGE_PLAN "${out}/${name}.plan.json" AIDGE_WHERE "${where};${board_path}"
                        ADDITIONAL_CLEAN_FILES "${out}/${name}.d;${out}/${name}.lock" AIDGE_MODEL "${model}" AIDGE_STAMP "${out}/${name}.stamp" AIDGE_OPTIONS "${options}")
  if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
    target_link_libraries(${target} PUBLIC m)
  endif()
endfunction()

# The options of a call as words of the command line, and in <result>_files the files that they name. `rows` are those of
# options.cmake, the values stand in arg_<KEYWORD>.
function(_aidge_words result rows)
  set(words "")
  set(files "")
  foreach(row IN LISTS rows)
    string(REPLACE ":" ";" row "${row}")
    list(GET row 0 keyword)
    list(GET row 1 kind)
    list(GET row 2 option)
    set(values ${arg_${keyword}})
    if(kind STREQUAL "list")
      list(JOIN values "," values)
    elseif(kind STREQUAL "file")
      _aidge_refuse_name("${keyword}" "${values}" TRUE)
    endif()
    foreach(value IN LISTS values)
      if(kind MATCHES "^(folders|checkouts)$")
        _aidge_refuse_name("${keyword}" "${value}" TRUE)
      else()
        _aidge_refuse_name("${keyword}" "${value}" FALSE)
      endif()
      if(kind STREQUAL "pairs" AND NOT value MATCHES "=")
        message(FATAL_ERROR "${keyword} '${value}' is no <name>=<value>; a semicolon separates values, so a name cannot hold one")
      endif()
      if(kind STREQUAL "checkouts" AND value MATCHES "^([^=]+)=(.+)$")
        get_filename_component(folder "${CMAKE_MATCH_2}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
        set(value "${CMAKE_MATCH_1}=${folder}")
      elseif(kind MATCHES "^(file|folders)$")
        get_filename_component(value "${value}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
      endif()
      if(kind STREQUAL "file")
        list(APPEND files "${value}")
      endif()
      list(APPEND words "${option}=${value}")
    endforeach()
  endforeach()
  set(${result} "${words}" PARENT_SCOPE)
  set(${result}_files "${files}" PARENT_SCOPE)
endfunction()

# A value that a list of CMake, or a rule of the build tool, cannot carry: no other word may reach a command in its place.
function(_aidge_refuse_name keyword value is_path)
  string(REGEX REPLACE "\\[[^][]*\\]" "" rest "${value}")
  if(rest MATCHES "[][\r\n]" OR (is_path AND rest MATCHES "[;|\\\t]|.:| $"))
    message(FATAL_ERROR "${keyword} '${value}' holds what CMake or its build tool would read (a line break or a bracket without its other; in a "
                        "path also ; | : a backslash, a tab, a blank at its end): rename it")
  endif()
endfunction()

# aidge_check_memory(<executable> <model target>... [BOARD <board> | REGIONS <name=origin,length,kind>...] [MAX_STACK <bytes>] ...):
# proves after the link that the program uses the memory that the plans promise; if it does not, the program is removed and the
# build fails. Writes <executable>.check.json. Without BOARD and REGIONS the board is that of the first model.
function(aidge_check_memory executable)
  _aidge_options_of_check()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "${single}" "${lists}")
  _aidge_words(arguments "${rows}")
  set(plans "")
  set(objects "")
  foreach(model IN LISTS arg_UNPARSED_ARGUMENTS)
    if(NOT TARGET ${model})
      message(FATAL_ERROR "aidge_check_memory(${executable}): there is no target '${model}'; name those of aidge_add_model")
    endif()
    get_target_property(plan ${model} AIDGE_PLAN)
    get_target_property(where ${model} AIDGE_WHERE)
    if(NOT plan)
      message(FATAL_ERROR "aidge_check_memory(${executable}): '${model}' was not made by aidge_add_model")
    endif()
    if(NOT plans AND NOT arg_BOARD AND NOT arg_REGIONS AND NOT arg_MAP)
      list(FILTER where INCLUDE REGEX "^--board")
      list(PREPEND arguments ${where})
    endif()
    list(APPEND plans "--plan=${plan}")
    list(APPEND objects "--objects=$<JOIN:$<TARGET_OBJECTS:${model}>,$<SEMICOLON>--objects=>")
    set_property(TARGET ${executable} APPEND PROPERTY LINK_DEPENDS "${plan}")
  endforeach()
  if(NOT plans)
    message(FATAL_ERROR "aidge_check_memory(${executable}): name the models: aidge_check_memory(${executable} kws)")
  endif()
  list(APPEND arguments ${plans})
  # A mark of the proof is a product of the link: without it Ninja links again. So a build that was killed before the end of the check
  # leaves nothing that passes for done.
  set(mark "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${executable}.checked")
  get_property(is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  if(is_multi_config)
    string(APPEND mark "-$<CONFIG>")
  endif()
  add_custom_command(TARGET ${executable} PRE_LINK COMMAND "${CMAKE_COMMAND}" -E rm -f "${mark}" VERBATIM)
  add_custom_command(TARGET ${executable} POST_BUILD VERBATIM COMMAND_EXPAND_LISTS BYPRODUCTS "${mark}"
    COMMAND "${CMAKE_COMMAND}" -P "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/check_memory.cmake" -- "$<TARGET_FILE:${executable}>"
            "${CMAKE_C_COMPILER}" ${AIDGE_EXECUTABLE} check "--out=$<TARGET_FILE:${executable}>.check.json" ${arguments}
            ${objects} -- "$<TARGET_FILE:${executable}>"
    COMMAND "${CMAKE_COMMAND}" -E touch "${mark}")
  if(CMAKE_GENERATOR MATCHES "Makefiles" AND NOT TARGET ${executable}_unchecked)
    # Make knows no by-products: a program without its mark is removed before make looks whether it is up to date.
    file(GENERATE OUTPUT "${mark}.cmake" CONTENT "if(NOT EXISTS [==[${mark}]==])
  file(REMOVE [==[$<TARGET_FILE:${executable}>]==])
endif()
")
    add_custom_target(${executable}_unchecked COMMAND "${CMAKE_COMMAND}" -P "${mark}.cmake" VERBATIM)
    add_dependencies(${executable} ${executable}_unchecked)
  endif()
  set_property(TARGET ${executable} APPEND PROPERTY ADDITIONAL_CLEAN_FILES "$<TARGET_FILE:${executable}>.check.json")
  if(CMAKE_CROSSCOMPILING AND CMAKE_C_COMPILER_ID MATCHES "^(GNU|Clang)$")
    list(GET arg_UNPARSED_ARGUMENTS 0 model)
    cmake_language(EVAL CODE "cmake_language(DEFER CALL _aidge_note_optimization ${executable} ${model})") # when the flags are known
  endif()
  # Where nobody names the memories, the check reads them from the linker's map.
  set(map OFF)
  if(CMAKE_CROSSCOMPILING AND CMAKE_C_COMPILER_ID MATCHES "^(GNU|Clang)$" AND NOT "${arguments}" MATCHES "--(board|region|map)=")
    set(map ON)
    set_property(TARGET ${executable} APPEND PROPERTY ADDITIONAL_CLEAN_FILES "$<TARGET_FILE:${executable}>.map")
  endif()
  # A link that fails for want of memory, or for a wrong header of a model, is explained. The launcher is CMake itself: nothing else
  # starts where the link passes.
  get_target_property(launcher ${executable} RULE_LAUNCH_LINK)
  if(NOT launcher)
    set(launcher "")
    if("${CMAKE_CURRENT_FUNCTION_LIST_DIR};${AIDGE_EXECUTABLE}" MATCHES "[`$\"]")
      message(FATAL_ERROR "aidge_check_memory(${executable}): a shell would read the path of aidge_build (${AIDGE_EXECUTABLE}): install it "
                          "in a folder whose name has no backquote, quote or dollar")
    endif()
    foreach(word IN ITEMS "${CMAKE_COMMAND}" -P "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/link.cmake" -- ${map} ${AIDGE_EXECUTABLE} --)
      string(APPEND launcher "\"${word}\" ")
    endforeach()
    set_property(TARGET ${executable} PROPERTY RULE_LAUNCH_LINK "${launcher}")
  endif()
endfunction()

# One line behind the link where the flags of a model leave out what a compiler can do for a microcontroller; see docs/builds.md.
function(_aidge_note_optimization executable model)
  get_target_property(options ${model} COMPILE_OPTIONS)
  if("${options}" MATCHES "\\$<[^;]*-O")
    return() # a generator expression decides
  endif()
  set(configurations "${CMAKE_BUILD_TYPE}")
  get_property(is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  if(is_multi_config)
    set(configurations ${CMAKE_CONFIGURATION_TYPES})
  endif()
  foreach(configuration IN LISTS configurations ITEMS "")
    string(TOUPPER "${configuration}" upper)
    string(REGEX MATCHALL "[ ;]-O[A-Za-z0-9]*" levels " ${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${upper}} ;${options}")
    string(REGEX REPLACE ".*-O" "" level "${levels}")
    if((configuration OR NOT configurations) AND level MATCHES "^0?$" AND NOT levels MATCHES "-O$")
      add_custom_command(TARGET ${executable} POST_BUILD VERBATIM COMMAND "${CMAKE_COMMAND}" -E
        "$<IF:$<CONFIG:${configuration}>,echo,true>" "${executable}: models are compiled with -O0 or without any -O, which costs instructions\
 and several times the stack: target_compile_options(${model} PRIVATE -O2), or -Os")
    endif()
  endforeach()
endfunction()

# aidge_accuracy(<model target> LABELS <test.npz> [FLOAT <float.onnx>] [BOARD <board>] [MIN_TOP1 <share>] ...): measures the model on
# labelled samples, float, quantized, and on the emulated board (BOARD, or else the model's). The target <model target>_accuracy, a
# part of `all`, writes <model target>.accuracy.json beside the generated files (or OUT) and fails where a limit is broken.
function(aidge_accuracy model_target)
  _aidge_options_of_accuracy()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "${single}" "${lists}")
  if(arg_UNPARSED_ARGUMENTS OR arg_KEYWORDS_MISSING_VALUES)
    string(REPLACE ";" " " wrong "${arg_UNPARSED_ARGUMENTS} ${arg_KEYWORDS_MISSING_VALUES}")
    string(STRIP "${wrong}" wrong)
    string(REPLACE ";" ", " known "${single}")
    message(FATAL_ERROR "aidge_accuracy(${model_target}): unknown or without a value: ${wrong}. Options: ${known}")
  endif()
  if(NOT arg_LABELS)
    message(FATAL_ERROR "aidge_accuracy(${model_target}): LABELS <test.npz> is missing")
  endif()
  set(model "")
  if(TARGET ${model_target})
    get_target_property(model ${model_target} AIDGE_MODEL)
  endif()
  if(NOT model)
    message(FATAL_ERROR "aidge_accuracy(${model_target}): '${model_target}' was not made by aidge_add_model")
  endif()
  get_target_property(stamp ${model_target} AIDGE_STAMP)
  get_target_property(options ${model_target} AIDGE_OPTIONS)
  list(FILTER options EXCLUDE REGEX "^--name=")
  if(arg_BOARD)
    list(FILTER options EXCLUDE REGEX "^--(board|cpu|fpu)=")
    list(APPEND options "--board=${arg_BOARD}")
  endif()
  _aidge_words(words "${rows}")
  set(read "${model}" "${stamp}")
  foreach(keyword IN ITEMS LABELS FLOAT CALIBRATION)
    if(arg_${keyword})
      get_filename_component(file "${arg_${keyword}}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
      list(APPEND read "${file}")
    endif()
  endforeach()
  get_filename_component(out "${stamp}" DIRECTORY)
  if(arg_OUT)
    get_filename_component(out "${arg_OUT}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
  endif()
  set(result "${out}/${model_target}.accuracy.json")
  add_custom_command(OUTPUT "${result}"
                     COMMAND "${CMAKE_COMMAND}" -E env AIDGE_FRONT_END=CMake ${AIDGE_EXECUTABLE} accuracy "--out=${result}" ${options}
                             ${words} -- "${model}"
                     DEPENDS ${read} COMMENT "ACCURACY  ${model_target}" VERBATIM)
  add_custom_target(${model_target}_accuracy ALL DEPENDS "${result}")
  add_dependencies(${model_target}_accuracy ${model_target})
endfunction()

# The step that generates. A stamp is its output, always touched; the files are written only where their content differs, so
# that a change of weights compiles one file. The depfile names what was read: model, kernels, board, and the generator itself.
function(_aidge_generate target out name sources options files)
  list(GET sources 0 model)
  set(stamp "${out}/${name}.stamp")
  set(command ${AIDGE_EXECUTABLE} compile "--out=${out}" ${options} "--depfile=${out}/${name}.d" "--stamp=${stamp}" -- "${model}")
  string(REPLACE ";" "\n" lines "${command}")
  file(GENERATE OUTPUT "${out}/${name}.options" CONTENT "${lines}\n")
  file(RELATIVE_PATH shown "${CMAKE_SOURCE_DIR}" "${model}")
  set(comment "AIDGE  ${shown} -> ${name}.c")
  if(CMAKE_GENERATOR MATCHES "Makefiles")
    set(script "${CMAKE_COMMAND}" -P "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/generate.cmake" "${out}/${name}.options")
    # Make knows no by-products: a rule without prerequisites runs where a file was deleted, and only then.
    foreach(file IN LISTS files)
      add_custom_command(OUTPUT "${file}" COMMAND ${script} "${file}" "${comment}" COMMENT "" VERBATIM)
    endforeach()
    set(command ${script} "${stamp}" "${comment}")
    set(comment "")
    set(byproducts "")
    # CMake's Make generator never forgets what stood in a depfile (seen in 3.25): without this, a file that is gone from the
    # kernels, or from a newer aidge_build, would make the step run in every build.
    set(forget COMMAND "${CMAKE_COMMAND}" -E rm -f
               "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/compiler_depend.internal")
  else()
    list(PREPEND command "${CMAKE_COMMAND}" -E env AIDGE_FRONT_END=CMake) # of hints
    set(byproducts BYPRODUCTS ${files})
    set(forget "")
  endif()
  add_custom_command(OUTPUT "${stamp}" ${byproducts} COMMAND ${command} ${forget} DEPENDS ${sources} "${out}/${name}.options"
                     DEPFILE "${out}/${name}.d" COMMENT "${comment}" VERBATIM)
  set_source_files_properties(${files} "${stamp}" PROPERTIES GENERATED TRUE)
endfunction()

# `--board=`, or `--cpu=` and `--fpu=`, as the caller says, or else as the flags of the project say.
function(_aidge_where result target board cpu fpu board_path)
  _aidge_machine_flags("${target}")
  _aidge_foreign_machine()
  if(board)
    _aidge_refuse_other_cpu("${target}" "${board}" "${flag_cpu}" "${board_path}")
    set(where "--board=${board}")
    if(flag_float-abi STREQUAL "soft")
      list(APPEND where "--fpu=none") # whatever the board has: kernels must not wait for an FPU
    endif()
  elseif(NOT cpu AND foreign_machine)
    set(where "--cpu=generic")
  elseif(NOT cpu AND NOT flag_cpu)
    # A toolchain file may forget CMAKE_SYSTEM_NAME: the compiler's name says it, too.
    get_filename_component(compiler "${CMAKE_C_COMPILER}" NAME)
    if(CMAKE_CROSSCOMPILING OR CMAKE_C_COMPILER_TARGET OR compiler MATCHES "-(elf|eabi|eabihf)-")
      message(FATAL_ERROR "aidge_add_model(${target}): the flags of this project (its compiler is ${compiler}) name no -mcpu. Name the "
                          "target: aidge_add_model(... BOARD stm32f7), or CPU cortex-m4 FPU auto where the flags come from a target "
                          "that is linked")
    endif()
    set(where "--board=host")
  elseif(cpu)
    set(where "--cpu=${cpu}")
  else()
    set(where "--cpu=${flag_cpu}")
    if(flag_float-abi MATCHES "^(hard|softfp)$" AND flag_fpu)
      set(fpu "${flag_fpu}")
    elseif(flag_float-abi MATCHES "^(hard|softfp)$")
      set(fpu "auto")
    endif()
  endif()
  if(fpu AND NOT board)
    list(APPEND where "--fpu=${fpu}")
  endif()
  if(flag_unaligned STREQUAL "-mno-unaligned-access")
    list(APPEND where "--unaligned=off") # an option of the call comes later, and counts
  endif()
  set(${result} "${where}" PARENT_SCOPE)
endfunction()

# foreign_machine: the machine that the compiler makes code for (riscv64), where its name or target says another one than Arm's and
# this one: there are no kernels for it.
function(_aidge_foreign_machine)
  get_filename_component(compiler "${CMAKE_C_COMPILER}" NAME)
  set(machine "")
  if("${CMAKE_C_COMPILER_TARGET}" MATCHES "^([^-]+)")
    set(machine "${CMAKE_MATCH_1}")
  elseif("${CMAKE_C_FLAGS}" MATCHES "--?target[= ]([^ -]+)")
    set(machine "${CMAKE_MATCH_1}")
  elseif("${compiler}" MATCHES "^([a-z][A-Za-z0-9_]*)-([A-Za-z0-9_.]+-)*(gcc|cc|clang)(-[0-9.]+)?(\\.exe)?$")
    set(machine "${CMAKE_MATCH_1}")
  endif()
  if(machine MATCHES "^(arm|thumb)" OR machine STREQUAL "${CMAKE_HOST_SYSTEM_PROCESSOR}")
    set(machine "")
  endif()
  set(foreign_machine "${machine}" PARENT_SCOPE)
endfunction()

# flag_cpu, flag_fpu, flag_float-abi: the values of the -m flags of this folder's targets; flag_unaligned: the last flag that says
# whether words may lie at any address.
function(_aidge_machine_flags target)
  get_directory_property(directory_options COMPILE_OPTIONS)
  separate_arguments(flags NATIVE_COMMAND "${CMAKE_C_COMPILER_ARG1} ${CMAKE_C_FLAGS}")
  list(APPEND flags ${directory_options})
  set(said ${flags})
  list(FILTER said INCLUDE REGEX "^-m(no-)?unaligned-access$")
  list(POP_BACK said flag_unaligned)
  set(flag_unaligned "${flag_unaligned}" PARENT_SCOPE)
  list(TRANSFORM flags REPLACE "^-mhard-float$" "-mfloat-abi=hard")
  foreach(flag IN ITEMS cpu fpu float-abi)
    set(values ${flags})
    list(FILTER values INCLUDE REGEX "^-m${flag}=")
    list(REMOVE_DUPLICATES values)
    list(LENGTH values count)
    if(count GREATER 1)
      string(REPLACE ";" ", " values "${values}")
      message(FATAL_ERROR "aidge_add_model(${target}): the flags contradict each other (${values}). Make them equal, or name "
                          "the target: aidge_add_model(... BOARD stm32f7)")
    endif()
    string(REPLACE "-m${flag}=" "" value "${values}")
    set(flag_${flag} "${value}" PARENT_SCOPE)
  endforeach()
endfunction()

# A board whose core is not the one that the flags compile for would give a program of two kinds.
function(_aidge_refuse_other_cpu target board flag_cpu board_path)
  if(NOT flag_cpu)
    return()
  endif()
  execute_process(COMMAND ${AIDGE_EXECUTABLE} boards ${board_path} --json -- "${board}" RESULT_VARIABLE status OUTPUT_VARIABLE answer
                  ERROR_VARIABLE complaint ERROR_STRIP_TRAILING_WHITESPACE)
  if(NOT status STREQUAL "0")
    message(FATAL_ERROR "aidge_add_model(${target}): ${complaint}")
  endif()
  string(JSON board_cpu GET "${answer}" boards 0 cpu)
  if(NOT board_cpu STREQUAL flag_cpu)
    message(FATAL_ERROR "aidge_add_model(${target}): board '${board}' has a ${board_cpu}, but the flags of this project say "
                        "-mcpu=${flag_cpu}. Correct one of them, or leave out BOARD")
  endif()
endfunction()

# Once in a configuration: does the command answer?
function(_aidge_require_executable)
  get_property(answers GLOBAL PROPERTY AIDGE_EXECUTABLE_ANSWERS)
  if(answers)
    return()
  endif()
  set(status "not found")
  if(AIDGE_EXECUTABLE)
    execute_process(COMMAND ${AIDGE_EXECUTABLE} --version RESULT_VARIABLE status OUTPUT_VARIABLE version ERROR_VARIABLE complaint
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
  endif()
  if(NOT status STREQUAL "0")
    message(FATAL_ERROR "The command aidge-build does not answer (AIDGE_EXECUTABLE is '${AIDGE_EXECUTABLE}': ${status} ${complaint}). "
                        "Install the Python package (pip install .), or give -DAIDGE_EXECUTABLE=<path>")
  endif()
  message(STATUS "Found ${version}: ${AIDGE_EXECUTABLE}")
  set_property(GLOBAL PROPERTY AIDGE_EXECUTABLE_ANSWERS TRUE)
endfunction()

cmake_policy(POP)
