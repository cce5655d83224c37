// The tracer's descriptors, out of the way of the program's.
//
// Programs count on the numbers of theirs: the lowest that is free comes next, what is closed stays closed, and as
// many may be open as the limit says. So what is opened for a moment never gets 0, 1 or 2 (a
// program whose output is closed would write into our file), and what stays open goes above the program's limit, where
// the hard limit allows that. Otherwise it goes below the limit, and only a sixteenth of the numbers are used:
// who wants more opens its file again each time.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Thread-safety: any thread; not in signal handlers. All are part of slow
// paths (slow_path.h). The program's limit is raised for a moment; what it sets meanwhile stays.
// Ownership: of the caller, who calls drop_descriptor() for what keep_descriptor() has given.
// Errors: -1; errno is that of the call that failed.
// Cost: system calls, some microseconds.
#pragma once

#include <sys/types.h>

#include "tracer/recorder/slow_path.h"

namespace refrain::recorder {

// While one of these lives, nothing that this process opens gets one of the first three descriptors. Those that were
// closed are in use meanwhile, and still cannot be read or written.
class NoLowDescriptors {
 public:
  NoLowDescriptors() noexcept;
  ~NoLowDescriptors();
  NoLowDescriptors(const NoLowDescriptors&) = delete;
  NoLowDescriptors& operator=(const NoLowDescriptors&) = delete;
};

// While one of these lives, the process may open more files than the program's limit says, as far as the hard limit
// goes: for a program that has opened as many as it may.
class MoreDescriptors {
 public:
  MoreDescriptors() noexcept;
  ~MoreDescriptors();
  MoreDescriptors(const MoreDescriptors&) = delete;
  MoreDescriptors& operator=(const MoreDescriptors&) = delete;

 private:
  unsigned long before_ = 0;
  unsigned long raised_ = 0;  // 0: nothing was changed
};

// Which file a descriptor is of: programs that close all descriptors may have given its number to one of their own.
struct FileIdentity {
  unsigned long device = 0;
  unsigned long inode = 0;
  bool operator==(const FileIdentity&) const noexcept = default;
};
// False: it is closed.
bool identify(int descriptor, FileIdentity& identity) noexcept;

// openat() with O_CLOEXEC, under these two.
int open_apart(int folder, const char* path, int flags, mode_t mode = 0) noexcept;

// Puts a descriptor of open_apart() where it may stay. -1: there is no place, and it is closed.
int keep_descriptor(int descriptor) noexcept;
// Closes it, if it is still that of the file.
void drop_descriptor(int descriptor, const FileIdentity& file) noexcept;

// To be held around a fork; and in the child.
HandlerSafeMutex& descriptor_lock() noexcept;
void forget_descriptors() noexcept;

}  // namespace refrain::recorder
