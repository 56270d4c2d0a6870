#include "wire/wire.h"

#include <gtest/gtest.h>

#include <map>

namespace falcon::wire {
namespace {

using model::FieldError;

const char* const kSubmit =
    R"({"name":"train","actor":"ann","priority":3,"labels":{"team":"a"},"spec":{"image":"busybox",)"
    R"("command":["sh","-c"],"args":["it's","a \"b\" c","","\\","日本語","𝄞\n\t"],)"
    R"("env":[{"name":"A","value":"1"},{"name":"B","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}],)"
    R"("tpu_type":"v6e","topology":"4x4","supply_mode":"on-demand","timeout_seconds":3600,)"
    R"("termination_grace_seconds":0,"max_retries":2}})";

// The submit above with one piece of text replaced.
std::string submit_with(const std::string& from, const std::string& to) {
  std::string text = kSubmit;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::map<std::string, std::string> complaints(const std::string& json) {
  std::map<std::string, std::string> map;
  const auto read = read_submit(json);
  if (!read)
    for (const FieldError& error : read.error().errors) map[error.field] = error.what;
  return map;
}

WallTime at(std::int64_t ms) { return wall_time_from_unix_ms(1'800'000'000'000 + ms); }

model::JobRow whole_job() {
  model::JobRow row = *read_submit(kSubmit);
  row.id = model::JobId("0193-a");
  row.created_at = at(1);
  row.aborting_at = at(2);
  row.version = 9'007'199'254'740'993;  // 2^53 + 1: no double holds it
  model::JobState& state = row.state;
  state.status = model::JobStatus::kFailed;
  state.reason = model::Reason::kJobFailed;
  state.message =
      model::make_message(model::MessageCode::kPodTerminated, {"OOM\"Killed", "137", "p"});
  state.cluster = model::ClusterId("c-1");
  state.node_pool_name = model::PoolName("falcon-x");
  state.job_uid = model::Uid("u");
  state.attempt = 2;
  state.provision = 4'294'967'295;
  state.exit_code = -1;
  state.dispatched_at = at(3);
  state.started_at = at(4);
  state.finished_at = at(5);
  state.aborted_at = at(6);
  state.cleanup = model::Cleanup::kFailed;
  state.cleanup_error = "quota \xE2\x80\xA6";
  return row;
}

model::PoolRow whole_pool() {
  model::PoolRow row;
  row.name = model::PoolName("falcon-p");
  row.gke = {"project", "us-east5", "c1"};
  row.cluster = model::ClusterId("c-1");
  row.shape = {model::Accelerator::kTpu, "v6e", "4x4"};
  row.supply = model::SupplyMode::kReservation;
  row.reservation = {"owner", "us-east5-b", "res"};
  row.owner = model::JobId("j1");
  row.provision = 3;
  row.phase = model::PoolPhase::kCondemned;
  row.serves = model::JobId("j2");
  row.serves_attempt = 1;
  row.intent_at = at(10);
  row.phase_since = at(11);
  row.accepted_at = at(12);
  row.usable_until = at(13);
  row.last_error = "no\nmore";
  return row;
}

model::AttemptRow whole_attempt() {
  model::AttemptRow row;
  row.job = model::JobId("j1");
  row.number = 1;
  row.cluster = model::ClusterId("c-1");
  row.pool = model::PoolName("falcon-p");
  row.uid = model::Uid("uid");
  row.intent_at = at(20);
  row.dispatched_at = at(21);
  row.started_at = at(22);
  row.ended_at = at(23);
  row.outcome = model::AttemptOutcome::kFailed;
  row.exit_code = 137;
  return row;
}

model::TurnRow whole_turn() {
  return {{model::ClusterId("c-1"), {model::Accelerator::kTpu, "v6e", "4x4"}},
          model::Actor("ann"),
          7,
          model::JobId("j1")};
}

model::BackoffRow whole_backoff() { return {model::JobId("j1"), 4, at(30), "stock-out"}; }

model::ClusterRow whole_cluster() {
  model::ClusterRow row;
  row.id = model::ClusterId("id-1");
  row.name = "c1";
  row.project = "project";
  row.location = "us-east5";
  row.zone = "us-east5-b";
  row.tpu_type = "v6e";
  row.gcs_bucket = "bucket";
  row.default_reservation = "projects/o/reservations/r";
  row.kubernetes_namespace = "jobs";
  row.service_account = "runner";
  row.status = model::ClusterStatus::kMaintenance;
  row.created_at = at(40);
  row.version = 5;
  return row;
}

TEST(Wire, ASubmitIsReadExactly) {
  const auto read = read_submit(kSubmit);
  ASSERT_TRUE(read) << model::join_field_errors(read.error().errors);
  EXPECT_EQ(read->priority, 3);
  EXPECT_EQ(read->spec.args,
            (std::vector<std::string>{"it's", "a \"b\" c", "", "\\", "日本語", "𝄞\n\t"}));
  EXPECT_EQ(read->spec.env.at(1).secret_key, "k");
  EXPECT_EQ(read->spec.supply_mode, model::SupplyMode::kOnDemand);
  EXPECT_EQ(read->spec.termination_grace_seconds, 0);
  const auto again = read_submit(submit_json(*read));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *read);
}

