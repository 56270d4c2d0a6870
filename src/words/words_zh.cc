#include <cstdlib>

#include "words/catalog.h"

namespace falcon::words {
namespace {

using model::MessageCode;

std::string_view message_zh(MessageCode code) {
  switch (code) {
    case MessageCode::kNone:
      return "";
    case MessageCode::kQueued:
      return "排队中,正在计算队列位置...";
    case MessageCode::kQueuePosition:
      return "队列位置 #{position},前面有 {ahead} 个任务[ ({names})]";
    case MessageCode::kNoCluster:
      return "没有支持 {tpu_type} 的可用集群,等待集群上线...";
    case MessageCode::kClusterUnavailable:
      return "集群 {cluster} 当前不可用 ({status}),等待恢复...";
    case MessageCode::kCreatingPool:
      return "正在创建 node pool (supply: {supply})...";
    case MessageCode::kReservationBusy:
      return "reservation_remaining_slices={remaining_slices} "
             "reservation_needed_slices={needed_slices},等待 reservation 容量释放...";
    case MessageCode::kReservationUnknown:
      return "暂时无法读取 reservation {reservation} 的用量,稍后重试[: {words}]";
    case MessageCode::kOutOfCapacity:
      return "云端暂无容量,将于 {retry_at} 重试[: {words}]";
    case MessageCode::kCloudBusy:
      return "集群 {cluster} 正忙,稍后重试[: {words}]";
    case MessageCode::kGaveWay:
      return "node pool {pool} 在 {minutes} 分钟后机器仍不齐,已让位给任务 {job},最迟 {retry_at} "
             "重试";
    case MessageCode::kWaitingForNodes:
      return "node pool {pool} control-plane RUNNING but {registered}/{expected} expected node(s) "
             "registered (Ready={ready})...";
    case MessageCode::kDispatching:
      return "Node pool 就绪,正在提交 K8s Job...";
    case MessageCode::kPodsStarting:
      return "Pod 启动中 ({started}/{expected} started)[: {words}]";
    case MessageCode::kRunning:
      return "Pod 运行中 ({active}/{expected} active)";
    case MessageCode::kWaitTimeout:
      return "等待资源超时 ({max_wait_seconds}s)[: {words}]";
    case MessageCode::kPoolTimeout:
      return "node pool 创建超时 ({limit_minutes}m)[: {words}]";
    case MessageCode::kPoolFailed:
      return "node pool 创建失败[: {words}]";
    case MessageCode::kSubmitFailed:
      return "K8s Job 提交失败[: {words}]";
    case MessageCode::kPodTerminated:
      return "Pod terminated: {container_reason}[ (exit code {exit_code})][ (pod {pod})]";
    case MessageCode::kJobFailed:
      return "任务失败[: {words}]";
    case MessageCode::kStartTimeout:
      return "Pod 启动超时 ({limit_minutes}m)[: {words}]";
    case MessageCode::kTimeout:
      return "任务超时 ({timeout_seconds}s),已取消 Job";
    case MessageCode::kInvalidSpec:
      return "任务定义无效[: {words}]";
    case MessageCode::kAttemptFailed:
      return "第 {attempt} 次运行失败[: {words}],将重新运行 (重试 {retry}/{max_retries})";
    case MessageCode::kAttemptDisrupted:
      return "第 {attempt} 次运行的机器丢失[: {words}],将重新运行 (中断 {disruption} 次,上限 "
             "{limit})";
    case MessageCode::kDisrupted:
      return "机器丢失 {disruptions} 次,不再重试[: {words}]";
    case MessageCode::kMachinesEnded:
      return "机器已到使用期限 ({usable_until}),Job 被终止";
    case MessageCode::kAborting:
      return "正在中止,等待 K8s Job 删除和 node pool 清理...";
    case MessageCode::kAborted:
      return "用户中止";
  }
  std::abort();
}

}  // namespace

const Catalog& catalog_zh() {
  static constexpr Catalog kCatalog{message_zh, "node pool 清理失败[: {error}]",
                                    "…等 {ahead} 个任务"};
  return kCatalog;
}

}  // namespace falcon::words
