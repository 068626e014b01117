/**
 * What a scenario needs of a platform: the same few verbs on modelled machines, on local processes and on
 * Kubernetes. Everything else is read from the status, which is the same everywhere.
 */
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import type { EtcdOperation, EtcdOperationSpec } from "../../src/api/etcd-operation.ts";
import type { EtcdClusterStatus } from "../../src/api/etcd-cluster-status.ts";

export interface ScenarioPlatform extends AsyncDisposable {
  /** Changes fields of the spec, as a person would. */
  edit(change: Partial<EtcdClusterSpecInput>): Promise<void>;
  /** The generation of the newest spec. */
  generation(): Promise<number>;
  status(): Promise<EtcdClusterStatus>;
  /** Lets a little time pass, real or modelled. */
  moment(): Promise<void>;
  /** The member's process ends as by SIGKILL; whoever keeps processes starts it again. */
  kill(member: string): Promise<void>;
  /** The same, and its data is gone. */
  wipe(member: string): Promise<void>;
  /** Asks for an EtcdOperation on this cluster. */
  operate(name: string, task: Omit<EtcdOperationSpec, "cluster">): Promise<void>;
  /** `name phase` of every operation, by name. */
  operations(): Promise<readonly string[]>;
  /** Resolves when the write was acknowledged. */
  put(key: string, value: string): Promise<void>;
  /** A linearizable read. */
  get(key: string): Promise<string | undefined>;
  /** What happened, for the message of a failed scenario. */
  story(): string;
}

export type PlatformKind = "machine" | "kubernetes";

export interface Scenario {
  readonly name: string;
  readonly spec: EtcdClusterSpecInput;
  /** Where it means something; everywhere when not said. */
  readonly only?: PlatformKind;
  run(platform: ScenarioPlatform): Promise<void>;
}

/** How many moments a wait may take: a moment is half a second of model time, or a tenth of real time. */
const MOST_MOMENTS = 3_000;

export async function until(
  platform: ScenarioPlatform,
  what: string,
  holds: (status: EtcdClusterStatus) => boolean | Promise<boolean>,
): Promise<EtcdClusterStatus> {
  let last: unknown;
  for (let i = 0; i < MOST_MOMENTS; i++) {
    const status = await platform.status();
    try {
      if (await holds(status)) return status;
    } catch (error) {
      last = error;
    }
    await platform.moment();
  }
  const reported = JSON.stringify((await platform.status()).conditions);
  throw new Error(
    `never: ${what}\n${last instanceof Error ? last.message : ""}\n${reported}\n${platform.story()}`,
  );
}

/** At rest as the newest spec says, with this many voters, all of them healthy. */
export async function converged(platform: ScenarioPlatform, voters: number): Promise<EtcdClusterStatus> {
  const generation = await platform.generation();
  return await until(platform, `${voters} voters, at rest`, (status) => {
    const ready = status.conditions?.find(({ type }) => type === "Ready");
    return (
      status.observedGeneration === generation &&
      ready?.status === "True" &&
      status.replicas === voters &&
      status.readyReplicas === voters
    );
  });
}

export async function says(
  platform: ScenarioPlatform,
  type: string,
  status: "True" | "False",
): Promise<EtcdClusterStatus> {
  return await until(platform, `${type} is ${status}`, ({ conditions }) =>
    (conditions ?? []).some((one) => one.type === type && one.status === status),
  );
}

/** Writes until it is acknowledged: a cluster that elects a leader refuses for a moment. */
export async function written(platform: ScenarioPlatform, key: string, value: string): Promise<void> {
  await until(platform, `${key} is written`, async () => {
    await platform.put(key, value);
    return true;
  });
}

/** Reads until somebody answers. */
export async function readBack(platform: ScenarioPlatform, key: string): Promise<string | undefined> {
  let value: string | undefined;
  await until(platform, `${key} is read`, async () => {
    value = await platform.get(key);
    return true;
  });
  return value;
}

export const namesOf = ({ members = [] }: EtcdClusterStatus) => members.map(({ name }) => name).toSorted();
export const idsOf = ({ members = [] }: EtcdClusterStatus) => members.map(({ id }) => id ?? "").toSorted();
export const versionsOf = ({ members = [] }: EtcdClusterStatus) => members.map(({ version }) => version);

export function told(operations: readonly EtcdOperation[]): string[] {
  return operations.map(({ metadata, status }) => `${metadata.name} ${status?.phase ?? "new"}`).toSorted();
}
