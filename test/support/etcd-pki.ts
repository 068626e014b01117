/**
 * Certificates for test clusters: one CA, a server and peer certificate for loopback and one DNS name,
 * and client certificates by name.
 */
import { writeFileSync } from "node:fs";
import path from "node:path";
import type { TlsCredentials } from "../../src/etcd/types.ts";
import { createPki } from "../../src/pki/issue.ts";
import { systemClock } from "../../src/seams/clock.ts";
import type { KeyPair } from "../../src/seams/pki.ts";
import { systemRandom } from "../../src/seams/random.ts";

const HOUR = 3_600_000;
/** In the server's certificate, resolvable nowhere: for tests that dial an IP and verify a name. */
export const SERVER_NAME = "member.etcd.test";

export interface TestPki {
  readonly ca: KeyPair;
  /** The root client's. */
  readonly credentials: TlsCredentials;
  client(commonName: string): Promise<TlsCredentials>;
  /** Writes the files into the directory and returns etcd's flags for them. */
  flags(dir: string): string[];
}

export async function makeTestPki(): Promise<TestPki> {
  const pki = createPki(systemClock, systemRandom);
  const ca = await pki.issueCa({ commonName: "test CA", lifeMs: 24 * HOUR });
  const leaf = async (commonName: string, server: boolean) =>
    await pki.issueLeaf({
      ca,
      leaf: {
        commonName,
        sans: server ? { dns: ["localhost", SERVER_NAME], ips: ["127.0.0.1"] } : { dns: [], ips: [] },
        usages: server ? ["serverAuth", "clientAuth"] : ["clientAuth"],
        lifeMs: HOUR,
      },
    });
  const client = async (commonName: string): Promise<TlsCredentials> => {
    const { certificate, key } = await leaf(commonName, false);
    return { ca: ca.certificate, cert: certificate, key };
  };
  const server = await leaf("etcd", true);
  return {
    ca,
    credentials: await client("root"),
    client,
    flags(dir) {
      const file = (name: string, text: string) => {
        const target = path.join(dir, name);
        writeFileSync(target, text, { mode: 0o600 });
        return target;
      };
      const [caFile, certFile, keyFile] = [
        file("ca.crt", ca.certificate),
        file("server.crt", server.certificate),
        file("server.key", server.key),
      ];
      return ["", "peer-"].flatMap((plane) => [
        `--${plane}cert-file=${certFile}`,
        `--${plane}key-file=${keyFile}`,
        `--${plane}trusted-ca-file=${caFile}`,
        `--${plane}client-cert-auth=true`,
      ]);
    },
  };
}
