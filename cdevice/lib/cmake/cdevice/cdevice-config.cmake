# find_package(cdevice) gives the target cdevice::cdevice.
get_filename_component(_cdevice_lib "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
get_filename_component(_cdevice_package "${_cdevice_lib}/.." ABSOLUTE)
if(NOT EXISTS "${_cdevice_lib}/libcdevice.so")
  set(cdevice_FOUND FALSE)
  set(cdevice_NOT_FOUND_MESSAGE "this installation of cdevice has no libcdevice.so: it was built with CDEVICE_EMBED=0, or its Python has no shared libpython")
  return()
endif()
# The library lies in a Python environment, where no loader looks, and that may lie inside the project, where
# CMAKE_INSTALL_RPATH_USE_LINK_PATH leaves it out: an option of the linker stays in an installed program.
if(NOT TARGET cdevice::cdevice)
  add_library(cdevice::cdevice SHARED IMPORTED)
  set_target_properties(cdevice::cdevice PROPERTIES
    IMPORTED_LOCATION "${_cdevice_lib}/libcdevice.so"
    IMPORTED_SONAME "libcdevice.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_cdevice_package}/include"
    INTERFACE_LINK_OPTIONS "LINKER:-rpath,${_cdevice_lib}")
endif()
set(cdevice_FOUND TRUE)
set(cdevice_VERSION 0.2.0)
