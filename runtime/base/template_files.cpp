#include "runtime/base/template_files.h"

#include "runtime/base/env.h"

namespace mmtune {

TemplateFiles template_files() {
  const auto directory = env::get("MMTUNE_TEMPLATE_DIR");
  return directory ? TemplateFiles::from_directory(*directory) : TemplateFiles::embedded();
}

}  // namespace mmtune
