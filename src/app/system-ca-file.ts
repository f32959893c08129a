// The machine Envoy runs on → where it finds the system's certificate authorities.

import { existsSync } from 'node:fs'

/** Where distributions keep their bundle: Debian (and Envoy's images), Fedora, SUSE, Alpine and macOS. */
const BUNDLES: readonly [string, ...string[]] = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
]

/** sameMachine: Envoy is a child of ours; otherwise it is taken to run from its own image. */
export const systemCaFile = (sameMachine: boolean): string =>
  (sameMachine ? BUNDLES.find((path) => existsSync(path)) : undefined) ?? BUNDLES[0]
