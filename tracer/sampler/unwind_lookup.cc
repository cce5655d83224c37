#include "tracer/sampler/unwind_lookup.h"

#include <dlfcn.h>
#include <link.h>

#include <bit>

#if defined(DLFO_STRUCT_HAS_EH_DBASE)
// Weak: the library is to be loaded with a C library that has it not, too.
extern "C" __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));
#endif

namespace refrain::sampler {
namespace {

constexpr std::uint8_t kTableOfOffsets = 0x3b;  // DW_EH_PE_datarel | DW_EH_PE_sdata4
constexpr std::uint8_t kCountOf4Bytes = 0x03;   // DW_EH_PE_udata4
constexpr std::uint8_t kOmitted = 0xff;

ByteRange range(std::uintptr_t begin, std::uintptr_t end) noexcept {
  return {reinterpret_cast<const std::uint8_t*>(begin),
          reinterpret_cast<const std::uint8_t*>(end)};
}

struct IndexEntry {
  std::int32_t function;  // both from the start of the index
  std::int32_t entry;
};

IndexEntry index_entry(const std::uint8_t* entries, std::uint64_t number) noexcept {
  IndexEntry entry;
  __builtin_memcpy(&entry, entries + number * sizeof entry, sizeof entry);
  return entry;
}

// The mapping that has the object's tables. A program whose segments have holes between them is several
// objects to the C library, one a segment, and code and tables are in two of them.
bool find_tables(const CodeObject& object, CodeObject& tables) noexcept {
  tables = object;
  if (object.index >= object.begin && object.index < object.end) return true;
  return object.index != 0 && find_object(object.index, tables) &&
         tables.index == object.index && object.index >= tables.begin &&
         object.index < tables.end;
}

// Address of the FDE of the last function that begins at `address` or before. 0: none.
std::uintptr_t search_index(const CodeObject& object, const CodeObject& tables,
                            std::uintptr_t address) noexcept {
  TableCursor cursor(range(object.index, tables.end));
  if (cursor.byte() != 1) return 0;  // version
  const std::uint8_t frames_encoding = cursor.byte();
  const std::uint8_t count_encoding = cursor.byte();
  const std::uint8_t table_encoding = cursor.byte();
  if (count_encoding != kCountOf4Bytes || table_encoding != kTableOfOffsets) return 0;
  if (frames_encoding != kOmitted) cursor.encoded(frames_encoding);
  std::uint64_t high = cursor.fixed<std::uint32_t>();
  const std::uint8_t* const entries = cursor.block(high * sizeof(IndexEntry)).begin;
  if (!cursor.ok() || high == 0) return 0;
  const auto distance = static_cast<std::int64_t>(address - object.index);
  if (index_entry(entries, 0).function > distance) return 0;
  std::uint64_t low = 0;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (index_entry(entries, middle).function <= distance ? low : high) = middle;
  }
  return object.index + static_cast<std::uintptr_t>(
                            static_cast<std::intptr_t>(index_entry(entries, low).entry));
}

// What an entry of .eh_frame holds behind its length.
bool entry_at(const CodeObject& tables, std::uintptr_t address,
              ByteRange& content) noexcept {
  if (address < tables.begin || address >= tables.end) return false;
  TableCursor cursor(range(address, tables.end));
  std::uint64_t bytes = cursor.fixed<std::uint32_t>();
  if (bytes == 0xffffffff) bytes = cursor.fixed<std::uint64_t>();
  content = cursor.block(bytes);
  return cursor.ok() && bytes != 0;
}

struct CommonParts {
  std::uint8_t pointers = 0;  // encoding of the addresses of functions
  bool augmented = false;
};

bool read_augmentation(TableCursor& cursor, const std::uint8_t* text, CommonParts& parts,
                       FrameProgram& program) noexcept {
  TableCursor data(cursor.block());
  for (++text; *text != 0; ++text) {
    switch (*text) {
      case 'R':
        parts.pointers = data.byte();
        break;
      case 'L':
        data.byte();
        break;
      case 'P':
        data.encoded(data.byte() & 0x0f);
        break;
      case 'S':
        program.signal_frame = true;
        break;
      case 'B':  // of aarch64: the key of signed return addresses
        break;
      default:
        return false;
    }
  }
  return data.ok();
}

bool read_common(const CodeObject& tables, std::uintptr_t address, CommonParts& parts,
                 FrameProgram& program) noexcept {
  ByteRange content;
  if (!entry_at(tables, address, content)) return false;
  TableCursor cursor(content);
  if (cursor.fixed<std::uint32_t>() != 0) return false;  // a function's, not a common one
  const std::uint8_t version = cursor.byte();
  if (version != 1 && version != 3 && version != 4) return false;
  const std::uint8_t* const text = cursor.at();
  while (cursor.byte() != 0) {
  }
  if (!cursor.ok()) return false;
  if (version == 4 && (cursor.byte() != sizeof(void*) || cursor.byte() != 0)) return false;
  program.code_alignment = cursor.uleb();
  program.data_alignment = cursor.sleb();
  program.return_register = version == 1 ? cursor.byte() : cursor.uleb();
  parts.augmented = *text == 'z';
  if (parts.augmented ? !read_augmentation(cursor, text, parts, program) : *text != 0)
    return false;
  program.common = {cursor.at(), content.end};
  return cursor.ok();
}

}  // namespace

bool have_object_lookup() noexcept {
#if defined(DLFO_STRUCT_HAS_EH_DBASE)
  return &_dl_find_object != nullptr;
#else
  return false;
#endif
}

bool find_object(std::uintptr_t address, CodeObject& object) noexcept {
#if defined(DLFO_STRUCT_HAS_EH_DBASE)
  dl_find_object found;
  if (!have_object_lookup() ||
      _dl_find_object(reinterpret_cast<void*>(address), &found) != 0)
    return false;
  object.begin = reinterpret_cast<std::uintptr_t>(found.dlfo_map_start);
  object.end = reinterpret_cast<std::uintptr_t>(found.dlfo_map_end);
  object.index = reinterpret_cast<std::uintptr_t>(found.dlfo_eh_frame);
  const auto name = reinterpret_cast<std::uintptr_t>(found.dlfo_link_map);
  object.file = found.dlfo_link_map == nullptr ? nullptr : found.dlfo_link_map->l_name;
  object.identity = object.begin ^ std::rotl(object.index, 17) ^ std::rotl(name, 31);
  return true;
#else
  (void)address, (void)object;
  return false;
#endif
}

bool find_frame_program(const CodeObject& object, std::uintptr_t address,
                        FrameProgram& program) noexcept {
  CodeObject tables;
  if (!find_tables(object, tables)) return false;
  const std::uintptr_t entry = search_index(object, tables, address);
  ByteRange content;
  if (entry == 0 || !entry_at(tables, entry, content)) return false;
  TableCursor cursor(content);
  const std::uintptr_t here = cursor.address();
  const std::uint32_t distance = cursor.fixed<std::uint32_t>();
  CommonParts parts;
  if (distance == 0 || !read_common(tables, here - distance, parts, program)) return false;
  program.function_begin = cursor.encoded(parts.pointers);
  const std::uint64_t bytes = cursor.encoded(parts.pointers & 0x0f);
  if (parts.augmented) cursor.block();
  program.own = {cursor.at(), content.end};
  return cursor.ok() && address >= program.function_begin &&
         address - program.function_begin < bytes;
}

}  // namespace refrain::sampler
