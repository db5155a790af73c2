#include "files/atomic_write.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace reckon {
namespace {

constexpr int most_attempts = 100;

Error write_error(const std::filesystem::path& target) { return file_error(target, "cannot be written"); }

// A terminal, a pipe, /dev/null.
bool is_device(const std::filesystem::path& target) {
  std::error_code unknown;
  const std::filesystem::file_status status = std::filesystem::status(target, unknown);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
         !std::filesystem::is_directory(status);
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& target) : given_(target) {
  std::error_code missing;                                // a new file has no canonical path yet, and needs none
  target_ = std::filesystem::canonical(given_, missing);  // a link keeps pointing to the file
  if (missing) target_ = given_;
  struct stat old {};
  const bool exists = ::stat(target_.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) throw file_error(given_, "cannot be written", EISDIR);
  // The rename would replace a write-protected file without asking.
  if (exists && ::access(target_.c_str(), W_OK) != 0) throw write_error(given_);
  for (int attempt = 0; attempt < most_attempts && !file_; ++attempt) {
    beside_ = target_;
    beside_.replace_filename(fmt::format(".{}.{}-{}.tmp", target_.filename().string(), ::getpid(), attempt));
    file_ = Descriptor(::open(beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file_ && errno != EEXIST) break;
  }
  if (!file_) throw write_error(given_);
  if (exists) (void)::fchmod(file_.number(), old.st_mode & 07777);
}

AtomicFile::~AtomicFile() {
  if (file_) ::unlink(beside_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (!pieces_.write(file_.number(), bytes)) throw write_error(given_);
}

void AtomicFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (!pieces_.flush(file_.number())) throw write_error(given_);
  ::lseek(file_.number(), static_cast<off_t>(offset), SEEK_SET);
  if (!write_all(file_.number(), bytes)) throw write_error(given_);
  ::lseek(file_.number(), 0, SEEK_END);
}

void AtomicFile::commit() {
  if (!pieces_.flush(file_.number()) || ::fsync(file_.number()) != 0) throw write_error(given_);
  if (::rename(beside_.c_str(), target_.c_str()) != 0) throw write_error(given_);
  file_ = Descriptor(-1);
  sync_folder(target_.has_parent_path() ? target_.parent_path() : ".");
}

void atomic_write(const std::filesystem::path& target, std::string_view text) {
  const auto bytes = std::as_bytes(std::span<const char>(text));
  if (is_device(target)) {
    const Descriptor device(::open(target.c_str(), O_WRONLY | O_CLOEXEC));
    if (!device || !write_all(device.number(), bytes)) throw write_error(target);
    return;
  }
  AtomicFile file(target);
  file.write(bytes);
  file.commit();
}

void check_writable(const std::filesystem::path& target) {
  if (!is_device(target)) {
    AtomicFile nothing(target);
  } else if (::access(target.c_str(), W_OK) != 0) {
    throw write_error(target);
  }
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw file_error(folder, "cannot be made", error.value());
}

void sync_folder(const std::filesystem::path& folder) {
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory) (void)::fsync(directory.number());
}

}  // namespace reckon
