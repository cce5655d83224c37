#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class WrongOrderDifferent final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_lswo_different", "mpi_latesender_wo",
        "MPI late sender, wrong order, different sources",
        "The message sent earlier came from another process",
        "Messages of several processes are received in a fixed order: MPI_ANY_SOURCE or MPI_Waitany takes them as they come."};
  }
  std::vector<Compound> wants() const override { return {Compound::kWrongOrder}; }

  void wrong_order(const WrongOrder& found) override {
    if (!found.same_source) charge(found.location, found.path, found.wait, found.own);
  }
};

}  // namespace

std::unique_ptr<Pattern> make_wrong_order_different() {
  return std::make_unique<WrongOrderDifferent>();
}

}  // namespace refrain::waits
