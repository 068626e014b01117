/**
 * Stands for the etcd of many members at one address: it shows each caller the certificate of the member that was
 * asked for, and answers what an operator asks of a cluster at rest. It founds, elects and stores nothing.
 */
import { create, toBinary, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { createSecureServer, type Http2SecureServer } from "node:http2";
import { createSecureContext, type SecureContext, type TLSSocket } from "node:tls";
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import { encodeFrame } from "../../src/etcd/grpc/frame.ts";
import { KV, Cluster, Maintenance } from "../../src/etcd/proto/rpc_pb.ts";
import { LABELS } from "../../src/operator/names.ts";
import { FILES } from "../../src/operator/render/config.ts";

interface Member {
  readonly name: string;
  readonly cluster: string;
  readonly peerUrls: string[];
  readonly clientUrls: string[];
  readonly pem: string;
  context?: SecureContext;
}

const VERSION = "3.6.16";

export class ManyMembers {
  readonly #members = new Map<string, Member>();
  readonly #clusters = new Map<string, Set<string>>();
  readonly #server: Http2SecureServer;
  /** Each of them is alive and ready. */
  readonly #metrics = createServer((request, response) => {
    this.#count(request.url);
    response.end("ok\n");
  });
  /** Calls by their path. */
  readonly calls = new Map<string, number>();

  constructor() {
    this.#server = createSecureServer({
      allowHTTP1: true,
      SNICallback: (name, done) => {
        try {
          done(null, this.#contextOf(name));
        } catch (error) {
          done(error as Error);
        }
      },
    });
    this.#server.on("request", (request, response) => {
      this.#count(request.url);
      if (request.httpVersionMajor === 1) {
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify({ etcdserver: VERSION, etcdcluster: "3.6.0" }));
        return;
      }
      const { servername } = request.socket as TLSSocket;
      const message = this.#answer(request.url, this.#memberOf(String(servername)));
      response.setHeader("content-type", "application/grpc");
      // 12: not implemented.
      response.addTrailers({ "grpc-status": message === undefined ? "12" : "0" });
      response.end(message === undefined ? "" : encodeFrame(message));
    });
  }

  async listen(host: string, ports: { readonly client: number; readonly metrics: number }): Promise<void> {
    this.#server.listen({ host, port: ports.client, backlog: 1_024 });
    this.#metrics.listen({ host, port: ports.metrics, backlog: 1_024 });
    await Promise.all([once(this.#server, "listening"), once(this.#metrics, "listening")]);
  }

  close(): void {
    this.#server.close();
    this.#metrics.close();
    this.#metrics.closeAllConnections();
  }

  /** Learns of a member from the files that it would start with. */
  learn({ metadata, data }: Secret): void {
    const [name = "", cluster = ""] = [metadata?.name, metadata?.labels?.[LABELS.cluster]];
    const text = (file: string) => Buffer.from(data?.[file] ?? "", "base64").toString();
    if (data?.[FILES.config] === undefined || data[FILES.serverPem] === undefined) return;
    const config = JSON.parse(text(FILES.config)) as Record<string, string>;
    const urls = (key: string) => (config[key] ?? "").split(",");
    this.#members.set(name, {
      name,
      cluster,
      pem: text(FILES.serverPem),
      peerUrls: urls("initial-advertise-peer-urls"),
      clientUrls: urls("advertise-client-urls"),
    });
    const known = this.#clusters.get(cluster) ?? new Set();
    this.#clusters.set(cluster, known.add(name));
  }

  #contextOf(host: string): SecureContext {
    const member = this.#memberOf(host);
    member.context ??= createSecureContext({ cert: member.pem, key: member.pem });
    return member.context;
  }

  #memberOf(host: string): Member {
    const [name = ""] = host.split(".");
    const member = this.#members.get(name);
    if (!member) throw new Error(`no member ${host}`);
    return member;
  }

  #count(path = ""): void {
    this.calls.set(path, (this.calls.get(path) ?? 0) + 1);
  }

  #answer(path: string, member: Member): Uint8Array | undefined {
    const all = [...(this.#clusters.get(member.cluster) ?? [])].map((name) => this.#memberOf(name));
    const leader = idOf(all.map(({ name }) => name).toSorted()[0] ?? "");
    const header = {
      clusterId: idOf(member.cluster),
      memberId: idOf(member.name),
      revision: 1n,
      raftTerm: 2n,
    };
    const raft = { raftIndex: 9n, raftTerm: 2n, raftAppliedIndex: 9n };
    const sizes = { dbSize: 20_480n, dbSizeInUse: 16_384n, dbSizeQuota: 2_147_483_648n };
    switch (path) {
      case pathOf(Maintenance.method.status): {
        const versions = { version: VERSION, storageVersion: "3.6.0" };
        return bytes(Maintenance.method.status, { header, leader, ...versions, ...raft, ...sizes });
      }
      case pathOf(Maintenance.method.hashKV):
        return bytes(Maintenance.method.hashKV, { header, hash: 1, hashRevision: 1n });
      case pathOf(KV.method.range):
        return bytes(KV.method.range, { header, count: 0n });
      case pathOf(Cluster.method.memberList): {
        const members = all.map(({ name, peerUrls, clientUrls }) => ({
          id: idOf(name),
          name,
          peerUrls,
          clientUrls,
        }));
        return bytes(Cluster.method.memberList, { header, members });
      }
      default:
        return undefined;
    }
  }
}

function bytes<O extends DescMessage>({ output }: { output: O }, init: MessageInitShape<O>): Uint8Array {
  return toBinary(output, create(output, init));
}

function pathOf(call: { readonly name: string; readonly parent: { readonly typeName: string } }): string {
  return `/${call.parent.typeName}/${call.name}`;
}

function idOf(name: string): bigint {
  return createHash("sha256").update(name).digest().readBigUInt64BE() >> 1n;
}
