/**
 * Kubernetes quantities ("10Gi", "100m", 1500): parse to a number and format back. Pure
 * functions without a schema, so that everything above `core` may use them.
 */

/** As written in YAML: a string with a suffix, or a bare integer. */
export type Quantity = string | number;

const SUFFIXES: Record<string, number> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

const SHAPE =
  /^([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:([eE][+-]?[0-9]+)|(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei))?$/;

/**
 * How many digits and which exponents are accepted. Kubernetes stores nothing of 2^63 or more, but parses `1e3000000`
 * for seconds before it finds that out, and so would everybody who computes with all the digits.
 */
export const QUANTITY_PATTERN = "^[+-]?[0-9.]{1,24}([eE][+-]?[0-9]{1,2}|[a-zA-Z]{1,2})?$";
const BOUNDED = new RegExp(QUANTITY_PATTERN);
const TOO_LARGE = 2 ** 63;

/** The value in base units (bytes, cores), or undefined when it is not a quantity or none that Kubernetes could store. */
export function parseQuantity(quantity: Quantity): number | undefined {
  const value = typeof quantity === "number" ? quantity : valueOf(quantity);
  return value !== undefined && Math.abs(value) < TOO_LARGE ? value : undefined;
}

function valueOf(text: string): number | undefined {
  const match = BOUNDED.test(text) ? SHAPE.exec(text) : undefined;
  if (!match) return undefined;
  const [, digits, exponent, suffix] = match;
  if (exponent !== undefined) return Number(`${digits}${exponent}`);
  const factor = SUFFIXES[suffix ?? ""] ?? 1;
  // Dividing by a power of ten is exact where multiplying by its inverse is not (5 * 1e-3 vs 5 / 1000).
  return factor < 1 ? Number(digits) / Math.round(1 / factor) : Number(digits) * factor;
}

/** Whole bytes, rounded up as Kubernetes does. Throws on a value that validation would have refused. */
export function bytesOf(quantity: Quantity): number {
  const value = parseQuantity(quantity);
  if (value === undefined)
    throw new RangeError(`"${quantity}" is not a Kubernetes quantity; write it like 512Mi or 10Gi`);
  return Math.ceil(value);
}

/** The shortest exact form with a binary suffix: 10737418240 → "10Gi", 1500 → "1500". */
export function formatBytes(bytes: number): string {
  if (!Number.isSafeInteger(bytes)) throw new RangeError(`${bytes} is not a whole number of bytes`);
  for (const suffix of ["Ei", "Pi", "Ti", "Gi", "Mi", "Ki"]) {
    const factor = SUFFIXES[suffix] ?? 1;
    if (bytes !== 0 && bytes % factor === 0) return `${bytes / factor}${suffix}`;
  }
  return String(bytes);
}

const DEFAULT_QUOTA = "2Gi";

export interface QuotaFields {
  readonly options: { readonly quotaBackendBytes?: Quantity | undefined };
  readonly storage: { readonly medium: string; readonly size: Quantity };
}

/** A small volume has to hold the write-ahead log and a second copy beside the database (R26). */
export function quotaOf({ options, storage }: QuotaFields): Quantity {
  if (options.quotaBackendBytes !== undefined) return options.quotaBackendBytes;
  const size = bytesOf(storage.size);
  const isSmall = storage.medium !== "HostPath" && size < bytesOf(DEFAULT_QUOTA);
  return isSmall ? formatBytes(Math.floor(size / 2)) : DEFAULT_QUOTA;
}
