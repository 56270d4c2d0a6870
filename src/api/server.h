// The API server as a program has it: a data folder with SQLite, a token, and REST behind a port.
//
// It writes into the folder (made with mode 0700 when missing):
//   falcon.db   the database
//   token       mode 0600, 256 random bits in hex, made once; the CLI finds it
//   api.json    {"url": "http://127.0.0.1:PORT"}, once requests are answered; removed by stop()
// Errors of start(): kInvalid (a database of a newer schema or none at all), kDenied (folder or
// file without permission), kAlreadyExists (the port is in use): one line that says what to do.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "words/words.h"

namespace falcon::api {

struct Settings {
  std::string data;  // folder
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;                           // 0: any free one
  std::string token;                                // empty: that of the data folder
  words::Language language = words::Language::kZh;  // for readers who name none
  std::string installation = "falcon";
  std::string storage_endpoint = "https://storage.googleapis.com";
  std::vector<std::string> host_names;  // accepted in Host, beside loopback names
  std::string version;                  // of this program
  std::function<void(std::string_view)>
      log;  // a JSON line without its end; any thread. Empty: none
};

class ApiServer {
 public:
  explicit ApiServer(Settings settings);
  ~ApiServer();  // stop()
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  // Nobody else has the port now. Touches no file.
  Result<std::monostate> check_port() const;
  // Takes the folder: the database is there with its schema up to date, the token is known. What
  // stands in the way of a start is found here, before anybody else was started for its sake.
  Result<std::monostate> open();
  // Of the buckets, when it is known only now. Before start().
  void set_storage_endpoint(std::string url) { settings_.storage_endpoint = std::move(url); }
  Result<std::uint16_t> start();  // open(), unless that was done; the port; call it once
  void stop();                    // requests under way are answered; a second call does nothing
  const std::string& url() const { return url_; }      // after start()
  const std::string& token() const { return token_; }  // after open()

 private:
  struct Parts;
  Settings settings_;
  std::string url_;
  std::string token_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace falcon::api
