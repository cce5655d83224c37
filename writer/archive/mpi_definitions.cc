#include "writer/archive/mpi_definitions.h"

#include <map>
#include <vector>

#include "writer/interpret/event_sink.h"

namespace refrain::writer {
namespace {

class MpiDefinitions {
 public:
  MpiDefinitions(OTF2_GlobalDefWriter* writer, const MpiDefinitionInput& input)
      : writer_(writer), in_(input), next_group_(input.first_group) {}

  OTF2_ErrorCode write() {
    const OTF2_StringRef name = in_.text("MPI locations");
    check(OTF2_GlobalDefWriter_WriteGroup(
        writer_, next_group_++, name, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
        OTF2_GROUP_FLAG_NONE, static_cast<std::uint32_t>(in_.locations.size()),
        in_.locations.data()));
    // First, so that their references follow from the table alone (MpiContext::group_of()).
    for (const GroupEntry& each : in_.comms->groups)
      new_group(OTF2_GROUP_TYPE_COMM_GROUP, each.members);
    const auto& comms = in_.comms->comms;
    written_.resize(comms.size());
    for (std::size_t i = 0; i < comms.size(); ++i) comm(i);
    for (std::size_t i = 0; i < comms.size(); ++i) topology(i);
    for (std::size_t i = 0; i < in_.comms->windows.size(); ++i) window(i);
    return first_;
  }

 private:
  void check(OTF2_ErrorCode code) {
    if (first_ == OTF2_SUCCESS) first_ = code;
  }

  OTF2_CommRef reference(std::size_t index) const {
    return in_.first_comm + static_cast<OTF2_CommRef>(index);
  }

  static std::string name_of(const CommFacts& facts, std::size_t index) {
    if (!facts.name.empty()) return facts.name;
    if (facts.kind == spool::kMpiCommWorld) return "MPI_COMM_WORLD";
    if (facts.kind == spool::kMpiCommSelf) return "MPI_COMM_SELF";
    return "communicator " + std::to_string(index);
  }

  // Equal groups are one.
  OTF2_GroupRef group(OTF2_GroupType type, const RankList& ranks) {
    const auto known = groups_.find({type, ranks});
    return known != groups_.end() ? known->second : new_group(type, ranks);
  }

  OTF2_GroupRef new_group(OTF2_GroupType type, const RankList& ranks) {
    groups_.try_emplace({type, ranks}, next_group_);
    const std::vector<std::uint64_t> members = ranks.expanded<std::uint64_t>();
    const OTF2_StringRef name = in_.text(
        type == OTF2_GROUP_TYPE_COMM_SELF ? "MPI_COMM_SELF"
                                          : "MPI group " + std::to_string(groups_.size()));
    check(OTF2_GlobalDefWriter_WriteGroup(
        writer_, next_group_, name, type, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
        static_cast<std::uint32_t>(members.size()), members.data()));
    return next_group_++;
  }

  OTF2_CommRef parent_of(std::size_t index) const {
    const std::uint32_t parent = in_.comms->comms[index].parent;
    return parent == kNoRank ? OTF2_UNDEFINED_COMM : reference(parent);
  }

  // A communicator made from an intercommunicator (MPI_Intercomm_merge) has no parent:
  // readers look for it among the others.
  OTF2_CommRef intra_parent_of(std::size_t index) const {
    const std::uint32_t parent = in_.comms->comms[index].parent;
    const bool inter = parent != kNoRank && parent < in_.comms->comms.size() &&
                       in_.comms->comms[parent].facts.kind == spool::kMpiCommInter;
    return inter ? OTF2_UNDEFINED_COMM : parent_of(index);
  }

  // What a communicator refers to comes before it: readers look it up at once.
  void comm(std::size_t index) {
    if (written_[index]) return;
    written_[index] = true;
    const std::uint32_t parent = in_.comms->comms[index].parent;
    if (parent != kNoRank && parent < written_.size()) comm(parent);
    const CommFacts& facts = in_.comms->comms[index].facts;
    const OTF2_StringRef name = in_.text(name_of(facts, index));
    if (facts.kind == spool::kMpiCommInter) {
      const OTF2_GroupRef a = group(OTF2_GROUP_TYPE_COMM_GROUP, facts.members);
      const OTF2_GroupRef b = group(OTF2_GROUP_TYPE_COMM_GROUP, facts.remote);
      const OTF2_CommRef common =
          parent_of(index) == OTF2_UNDEFINED_COMM ? reference(0) : parent_of(index);
      check(OTF2_GlobalDefWriter_WriteInterComm(writer_, reference(index), name, a, b,
                                                common, OTF2_COMM_FLAG_NONE));
      return;
    }
    const OTF2_GroupRef members = facts.kind == spool::kMpiCommSelf
                                      ? group(OTF2_GROUP_TYPE_COMM_SELF, {})
                                      : group(OTF2_GROUP_TYPE_COMM_GROUP, facts.members);
    check(OTF2_GlobalDefWriter_WriteComm(writer_, reference(index), name, members,
                                         intra_parent_of(index), OTF2_COMM_FLAG_NONE));
  }

