#include "support/server_process.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "support/folder.hpp"

namespace exchange::testing {
namespace {

pid_t spawn(const std::string& program, std::vector<std::string> arguments, int out, int err) {
  arguments.insert(
      arguments.begin(),
      (std::filesystem::read_symlink("/proc/self/exe").parent_path() / program).string());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::setenv("EXCHANGE_HTTP_PORT", "off", 1);  // but for those that ask for it
  const pid_t pid = ::fork();
  if (pid < 0) throw std::runtime_error("fork failed");
  if (pid == 0) {
    ::dup2(out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  return pid;
}

int exit_status(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

TemporaryFile::TemporaryFile()
    : path_((std::filesystem::temp_directory_path() / "exchange-log-XXXXXX").string()) {
  const int file = ::mkstemp(path_.data());
  if (file < 0) throw std::runtime_error("mkstemp failed");
  ::close(file);
}

TemporaryFile::~TemporaryFile() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

ServerProcess::ServerProcess(std::vector<std::string> arguments, unsigned port) {
  arguments.insert(arguments.end(), {"--port", std::to_string(port)});
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
  const int log = ::open(log_.path().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  pid_ = spawn("server", std::move(arguments), ends[1], log);
  ::close(ends[1]);
  ::close(log);
  char c;
  while (::read(ends[0], &c, 1) == 1 && c != '\n') ready_line_ += c;
  ::close(ends[0]);
  const std::size_t at = ready_line_.find("port=");
  if (at == std::string::npos) {
    const int status = wait();
    throw std::runtime_error("the server did not come up (status " + std::to_string(status) +
                             "):\n" + this->log());
  }
  port_ = unsigned(std::stoul(ready_line_.substr(at + 5)));
}

ServerProcess::~ServerProcess() {
  if (pid_ > 0) kill();
}

void ServerProcess::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  wait();
}

int ServerProcess::stop() {
  ::kill(pid_, SIGTERM);
  return wait();
}

int ServerProcess::wait() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return exit_status(status);
}

std::optional<int> ServerProcess::ended() {
  int status = 0;
  if (pid_ > 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) {
    pid_ = -1;
    status_ = exit_status(status);
  }
  return status_;
}

std::string ServerProcess::log() const { return contents(log_.path()); }

RunResult run_server(const std::vector<std::string>& arguments) {
  return run_program("server", arguments);
}

RunResult run_program(const std::string& name, const std::vector<std::string>& arguments) {
  const TemporaryFile output;
  const int file = ::open(output.path().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  const pid_t pid = spawn(name, arguments, file, file);
  ::close(file);
  int status = 0;
  rusage usage{};
  ::wait4(pid, &status, 0, &usage);
  return {exit_status(status), contents(output.path()), usage.ru_maxrss};
}

Client::Client(unsigned port) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(std::uint16_t(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    ::close(socket_);
    throw std::runtime_error("connection refused");
  }
  const int on = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Client::~Client() { ::close(socket_); }

bool Client::send_raw(const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent += std::size_t(n);
  }
  return true;
}

std::string Client::request(const std::string& xml) {
  if (!send_raw(std::to_string(xml.size()) + "\n" + xml)) return {};
  return receive();
}

std::string Client::receive() {
  static const std::string end = "</results>\n";
  while (true) {
    if (const std::size_t at = buffer_.find(end); at != std::string::npos) {
      std::string reply = buffer_.substr(0, at + end.size());
      buffer_.erase(0, at + end.size());
      return reply;
    }
    char bytes[65536];
    const ssize_t n = ::recv(socket_, bytes, sizeof bytes, 0);
    if (n <= 0) return {};
    buffer_.append(bytes, std::size_t(n));
  }
}

std::string Client::receive_all() {
  char bytes[65536];
  for (ssize_t n; (n = ::recv(socket_, bytes, sizeof bytes, 0)) > 0;)
    buffer_.append(bytes, std::size_t(n));
  std::string all;
  all.swap(buffer_);
  return all;
}

void Client::half_close() { ::shutdown(socket_, SHUT_WR); }

std::string attribute(const std::string& xml, const std::string& name, std::size_t from) {
  const std::string key = " " + name + "=\"";
  const std::size_t at = xml.find(key, from);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + key.size();
  return xml.substr(begin, xml.find('"', begin) - begin);
}

}  // namespace exchange::testing
