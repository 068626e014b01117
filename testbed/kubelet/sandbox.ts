/**
 * A root directory for each container, from a mount namespace: the paths a Pod names are the true ones, and
 * nothing is created outside the testbed's directory. Root is not needed where user namespaces are allowed.
 *
 * The programs replace each other by exec, so the process we start is in the end the container's own.
 */
import { lstatSync, readlinkSync, statSync, existsSync } from "node:fs";

export interface Mount {
  source: string;
  target: string;
  readOnly: boolean;
}

export interface Sandbox {
  /** An empty directory to build the root on; the mount is visible to the container only. */
  rootfs: string;
  /** Copied to /etc: passwd, resolv.conf and the like. */
  etc: string;
  /** Bound, so that it can change while the container runs. */
  hosts: string;
  hostname: string;
  mounts: Mount[];
  workingDir?: string;
  command: string[];
}

const DEVICES = ["null", "zero", "full", "random", "urandom"];
const SYSTEM = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "opt"];

/** The command line that runs `sandbox.command` inside. */
export function sandboxCommand(sandbox: Sandbox): { file: string; args: string[] } {
  const args = ["--mount", "--uts", "--", "/bin/sh", "-c", script(sandbox), "sandbox", ...sandbox.command];
  return { file: tool("unshare"), args: isRoot() ? args : ["--map-root-user", ...args] };
}

/** The command line that runs `command` beside the container whose process is `pid`. */
export function enterCommand(pid: number, command: string[]): { file: string; args: string[] } {
  const user = isRoot() ? [] : ["--user", "--preserve-credentials"];
  return {
    file: tool("nsenter"),
    args: ["--target", String(pid), ...user, "--mount", "--uts", "--root", "--wd", "--", ...command],
  };
}

function script({ rootfs, etc, hosts, hostname, mounts, workingDir }: Sandbox): string {
  const mount = tool("mount");
  const lines = ["set -e", "umask 022", `R=${quote(rootfs)}`, `${mount} -t tmpfs -o mode=0755 sandbox "$R"`];
  const add = (line: string) => lines.push(line);
  add(`cd "$R"`);
  add(
    `${tool("mkdir")} -p proc sys dev/shm etc tmp run root var/tmp && ${tool("chmod")} 1777 tmp var/tmp dev/shm`,
  );
  for (const name of SYSTEM) {
    const path = `/${name}`;
    if (!existsSync(path)) continue;
    if (lstatSync(path).isSymbolicLink()) add(`${tool("ln")} -s ${quote(readlinkSync(path))} ${name}`);
    else add(`${tool("mkdir")} ${name} && ${mount} --rbind ${path} ${name}`);
  }
  add(`${mount} --rbind /proc proc`);
  for (const device of DEVICES) add(`: > dev/${device} && ${mount} --bind /dev/${device} dev/${device}`);
  add(`${tool("ln")} -s /proc/self/fd dev/fd && ${tool("ln")} -s /proc/self/fd/2 dev/stderr`);
  add(`${tool("ln")} -s /proc/self/fd/1 dev/stdout && ${tool("ln")} -s /proc/self/fd/0 dev/stdin`);
  add(`${tool("cp")} -R ${quote(etc)}/. etc/`);
  add(`: > etc/hosts && ${mount} --bind ${quote(hosts)} etc/hosts`);
  // Shorter paths first: a volume may be mounted inside another one.
  for (const { source, target, readOnly } of mounts.toSorted((a, b) => a.target.length - b.target.length)) {
    const at = quote(`.${target}`);
    if (statSync(source).isDirectory()) add(`${tool("mkdir")} -p ${at}`);
    else
      add(
        `${tool("mkdir")} -p ${quote(`.${target.slice(0, target.lastIndexOf("/"))}`)} && { [ -e ${at} ] || : > ${at}; }`,
      );
    add(`${mount} --bind ${quote(source)} ${at}`);
    // Inside a user namespace some mounts cannot be made read-only; the container is no worse for it.
    if (readOnly) add(`${mount} -o remount,bind,ro ${at} 2>/dev/null || :`);
  }
  // Only root of the machine may write there; a wrong host name harms nobody.
  add(`echo ${quote(hostname)} 2>/dev/null > /proc/sys/kernel/hostname || :`);
  add("cd /");
  const inside = workingDir ? `${tool("env")} -C ${quote(workingDir)} "$@"` : `"$@"`;
  add(`exec ${tool("chroot")} "$R" ${inside}`);
  return lines.join("\n");
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

const found = new Map<string, string>();

/** Absolute: the container's PATH is in force when the script runs. */
function tool(name: string): string {
  let path = found.get(name);
  if (!path) {
    path = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"]
      .map((dir) => `${dir}/${name}`)
      .find((file) => existsSync(file));
    if (!path) throw new Error(`${name} is not on this machine; install util-linux and coreutils`);
    found.set(name, path);
  }
  return path;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
