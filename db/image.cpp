#include "db/image.h"

#include <lzma.h>
#include <mmtune/error.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>

namespace mmtune {
namespace {

// A compressed image is an .xz file, or a zlib stream (RFC 1950) with a window of 32 KiB, as versions 6 to 9 of the
// format wrote it. ELF files begin otherwise.
constexpr std::string_view kXz{"\xfd\x37zXZ\0", 6};
constexpr std::string_view kZlib = "x";

// Smaller ones, as those of fallbacks, which a library reads when it opens, stay as they are.
constexpr std::size_t kSmall = 16384;

constexpr std::size_t kLargest = std::size_t{128} << 20;  // the most bytes of an image, as rule::MachineCode says

// Kernels of the H100 take a quarter less than by zlib's usual level at this one, in nearly the same time.
constexpr std::uint32_t kLevel = 3;
constexpr std::uint32_t kWindow = 1U << 20;  // bytes; more than most images

constexpr std::uint64_t kMostMemory = 16U << 20;  // bytes, of which reading an image takes little more than the window

bool is_compressed(std::string_view stored) { return stored.starts_with(kXz) || stored.starts_with(kZlib); }

/// The bytes as a library wants them, which writes to none that it reads.
template <class Byte>
Byte* bytes_of(std::string_view text) {
  return reinterpret_cast<Byte*>(const_cast<char*>(text.data()));
}

// Both libraries decode a stream piece by piece, and name the members of it alike.
enum class Progress { more, ended, damaged };

bool begin(z_stream& stream) { return inflateInit(&stream) == Z_OK; }
bool begin(lzma_stream& stream) { return lzma_stream_decoder(&stream, kMostMemory, 0) == LZMA_OK; }

Progress advance(z_stream& stream) {
  const int state = inflate(&stream, Z_NO_FLUSH);
  return state == Z_OK ? Progress::more : state == Z_STREAM_END ? Progress::ended : Progress::damaged;
}
Progress advance(lzma_stream& stream) {
  const lzma_ret state = lzma_code(&stream, LZMA_RUN);
  return state == LZMA_OK ? Progress::more : state == LZMA_STREAM_END ? Progress::ended : Progress::damaged;
}

void end(z_stream& stream) { inflateEnd(&stream); }
void end(lzma_stream& stream) { lzma_end(&stream); }

/// A stream that ends with its scope.
template <class Stream>
struct Decoder {
  Stream stream{};
  bool is_open = begin(stream);

  Decoder() = default;
  ~Decoder() { end(stream); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
};

template <class Stream>
std::optional<std::string> decoded(std::string_view stored) {
  constexpr std::size_t kUsualRatio = 5;
  Decoder<Stream> decoder;
  Stream& stream = decoder.stream;
  if (!decoder.is_open) return std::nullopt;
  stream.next_in = bytes_of<std::uint8_t>(stored);
  stream.avail_in = static_cast<decltype(stream.avail_in)>(stored.size());
  std::string image;
  for (Progress progress = Progress::more; progress != Progress::ended;) {
    const std::size_t done = stream.total_out;
    if (done == kLargest) return std::nullopt;
    image.resize(std::min(kLargest, done + kUsualRatio * stored.size()));
    stream.next_out = bytes_of<std::uint8_t>(image) + done;
    stream.avail_out = static_cast<decltype(stream.avail_out)>(image.size() - done);
    progress = advance(stream);
    const bool is_cut = progress == Progress::more && stream.total_out == done;
    if (progress == Progress::damaged || is_cut) return std::nullopt;
  }
  if (stream.avail_in != 0) return std::nullopt;
  image.resize(stream.total_out);
  return image;
}

}  // namespace

std::string stored_image(std::string_view image) {
  if (image.size() < kSmall && !is_compressed(image)) return std::string(image);
  lzma_options_lzma options{};
  lzma_lzma_preset(&options, kLevel);
  options.dict_size = kWindow;
  const lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, nullptr}};
  std::string stored(lzma_stream_buffer_bound(image.size()), '\0');
  std::size_t size = 0;
  if (lzma_stream_buffer_encode(const_cast<lzma_filter*>(filters), LZMA_CHECK_CRC32, nullptr,
                                bytes_of<std::uint8_t>(image), image.size(), bytes_of<std::uint8_t>(stored), &size,
                                stored.size()) != LZMA_OK) {
    throw OutOfMemoryError("machine code: no memory to compress it; free some and run again");
  }
  stored.resize(size);
  return stored;
}

std::string passing_image(std::string_view image) {
  return is_compressed(image) ? stored_image(image) : std::string(image);
}

std::optional<std::string> image_of(std::string_view stored) {
  if (stored.starts_with(kXz)) return decoded<lzma_stream>(stored);
  if (stored.starts_with(kZlib)) return decoded<z_stream>(stored);
  return std::string(stored);
}

}  // namespace mmtune
