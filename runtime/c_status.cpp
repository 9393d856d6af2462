#include "runtime/c_status.h"

#include <mmtune/error.h>

#include <exception>
#include <new>
#include <string>
#include <string_view>

namespace mmtune {

namespace {

thread_local std::string last_error_text;

mmtune_status failed(mmtune_status status, std::string_view text) noexcept {
  try {
    last_error_text = text;
  } catch (...) {  // the status alone must do
    last_error_text.clear();
  }
  return status;
}

}  // namespace

const char* last_error() noexcept { return last_error_text.c_str(); }

mmtune_status status_of_exception() noexcept {
  try {
    throw;
  } catch (const UsageError& error) {
    return failed(MMTUNE_USAGE_ERROR, error.what());
  } catch (const DeviceLostError& error) {
    return failed(MMTUNE_DEVICE_LOST, error.what());
  } catch (const DeviceError& error) {
    return failed(MMTUNE_DEVICE_ERROR, error.what());
  } catch (const OutOfMemoryError& error) {
    return failed(MMTUNE_OUT_OF_MEMORY, error.what());
  } catch (const DatabaseError& error) {
    return failed(MMTUNE_DATABASE_ERROR, error.what());
  } catch (const std::bad_alloc&) {
    return failed(MMTUNE_OUT_OF_MEMORY, "the host has no memory left; free some and call again");
  } catch (const std::exception& error) {
    return failed(MMTUNE_NOTHING_TO_RUN, error.what());
  } catch (...) {
    return failed(MMTUNE_NOTHING_TO_RUN, "an unknown fault");
  }
}

}  // namespace mmtune
