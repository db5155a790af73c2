// Finding a profile: by name, by path, and how many of it.
#include "time/profile.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <iterator>

#include "files/processor.h"
#include "files/quote.h"
#include "model/load.h"
#include "model/nearest.h"

namespace reckon {
namespace {

constexpr std::int64_t most_devices = 10'000'000;

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool is_path(const std::string& text) { return text.find('/') != std::string::npos || text.ends_with(".json"); }

const Profile& find_profile(const std::string& name) {
  const std::string wanted = lower(name);
  std::vector<std::string> names{std::string(this_machine)};
  for (const Profile& profile : known_profiles()) {
    if (profile.name == wanted) return profile;
    for (const std::string& alias : profile.aliases)
      if (alias == wanted) return profile;
    names.push_back(profile.name);
    names.insert(names.end(), profile.aliases.begin(), profile.aliases.end());
  }
  const std::string near = nearest(wanted, names);
  throw UsageError(
      fmt::format("there is no hardware {}{}; `reckon hardware` lists what is known, and a path of a "
                  "profile has a slash or ends with .json",
                  quote(name), near.empty() ? "" : fmt::format(" (did you mean {}?)", near)));
}

std::int64_t read_devices(const std::string& text, const std::string& digits) {
  std::int64_t devices = 0;
  const char* const end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, devices);
  if (error != std::errc() || at != end || devices < 1 || devices > most_devices) {
    throw UsageError(fmt::format("{} asks for {} devices; expected a whole number from 1 to {}", quote(text),
                                 quote(digits), most_devices));
  }
  return devices;
}

Profile read_this_machine() {
  const std::filesystem::path path = this_machine_path();
  if (!std::filesystem::exists(path))
    throw Error("this machine was not measured yet; `reckon calibrate` does that and keeps its profile as `this`");
  Profile profile = read_profile(read_json_file(path, path.string(), "a profile"), path.string());
  const std::string processor = describe_processor().name;
  if (profile.title != processor)
    throw Error(
        fmt::format("{} was measured on another machine, with a processor {}, where this one has {}; `reckon "
                    "calibrate` measures this one",
                    path.string(), quote(profile.title), quote(processor)));
  return profile;
}

}  // namespace

std::filesystem::path this_machine_path() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::filesystem::path(value != nullptr ? value : "");
  };
  std::filesystem::path folder = variable("XDG_CONFIG_HOME");
  if (folder.empty()) {
    const std::filesystem::path home = variable("HOME");
    if (home.empty())
      throw Error(
          "HOME is not set, so there is no place for the profile of this machine; set it, or XDG_CONFIG_HOME to the "
          "folder");
    folder = home / ".config";
  }
  return folder / "reckon" / "this.json";
}

std::string_view compute_type_name(ComputeType type) {
  static constexpr std::string_view names[] = {"float32", "tf32", "float16", "bfloat16", "fp8", "int8", "fp4"};
  return names[static_cast<std::size_t>(type)];
}

std::string_view device_kind_name(DeviceKind kind) {
  return kind == DeviceKind::gpu ? "gpu" : kind == DeviceKind::tpu ? "tpu" : "cpu";
}

const Link* link_of(const Profile& profile, std::int64_t devices) {
  const auto found = std::find_if(profile.links.begin(), profile.links.end(),
                                  [&](const Link& link) { return link.devices == 0 || link.devices >= devices; });
  return found == profile.links.end() ? nullptr : &*found;
}

const Link* network_of(const Hardware& hardware) {
  const Link* const link = hardware.devices > 1 ? link_of(hardware.profile, hardware.devices) : nullptr;
  const bool within = link == hardware.profile.links.data() && link != nullptr && link->devices != 0;
  return within ? nullptr : link;
}

void set_network(Profile& profile, std::int64_t bandwidth) {
  if (profile.links.empty() || profile.links.back().devices != 0) profile.links.emplace_back();
  Link& network = profile.links.back();
  network.name = "network, as given";
  network.bandwidth = bandwidth;
  network.share = 0;
}

const std::vector<Profile>& known_profiles() {
  static const std::vector<Profile> all = [] {
    std::vector<Profile> profiles;
    for (const ProfileFile& file : profile_files())
      profiles.push_back(read_profile(nlohmann::json::parse(file.text), std::string(file.name) + ".json"));
    return profiles;
  }();
  return all;
}

std::vector<Profile> profiles_with(std::string_view part) {
  const auto has_part = [wanted = lower(part)](const std::string& text) {
    return lower(text).find(wanted) != std::string::npos;
  };
  std::vector<Profile> found;
  std::copy_if(known_profiles().begin(), known_profiles().end(), std::back_inserter(found), [&](const Profile& p) {
    return has_part(p.name) || has_part(p.title) || has_part(p.vendor) ||
           std::any_of(p.aliases.begin(), p.aliases.end(), has_part);
  });
  return found;
}

Hardware read_hardware(const std::string& text) {
  // What follows the last colon is a number of devices, unless it is a part of a path.
  const std::size_t colon = text.rfind(':');
  const bool counted = colon != std::string::npos && !is_path(text.substr(colon + 1));
  const std::string name = text.substr(0, counted ? colon : text.size());
  if (name.empty()) throw UsageError("no hardware was named; expected a name such as h100, or the path of a profile");
  Hardware hardware;
  if (counted) hardware.devices = read_devices(text, text.substr(colon + 1));
  hardware.profile = is_path(name)                 ? read_profile(read_json_file(name, name, "a profile"), name)
                     : lower(name) == this_machine ? read_this_machine()
                                                   : find_profile(name);
  return hardware;
}

}  // namespace reckon
