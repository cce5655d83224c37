// ELF files with given functions, for tests and fuzzers of what reads machine code.
//
// Functions and data lie in one segment, at the address kBegin. Pure. Header only.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace refrain::code {

class SyntheticProgram {
 public:
  static constexpr std::uint64_t kBegin = 0x1000;

  explicit SyntheticProgram(std::uint16_t machine = EM_X86_64) : machine_(machine) {}

  // Where the next bytes will be.
  std::uint64_t here() const { return kBegin + bytes_.size(); }

  // Returns where it begins. Without a name it has no symbol; `sized`: whether its symbol says its size.
  std::uint64_t add(const std::string& name, const std::vector<std::uint8_t>& code,
                    bool sized = true) {
    const std::uint64_t begin = here();
    bytes_.insert(bytes_.end(), code.begin(), code.end());
    if (!name.empty()) symbols_.push_back({name, begin, sized ? code.size() : 0});
    return begin;
  }
  std::uint64_t add_words(const std::vector<std::int32_t>& words) {
    std::vector<std::uint8_t> bytes(words.size() * 4);
    std::memcpy(bytes.data(), words.data(), bytes.size());
    return add({}, bytes);
  }
  std::uint64_t add_addresses(const std::vector<std::uint64_t>& words) {
    std::vector<std::uint8_t> bytes(words.size() * 8);
    std::memcpy(bytes.data(), words.data(), bytes.size());
    return add({}, bytes);
  }
  // The table for exceptions, in a section as GNU's linker makes it, or LLVM's (SHT_X86_64_UNWIND).
  void add_frames(const std::vector<std::uint8_t>& frames, unsigned type = SHT_PROGBITS) {
    frames_type_ = type;
    frames_at_ = here();
    frames_ = frames.size();
    bytes_.insert(bytes_.end(), frames.begin(), frames.end());
  }

  std::vector<std::uint8_t> file() const {
    std::vector<std::uint8_t> out(kBegin);
    out.insert(out.end(), bytes_.begin(), bytes_.end());
    std::string texts(1, '\0');
    std::vector<Elf64_Sym> symbols(1);
    for (const Symbol& symbol : symbols_) {
      Elf64_Sym& made = symbols.emplace_back();
      made.st_name = static_cast<Elf64_Word>(texts.size());
      made.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
      made.st_shndx = 1;
      made.st_value = symbol.begin;
      made.st_size = symbol.size;
      texts += symbol.name + '\0';
    }
    const std::string names("\0.text\0.symtab\0.strtab\0.eh_frame", 33);
    std::vector<Elf64_Shdr> sections(5);
    const auto section = [&](std::size_t number, unsigned name, unsigned type,
                             std::uint64_t offset, std::uint64_t size) {
      sections[number].sh_name = name;
      sections[number].sh_type = type;
      sections[number].sh_offset = offset;
      sections[number].sh_size = size;
      sections[number].sh_addralign = 1;
    };
    section(1, 1, SHT_PROGBITS, kBegin, bytes_.size());
    sections[1].sh_addr = kBegin;
    sections[1].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
    out.resize((out.size() + 7) / 8 * 8);
    section(2, 7, SHT_SYMTAB, out.size(), symbols.size() * sizeof(Elf64_Sym));
    sections[2].sh_link = 3;
    sections[2].sh_entsize = sizeof(Elf64_Sym);
    append(out, symbols.data(), symbols.size() * sizeof(Elf64_Sym));
    section(3, 15, SHT_STRTAB, out.size(), texts.size() + names.size());
    append(out, texts.data(), texts.size());
    append(out, names.data(), names.size());
    for (std::size_t i = 0; i < sections.size(); ++i)
      sections[i].sh_name += static_cast<Elf64_Word>(texts.size());
    section(4, static_cast<unsigned>(texts.size()) + 23, frames_type_, frames_at_, frames_);
    sections[4].sh_addr = frames_at_;
    sections[4].sh_flags = SHF_ALLOC;
    out.resize((out.size() + 7) / 8 * 8);
    const std::uint64_t at = out.size();
    append(out, sections.data(), sections.size() * sizeof(Elf64_Shdr));
    head(out, at, sections.size());
    return out;
  }

 private:
  struct Symbol {
    std::string name;
    std::uint64_t begin;
    std::uint64_t size;
  };

  static void append(std::vector<std::uint8_t>& out, const void* data, std::size_t size) {
    const auto* const bytes = static_cast<const std::uint8_t*>(data);
    out.insert(out.end(), bytes, bytes + size);
  }

  void head(std::vector<std::uint8_t>& out, std::uint64_t sections,
            std::size_t count) const {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
    header.e_machine = machine_;
    header.e_version = EV_CURRENT;
    header.e_phoff = sizeof header;
    header.e_shoff = sections;
    header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 1;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(count);
    header.e_shstrndx = 3;
    Elf64_Phdr segment{};
    segment.p_type = PT_LOAD;
    segment.p_flags = PF_R | PF_X;
    segment.p_offset = segment.p_vaddr = segment.p_paddr = kBegin;
    segment.p_filesz = segment.p_memsz = bytes_.size();
    segment.p_align = 0x1000;
    std::memcpy(out.data(), &header, sizeof header);
    std::memcpy(out.data() + sizeof header, &segment, sizeof segment);
  }

  std::uint16_t machine_;
  std::vector<std::uint8_t> bytes_;
  std::vector<Symbol> symbols_;
  std::uint64_t frames_at_ = 0;
  unsigned frames_type_ = SHT_PROGBITS;
  std::size_t frames_ = 0;
};

}  // namespace refrain::code
