// SHA-256 by the letters of FIPS 180-4: K section 4.2.2, functions 4.1.2, padding 5.1.1,
// H(0) 5.3.3, rounds 6.2.2.
#include "reports/documents/file.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace ppplan {
namespace {

using Word = std::uint32_t;
using State = std::array<Word, 8>;
constexpr std::size_t kBlockSize = 64;

constexpr std::array<Word, 64> kK = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void add_block(State& state, const unsigned char* block) {
  std::array<Word, 64> schedule{};
  for (std::size_t t = 0; t < 16; ++t) {
    for (std::size_t byte = 0; byte < 4; ++byte)
      schedule[t] = schedule[t] << 8U | block[4 * t + byte];
  }
  for (std::size_t t = 16; t < 64; ++t) {
    const Word x = schedule[t - 15];
    const Word y = schedule[t - 2];
    const Word sigma0 = std::rotr(x, 7) ^ std::rotr(x, 18) ^ (x >> 3U);
    const Word sigma1 = std::rotr(y, 17) ^ std::rotr(y, 19) ^ (y >> 10U);
    schedule[t] = sigma1 + schedule[t - 7] + sigma0 + schedule[t - 16];
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t t = 0; t < 64; ++t) {
    const Word sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const Word t1 = h + sum1 + ((e & f) ^ (~e & g)) + kK[t] + schedule[t];
    const Word sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const Word t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1;
    d = c, c = b, b = a, a = t1 + t2;
  }
  const State change = {a, b, c, d, e, f, g, h};
  for (std::size_t part = 0; part < state.size(); ++part) state[part] += change[part];
}

}  // namespace

std::string sha256(std::string_view content) {
  State state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const std::uint64_t bit_count = std::uint64_t{content.size()} * 8;
  const auto* bytes = reinterpret_cast<const unsigned char*>(content.data());
  for (; content.size() >= kBlockSize; content.remove_prefix(kBlockSize), bytes += kBlockSize) {
    add_block(state, bytes);
  }
  // The rest, a 1 bit, zeros, and the length in bits as 64-bit big-endian: one block or two.
  std::string padded(content);
  padded += '\x80';
  while (padded.size() % kBlockSize != kBlockSize - 8) padded += '\0';
  for (unsigned shift = 64; shift > 0; shift -= 8)
    padded += static_cast<char>(bit_count >> (shift - 8) & 0xFFU);
  for (std::size_t start = 0; start < padded.size(); start += kBlockSize) {
    add_block(state, reinterpret_cast<const unsigned char*>(padded.data()) + start);
  }
  std::string digest;
  for (const Word word : state) digest += fmt::format("{:08x}", word);
  return digest;
}

}  // namespace ppplan
