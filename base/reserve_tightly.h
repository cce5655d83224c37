// Room for one more in an array of which there are as many as call paths: by an eighth, not twice as much.
//
// Thread-safety: none. Cost: an element is moved some eight times until all are there.
#pragma once

#include <vector>

namespace refrain::base {

template <class T>
void reserve_tightly(std::vector<T>& items) {
  if (items.size() == items.capacity()) items.reserve(items.size() + items.size() / 8 + 4);
}

}  // namespace refrain::base
