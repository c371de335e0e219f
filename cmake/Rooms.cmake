# One interface target carries the language level and all warnings; a room is a static library of the
# sources of its folders. Sources are globbed so that a new file needs no edit here.
include_guard()

add_library(ppplan_options INTERFACE)
target_compile_features(ppplan_options INTERFACE cxx_std_20)
target_compile_options(ppplan_options INTERFACE -Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
                       -Wno-missing-field-initializers)  # designated initializers leave defaults on purpose
# GCC 12 sees overlaps where std::string inserts, once it optimizes (its bug 105651).
target_compile_options(ppplan_options INTERFACE
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
target_include_directories(ppplan_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_definitions(ppplan_options INTERFACE PPPLAN_VERSION="${PROJECT_VERSION}")

# A fast linker where there is one.
find_program(PPPLAN_MOLD mold)
if(PPPLAN_MOLD AND NOT CMAKE_EXE_LINKER_FLAGS MATCHES "fuse-ld")
  add_link_options(-fuse-ld=mold)
endif()

# ppplan_sources(target FOLDERS f... [EXCLUDE file-name...]): adds each folder's own *.cc, not its sub-folders'.
function(ppplan_sources target)
  cmake_parse_arguments(S "" "" "FOLDERS;EXCLUDE" ${ARGN})
  foreach(folder ${S_FOLDERS})
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cc)
    foreach(name ${S_EXCLUDE})
      list(FILTER sources EXCLUDE REGEX "/${name}$")
    endforeach()
    target_sources(${target} PRIVATE ${sources})
  endforeach()
endfunction()

# ppplan_room(name FOLDERS f... [HEADERS h...] [USES t...] [PRIVATE_USES t...] [EXCLUDE file-name...])
function(ppplan_room name)
  cmake_parse_arguments(R "" "" "FOLDERS;HEADERS;USES;PRIVATE_USES;EXCLUDE" ${ARGN})
  set(headers)
  foreach(header ${R_HEADERS})
    list(APPEND headers ${PROJECT_SOURCE_DIR}/${header})
  endforeach()
  foreach(folder ${R_FOLDERS})
    file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.h)
    list(APPEND headers ${found})
  endforeach()
  add_library(ppplan_${name} STATIC)
  ppplan_sources(ppplan_${name} FOLDERS ${R_FOLDERS} EXCLUDE ${R_EXCLUDE})
  get_target_property(sources ppplan_${name} SOURCES)
  if(NOT sources)
    file(WRITE ${PROJECT_BINARY_DIR}/empty_${name}.cc "")
    target_sources(ppplan_${name} PRIVATE ${PROJECT_BINARY_DIR}/empty_${name}.cc)
  endif()
  target_sources(ppplan_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
  set_target_properties(ppplan_${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  add_library(ppplan::${name} ALIAS ppplan_${name})
  target_link_libraries(ppplan_${name} PUBLIC ppplan_options ${R_USES} PRIVATE ${R_PRIVATE_USES})
endfunction()
