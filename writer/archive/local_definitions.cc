#include "writer/archive/local_definitions.h"

#include "writer/archive/location_reference.h"

namespace refrain::writer {
namespace {

constexpr const char* kWhat = "cannot write definitions";

void write_location(Otf2Archive& archive, std::uint64_t ref,
                    const LocalDefinitions& process) {
  OTF2_DefWriter* writer = OTF2_Archive_GetDefWriter(archive.get(), ref);
  if (writer == nullptr) {
    archive.check(OTF2_ERROR_FILE_CAN_NOT_OPEN, kWhat);
    return;
  }
  if (process.offsets != nullptr)
    for (const auto& offset : *process.offsets)
      archive.check(
          OTF2_DefWriter_WriteClockOffset(writer, offset.ticks, offset.offset_ticks,
                                          static_cast<double>(offset.error_ticks)),
          kWhat);
  archive.check(OTF2_Archive_CloseDefWriter(archive.get(), writer), kWhat);
}

}  // namespace

void write_local_definitions(Otf2Archive& archive, std::uint64_t first_location,
                             const std::vector<LocalDefinitions>& processes) {
  archive.check(OTF2_Archive_OpenDefFiles(archive.get()), kWhat);
  std::uint64_t first = first_location;
  for (const LocalDefinitions& process : processes) {
    for (std::uint64_t i = 0; i < process.locations && archive.error().empty(); ++i)
      write_location(archive, location_reference(first, i), process);
    first += process.locations;
  }
  if (archive.error().empty())
    archive.check(OTF2_Archive_CloseDefFiles(archive.get()), kWhat);
}

}  // namespace refrain::writer
