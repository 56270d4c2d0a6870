#include "http/client.h"

#include <curl/curl.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "base/check.h"

namespace falcon::http {
namespace {

using Clock = std::chrono::steady_clock;

struct EasyDelete {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct ListDelete {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Easy = std::unique_ptr<CURL, EasyDelete>;
using List = std::unique_ptr<curl_slist, ListDelete>;

// One request under way. Lives on the loop's thread.
struct Transfer {
  std::uint64_t id = 0;
  Request request;
  OnResponse on_response;  // of a whole answer
  std::optional<StreamHandler> stream;
  Easy easy;
  List headers;
  Response response;
  std::size_t body_given = 0;  // bytes of the request's body that curl has taken
  bool started = false;        // of a stream: on_start was called
  bool too_large = false;
  bool closed = false;  // by the caller
  Clock::time_point last_byte = Clock::now();
  Clock::time_point begun = Clock::now();
};

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* user) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  const std::string_view bytes(data, size * count);
  transfer.last_byte = Clock::now();
  if (transfer.closed) return 0;
  const bool piecewise = transfer.stream && transfer.response.status / 100 == 2;
  if (piecewise) {
    if (!transfer.started) {
      transfer.started = true;
      transfer.stream->on_start(transfer.response);
    }
    transfer.stream->on_bytes(bytes);
    return bytes.size();
  }
  if (transfer.response.body.size() + bytes.size() > transfer.request.body_bytes_max) {
    transfer.too_large = true;
    return 0;
  }
  transfer.response.body.append(bytes);
  return bytes.size();
}

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* user) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  std::string_view line(data, size * count);
  transfer.last_byte = Clock::now();
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
  if (line.starts_with("HTTP/")) {  // a new answer, after 100-continue or a proxy's
    transfer.response.headers.clear();
    const std::size_t blank = line.find(' ');
    transfer.response.status = blank == std::string_view::npos
                                   ? 0
                                   : std::atoi(std::string(line.substr(blank + 1)).c_str());
    return size * count;
  }
  if (line.empty()) {
    // A stream begins with its headers: a watch may be silent for long after them.
    if (transfer.stream && !transfer.started && transfer.response.status / 100 == 2) {
      transfer.started = true;
      transfer.stream->on_start(transfer.response);
    }
    return size * count;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return size * count;
  std::string name(line.substr(0, colon));
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  transfer.response.headers.emplace_back(std::move(name), value);
  return size * count;
}

// Gives curl the body, once: without a way back curl cannot send a change again on its own when a
// connection that was used before turns out to be closed.
std::size_t give_body(char* data, std::size_t size, std::size_t count, void* user) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  const std::string_view left = std::string_view(transfer.request.body).substr(transfer.body_given);
  const std::size_t given = left.copy(data, size * count);
  transfer.body_given += given;
  return given;
}

// Whether a byte of the request has left.
bool has_left(const Transfer& transfer) {
  long bytes = 0;
  curl_easy_getinfo(transfer.easy.get(), CURLINFO_REQUEST_SIZE, &bytes);
  return bytes > 0;
}

// What a failure of the transport says about the request.
Error transport_error(CURLcode code, const Transfer& transfer) {
  const std::string what =
      transfer.request.method + " " + transfer.request.url + ": " + curl_easy_strerror(code);
  switch (code) {
    // Also said of an answer that is no HTTP.
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
      return {has_left(transfer) ? ErrorKind::kUnknownOutcome : ErrorKind::kInvalid, what};
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return {ErrorKind::kUnavailable, what};
    case CURLE_OPERATION_TIMEDOUT: {
      // Only where not a byte was sent can nothing have arrived. (The connect time says nothing: it
      // is 0 on a connection that is used again.)
      long sent = 0;
      curl_off_t ready = 0;
      curl_easy_getinfo(transfer.easy.get(), CURLINFO_REQUEST_SIZE, &sent);
      curl_easy_getinfo(transfer.easy.get(), CURLINFO_PRETRANSFER_TIME_T, &ready);
      const bool unsent = sent == 0 && ready == 0;
      return {unsent ? ErrorKind::kUnavailable : ErrorKind::kUnknownOutcome, what};
    }
    default:
      return {ErrorKind::kUnknownOutcome, what};
  }
}

}  // namespace

