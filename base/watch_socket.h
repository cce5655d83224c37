// How traced processes say to the one that watches them what has been said already: messages of a letter to a socket that has a name
// but no file (AF_UNIX, abstract).
//
// Thread-safety: any thread; allocates nothing. Errors: -1, or nothing is sent.
#pragma once

#include <string>

namespace refrain::base {

// Closed by exec.
int bind_watch_socket(const std::string& name);

enum class WatchMessage : char {
  kSaid = 's',   // any process: what was not traced
  kEnded = 'e',  // the program, in order: all that is to be said was
  kNothing =
      'n',  // a launcher or shell, in order: none of its processes has recorded anything
};
void tell_watch_socket(const char* name, WatchMessage message) noexcept;

}  // namespace refrain::base
