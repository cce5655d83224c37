#include "writer/process/cut_edges.h"

namespace refrain::writer {

using spool::Record;

CutEdges::Edge CutEdges::at(std::uint64_t ticks, std::uint64_t slack, bool begins) const {
  for (const Gap& gap : process_.gaps().gaps) {
    const std::uint64_t granted = gap.first_ticks == 0 ? slack : 0;
    const std::uint64_t last =
        gap.resume_ticks == kNever ? kNever : gap.held_until() + granted;
    if (ticks < gap.hold_ticks || ticks > last) continue;
    // A new gap that begins here goes on from this one, one that ends here goes up to it.
    if (begins) return {gap.resume_epoch, gap.resume_ticks, 0};
    return {gap.hold_epoch, gap.hold_ticks, gap.hold_ticks};
  }
  const spool::RecordSequence& records = process_.records(process_.primary());
  Edge edge;
  bool near = false;
  const std::size_t from = process_.scan(process_.primary()).epochs.before_ticks(ticks);
  for (std::size_t i = from; i < records.size(); ++i) {
    const Record& record = records[i];
    if (!spool::is_cut(record)) continue;
    if (record.ticks > ticks) return near ? edge : Edge{record.a48(), record.ticks, 0};
    // A gap begins with the iteration's first event, and ends with that of the next.
    edge = {record.a48(), begins ? ticks : record.ticks, ticks};
    near = record.ticks + slack >= ticks;
  }
  return near ? edge : Edge{};
}

void CutEdges::add_gap(std::vector<Gap>& gaps, Edge from, Edge to, spool::GapReason hold,
                       spool::GapReason resume) {
  if (from.epoch == kNever || from.epoch >= to.epoch) return;
  Gap gap;
  gap.hold_epoch = from.epoch;
  gap.hold_ticks = from.ticks;
  gap.resume_epoch = to.epoch;
  gap.resume_ticks = to.ticks;
  gap.first_ticks = to.first_ticks;
  gap.hold_reason = hold;
  gap.resume_reason = resume;
  gaps.push_back(gap);
}

}  // namespace refrain::writer
