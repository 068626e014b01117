/** `quorate certificate issue`: the client certificate of an EtcdUser as files, or a short-lived one. */
import path from "node:path";
import { systemDisk } from "../../seams/disk.ts";
import type { Issued } from "../certificates/issue.ts";
import { ageOf } from "../duration.ts";
import { CommandError, EXIT } from "../exit.ts";
import type { CliIo } from "../io.ts";
import { clusterVerb } from "../verb.ts";

export const issue = clusterVerb(
  {
    name: "certificate issue",
    summary: "write the client certificate of an EtcdUser, its key and the CA to files",
    about:
      "Copies what the operator issued for `spec.certificate` of the EtcdUser, after waiting for it, with your own right to get its Secret. With --ttl, signs a certificate that expires soon, is not renewed and is kept nowhere else; this takes the right to get the Secret of the client CA, which is enough to sign certificates for any user. Files are readable by you alone. The user may do what its roles say while auth is enabled; without auth, a certificate may do everything.",
    arguments: [{ name: "user", help: "name of the EtcdUser" }],
    flags: {
      out: {
        kind: "text",
        value: "directory",
        default: ".",
        help: "where <user>.crt, <user>.key and <user>-ca.crt are written; - prints all three",
      },
      ttl: { kind: "duration", value: "duration", help: "sign one that is valid this long: 1m to 7d" },
      force: { kind: "switch", help: "overwrite files that exist" },
      timeout: {
        kind: "duration",
        value: "duration",
        default: "1m",
        help: "how long to wait for the operator to issue it",
      },
    },
    groups: ["target"],
    examples: [
      {
        does: "Use the certificate of an application with etcdctl",
        line: "certificate issue orders --out .",
      },
      { does: "One for today", line: "certificate issue alice --ttl 8h --out ~/.etcd" },
      { does: "On this machine", line: "certificate issue orders --local" },
    ],
    exitCodes: [
      { code: EXIT.notFound, meaning: "there is no such EtcdUser, or the API server cannot be reached" },
    ],
  },
  async ({ flags, args }, io, target) => {
    const { out, ttl: ttlMs, timeout, force } = flags;
    const files = out === "-" ? undefined : filesIn(path.resolve(io.cwd, out), args.user);
    if (files && !force) await assertAbsent(Object.values(files));
    // Loaded only here: help and completion need none of it.
    const { createPki } = await import("../../pki/issue.ts");
    const { issueFor } = await import("../certificates/issue.ts");
    const { userSourceOf } = await import("../certificates/user-source.ts");
    const pki = createPki(io.clock, io.random);
    const wishes = { user: args.user, ttlMs, timeout };
    const issued = await issueFor(wishes, userSourceOf(target, io), { where: target, io, pki });
    if (!files) {
      io.stdout.write(issued.certificate + issued.key + issued.ca);
      return;
    }
    await write(files, issued);
    io.stdout.write(`${textOf(files, issued, io)}\n`);
  },
);

interface Files {
  readonly certificate: string;
  readonly key: string;
  readonly ca: string;
}

function filesIn(dir: string, user: string): Files {
  const at = (name: string) => path.join(dir, path.basename(name));
  return { certificate: at(`${user}.crt`), key: at(`${user}.key`), ca: at(`${user}-ca.crt`) };
}

async function assertAbsent(files: readonly string[]): Promise<void> {
  for (const file of files)
    if ((await systemDisk.stat(file)) !== undefined)
      throw new CommandError(
        EXIT.failed,
        `${file} exists. Overwrite it with --force, or choose another directory with --out`,
      );
}

async function write({ certificate, key, ca }: Files, issued: Issued): Promise<void> {
  await systemDisk.makeDirectory(path.dirname(key));
  await systemDisk.write(key, issued.key, { private: true });
  await systemDisk.write(certificate, issued.certificate, { private: true });
  await systemDisk.write(ca, issued.ca, { private: true });
}

function textOf({ certificate, key, ca }: Files, { name, expires }: Issued, { clock }: CliIo): string {
  return [
    `The certificate of user ${name} expires in ${ageOf(expires - clock.now())}.`,
    `etcdctl --cacert ${ca} --cert ${certificate} --key ${key}`,
  ].join("\n");
}
