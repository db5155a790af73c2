#include "train/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <reckon/error.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>

#include "files/atomic_write.h"
#include "files/json_document.h"
#include "files/numbers.h"
#include "files/quote.h"
#include "files/read_text.h"
#include "train/file_hash.h"

namespace reckon {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t longest_state = 16 << 20;

void move_into_place(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) throw Error(fmt::format("{}: cannot be written: {}", to.string(), error.message()));
}

void sync_file(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || ::fsync(file.number()) != 0) throw file_error(path, "cannot be written");
}

// Under another name first, so that a checkpoint is never there in part.
void remove_folder(const fs::path& folder) {
  const fs::path away = folder.parent_path() / ("." + folder.filename().string() + ".old");
  std::error_code ignored;  // what cannot be removed stays, and does no harm
  fs::remove_all(away, ignored);
  fs::rename(folder, away, ignored);
  fs::remove_all(away, ignored);
}

std::string hash_of_text(const std::string& text) { return hash_of_bytes(std::as_bytes(std::span(text))); }

}  // namespace

RunFolder::RunFolder(fs::path path) : path_(std::move(path)) {
  std::error_code ignored;
  for (const char* name : {"checkpoints", ".lock"}) {
    if (!fs::exists(path_ / name, ignored)) new_folders_.push_back(path_ / name);
  }
  for (fs::path folder = path_; !folder.empty() && !fs::exists(folder, ignored); folder = folder.parent_path()) {
    new_folders_.push_back(folder);
  }
  lock();
  for (const char* name : {"metrics.jsonl", "tokenizer.json", "data"}) {  // now nobody else makes them
    if (!fs::exists(path_ / name, ignored)) new_contents_.push_back(path_ / name);
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(path_ / "checkpoints", ignored)) {
    if (entry.path().filename().string().starts_with(".step-")) fs::remove_all(entry.path(), ignored);
  }
}

RunFolder::~RunFolder() {
  if (kept_) return;
  std::error_code ignored;  // what cannot be removed stays
  for (const fs::path& path : new_contents_) fs::remove_all(path, ignored);
  for (const fs::path& path : new_folders_) fs::remove(path, ignored);  // a folder only if it is empty
}

void RunFolder::lock() {
  const fs::path path = path_ / ".lock";
  for (struct stat held{}, named{};;) {
    make_folder(path_ / "checkpoints");
    lock_ = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (!lock_) throw file_error(path, "cannot be written");
    if (::flock(lock_.number(), LOCK_EX | LOCK_NB) != 0) {
      throw Error(fmt::format("{}: another process trains in this folder", path_.string()));
    }
    // A process that gave up may have removed the file after it was opened here: then it locks nothing.
    if (::fstat(lock_.number(), &held) == 0 && ::stat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino) return;
  }
}

fs::path RunFolder::save(std::int64_t step, const std::function<void(const fs::path&)>& fill, Json state) {
  const fs::path all = path_ / "checkpoints", beside = all / ("." + checkpoint_name(step) + ".new");
  fs::path target = all / checkpoint_name(step);
  try {
    make_folder(beside);
    fill(beside);
    Json files;
    for (const fs::directory_entry& entry : fs::directory_iterator(beside)) {
      sync_file(entry.path());
      files[entry.path().filename().string()] = {{"bytes", entry.file_size()}, {"hash", hash_of_file(entry.path())}};
    }
    state["files"] = files;
    state["hash"] = hash_of_text(state.dump());
    atomic_write(beside / "training.json", state.dump(1) + "\n");
    sync_folder(beside);
    if (fs::exists(target)) remove_folder(target);
    move_into_place(beside, target);
    kept_ = true;
  } catch (const std::exception& error) {
    std::error_code ignored;
    fs::remove_all(beside, ignored);
    throw Error(error.what());
  }
  sync_folder(all);
  return target;
}

void RunFolder::prune(std::int64_t keep, std::int64_t best) {
  const std::vector<SavedStep> steps = saved_steps(path_);
  for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < steps.size(); ++i) {
    if (steps[i].step != best) remove_folder(steps[i].folder);
  }
}

Json read_state(const fs::path& checkpoint) {
  const fs::path file = checkpoint / "training.json";
  const std::string text = read_text(file, longest_state);
  Json state;
  try {
    state = parse_json(text, file.string());
  } catch (const Error&) {
    throw Error(fmt::format("{}: is not whole; expected JSON as it was written", file.string()));
  }
  const auto refuse = [&](const std::string& what) { throw Error(fmt::format("{}: {}", checkpoint.string(), what)); };
  if (!state.is_object() || !state.contains("hash") || !state["hash"].is_string() || !state.contains("files")) {
    refuse("training.json is not that of a checkpoint");
  }
  const std::string hash = state["hash"].get<std::string>();
  state.erase("hash");
  if (hash_of_text(state.dump()) != hash) refuse("training.json was changed since it was written");
  for (const auto& [name, expected] : state["files"].items()) {
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(checkpoint / name, error);
    if (error) refuse(fmt::format("{} is missing", quote(name)));
    const auto wanted = expected["bytes"].get<std::uintmax_t>();
    if (bytes != wanted)
      refuse(fmt::format("{} has {} bytes; {} were written", quote(name), grouped(bytes), grouped(wanted)));
    if (hash_of_file(checkpoint / name) != expected["hash"].get<std::string>()) {
      refuse(fmt::format("{} was changed since it was written", quote(name)));
    }
  }
  return state;
}

}  // namespace reckon
