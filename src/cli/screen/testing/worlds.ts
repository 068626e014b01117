/** What the operator would write about a situation, as the objects that the command reads. */
import { API_VERSION } from "../../../api/metadata.ts";
import type { EtcdMember } from "../../../api/etcd-member.ts";
import { Forecast } from "../../../control/forecast.ts";
import { decide } from "../../../core/decide.ts";
import type { Observation } from "../../../core/observation.ts";
import { memberStatusOf } from "../../../core/status/member.ts";
import { statusOf } from "../../../core/status/status.ts";
import { change } from "../../../core/testing/cluster.ts";
import { viewOf } from "../../../core/view.ts";
import type { ClusterObject, OperationObject } from "../../target/target.ts";
import type { StatusView } from "../status.ts";

const DAY_MS = 86_400_000;
/** For how long it has been so. */
const MINUTES_MS = 200_000;

/** etcd's IDs are numbers of their own; the model of effects calls them by name. */
function withNumbers(observation: Observation): Observation {
  const text = JSON.stringify(observation)
    .replaceAll(/id-of-demo-(\d+)/g, (_, ordinal: string) => `8e9e05c52164694${Number(ordinal).toString(16)}`)
    .replaceAll("cluster-of-demo", "cdf818194e3a8c32");
  return JSON.parse(text) as Observation;
}

/** With some data in it, and followers that are a few entries behind. */
export function lived(observation: Observation, dbSize = 430_000_000): Observation {
  return observation.members.reduce(
    (world, { record: { name, ordinal } }) =>
      change(world, name, ({ answer }) => ({
        answer: answer.reachable
          ? {
              ...answer,
              revision: 48_211,
              raftIndex: 61_004,
              raftAppliedIndex: 61_004 - (answer.leaderID === answer.memberID ? 0 : ordinal % 3),
              dbSize,
              dbSizeInUse: Math.floor(dbSize * 0.6),
            }
          : answer,
      })),
    observation,
  );
}

export function viewFor(world: Observation, operations: readonly OperationObject[] = []): StatusView {
  const observation = withNumbers(world);
  const { cluster, now } = observation;
  const decision = decide(observation);
  const names = observation.members.map(({ record }) => record);
  const earlier = { ...observation, now: now - MINUTES_MS };
  const given = {
    plan: new Forecast().stepsFor(observation, decision, 0),
    certificates: {
      problems: [],
      expiry: Object.fromEntries(names.map(({ name, ordinal }) => [name, now + (50 + ordinal) * DAY_MS])),
    },
    nodes: Object.fromEntries(names.map(({ name, ordinal }) => [name, `node-${(ordinal % 4) + 1}`])),
    clientSecret: "demo-client-tls",
  };
  const before = statusOf(earlier, decide(earlier), undefined, given);
  const status = statusOf(observation, decision, before, given);
  const object: ClusterObject = {
    apiVersion: API_VERSION,
    kind: "EtcdCluster",
    metadata: {
      name: cluster.name,
      namespace: cluster.namespace,
      uid: cluster.uid,
      generation: cluster.generation,
      creationTimestamp: new Date(now - 12 * DAY_MS).toISOString(),
    },
    spec: cluster.spec,
    status,
  };
  return {
    cluster: object,
    members: recordsOf(observation),
    operations,
    remarks: [],
    wide: false,
    now,
    width: 100,
  };
}

function recordsOf(observation: Observation): EtcdMember[] {
  const view = viewOf(observation);
  return view.members.map((member) => {
    const { name, uid, resourceVersion, createdAt, ...spec } = member.record;
    return {
      apiVersion: API_VERSION,
      kind: "EtcdMember",
      metadata: {
        name,
        namespace: observation.cluster.namespace,
        uid,
        resourceVersion,
        creationTimestamp: new Date(createdAt - 12 * DAY_MS).toISOString(),
        ...(member.deleting && { deletionTimestamp: new Date(observation.now).toISOString() }),
      },
      spec: { ...spec, cluster: observation.cluster.name } as EtcdMember["spec"],
      status: memberStatusOf(view, member, 1, undefined),
    };
  });
}
