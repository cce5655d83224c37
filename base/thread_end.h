// Calls a function when the calling thread ends, as the destructor of a key of POSIX threads does; also in a program that has
// used up all keys, where it goes the way of C++'s thread_local objects.
//
// A key that there is none for must not be used: its number would be that of one of the program's.
// Thread-safety: any thread, for itself. Ownership: for ever, for the function may be called until the process ends. Errors:
// where neither way has memory, it is not called. Cost: set() that of pthread_setspecific().
#pragma once

namespace refrain::base {

class ThreadEnd {
 public:
  // Never called on the main thread, whose end is that of the process.
  constexpr explicit ThreadEnd(void (*function)(void*)) noexcept : function_(function) {}

  // `function` is called with `value`, which is not null, when this thread ends: once, for the value set last, where there
  // is a key; else for each of them.
  void set(void* value) noexcept;

 private:
  long key() noexcept;

  void (*const function_)(void*);
  // Of a key, plus one; 0: not asked for yet.
  long key_ = 0;
};

}  // namespace refrain::base
