#include "addresses/short_name.h"

#include <catch2/catch.hpp>

namespace refrain::addresses::short_name_test {

TEST_CASE("Short name: C and Fortran - unchanged") {
  CHECK(short_name("main") == "main");
  CHECK(short_name("adi_") == "adi_");
  CHECK(short_name("__solver_MOD_step") == "__solver_MOD_step");
  CHECK(short_name("") == "");
  for (const char* code : {"[callers unknown]", "[deeper callers]", "[my plugin (old).so]"})
    CHECK(short_name(code) == code);
}

TEST_CASE("Short name: outlined regions - the function around them") {
  CHECK(short_name("compute.omp_outlined_debug__") == "compute");
  CHECK(short_name("compute._omp_fn.3") == "compute");
  CHECK(short_name("CalcForces(Domain&) [clone .omp_outlined]") == "CalcForces");
  CHECK(short_name("CalcForces(Domain&, double*) [clone ._omp_fn.0]") == "CalcForces");
}

TEST_CASE("Short name: C++ - without parameters, arguments of templates and results") {
  CHECK(short_name("ns::Solver::step(int, double (*)(double))") == "ns::Solver::step");
  CHECK(short_name("std::vector<int, std::allocator<int> > ns::f<int>(long) const") ==
        "ns::f");
  CHECK(short_name("void (anonymous namespace)::sweep<3>(Grid<3>&)") ==
        "(anonymous namespace)::sweep");
  CHECK(short_name("Functor<int>::operator()(int) const") == "Functor::operator()");
  CHECK(short_name("ns::operator<<(std::ostream&, X)") == "ns::operator<<");
  CHECK(short_name("my_operator(int)") == "my_operator");
  CHECK(short_name("operator new(unsigned long)") == "operator new");
  CHECK(short_name("void* Pool::operator new[](unsigned long)") == "Pool::operator new[]");
  CHECK(short_name("main::{lambda(int)#1}::operator()(int) const") ==
        "main::{lambda}::operator()");
}

TEST_CASE(
    "short_place: of a function without a line - its offset, and which clone it is, stay") {
  CHECK(short_place("f::g<4, true>(int, std::vector<int>&)+0x40") == "f::g+0x40");
  CHECK(short_place("double f<2>(P*) [clone .cold]+0x7") == "f [clone .cold]+0x7");
  for (const char* same :
       {"main+0x12", "a._omp_fn.1+0x8", "lib.so.3+0xe95648", "0x1234", ""})
    CHECK(short_place(same) == same);
}

}  // namespace refrain::addresses::short_name_test
