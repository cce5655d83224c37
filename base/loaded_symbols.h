// The dynamic symbols of the loaded objects, without the loader's lock.
//
// dlsym(), dladdr() and dlopen() wait for a thread that is in dlopen(), and that may wait for this one: a library's constructor
// opens a parallel region, or joins a thread.
// Place in the flow: for what asks while the program runs. Thread-safety: any thread; not in signal handlers (dl_iterate_phdr()).
// Ownership: texts are the object's. Errors: what cannot be read is not there. Cost: symbol_of() some 100 ns an object;
// symbol_at() looks at all symbols of one object.
// Source: System V ABI, "Dynamic Linking"; GNU's hash table as binutils and glibc have it.
#pragma once

namespace refrain::base {

struct LoadedSymbol {
  const char* file = nullptr;  // of the object, as the loader has it; empty: the program
  const void* object = nullptr;
  const char* name = nullptr;  // null: no function that other objects see
  const void* begin = nullptr;
};

// The object and the function at this address; all null: there is no object.
LoadedSymbol symbol_at(const void* address) noexcept;

// The first in the loader's order; null: there is none. The default version; none that is found out by the loader (IFUNC), no variable
// of threads.
const void* symbol_of(const char* name) noexcept;
// The same of the objects after that with the address.
const void* symbol_after(const void* address, const char* name) noexcept;
// Of the object with the address.
const void* symbol_in(const void* address, const char* name) noexcept;

}  // namespace refrain::base