TEST(Wire, DefaultsStandWhereAFieldIsMissing) {
  const auto read = read_submit(
      R"({"name":"a","actor":"b","spec":{"image":"i","command":["x"],"tpu_type":"v6e","topology":"2x2"}})");
  ASSERT_TRUE(read) << model::join_field_errors(read.error().errors);
  EXPECT_EQ(read->spec.timeout_seconds, 86'400);
  EXPECT_EQ(read->spec.termination_grace_seconds, 30);
  EXPECT_EQ(read->spec.max_retries, 0);
  EXPECT_FALSE(read->spec.supply_mode.has_value());
  EXPECT_EQ(*read_submit(submit_json(*read)), *read);
}

TEST(Wire, AJobRoundTrips) {
  const model::JobRow row = whole_job();
  const auto read = job_from_json(to_json(row, {"text", "c1", "gs://b/logs/0193-a/", 2}));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->row, row);
  EXPECT_EQ(read->extras.message, "text");
  EXPECT_EQ(read->extras.queue_age_seconds, 2);
  model::JobRow bare;
  bare.id = model::JobId("x");
  bare.created_at = at(0);
  const auto none = job_from_json(to_json(bare, {}));
  ASSERT_TRUE(none) << none.error().what;
  EXPECT_EQ(none->row, bare);
  EXPECT_EQ(none->extras.queue_age_seconds, -1);
}

TEST(Wire, AClusterRoundTrips) {
  const model::ClusterRow row = whole_cluster();
  const auto read = cluster_from_json(to_json(row));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(*read, row);
  auto wish = read_cluster(cluster_json(row));
  ASSERT_TRUE(wish) << model::join_field_errors(wish.error().errors);
  wish->id = row.id;
  wish->created_at = row.created_at;
  wish->version = row.version;
  EXPECT_EQ(*wish, row);
}

