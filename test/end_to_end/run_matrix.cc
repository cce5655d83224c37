#include "test/end_to_end/run_matrix.h"

#include "test/support/test_length.h"

namespace refrain::test {
namespace {

using Settings = std::map<std::string, std::string>;

std::vector<MatrixRun> product(const std::vector<std::string>& programs,
                               const std::vector<int>& numbers) {
  std::vector<MatrixRun> result;
  for (const std::string& program : programs)
    for (const int number : numbers) result.push_back({program, number});
  return result;
}

MpiJob mpi_job(const MatrixRun& run, const Settings& settings) {
  return {.program = run.program,
          .ranks = run.number,
          .threads = run.program.starts_with("hybrid") ? 2 : 1,
          .settings = settings};
}

}  // namespace

const std::vector<MatrixRun>& openmp_matrix() {
  static const std::vector<MatrixRun> kShort = {
      {"cg_clang", 1}, {"tasks_clang", 2}, {"shortloop_gcc", 1}};
  static const std::vector<MatrixRun> kLong =
      product({"cg_clang", "cg_gcc", "tasks_clang", "phases_gcc", "irregular_clang",
               "shortloop_gcc", "heat_gfortran"},
              {1, 2});
  return test_length() == TestLength::kShort ? kShort : kLong;
}

const std::vector<MatrixRun>& mpi_matrix() {
  static const std::vector<MatrixRun> kShort = {
      {"ring_gcc", 1},     {"halo_clang", 2},      {"halo_clang", 4},
      {"sweep_clang", 2},  {"sweep_clang", 4},     {"allreduce_gcc", 2},
      {"onesided_gcc", 1}, {"icollective_gcc", 1}, {"rowcol_cg_gcc", 4},
      {"hybrid_clang", 1}, {"hybrid_clang", 4}};
  static const std::vector<MatrixRun> kLong =
      product({"ring_gcc", "halo_clang", "persistent_gcc", "sweep_clang", "allreduce_gcc",
               "onesided_gcc", "icollective_gcc", "rowcol_cg_gcc", "hybrid_clang"},
              {1, 2, 4});
  return test_length() == TestLength::kShort ? kShort : kLong;
}

Job full_openmp(const MatrixRun& run) {
  return {.program = run.program, .threads = run.number, .settings = {{"LIMIT", "0"}}};
}

Job reduced_openmp(const MatrixRun& run) {
  return {.program = run.program,
          .threads = run.number,
          .settings = {{"LIMIT", "3"}, {"MIN_GAP", "0"}}};
}

MpiJob full_mpi(const MatrixRun& run) {
  return mpi_job(run, {{"LIMIT", "0"}, {"GRAPH", "partner,size"}});
}

MpiJob reduced_mpi(const MatrixRun& run) {
  return mpi_job(run, {{"LIMIT", "3"}, {"MIN_GAP", "0"}, {"GRAPH", "partner,size"}});
}

bool polls_nondeterministic(const MatrixRun& run) {
  return run.program.starts_with("icollective");
}

}  // namespace refrain::test
