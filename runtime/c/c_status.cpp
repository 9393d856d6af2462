#include "runtime/c/c_status.h"

#include <mmtune/error.h>

#include <cstddef>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "runtime/base/printable.h"

namespace mmtune {
namespace {

thread_local std::string last_error_text;

constexpr std::size_t kMostBytes = 2000;  // the most bytes of a message: what quotes a program's input comes near

/// A printable text, or its beginning and its end in whole characters, of at most `most` bytes.
std::string shortened(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  const auto is_inside = [&](std::size_t place) { return (static_cast<unsigned char>(text[place]) & 0xc0) == 0x80; };
  constexpr std::string_view kGap = " … ";
  std::size_t end = (most - kGap.size()) / 2;
  std::size_t next = text.size() - end;
  while (is_inside(end)) --end;
  while (next < text.size() && is_inside(next)) ++next;
  return text.replace(end, next - end, kGap);
}

mmtune_status failed(mmtune_status status, std::string_view text) noexcept {
  try {
    last_error_text = shortened(printable(text), kMostBytes);
  } catch (...) {  // The status alone must do.
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
