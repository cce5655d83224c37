#include "tracer/user/function_filter.h"

#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "filters/region_filter.h"
#include "tracer/recorder/handler_safe_mutex.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/runtime/lifecycle.h"
#include "tracer/runtime/modules.h"
#include "tracer/runtime/this_thread.h"
#include "writer/symbols/symbol_resolver.h"

namespace refrain::user {
namespace {

class FunctionFilter {
 public:
  FunctionFilter() {
    const std::string& path = runtime::g_session->settings().filter_file;
    std::ifstream file(path);
    if (path.empty() || !file) return;
    filter_.parse(std::string(std::istreambuf_iterator<char>(file), {}));
  }

  // For lock_at_fork() alone.
  recorder::HandlerSafeMutex& mutex() noexcept { return mutex_; }

  bool excludes(std::uint64_t function) {
    if (filter_.empty()) return false;
    const std::lock_guard lock(mutex_);
    if (!modules_.covers(function)) {
      for (const std::string& text : modules_.scan_new()) texts_.push_back(text);
      symbols_ = std::make_unique<writer::SymbolResolver>(texts_);
    }
    if (symbols_ == nullptr) return false;
    const writer::Symbol& symbol = symbols_->at(function);
    return filter_.excludes(symbol.function,
                            symbol.elf_symbol.empty() ? symbol.function : symbol.elf_symbol,
                            symbol.file);
  }

 private:
  filters::RegionFilter filter_;
  recorder::HandlerSafeMutex mutex_;
  runtime::Modules modules_;
  std::vector<std::string> texts_;
  std::unique_ptr<writer::SymbolResolver> symbols_;
};

}  // namespace

bool filter_excludes(std::uint64_t function) noexcept {
  const recorder::SlowPath slow_path;
  try {
    // Never destroyed: threads may ask until the very end.
    static FunctionFilter* const filter = [] {
      auto* made = new FunctionFilter;
      runtime::lock_at_fork(made->mutex());
      return made;
    }();
    return filter->excludes(function);
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace refrain::user
