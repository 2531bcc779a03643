# SPDX-License-Identifier: MIT
# cmake -P check_memory.cmake -- <program> <compiler> <command>...: runs the check; a program that fails is removed, so that the
# next build links it again instead of taking it for done.
set(command "")
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(index RANGE 6 ${last})
  string(REPLACE ";" "\\;" word "${CMAKE_ARGV${index}}")
  list(APPEND command "${word}")
endforeach()
# The check reads the program with the toolchain's own objdump.
get_filename_component(folder "${CMAKE_ARGV5}" DIRECTORY)
if(CMAKE_HOST_WIN32)
  string(APPEND folder ";$ENV{PATH}")
  set(ENV{PATH} "${folder}")
else()
  set(ENV{PATH} "$ENV{PATH}:${folder}")
endif()
if(NOT DEFINED ENV{AIDGE_FRONT_END})
  set(ENV{AIDGE_FRONT_END} CMake) # of hints
endif()
execute_process(COMMAND ${command} RESULT_VARIABLE status)
if(NOT status STREQUAL "0")
  file(REMOVE "${CMAKE_ARGV4}")
  message(FATAL_ERROR "The memory check of ${CMAKE_ARGV4} failed")
endif()