TEST(Wire, WritesRoundTrip) {
  const auto job = read_job_write(to_json(JobWrite{3, 4, whole_job().state}));
  ASSERT_TRUE(job) << model::join_field_errors(job.error().errors);
  EXPECT_EQ(job->term, 3u);
  EXPECT_EQ(job->version, 4u);
  EXPECT_EQ(job->state, whole_job().state);

  const StateWrite write{
      5,
      6,
      {model::PutPool{whole_pool()}, model::RemovePool{model::PoolName("p")},
       model::PutAttempt{whole_attempt()}, model::PutTurn{whole_turn()},
       model::PutBackoff{whole_backoff()}, model::RemoveBackoff{model::JobId("j")}}};
  const auto state = read_state_write(to_json(write));
  ASSERT_TRUE(state) << model::join_field_errors(state.error().errors);
  EXPECT_EQ(state->number, 6u);
  ASSERT_EQ(state->changes.size(), 6u);
  EXPECT_EQ(std::get<model::PutPool>(state->changes[0]).row, whole_pool());
  EXPECT_EQ(std::get<model::RemovePool>(state->changes[1]).name.value(), "p");
  EXPECT_EQ(std::get<model::PutAttempt>(state->changes[2]).row, whole_attempt());
  EXPECT_EQ(std::get<model::PutTurn>(state->changes[3]).row, whole_turn());
  EXPECT_EQ(std::get<model::PutBackoff>(state->changes[4]).row, whole_backoff());
  EXPECT_EQ(std::get<model::RemoveBackoff>(state->changes[5]).job.value(), "j");

  const auto queue = read_queue_write(
      to_json(QueueWrite{7, {whole_turn().queue, 8, {model::JobId("a"), model::JobId("b")}}}));
  ASSERT_TRUE(queue) << model::join_field_errors(queue.error().errors);
  EXPECT_EQ(queue->order.queue, whole_turn().queue);
  EXPECT_EQ(queue->order.version, 8u);
  EXPECT_EQ(queue->order.order.size(), 2u);
}

TEST(Wire, OwnStateRoundTrips) {
  const model::OwnState state{{whole_pool()}, {whole_attempt()}, {whole_turn()}, {whole_backoff()}};
  const auto read = own_state_from_json(to_json(state));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->pools, state.pools);
  EXPECT_EQ(read->attempts, state.attempts);
  EXPECT_EQ(read->turns, state.turns);
  EXPECT_EQ(read->backoffs, state.backoffs);
}

TEST(Wire, NumbersThatAreNoneAreRefusedWithTheirField) {
  struct Case {
    const char* value;
    const char* what;
  };
  const Case cases[] = {
      {"0", "0 is not in 1 to 2592000"},
      {"-1", "-1 is not in 1 to 2592000"},
      {"2147483648", "2147483648 is not in 1 to 2592000"},
      {"9223372036854775808", "9223372036854775808 is not in 1 to 2592000"},
      {"3600.5", "is no whole number; 1 to 2592000"},
      {"1e308", "is no whole number; 1 to 2592000"},
      {"\"3600\"", "\"3600\" is no whole number; 1 to 2592000"},
      {"null", "null means nothing here; leave the field out"},
      {"true", "true is no whole number; 1 to 2592000"},
      {"[]", "[] is no whole number; 1 to 2592000"},
  };
  for (const Case& c : cases) {
    const auto found = complaints(
        submit_with("\"timeout_seconds\":3600", std::string("\"timeout_seconds\":") + c.value));
    ASSERT_EQ(found.size(), 1u) << c.value;
    ASSERT_TRUE(found.contains("spec.timeout_seconds")) << c.value;
    EXPECT_TRUE(found.at("spec.timeout_seconds").ends_with(c.what))
        << found.at("spec.timeout_seconds");
  }
  for (const char* field : {"termination_grace_seconds\":0", "max_retries\":2", "priority\":3"}) {
    const std::string name(field, std::string_view(field).find('"'));
    for (const char* value : {"-1001", "9223372036854775808", "0.5", "\"1\"", "null", "true"})
      EXPECT_EQ(complaints(submit_with(field, name + "\":" + value)).size(), 1u) << name << value;
  }
  EXPECT_TRUE(complaints(submit_with("\"timeout_seconds\":3600", "\"timeout_seconds\":1")).empty());
}

