// The place that kernel sources come from.
#pragma once

#include "templates/family/render.h"

namespace mmtune {

/// The source tree that MMTUNE_TEMPLATE_DIR names, read now, else the files embedded at build time. Throws Error if
/// that directory holds none.
TemplateFiles template_files();

}  // namespace mmtune
