#include "writer/model/file_handles.h"

#include <algorithm>
#include <tuple>

namespace refrain::writer {
namespace {

using spool::FileAct;

struct Place {
  std::uint64_t ticks;
  std::size_t location, call;
  FileAct act;
  bool operator<(const Place& other) const noexcept {
    return std::tie(ticks, location, call) <
           std::tie(other.ticks, other.location, other.call);
  }
};

}  // namespace

FileHandles::FileHandles(const std::vector<std::vector<FileMoment>>& locations) {
  std::vector<std::vector<Place>> calls;  // by handle
  written_.resize(locations.size());
  for (std::size_t i = 0; i < locations.size(); ++i) {
    written_[i].resize(locations[i].size());
    for (std::size_t j = 0; j < locations[i].size(); ++j) {
      const auto& [ticks, call] = locations[i][j];
      const auto [at, is_new] = index_.try_emplace(
          call.handle_key(), static_cast<std::uint32_t>(handles_.size()));
      if (is_new) {
        handles_.push_back(
            {call.descriptor.slot, call.descriptor.number, call.row().stream});
        calls.emplace_back();
      }
      calls[at->second].push_back({ticks, i, j, call.row().act});
    }
  }
  for (std::size_t handle = 0; handle < calls.size(); ++handle) {
    std::vector<Place>& row = calls[handle];
    std::sort(row.begin(), row.end());
    handles_[handle].pre_created = row.front().act != FileAct::kOpen;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool opens =
          row[i].act == FileAct::kOpen && (i == 0 || row[i - 1].act == FileAct::kClose);
      const bool closes = row[i].act == FileAct::kClose &&
                          (i + 1 == row.size() || row[i + 1].act == FileAct::kOpen);
      written_[row[i].location][row[i].call] = opens || closes;
    }
  }
}

}  // namespace refrain::writer
