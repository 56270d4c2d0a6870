#include "gke/errors.h"

#include <gtest/gtest.h>

#include <string>

namespace falcon::gke {
namespace {

http::Response answer(int status, const std::string& message, const std::string& reason = "") {
  return {status,
          {},
          R"({"error":{"code":)" + std::to_string(status) + R"(,"message":")" + message +
              R"(","status":")" + reason + R"("}})"};
}

struct Row {
  int status;
  const char* reason;
  const char* message;
  ErrorKind change;
  ErrorKind read;
};

// Answers that look alike and ask for different things.
TEST(Errors, AnswersAreSortedByWhatToDo) {
  using enum ErrorKind;
  const Row rows[] = {
      {400, "FAILED_PRECONDITION", "CLUSTER_ALREADY_HAS_OPERATION", kBusy, kBusy},
      {400, "FAILED_PRECONDITION", "Cluster is running incompatible operation operation-1.", kBusy,
       kBusy},
      {400, "FAILED_PRECONDITION",
       "node pool is currently being created, deleted, updated or repaired", kBusy, kBusy},
      {409, "ABORTED", "operationInProgress", kBusy, kBusy},
      {400, "FAILED_PRECONDITION", "the policy is of another region", kInvalid, kInvalid},
      {400, "INVALID_ARGUMENT", "Invalid topology 3x3", kInvalid, kInvalid},
      {400, "INVALID_ARGUMENT", "Cluster byte size limit reached", kInvalid, kInvalid},
      {403, "PERMISSION_DENIED", "Required container.clusters.update permission", kDenied, kDenied},
      {403, "", "Quota exceeded for quota metric 'Writes' and limit 'Writes per minute'",
       kThrottled, kThrottled},
      {403, "", "CONCURRENT_OPERATIONS_QUOTA_EXCEEDED", kThrottled, kThrottled},
      {403, "", "Insufficient regional quota: Quota 'TPUS' exceeded", kQuota, kQuota},
      {401, "UNAUTHENTICATED", "no credentials", kDenied, kDenied},
      {404, "NOT_FOUND", "no such cluster", kNotFound, kNotFound},
      {409, "ALREADY_EXISTS", "Already exists: node pool", kAlreadyExists, kAlreadyExists},
      {412, "", "fingerprint", kConflict, kConflict},
      {429, "RESOURCE_EXHAUSTED", "too many operations", kThrottled, kThrottled},
      {429, "RESOURCE_EXHAUSTED", "reservation r does not have available resources for the request",
       kOutOfCapacity, kOutOfCapacity},
      {500, "INTERNAL", "oops", kUnknownOutcome, kUnavailable},
      {502, "", "oops", kUnknownOutcome, kUnavailable},
      {503, "UNAVAILABLE", "oops", kUnknownOutcome, kUnavailable},
      {504, "", "oops", kUnknownOutcome, kUnavailable},
      {302, "", "elsewhere", kUnavailable, kUnavailable},
  };
  for (const Row& row : rows) {
    const http::Response response = answer(row.status, row.message, row.reason);
    EXPECT_EQ(sort_answer(response, CallKind::kChange).kind, row.change)
        << row.status << row.message;
    EXPECT_EQ(sort_answer(response, CallKind::kRead).kind, row.read) << row.status << row.message;
  }
}

TEST(Errors, TheWordsOfTheServerAreKept) {
  const Error error = sort_answer(answer(403, "Required permission x"), CallKind::kChange);
  EXPECT_EQ(error.what, "Required permission x (403)");
  const Error page = sort_answer({502, {}, "<html>Bad gateway</html>"}, CallKind::kRead);
  EXPECT_NE(page.what.find("Bad gateway"), std::string::npos) << page.what;
}

TEST(Errors, OperationsAndConditionsAreSortedByWordsThenCode) {
  using enum ErrorKind;
  EXPECT_EQ(sort_words(0, "ZONE_RESOURCE_POOL_EXHAUSTED: no v6e"), kOutOfCapacity);
  EXPECT_EQ(sort_words(0, "GCE_STOCKOUT"), kOutOfCapacity);
  EXPECT_EQ(sort_words(8, "QUOTA_EXCEEDED: TPUs"), kQuota);
  EXPECT_EQ(sort_words(13, "the zone does not have enough resources available"), kOutOfCapacity);
  EXPECT_EQ(sort_words(9, "Could not find the given reservation"), kInvalid);
  EXPECT_EQ(sort_words(8, ""), kOutOfCapacity);
  EXPECT_EQ(sort_words(3, "x"), kInvalid);
  EXPECT_EQ(sort_words(7, "x"), kDenied);
  EXPECT_EQ(sort_words(13, "x"), kUnavailable);
  EXPECT_EQ(sort_words(14, "x"), kUnavailable);
  EXPECT_EQ(sort_words(0, "something new"), kInternal);
}

}  // namespace
}  // namespace falcon::gke
