// Which file the loader takes a function from, where several have one of that name: who comes first
// in the program, its libraries and what is preloaded.
//
// Thread-safety: any thread. Cost: a search through all loaded files, a microsecond or so; may wait
// for the loader's lock. Errors: std::bad_alloc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace refrain::runtime {

// For many functions: the files that are loaded when it is made.
class SearchOrder {
 public:
  SearchOrder();
  // As below.
  std::string taken_by(const char* function) const;
  std::string taken_from(const char* function) const;

  // One that is loaded.
  struct File {
    std::uintptr_t begin;
    std::uintptr_t end;
    std::string name;  // empty: the program
  };

  // Null: in none of them.
  const File* file_at(const void* address) const noexcept;

 private:
  std::string file_of(const void* function) const;
  std::vector<File> files_;
};

// The path of the file whose function of this name the program calls. Empty: the one that
// Refrain's own library has, or none.
std::string taken_by(const char* function);

// Of the file whose function would be called, were it not for Refrain's library. Empty: none.
std::string taken_from(const char* function);

// Returns true if this name, given to the loader, is the library that this code is in, whatever it was loaded as.
bool is_own_library(const char* name);

}  // namespace refrain::runtime
