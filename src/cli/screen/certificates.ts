/** Certificates as a table: what each is for, who signed it, and how long it is still valid. */
import type { CertificateList, ShownCertificate } from "../certificates/collect.ts";
import type { Style } from "./style.ts";
import { tableLines } from "./table.ts";

/** Renewal is long due below this: leaves are renewed in their last third. */
const SOON_DAYS = 14;

export function certificateLines(
  { certificates, unread }: CertificateList,
  { wide, width }: { readonly wide: boolean; readonly width: number },
  style: Style,
): string[] {
  if (certificates.length === 0 && unread.length === 0)
    return ["This cluster uses no TLS, so it has no certificates."];
  const rows = certificates
    .toSorted((a, b) => Number(b.isCA) - Number(a.isCA) || a.where.localeCompare(b.where))
    .map((one) => [
      one.where,
      one.subject,
      one.issuer,
      one.notAfter.slice(0, 10),
      {
        text: daysOf(one),
        paint: one.daysLeft < 0 ? style.bad : one.daysLeft < SOON_DAYS ? style.doubtful : undefined,
      },
      one.isCA ? "CA" : [...one.dns, ...one.ips].join(" "),
    ]);
  const columns = [
    { title: "CERTIFICATE" },
    { title: "SUBJECT" },
    { title: "ISSUER" },
    { title: "EXPIRES" },
    { title: "DAYS", align: "right" },
    { title: "NAMES", shrinks: true },
  ] as const;
  return [
    ...(rows.length === 0 ? [] : tableLines(columns, rows, wide ? Infinity : width)),
    ...(unread.length === 0
      ? []
      : ["", ...unread.map(({ where, reason }) => `Not shown: ${where} (${reason})`)]),
  ];
}

function daysOf({ daysLeft }: ShownCertificate): string {
  return daysLeft < 0 ? "expired" : String(daysLeft);
}
