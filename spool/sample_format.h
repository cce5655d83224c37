// The stacks that a process was sampled with: a call tree of code addresses, in a file of its own
// (`samples` in the process' directory), in memory of fixed size.
//
// Place in the flow: ARCHITECTURE.md, stage 3 (kept by tracer/sampler/sampler.h) and 5 (read by
// sample_reader.h, also after the process was killed).
// Source: Moseley et al., section 2 (LoopSampler); call stacks make totals and the graph of section 3.5.
//
//     0                  kSampleHeaderBytes          file end
//     +------------------+---------------------------+
//     | SampleHeader     | SampleNode[capacity]      |
//     +------------------+---------------------------+
//
// Node 0 is the root. Its children are threads (address: the thread's number, from 0 on in the order in
// which they were first seen). Below a thread are the frames of its stacks, outermost first. The address of a frame
// that called something is where the call returns to; of the innermost frame, with kInnermost, the
// instruction that was about to run. Samples are counted in the node of the innermost frame, or, where
// no node was left, in the last frame that has one (SampleHeader::shortened).
//
// Nodes are only added; parents have smaller numbers than children. A node counts when its `ready`
// is 1. Two nodes may have one parent and address: who reads adds them up.
// All sums are atomic and never decrease.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace refrain::spool {

inline constexpr char kSampleMagic[8] = {'R', 'F', 'S', 'A', 'M', 'P', 'L', 'E'};
inline constexpr std::uint32_t kSampleVersion = 1;
inline constexpr std::size_t kSampleHeaderBytes = 4096;
inline constexpr std::uint32_t kSampleNodes = 1 << 16;  // capacity, at most; 1.5 MiB

// In SampleNode::address: the frame is the innermost one.
inline constexpr std::uint64_t kInnermost = std::uint64_t{1} << 63;
// Addresses of no code: outermost frames of stacks that could not be followed to their start.
inline constexpr std::uint64_t kUnknownCaller = 1;  // no tables for unwinding, or no sense
inline constexpr std::uint64_t kDeeper = 2;         // more frames than are followed

struct SampleNode {
  std::uint64_t address;
  std::uint32_t parent;
  std::atomic<std::uint32_t> ready;
  std::atomic<std::uint64_t> samples;  // in this very frame
};
static_assert(sizeof(SampleNode) == 24);

struct SampleHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t byte_order;  // spool::kByteOrder
  std::uint64_t pid;
  std::uint64_t period_ns;           // of a thread's CPU time, from one sample to the next
  std::uint32_t capacity;            // nodes
  std::atomic<std::uint32_t> nodes;  // numbers given, may be more than `capacity`
  std::atomic<std::uint64_t> taken;  // samples, all
  std::atomic<std::uint64_t>
      shortened;                    // of them, in a frame further out: no node was left
  std::atomic<std::uint64_t> lost;  // of them, counted nowhere
  std::atomic<std::uint64_t>
      missed;  // periods that passed without one (signals were blocked)
  std::atomic<std::uint64_t> not_followed;     // of taken: with kUnknownCaller
  std::atomic<std::uint32_t> threads;          // that were seen
  std::atomic<std::uint32_t> threads_without;  // that could get no timer
  std::atomic<std::uint32_t> ended;            // 1: regularly
};
static_assert(sizeof(SampleHeader) <= kSampleHeaderBytes);

}  // namespace refrain::spool
