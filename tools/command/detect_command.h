// `refrain detect FILE...`: what a detector and the policy make of symbol streams.
#pragma once

#include <string>
#include <vector>

#include "tools/command/subcommand.h"

namespace refrain::tools {

struct DetectionSettings;

class DetectCommand final : public Subcommand {
 public:
  const char* name() const override { return "detect"; }
  const char* help() const override {
    return "detect the loops of recorded symbol streams";
  }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  std::string read_options(DetectionSettings& settings) const;

  std::string detector_ = "nested";
  std::string nested_ = "first";
  std::string limit_;
  std::string window_;
  std::string max_period_;
  bool json_ = false;
  std::vector<std::string> files_;
};

}  // namespace refrain::tools
