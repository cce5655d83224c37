// Loads patterns from shared objects that were built against refrain_patterns.h.
//
// Place in the flow: ARCHITECTURE.md, stage 6: `refrain analyze --patterns my.so`. Thread-safety: none.
// Fails for a file that cannot be loaded, that is no module of patterns, or that was built for another version.
// Ownership: what was loaded stays until the process ends. A module's code runs as the user: it is trusted.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "waits/metrics/pattern.h"
#include "waits/modules/refrain_patterns.h"

namespace refrain::waits {

// A pattern that was written against refrain_patterns.h, as one of the analysis' own.
//
// Thread-safety: none. Ownership: the info outlives the pattern. What a pattern charges is checked: locations and
// call paths that there are. Errors: fail() of waits/metrics/pattern.h; after that the pattern is not called any
// more. Cost: compound events are copied into C structures, a call by pointer.

class ModulePattern final : public Pattern {
 public:
  // `of`: where it comes from, for messages.
  ModulePattern(const refrain_pattern_info& info, std::string of);
  ~ModulePattern() override;
  ModulePattern(const ModulePattern&) = delete;
  ModulePattern& operator=(const ModulePattern&) = delete;

  MetricInfo metric() const override;
  std::vector<Compound> wants() const override;

  void begin(const RunView& run) override;
  void call(const Call& event) override;
  void receive(ReceiveCall& event) override;
  void late_sender(const LateSender& event) override;
  void wrong_order(const WrongOrder& event) override;
  void send(SendCall& event) override;
  void collective(CollectiveMember& event) override;
  void collective_completion(CollectiveCompletion& event) override;
  void access_epoch(AccessEpoch& event) override;
  void exposure_epoch(ExposureEpoch& event) override;
  void lock_epoch(LockEpoch& event) override;
  void barrier(TeamBarrier& event) override;
  void task_wait(TaskWait& event) override;
  void fork(const TeamFork& event) override;
  void lock_wait(const LockWait& event) override;
  void left_out(const LeftOut& event) override;
  void finish() override;

 private:
  void notify(std::uint32_t kind, const void* event);
  bool there_is(LocationId location, PathId path);
  static refrain_host functions(ModulePattern* self);

  refrain_pattern_info info_;
  std::string of_;
  refrain_host host_;
  void* pattern_ = nullptr;
  const RunView* run_ = nullptr;
  bool failed_ = false;
  std::vector<refrain_message> messages_;
  std::vector<refrain_posted> posted_;
  std::vector<refrain_access> accesses_;
  std::vector<refrain_lock_access> lock_accesses_;
};

class PatternModules {
 public:
  // After those loaded before it.
  base::Result<> load(const std::string& file);
  bool empty() const { return modules_.empty(); }
  // New ones of all modules.
  std::vector<std::unique_ptr<Pattern>> make() const;

 private:
  struct Module {
    std::string file;
    const refrain_pattern_list* list = nullptr;
  };
  std::vector<Module> modules_;
};

}  // namespace refrain::waits
