#include "regions/region_table.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "addresses/short_name.h"
#include "base/mpi_roles.h"
#include "base/pthread_calls.h"
#include "spool/file_format.h"
#include "spool/thread_format.h"

namespace refrain::regions {
namespace {

// Of a function's begin.
std::string without_offset(std::string name) {
  if (name.ends_with("+0x0")) name.resize(name.size() - 4);
  return name;
}

RegionKey key_of(const spool::LoopBodyEvent& event) {
  spool::Record record{};
  record.kind = event.record_kind;
  record.sub = static_cast<std::uint8_t>(event.sub);
  record.payload = event.address;
  return keys_opened_by(record)[0];
}

std::string procedure_name(const spool::Journal& journal, std::uint64_t number) {
  const auto found = journal.mpi.procedures.find(static_cast<std::uint16_t>(number));
  return found != journal.mpi.procedures.end() ? found->second
                                               : "MPI procedure " + std::to_string(number);
}

// One region for all calls of a procedure, which readers know by name and by the file.
RegionDef define_procedure(std::string name) {
  RegionDef def;
  def.cls = RegionClass::kMpi;
  def.canonical = name;
  def.name = std::move(name);
  def.file = kMpiFile;
  return def;
}

// The region of ProgramBegin and ProgramEnd. Readers look for the name of the program's
// file, and its path and arguments as canonical name.
RegionDef define_program(const spool::Journal& journal) {
  RegionDef def;
  def.cls = RegionClass::kProgram;
  for (const std::string& text : program_texts(journal)) {
    if (def.canonical.empty()) {
      def.name = addresses::base_name(text);
      def.canonical = text;
    } else {
      def.canonical += ' ' + text;
    }
  }
  return def;
}

std::string named_at(RegionClass cls, const std::string& place) {
  const std::string name = class_name(cls);
  return place.empty() ? name : name + " @" + place;
}

// A name at several places makes several regions.
RegionDef define_user(const spool::UserRegion& region) {
  RegionDef def;
  def.cls = RegionClass::kUser;
  def.name = def.canonical = region.text;
  if (!region.construct.empty()) {
    def.cls = RegionClass::kKokkos;
    if (!region.type.empty()) def.canonical = region.type;
    def.description = "Kokkos " + region.construct;
  }
  def.file = region.file;
  def.line = region.line;
  return def;
}

// Of a call on a file: files whose names differ by numbers only have one.
RegionDef define_file(const spool::FileTable& files, std::uint64_t key) {
  const std::size_t number = key >> spool::kFileOperationShift;
  const spool::FileOperationRow& operation =
      spool::kFileOperations[number < spool::kFileOperations.size() ? number : 0];
  RegionDef def;
  def.cls = RegionClass::kFile;
  def.canonical = operation.name;
  def.name = def.canonical + ' ' +
             files.name(static_cast<std::uint32_t>(key) &
                        ((1U << spool::kFileOperationShift) - 1));
  def.description = operation.stream ? "ISO C I/O" : "POSIX I/O";
  return def;
}

// Of a lock that is waited for.
RegionDef define_holder(std::uint64_t function, addresses::Resolver& resolver) {
  RegionDef def;
  def.cls = RegionClass::kHolder;
  def.name = base::kHeldBy;
  if (function == spool::kMainThread)
    def.name += "main thread";
  else if (function == spool::kAnotherThread)
    def.name += "another thread";
  else
    def.name += thread_name(resolver.at(function), function);
  def.canonical = def.name;
  return def;
}

}  // namespace

RegionDef define_construct(RegionKey key, const addresses::Place& where) {
  RegionDef def;
  def.cls = key.cls;
  const std::string place = place_of(where);
  def.name = named_at(key.cls, place);
  // Readers of OpenMP traces know a region by its canonical name, `!$omp ...`, or otherwise
  // by the file "OMP". Barriers have two such names only; what the runtime says of gcc's is neither.
  def.canonical = key.cls == RegionClass::kImplementationBarrier
                      ? named_at(RegionClass::kImplicitBarrier, place)
                      : def.name;
  const bool directive = def.name.starts_with("!$omp");
  def.file = paradigm_of(key.cls) == OTF2_PARADIGM_PTHREAD ? where.file
             : where.file.empty() || !directive            ? "OMP"
                                                           : where.file;
  def.linkage_name = where.elf_symbol;
  def.source_file = where.file;
  def.line = where.line;
  if (!where.function.empty()) def.description = "in " + where.function;
  return def;
}

RegionDef define_function(const addresses::Place& function, std::uint64_t address) {
  RegionDef def;
  def.cls = RegionClass::kFunction;
  def.name = function_name(function, address);
  def.canonical = function.elf_symbol.empty() ? def.name : function.elf_symbol;
  def.file = function.file;
  def.line = function.line;
  return def;
}

// Iterations are explicitly wanted: no filter removes them. The program is never entered.
bool is_left_out(const filters::RegionFilter& filter, const RegionDef& region) {
  return region.cls != RegionClass::kNone && region.cls != RegionClass::kProgram &&
         filter.excludes(
             region.name,
             region.linkage_name.empty() ? region.canonical : region.linkage_name,
             region.source_file.empty() ? region.file : region.source_file);
}

std::vector<std::string> program_texts(const spool::Journal& journal) {
  std::vector<std::string> texts{journal.text(spool::kTextProgram)};
  if (texts.front().empty()) texts.front() = "program";
  const std::string command = journal.text(spool::kTextCommand);
  // The first argument is the program itself.
  std::size_t end = command.find('\0');
  while (end < command.size() && end + 1 < command.size()) {
    const std::size_t at = end + 1;
    end = std::min(command.find('\0', at), command.size());
    texts.push_back(command.substr(at, end - at));
  }
  return texts;
}

std::string place_of(const addresses::Place& where) {
  if (!where.file.empty())
    return addresses::base_name(where.file) + ":" + std::to_string(where.line);
  return without_offset(addresses::short_place(where.function));
}

std::string function_name(const addresses::Place& function, std::uint64_t address) {
  if (std::string name = addresses::thread_function(function); !name.empty()) return name;
  if (std::string name = without_offset(function.function); !name.empty()) return name;
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

std::string thread_name(const addresses::Place& function, std::uint64_t address) {
  if (std::string name = addresses::thread_function(function); !name.empty()) return name;
  const std::string name = function_name(function, address);
  std::string in_short = addresses::short_name(name);
  return in_short.empty() ? name : in_short;
}

std::uint8_t role_of(const RegionDef& region) noexcept {
  if (region.cls == RegionClass::kMpi) return base::role_of_mpi(region.name);
  if (region.cls == RegionClass::kFile &&
      (region.canonical.ends_with("open") || region.canonical.ends_with("close")))
    return OTF2_REGION_ROLE_FILE_IO_METADATA;
  return role_of(region.cls);
}

std::string body_event_name(const spool::LoopBodyEvent& event,
                            const spool::Journal& journal, addresses::Resolver& resolver) {
  const RegionKey key = key_of(event);
  const char* name = class_name(key.cls);
  std::string text = name != nullptr ? name : "event";
  if (event.record_kind == spool::kUserPhase || event.record_kind == spool::kUserEnter) {
    const auto number = static_cast<std::uint32_t>(event.address);
    const bool phase = event.record_kind == spool::kUserPhase;
    return (!phase           ? ""
            : event.sub == 0 ? "phase "
                             : "end of phase ") +
           journal.user.region(number).text;
  }
  if (event.record_kind == spool::kFunctionEnter)
    return define_function(resolver.at(event.address), event.address).name;
  if (event.record_kind == spool::kMpiEnter) text = procedure_name(journal, event.sub);
  const std::string place = place_of(resolver.at_call(event.address));
  return place.empty() ? text : text + " @" + place;
}

std::string RegionDef::identity() const {
  return name + '\n' + canonical + '\n' + file + '\n' + std::to_string(line) + '\n' +
         (filtered ? "filtered\n" : "") + description;
}

std::string ParameterDef::identity() const { return (text ? "text " : "number ") + name; }

std::string SourcePlace::identity() const {
  return line == 0 ? file : file + ':' + std::to_string(line);
}

void ProcessRegions::renumber(const RegionNumbers& numbers) {
  for (auto& [key, region] : by_key_) region = numbers.regions.at(region);
  for (auto& [loop, region] : by_loop_) region = numbers.regions.at(region);
  for (auto& [key, parameter] : by_parameter_) parameter = numbers.parameters.at(parameter);
  for (auto& [site, place] : by_site_)
    if (place != kNoRegion) place = numbers.places.at(place);
}

std::uint32_t ProcessRegions::find(RegionKey key) const noexcept {
  const auto found = by_key_.find(key.packed());
  return found == by_key_.end() ? kNoRegion : found->second;
}

std::uint32_t ProcessRegions::parameter(RegionKey key) const noexcept {
  const auto found = by_parameter_.find(key.packed());
  return found == by_parameter_.end() ? kNoRegion : found->second;
}

std::uint32_t ProcessRegions::of_loop(std::uint32_t loop) const noexcept {
  const auto found = by_loop_.find(loop);
  return found == by_loop_.end() ? kNoRegion : found->second;
}

std::uint32_t ProcessRegions::place_of_site(std::uint64_t address) const noexcept {
  const auto found = by_site_.find(address);
  return found == by_site_.end() ? kNoRegion : found->second;
}

std::uint32_t RegionTable::intern_place(const addresses::Place& where) {
  // Without debug information the function and offset are the place. (A bare address is another one in each process.)
  const bool known =
      !where.file.empty() || (!where.function.empty() && !where.function.starts_with("0x"));
  if (!known) return kNoRegion;
  const SourcePlace place = where.file.empty()
                                ? SourcePlace{addresses::short_place(where.function), 0}
                                : SourcePlace{where.file, where.line};
  const auto [at, is_new] =
      place_ids_.try_emplace(place.identity(), static_cast<std::uint32_t>(places_.size()));
  if (is_new) places_.push_back(place);
  return at->second;
}

std::uint32_t RegionTable::intern_parameter(ParameterDef def) {
  const auto [at, is_new] = parameter_ids_.try_emplace(
      def.identity(), static_cast<std::uint32_t>(parameters_.size()));
  if (is_new) parameters_.push_back(std::move(def));
  return at->second;
}

std::uint32_t RegionTable::intern(RegionDef def) {
  def.filtered = is_left_out(filter_, def);
  const auto [at, is_new] =
      ids_.try_emplace(def.identity(), static_cast<std::uint32_t>(regions_.size()));
  if (is_new) regions_.push_back(std::move(def));
  return at->second;
}

RegionNumbers RegionTable::adopt(std::vector<RegionDef> regions,
                                 std::vector<SourcePlace> places,
                                 std::vector<ParameterDef> parameters) {
  const auto take = [](auto& own, auto all, auto& ids) {
    std::vector<std::uint32_t> numbers;
    ids.clear();
    for (std::size_t i = 0; i < all.size(); ++i)
      ids.emplace(all[i].identity(), static_cast<std::uint32_t>(i));
    numbers.reserve(own.size());
    for (const auto& each : own) numbers.push_back(ids.at(each.identity()));
    own = std::move(all);
    return numbers;
  };
  RegionNumbers out;
  out.regions = take(regions_, std::move(regions), ids_);
  out.places = take(places_, std::move(places), place_ids_);
  out.parameters = take(parameters_, std::move(parameters), parameter_ids_);
  return out;
}

ProcessRegions RegionTable::add_process(std::vector<std::uint64_t> keys,
                                        const std::map<std::uint64_t, std::uint64_t>& inner,
                                        const spool::Journal& journal,
                                        addresses::Resolver& resolver) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  ProcessRegions out;
  for (const std::uint64_t packed : keys) {
    const RegionKey key{static_cast<RegionClass>(packed >> 48),
                        packed & spool::kAddressMask};
    if (key.cls == RegionClass::kMpi)
      out.by_key_[packed] = intern(define_procedure(procedure_name(journal, key.address)));
    if (key.cls == RegionClass::kCallSite)
      out.by_site_[key.address] = intern_place(resolver.at_call(key.address));
    const auto number = static_cast<std::uint32_t>(key.address);
    if (key.cls == RegionClass::kUser)
      out.by_key_[packed] = intern(define_user(journal.user.region(number)));
    if (key.cls == RegionClass::kFile)
      out.by_key_[packed] = intern(define_file(journal.files, key.address));
    if (key.cls == RegionClass::kHolder)
      out.by_key_[packed] = intern(define_holder(key.address, resolver));
    if (key.cls == RegionClass::kFileName) {
      out.by_parameter_[kFileParameter.packed()] = intern_parameter({"file", true});
      out.by_parameter_[kOffsetParameter.packed()] = intern_parameter({"offset", false});
    }
    if (key.cls == RegionClass::kProgram) intern(define_program(journal));
    if (key.cls == RegionClass::kFunction)
      out.by_key_[packed] = intern(define_function(resolver.at(key.address), key.address));
    if (key.cls == RegionClass::kNumber || key.cls == RegionClass::kText)
      out.by_parameter_[packed] =
          intern_parameter({journal.user.parameter(number), key.cls == RegionClass::kText});
    if (class_name(key.cls) == nullptr) continue;
    RegionDef def = define_construct(key, resolver.at_call(key.address));
    const auto body = inner.find(key.address);
    if (key.cls == RegionClass::kParallel && body != inner.end()) {
      const addresses::Place& outlined = resolver.at_call(body->second);
      if (!outlined.elf_symbol.empty() &&
          outlined.module == resolver.at_call(key.address).module)
        def.description += ", outlined as " + outlined.elf_symbol;
    }
    out.by_key_[packed] = intern(std::move(def));
  }
  return out;
}

void RegionTable::add_loops(ProcessRegions& process,
                            std::map<std::uint32_t, RegionDef> loops) {
  for (auto& [id, def] : loops) process.by_loop_[id] = intern(std::move(def));
}

}  // namespace refrain::regions
