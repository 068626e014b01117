/** From etcd's messages to the client's plain types. */
import type { KeyValue as KeyValueMessage } from "./proto/kv_pb.ts";
import {
  AlarmType,
  type AlarmMember,
  type HashKVResponse,
  type Member as MemberMessage,
  type ResponseHeader,
  type StatusResponse,
} from "./proto/rpc_pb.ts";
import type { Alarm, AlarmKind, Bytes, HashKv, Header, KeyValue, Member, MemberStatus } from "./types.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function bytes(value: Bytes): Uint8Array<ArrayBuffer> {
  // The copy of a view is what the generated types ask for; text is the usual case.
  return typeof value === "string" ? encoder.encode(value) : new Uint8Array(value);
}

/** A key or value as text. */
export function text(value: Uint8Array): string {
  return decoder.decode(value);
}

export function toHeader(header: ResponseHeader | undefined): Header {
  return {
    clusterId: header?.clusterId ?? 0n,
    memberId: header?.memberId ?? 0n,
    revision: header?.revision ?? 0n,
    raftTerm: header?.raftTerm ?? 0n,
  };
}

export function toMember(member: MemberMessage): Member {
  return {
    id: member.id,
    name: member.name,
    peerUrls: member.peerUrls,
    clientUrls: member.clientUrls,
    isLearner: member.isLearner,
  };
}

export function toStatus(response: StatusResponse): MemberStatus {
  const header = toHeader(response.header);
  return {
    header,
    version: response.version,
    dbSize: Number(response.dbSize),
    dbSizeInUse: Number(response.dbSizeInUse),
    leader: response.leader,
    isLeader: response.leader !== 0n && response.leader === header.memberId,
    isLearner: response.isLearner,
    raftIndex: response.raftIndex,
    raftTerm: response.raftTerm,
    raftAppliedIndex: response.raftAppliedIndex,
    errors: response.errors,
    ...(response.storageVersion === "" ? {} : { storageVersion: response.storageVersion }),
    ...(response.dbSizeQuota === 0n ? {} : { dbSizeQuota: Number(response.dbSizeQuota) }),
    ...(response.downgradeInfo === undefined
      ? {}
      : {
          downgrade: {
            enabled: response.downgradeInfo.enabled,
            targetVersion: response.downgradeInfo.targetVersion,
          },
        }),
  };
}

/** Alarms of a kind we do not know are left out: a newer etcd's alarm is none of the two we can cure. */
export function toAlarms(alarms: readonly AlarmMember[]): readonly Alarm[] {
  const names = new Map<number, AlarmKind>([
    [AlarmType.NOSPACE, "NOSPACE"],
    [AlarmType.CORRUPT, "CORRUPT"],
  ]);
  return alarms.flatMap(({ memberId, alarm }) => {
    const kind = names.get(alarm);
    return kind === undefined ? [] : [{ memberId, alarm: kind }];
  });
}

export function toHashKv(response: HashKVResponse): HashKv {
  return {
    header: toHeader(response.header),
    hash: response.hash,
    compactRevision: response.compactRevision,
    ...(response.hashRevision === 0n ? {} : { hashRevision: response.hashRevision }),
  };
}

export function toKeyValue(kv: KeyValueMessage): KeyValue {
  return {
    key: kv.key,
    value: kv.value,
    createRevision: kv.createRevision,
    modRevision: kv.modRevision,
    version: kv.version,
    lease: kv.lease,
  };
}