TEST(Wire, UnknownFieldsAreRefusedWithWhatWasMeant) {
  EXPECT_EQ(complaints(submit_with("\"topology\"", "\"toplogy\"")).at("spec.toplogy"),
            "there is no such field; did you mean topology?");
  EXPECT_EQ(complaints(submit_with("\"actor\":\"ann\"", "\"actor\":\"ann\",\"zzzz\":1")).at("zzzz"),
            "there is no such field");
  // What the server gives is not for the caller to say.
  for (const char* field : {"id", "version", "status", "created_at", "cluster_name", "message"})
    EXPECT_TRUE(
        complaints(submit_with("\"actor\":", "\"" + std::string(field) + "\":\"x\",\"actor\":"))
            .contains(field))
        << field;
}

TEST(Wire, AKeyGivenTwiceIsRefusedWithItsPlace) {
  EXPECT_EQ(complaints(submit_with("\"max_retries\":2", "\"max_retries\":2,\"max_retries\":3"))
                .at("spec.max_retries"),
            "is given twice");
  EXPECT_EQ(complaints(submit_with("\"name\":\"train\"", "\"name\":\"train\",\"n\\u0061me\":\"b\""))
                .at("name"),
            "is given twice");
  EXPECT_EQ(complaints(submit_with("{\"name\":\"A\"", "{\"name\":\"A\",\"name\":\"B\"")).size(),
            1u);
}

TEST(Wire, BrokenDocumentsAreRefused) {
  const auto body = [](const std::string& json) { return complaints(json)["body"]; };
  EXPECT_EQ(body(""), "is empty; a JSON object is needed");
  EXPECT_EQ(body(std::string(kSubmit).substr(0, 100)), "ends in the middle of the JSON");
  EXPECT_EQ(body(std::string(kSubmit) + " {}"), "goes on after the end of the JSON document");
  EXPECT_EQ(body(std::string(kSubmit) + "x"), "goes on after the end of the JSON document");
  EXPECT_EQ(body("[]"), "is no JSON object");
  EXPECT_EQ(body("\"x\""), "is no JSON object");
  EXPECT_EQ(body("{\"a\": \"\xFF\"}"), "is not valid UTF-8");
  EXPECT_EQ(body("{\"a\": " + std::string(40, '[') + std::string(40, ']') + "}"),
            "is nested deeper than 32 levels");
  EXPECT_TRUE(body("{\"a\": 'x'}").starts_with("is no JSON: "));
  EXPECT_TRUE(body("{\"a\": NaN}").starts_with("is no JSON: "));
  EXPECT_TRUE(complaints(std::string(kSubmit) + " \n").empty());
}

TEST(Wire, WrongTypesAreRefusedWithTheirField) {
  EXPECT_TRUE(complaints(submit_with("\"spec\":{", "\"spec\":7,\"x\":{")).contains("spec"));
  EXPECT_TRUE(complaints(submit_with("[\"sh\",\"-c\"]", "\"sh\"")).contains("spec.command"));
  EXPECT_TRUE(complaints(submit_with("[\"sh\",\"-c\"]", "[\"sh\",1]")).contains("spec.command[1]"));
  EXPECT_TRUE(complaints(submit_with("{\"team\":\"a\"}", "{\"team\":1}")).contains("labels[team]"));
  EXPECT_TRUE(complaints(submit_with("\"on-demand\"", "\"spot\"")).contains("spec.supply_mode"));
  EXPECT_TRUE(
      complaints(submit_with("{\"name\":\"A\",\"value\":\"1\"}", "7")).contains("spec.env[0]"));
  EXPECT_TRUE(complaints(submit_with("\"valueFrom\"", "\"value\":\"x\",\"valueFrom\""))
                  .contains("spec.env[1].value"));
  EXPECT_TRUE(complaints("{\"name\":\"a\",\"actor\":\"b\"}").contains("spec"));
}

