/**
 * What people do to a local cluster: change its spec, ask what would happen, break members. The controller
 * carries these out for verbs that reach it; without a controller a verb does it itself, under the lock.
 */
import type { EtcdCluster } from "../api/etcd-cluster.ts";
import { sentencesOf } from "../control/problem.ts";
import type { TranscriptEntry } from "../control/transcript.ts";
import type { Observation } from "../core/observation.ts";
import { needsPerson, remedyOf, sentenceOf } from "../core/messages/table.ts";
import { outline, type Outline } from "../core/plan/outline.ts";
import { targetOf } from "../core/template/target.ts";
import { viewOf } from "../core/view.ts";
import { why, type Explanation } from "../core/status/why.ts";
import { applicableSpec } from "./applicable-spec.ts";
import { authVerbs } from "./auth-verbs.ts";
import { checkManifest, fieldError, toResource, type CheckedCluster } from "./change.ts";
import { corruptDatabase } from "./corrupt.ts";
import { operationVerbs } from "./operation-verbs.ts";
import { NotFound } from "./refused.ts";
import { snapshotVerbs } from "./snapshot-verbs.ts";
import type { StoredCluster } from "./store.ts";
import type { Done, Subject } from "./verb.ts";
import { specWarnings } from "./warnings.ts";

/** A whole manifest, or single fields of the present one. */
export type Change =
  | { readonly manifest: unknown }
  | { readonly replicas?: number; readonly version?: string; readonly paused?: boolean };

export interface MemberProcess {
  readonly name: string;
  readonly pid?: number;
  readonly state: string;
  readonly detail?: string;
  readonly log: string;
  readonly data: string;
}

/** A step that a controller reported, which may be of an earlier version of this program and give no kind. */
export type ReportedStep = Omit<TranscriptEntry, "kind"> & Partial<Pick<TranscriptEntry, "kind">>;

export interface LocalReport {
  readonly cluster: EtcdCluster;
  readonly dir: string;
  readonly controller?: { readonly pid: number; readonly since: number };
  readonly processes: readonly MemberProcess[];
  /** For clients; absent without TLS. */
  readonly files?: { readonly ca: string; readonly cert: string; readonly key: string };
  readonly decisions: readonly ReportedStep[];
  readonly converged: boolean;
  readonly waiting: readonly string[];
}

const SHOWN_DECISIONS = 20;

export { Refused } from "./refused.ts";

