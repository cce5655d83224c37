// The MPI test programs by themselves, untraced: that they are suitable as references.
#include <catch2/catch.hpp>

#include "test/end_to_end/mpi_run.h"
#include "test/support/files.h"

namespace refrain::test::mpi_test {

TEST_CASE("MPI programs: untraced - results, iterations and logs") {
  for (const MpiProgram& program : mpi_programs())
    for (const std::string& name : compiled_names(program))
      for (const int ranks : {1, 2, 4, 8})
        DYNAMIC_SECTION(name << " " << ranks << " ranks") {
          TemporaryFolder folder;
          MpiJob job{name, {}, ranks, program.threads};
          const Result silent = run_mpi(job);
          INFO(silent.errors);
          REQUIRE(silent.exit_status == 0);
          CHECK(silent.errors == "");
          CHECK(output_number(silent.output, "ranks") == ranks);
          CHECK(output_number(silent.output, "iterations") == program.iterations);

          job.message_log = folder / "log";
          const Result logged = run_mpi(job);
          CHECK(logged.output == silent.output);  // and so it is the same in every run
          const MessageLog log = read_message_log(job.message_log, ranks);
          CHECK(text(check_log(log)) == "");
          if (program.messages && ranks == 4) CHECK(log.sends() > 0);
          if (!program.messages) CHECK(log.sends() == 0);
        }
}

TEST_CASE("MPI programs: iterations - as many as requested") {
  for (const MpiProgram& program : mpi_programs()) DYNAMIC_SECTION(program.name) {
      const MpiJob job{compiled_names(program)[0], {"7"}, 2, program.threads};
      const long phases = std::string(program.name) == "phases" ? 4 : 1;
      CHECK(output_number(run_mpi(job).output, "iterations") == 7 * phases);
    }
}

TEST_CASE("MPI programs: counting tool - every call, without disturbing the program") {
  SECTION("halo") {
    for (const std::string name : {"halo_gcc", "halo_clang"}) {
      const MpiJob job{name, {"9"}, 2};
      const MpiCounts counts = count_mpi(job);
      CHECK(counts.output == run_mpi(job).output);
      for (int rank = 0; rank < 2; ++rank)
        CHECK(counts.calls[rank] ==
              std::map<std::string, std::uint64_t>{{"MPI_Init", 1},
                                                   {"MPI_Isend", 18},
                                                   {"MPI_Irecv", 18},
                                                   {"MPI_Waitall", 9},
                                                   {"MPI_Allreduce", 9},
                                                   {"MPI_Reduce", 1},
                                                   {"MPI_Finalize", 1}});
    }
  }
  SECTION("ranks that differ, and one that breaks the pattern") {
    const MpiCounts counts = count_mpi({"differ_gcc", {"10", "6", "1"}, 3});
    CHECK(counts.of(0, "MPI_Isend") == 10);
    CHECK(counts.of(1, "MPI_Isend") == 21);
    CHECK(counts.of(2, "MPI_Isend") == 30);
    CHECK(counts.of(0, "MPI_Recv") == 30);
    CHECK(counts.of(1, "MPI_Recv") == 11);
    CHECK(counts.of(2, "MPI_Recv") == 20);
  }
  SECTION("rows and columns") {
    const MpiCounts counts = count_mpi({"rowcol_cg_gcc", {"2", "3"}, 4});
    for (int rank = 0; rank < 4; ++rank) {
      CHECK(counts.of(rank, "MPI_Allreduce") == 2 * (1 + 3 * 3 + 1));
      CHECK(counts.of(rank, "MPI_Send") == (rank == 1 || rank == 2 ? 6 : 0));
      CHECK(counts.of(rank, "MPI_Bcast") == 6);
      CHECK(counts.of(rank, "MPI_Comm_set_name") == 3);
    }
  }
  SECTION("Fortran: procedures built on C's, and others") {
    for (const std::string name : {"heat_mpif", "wave_mpi", "ring_f08"}) {
      const MpiJob job{name + "_gfortran", {"8"}, 2};
      const MpiCounts counts = count_mpi(job);
      CHECK(counts.output == run_mpi(job).output);
      CHECK(counts.of(1, "MPI_Init") == 1);
      CHECK(counts.of(1, "MPI_Comm_rank") == 1);
      CHECK(counts.of(1, "MPI_Finalize") == 1);
    }
    const MpiCounts counts = count_mpi({"ring_f08_gfortran", {"8"}, 2});
    for (const char* name : {"MPI_Irecv", "MPI_Send", "MPI_Wait", "MPI_Allreduce"})
      CHECK(counts.of(0, name) == 8);
    for (const char* name : {"MPI_Bcast", "MPI_Barrier"}) CHECK(counts.of(0, name) == 2);
  }
}

}  // namespace refrain::test::mpi_test
