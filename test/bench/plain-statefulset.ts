/**
 * Three etcd as a plain StatefulSet that starts all its Pods at once, in everything else as the operator makes them:
 * the same image, configuration, probes, disks, resources and rights. Its certificates are ready-made.
 */
import { specOf } from "../../src/core/testing/cluster.ts";
import type { MemberRecord } from "../../src/core/record.ts";
import { templateFor } from "../../src/core/template/template.ts";
import { viewOf } from "../../src/core/view.ts";
import { certificateNames, memberAddress, serviceNames } from "../../src/operator/names.ts";
import { memberClaim } from "../../src/operator/render/claim.ts";
import { configFile, FILES } from "../../src/operator/render/config.ts";
import { memberPod } from "../../src/operator/render/pod.ts";
import { clusterServices } from "../../src/operator/render/services.ts";
import { clusterWith, type Wish } from "../../src/operator/testing/rendered.ts";
import { createPki } from "../../src/pki/issue.ts";
import { CA_LIFE_MS, LEAF_LIFE_MS, USAGES } from "../../src/pki/plan.ts";
import { memberSans } from "../../src/pki/sans.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { systemRandom } from "../../src/seams/random.ts";
import type { Client } from "../../testbed/client.ts";
import { PATHS } from "../support/kube-paths.ts";

const SETS = "/apis/apps/v1/namespaces/default/statefulsets";
const ORDINALS = [1, 2, 3];
/** What etcd reads. */
const NEEDED = [
  "config",
  "serverPem",
  "gatewayPem",
  "peerPem",
  "peerClientPem",
  "clientCA",
  "peerCA",
] as const satisfies readonly (keyof typeof FILES)[];
const pki = createPki(systemClock, systemRandom);

export class PlainStatefulSet {
  readonly name: string;
  readonly #client: Client;
  readonly #records: readonly MemberRecord[];
  readonly #view: ReturnType<typeof clusterWith>;

  constructor(client: Client, name: string, wish: Wish) {
    this.name = name;
    this.#client = client;
    const spec = specOf(wish);
    const uid = `uid-of-${name}`;
    this.#view = clusterWith(spec, { name, namespace: "default", uid });
    const { cluster } = this.#view.observation;
    const records = ORDINALS.map((ordinal): MemberRecord => ({
      name: `${name}-${ordinal}`,
      ordinal,
      uid: `${uid}-${ordinal}`,
      resourceVersion: "1",
      createdAt: 0,
      role: "Voter",
      token: uid,
      boot: "New",
      address: memberAddress(cluster, ordinal, "Pod"),
      initialCluster: [],
      joined: false,
      run: true,
      template: templateFor(spec, spec.version),
    }));
    const initialCluster = records.map(({ name: member, address }) => ({
      name: member,
      peerURL: address.peerURL,
    }));
    this.#records = records.map((record) => ({ ...record, initialCluster }));
  }

  /** The Secret of all three, as somebody made it beforehand. */
  async prepare(): Promise<void> {
    const ca = {
      client: await pki.issueCa({ commonName: "client", lifeMs: CA_LIFE_MS }),
      peer: await pki.issueCa({ commonName: "peer", lifeMs: CA_LIFE_MS }),
    };
    const leaf = async (plane: "client" | "peer", record: MemberRecord) => {
      const { sans } = memberSans(certificateNames(this.#view.observation.cluster, record, plane));
      const wanted = { commonName: record.name, sans, usages: USAGES.peer, lifeMs: LEAF_LIFE_MS };
      const { certificate, key } = await pki.issueLeaf({ ca: ca[plane], leaf: wanted });
      return certificate + key;
    };
    const stringData: Record<string, string> = {};
    for (const record of this.#records) {
      const texts: Record<(typeof NEEDED)[number], string> = {
        config: configFile(record, false),
        serverPem: await leaf("client", record),
        gatewayPem: await leaf("client", record),
        peerPem: await leaf("peer", record),
        peerClientPem: await leaf("peer", record),
        clientCA: ca.client.certificate,
        peerCA: ca.peer.certificate,
      };
      for (const file of NEEDED) stringData[`${record.name}.${FILES[file]}`] = texts[file];
    }
    await this.#client.create(PATHS.secrets, { metadata: { name: this.name }, stringData });
  }

  /** What a person applies: the Services and the StatefulSet. */
  async create(): Promise<void> {
    for (const { metadata, ...service } of clusterServices(viewOf(this.#view.observation)))
      await this.#client.create(PATHS.services, {
        ...service,
        metadata: { ...metadata, ownerReferences: [] },
      });
    await this.#client.create(SETS, this.#statefulSet());
  }

  #statefulSet(): object {
    const { cluster } = this.#view.observation;
    const [first] = this.#records;
    if (!first) throw new RangeError("no member");
    const { metadata, spec } = memberPod(cluster, first, { role: "voter", gated: false });
    const { hostname: _hostname, subdomain: _subdomain, volumes, containers = [], ...rest } = spec ?? {};
    const { statefulset, ...labels } = { statefulset: this.name, ...metadata?.labels };
    return {
      metadata: { name: this.name },
      spec: {
        serviceName: serviceNames(this.name).peers,
        replicas: ORDINALS.length,
        ordinals: { start: 1 },
        podManagementPolicy: "Parallel",
        selector: { matchLabels: { statefulset } },
        template: {
          metadata: { labels: { ...labels, statefulset } },
          spec: {
            ...rest,
            containers: containers.map((container) => ({
              ...container,
              env: [{ name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
              volumeMounts: container.volumeMounts?.map((mount) =>
                mount.name === "config" ? { ...mount, subPathExpr: "$(POD)" } : mount,
              ),
            })),
            volumes: volumes
              ?.filter(({ name }) => name === "config")
              .map((volume) => ({ ...volume, secret: this.#files(volume.secret?.defaultMode) })),
          },
        },
        volumeClaimTemplates: [{ metadata: { name: "data" }, spec: memberClaim(cluster, first).spec }],
      },
    };
  }

  /** Each member's files in a directory of its own, of which its Pod mounts one. */
  #files(defaultMode: number | undefined): object {
    const items = this.#records.flatMap(({ name }) =>
      NEEDED.map((file) => ({ key: `${name}.${FILES[file]}`, path: `${name}/${FILES[file]}` })),
    );
    return { secretName: this.name, defaultMode, items };
  }

  async delete(): Promise<void> {
    const { peers, client } = serviceNames(this.name);
    await this.#client.delete(`${SETS}/${this.name}`, { propagationPolicy: "Foreground" });
    for (const service of [peers, client]) await this.#client.delete(`${PATHS.services}/${service}`);
    await this.#client.delete(`${PATHS.secrets}/${this.name}`);
    for (const { name } of this.#records) await this.#client.delete(`${PATHS.claims}/data-${name}`);
  }
}
