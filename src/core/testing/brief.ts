/** An observation in a few lines, so that a counterexample can be read. */
import type { Observation } from "../observation.ts";

export function brief(o: Observation): string {
  const { cluster, etcd, platform } = o;
  const { spec: wanted, marks: kept } = cluster;
  const lines = [
    `spec: replicas ${wanted.replicas}, learners ${wanted.learners}, ${wanted.version}, ${JSON.stringify(wanted.storage.retention)}`,
    `marks: ${JSON.stringify(kept)}${cluster.deleting ? ", deleting" : ""}${wanted.paused ? ", paused" : ""}`,
    ...o.members.map(({ record, volume, workload, answer, deleting }) => {
      const { name, role, token, boot, joined, run, memberID, volumeUID, leaving, retiring, template } =
        record;
      const flags = { joined, run, leaving: leaving?.volume, retiring: retiring && true, deleting };
      const said = answer.reachable
        ? `${answer.memberID}@${answer.clusterID} leader ${answer.leaderID}${answer.linearizable ? " linearizable" : ""}`
        : "silent";
      return `${name}: ${role} ${boot} ${token} ${memberID} ${template.version} on ${volumeUID}, ${JSON.stringify(flags)}; volume ${volume.state} ${"uid" in volume ? volume.uid : ""}; ${workload.state}${"cause" in workload ? ` ${workload.cause}` : ""}; ${said}`;
    }),
    `list: ${etcd.list ? `${etcd.list.clusterID}${etcd.list.linearizable ? " linearizable" : ""}` : "none"} ${(
      etcd.list?.members ?? []
    )
      .map(
        (entry) =>
          `${entry.id}=${entry.name}${entry.isLearner ? " learner" : ""}${entry.ours ? "" : " foreign"}`,
      )
      .join(", ")}`,
    `etcd: ${etcd.clusterVersion}, ${JSON.stringify(etcd.alarms)}, ${JSON.stringify(etcd.hashes)}`,
    `platform: ${platform.fenced ? "fenced, " : ""}${platform.offers.length} offers, leftover ${platform.highestLeftover}`,
  ];
  return lines.join("\n");
}
