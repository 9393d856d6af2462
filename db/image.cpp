#include "db/image.h"

#include <zlib.h>

#include <algorithm>

namespace mmtune {

namespace {

// A compressed image begins with this byte, the first of a zlib stream (RFC 1950) with a window of 32 KiB. ELF files
// begin with another one.
constexpr char kCompressed = 0x78;

// Smaller ones, as those of fallbacks, which a library reads when it opens, stay as they are.
constexpr std::size_t kSmall = 16384;

constexpr std::size_t kLargest = std::size_t{128} << 20;  // the most bytes of an image, as rule::MachineCode says

bool is_compressed(std::string_view stored) { return !stored.empty() && stored.front() == kCompressed; }

Bytef* bytes_of(std::string& text) { return reinterpret_cast<Bytef*>(text.data()); }

/// Ends a stream with its scope.
struct Inflation {
  z_stream stream{};
  bool is_open = inflateInit(&stream) == Z_OK;

  Inflation() = default;
  ~Inflation() { inflateEnd(&stream); }
  Inflation(const Inflation&) = delete;
  Inflation& operator=(const Inflation&) = delete;
};

}  // namespace

std::string stored_image(std::string_view image) {
  if (image.size() < kSmall && !is_compressed(image)) return std::string(image);
  uLongf size = compressBound(image.size());
  std::string stored(size, '\0');
  compress2(bytes_of(stored), &size, reinterpret_cast<const Bytef*>(image.data()), image.size(), Z_DEFAULT_COMPRESSION);
  stored.resize(size);
  return stored;
}

std::optional<std::string> image_of(std::string_view stored) {
  if (!is_compressed(stored)) return std::string(stored);
  constexpr std::size_t kUsualRatio = 4;
  Inflation inflation;
  z_stream& stream = inflation.stream;
  if (!inflation.is_open) return std::nullopt;
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(stored.data()));  // zlib does not write to it.
  stream.avail_in = static_cast<uInt>(stored.size());
  std::string image;
  for (int state = Z_OK; state != Z_STREAM_END;) {
    const std::size_t done = stream.total_out;
    if (done == kLargest) return std::nullopt;
    image.resize(std::min(kLargest, done + kUsualRatio * stored.size()));
    stream.next_out = bytes_of(image) + done;
    stream.avail_out = static_cast<uInt>(image.size() - done);
    state = inflate(&stream, Z_NO_FLUSH);
    if (state != Z_STREAM_END && (state != Z_OK || stream.total_out == done)) return std::nullopt;
  }
  if (stream.avail_in != 0) return std::nullopt;
  image.resize(stream.total_out);
  return image;
}

}  // namespace mmtune
