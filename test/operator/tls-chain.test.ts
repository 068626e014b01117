/**
 * Every source of certificates after the other on one running cluster, and back to plaintext, with real cert-manager: for
 * clients, for peers, and for both at once. An application writes 200 times a second; while clients change sides, one of
 * each side is served; and operators die all the while. `npm test` has two of these steps, in given-rotation.test.ts.
 */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { createPki } from "../../src/pki/issue.ts";
import { clientLeaf } from "../../src/pki/plan.ts";
import { systemClock } from "../../src/seams/clock.ts";
import type { LeafSpec } from "../../src/seams/pki.ts";
import { systemRandom } from "../../src/seams/random.ts";
import { upWithDefinitions } from "../support/operator.ts";
import { BundledChild } from "../support/bundled-child.ts";
import { OperatorLives } from "../support/operator-lives.ts";
import { CertManager, createIssuer } from "../support/cert-manager.ts";
import { putSecret } from "../support/bed-secrets.ts";
import { EVERY_CASE } from "../support/sample.ts";
import { Chain, CLUSTER, EFFECTS, MEMBERS, type Mode, type Planes } from "../support/tls-chain.ts";

const DAY = 86_400_000;
const LONGEST = 7_200_000;
/** No write takes longer than an election. */
const MOST_MS = 1_000;
const MODES: readonly Mode[] = ["Managed", "CertManager", "Secrets", "Managed", "Disabled"];
const pki = createPki(systemClock, systemRandom);

async function chain(t: TestContext, planes: Planes): Promise<void> {
  const bed = await upWithDefinitions();
  t.after(() => bed.down());
  await using _certManager = await CertManager.start(bed);
  const company = await pki.issueCa({ commonName: "Our company", lifeMs: 100 * DAY });
  const ofUser = async (leaf: Partial<LeafSpec> = {}) => {
    const { certificate, key } = await pki.issueLeaf({
      ca: company,
      leaf: { ...clientLeaf("us", 30 * DAY), ...leaf },
    });
    return { "tls.crt": certificate, "tls.key": key, "ca.crt": company.certificate };
  };
  for (const name of ["servers", "clients", "peers"])
    await createIssuer(bed, name, await pki.issueCa({ commonName: `Issuer ${name}`, lifeMs: 100 * DAY }));
  const inside = (...names: string[]) => ({
    sans: { dns: names.map((name) => `${name}.default.svc`), ips: ["127.0.0.1"] },
    usages: ["serverAuth", "clientAuth"] as const,
  });
  const given = {
    "my-server": await ofUser(inside(`${CLUSTER}-client`, `*.${CLUSTER}-peers`)),
    "my-operator": await ofUser(),
    "my-peer": await ofUser(inside(`${CLUSTER}-peers`, "*")),
  };
  for (const [name, files] of Object.entries(given)) await putSecret(bed, name, files, { cluster: CLUSTER });
  using child = await BundledChild.make();
  const lives = new OperatorLives(bed.kubeconfig, undefined, child.file);
  t.after(() => lives.end());
  await using running = await Chain.begin({ bed, lives, planes, own: await ofUser() });
  for (const mode of MODES) {
    const [began, from] = [Date.now(), lives.effects.length];
    await running.change(mode);
    t.diagnostic(`${mode}: ${((Date.now() - began) / 1000).toFixed(1)} s, ${running.deaths} operators died`);
    assertChanged(lives.effects.slice(from));
  }
  const { clients, leastUp } = await running.end();
  t.diagnostic(`${leastUp} of three members answered at the least`);
  for (const { who, gapMs, stallMs, acknowledged, lost, dropped } of clients)
    t.diagnostic(
      `${who}: longest gap ${Math.round(gapMs)} ms of ${acknowledged} writes; ${lost} lost with a leader, ${dropped} dropped; it did not run itself for up to ${Math.round(stallMs)} ms`,
    );
  assert.ok(leastUp >= 2, `only ${leastUp} members answered`);
  for (const { who, unexplained, missing, dropped } of clients) {
    assert.deepEqual([unexplained, missing], [[], []], who);
    // At most one for each change of a peer's URL, of which there are three each way.
    assert.ok(dropped <= (planes === "client" ? 0 : 6), `${who}: ${dropped} writes dropped`);
  }
  assert.equal(
    running.deaths,
    Math.floor(lives.effects.length / EFFECTS),
    "each operator dies of its effects",
  );
  // Last, since a busy machine takes longer, and what else was shown is shown all the same.
  for (const { who, gapMs } of clients) assert.ok(gapMs <= MOST_MS, `${who}: no write for ${gapMs} ms`);
}

/** What a change has to do to every member; where operators live for one effect, each of these was the last of one. */
function assertChanged(effects: readonly string[]): void {
  for (let number = 1; number <= MEMBERS; number++)
    for (const what of ["PUT .*/etcdmembers", "PATCH .*/secrets", "DELETE .*/pods"]) {
      const effect = new RegExp(`^${what}/${CLUSTER}-${number}(?:\\?|$)`);
      assert.ok(
        effects.some((one) => effect.test(one)),
        `no ${effect} in\n${effects.join("\n")}`,
      );
    }
}

if (EVERY_CASE)
  for (const planes of ["both", "client", "peer"] as const)
    test(`Disabled, Managed, CertManager, Secrets, Managed, Disabled: ${planes}`, { timeout: LONGEST }, (t) =>
      chain(t, planes),
    );
