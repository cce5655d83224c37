#include "code/no_return.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace refrain::code {
namespace {

constexpr std::array<std::string_view, 45> kNames{
    "_Exit",
    "_Unwind_Resume",
    "_ZSt10unexpectedv",
    "_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE",
    "_ZSt9terminatev",
    "__assert",
    "__assert_fail",
    "__assert_perror_fail",
    "__chk_fail",
    "__clang_call_terminate",
    "__cxa_bad_cast",
    "__cxa_bad_typeid",
    "__cxa_call_terminate",
    "__cxa_call_unexpected",
    "__cxa_deleted_virtual",
    "__cxa_pure_virtual",
    "__cxa_rethrow",
    "__cxa_throw",
    "__cxa_throw_bad_array_new_length",
    "__fortify_fail",
    "__libc_fatal",
    "__longjmp_chk",
    "__stack_chk_fail",
    "_exit",
    "_gfortran_error_stop_numeric",
    "_gfortran_error_stop_string",
    "_gfortran_os_error",
    "_gfortran_os_error_at",
    "_gfortran_runtime_error",
    "_gfortran_runtime_error_at",
    "_gfortran_stop_numeric",
    "_gfortran_stop_string",
    "_longjmp",
    "abort",
    "err",
    "errx",
    "exit",
    "longjmp",
    "pthread_exit",
    "quick_exit",
    "siglongjmp",
    "thrd_exit",
    "verr",
    "verrx",
    "xalloc_die",
};
static_assert(std::is_sorted(kNames.begin(), kNames.end()));

}  // namespace

bool never_returns(std::string_view name) {
  name = name.substr(0, name.find('@'));  // without a version
  // std::__throw_out_of_range(char const*) and its sisters.
  if (name.starts_with("_ZSt") && name.substr(0, 16).find("__throw_") != name.npos)
    return true;
  return std::binary_search(kNames.begin(), kNames.end(), name);
}

bool may_never_return(std::string_view name) {
  std::string small(name);
  for (char& c : small) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const char* word : {"abort", "die", "err", "exit", "fail", "fatal", "halt", "panic",
                           "quit", "raise", "stop", "terminate", "throw"})
    if (small.find(word) != small.npos) return true;
  return false;
}

bool returns_again(std::string_view name) {
  name = name.substr(0, name.find('@'));
  return name == "_setjmp" || name == "__sigsetjmp" || name == "setjmp" ||
         name == "sigsetjmp" || name == "getcontext";
}

}  // namespace refrain::code
