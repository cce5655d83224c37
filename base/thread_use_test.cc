#include "base/thread_use.h"

#include <catch2/catch.hpp>

namespace refrain::base::thread_use_test {

TEST_CASE("Cores as text, and back") {
  for (const char* text : {"", "0", "0-3", "0-3,8", "1,3,5-7,63-64,1023"}) {
    const CoreSet cores = CoreSet::parse(text);
    CHECK(cores.text() == text);
    CHECK(CoreSet::parse(cores.text()) == cores);
  }
  CHECK(CoreSet::parse("0-3,8").size() == 5);
  CHECK(CoreSet::parse("0-1023").size() == 1024);
}

TEST_CASE("Cores: what is no list of cores is none") {
  for (const char* text : {"x", "3-1", "1,", ",1", "1-", "1024", "0-1024", "1 2", "-1"})
    CHECK(CoreSet::parse(text).empty());
}

TEST_CASE("Cores: which contain others, and together") {
  const CoreSet few = CoreSet::parse("2,70"), more = CoreSet::parse("1-2,64-70");
  CHECK(more.contains(few));
  CHECK_FALSE(few.contains(more));
  CHECK(few.contains(few));
  CHECK(few.contains(CoreSet()));
  CoreSet all = few;
  all.add(CoreSet::parse("3"));
  CHECK(all.text() == "2-3,70");
}

TEST_CASE("What threads used adds up") {
  ThreadUse one{.core_ns = 1,
                .core_wait_ns = 2,
                .kernel_ns = 3,
                .page_faults = 4,
                .disk_faults = 5,
                .preemptions = 6,
                .migrations = 7,
                .tracing_ns = 8,
                .cores = CoreSet::parse("0")};
  ThreadUse two = one;
  two.cores = CoreSet::parse("1");
  one.add(two);
  CHECK(one == ThreadUse{.core_ns = 2,
                         .core_wait_ns = 4,
                         .kernel_ns = 6,
                         .page_faults = 8,
                         .disk_faults = 10,
                         .preemptions = 12,
                         .migrations = 14,
                         .tracing_ns = 16,
                         .cores = CoreSet::parse("0-1")});
}

}  // namespace refrain::base::thread_use_test
