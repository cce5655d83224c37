// Input: a byte that says how many symbols there are and how much memory, then a symbol a byte.
#include <vector>

#include "periodicity/nested/nested_detector.h"
#include "test/fuzz/fuzz.h"
#include "test/support/little_memory.h"
#include "test/support/loop_record.h"
#include "test/support/visit_nesting.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace refrain;
  fuzz::Bytes bytes(data, size);
  const auto shape = static_cast<std::uint8_t>(bytes.number(1));
  const std::uint8_t symbols = 1 + (shape & 0x1f);
  periodicity::NestedSettings settings;
  if ((shape & 0x80) != 0) settings = test::kLittleMemory;
  periodicity::NestedDetector detector(settings);
  test::LoopRecord record;
  std::uint64_t events = 0;
  for (const char byte : bytes.rest()) {
    const auto value = static_cast<unsigned char>(byte);
    detector.push(value % symbols, (shape & 0x40) != 0 ? value >> 6 : 0, record);
    ++events;
  }
  detector.finish(record);
  const std::string order = record.complaint(events);
  fuzz::require(order.empty(), "loop events are in order", order);
  const std::string nesting = test::nesting_complaint(record);
  fuzz::require(nesting.empty(), "visits nest", nesting);
  return 0;
}
