// Kernel sources that a test has edited.
#pragma once

#include <string>
#include <utility>

#include "templates/family/render.h"

namespace mmtune::test {

/// These files, with this one besides or in place of the one of its path.
inline TemplateFiles with_file(const TemplateFiles& files, const std::string& path, std::string text) {
  auto texts = files.texts();
  texts.insert_or_assign(path, std::move(text));
  return TemplateFiles(std::move(texts));
}

}  // namespace mmtune::test
