/**
 * Tokens of Microsoft Entra for Azure Storage, as Azure's own libraries find them: a projected token (workload
 * identity), a client secret, the managed identity of the machine.
 */
import type { Clock } from "../../../seams/clock.ts";
import { NetworkError, type HttpClient } from "../http/http.ts";
import { askToken, readSecretFile, type AccessToken } from "../http/token.ts";
import { StoreError } from "../store.ts";

type Env = Readonly<Record<string, string | undefined>>;

const SCOPE = "https://storage.azure.com/.default";
const IMDS = "http://169.254.169.254";
/** A link-local service answers at once or is not there. */
const METADATA_MS = 2_000;

export async function findToken(
  env: Env,
  clock: Clock,
  http: HttpClient,
  signal: AbortSignal,
): Promise<AccessToken> {
  const [tenant, client] = [env["AZURE_TENANT_ID"], env["AZURE_CLIENT_ID"]];
  const file = env["AZURE_FEDERATED_TOKEN_FILE"];
  const secret = env["AZURE_CLIENT_SECRET"];
  if (tenant && client && (file || secret)) {
    const authority = (env["AZURE_AUTHORITY_HOST"] || "https://login.microsoftonline.com").replace(/\/$/, "");
    const proof: Readonly<Record<string, string>> = file
      ? {
          client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
          client_assertion: (await readSecretFile(file, "the token")).trim(),
        }
      : { client_secret: secret ?? "" };
    return await askToken(http, clock.now(), {
      url: `${authority}/${encodeURIComponent(tenant)}/oauth2/v2.0/token`,
      form: { grant_type: "client_credentials", client_id: client, scope: SCOPE, ...proof },
      signal,
      what: file ? "the token of the workload identity" : "the token of the application",
    });
  }
  try {
    const query = new URLSearchParams({
      "api-version": "2018-02-01",
      resource: "https://storage.azure.com/",
      ...(client && { client_id: client }),
    });
    return await askToken(http, clock.now(), {
      url: `${env["AZURE_POD_IDENTITY_AUTHORITY_HOST"] ?? IMDS}/metadata/identity/oauth2/token?${query.toString()}`,
      headers: { metadata: "true" },
      signal,
      what: "the token of the managed identity",
      idleMs: METADATA_MS,
    });
  } catch (error) {
    if (!(error instanceof NetworkError)) throw error;
    throw new StoreError(
      "denied",
      "no credentials for Azure were found: set AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or AZURE_STORAGE_CONNECTION_STRING, or run where an identity is attached (workload identity, managed identity)",
      { cause: error },
    );
  }
}
