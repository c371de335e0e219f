# LibTorch from a PyTorch wheel (or an unpacked LibTorch), by imported targets of our own: the wheel's
# TorchConfig.cmake asks for a CUDA toolchain that a machine without a GPU need not have.
include_guard()

if(NOT PPPLAN_TORCH)
  if(DEFINED ENV{PPPLAN_CACHE})
    set(cache "$ENV{PPPLAN_CACHE}")
  elseif(DEFINED ENV{XDG_CACHE_HOME})
    set(cache "$ENV{XDG_CACHE_HOME}/ppplan")
  else()
    set(cache "$ENV{HOME}/.cache/ppplan")
  endif()
  file(GLOB candidates "${cache}/torch-2.11.0/lib/python3*/site-packages/torch")
  if(candidates)
    list(GET candidates 0 PPPLAN_TORCH)
  endif()
endif()
if(NOT EXISTS "${PPPLAN_TORCH}/lib/libtorch_cpu.so")
  message(FATAL_ERROR "no LibTorch at '${PPPLAN_TORCH}': run ./quickstart.sh, which fetches it, give -DPPPLAN_TORCH=<folder of the Python package torch>, or build the planner alone with -DPPPLAN_WITH_TORCH=OFF")
endif()
message(STATUS "LibTorch: ${PPPLAN_TORCH}")

find_path(PPPLAN_GLOO gloo/transport/device.h REQUIRED)  # headers only: the symbols are inside libtorch_cpu

add_library(ppplan_torch INTERFACE)
target_include_directories(ppplan_torch SYSTEM INTERFACE
  ${PPPLAN_TORCH}/include ${PPPLAN_TORCH}/include/torch/csrc/api/include)
target_include_directories(ppplan_torch SYSTEM INTERFACE ${PPPLAN_GLOO})
target_compile_definitions(ppplan_torch INTERFACE USE_DISTRIBUTED USE_C10D_GLOO)

# Only what is named is linked: libtorch.so's own entry would pull every CUDA library in.
set(torch_run_path ${PPPLAN_TORCH}/lib)
file(GLOB wheel_libraries ${PPPLAN_TORCH}/../nvidia/*/lib)
list(APPEND torch_run_path ${wheel_libraries})
target_link_libraries(ppplan_torch INTERFACE ${PPPLAN_TORCH}/lib/libtorch_cpu.so ${PPPLAN_TORCH}/lib/libc10.so)
foreach(folder ${torch_run_path})
  target_link_options(ppplan_torch INTERFACE "LINKER:-rpath,${folder}" "LINKER:-rpath-link,${folder}")
endforeach()
