// Submits jobs to a running API server as fast as it takes them, and says how fast that was.
//
// One keep-alive connection a thread; each waits for its answer (the job is durable then) before
// it submits the next. Beside it raw limits of the same disk in the same run, each from one thread:
// appends of 4 KiB, each followed by fdatasync, and rows of 1 KiB put into an SQLite database of
// the same settings (WAL, full sync), each in a transaction of its own. Prints `figure NAME VALUE
// UNIT BETTER` lines.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sqlite3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Target {
  std::uint16_t port = 0;
  std::string token;
};

[[noreturn]] void give_up(std::string_view what) {
  std::cerr << "falcon-submit-load: " << what << '\n';
  std::exit(1);
}

// One connection to the server. Ends the program when the server does not answer as it should.
class Connection {
 public:
  explicit Connection(const Target& target)
      : target_(target), socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(target.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      give_up(fmt::format("no server on 127.0.0.1:{}", target.port));
  }
  ~Connection() { ::close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void submit(std::string_view name, std::string_view actor) {
    const std::string body = fmt::format(
        R"({{"name":"{}","actor":"{}","spec":{{"image":"python:3.12-slim","command":["true"],)"
        R"("tpu_type":"v6e","topology":"4x4"}}}})",
        name, actor);
    const std::string request = fmt::format(
        "POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n"
        "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
        target_.port, target_.token, body.size(), body);
    std::string_view rest = request;
    while (!rest.empty()) {
      const ssize_t sent = ::send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent <= 0) give_up("the server closed the connection");
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    const std::string answer = receive();
    if (!answer.starts_with("HTTP/1.1 201 ")) give_up("not accepted: " + answer);
  }

 private:
  void receive_more() {
    char chunk[4096];
    const ssize_t received = ::recv(socket_, chunk, sizeof chunk, 0);
    if (received <= 0) give_up("the server closed the connection");
    buffer_.append(chunk, static_cast<std::size_t>(received));
  }

  // One whole answer with a Content-Length, which the server always sends here.
  std::string receive() {
    std::size_t head = 0;
    while ((head = buffer_.find("\r\n\r\n")) == std::string::npos) receive_more();
    std::string lower = buffer_.substr(0, head);
    std::ranges::transform(lower, lower.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    constexpr std::string_view kLength = "content-length: ";
    const std::size_t at = lower.find(kLength);
    if (at == std::string::npos) give_up("an answer without Content-Length: " + lower);
    std::size_t length = 0;
    std::from_chars(lower.data() + at + kLength.size(), lower.data() + lower.size(), length);
    const std::size_t whole = head + 4 + length;
    while (buffer_.size() < whole) receive_more();
    std::string answer = buffer_.substr(0, whole);
    buffer_.erase(0, whole);
    return answer;
  }

  const Target& target_;
  int socket_;
  std::string buffer_;
};

// What one client measured: milliseconds of each submit.
std::vector<double> run_client(const Target& target, std::size_t number, Clock::time_point end) {
  Connection connection(target);
  std::vector<double> took;
  for (std::uint64_t i = 0; Clock::now() < end; ++i) {
    const auto begin = Clock::now();
    connection.submit(fmt::format("load-{}-{}", number, i), fmt::format("actor-{}", number));
    took.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  return took;
}

double appends_per_s(const std::string& path, Clock::duration span) {
  const int file = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) give_up("can't write " + path);
  const std::string block(4096, 'x');
  const auto begin = Clock::now();
  std::uint64_t count = 0;
  for (; Clock::now() < begin + span; ++count)
    if (::write(file, block.data(), block.size()) != static_cast<ssize_t>(block.size()) ||
        ::fdatasync(file) != 0)
      give_up("can't append to " + path);
  const std::chrono::duration<double> took = Clock::now() - begin;
  ::close(file);
  ::unlink(path.c_str());
  return static_cast<double>(count) / took.count();
}

double sqlite_commits_per_s(const std::string& path, Clock::duration span) {
  sqlite3* database = nullptr;
  sqlite3_stmt* insert = nullptr;
  const auto run = [&](const char* sql) {
    if (sqlite3_exec(database, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
      give_up(fmt::format("SQLite: {}: {}", sql, sqlite3_errmsg(database)));
  };
  if (sqlite3_open(path.c_str(), &database) != SQLITE_OK) give_up("can't open " + path);
  run("PRAGMA journal_mode = WAL");
  run("PRAGMA synchronous = FULL");
  run("CREATE TABLE jobs (id INTEGER PRIMARY KEY, spec TEXT)");
  if (sqlite3_prepare_v2(database, "INSERT INTO jobs (spec) VALUES (?)", -1, &insert, nullptr) !=
      SQLITE_OK)
    give_up(fmt::format("SQLite: {}", sqlite3_errmsg(database)));
  const std::string row(1024, 'x');
  const auto begin = Clock::now();
  std::uint64_t count = 0;
  for (; Clock::now() < begin + span; ++count) {
    sqlite3_bind_text(insert, 1, row.data(), static_cast<int>(row.size()), SQLITE_STATIC);
    if (sqlite3_step(insert) != SQLITE_DONE || sqlite3_reset(insert) != SQLITE_OK)
      give_up(fmt::format("SQLite: {}", sqlite3_errmsg(database)));
  }
  const std::chrono::duration<double> took = Clock::now() - begin;
  sqlite3_finalize(insert);
  sqlite3_close(database);
  ::unlink(path.c_str());
  return static_cast<double>(count) / took.count();
}

}  // namespace

// falcon-submit-load PORT TOKEN CLIENTS SECONDS RAW_MILLISECONDS SCRATCH_FILE
int main(int argc, char** argv) {
  if (argc != 7)
    give_up("usage: falcon-submit-load PORT TOKEN CLIENTS SECONDS RAW_MILLISECONDS SCRATCH_FILE");
  const Target target{static_cast<std::uint16_t>(std::atoi(argv[1])), argv[2]};
  const auto clients = static_cast<std::size_t>(std::atoi(argv[3]));
  const std::chrono::seconds span(std::atoi(argv[4]));

  const std::chrono::milliseconds raw_span(std::atoi(argv[5]));
  const std::string scratch = argv[6];

  const double appends = appends_per_s(scratch, raw_span);
  const double commits = sqlite_commits_per_s(scratch + ".db", raw_span);
  std::vector<std::vector<double>> measured(clients);
  const auto begin = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < clients; ++i)
      threads.emplace_back([&, i] { measured[i] = run_client(target, i, begin + span); });
  }
  const std::chrono::duration<double> took = Clock::now() - begin;
  std::vector<double> all;
  for (const auto& part : measured) all.insert(all.end(), part.begin(), part.end());
  if (all.empty()) give_up("nothing was submitted");
  std::ranges::sort(all);
  std::cout << fmt::format("figure submits_per_s_sqlite_{} {:.0f} submits/s higher\n", clients,
                           static_cast<double>(all.size()) / took.count());
  std::cout << fmt::format("figure submit_p99_ms_sqlite_{} {:.2f} ms lower\n", clients,
                           all[all.size() * 99 / 100]);
  std::cout << fmt::format("figure raw_fsync_appends_per_s {:.0f} appends/s higher\n", appends);
  std::cout << fmt::format("figure raw_sqlite_commits_per_s {:.0f} commits/s higher\n", commits);
}
