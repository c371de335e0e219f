# Fails when a program needs LibTorch or CUDA to start.
#   cmake -DPROGRAM=<path> -P links_no_torch.cmake
cmake_minimum_required(VERSION 3.25)

file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${PROGRAM}
     RESOLVED_DEPENDENCIES_VAR resolved UNRESOLVED_DEPENDENCIES_VAR unresolved)
set(forbidden ${resolved} ${unresolved})
list(FILTER forbidden INCLUDE REGEX "(torch|c10|cuda|cupti|nccl|gloo|python)[^/]*$")
if(forbidden)
  message(FATAL_ERROR "${PROGRAM} loads ${forbidden}")
endif()
list(LENGTH resolved count)
message("${count} libraries, none of them torch's")
