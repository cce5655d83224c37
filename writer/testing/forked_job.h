// A job of forked processes that write their archive together as at the end of MPI; with
// sockets instead of MPI.
//
// Thread-safety: to be called by a process of one thread. Errors: std::runtime_error where
// no process can be made.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "writer/agree/write_options.h"

namespace refrain::writer {

// What each rank's write_archive_together() returned: its error, empty for success.
// `before` is called in each process before that.
std::vector<std::string> write_in_processes(
    const WriteOptions& options, std::uint32_t ranks,
    const std::function<void(std::uint32_t rank)>& before = [](std::uint32_t) {});

}  // namespace refrain::writer
