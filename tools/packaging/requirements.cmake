# What Refrain is built with, found on this machine or named with -D, and the functions of CMakeLists.txt (which
# tools/packaging/cmake.py writes; this file is written by hand). docs/guide/install.md has the variables.

if(CMAKE_SOURCE_DIR STREQUAL CMAKE_BINARY_DIR)
  message(FATAL_ERROR "Refrain is built in a folder of its own: cmake -S . -B build")
endif()
include(CheckLinkerFlag)

set(OUT ${CMAKE_BINARY_DIR})
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# As Bazel does, where there is gold.
check_linker_flag(CXX -fuse-ld=gold REFRAIN_GOLD)
if(REFRAIN_GOLD)
  add_link_options(-fuse-ld=gold)
endif()

set(refrain_missing "")

# A header that is needed, and the package of Debian that has it.
function(refrain_header header package)
  string(MAKE_C_IDENTIFIER "REFRAIN_FOLDER_OF_${header}" found)
  find_path(${found} ${header})
  mark_as_advanced(${found})
  if(${found})
    include_directories(SYSTEM ${${found}})
  else()
    set(refrain_missing ${refrain_missing} "${header} (Debian: ${package})" PARENT_SCOPE)
  endif()
endfunction()

refrain_header(otf2/otf2.h libotf2-trace-dev)
refrain_header(elfutils/libdw.h libdw-dev)
refrain_header(pugixml.hpp libpugixml-dev)
refrain_header(zlib.h zlib1g-dev)
refrain_header(Zydis/Zydis.h libzydis-dev)
refrain_header(CLI/CLI.hpp libcli11-dev)
refrain_header(fmt/format.h libfmt-dev)
refrain_header(nlohmann/json.hpp nlohmann-json3-dev)

# The interface of LLVM's OpenMP runtime for tools, of any version. Copied: next to it lie headers of clang's that are
# not for other compilers.
set(cache $ENV{XDG_CACHE_HOME})
if(NOT cache)
  set(cache $ENV{HOME}/.cache)
