/** Clients that no member may let in, on either port, beside one that it must: so that a refusal is one of its own. */
import assert from "node:assert/strict";
import { createPki } from "../../src/pki/issue.ts";
import { clientLeaf } from "../../src/pki/plan.ts";
import { systemClock } from "../../src/seams/clock.ts";
import type { KeyPair, Pki } from "../../src/seams/pki.ts";
import { systemRandom } from "../../src/seams/random.ts";
import { isServed, type Client } from "./tls-clients.ts";

const MINUTE = 60_000;
const pki = createPki(systemClock, systemRandom);
const behind = createPki({ ...systemClock, now: () => systemClock.now() - 5 * MINUTE }, systemRandom);

async function pemOf(ca: KeyPair, by: Pki = pki, lifeMs = 60 * MINUTE): Promise<string> {
  const { certificate, key } = await by.issueLeaf({ ca, leaf: clientLeaf("somebody", lifeMs) });
  return certificate + key;
}

/** Those of them that a member serves at this URL, whose plane has this CA. */
export async function servedStrangers(url: string, ca: KeyPair): Promise<string[]> {
  const another = await pki.issueCa({ commonName: "another cluster client CA", lifeMs: 60 * MINUTE });
  const pem = await pemOf(ca);
  assert.ok(await isServed(url, { pem }), `${url} serves a right one`);
  const strangers: Readonly<Record<string, Client>> = {
    "in plaintext": "plaintext",
    "without a certificate": "anonymous",
    "of another cluster's CA": { pem: await pemOf(another) },
    "with a certificate that has expired": { pem: await pemOf(ca, behind, MINUTE) },
    "by TLS 1.1": { pem, newest: "TLSv1.1" },
  };
  const served: string[] = [];
  for (const [who, client] of Object.entries(strangers))
    if (await isServed(url, client)) served.push(`${who}: ${url}`);
  return served;
}
