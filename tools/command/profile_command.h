// `refrain profile ARCHIVE`: where the time of a run went.
#pragma once

#include <string>

#include "tools/command/subcommand.h"
#include "tools/output/profile_source.h"

namespace refrain::tools {

class ProfileCommand final : public Subcommand {
 public:
  const char* name() const override { return "profile"; }
  const char* help() const override { return "print where the time of a run went"; }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  int run_iterations();
  std::string text_of(const ProfiledRun& run) const;

  std::string archive_;
  bool json_ = false;
  bool csv_ = false;
  bool all_ = false;
  bool from_events_ = false;
  std::string cube_file_;  // empty: none
  bool overwrite_ = false;
  bool iterations_ = false;
  bool messages_ = false;
  bool quiet_ = false;
};

}  // namespace refrain::tools