std::string_view header(const Response& response, std::string_view name) {
  for (const auto& [key, value] : response.headers)
    if (key == name) return value;
  return {};
}

class Client::Loop {
 public:
  Loop() {
    static const CURLcode kGlobal = curl_global_init(CURL_GLOBAL_DEFAULT);
    FALCON_CHECK(kGlobal == CURLE_OK);
    multi_ = curl_multi_init();
    FALCON_CHECK(multi_ != nullptr);
    thread_ = std::thread([this] { run(); });
  }

  ~Loop() { stop(); }

  void stop() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    curl_multi_wakeup(multi_);
    thread_.join();
    curl_multi_cleanup(multi_);
  }

  std::uint64_t add(std::unique_ptr<Transfer> transfer) {
    const std::lock_guard lock(mutex_);
    transfer->id = next_id_++;
    const std::uint64_t id = transfer->id;
    arriving_.push_back(std::move(transfer));
    curl_multi_wakeup(multi_);
    return id;
  }

  void close(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    closing_.push_back(id);
    curl_multi_wakeup(multi_);
  }

 private:
  void run() {
    while (take_orders()) {
      int running = 0;
      curl_multi_perform(multi_, &running);
      reap();
      end_silent_streams();
      curl_multi_poll(multi_, nullptr, 0, 500, nullptr);
    }
    answer_the_rest();
  }

  // Everything that was asked for gets its answer, also what callbacks ask for meanwhile.
  void answer_the_rest() {
    do {
      while (!transfers_.empty())
        drop(transfers_.begin()->first,
             Error{ErrorKind::kUnknownOutcome, "the client was stopped"});
      take_orders();
    } while (!transfers_.empty());
  }

  bool take_orders() {
    std::deque<std::unique_ptr<Transfer>> arriving;
    std::deque<std::uint64_t> closing;
    {
      const std::lock_guard lock(mutex_);
      arriving.swap(arriving_);
      closing.swap(closing_);
      if (stopping_) {
        for (auto& transfer : arriving) transfers_[transfer->id] = std::move(transfer);
        return false;
      }
    }
    for (auto& transfer : arriving) begin(std::move(transfer));
    for (const std::uint64_t id : closing) {
      const auto found = transfers_.find(id);
      if (found == transfers_.end()) continue;
      found->second->closed = true;
      drop(found->second->id, std::nullopt);
    }
    return true;
  }

  void begin(std::unique_ptr<Transfer> owned) {
    Transfer& transfer = *owned;
    const Request& request = transfer.request;
    transfer.easy.reset(curl_easy_init());
    CURL* easy = transfer.easy.get();
    curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);  // a token goes nowhere else
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);  // a proxy's are no answer
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, 10'000L);
    // Servers close connections that rest for 75 s and longer; one that is about to be closed would
    // leave a change unknown.
    curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, 60L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 30L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 10L);
    if (!transfer.stream)
      curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
    if (request.method == "HEAD") curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    if (!request.body.empty() || request.method == "POST" || request.method == "PUT" ||
        request.method == "PATCH") {
      curl_easy_setopt(easy, CURLOPT_POST, 1L);
      curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(request.body.size()));
      curl_easy_setopt(easy, CURLOPT_READFUNCTION, &give_body);
      curl_easy_setopt(easy, CURLOPT_READDATA, &transfer);
    }
    curl_slist* list = curl_slist_append(nullptr, "Expect:");
    for (const auto& [name, value] : request.headers)
      list = curl_slist_append(list, (name + ": " + value).c_str());
    transfer.headers.reset(list);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
    if (!request.ca_pem.empty()) {
      curl_blob blob{const_cast<char*>(request.ca_pem.data()), request.ca_pem.size(),
                     CURL_BLOB_COPY};
      curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob);
    }
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, &transfer);
    transfer.begun = Clock::now();
    transfer.last_byte = transfer.begun;
    transfers_[transfer.id] = std::move(owned);
    curl_multi_add_handle(multi_, easy);
  }

  void reap() {
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      Transfer* transfer = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
      const CURLcode code = message->data.result;
      if (transfer->too_large)
        drop(transfer->id, Error{ErrorKind::kUnknownOutcome,
                                 transfer->request.method + " " + transfer->request.url +
                                     ": the answer is over " +
                                     std::to_string(transfer->request.body_bytes_max) + " bytes"});
      else if (code != CURLE_OK)
        drop(transfer->id, transport_error(code, *transfer));
      else
        drop(transfer->id, std::nullopt);
    }
  }

  void end_silent_streams() {
    const auto now = Clock::now();
    std::vector<std::uint64_t> silent;
    for (const auto& [id, transfer] : transfers_) {
      if (!transfer->stream) continue;
      const Request& request = transfer->request;
      const bool no_start = !transfer->started && now - transfer->begun > request.timeout;
      const bool quiet = transfer->started && request.silence_max.count() > 0 &&
                         now - transfer->last_byte > request.silence_max;
      if (no_start || quiet) silent.push_back(id);
    }
    for (const std::uint64_t id : silent)
      drop(id, Error{ErrorKind::kUnknownOutcome,
                     transfers_.at(id)->request.url + ": no byte for too long"});
  }

  void drop(std::uint64_t id, std::optional<Error> error) {
    const auto found = transfers_.find(id);
    const std::unique_ptr<Transfer> transfer = std::move(found->second);
    transfers_.erase(found);
    if (transfer->easy) curl_multi_remove_handle(multi_, transfer->easy.get());
    finish(*transfer, std::move(error));
  }

  static void finish(Transfer& transfer, std::optional<Error> error) {
    if (transfer.stream) {
      // An answer that is not 2xx comes whole; a 2xx one without a byte still starts.
      if (!error && !transfer.started && !transfer.closed)
        transfer.stream->on_start(transfer.response);
      transfer.stream->on_end(std::move(error));
      return;
    }
    if (error)
      transfer.on_response(std::unexpected(*std::move(error)));
    else
      transfer.on_response(std::move(transfer.response));
  }

  CURLM* multi_ = nullptr;
  std::thread thread_;
  std::map<std::uint64_t, std::unique_ptr<Transfer>> transfers_;  // the loop's thread only

  std::mutex mutex_;  // guards what follows
  std::deque<std::unique_ptr<Transfer>> arriving_;
  std::deque<std::uint64_t> closing_;
  std::uint64_t next_id_ = 1;
  bool stopping_ = false;
};

Client::Client() : loop_(std::make_unique<Loop>()) {}
// While the last callbacks run, this is still a client: they may send.
Client::~Client() { loop_->stop(); }

void Client::send(Request request, OnResponse on_response) {
  auto transfer = std::make_unique<Transfer>();
  transfer->request = std::move(request);
  transfer->on_response = std::move(on_response);
  loop_->add(std::move(transfer));
}

Client::StreamId Client::open(Request request, StreamHandler handler) {
  auto transfer = std::make_unique<Transfer>();
  transfer->request = std::move(request);
  transfer->stream = std::move(handler);
  return loop_->add(std::move(transfer));
}

void Client::close(StreamId stream) { loop_->close(stream); }

Result<Response> send_and_wait(Client& client, Request request) {
  std::mutex mutex;
  std::condition_variable arrived;
  std::optional<Result<Response>> answer;
  client.send(std::move(request), [&](Result<Response> response) {
    const std::lock_guard lock(mutex);
    answer = std::move(response);
    arrived.notify_one();
  });
  std::unique_lock lock(mutex);
  arrived.wait(lock, [&] { return answer.has_value(); });
  return *std::move(answer);
}

}  // namespace falcon::http
