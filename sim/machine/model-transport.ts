/**
 * Talking to the model etcd as if over gRPC: message objects, latency, refused connections, calls that hang
 * on a frozen member until their deadline. No bytes are made.
 */
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import {
  AlarmRequest_AlarmAction,
  AlarmType,
  DowngradeRequest_DowngradeAction,
} from "../../src/etcd/proto/rpc_pb.ts";
import {
  RpcFailure,
  type Endpoint,
  type EtcdTransport,
  type RpcOptions,
  type RpcStream,
} from "../../src/seams/etcd-transport.ts";
import { authAnswers, admit } from "../models/etcd/auth-answers.ts";
import type { Calls } from "../models/etcd/calls.ts";
import type { Keys } from "../models/etcd/kv.ts";
import { kvAnswers } from "../models/etcd/kv-answers.ts";
import { Refusal } from "../models/etcd/refusal.ts";
import type { Server } from "../models/etcd/server.ts";
import type { Member } from "../models/etcd/state.ts";
import type { EtcdWorld } from "../models/etcd/world.ts";
import type { SeededRandom } from "../engine/random.ts";

/** How long etcd itself waits for a quorum that is not there. */
const ETCD_PATIENCE_MS = 7_000;

type Answer = Record<string, unknown>;
type Handler = (server: Server, request: never) => Answer;

export class ModelTransport implements EtcdTransport {
  readonly #world: EtcdWorld;
  readonly #random: SeededRandom;
  readonly #reaches: (server: Server) => boolean;
  readonly #handlers: Readonly<Record<string, Handler>>;
  readonly #around: ConstructorParameters<typeof ModelTransport>[0];
  /** The common name of the certificate that it dials with. */
  commonName: string | undefined;

  constructor(around: {
    world: EtcdWorld;
    calls: Calls;
    keys: Keys;
    random: SeededRandom;
    /** Packets to others get lost without a word. */
    reaches?: (server: Server) => boolean;
  }) {
    this.#around = around;
    this.#reaches = around.reaches ?? (() => true);
    this.#world = around.world;
    this.#random = around.random;
    this.#handlers = handlers(around.calls, around.keys);
  }

