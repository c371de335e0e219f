#include "reports/documents/file.h"

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace {

using ppplan::Bytes;
using ppplan::OutputFile;
using ppplan::read_file;
using ppplan::sha256;
using ppplan::test::message_of;
using ppplan::test::TemporaryFolder;

TEST_CASE("file: what is committed is read back, in place of what was there") {
  const TemporaryFolder folder;
  OutputFile(folder / "a").commit("first");
  std::filesystem::permissions(
      folder / "a", std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  OutputFile(folder / "a").commit(std::string("sec\0ond", 7));
  CHECK(read_file(folder / "a") == std::string("sec\0ond", 7));
  struct stat status {};
  REQUIRE(::stat((folder / "a").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0600U);
  CHECK(folder.file_count() == 1);
}

TEST_CASE("file: without a commit nothing appears and nothing stays") {
  const TemporaryFolder folder;
  {
    const OutputFile output(folder / "a");
    CHECK_FALSE(std::filesystem::exists(folder / "a"));
    CHECK(folder.file_count() == 1);
  }
  CHECK(folder.file_count() == 0);
}

TEST_CASE("file: two writers of one name do not meet") {
  const TemporaryFolder folder;
  OutputFile one(folder / "a");
  OutputFile two(folder / "a");
  two.commit("two");
  one.commit("one");
  CHECK(read_file(folder / "a") == "one");
  CHECK(folder.file_count() == 1);
}

TEST_CASE("file: a symbolic link stays one, and a device is written in place") {
  const TemporaryFolder folder;
  OutputFile(folder / "target").commit("old");
  std::filesystem::create_symlink("target", folder / "link");
  OutputFile(folder / "link").commit("new");
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(read_file(folder / "target") == "new");
  OutputFile("/dev/null").commit("gone");
  CHECK(std::filesystem::is_character_file("/dev/null"));
}

TEST_CASE("file: an unwritable place is known at once") {
  const TemporaryFolder folder;
  const auto failure_of = [](const std::filesystem::path& path) {
    try {
      const OutputFile output(path);
    } catch (const ppplan::Error& error) {
      CHECK(error.failure() == ppplan::Failure::kRuntime);
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(failure_of(folder / "no" / "a").find("cannot write: No such file or directory") !=
        std::string::npos);
  CHECK(failure_of(folder / ".").find("cannot write: Is a directory") != std::string::npos);
}

TEST_CASE("file: unreadable, foreign and too large files are refused with the reason") {
  const TemporaryFolder folder;
  OutputFile(folder / "a").commit("12345");
  CHECK(read_file(folder / "a", Bytes{5}) == "12345");
  CHECK(message_of([&] { read_file(folder / "a", Bytes{4}); }).find("larger than 4 B") !=
        std::string::npos);
  CHECK(message_of([&] { read_file("/dev/zero", Bytes{1000}); }).find("larger than") !=
        std::string::npos);
  CHECK(message_of([&] { read_file(folder / "none"); }).find("cannot read: No such file") !=
        std::string::npos);
  CHECK(message_of([&] { read_file(folder / "."); }).find("Is a directory") != std::string::npos);
}

TEST_CASE("file: sha256 of the standard's examples and of block boundaries") {
  CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  CHECK(sha256(std::string(55, 'a')) ==
        "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  CHECK(sha256(std::string(64, 'a')) ==
        "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

}  // namespace
