#include "writer/testing/sample_builder.h"

#include <cstring>
#include <fstream>
#include <stdexcept>

#include "spool/format.h"
#include "spool/sample_format.h"

namespace refrain::spool {
namespace {

template <typename T>
void put(std::string& file, std::size_t offset, T value) {
  std::memcpy(file.data() + offset, &value, sizeof value);
}

}  // namespace

std::uint32_t SampleBuilder::node(std::uint64_t address, std::uint32_t parent,
                                  std::uint64_t samples) {
  nodes_.push_back({address, parent, samples});
  return static_cast<std::uint32_t>(nodes_.size() - 1);
}

SampleBuilder& SampleBuilder::add(const std::vector<std::uint64_t>& stack,
                                  std::uint64_t samples) {
  std::uint32_t at = 0;
  for (const std::uint64_t address : stack) {
    std::uint32_t next = 0;
    for (std::uint32_t i = 1; i < nodes_.size() && next == 0; ++i)
      if (nodes_[i].parent == at && nodes_[i].address == address) next = i;
    at = next != 0 ? next : node(address, at, 0);
  }
  nodes_[at].samples += samples;
  return *this;
}

SampleBuilder& SampleBuilder::counters(std::uint64_t shortened, std::uint64_t lost,
                                       std::uint64_t missed, std::uint64_t not_followed,
                                       std::uint32_t threads_without) {
  shortened_ = shortened;
  lost_ = lost;
  missed_ = missed;
  not_followed_ = not_followed;
  threads_without_ = threads_without;
  return *this;
}

std::string SampleBuilder::file(std::uint32_t spare) const {
  const auto count = static_cast<std::uint32_t>(nodes_.size());
  std::string out(kSampleHeaderBytes + (count + spare) * sizeof(SampleNode), '\0');
  std::uint64_t taken = lost_;
  std::uint32_t threads = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::size_t at = kSampleHeaderBytes + i * sizeof(SampleNode);
    put(out, at + offsetof(SampleNode, address), nodes_[i].address);
    put(out, at + offsetof(SampleNode, parent), nodes_[i].parent);
    put(out, at + offsetof(SampleNode, samples), nodes_[i].samples);
    put(out, at + offsetof(SampleNode, ready), 1U);
    taken += nodes_[i].samples;
    threads += i != 0 && nodes_[i].parent == 0 ? 1 : 0;
  }
  std::memcpy(out.data(), kSampleMagic, sizeof kSampleMagic);
  put(out, offsetof(SampleHeader, version), kSampleVersion);
  put(out, offsetof(SampleHeader, byte_order), kByteOrder);
  put(out, offsetof(SampleHeader, pid), std::uint64_t{4711});
  put(out, offsetof(SampleHeader, period_ns), period_ns_);
  put(out, offsetof(SampleHeader, capacity), count + spare);
  put(out, offsetof(SampleHeader, nodes), count);
  put(out, offsetof(SampleHeader, taken), taken);
  put(out, offsetof(SampleHeader, shortened), shortened_);
  put(out, offsetof(SampleHeader, lost), lost_);
  put(out, offsetof(SampleHeader, missed), missed_);
  put(out, offsetof(SampleHeader, not_followed), not_followed_);
  put(out, offsetof(SampleHeader, threads), threads);
  put(out, offsetof(SampleHeader, threads_without), threads_without_);
  put(out, offsetof(SampleHeader, ended), 1U);
  return out;
}

void SampleBuilder::write(const std::string& path) const {
  std::ofstream out(path, std::ios::binary);
  out << file();
  out.close();
  if (!out) throw std::runtime_error(path + " cannot be written");
}

}  // namespace refrain::spool
