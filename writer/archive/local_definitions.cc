#include "writer/archive/local_definitions.h"

namespace refrain::writer {
namespace {

constexpr const char* kDefinitionsFailed = "cannot write definitions";

void write_location(Otf2Archive& archive, std::uint64_t ref,
                    const LocalDefinitions& process) {
  OTF2_DefWriter* writer = OTF2_Archive_GetDefWriter(archive.get(), ref);
  if (writer == nullptr) {
    archive.check(OTF2_ERROR_FILE_CAN_NOT_OPEN, kDefinitionsFailed);
    return;
  }
  if (process.offsets != nullptr)
    for (const auto& offset : *process.offsets)
      archive.check(
          OTF2_DefWriter_WriteClockOffset(writer, offset.ticks, offset.offset_ticks,
                                          static_cast<double>(offset.error_ticks)),
          kDefinitionsFailed);
  archive.check(OTF2_Archive_CloseDefWriter(archive.get(), writer), kDefinitionsFailed);
}

}  // namespace

void write_local_definitions(Otf2Archive& archive,
                             const std::vector<LocalDefinitions>& processes) {
  archive.check(OTF2_Archive_OpenDefFiles(archive.get()), kDefinitionsFailed);
  for (const LocalDefinitions& process : processes)
    for (const OTF2_LocationRef location : process.locations)
      if (archive.error().empty()) write_location(archive, location, process);
  if (archive.error().empty())
    archive.check(OTF2_Archive_CloseDefFiles(archive.get()), kDefinitionsFailed);
}

}  // namespace refrain::writer
