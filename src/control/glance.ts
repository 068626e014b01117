/**
 * A short look at a cluster at rest, in place of a whole one: no object has changed, each member is ready by its own
 * word, which is a read through quorum (R34), and one of them still tells the same leader, versions, members and no
 * alarm. Everything else, a missing answer included, calls for a whole look: a short one decides and tells nothing.
 */
import { sameSpace, spaceOf, type Space } from "../core/assess/space.ts";
import { sameContent } from "../core/template/hash.ts";
import type { MemberAnswer, Observation } from "../core/observation.ts";
import type { EtcdClient } from "../etcd/client.ts";
import { deadline, type Clock } from "../seams/clock.ts";
import type { EtcdProbe } from "../seams/etcd-probe.ts";
import type { Endpoint } from "../seams/etcd-transport.ts";
import { askItself, askList } from "./ask.ts";
import { ASK_TIMEOUT_MS } from "./asked-member.ts";
import type { Platform } from "./platform.ts";

/** What of a platform is asked. */
export type GlancedAt = Pick<Platform, "isUnchanged" | "readyURL" | "isOurs"> & {
  readonly probe: Pick<EtcdProbe, "ready">;
};

type Answer = Extract<MemberAnswer, { reachable: true }>;

/** What one member told after it had read through quorum, which it was asked for at the mark `at`. */
type OnAnswer = (answer: Answer, at: number) => void;

/** What a whole look saw, as far as a short one compares it. */
interface Seen {
  /** By the monotonic clock: when a whole look is due. */
  readonly until: number;
  /** Of all but the witness. */
  readonly readyURLs: readonly string[];
  readonly witnessURL: string;
  /** Asked over the connection that is kept. */
  readonly witness: Endpoint;
  readonly answer: Answer;
  /** Of all members. */
  readonly spaces: readonly Space[];
  readonly list: Observation["etcd"]["list"];
  /** The last entry of its log that the list is known to be made from. */
  index: number;
}

const KEPT = [
  "memberID",
  "clusterID",
  "leaderID",
  "raftTerm",
  "isLearner",
  "version",
  "storageVersion",
  "downgrade",
  "dbSizeQuota",
] as const satisfies (keyof Answer)[];
const SIZES = ["dbSize", "dbSizeInUse"] as const satisfies (keyof Answer)[];
/** Of a database that has grown or shrunk by more than this share, the status tells too old a size. */
const MOVED_SHARE = 0.1;

export class Glance {
  readonly #platform: GlancedAt;
  readonly #client: EtcdClient;
  readonly #clock: Clock;
  readonly #onAnswer: OnAnswer;
  #seen: Seen | undefined;

  constructor(platform: GlancedAt, client: EtcdClient, clock: Clock, onAnswer: OnAnswer) {
    this.#onAnswer = onAnswer;
    this.#platform = platform;
    this.#client = client;
    this.#clock = clock;
  }

  /** A whole look found nothing to do: for `forMs`, short ones stand for it. False where they cannot. */
  rest({ members, etcd }: Observation, forMs: number): boolean {
    if (forMs <= 0) return false;
    const witness = this.#client.preferred;
    const asked = members.find(({ record }) => record.name === witness?.name);
    const { isUnchanged, readyURL } = this.#platform;
    if (!isUnchanged || !readyURL || !witness || !asked?.answer.reachable || !etcd.list?.linearizable)
      return false;
    if (etcd.alarms.length > 0 || !members.every((member) => serves(member.answer))) return false;
    const { answer } = asked;
    const urlOf = ({ record }: (typeof members)[number]) => readyURL.call(this.#platform, record);
    this.#seen = {
      until: this.#clock.monotonic() + forMs,
      readyURLs: members.filter((member) => member !== asked).map(urlOf),
      witnessURL: urlOf(asked),
      witness,
      answer,
      spaces: members.flatMap((member) => spaceOf(member) ?? []),
      list: etcd.list,
      index: answer.raftAppliedIndex,
    };
    return true;
  }

  /** For how many milliseconds short looks will do, if this one finds nothing new; 0 when a whole one is due. */
  async look(): Promise<number> {
    const seen = this.#seen;
    this.#seen = undefined;
    if (!seen || seen.until <= this.#clock.monotonic() || !this.#platform.isUnchanged?.()) return 0;
    using limit = deadline(this.#clock, ASK_TIMEOUT_MS);
    const same = await Promise.all([
      this.#isUnchanged(seen, limit.signal),
      ...seen.readyURLs.map((url) => this.#platform.probe.ready(url, limit.signal)),
    ]);
    if (!same.every(Boolean)) return 0;
    this.#seen = seen;
    return Math.max(0, seen.until - this.#clock.monotonic());
  }

  /**
   * Alarms and members are the cluster's, so that one of its voters tells them for all. It reads through quorum first: then
   * it has applied all that was acknowledged before, and its revision counts it.
   */
  async #isUnchanged(seen: Seen, signal: AbortSignal): Promise<boolean> {
    const { witness, witnessURL, answer, spaces, list } = seen;
    const askedAt = this.#clock.monotonic();
    if (!(await this.#platform.probe.ready(witnessURL, signal))) return false;
    const now = await askItself(this.#client, witness);
    if (!now?.reachable || !isSame(answer, now) || crossesShare(spaces, answer, now)) return false;
    this.#onAnswer(now, askedAt);
    // The list is made by entries of the log: as long as there is no new one, it is the same.
    if (now.raftIndex === seen.index && now.raftAppliedIndex === seen.index) return true;
    const members = await askList(this.#client, true, (peerURL) => this.#platform.isOurs(peerURL));
    if (!sameContent(members, list)) return false;
    // From before the list was asked for: what came meanwhile is looked at the next time.
    seen.index = now.raftAppliedIndex;
    return true;
  }
}

function serves(answer: MemberAnswer): boolean {
  return answer.reachable && (answer.linearizable || answer.isLearner);
}

/** In all but what moves with every request of a client. */
function isSame(before: Answer, now: Answer): boolean {
  return (
    KEPT.every((fact) => sameContent(before[fact], now[fact])) &&
    SIZES.every((size) => Math.abs(now[size] - before[size]) <= MOVED_SHARE * before[size])
  );
}

/**
 * All members hold the same data, so that each grows by what the witness has grown by: its file by as much as the data
 * where it has no free pages. What is taken for more than it is costs one whole look.
 */
function crossesShare(spaces: readonly Space[], before: Answer, now: Answer): boolean {
  const file = now.dbSize - before.dbSize;
  const used = now.dbSizeInUse - before.dbSizeInUse;
  return spaces.some((space) =>
    [file, used].some(
      (grown) => !sameSpace(space, { ...space, used: space.used + used, file: space.file + grown }),
    ),
  );
}
