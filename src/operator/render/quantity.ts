/**
 * Quantities in the one form in which the API server keeps them, so that what was rendered equals what is
 * stored: no fraction, the largest unit that loses nothing, binary units only where they were asked for.
 */
import { parseQuantity, type Quantity } from "../../api/quantity.ts";

const SHAPE = /^([+-]?)(\d*)(?:\.(\d*))?(?:([eE][+-]?\d+)|([a-zA-Z]*))$/;
const DECIMAL = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const NANO = 10n ** 9n;

export function canonicalQuantity(quantity: Quantity): string {
  // Checked first: what is not bounded has more digits than one can compute with.
  if (parseQuantity(quantity) === undefined)
    throw new RangeError(`"${quantity}" is not a Kubernetes quantity; write it like 512Mi or 10Gi`);
  const [, sign = "", whole = "", fraction = "", exponent, suffix = ""] = SHAPE.exec(String(quantity)) ?? [];
  const binary = BINARY.indexOf(suffix);
  const power = exponent === undefined ? 3 * (DECIMAL.indexOf(suffix) - 3) : Number(exponent.slice(1));
  const digits = BigInt(whole + fraction);
  const nanos =
    binary > 0
      ? ceilDivide(digits * 1024n ** BigInt(binary) * NANO, 10n ** BigInt(fraction.length))
      : scaled(digits, power + 9 - fraction.length);
  if (binary > 0 && nanos >= 1024n * NANO) return sign.replace("+", "") + inBinary(ceilDivide(nanos, NANO));
  return sign.replace("+", "") + inDecimal(nanos, exponent !== undefined);
}

function ceilDivide(a: bigint, b: bigint): bigint {
  return (a + b - 1n) / b;
}

function scaled(digits: bigint, power: number): bigint {
  return power >= 0 ? digits * 10n ** BigInt(power) : ceilDivide(digits, 10n ** BigInt(-power));
}

function inBinary(bytes: bigint): string {
  let [rest, unit] = [bytes, 0];
  while (rest % 1024n === 0n && unit < BINARY.length - 1) [rest, unit] = [rest / 1024n, unit + 1];
  return `${rest}${BINARY[unit]}`;
}

function inDecimal(nanos: bigint, exponential: boolean): string {
  if (nanos === 0n) return "0";
  let [rest, unit] = [nanos, 0];
  while (rest % 1000n === 0n && unit < DECIMAL.length - 1) [rest, unit] = [rest / 1000n, unit + 1];
  const power = 3 * unit - 9;
  if (exponential && power !== 0) return `${rest}e${power}`;
  return `${rest}${DECIMAL[unit]}`;
}
