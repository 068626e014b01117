/** A server over TLS on loopback in the test's own process, with a CA of its own: it answers JSON. */
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createPki } from "../../src/pki/issue.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { systemRandom } from "../../src/seams/random.ts";

const HOUR = 3_600_000;

export interface TlsServer {
  readonly url: string;
  /** PEM. */
  readonly ca: string;
  close(): void;
}

export interface Answer {
  readonly status: number;
  readonly body: object;
}

export async function serveTls(
  answerTo: (path: string, body: string) => Answer | Promise<Answer>,
): Promise<TlsServer> {
  const pki = createPki(systemClock, systemRandom);
  const ca = await pki.issueCa({ commonName: "test CA", lifeMs: HOUR });
  const sans = { dns: [], ips: ["127.0.0.1"] };
  const leaf = { commonName: "test", sans, usages: ["serverAuth" as const], lifeMs: HOUR };
  const { certificate, key } = await pki.issueLeaf({ ca, leaf });
  const server = createServer({ cert: certificate, key }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      void Promise.resolve(answerTo(request.url ?? "", Buffer.concat(chunks).toString("utf8"))).then(
        ({ status, body }) =>
          response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body)),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca: ca.certificate,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
