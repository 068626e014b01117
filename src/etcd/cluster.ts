/** Membership calls. They go to voters (R17), promotion to the leader (R18). */
import type { Caller } from "./caller.ts";
import { toHeader, toMember } from "./convert.ts";
import { Cluster } from "./proto/rpc_pb.ts";
import type { CallOptions, Member, MemberList } from "./types.ts";

const { method } = Cluster;

export interface MemberAdded extends MemberList {
  readonly member: Member;
}

export class ClusterCalls {
  readonly #caller: Caller;
  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** All members. Linearizable unless told otherwise; `linearizable: false` answers without quorum (R21). */
  async memberList(options: CallOptions & { linearizable?: boolean } = {}): Promise<MemberList> {
    const request = { linearizable: options.linearizable ?? true };
    return toList(await this.#caller.voter(method.memberList, request, { ...options, repeatable: true }));
  }

  /** Never repeated by itself: after a failure of unknown outcome, read the list and match by URL (H10). */
  async memberAdd(
    peerUrls: readonly string[],
    options: CallOptions & { learner?: boolean } = {},
  ): Promise<MemberAdded> {
    const request = { peerUrls: [...peerUrls], isLearner: options.learner ?? false };
    const answer = await this.#caller.voter(method.memberAdd, request, { ...options, repeatable: false });
    if (answer.member === undefined) throw new TypeError("etcd answered MemberAdd without the member");
    return { ...toList(answer), member: toMember(answer.member) };
  }

  /** `name`: of the member's own endpoint, which is asked last. */
  async memberRemove(
    id: bigint,
    { name, ...options }: CallOptions & { name?: string } = {},
  ): Promise<MemberList> {
    return toList(
      await this.#caller.voter(method.memberRemove, { id }, { ...options, repeatable: false, removes: name }),
    );
  }

  /** Changes peer URLs. On a learner this promotes it before 3.5.31 and 3.6.12 (R9). */
  async memberUpdate(
    id: bigint,
    peerUrls: readonly string[],
    options: CallOptions = {},
  ): Promise<MemberList> {
    const request = { id, peerUrls: [...peerUrls] };
    return toList(await this.#caller.voter(method.memberUpdate, request, { ...options, repeatable: false }));
  }

  async memberPromote(id: bigint, options: CallOptions = {}): Promise<MemberList> {
    return toList(await this.#caller.leader(method.memberPromote, { id }, options));
  }
}

function toList(answer: {
  header?: Parameters<typeof toHeader>[0];
  members: Parameters<typeof toMember>[0][];
}): MemberList {
  return { header: toHeader(answer.header), members: answer.members.map(toMember) };
}
