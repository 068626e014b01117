/** Which storage account is meant, and by what it is opened: flags, then the variables of Azure's own tools. */
import { stat } from "node:fs/promises";
import path from "node:path";
import { readCa, readSecretFile } from "../http/token.ts";
import { StoreError } from "../store.ts";

type Env = Readonly<Record<string, string | undefined>>;

export interface AzureSettings {
  readonly account?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly caFile?: string | undefined;
  /** A directory with a file AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, which is used instead of the environment. */
  readonly credentialsDir?: string | undefined;
  /** Encryption by the store, with a key that the scope names. */
  readonly encryptionScope?: string | undefined;
}

export interface AzurePlace {
  readonly account: string;
  /** Scheme, host and port. */
  readonly origin: string;
  /** Before the name of the container in the path: `/`, or `/account/` where the host does not name it. */
  readonly base: string;
  readonly ca: string | undefined;
  /** Of the account. */
  readonly key: Buffer | undefined;
  /** A shared access signature, as parameters of the query. */
  readonly sas: Readonly<Record<string, string>> | undefined;
}

export async function resolvePlace(settings: AzureSettings, env: Env): Promise<AzurePlace> {
  const connection = parseConnection(env["AZURE_STORAGE_CONNECTION_STRING"]);
  const account = settings.account ?? env["AZURE_STORAGE_ACCOUNT"] ?? connection["accountname"];
  if (!account || !/^[a-z0-9]{3,24}$/.test(account))
    throw new StoreError(
      "invalid",
      account
        ? `${JSON.stringify(account)} is not the name of a storage account: 3 to 24 lower-case letters and digits`
        : "the storage account is not known: pass --azure-account, or set AZURE_STORAGE_ACCOUNT or AZURE_STORAGE_CONNECTION_STRING",
    );
  const protocol = connection["defaultendpointsprotocol"] ?? "https";
  const suffix = connection["endpointsuffix"] ?? "core.windows.net";
  const given =
    settings.endpoint ??
    env["AZURE_STORAGE_BLOB_ENDPOINT"] ??
    connection["blobendpoint"] ??
    `${protocol}://${account}.blob.${suffix}`;
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol))
    throw new StoreError(
      "invalid",
      `the Azure endpoint ${given} is not a URL: use https://account.blob.core.windows.net`,
    );
  const url = new URL(given);
  const { key, sas } =
    settings.credentialsDir === undefined
      ? {
          key: env["AZURE_STORAGE_KEY"] || connection["accountkey"],
          sas: env["AZURE_STORAGE_SAS_TOKEN"] || connection["sharedaccesssignature"],
        }
      : await credentialsIn(settings.credentialsDir);
  return {
    account,
    origin: url.origin,
    base: `${url.pathname.replace(/\/$/, "")}/`,
    ca: await readCa(settings.caFile),
    key: key ? Buffer.from(key, "base64") : undefined,
    sas: sas ? Object.fromEntries(new URLSearchParams(sas.replace(/^\?/, ""))) : undefined,
  };
}

/** What a mounted Secret holds: one file for each of its keys. */
async function credentialsIn(directory: string): Promise<{ key?: string; sas?: string }> {
  const read = async (name: string) =>
    (await stat(path.join(directory, name)).catch(() => undefined)) === undefined
      ? undefined
      : (await readSecretFile(path.join(directory, name), "the Azure credentials")).trim();
  const [key, sas] = [await read("AZURE_STORAGE_KEY"), await read("AZURE_STORAGE_SAS_TOKEN")];
  if (key) return { key };
  if (sas) return { sas };
  throw new StoreError(
    "denied",
    "the Secret with the Azure credentials has neither the key AZURE_STORAGE_KEY nor AZURE_STORAGE_SAS_TOKEN: add one of them",
  );
}

/** `Name=value;Name=value`, names in any case. */
function parseConnection(text: string | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(
    (text ?? "")
      .split(";")
      .map((part) => /^\s*([^=]+)=(.*)$/.exec(part))
      .flatMap((match) =>
        match?.[1] === undefined ? [] : [[match[1].toLowerCase(), match[2] ?? ""] as const],
      ),
  );
}
