# Tests of the tree itself: borders, headers, format, scripts. Labels cpu and tree (sanitizers skip those).
set(checks ${CMAKE_CURRENT_SOURCE_DIR}/checks)

function(ppplan_check name)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS "cpu;tree")
endfunction()

# Headers of libraries are verified by CMake; those of programs and tests by a library of our own.
file(GLOB loose_headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
     ${PROJECT_SOURCE_DIR}/cli/*.h ${PROJECT_SOURCE_DIR}/tests/support/*.h)
set(loose_sources)
foreach(header ${loose_headers})
  set(source ${CMAKE_CURRENT_BINARY_DIR}/headers/${header}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n" @ONLY)
  list(APPEND loose_sources ${source})
endforeach()
add_library(ppplan_loose_headers OBJECT EXCLUDE_FROM_ALL ${loose_sources})
target_link_libraries(ppplan_loose_headers PRIVATE ppplan_options CLI11::CLI11 doctest::doctest)
ppplan_check(headers_stand_alone
  ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target all_verify_interface_header_sets ppplan_loose_headers)

ppplan_check(include_directions
  ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -P ${checks}/include_directions.cmake)
ppplan_check(ppplan_links_no_torch
  ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:ppplan> -P ${checks}/links_no_torch.cmake)
ppplan_check(no_traces bash ${checks}/no_traces.sh ${PROJECT_SOURCE_DIR})
ppplan_check(shell_scripts bash ${checks}/shell_scripts.sh ${PROJECT_SOURCE_DIR})

# Only version 14 formats as the tree is formatted.
find_program(PPPLAN_CLANG_FORMAT clang-format-14)
if(PPPLAN_CLANG_FORMAT)
  ppplan_check(formatted bash ${checks}/formatted.sh ${PROJECT_SOURCE_DIR} ${PPPLAN_CLANG_FORMAT})
endif()

# The documents' commands, and the one that the README starts with (its build takes minutes once).
if(PPPLAN_WITH_TORCH)
  file(GLOB documents CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/docs/*.md)
  add_test(NAME readme COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/readme_test.sh
           ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR}/readme README.md ${documents})
  set_tests_properties(readme PROPERTIES LABELS multi TIMEOUT 900)
  add_test(NAME main_job COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/executor/main_job_test.sh
           ${PROJECT_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR}/main_job)
  set_tests_properties(main_job PROPERTIES LABELS multi TIMEOUT 600)
  add_test(NAME quickstart COMMAND ${PROJECT_SOURCE_DIR}/quickstart.sh)
  set_tests_properties(quickstart PROPERTIES LABELS quickstart TIMEOUT 2400 RUN_SERIAL TRUE)
endif()
