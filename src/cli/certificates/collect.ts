/**
 * Every certificate of a cluster: from the Secrets that the caller may read, or from files. Keys stand beside them
 * there; only certificates are kept.
 */
import { X509Certificate } from "node:crypto";
import path from "node:path";
import { isSecure } from "../../core/config/flags.ts";
import { isReason } from "../../kube/errors.ts";
import { memberSecretName, secretNames } from "../../operator/names.ts";
import { FILES } from "../../operator/render/config.ts";
import { secrets } from "../../operator/resources.ts";
import { splitBundle } from "../../pki/bundle.ts";
import { inspect } from "../../pki/inspect.ts";
import { systemDisk } from "../../seams/disk.ts";
import { PkiError } from "../../seams/pki.ts";
import type { CliIo } from "../io.ts";
import { CommandError, EXIT } from "../exit.ts";
import { explained } from "../target/kube-errors.ts";
import { KubeTarget } from "../target/kube.ts";
import { LocalTarget } from "../target/local.ts";
import type { ClusterObject, Target } from "../target/target.ts";

export interface ShownCertificate {
  /** `demo-1/server.pem`: the Secret, or the file. */
  readonly where: string;
  readonly subject: string;
  readonly issuer: string;
  readonly dns: readonly string[];
  readonly ips: readonly string[];
  readonly isCA: boolean;
  readonly notBefore: string;
  readonly notAfter: string;
  /** Whole days; negative when it has expired. */
  readonly daysLeft: number;
  readonly fingerprint: string;
}

export interface CertificateList {
  readonly certificates: readonly ShownCertificate[];
  /** What could not be read, and why. */
  readonly unread: readonly { readonly where: string; readonly reason: string }[];
}

interface Found {
  readonly where: string;
  readonly text: string | undefined;
  readonly reason?: string;
}

export async function certificatesOf(
  target: Target,
  cluster: ClusterObject,
  io: CliIo,
): Promise<CertificateList> {
  const { tls } = cluster.spec;
  if (!isSecure(tls, "client") && !isSecure(tls, "peer")) return { certificates: [], unread: [] };
  const found =
    target instanceof KubeTarget
      ? await fromSecrets(target, cluster, io)
      : target instanceof LocalTarget
        ? await fromFiles(target, cluster)
        : [];
  const certificates: ShownCertificate[] = [];
  const unread: { where: string; reason: string }[] = [];
  for (const { where, text, reason = "does not exist yet" } of found) {
    const pems = splitBundle(text ?? "");
    if (pems.length === 0)
      unread.push({ where, reason: text === undefined ? reason : "holds no certificate" });
    for (const pem of pems) {
      try {
        certificates.push(shown(where, pem, io.clock.now()));
      } catch (error) {
        if (!(error instanceof PkiError)) throw error;
        unread.push({ where, reason: error.message });
      }
    }
  }
  return { certificates, unread };
}

const DAY_MS = 86_400_000;

export function shown(where: string, pem: string, now: number): ShownCertificate {
  const facts = inspect({ certificate: { text: pem, where } });
  const { issuer } = new X509Certificate(pem).toLegacyObject();
  return {
    where,
    subject: facts.commonName ?? "",
    issuer: String(issuer.CN ?? ""),
    dns: facts.sans.dns,
    ips: facts.sans.ips,
    isCA: facts.isCa,
    notBefore: new Date(facts.notBefore).toISOString(),
    notAfter: new Date(facts.notAfter).toISOString(),
    daysLeft: Math.floor((facts.notAfter - now) / DAY_MS),
    fingerprint: facts.fingerprint,
  };
}

async function fromSecrets(target: KubeTarget, cluster: ClusterObject, io: CliIo): Promise<readonly Found[]> {
  const { name, namespace = "default" } = cluster.metadata;
  const names = secretNames(name);
  const shared = [names.clientCA, names.peerCA, cluster.status?.clientSecret ?? names.client, names.operator];
  const members = (await target.members(cluster)).map(({ metadata }) => memberSecretName(metadata.name));
  const wanted = [
    ...shared.map((secret) => ({ secret, files: ["tls.crt"] })),
    ...members.map((secret) => ({ secret, files: [FILES.serverPem, FILES.peerPem, FILES.peerClientPem] })),
  ];
  let denied: Error | undefined;
  const found = await Promise.all(
    wanted.map(async ({ secret, files }): Promise<Found[]> => {
      try {
        const object = await target.client.find(secrets, { namespace, name: secret }, { signal: io.signal });
        if (object === undefined) return [{ where: secret, text: undefined }];
        // A plane without TLS has no file here.
        return files.flatMap((file) => {
          const data = object.data?.[file];
          return data === undefined
            ? []
            : [{ where: `${secret}/${file}`, text: Buffer.from(data, "base64").toString("utf8") }];
        });
      } catch (error) {
        const described = explained(error, {
          verb: "get",
          resource: "secrets",
          namespace,
          server: target.server,
        });
        if (!isReason(error, "Forbidden")) throw described;
        denied ??= described;
        return [{ where: secret, text: undefined, reason: "you may not get this Secret" }];
      }
    }),
  );
  const all = found.flat();
  if (denied !== undefined && all.every(({ text }) => text === undefined)) throw denied;
  return all;
}

async function fromFiles(target: LocalTarget, cluster: ClusterObject): Promise<readonly Found[]> {
  const { pki } = (await target.placeOf(cluster.metadata.name)).layout;
  const files = (await systemDisk.list(pki)).filter((file) => /\.(?:pem|crt)$/.test(file));
  if (files.length === 0)
    throw new CommandError(EXIT.failed, `there are no certificates in ${pki} yet. Start the cluster first`);
  return await Promise.all(
    files.map(async (file) => ({ where: file, text: await systemDisk.read(path.join(pki, file)) })),
  );
}
