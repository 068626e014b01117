/**
 * What an operation or a CA that runs out asks of the certificates of a cluster: the phases of a rotation, other leaves
 * at once, and a look at what members trust and show meanwhile.
 */
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import { Conflict, type ObjectAction, type PlatformMember } from "../../control/platform.ts";
import { TrustWatch, type RotatingPlane } from "../../control/trust.ts";
import { lifetimesOf } from "../../api/lifetimes.ts";
import { isGiven, isSecure, showsCertificate } from "../../core/config/flags.ts";
import type { AuthorityFacts, ClusterFacts, PlatformFacts } from "../../core/observation.ts";
import type { MemberRecord } from "../../core/record.ts";
import { isReason } from "../../kube/errors.ts";
import { isControlledBy } from "../../kube/resources.ts";
import { bundleOf, idOf, nameIn, newerCaOf, type Asked, type CaSet } from "../../pki/authority.ts";
import { PLANES, type Plane } from "../../pki/plan.ts";
import type { Clock } from "../../seams/clock.ts";
import type { EtcdProbe } from "../../seams/etcd-probe.ts";
import type { Endpoint } from "../../seams/etcd-transport.ts";
import { PkiError, type KeyPair, type Pki } from "../../seams/pki.ts";
import { CLIENTS } from "../names.ts";
import type { ClockSkew } from "../observe/clock-skew.ts";
import { reissueClients, reissueMember } from "./apply-secrets.ts";
import {
  authorityFactsOf,
  authorityIn,
  authorityName,
  rotateAuthority,
  turnFacts,
} from "./authority-secret.ts";
import type { ApplyContext } from "./outcomes.ts";
import { offeredCa } from "./plane-source.ts";

interface Around extends ApplyContext {
  readonly pki: Pki;
  readonly clock: Clock;
  readonly skew: ClockSkew;
  readonly probe: EtcdProbe;
}

export class Rotations {
  readonly #around: Around;
  readonly #endpoints: Readonly<Record<Plane, (record: MemberRecord) => Endpoint>>;
  readonly #trust: TrustWatch;
  /** As last read. */
  #records: readonly MemberRecord[] = [];

  constructor(around: Around, endpoints: Readonly<Record<Plane, (record: MemberRecord) => Endpoint>>) {
    this.#around = around;
    this.#endpoints = endpoints;
    this.#trust = new TrustWatch(around);
  }

  /** Of the planes that the spec asks for, and those that somebody still runs with. */
  authorities(cluster: ClusterFacts, records: readonly MemberRecord[]): Pick<PlatformFacts, "authorities"> {
    this.#records = records;
    const all = [cluster.spec.tls, ...records.map(({ template }) => template.tls)];
    const planes = PLANES.filter((plane) => all.some((tls) => isSecure(tls, plane)));
    const found = planes.flatMap((plane) => {
      const facts = this.#facts(cluster, plane);
      return facts ? [[plane, facts] as const] : [];
    });
    // That there is none yet is known, too.
    return planes.length === 0 ? {} : { authorities: Object.fromEntries(found) };
  }

  async rotate(
    facts: ClusterFacts,
    action: Extract<ObjectAction, { kind: "RotateAuthority" }>,
  ): Promise<void> {
    const { certificates, skew } = this.#around;
    const { contradiction } = certificates;
    if ((action.to === "Bundle" || action.turn === "Replace") && contradiction !== undefined)
      throw new PkiError("wrong-clock", `the ${action.plane} CA`, contradiction);
    const secret = this.#secret(facts, action.plane);
    try {
      const offered = this.#offered(action.plane);
      await rotateAuthority({ ...this.#around, now: skew.now(), offered }, facts, secret, action);
    } catch (error) {
      throw isReason(error, "Conflict") ? new Conflict(error.message, { cause: error }) : error;
    }
  }

  async reissue(facts: ClusterFacts, member: string | undefined): Promise<void> {
    if (member === undefined) return await reissueClients(this.#around, facts, this.#records);
    const record = this.#records.find(({ name }) => name === member);
    if (!record) throw new Conflict(`EtcdMember ${member} no longer exists`);
    await reissueMember(this.#around, facts, record);
  }

  async look(
    facts: ClusterFacts | undefined,
    members: readonly PlatformMember[],
  ): ReturnType<TrustWatch["see"]> {
    const planes = PLANES.flatMap((plane): RotatingPlane[] => {
      const secret = facts && this.#secret(facts, plane);
      if (!secret || (this.#facts(facts, plane)?.phase ?? "Steady") === "Steady") return [];
      const authority = authorityIn(secret, `the ${plane} CA`);
      const newerCa = newerCaOf(authority);
      if (!newerCa) return [];
      const { pki } = this.#around;
      const endpoint = (record: MemberRecord) =>
        showsCertificate(record.template.tls, plane) ? this.#endpoints[plane](record) : undefined;
      const id = idOf(pki, newerCa, `the new ${plane} CA`);
      const nameOf = (fingerprint: string) => nameIn(pki, authority, fingerprint);
      const shown = { plane, name: id, bundle: bundleOf(authority), nameOf, endpoint };
      if (!newerCa.given) return [{ ...shown, newerCa }];
      return [{ ...shown, leafFor: (member: string) => this.#givenLeaf(plane, member, id) }];
    });
    return await this.#trust.see(members, planes);
  }

  /** One that is given by this CA: what members are going to be called with. */
  #givenLeaf(plane: Plane, member: string, ca: string): KeyPair | undefined {
    const given = this.#around.certificates.offered(plane);
    if (!given || idOf(this.#around.pki, offeredCa(given), "the given CA") !== ca) return undefined;
    const offer = given.find(plane === "client" ? CLIENTS.operator : `${member} ${plane}`);
    return "problem" in offer ? undefined : { certificate: offer.certificate.text, key: offer.key.text };
  }

  #offered(plane: Plane): CaSet | undefined {
    const given = this.#around.certificates.offered(plane);
    return given && offeredCa(given);
  }

  #facts(cluster: ClusterFacts, plane: Plane): AuthorityFacts | undefined {
    const secret = this.#secret(cluster, plane);
    const { leafMs } = lifetimesOf(cluster.spec.tls);
    const facts = secret && authorityFactsOf(this.#around.pki, secret, leafMs);
    if (!facts) return undefined;
    // On the way to plaintext nobody comes to trust another CA.
    if (!isSecure(cluster.spec.tls, plane) && facts.given) return facts;
    const isTheirs = isGiven(cluster.spec.tls, plane);
    const offered = isTheirs ? this.#offered(plane) : undefined;
    const asked: Asked = isTheirs ? { by: "others", offered } : { by: "us" };
    const awaited = isTheirs && !offered && ({ awaited: true } as const);
    return { ...facts, ...awaited, ...turnFacts(this.#around.pki, secret, asked) };
  }

  #secret(cluster: ClusterFacts, plane: Plane): Secret | undefined {
    const name = authorityName(cluster, plane);
    const { secrets } = this.#around.stores.ownObjects(this.#around.key);
    const found = secrets.find(({ metadata }) => metadata?.name === name);
    return found && isControlledBy(found, cluster.uid) ? found : undefined;
  }
}
