// Machine code as it is stored: compressed where that saves pages of the file.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mmtune {

/// What is stored of an image for long. The same bytes give the same.
std::string stored_image(std::string_view image);

/// What is stored of an image that will soon go, or be compressed: that takes milliseconds, for which a GPU would wait.
std::string passing_image(std::string_view image);

/// The image of what is stored; nothing where that is damaged, or would be larger than any image.
std::optional<std::string> image_of(std::string_view stored);

}  // namespace mmtune
