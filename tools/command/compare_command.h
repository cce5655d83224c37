// `refrain compare FULL REDUCED`: what an analyst would conclude from each of two traces.
#pragma once

#include <cstdint>
#include <string>

#include "tools/command/subcommand.h"

namespace refrain::tools {

class CompareCommand final : public Subcommand {
 public:
  const char* name() const override { return "compare"; }
  const char* help() const override {
    return "compare two traces: times, calls, iterations, messages, efficiency";
  }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  std::string first_;
  std::string second_;
  std::string tolerance_;
  std::string least_ = "1%";
  std::uint64_t limit_ = 0;
  bool json_ = false;
  bool no_summary_ = false;
  bool quiet_ = false;
};

}  // namespace refrain::tools