TEST(Wire, NamesThatTheCloudWouldRefuseAreRefused) {
  for (const std::string& name :
       {std::string(70, 'a'), std::string("Train_Job.V2"), std::string("-lead"),
        std::string("trail-"), std::string("UPPER"), std::string()})
    EXPECT_TRUE(complaints(submit_with("\"train\"", "\"" + name + "\"")).contains("name")) << name;
  for (const char* name : {"1341", "MY_VAR=1", "A B", "", "B"})
    EXPECT_FALSE(
        complaints(submit_with("{\"name\":\"A\"", "{\"name\":\"" + std::string(name) + "\""))
            .empty())
        << name;
  EXPECT_TRUE(complaints(submit_with("\"team\":\"a\"", "\"team\":\"" + std::string(64, 'a') + "\""))
                  .contains("labels[team]"));
  EXPECT_TRUE(complaints(submit_with("\"team\"", "\"a/b/c\"")).contains("labels[a/b/c]"));
}

TEST(Wire, APatchChangesOnlyWhatMayChange) {
  const model::ClusterRow row = whole_cluster();
  const auto patched = read_cluster_patch(R"({"status":"offline","default_reservation":""})", row);
  ASSERT_TRUE(patched) << model::join_field_errors(patched.error().errors);
  EXPECT_EQ(patched->status, model::ClusterStatus::kOffline);
  EXPECT_EQ(patched->default_reservation, "");
  EXPECT_EQ(patched->gcs_bucket, row.gcs_bucket);
  for (const char* field : {"id", "project", "location", "name", "tpu_type"}) {
    const auto refused = read_cluster_patch("{\"" + std::string(field) + "\":\"x\"}", row);
    ASSERT_FALSE(refused) << field;
    EXPECT_EQ(refused.error().errors.at(0).field, field);
  }
  EXPECT_FALSE(read_cluster_patch(R"({"status":"broken"})", row));
  EXPECT_FALSE(read_cluster_patch(R"({"statu":"active"})", row));
}

TEST(Wire, TermWishesAndEmptyBodies) {
  const auto wish = read_term_wish(R"({"holder":"me","lease_seconds":15})");
  ASSERT_TRUE(wish);
  EXPECT_EQ(wish->holder, "me");
  EXPECT_EQ(wish->lease_seconds, 15);
  EXPECT_FALSE(read_term_wish(R"({"holder":"me"})"));
  EXPECT_FALSE(read_term_wish(R"({"lease_seconds":0})"));
  EXPECT_TRUE(read_nothing(""));
  EXPECT_TRUE(read_nothing("{}"));
  EXPECT_FALSE(read_nothing(R"({"force":true})"));
}

TEST(Wire, AWriteWithAWrongNumberOfArgumentsOrTwoChangesInOneIsRefused) {
  std::string text = to_json(JobWrite{3, 4, whole_job().state});
  const std::size_t at = text.find(",\"137\"");
  ASSERT_NE(at, std::string::npos);
  EXPECT_FALSE(read_job_write(text.erase(at, 6)));
  EXPECT_FALSE(read_state_write(
      R"({"term":1,"number":1,"changes":[{"remove_pool":"a","remove_backoff":"b"}]})"));
  EXPECT_FALSE(read_state_write(R"({"term":1,"number":1,"changes":[{}]})"));
  EXPECT_FALSE(read_state_write(R"({"term":-1,"number":1,"changes":[]})"));
  EXPECT_FALSE(read_state_write(R"({"number":1,"changes":[]})"));
  EXPECT_TRUE(read_state_write(R"({"term":1,"number":1,"changes":[]})"));
}

