# SPDX-License-Identifier: MIT
# cmake -P check.cmake -- <name> <compiler> <file of words> <folder of the CMake package>: runs the check of <name>.elf; a program
# that fails is removed, and so are the images that were made from it.
file(STRINGS "${CMAKE_ARGV6}" words)
if(NOT words MATCHES "--plan=")
  return() # no models
endif()
set(ENV{AIDGE_FRONT_END} words) # zephyr_aidge_check takes those of the command line
set(elf "${CMAKE_ARGV4}.elf")
execute_process(COMMAND "${CMAKE_COMMAND}" -P "${CMAKE_ARGV7}/check_memory.cmake" -- "${elf}" "${CMAKE_ARGV5}" ${words} -- "${elf}"
                RESULT_VARIABLE status)
if(NOT status STREQUAL "0")
  foreach(ending IN ITEMS bin hex s19 uf2 exe strip)
    file(REMOVE "${CMAKE_ARGV4}.${ending}")
  endforeach()
  message(FATAL_ERROR "${elf} is not what its models promise, see above")
endif()
