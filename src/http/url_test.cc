#include "http/url.h"

#include <gtest/gtest.h>

#include "http/status.h"

namespace falcon::http {
namespace {

TEST(Url, EncodesAllButTheUnreserved) {
  EXPECT_EQ(encode_url("aZ0-._~"), "aZ0-._~");
  EXPECT_EQ(encode_url("logs/a b?c=d&e#f%+"), "logs%2Fa%20b%3Fc%3Dd%26e%23f%25%2B");
  EXPECT_EQ(encode_url("作业"), "%E4%BD%9C%E4%B8%9A");
  EXPECT_EQ(encode_url(std::string_view("\0", 1)), "%00");
}

TEST(Url, DecodesWhatItEncodes) {
  std::string bytes;
  for (int c = 0; c < 256; ++c) bytes += static_cast<char>(c);
  EXPECT_EQ(decode_url(encode_url(bytes), false), bytes);
  EXPECT_EQ(decode_url(encode_url(bytes), true), bytes);
}

TEST(DecodeUrl, LeavesBrokenEscapesAlone) {
  EXPECT_EQ(decode_url("a%2", false), "a%2");
  EXPECT_EQ(decode_url("%zz+%41", false), "%zz+A");
  EXPECT_EQ(decode_url("a+b", true), "a b");
}

TEST(Status, TellsWhetherAChangeMayHaveHappened) {
  EXPECT_EQ(sort_status(500, true), ErrorKind::kUnknownOutcome);
  EXPECT_EQ(sort_status(500, false), ErrorKind::kUnavailable);
  EXPECT_EQ(sort_status(504, true), ErrorKind::kUnknownOutcome);
  EXPECT_EQ(sort_status(503, true), ErrorKind::kUnavailable);
}

TEST(Status, SaysWhatTheCallerCanDo) {
  for (const int status : {401, 403}) EXPECT_EQ(sort_status(status, true), ErrorKind::kDenied);
  for (const int status : {404, 410}) EXPECT_EQ(sort_status(status, true), ErrorKind::kNotFound);
  for (const int status : {409, 412}) EXPECT_EQ(sort_status(status, true), ErrorKind::kConflict);
  for (const int status : {302, 400, 405, 413, 415, 422})
    EXPECT_EQ(sort_status(status, true), ErrorKind::kInvalid);
  EXPECT_EQ(sort_status(429, true), ErrorKind::kThrottled);
}

}  // namespace
}  // namespace falcon::http