  unary<I extends DescMessage, O extends DescMessage>(
    call: DescMethodUnary<I, O>,
    endpoint: Endpoint,
    request: MessageShape<I>,
    options: RpcOptions,
  ): Promise<MessageShape<O>> {
    return new Promise((resolve, reject) => {
      const { scheduler } = this.#world;
      let sent = false;
      const onAbort = () => {
        waiting.cancel();
        reject(
          new RpcFailure("DEADLINE_EXCEEDED", "context deadline exceeded", sent ? "interrupted" : "not-sent"),
        );
      };
      const settle = (end: () => void) => {
        options.signal.removeEventListener("abort", onAbort);
        end();
      };
      const deliver = () => {
        const server = this.#world.network.clientAt(endpoint.url);
        if (!server) {
          settle(() => reject(new RpcFailure("UNAVAILABLE", "connection refused", "not-sent")));
          return;
        }
        if (!this.#reaches(server)) return;
        sent = true;
        // Bound and not served yet, or frozen: the kernel takes the connection, nobody answers.
        if (!server.serving || server.frozen) return;
        try {
          const answer = this.#answer(`${call.parent.name}.${call.name}`, server, endpoint, request, options);
          const message = create(call.output, answer as MessageInitShape<O>);
          waiting = scheduler.after(this.#latency(), () => settle(() => resolve(message)));
        } catch (error) {
          if (!(error instanceof Refusal)) throw error;
          const failure = new RpcFailure(error.code, error.message, "answered");
          const wait = error.kind === "timedOut" ? ETCD_PATIENCE_MS : this.#latency();
          waiting = scheduler.after(wait, () => settle(() => reject(failure)));
        }
      };
      let waiting = scheduler.after(this.#latency(), deliver);
      if (options.signal.aborted) onAbort();
      else options.signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  #latency(): number {
    return this.#random.between(1, 3);
  }

  /** Another one over the same network, for somebody else. */
  as(commonName: string | undefined): ModelTransport {
    const other = new ModelTransport(this.#around);
    other.commonName = commonName;
    return other;
  }

  #answer(call: string, server: Server, endpoint: Endpoint, request: unknown, options: RpcOptions): Answer {
    const handler = this.#handlers[call];
    const token = options.metadata?.["token"];
    // In plaintext nobody shows a certificate.
    const shown = endpoint.url.startsWith("https:") ? this.commonName : undefined;
    admit(server, call, request, token ?? (shown === undefined ? undefined : { user: shown }));
    if (!handler) throw new RpcFailure("UNIMPLEMENTED", `the model has no ${call}`, "answered");
    return handler(server, request as never);
  }

  stream<I extends DescMessage, O extends DescMessage>(): RpcStream<MessageShape<I>, MessageShape<O>> {
    throw new RpcFailure("UNIMPLEMENTED", "the model has no streams", "not-sent");
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

const id = (hex: string) => BigInt(`0x${hex}`);
const hex = (value: bigint) => value.toString(16);
const toMember = (member: Member): Answer => ({
  id: id(member.id),
  name: member.name,
  peerUrls: [...member.peerURLs],
  clientUrls: [...member.clientURLs],
  isLearner: member.isLearner,
});

function handlers(calls: Calls, keys: Keys): Record<string, Handler> {
  const header = (server: Server): Answer => {
    const { clusterID, memberID, revision, raftTerm } = calls.facts(server);
    return {
      clusterId: id(clusterID),
      memberId: id(memberID),
      revision: BigInt(revision),
      raftTerm: BigInt(raftTerm),
    };
  };
  const members = (server: Server): Answer[] => server.knownMembers().map(toMember);
  const listing = (server: Server): Answer => ({ header: header(server), members: members(server) });
  const alarms = (server: Server): Answer => ({
    header: header(server),
    alarms: calls
      .alarms(server)
      .map(({ memberID, alarm }) => ({ memberId: id(memberID), alarm: AlarmType[alarm] })),
  });
  const handle: Record<string, (server: Server, request: never) => Answer> = {
    "Cluster.MemberList": (server, request: { linearizable: boolean }) => {
      calls.memberList(server, request.linearizable);
      return listing(server);
    },
    "Cluster.MemberAdd": (server, request: { peerUrls: string[]; isLearner: boolean }) => {
      const member = calls.memberAdd(server, request.peerUrls, request.isLearner);
      return { ...listing(server), member: toMember(member) };
    },
    "Cluster.MemberRemove": (server, request: { id: bigint }) => {
      calls.memberRemove(server, hex(request.id));
      return listing(server);
    },
    "Cluster.MemberPromote": (server, request: { id: bigint }) => {
      calls.memberPromote(server, hex(request.id));
      return listing(server);
    },
    "Cluster.MemberUpdate": (server, request: { id: bigint; peerUrls: string[] }) => {
      calls.memberUpdate(server, hex(request.id), request.peerUrls);
      return listing(server);
    },
    "Maintenance.Status": (server) => {
      const status = calls.status(server);
      return {
        header: header(server),
        version: status.version,
        dbSize: BigInt(status.dbSize),
        dbSizeInUse: BigInt(status.dbSizeInUse),
        dbSizeQuota: BigInt(status.dbSizeQuota),
        leader: id(status.leaderID),
        isLearner: status.isLearner,
        raftIndex: BigInt(status.raftIndex),
        raftTerm: BigInt(status.raftTerm),
        raftAppliedIndex: BigInt(status.raftAppliedIndex),
        errors: [
          ...(status.leaderID === "0" ? ["etcdserver: no leader"] : []),
          ...[...server.dir.state.alarms].map((alarm) => `memberID:${alarm}`),
        ],
        storageVersion: status.storageVersion === "" ? "" : `${status.storageVersion}.0`,
        ...(status.downgrade && {
          downgradeInfo: { enabled: status.downgrade.enabled, targetVersion: status.downgrade.target },
        }),
      };
    },
    "Maintenance.Alarm": (
      server,
      request: { action: AlarmRequest_AlarmAction; memberId: bigint; alarm: AlarmType },
    ) => {
      if (request.action === AlarmRequest_AlarmAction.GET) {
        // Each such question is an entry of the log.
        calls.advanceLog(server, 1);
      } else {
        const alarm = request.alarm === AlarmType.CORRUPT ? "CORRUPT" : "NOSPACE";
        const raise = request.action === AlarmRequest_AlarmAction.ACTIVATE;
        const memberID = hex(request.memberId);
        const there = raise || server.dir.state.alarms.has(`${memberID} ${alarm}`);
        calls.setAlarm(server, memberID, alarm, raise);
        // Only the alarm that it was about.
        const about = { memberId: request.memberId, alarm: AlarmType[alarm] };
        return { header: header(server), alarms: there ? [about] : [] };
      }
      return alarms(server);
    },
    "Maintenance.Defragment": (server) => {
      calls.defragment(server);
      return {};
    },
    "Maintenance.HashKV": (server, request: { revision: bigint }) => {
      const { hash, compactRevision, revision } = calls.hashKV(server, Number(request.revision));
      return {
        header: header(server),
        hash,
        compactRevision: BigInt(compactRevision),
        hashRevision: server.minor >= 3006 ? BigInt(revision) : 0n,
      };
    },
    "Maintenance.MoveLeader": (server, request: { targetId: bigint }) => {
      calls.moveLeader(server, hex(request.targetId));
      return { header: header(server) };
    },
    "Maintenance.Downgrade": (
      server,
      request: { action: DowngradeRequest_DowngradeAction; version: string },
    ) => {
      const { ENABLE, CANCEL } = DowngradeRequest_DowngradeAction;
      const action = request.action === ENABLE ? "ENABLE" : request.action === CANCEL ? "CANCEL" : "VALIDATE";
      return { header: header(server), version: calls.downgrade(server, action, request.version) };
    },
    ...kvAnswers(keys, header),
    ...authAnswers(calls, header),
  };
  return handle as Record<string, Handler>;
}
