/** A client certificate for a person or a script: that of an EtcdUser, or one that lives for a short time and is kept nowhere. */
import { effectiveName } from "../../api/auth-object.ts";
import type { EtcdUser } from "../../api/etcd-user.ts";
import { modeOf } from "../../core/config/flags.ts";
import { bundleOf } from "../../pki/authority.ts";
import { clientLeaf } from "../../pki/plan.ts";
import { PkiError, type Pki } from "../../seams/pki.ts";
import { Progress, until } from "../act/progress.ts";
import { CommandError, EXIT } from "../exit.ts";
import { UsageError, type CliIo } from "../io.ts";
import type { Target } from "../target/target.ts";
import type { ClientFiles, UserSource } from "./user-source.ts";

const MINUTE_MS = 60_000;
/** What is asked for longer is an application's, which should have a certificate that is renewed. */
const LONGEST_TTL_MS = 7 * 24 * 60 * MINUTE_MS;

export interface IssueWishes {
  readonly user: string;
  readonly ttlMs: number | undefined;
  readonly timeout: number;
}

export interface Issued extends ClientFiles {
  /** In etcd. */
  readonly name: string;
  readonly expires: number;
}

type Where = Pick<Target, "where" | "command" | "kind">;

export async function issueFor(
  wishes: IssueWishes,
  source: UserSource,
  { where, io, pki }: { readonly where: Where; readonly io: CliIo; readonly pki: Pki },
): Promise<Issued> {
  const { user: name, ttlMs } = wishes;
  if (ttlMs !== undefined && (ttlMs < MINUTE_MS || ttlMs > LONGEST_TTL_MS))
    throw new UsageError(
      "--ttl must be between 1m and 7d; an application gets a certificate that is renewed with spec.certificate of its EtcdUser",
    );
  const user = await source.user(name);
  if (!user) throw noSuchUser(name, where);
  const files =
    ttlMs === undefined ? await kept(wishes, user, source, io) : await signed(ttlMs, user, source, pki);
  const { notAfter, commonName } = pki.inspect({
    certificate: { text: files.certificate, where: `the certificate of ${name}` },
  });
  if (commonName !== effectiveName(user))
    throw new CommandError(
      EXIT.failed,
      `the certificate of EtcdUser ${name} has the common name ${JSON.stringify(commonName)}, not ${JSON.stringify(effectiveName(user))}. It is about to be issued again; try later`,
    );
  return { ...files, name: effectiveName(user), expires: notAfter };
}

function noSuchUser(name: string, { where, command, kind }: Where): CommandError {
  const apply = kind === "local" ? `${command} local user apply -f <file>` : "kubectl apply -f <file>";
  return new CommandError(
    EXIT.notFound,
    `no EtcdUser is named ${JSON.stringify(name)} ${where}. A certificate is of use only to a user of etcd: create an EtcdUser with its roles and certificate: {}, and apply it with: ${apply}`,
  );
}

/** The one that the operator issued, once it is there. */
async function kept(
  { user: name, timeout }: IssueWishes,
  first: EtcdUser,
  source: UserSource,
  io: CliIo,
): Promise<ClientFiles> {
  if (first.spec.certificate === undefined)
    throw new CommandError(
      EXIT.failed,
      `EtcdUser ${name} has no certificate of its own. Ask for one: ${source.howToAsk(name)}. Or get one that expires soon: --ttl 8h`,
    );
  const look = async () => {
    const user = await source.user(name);
    if (!user || user.metadata.deletionTimestamp !== undefined)
      throw new CommandError(EXIT.notFound, `EtcdUser ${name} is being deleted`);
    const { status } = user;
    if (status?.conditions?.some(({ type, status: is }) => type === "Stalled" && is === "True"))
      throw new CommandError(
        EXIT.failed,
        `EtcdUser ${name} cannot be applied (${status.reason}): ${status.message}`,
      );
    const done = status?.certificate && (await source.files(user));
    return done ? { done } : { doing: status?.message ?? "Waiting for the operator to see the EtcdUser." };
  };
  const goesOn = "The operator continues; run the command again to get the certificate.";
  return await until(io, { timeout, "no-wait": false }, new Progress(io), look, goesOn);
}

/** Signed here, with the key of the CA: whoever may read that may sign for anybody. */
async function signed(ttlMs: number, user: EtcdUser, source: UserSource, pki: Pki): Promise<ClientFiles> {
  const cluster = await source.cluster(user);
  const { name } = cluster.metadata;
  const mode = modeOf(cluster.spec.tls, "client");
  if (mode !== "Managed")
    throw new CommandError(
      EXIT.failed,
      `--ttl needs a client CA that Quorate keeps, and spec.tls of ${name} has the mode ${mode} for clients. ${
        mode === "CertManager"
          ? "Without --ttl you get the certificate that cert-manager issued to the EtcdUser"
          : mode === "Disabled"
            ? "Clients of this cluster log in by password"
            : "Issue the certificate from your own CA, with the user's name as common name"
      }`,
    );
  try {
    const authority = await source.authority(cluster);
    if (!authority || authority.signer.key === "")
      throw new CommandError(
        EXIT.failed,
        `the client CA of ${name} or its key is not there; wait until the cluster is created`,
      );
    const leaf = clientLeaf(effectiveName(user), ttlMs);
    const { certificate, key } = await pki.issueLeaf({ ca: authority.signer, leaf });
    return { certificate, key, ca: bundleOf(authority) };
  } catch (error) {
    if (!(error instanceof PkiError)) throw error;
    throw new CommandError(EXIT.failed, `the client CA of ${name} cannot sign: ${error.message}`, {
      cause: error,
    });
  }
}
