// Version of Refrain.
#pragma once

namespace refrain {
inline constexpr const char* kVersion = "0.1.0";
}  // namespace refrain
