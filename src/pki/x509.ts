/**
 * What issuing needs of the library that writes certificates, which takes megabytes: loaded with the first one that is
 * issued. By a module of ours, since in a program in parts a package in CommonJS gives its names to no `import()`.
 */
// The library refuses to load without it.
import "reflect-metadata";
export {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Name,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509";
