#include "writer/loops/loop_numbers.h"

#include <algorithm>
#include <utility>

namespace refrain::writer {
namespace {

std::string lines_of(std::uint32_t first, std::uint32_t last) {
  std::string text;
  if (first != 0) text = ':' + std::to_string(first);
  if (last != first) text += '-' + std::to_string(last);
  return text;
}

// The place of a loop, or of its first event if that is not known.
JobLoop define(const spool::Loop& loop, const LoopPlace* place,
               const spool::Journal& journal, addresses::Resolver& resolver) {
  JobLoop out;
  if (!loop.body.empty() && loop.body.front().record_kind == spool::kUserPhase) {
    const auto number = static_cast<std::uint32_t>(loop.body.front().address);
    const spool::UserRegion& region = journal.user.region(number);
    out.named = true;
    out.function = region.text;
    out.file = region.file;
    out.first_line = out.last_line = region.line;
    out.key = "phase\n" + region.text + '\n' + region.file + '\n';
  } else if (place != nullptr) {
    out.function = place->function;
    out.file = place->file;
    out.first_line = place->first_line;
    out.last_line = place->last_line;
    out.key = place->code.empty() ? place->text() : place->code;
  } else {
    const addresses::Place& where =
        resolver.at_call(loop.body.empty() ? 0 : loop.body.front().address);
    out.file = where.file;
    out.first_line = out.last_line = where.line;
    if (where.file.empty()) out.function = where.function;
    out.key = regions::place_of(where);
  }
  return out;
}

// Children of each loop, in order; the outermost loops come last.
std::vector<std::vector<std::uint32_t>> children_of(const JobLoops& all) {
  std::vector<std::vector<std::uint32_t>> children(all.loops.size() + 1);
  for (std::uint32_t i = 0; i < all.loops.size(); ++i)
    children[std::min<std::size_t>(all.loops[i].parent, all.loops.size())].push_back(i);
  return children;
}

using Index = std::map<std::pair<std::uint32_t, std::string>, std::uint32_t>;

Index index_of(const JobLoops& all) {
  Index index;
  for (std::uint32_t i = 0; i < all.loops.size(); ++i)
    index.emplace(std::pair(all.loops[i].parent, all.loops[i].key), i);
  return index;
}

}  // namespace

JobLoops job_loops(const spool::Journal& journal, const std::vector<LoopNode>& tree,
                   addresses::Resolver& resolver) {
  const std::map<std::uint32_t, LoopPlace> places = loop_places(journal, tree, resolver);
  JobLoops out;
  std::map<std::pair<std::uint32_t, std::string>, unsigned> alike;
  for (const LoopNode& node : tree) {
    const auto place = places.find(node.loop);
    const auto known = journal.loops.find(node.loop);
    JobLoop loop =
        known == journal.loops.end()
            ? JobLoop{}
            : define(known->second, place == places.end() ? nullptr : &place->second,
                     journal, resolver);
    loop.parent = node.parent == LoopNode::kNoParent
                      ? JobLoop::kNoParent
                      : static_cast<std::uint32_t>(node.parent);
    const unsigned number = alike[{loop.parent, loop.key}]++;
    loop.key += '#' + std::to_string(number);
    out.loops.push_back(std::move(loop));
  }
  return out;
}

JobLoops merge(JobLoops a, const JobLoops& b) {
  Index index = index_of(a);
  std::vector<std::uint32_t> place(b.loops.size());
  for (std::size_t i = 0; i < b.loops.size(); ++i) {
    JobLoop loop = b.loops[i];
    if (loop.parent != JobLoop::kNoParent) loop.parent = place[loop.parent];
    const auto [at, is_new] = index.try_emplace(std::pair(loop.parent, loop.key),
                                                static_cast<std::uint32_t>(a.loops.size()));
    place[i] = at->second;
    if (is_new) {
      a.loops.push_back(std::move(loop));
      continue;
    }
    JobLoop& known = a.loops[at->second];
    if (loop.first_line == 0 || loop.file != known.file) continue;
    known.first_line = std::min(known.first_line, loop.first_line);
    known.last_line = std::max(known.last_line, loop.last_line);
  }
  return a;
}

void put(exchange::ByteWriter& out, const JobLoops& all) {
  out.number(all.loops.size());
  for (const JobLoop& loop : all.loops) {
    out.text(loop.key);
    out.number(std::uint64_t{loop.parent} + 1);
    out.number(loop.named ? 1 : 0);
    out.text(loop.function);
    out.text(loop.file);
    out.number(loop.first_line);
    out.number(loop.last_line);
  }
}

void take(exchange::ByteReader& in, JobLoops& all) {
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    JobLoop loop;
    loop.key = in.text();
    loop.parent = static_cast<std::uint32_t>(in.number_to(std::uint64_t{1} << 32) - 1);
    if (loop.parent != JobLoop::kNoParent && loop.parent >= all.loops.size()) in.fail();
    loop.named = in.number_to(1) != 0;
    loop.function = in.text();
    loop.file = in.text();
    loop.first_line = in.number32();
    loop.last_line = in.number32();
    all.loops.push_back(std::move(loop));
  }
}

LoopLabels loop_labels(const std::vector<LoopNode>& tree, const JobLoops& own,
                       const JobLoops& all) {
  const auto children = children_of(all);
  std::vector<LoopLabel> labels(all.loops.size());
  std::uint32_t last = 0;
  const auto number = [&](const auto& self, std::uint32_t index, std::int64_t parent,
                          std::uint16_t level) -> void {
    labels[index] = {++last, parent, level, all.loops[index]};
    const std::uint32_t own_number = last;
    for (const std::uint32_t inner : children[index])
      self(self, inner, own_number, static_cast<std::uint16_t>(level + 1));
  };
  for (const std::uint32_t outermost : children.back()) number(number, outermost, -1, 0);
  const Index index = index_of(all);
  LoopLabels out;
  std::vector<std::uint32_t> place(own.loops.size());
  for (std::size_t i = 0; i < own.loops.size(); ++i) {
    const JobLoop& loop = own.loops[i];
    const std::uint32_t parent =
        loop.parent == JobLoop::kNoParent ? loop.parent : place[loop.parent];
    place[i] = index.at({parent, loop.key});
    out[tree[i].loop] = labels[place[i]];
  }
  return out;
}

std::string LoopLabel::region_name() const {
  if (loop.named) return loop.function;
  std::string where = loop.function;
  if (!loop.file.empty())
    where += (where.empty() ? "" : " ") +
             loop.file.substr(loop.file.find_last_of('/') + 1) +
             lines_of(loop.first_line, loop.last_line);
  const std::string name = "loop " + std::to_string(number);
  return where.empty() ? name : name + " @ " + where;
}

regions::RegionDef LoopLabel::region() const {
  regions::RegionDef def;
  def.name = def.canonical = region_name();
  def.file = loop.file.empty() && !loop.named ? "OMP" : loop.file;
  def.line = loop.first_line;
  def.description = loop.named ? "phase that the program names"
                               : "iterations of a loop detected by Refrain";
  return def;
}

}  // namespace refrain::writer
