// `refrain graph ARCHIVE --to FORMAT`: what came after what in a run, and how often.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/command/subcommand.h"
#include "tools/graph/drawing.h"
#include "tools/output/profile_source.h"

namespace refrain::tools {

class GraphCommand final : public Subcommand {
 public:
  const char* name() const override { return "graph"; }
  const char* help() const override {
    return "draw what came after what in a run, and how often";
  }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  // What is wrong, or nothing.
  std::string draw(const ProfiledRun& run, Drawing& drawing) const;
  std::string draw_events(Drawing& drawing) const;

  std::string archive_;
  std::string format_;
  std::string kind_ = "control";
  std::optional<std::uint32_t> level_;
  std::string region_;
  std::string ranks_;
  std::optional<std::uint64_t> most_;
  std::string output_ = "-";
  bool from_events_ = false;
  bool overwrite_ = false;
  bool quiet_ = false;
};

}  // namespace refrain::tools
