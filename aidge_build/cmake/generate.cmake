# SPDX-License-Identifier: MIT
# cmake -P generate.cmake <file>: runs the command whose words are the lines of a file.
#
# CMake's Make generator deletes all outputs of a rule whose command line changed, and then every file that includes the header is
# compiled again. So the rule stays the same; the file is its prerequisite.
file(READ "${CMAKE_ARGV3}" command)
string(REPLACE ";" "\\;" command "${command}")
string(STRIP "${command}" command)
string(REPLACE "\n" ";" command "${command}")
if(DEFINED ENV{VERBOSE})
  list(JOIN command " " line)
  message(STATUS "${line}")
endif()
execute_process(COMMAND ${command} RESULT_VARIABLE status)
if(NOT status STREQUAL "0")
  message(FATAL_ERROR "aidge-build failed (${status})")
endif()
