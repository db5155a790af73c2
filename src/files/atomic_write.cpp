#include "files/atomic_write.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <string>

#include "files/descriptor.h"

namespace reckon {
namespace {

// The file that appears under a name of its own until it is renamed, and goes away if it never is.
struct Temporary {
  std::filesystem::path path;
  Descriptor file{-1};
  bool renamed = false;

  explicit Temporary(const std::filesystem::path& target) {
    for (int attempt = 0; attempt < 100 && !file; ++attempt) {
      path = target;
      path.replace_filename(fmt::format(".{}.{}-{}.tmp", target.filename().string(), ::getpid(), attempt));
      file = Descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      if (!file && errno != EEXIST) break;
    }
    if (!file) throw file_error(target, "cannot be written");
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (file && !renamed) ::unlink(path.c_str());
  }
};

void write_all(const Descriptor& file, std::string_view text, const std::filesystem::path& target) {
  while (!text.empty()) {
    const ssize_t count = ::write(file.number(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw file_error(target, "cannot be written");
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

void atomic_write(const std::filesystem::path& given, std::string_view text) {
  std::error_code missing;  // a new file has no canonical path yet, and needs none
  std::filesystem::path target = std::filesystem::canonical(given, missing);  // a link keeps pointing to the file
  if (missing) target = given;

  struct stat old {};
  const bool exists = ::stat(target.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) throw file_error(given, "cannot be written", EISDIR);
  if (exists && !S_ISREG(old.st_mode)) {
    const Descriptor file(::open(target.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file) throw file_error(given, "cannot be written");
    return write_all(file, text, given);
  }
  // The rename would replace a write-protected file without asking.
  if (exists && ::access(target.c_str(), W_OK) != 0) throw file_error(given, "cannot be written");

  Temporary temporary(target);
  if (exists) (void)::fchmod(temporary.file.number(), old.st_mode & 07777);
  write_all(temporary.file, text, given);
  if (::fsync(temporary.file.number()) != 0) throw file_error(given, "cannot be written");
  if (::rename(temporary.path.c_str(), target.c_str()) != 0) throw file_error(given, "cannot be written");
  temporary.renamed = true;

  // The new name itself is only safe once its folder is; some file systems cannot sync one, so failure is no error.
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory) (void)::fsync(directory.number());
}

}  // namespace reckon
