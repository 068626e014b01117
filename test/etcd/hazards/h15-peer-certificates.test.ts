/**
 * H15 on real etcd: peers whose calls arrive from an address that no name leads to, as behind a Service that
 * masquerades, or while DNS does not know a new Pod yet. A peer certificate with names is refused then; one without
 * names to dial with is not.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { etcdConfig } from "../../../src/core/config/flags.ts";
import type { MemberRecord } from "../../../src/core/record.ts";
import { recordOf } from "../../../src/core/testing/record.ts";
import { EtcdClient } from "../../../src/etcd/client.ts";
import { GrpcTransport } from "../../../src/etcd/grpc/transport.ts";
import { EtcdProcess } from "../../../src/etcd/process.ts";
import { systemClock } from "../../../src/seams/clock.ts";
import { eventually } from "../../../testbed/eventually.ts";
import { etcdOf, world } from "../../support/etcd-cluster.ts";
import { makeTestPki, type TestPki } from "../../support/etcd-pki.ts";
import { freePorts } from "../../support/free-ports.ts";
import { sampledVersions } from "../../support/sample.ts";

/** In no certificate, and under no name. */
const ANOTHER_ADDRESS = "127.0.0.9";
/** As etcd logs it, in JSON. */
const REFUSED = /tls: \\"127\.0\.0\.9\\" does not match any of DNSNames/;

/** Takes calls at one port and makes them at another, from another address. */
async function masquerade(port: number, to: number): Promise<Server> {
  const server = createServer((socket) => {
    const onward = connect({ host: "127.0.0.1", port: to, localAddress: ANOTHER_ADDRESS });
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      one.pipe(other);
      one.on("error", () => other.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return server;
}

class Pair implements AsyncDisposable {
  readonly #dir = mkdtempSync(path.join(os.tmpdir(), "quorate-h15-"));
  readonly #pki: TestPki;
  readonly #named: boolean;
  readonly #processes: EtcdProcess[] = [];
  readonly #proxies: Server[] = [];
  readonly #transport: GrpcTransport;
  #records: readonly MemberRecord[] = [];

  private constructor(pki: TestPki, named: boolean) {
    this.#pki = pki;
    this.#named = named;
    this.#transport = new GrpcTransport({ clock: systemClock, tls: pki.credentials });
  }

  /** Two founders that reach each other only by way of another address. */
  static async start(version: string, { named }: { named: boolean }): Promise<Pair> {
    const pair = new Pair(await makeTestPki(), named);
    await pair.#prepare(version);
    for (const record of pair.#records) await pair.#start(record);
    return pair;
  }

  async #prepare(version: string): Promise<void> {
    this.#pki.flags(this.#dir);
    const { cert = "", key = "" } = await this.#pki.client("demo");
    writeFileSync(this.#file("leaf.pem"), this.#read("server.crt") + this.#read("server.key"));
    writeFileSync(this.#file("client.pem"), cert + key);
    const ports = await freePorts(8);
    const url = (i: number, scheme = "https") => `${scheme}://127.0.0.1:${ports[i]}`;
    const initialCluster = [0, 4].map((at, i) => ({ name: `demo-${i + 1}`, peerURL: url(at) }));
    this.#records = [0, 4].map((at, i) =>
      recordOf(
        version,
        {},
        {
          name: `demo-${i + 1}`,
          initialCluster,
          address: {
            peerURL: url(at),
            listenPeerURL: url(at + 1),
            clientURL: url(at + 2),
            listenClientURL: url(at + 2),
            metricsURL: url(at + 3, "http"),
            listenMetricsURL: url(at + 3, "http"),
          },
        },
      ),
    );
    for (const at of [0, 4]) this.#proxies.push(await masquerade(ports[at] ?? 0, ports[at + 1] ?? 0));
  }

  async #start(record: MemberRecord): Promise<void> {
    const { etcd } = await etcdOf(record.template.version);
    const [leaf, ca] = [this.#file("leaf.pem"), this.#file("ca.crt")];
    const paths = {
      dataDir: this.#file(record.name),
      serverPem: leaf,
      clientCA: ca,
      peerPem: leaf,
      peerCA: ca,
      ...(!this.#named && { peerClientPem: this.#file("client.pem") }),
    };
    const config = this.#file(`${record.name}.json`);
    writeFileSync(config, JSON.stringify(etcdConfig(record, { established: false, paths })));
    const process = await EtcdProcess.start(world, {
      binary: etcd,
      args: ["--config-file", config],
      env: { HOME: this.#dir },
      cwd: this.#dir,
      log: this.#file(`${record.name}.log`),
    });
    this.#processes.push(process);
  }

  client(): EtcdClient {
    const endpoints = this.#records.map(({ name, address }) => ({ name, url: address.clientURL }));
    return new EtcdClient({ transport: this.#transport, clock: systemClock, endpoints });
  }

  get said(): string {
    return this.#records.map(({ name }) => this.#read(`${name}.log`)).join("\n");
  }

  #file(name: string): string {
    return path.join(this.#dir, name);
  }

  #read(name: string): string {
    return readFileSync(this.#file(name), "utf8");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.kill()));
    for (const proxy of this.#proxies) proxy.close();
    await this.#transport.close();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

for (const version of sampledVersions) {
  await etcdOf(version);

  test(`peers that dial without names in their certificates find each other (etcd ${version})`, async () => {
    await using pair = await Pair.start(version, { named: false });
    await eventually("both serve", async () => {
      await pair.client().kv.put("a", "b", { timeoutMs: 1_000 });
      return true;
    });
    assert.doesNotMatch(pair.said, REFUSED);
  });

  test(`with names in them they are refused, which is why they have none (etcd ${version})`, async () => {
    await using pair = await Pair.start(version, { named: true });
    await eventually("it is refused", () => Promise.resolve(REFUSED.test(pair.said)));
  });
}
