# SPDX-License-Identifier: MIT
# The version is that of the Python package. A later version is compatible up to the next major one (docs/stability.md).
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../../base/version.py" line REGEX "^VERSION *=")
string(REGEX MATCH "[0-9]+\\.[0-9]+(\\.[0-9]+)?" PACKAGE_VERSION "${line}")
string(REGEX MATCH "^[0-9]+" have "${PACKAGE_VERSION}")
string(REGEX MATCH "^[0-9]+" want "${PACKAGE_FIND_VERSION}")
if(want STREQUAL have AND NOT PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_VERSION VERSION_EQUAL PACKAGE_FIND_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
