// Turns exceptions into what C gets: a status, and a message that stays with the thread.
#pragma once

#include <mmtune/mmtune_c.h>

namespace mmtune {

/// The status of the exception at hand, within a handler. Its text becomes the thread's last error.
mmtune_status status_of_exception() noexcept;

/// Runs `body`; what it throws becomes the status.
template <class Body>
mmtune_status status_of(const Body& body) noexcept {
  try {
    body();
    return MMTUNE_OK;
  } catch (...) {
    return status_of_exception();
  }
}

/// The text of the calling thread's last error.
const char* last_error() noexcept;

}  // namespace mmtune
