# SPDX-License-Identifier: MIT
# cmake -P generate.cmake <file.options> <output> <comment>: runs the command whose words are the lines of a file, if <output> still
# needs it.
#
# CMake's Make generator deletes all outputs of a rule whose command line changed, and then every file that includes the header is
# compiled again. So the rule stays the same; the file is its prerequisite.
#
# Every output has a rule of its own. A make with several jobs starts them all at once: the first one generates, the others wait for
# it and then find their output there (a stamp: newer than the model, the options, and everything in its depfile).
cmake_policy(VERSION 3.20)
set(options "${CMAKE_ARGV3}")
set(output "${CMAKE_ARGV4}")
string(REGEX REPLACE "options$" "" base "${options}")
file(READ "${options}" command)
string(REPLACE ";" "\\;" command "${command}")
string(STRIP "${command}" command)
string(REPLACE "\n" ";" command "${command}")

file(LOCK "${base}lock" GUARD PROCESS RESULT_VARIABLE busy TIMEOUT 0)
if(busy)
  file(LOCK "${base}lock" GUARD PROCESS RESULT_VARIABLE unlockable)  # a file system without locks: each for itself
  if(NOT unlockable AND NOT EXISTS "${output}")
    message(FATAL_ERROR "aidge-build failed, see above")
  endif()
endif()
set(needed TRUE)
if(NOT output STREQUAL "${base}stamp")
  if(EXISTS "${output}")
    set(needed FALSE)
  endif()
elseif(EXISTS "${output}" AND EXISTS "${base}d")
  # Paths that a list of CMake cannot hold look as if they were gone; then the generator runs, which is never wrong.
  file(READ "${base}d" read)
  string(REGEX REPLACE "^[^\n]*: " "" read "${read}")
  string(REPLACE "\\ " "\t" read "${read}")
  string(REGEX REPLACE "[ \\\n]+" ";" read "${read}")
  string(REPLACE "\t" " " read "${read}")
  list(FILTER read EXCLUDE REGEX "^$")
  list(GET command -1 model)
  set(needed FALSE)
  foreach(file IN LISTS model options read)
    if("${file}" IS_NEWER_THAN "${output}")
      set(needed TRUE)
      break()
    endif()
  endforeach()
endif()
if(NOT needed)
  return()
endif()

execute_process(COMMAND "${CMAKE_COMMAND}" -E echo "${CMAKE_ARGV5}")
if(DEFINED ENV{VERBOSE})
  list(JOIN command " " line)
  message(STATUS "${line}")
endif()
set(ENV{AIDGE_FRONT_END} CMake) # of hints
execute_process(COMMAND ${command} RESULT_VARIABLE status)
if(NOT status STREQUAL "0")
  message(FATAL_ERROR "aidge-build failed (${status})")
endif()
