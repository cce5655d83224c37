// A pattern that was written against refrain_patterns.h, as one of the analysis' own.
//
// Place in the flow: ARCHITECTURE.md, stage 6: pattern_modules.h makes them of shared objects, python/ of classes of Python.
// Thread-safety: none. Ownership: the info outlives the pattern. What a pattern charges is checked: locations and call paths that
// there are. Errors: fail() of waits/metrics/pattern.h; after that the pattern is not called any more.
// Cost: compound events are copied into C structures, a call by pointer.
#pragma once

#include <memory>
#include <vector>

#include "waits/metrics/pattern.h"
#include "waits/modules/refrain_patterns.h"

namespace refrain::waits {

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

}  // namespace refrain::waits
