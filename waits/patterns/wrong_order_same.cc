#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class WrongOrderSame final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_lswo_same", "mpi_latesender_wo", "MPI late sender, wrong order, same source",
        "The message sent earlier came from the same process",
        "Sender and receiver handle the messages of different tags in different orders: change one of them, or use MPI_ANY_TAG."};
  }
  std::vector<Compound> wants() const override { return {Compound::kWrongOrder}; }

  void wrong_order(const WrongOrder& found) override {
    if (found.same_source) charge(found.location, found.path, found.wait, found.own);
  }
};

}  // namespace

std::unique_ptr<Pattern> make_wrong_order_same() {
  return std::make_unique<WrongOrderSame>();
}

}  // namespace refrain::waits