export const operations = {
  ...operationVerbs,
  ...authVerbs,
  ...snapshotVerbs,

  async status(subject: Subject): Promise<LocalReport> {
    const stored = await storedCluster(subject);
    const seen = await subject.look();
    const { platform, layout } = subject;
    const secure = (await subject.disk.stat(platform.certificates.userFiles().cert)) !== undefined;
    return {
      cluster: { ...toResource(stored), status: seen.status },
      dir: layout.dir,
      ...(subject.controller && { controller: subject.controller }),
      processes: seen.observation.members.map(({ record: { name }, workload }) => ({
        name,
        pid: platform.workloads.identity(name)?.pid,
        state: workload.state,
        ...(workload.state === "exited" && { detail: `${workload.cause}: ${workload.detail}` }),
        ...(workload.state === "waiting" && { detail: workload.reason }),
        log: layout.logOf(name),
        data: layout.volume(name).data,
      })),
      ...(secure && { files: platform.certificates.userFiles() }),
      decisions: subject.transcript().slice(-SHOWN_DECISIONS),
      converged: seen.decision.converged,
      waiting: [...seen.decision.holds.map(({ message }) => message), ...sentencesOf(seen.problems)],
    };
  },

  /** Stores a new spec; the loop does the rest. */
  async apply(subject: Subject, change: Change): Promise<Done> {
    const stored = await storedCluster(subject);
    const checked = checkChange(stored, change);
    const { observation } = await subject.look();
    const { step } = targetOf(viewOf(withSpec(observation, checked.spec)));
    // Without a next action it is only on its way, and worth waiting for.
    if (step.kind === "refused" && needsPerson(step.why.code))
      throw fieldError("spec.version", `${sentenceOf(step.why)}. ${remedyOf(step.why)}`);
    const after = await subject.platform.store.updateCluster({ spec: checked.spec });
    subject.wake();
    const text =
      after.generation === stored.generation
        ? `${stored.name} unchanged`
        : `${stored.name} configured (generation ${after.generation})`;
    return { text, warnings: warningsOf(checked) };
  },

  /** What would happen, without changing anything. */
  async plan(subject: Subject, change?: Change): Promise<Outline> {
    const { observation } = await subject.look();
    const spec = change ? checkChange(await storedCluster(subject), change).spec : observation.cluster.spec;
    return outline(withSpec(observation, spec));
  },

  async why(subject: Subject): Promise<Explanation> {
    return why((await subject.look()).decision);
  },

  /** SIGKILL, as the out-of-memory killer would do it. */
  async kill(subject: Subject, member: string): Promise<Done> {
    await memberNamed(subject, member);
    const killed = await subject.platform.workloads.kill(member, "SIGKILL");
    return {
      text: killed ? `${member} was killed (SIGKILL); it will be restarted` : `${member} was not running`,
    };
  },

  /** SIGTERM: the member hands over and ends in order. */
  async stop(subject: Subject, member: string): Promise<Done> {
    await memberNamed(subject, member);
    const stopped = await subject.platform.workloads.kill(member, "SIGTERM");
    return {
      text: stopped
        ? `${member} was stopped (SIGTERM); it will be restarted, because it is meant to run`
        : `${member} was not running`,
    };
  },

  async wipe(subject: Subject, member: string): Promise<Done> {
    await memberNamed(subject, member);
    const { data } = subject.layout.volume(member);
    await subject.platform.workloads.whileDown(member, async () => {
      await subject.disk.remove(data);
      await subject.disk.makeDirectory(data);
    });
    return {
      text: `${member} was killed and its data deleted; it will be replaced by a new member`,
    };
  },

  async corrupt(subject: Subject, member: string): Promise<Done> {
    await memberNamed(subject, member);
    const { database } = subject.layout.volume(member);
    const pages = await subject.platform.workloads.whileDown(member, () =>
      corruptDatabase(subject.disk, database),
    );
    return {
      text:
        pages === 0
          ? `${member} was killed, but its database has no keys to corrupt: put one first`
          : `${member} was killed and ${pages} ${pages === 1 ? "page" : "pages"} of its database corrupted; its data now differs from that of the other members, and it will be replaced`,
    };
  },

  /** What deleting an EtcdMember means: a newcomer takes its place. */
  async replace(subject: Subject, member: string): Promise<Done> {
    await memberNamed(subject, member);
    await subject.platform.store.markDeleting(member);
    subject.wake();
    return {
      text: `${member} will be replaced: a new member joins and is promoted, then ${member} is removed`,
    };
  },

  /** It runs and votes on; clients are not sent to it, and another one leads. */
  async fence(subject: Subject, member: string): Promise<Done> {
    return await setFenced(subject, member, true);
  },

  async unfence(subject: Subject, member: string): Promise<Done> {
    return await setFenced(subject, member, false);
  },

  async approve(subject: Subject, word: string): Promise<Done> {
    await storedCluster(subject);
    await subject.platform.store.updateCluster({ approved: word });
    subject.wake();
    return { text: `${word} approved` };
  },

  async delete(subject: Subject): Promise<Done> {
    const { name, spec } = await storedCluster(subject);
    await subject.platform.store.updateCluster({ deleting: true });
    subject.wake();
    const kept = spec.storage.retention.onDelete === "Retain";
    return {
      text: `${name} is being deleted; ${kept ? `its volumes are retained in ${subject.layout.volumes}` : "its data is deleted as well"}`,
    };
  },

  async down(subject: Subject): Promise<Done> {
    await subject.down();
    return { text: `stopped the members in ${subject.layout.dir}; their data is retained` };
  },
};

export function checkChange(stored: StoredCluster, change: Change): CheckedCluster {
  if ("manifest" in change) return checkManifest(change.manifest, stored);
  const { replicas, version, paused } = change;
  const resource = toResource(stored);
  const spec = {
    ...resource.spec,
    ...(replicas !== undefined && { replicas }),
    ...(version !== undefined && { version }),
    ...(paused !== undefined && { paused }),
  };
  return checkManifest({ ...resource, spec }, stored);
}

export function warningsOf({ notApplicable, spec }: CheckedCluster): string[] {
  return [
    ...(notApplicable.length > 0
      ? [`These fields apply to Kubernetes only and are ignored here: ${notApplicable.join(", ")}`]
      : []),
    ...specWarnings(spec),
  ];
}

function withSpec(observation: Observation, spec: Observation["cluster"]["spec"]): Observation {
  const { cluster } = observation;
  const generation = cluster.generation + 1;
  return { ...observation, cluster: { ...cluster, spec: applicableSpec(spec), generation } };
}

async function storedCluster({ platform, layout }: Subject): Promise<StoredCluster> {
  const stored = await platform.store.cluster();
  if (!stored) throw new NotFound(`there is no cluster in ${layout.dir}`);
  return stored;
}

async function setFenced(subject: Subject, member: string, fenced: boolean): Promise<Done> {
  await memberNamed(subject, member);
  await subject.platform.store.markFenced(member, fenced);
  subject.wake();
  return {
    text: fenced
      ? `${member} is fenced: it keeps running and voting, \`local env\` leaves it out, and leadership moves to another voter`
      : `${member} is no longer fenced: \`local env\` lists it again, and it may lead`,
  };
}

async function memberNamed({ platform }: Subject, name: string): Promise<void> {
  const names = (await platform.store.members()).map(({ record }) => record.name);
  if (!names.includes(name)) {
    throw new NotFound(
      `no member is named ${JSON.stringify(name)}; the members are ${names.join(", ") || "none"}`,
    );
  }
}