  // Ranks lie row by row in a grid, as MPI prescribes.
  void topology(std::size_t index) {
    const CommFacts& facts = in_.comms->comms[index].facts;
    const CartGrid grid = cart_grid(facts.topology);
    const auto dimensions = static_cast<std::uint8_t>(grid.sizes.size());
    std::uint64_t places = 1;
    for (const std::uint32_t size : grid.sizes) places *= size;
    if (dimensions == 0 || places != facts.members.size()) return;
    std::vector<OTF2_CartDimensionRef> refs;
    for (std::size_t i = 0; i < dimensions; ++i) {
      refs.push_back(next_dimension_);
      check(OTF2_GlobalDefWriter_WriteCartDimension(
          writer_, next_dimension_++, in_.text("dimension " + std::to_string(i)),
          grid.sizes[i],
          grid.periodic[i] ? OTF2_CART_PERIODIC_TRUE : OTF2_CART_PERIODIC_FALSE));
    }
    check(OTF2_GlobalDefWriter_WriteCartTopology(
        writer_, next_topology_, in_.text(name_of(facts, index)), reference(index),
        dimensions, refs.data()));
    for (std::uint32_t rank = 0; rank < places; ++rank) {
      std::vector<std::uint32_t> coordinates(dimensions);
      std::uint32_t rest = rank;
      for (std::size_t i = dimensions; i-- > 0; rest /= grid.sizes[i])
        coordinates[i] = rest % grid.sizes[i];
      check(OTF2_GlobalDefWriter_WriteCartCoordinate(writer_, next_topology_, rank,
                                                     dimensions, coordinates.data()));
    }
    ++next_topology_;
  }

  void window(std::size_t index) {
    const std::string& own = in_.comms->windows[index].name;
    const OTF2_StringRef name =
        in_.text(own.empty() ? "window " + std::to_string(index) : own);
    check(OTF2_GlobalDefWriter_WriteRmaWin(writer_, static_cast<OTF2_RmaWinRef>(index),
                                           name, reference(in_.comms->windows[index].comm),
                                           OTF2_RMA_WIN_FLAG_NONE));
  }

  OTF2_GlobalDefWriter* writer_;
  const MpiDefinitionInput& in_;
  OTF2_ErrorCode first_ = OTF2_SUCCESS;
  std::map<std::pair<OTF2_GroupType, RankList>, OTF2_GroupRef> groups_;
  OTF2_GroupRef next_group_;
  std::vector<bool> written_;  // by communicator
  OTF2_CartDimensionRef next_dimension_ = 0;
  OTF2_CartTopologyRef next_topology_ = 0;
};

}  // namespace

OTF2_ErrorCode write_mpi_definitions(OTF2_GlobalDefWriter* writer,
                                     const MpiDefinitionInput& input) {
  return MpiDefinitions(writer, input).write();
}

OTF2_ErrorCode write_mpi_paradigm(
    OTF2_GlobalDefWriter* writer, const std::vector<regions::SourcePlace>& places,
    const std::function<OTF2_StringRef(const std::string&)>& text) {
  OTF2_ErrorCode first = OTF2_SUCCESS;
  const auto check = [&first](OTF2_ErrorCode code) {
    if (first == OTF2_SUCCESS) first = code;
  };
  check(OTF2_GlobalDefWriter_WriteParadigm(writer, OTF2_PARADIGM_MPI, text("MPI"),
                                           OTF2_PARADIGM_CLASS_PROCESS));
  const OTF2_StringRef name = text("call_site");
  const OTF2_StringRef description = text("where MPI was called");
  check(OTF2_GlobalDefWriter_WriteAttribute(writer, kCallSiteAttribute, name, description,
                                            OTF2_TYPE_SOURCE_CODE_LOCATION));
  for (std::size_t i = 0; i < places.size(); ++i)
    check(OTF2_GlobalDefWriter_WriteSourceCodeLocation(
        writer, static_cast<OTF2_SourceCodeLocationRef>(i), text(places[i].file),
        places[i].line));
  return first;
}

}  // namespace refrain::writer
