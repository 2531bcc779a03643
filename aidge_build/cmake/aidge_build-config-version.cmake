# SPDX-License-Identifier: MIT
# The version is that of the Python package; until 1.0 only the same minor version counts as compatible.
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../version.py" line REGEX "^VERSION *=")
string(REGEX MATCH "[0-9]+\\.[0-9]+(\\.[0-9]+)?" PACKAGE_VERSION "${line}")
string(REGEX MATCH "^[0-9]+\\.[0-9]+" have "${PACKAGE_VERSION}")
string(REGEX MATCH "^[0-9]+\\.[0-9]+" want "${PACKAGE_FIND_VERSION}.0")
if(want STREQUAL have AND NOT PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_VERSION VERSION_EQUAL PACKAGE_FIND_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
