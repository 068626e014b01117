/**
 * What a node runs besides Kubernetes: Debian's packages, unpacked into the cache and never installed. A node
 * sees them laid over /usr in its own mount namespace. apt gets a private configuration, so that the machine's
 * package lists stay as they are and their age does not matter.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../../src/etcd/install/command.ts";
import { mirrorFrom } from "../../src/etcd/install/debian.ts";
import type { Progress } from "../kubernetes-build.ts";
import { acquire } from "../lock.ts";
import { cacheDir, shortHash } from "../paths.ts";

const PACKAGES = [
  "containerd",
  "runc",
  "libseccomp2",
  "containernetworking-plugins",
  "busybox-static",
  // nft for kube-proxy, and what it needs.
  "nftables",
  "libnftables1",
  "libnftnl11",
  "libmnl0",
  "libjansson4",
  "libxtables12",
  "libedit2",
  "libbsd0",
  "libmd0",
  "libgmp10",
];
const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";

function codename(): string {
  return /^VERSION_CODENAME=(\w+)/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? "stable";
}

/** The directory that stands for /usr. */
function target(): string {
  return join(cacheDir(), "packages", `${codename()}-${process.arch}-${shortHash(...PACKAGES)}`);
}

export function packagesUnpacked(): boolean {
  return existsSync(target());
}

export async function ensurePackages(progress: Progress): Promise<string> {
  const dir = target();
  if (existsSync(dir)) return join(dir, "usr");
  const lock = await acquire(dir, { purpose: "unpacking Debian packages", waiting: progress });
  try {
    if (existsSync(dir)) return join(dir, "usr");
    const work = `${dir}.new`;
    rmSync(work, { recursive: true, force: true });
    await unpack(work, progress);
    renameSync(join(work, "root"), dir);
    rmSync(work, { recursive: true, force: true });
    return join(dir, "usr");
  } finally {
    await lock.release();
  }
}

async function unpack(work: string, progress: Progress): Promise<void> {
  for (const part of ["lists/partial", "cache/archives/partial", "root"])
    mkdirSync(join(work, part), { recursive: true });
  const run = async (program: string, args: string[]) => {
    const answer = await runCommand(program, args, { cwd: work, env: { ...process.env, LC_ALL: "C" } });
    if (answer.code !== 0)
      throw new Error(`${program} ${args.at(-1)} failed (${answer.code}): ${answer.stderr}`);
    return answer.stdout;
  };
  const mirror = mirrorFrom(await run("apt-get", ["--print-uris", "update"]));
  if (!mirror) throw new Error("this machine's apt is not set up with a mirror of Debian");
  const signed = existsSync(KEYRING) ? `[signed-by=${KEYRING}] ` : "";
  writeFileSync(join(work, "sources.list"), `deb ${signed}${mirror} ${codename()} main\n`);
  const settings = {
    "Dir::Etc::sourcelist": join(work, "sources.list"),
    "Dir::Etc::sourceparts": "-",
    "Dir::State::lists": join(work, "lists"),
    "Dir::Cache": join(work, "cache"),
    "APT::Sandbox::User": "root",
    "Acquire::Languages": "none",
    "Acquire::Retries": "2",
    "APT::Update::Error-Mode": "any",
  };
  const apt = ["-q", ...Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`])];
  progress(`reading the package list of Debian ${codename()}`);
  await run("apt-get", [...apt, "update"]);
  progress("downloading containerd, runc, CNI plugins and nftables from Debian");
  await run("apt-get", [...apt, "download", ...PACKAGES]);
  for (const file of readdirSync(work).filter((name) => name.endsWith(".deb")))
    await run("dpkg-deb", ["-x", file, "root"]);
  // Where /bin, /sbin and /lib are links into /usr, that is where a node must find what packages put there.
  for (const part of ["bin", "sbin", "lib"]) {
    if (!existsSync(join(work, "root", part))) continue;
    await run("cp", ["-a", `root/${part}/.`, `root/usr/${part}/`]);
  }
}
