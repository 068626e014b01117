/** OpenID Connect tokens of a kubeconfig: used, refreshed and written back. Issuer and disk are made up. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "yaml";
import type { Disk } from "../../seams/disk.ts";
import { loadConfig } from "../config.ts";
import { ManualClock } from "../testing.ts";
import type { IssuerAnswer, IssuerRequest } from "./issuer.ts";
import { OidcCredentials } from "./oidc.ts";

const FILE = "/jane/kubeconfig";
const DISCOVERY = "https://issuer.example/.well-known/openid-configuration";
const ENDPOINT = "https://issuer.example/token";

function jwt(expiresAt: number): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "none" })}.${part({ exp: Math.floor(expiresAt / 1_000) })}.signature`;
}

type Config = Record<string, string>;

const LOGIN: Config = {
  "idp-issuer-url": "https://issuer.example/",
  "client-id": "kubectl",
  "client-secret": "a secret/with signs",
  "refresh-token": "first",
};

function kubeconfig(config: Config): string {
  const lines = Object.entries(config).map(([name, value]) => `        ${name}: ${JSON.stringify(value)}`);
  return `# mine
current-context: main
contexts:
- name: main
  context: { cluster: c, user: jane }
clusters:
- name: c
  cluster: { server: "https://kube.example" }
users:
- name: other # not me
  user: { token: abc }
- name: jane
  user:
    auth-provider:
      name: oidc
      config:
${lines.join("\n")}
`;
}

/** An issuer that takes each refresh token once, and a disk in memory. */
async function setup(config: Config, discovered: object = {}) {
  const clock = new ManualClock();
  const files: Record<string, string> = { [FILE]: kubeconfig(config) };
  const world = {
    files,
    readOnly: false,
    lifeMs: 600_000,
    requests: [] as IssuerRequest[],
    answer: undefined as IssuerAnswer | Error | undefined,
    valid: "first",
    writes: 0,
  };
  const disk = {
    read: (file: string) => Promise.resolve(files[file]),
    create: (file: string, text: string) => {
      if (file in files) return Promise.resolve(false);
      files[file] = text;
      return Promise.resolve(true);
    },
    write: (file: string, text: string) => {
      if (world.readOnly) return Promise.reject(new Error("cannot write"));
      world.writes++;
      files[file] = text;
      return Promise.resolve();
    },
    remove: (file: string) => {
      delete files[file];
      return Promise.resolve();
    },
  } as unknown as Disk;
  const ask = (request: IssuerRequest): Promise<IssuerAnswer> => {
    world.requests.push(request);
    if (request.url === DISCOVERY)
      return Promise.resolve({ status: 200, body: { token_endpoint: ENDPOINT, ...discovered } });
    const { answer } = world;
    if (answer instanceof Error) return Promise.reject(answer);
    if (answer) return Promise.resolve(answer);
    if (request.form?.["refresh_token"] !== world.valid)
      return Promise.resolve({ status: 400, body: { error: "invalid_grant", error_description: "used" } });
    world.valid = `after-${world.valid}`;
    const body = { id_token: jwt(clock.now() + world.lifeMs), refresh_token: world.valid };
    return Promise.resolve({ status: 200, body });
  };
  const { oidc: login } = await loadConfig(disk, {}, { file: FILE });
  assert.ok(login);
  const written = (): Config => {
    const { users } = parse(files[FILE] ?? "") as {
      users: { name: string; user: { "auth-provider"?: { config: Config } } }[];
    };
    return users.find(({ name }) => name === "jane")?.user["auth-provider"]?.config ?? {};
  };
  return { clock, world, written, login, oidc: new OidcCredentials(login, { clock, disk, ask }) };
}

