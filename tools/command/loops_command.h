// `refrain loops ARCHIVE`: the loops of a program that was sampled while it was traced; `refrain loops --exact --
// program arguments`: as they run, counted exactly (docs/loops.md); `refrain loops FILE ...` joins what such runs
// have written.
#pragma once

#include <string>
#include <vector>

#include "code_profile/loop_profile.h"
#include "tools/command/subcommand.h"

namespace refrain::tools {

class LoopsCommand final : public Subcommand {
 public:
  const char* name() const override { return "loops"; }
  const char* help() const override {
    return "the loops of a program: how often and how long";
  }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  int run_exact();
  // What went wrong, or nothing.
  std::string print_exact(const std::vector<std::string>& files);
  std::string print_samples(const std::string& archive);
  std::string print(const code_profile::LoopProfile& profile) const;
  std::string text_of(const code_profile::LoopProfile& profile, std::string& text) const;

  std::vector<std::string> words_;  // an archive, files, or the program and its arguments
  bool exact_ = false;
  bool json_ = false;
  bool overwrite_ = false;
  std::string format_;
  std::string output_ = "-";
  std::string raw_;
  std::string ranks_;
  double share_ = 1;
};

}  // namespace refrain::tools
