// How many events the spool of a process holds for sure: what recovery must not lose.
#pragma once

#include <cstdint>
#include <filesystem>

namespace refrain::test {

// Records of events, of all locations, that their log's commit word covers. Structure
// (syncs, snapshots, holds) is not counted.
std::uint64_t committed_events(const std::filesystem::path& spool);

}  // namespace refrain::test