TEST(Wire, LenientReadersPassOverWhatTheyDoNotKnow) {
  std::string text = to_json(whole_job(), {});
  text.insert(1, R"("new_field":{"a":[1,2]},)");
  const auto read = job_from_json(text);
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->row, whole_job());
  EXPECT_FALSE(job_from_json("<html>"));
  EXPECT_FALSE(job_from_json("{}"));
  const auto page = job_list_from_json(R"({"items":[)" + text +
                                       R"(],"next_page_token":"t","sequence":12,"more":1})");
  ASSERT_TRUE(page) << page.error().what;
  EXPECT_EQ(page->items.size(), 1u);
  EXPECT_EQ(page->next_page_token, "t");
  EXPECT_EQ(page->sequence, 12u);
  const auto clusters =
      cluster_list_from_json(R"({"items":[)" + to_json(whole_cluster()) + R"(],"sequence":3})");
  ASSERT_TRUE(clusters) << clusters.error().what;
  EXPECT_EQ(clusters->items.at(0), whole_cluster());
}

TEST(Wire, WhatWasFoundOfAClusterStandsBesideItsRow) {
  model::ClusterRow row;
  row.id = model::ClusterId("c");
  const model::ClusterCondition found{row.id, model::ClusterHealth::kDenied, "no \"right\"",
                                      wall_time_from_unix_ms(1'790'000'000'000)};
  EXPECT_EQ(condition_of_cluster_json(to_json(row, &found)), found);
  EXPECT_EQ(condition_of_cluster_json(to_json(row, nullptr)), std::nullopt);
  EXPECT_EQ(condition_of_cluster_json(to_json(row)), std::nullopt);
  // A newer server's word is no reason to fail.
  EXPECT_EQ(condition_of_cluster_json(R"({"id":"c","condition":{"health":"asleep"}})"),
            std::nullopt);
  const auto read = read_condition_write(to_json(ConditionWrite{7, found}));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->term, 7U);
  EXPECT_EQ(read->condition.words, found.words);
  const auto bad = read_condition_write(R"({"term":1,"cluster":"c","health":"asleep"})");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().errors.front().field, "health");
}

TEST(Wire, LinesOfAWatch) {
  const auto put = watch_line_from_json(R"({"sequence":12,"kind":"job","change":"put","object":)" +
                                        to_json(whole_job(), {}) + "}");
  ASSERT_TRUE(put) << put.error().what;
  EXPECT_EQ(put->kind, WatchLine::Kind::kJob);
  EXPECT_EQ(put->job, whole_job());
  const auto gone = watch_line_from_json(
      R"({"sequence":13,"kind":"cluster","change":"delete","object":{"id":"c"}})");
  ASSERT_TRUE(gone) << gone.error().what;
  EXPECT_TRUE(gone->removed);
  EXPECT_EQ(gone->cluster.id.value(), "c");
  const auto bookmark = watch_line_from_json(R"({"sequence":14,"kind":"bookmark"})");
  ASSERT_TRUE(bookmark) << bookmark.error().what;
  EXPECT_EQ(bookmark->kind, WatchLine::Kind::kBookmark);
  const auto other = watch_line_from_json(R"({"sequence":15,"kind":"weather","object":{}})");
  ASSERT_TRUE(other) << other.error().what;
  EXPECT_EQ(other->kind, WatchLine::Kind::kUnknown);
}

TEST(Wire, SmallAnswers) {
  EXPECT_EQ(term_from_json(R"({"term":4,"holder":"x","lease_seconds":15})")->term, 4u);
  EXPECT_EQ(*version_from_json(R"({"version":9007199254740993})"), 9'007'199'254'740'993u);
  EXPECT_EQ(server_version_from_json(R"({"version":"1","language":"zh","installation":"i",
      "storage_endpoint":"s","now":"2026-12-01T00:00:00Z"})")
                ->now,
            "2026-12-01T00:00:00Z");
  const Problem problem = problem_from_json(
      R"({"status":400,"code":"invalid","detail":"d","errors":[{"field":"a","what":"b"}]})");
  EXPECT_EQ(problem.code, "invalid");
  EXPECT_EQ(problem.detail, "a: b");
  EXPECT_EQ(problem_from_json("oops").code, "");
  EXPECT_EQ(quoted("a\"\n"), R"("a\"\n")");
}

}  // namespace
}  // namespace falcon::wire
