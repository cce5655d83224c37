#include <catch2/catch.hpp>
#include <typeinfo>

#include "tracer/user/names.h"

namespace refrain::user::kokkos_names_test {
namespace {

template <class T>
struct Scale {};
struct Upper {};

std::string name_of(const std::type_info& type) { return type.name(); }

}  // namespace

TEST_CASE("Kokkos names: types - as in the source") {
  const auto lambda = [](int) {};
  CHECK(kernel_type(name_of(typeid(std::string))).starts_with("std::"));
  const std::string type = kernel_type(name_of(typeid(Scale<double>)));
  CHECK(type == "refrain::user::kokkos_names_test::(anonymous namespace)::Scale<double>");
  CHECK(short_type(type) == "refrain::user::kokkos_names_test::Scale");
  CHECK(short_type(kernel_type(name_of(typeid(Scale<Scale<int>>)) + "/" +
                               name_of(typeid(Upper)))) ==
        "refrain::user::kokkos_names_test::Scale/refrain::user::kokkos_names_test::Upper");
  CHECK(short_type(kernel_type(name_of(typeid(lambda)))).ends_with("::{lambda#1}"));
}

TEST_CASE("Kokkos names: labels - stay as they are") {
  for (const char* label :
       {"axpy", "i", "", "/", "a/b", "Z", "N", "3D update",
        "Kokkos::View::initialization [x]", "12345678901234567890x", "Zeta", "99"})
    CHECK(kernel_type(label) == label);
}

}  // namespace refrain::user::kokkos_names_test