test("an ID token is used until shortly before its end, then refreshed once for all who wait and written back", async () => {
  const start = new ManualClock().now();
  const { clock, oidc, world, written } = await setup({ ...LOGIN, "id-token": jwt(start + 60_000) });
  assert.equal((await oidc.current()).token, jwt(start + 60_000));
  await clock.advance(55_000);
  const [a, b] = await Promise.all([oidc.current(), oidc.current()]);
  assert.equal(a, b);
  assert.equal(a.token, jwt(clock.now() + 600_000));
  assert.deepEqual(
    world.requests.map(({ url, authorization }) => [url, authorization]),
    [
      [DISCOVERY, undefined],
      [ENDPOINT, `Basic ${Buffer.from("kubectl:a%20secret%2Fwith%20signs").toString("base64")}`],
    ],
  );
  assert.deepEqual(
    [written()["id-token"], written()["refresh-token"], written()["client-id"]],
    [a.token, "after-first", "kubectl"],
  );
  // Whatever else stands in the file stays.
  assert.match(world.files[FILE] ?? "", /^# mine\n[^]*name: other # not me/);
  assert.deepEqual(Object.keys(world.files), [FILE], "the lock is gone");
  await clock.advance(595_000);
  assert.notEqual((await oidc.current()).token, a.token);
  assert.equal(written()["refresh-token"], "after-after-first");
});

test("a user that has only a refresh token gets an ID token by it", async () => {
  const { oidc, written } = await setup(LOGIN);
  const { token } = await oidc.current();
  assert.equal(written()["id-token"], token);
});

test("a token that another program wrote meanwhile is used, and the issuer left alone", async () => {
  const start = new ManualClock().now();
  const { clock, oidc, world } = await setup({ ...LOGIN, "id-token": jwt(start + 60_000) });
  await clock.advance(60_000);
  world.files[FILE] = kubeconfig({ ...LOGIN, "id-token": jwt(start + 900_000) });
  const next = await oidc.current();
  assert.equal(next.token, jwt(start + 900_000));
  assert.equal(world.requests.length, 0);
  oidc.refused(next);
  assert.equal(await oidc.current(), next, "nothing better: the server's answer stands");
});

test("a public client names itself in the form, and so does one whose issuer takes no Basic", async () => {
  const { "client-secret": secret, ...open } = LOGIN;
  const alone = await setup(open);
  await alone.oidc.current();
  assert.deepEqual(alone.world.requests[1]?.form, {
    grant_type: "refresh_token",
    refresh_token: "first",
    client_id: "kubectl",
  });
  const post = await setup(LOGIN, { token_endpoint_auth_methods_supported: ["client_secret_post"] });
  await post.oidc.current();
  assert.equal(post.world.requests[1]?.form?.["client_secret"], secret);
  assert.equal(post.world.requests[1]?.authorization, undefined);
});

test("a refresh that fails says what to do, shows no token, and is not tried by every call", async () => {
  const fails = async (config: Config, answer: IssuerAnswer | Error | undefined, expected: RegExp) => {
    const { clock, oidc, world, written } = await setup(config);
    world.answer = answer;
    const failure = (error: Error & { problem?: string }) => {
      assert.equal(error.problem, "plugin");
      assert.match(error.message, expected);
      assert.match(error.message, /^\/jane\/kubeconfig: the OpenID Connect token of the user "jane"/);
      assert.doesNotMatch(error.message, /first|a secret/);
      return true;
    };
    await assert.rejects(oidc.current(), failure);
    const asked = world.requests.length;
    await assert.rejects(oidc.current(), failure);
    assert.equal(world.requests.length, asked);
    await clock.advance(4_000);
    await assert.rejects(oidc.current(), failure);
    assert.deepEqual(world.writes, 0);
    assert.equal(written()["id-token"], config["id-token"]);
  };
  const status = (code: number, body: unknown = {}) => ({ status: code, body });
  const expired = jwt(0);
  await fails({ "id-token": expired }, undefined, /expired at 1970.*no refresh-token: log in again/);
  await fails(
    { "id-token": expired, "refresh-token": "first" },
    undefined,
    /without idp-issuer-url and client-id/,
  );
  await fails(LOGIN, status(400, { error: "invalid_grant" }), /status 400 \(invalid_grant\); log in again/);
  await fails(LOGIN, status(503, "busy"), /status 503; check the issuer and the way to it/);
  await fails(
    LOGIN,
    new Error("connect ECONNREFUSED"),
    /issuer\.example\/token: connect ECONNREFUSED; check/,
  );
  await fails(LOGIN, status(200, { access_token: "x" }), /no id_token: the scope openid/);
  await fails(LOGIN, status(200, { id_token: expired }), /expired already: check the clock/);
});

test("a kubeconfig that cannot be written is told once, and the new tokens serve this process", async () => {
  const { clock, oidc, world } = await setup(LOGIN);
  world.readOnly = true;
  await assert.rejects(
    oidc.current(),
    /was refreshed, but could not be written .*cannot write; make it writable/,
  );
  const { token } = await oidc.current();
  assert.equal(token, jwt(clock.now() + 600_000));
  await clock.advance(600_000);
  world.readOnly = false;
  assert.notEqual((await oidc.current()).token, token, "by the refresh token that was not written");
});

test("a lock that another program left is told with its name", async () => {
  const { clock, oidc, world } = await setup(LOGIN);
  world.files[`${FILE}.lock`] = "";
  const failing = assert.rejects(oidc.current(), /kubeconfig\.lock: remove that file if none is running/);
  for (let i = 0; i < 60; i++) await clock.advance(100);
  await failing;
});
