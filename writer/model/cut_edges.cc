#include "writer/model/cut_edges.h"

namespace refrain::writer {

using spool::Record;

CutEdges::Edge CutEdges::at(std::uint64_t ticks, std::uint64_t slack, bool begins) const {
  for (const Gap& gap : process_.gaps().gaps) {
    const std::uint64_t granted = gap.ends_roughly() ? slack : 0;
    const std::uint64_t last =
        gap.resume_ticks == kNever ? kNever : gap.skipped_until() + granted;
    if (ticks < gap.suspend_ticks || ticks > last) continue;
    // A new gap that begins here continues this one, one that ends here reaches up to it.
    if (begins) return {gap.resume_epoch, gap.resume_ticks, 0};
    return {gap.suspend_epoch, gap.suspend_ticks, gap.suspend_ticks};
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

void CutEdges::add_gap(std::vector<Gap>& gaps, Edge from, Edge to,
                       spool::GapReason suspend_reason, spool::GapReason resume) {
  if (from.epoch == kNever || from.epoch >= to.epoch) return;
  Gap gap;
  gap.suspend_epoch = from.epoch;
  gap.suspend_ticks = from.ticks;
  gap.resume_epoch = to.epoch;
  gap.resume_ticks = to.ticks;
  gap.first_ticks = to.first_ticks;
  gap.suspend_reason = suspend_reason;
  gap.resume_reason = resume;
  gaps.push_back(gap);
}

}  // namespace refrain::writer
