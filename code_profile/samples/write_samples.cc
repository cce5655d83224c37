#include "code_profile/samples/write_samples.h"

#include <filesystem>
#include <system_error>

#include "code_profile/samples/sample_file.h"
#include "code_profile/samples/sample_placement.h"
#include "spool/sample_reader.h"

namespace refrain::code_profile {

base::Result<bool> write_samples(const std::string& spool_process_folder,
                                 const std::vector<std::string>& module_texts,
                                 const std::string& command,
                                 const std::string& archive_folder, std::uint32_t process) {
  const std::string path = spool_process_folder + "/" + kSpooledSamples;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return false;
  const auto tree = spool::read_samples(path);
  if (!tree) return tree.failure();
  PlacedSamples samples = place_samples(*tree, module_texts);
  samples.process = process;
  samples.command = command;
  if (const auto done = write_sample_file(archive_folder, samples); !done)
    return done.failure();
  return true;
}

}  // namespace refrain::code_profile
