// An array that many have alike, and keep once: the regions and call paths of processes that run the same program.
//
// Thread-safety: none; those that share one may be read by several threads. Ownership: shared; who changes one that others
// have gets its own. Cost: as std::vector, with one more indirection.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace refrain::base {

template <class T>
class SharedVector {
 public:
  SharedVector() = default;
  SharedVector(std::initializer_list<T> items) : SharedVector(std::vector<T>(items)) {}
  explicit SharedVector(std::vector<T> items) { edit() = std::move(items); }

  std::size_t size() const noexcept { return items_ ? items_->size() : 0; }
  bool empty() const noexcept { return size() == 0; }
  const T& operator[](std::size_t i) const noexcept { return (*items_)[i]; }
  const T& at(std::size_t i) const { return all().at(i); }
  const T* begin() const noexcept { return items_ ? items_->data() : nullptr; }
  const T* end() const noexcept { return begin() + size(); }
  const T& back() const noexcept { return items_->back(); }

  // This one's own, to be changed.
  std::vector<T>& edit() {
    if (!items_)
      items_ = std::make_shared<std::vector<T>>();
    else if (items_.use_count() != 1)
      items_ = std::make_shared<std::vector<T>>(*items_);
    return *items_;
  }
  void push_back(T item) { edit().push_back(std::move(item)); }

  // Keeps the other's, if it is equal.
  void share(const SharedVector& other) {
    if (*this == other) items_ = other.items_;
  }
  // Both are the same one: nothing needs to be looked at again.
  bool is_shared_with(const SharedVector& other) const noexcept {
    return items_ == other.items_;
  }

  bool operator==(const SharedVector& other) const {
    return items_ == other.items_ || all() == other.all();
  }

 private:
  const std::vector<T>& all() const {
    static const std::vector<T> none;
    return items_ ? *items_ : none;
  }

  std::shared_ptr<std::vector<T>> items_;
};

}  // namespace refrain::base
