#include <dirent.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "record/probe/facts.h"
#include "record/probe/file_text.h"

extern char** environ;

namespace stallhound::record {
namespace {

bool Contains(const std::string& text, const char* word) { return text.find(word) != std::string::npos; }

const char* FindContainer(const std::string& root) {
  if (Exists(root + "/.dockerenv")) return "docker";
  if (Exists(root + "/run/.containerenv")) return "podman";
  if (getenv("KUBERNETES_SERVICE_HOST") != nullptr) return "kubernetes";
  if (getenv("APPTAINER_CONTAINER") != nullptr || getenv("SINGULARITY_CONTAINER") != nullptr) return "apptainer";
  const std::string groups = ReadText(root + "/proc/1/cgroup").value_or("");
  for (const char* name : {"docker", "kubepods", "containerd", "lxc"}) {
    if (Contains(groups, name)) return strcmp(name, "kubepods") == 0 ? "kubernetes" : name;
  }
  const char* container = getenv("container");  // systemd-nspawn and others
  return container != nullptr && container[0] != '\0' ? "unknown" : nullptr;
}

std::vector<std::string> NvidiaDevices(const std::string& root) {
  std::vector<std::string> paths;
  DIR* folder = opendir((root + "/dev").c_str());
  if (folder == nullptr) return paths;
  while (const dirent* entry = readdir(folder)) {
    const bool is_nvidia = strncmp(entry->d_name, "nvidia", 6) == 0 || strcmp(entry->d_name, "dxg") == 0;
    if (is_nvidia) paths.push_back(std::string("/dev/") + entry->d_name);
  }
  closedir(folder);
  std::sort(paths.begin(), paths.end());
  return paths;
}

// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build ..." -> "580.65.06"
std::optional<std::string> KernelModuleVersion(const std::string& root) {
  const auto text = ReadText(root + "/proc/driver/nvidia/version");
  if (!text) return std::nullopt;
  const std::string line = text->substr(0, text->find('\n'));
  for (size_t at = 0; at < line.size(); ++at) {
    if (at != 0 && line[at - 1] != ' ') continue;
    const std::string word = line.substr(at, line.find(' ', at) - at);
    const bool is_version = !word.empty() && word.find_first_not_of("0123456789.") == std::string::npos;
    if (is_version && std::count(word.begin(), word.end(), '.') >= 1) return word;
  }
  return std::nullopt;
}

std::optional<bool> CountersRestricted(const std::string& root) {
  const auto text = ReadText(root + "/proc/driver/nvidia/params");
  if (!text) return std::nullopt;
  const size_t at = text->find("RmProfilingAdminOnly:");
  if (at == std::string::npos) return std::nullopt;
  return text->find_first_not_of(' ', at + strlen("RmProfilingAdminOnly:")) ==
         text->find('1', at + strlen("RmProfilingAdminOnly:"));
}

// MPS: a server or its control daemon among the processes that are visible here.
bool IsMpsRunning(const std::string& root) {
  DIR* folder = opendir((root + "/proc").c_str());
  if (folder == nullptr) return false;
  bool is_running = false;
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    const std::string name = ReadText(root + "/proc/" + entry->d_name + "/comm").value_or("");
    is_running |= strncmp(name.c_str(), "nvidia-cuda-mps", 15) == 0;
  }
  closedir(folder);
  return is_running;
}

std::optional<std::string> MpsPipe(const std::string& root) {
  const char* chosen = getenv("CUDA_MPS_PIPE_DIRECTORY");
  const std::string path = chosen != nullptr ? chosen : "/tmp/nvidia-mps";
  return Exists(root + path + "/control") ? std::optional(path) : std::nullopt;
}

}  // namespace

void AddHostFacts(const ProbeOptions& options, JsonText& json) {
  utsname name{};
  const bool has_name = uname(&name) == 0;
  json.Member("arch", has_name ? name.machine : nullptr);
  json.Member("kernel", has_name ? name.release : nullptr);
  json.Member("glibc", gnu_get_libc_version());
  const std::string version = ReadText(options.root + "/proc/version").value_or("");
  json.Member("wsl", Contains(version, "microsoft") || Contains(version, "Microsoft"));
  json.Member("container", FindContainer(options.root));
  json.Key("nvidia_devices");
  json.BeginArray();
  for (const std::string& path : NvidiaDevices(options.root)) json.Text(std::string_view(path));
  json.EndArray();
  json.Member("kernel_module_version", KernelModuleVersion(options.root));
  json.Member("counters_restricted", CountersRestricted(options.root));
  json.Key("mps");
  json.BeginObject();
  json.Member("server_running", IsMpsRunning(options.root));
  json.Member("client_of", MpsPipe(options.root));
  json.EndObject();
}

void AddEnvironmentFacts(JsonText& json) {
  json.Key("injection");
  json.BeginObject();
  for (const char* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "LD_PRELOAD"}) {
    json.Member(name, static_cast<const char*>(getenv(name)));
  }
  json.EndObject();
  json.Key("stallhound_variables");
  json.BeginObject();
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const char* equals = strchr(*variable, '=');
    if (strncmp(*variable, "STALLHOUND_", 11) != 0 || equals == nullptr) continue;
    json.Member(std::string(*variable, static_cast<size_t>(equals - *variable)), equals + 1);
  }
  json.EndObject();
  const char* blocking = getenv("CUDA_LAUNCH_BLOCKING");
  json.Member("launch_blocking", blocking != nullptr && strcmp(blocking, "0") != 0 && blocking[0] != '\0');
}

}  // namespace stallhound::record
