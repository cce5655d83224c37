#include "analysis/profile/path_names.h"

#include <filesystem>
#include <string_view>
#include <vector>

namespace refrain::analysis {

std::string region_text(const RunProfile::Region& region) {
  constexpr std::string_view kDirective = "!$omp ";
  std::string name = region.name;
  if (name.starts_with(kDirective)) name.erase(0, kDirective.size());
  if (region.line == 0 || name.find('@') != std::string::npos) return name;
  return name + " @" + std::filesystem::path(region.file).filename().string() + ":" +
         std::to_string(region.line);
}

std::string path_name(const RunProfile& profile, std::uint32_t path) {
  const RunProfile::Path& at = profile.paths[path];
  if (at.region == RunProfile::kNone) return "other regions";
  const RunProfile::Region& region = profile.regions[at.region];
  if (at.site.empty()) return region_text(region);
  return region.name + " @" + std::filesystem::path(at.site).filename().string();
}

std::string path_text(const RunProfile& profile, std::uint32_t path) {
  std::string text = path_name(profile, path);
  while ((path = profile.paths[path].parent) != RunProfile::kNone)
    text.insert(0, path_name(profile, path) + " > ");
  return text;
}

}  // namespace refrain::analysis