endif()
set(folders "")
foreach(root "" ${cache}/refrain/packages)
  file(GLOB here ${root}/usr/lib/llvm-*/lib/clang/*/include)
  list(SORT here COMPARE NATURAL ORDER DESCENDING)
  list(APPEND folders ${here})
endforeach()
find_path(REFRAIN_OMPT_INCLUDE omp-tools.h PATHS ${folders} DOC "Folder of LLVM's omp-tools.h" NO_DEFAULT_PATH)
find_path(REFRAIN_OMPT_INCLUDE omp-tools.h)
if(REFRAIN_OMPT_INCLUDE)
  configure_file(${REFRAIN_OMPT_INCLUDE}/omp-tools.h ${OUT}/ompt/omp-tools.h COPYONLY)
else()
  list(APPEND refrain_missing "omp-tools.h (Debian: libomp-dev)")
endif()

# For the page of `refrain report`.
find_program(REFRAIN_ESBUILD esbuild)
if(NOT REFRAIN_ESBUILD)
  list(APPEND refrain_missing "esbuild (Debian: esbuild)")
endif()
find_path(REFRAIN_NODE_MODULES d3-scale/package.json PATHS /usr/share/nodejs DOC "Folder of the modules of d3")
if(NOT REFRAIN_NODE_MODULES)
  list(APPEND refrain_missing "modules of d3 (Debian: node-d3)")
endif()

# The Python of the machine, though another one may come first in PATH. Its headers and pybind11 are for the module alone.
if(NOT DEFINED Python3_EXECUTABLE AND EXISTS /usr/bin/python3)
  set(Python3_EXECUTABLE /usr/bin/python3 CACHE FILEPATH "Python that the module is for")
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter OPTIONAL_COMPONENTS Development.Module)
find_path(REFRAIN_PYBIND11_INCLUDE pybind11/pybind11.h DOC "Folder of pybind11")
set(REFRAIN_PYTHON OFF)
if(Python3_Development.Module_FOUND AND REFRAIN_PYBIND11_INCLUDE)
  set(REFRAIN_PYTHON ON)
  list(GET Python3_INCLUDE_DIRS 0 REFRAIN_PYTHON_INCLUDE)
  include_directories(SYSTEM ${REFRAIN_PYBIND11_INCLUDE})
endif()

# An MPI whose programs are traced, and where its mpi.h may be: needed at no other time, and no library of it.
function(refrain_mpi name folder)
  string(TOUPPER REFRAIN_${name}_INCLUDE found)
  find_path(${found} mpi.h PATHS ${folder} DOC "Folder of the mpi.h of ${name}; OFF: not built for it" NO_DEFAULT_PATH)
  message(STATUS "Refrain for ${name}: ${${found}}")
endfunction()

# Libraries that are linked; LIBRARY is then in REFRAIN_LIBRARY.
function(refrain_libraries)
  foreach(library ${ARGN})
    string(MAKE_C_IDENTIFIER "REFRAIN_${library}" found)
    # Of one that is linked statically the shared one, where there is no other.
    string(REGEX REPLACE "^lib(.*)[.]a$" "\\1" shared ${library})
    find_library(${found} NAMES ${library} ${shared})
    mark_as_advanced(${found})
    if(NOT ${found})
      list(APPEND refrain_missing "library ${library}")
    endif()
  endforeach()
  set(refrain_missing ${refrain_missing} PARENT_SCOPE)
endfunction()

# Whether pkg-config knows a package, as REFRAIN_HAS_PACKAGE, unless that says no.
function(refrain_package name)
  string(MAKE_C_IDENTIFIER "REFRAIN_HAS_${name}" variable)
  find_program(REFRAIN_PKG_CONFIG pkg-config)
  mark_as_advanced(REFRAIN_PKG_CONFIG)
  set(found OFF)
  if(REFRAIN_PKG_CONFIG AND (NOT DEFINED ${variable} OR ${variable}))
    execute_process(COMMAND ${REFRAIN_PKG_CONFIG} --exists ${name} RESULT_VARIABLE result)
    if(result EQUAL 0)
      set(found ON)
    endif()
  endif()
  message(STATUS "Refrain with ${name}: ${found}")
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# Called once all has been looked for.
macro(refrain_check_requirements)
  message(STATUS "Refrain with its Python module: ${REFRAIN_PYTHON}")
  if(refrain_missing)
    list(JOIN refrain_missing "\n  " text)
    message(FATAL_ERROR "Refrain needs what is missing here:\n  ${text}\nCMAKE_PREFIX_PATH names other places; tools/setup build installs all on Debian.")
  endif()
endmacro()

# A source that is known now: what a directory compiles together.
function(refrain_text file text)
  file(CONFIGURE OUTPUT ${OUT}/${file} CONTENT "${text}" @ONLY)
endfunction()

# refrain_command(TARGET [ALL] OUTPUT file ... DEPENDS file ... COMMAND text): files that a command makes. It is called in
# the directory of the sources, with the variables below.
function(refrain_command target)
  cmake_parse_arguments(PARSE_ARGV 1 it "ALL" "COMMAND" "OUTPUT;DEPENDS")
  foreach(file ${it_OUTPUT})
    get_filename_component(folder ${file} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
  endforeach()
  add_custom_command(
    OUTPUT ${it_OUTPUT}
    DEPENDS ${it_DEPENDS}
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    # Without IFS a path is one word, whatever is in it.
    COMMAND ${CMAKE_COMMAND} -E env OUT=${OUT} PYTHON=${Python3_EXECUTABLE} PYTHONDONTWRITEBYTECODE=1
      ESBUILD=${REFRAIN_ESBUILD} NODE_MODULES=${REFRAIN_NODE_MODULES} bash -c "set -efu; IFS=; ${it_COMMAND}"
    VERBATIM)
  set(all "")
  if(it_ALL)
    set(all ALL)
  endif()
  add_custom_target(${target} ${all} DEPENDS ${it_OUTPUT})
endfunction()

# A program or shared library goes where Bazel has it.
function(refrain_output target file)
  get_filename_component(folder ${file} DIRECTORY)
  get_filename_component(name ${file} NAME)
  set_target_properties(${target} PROPERTIES
    PREFIX "" SUFFIX "" OUTPUT_NAME ${name} NO_SONAME ON LINKER_LANGUAGE CXX
    RUNTIME_OUTPUT_DIRECTORY ${OUT}/${folder} LIBRARY_OUTPUT_DIRECTORY ${OUT}/${folder})
endfunction()
