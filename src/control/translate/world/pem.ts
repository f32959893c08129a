// Checks whether Envoy can load a user's PEM texts; it would NACK the whole listener or cluster for a bad one.

import { createPrivateKey, type KeyObject, type X509Certificate } from 'node:crypto'
import { eachCertificateIn } from '../../../kit/pem.js'
import type { Work } from '../../../kit/turns.js'

/** Whether the text has at least one certificate and all of them can be parsed. */
export function* isCertificates(pem: string): Work<boolean> {
  return (yield* parseCertificates(pem)) !== undefined
}

/** Whether the key belongs to the chain's first certificate and is of a kind that Envoy can serve with. */
export function* isServerPair(certificateChain: string, privateKey: string): Work<boolean> {
  const [certificate] = (yield* parseCertificates(certificateChain)) ?? []
  const key = parsePrivateKey(privateKey)
  return key !== undefined && isServerKey(key) && certificate?.checkPrivateKey(key) === true
}

function* parseCertificates(pem: string): Work<readonly X509Certificate[] | undefined> {
  try {
    return yield* eachCertificateIn(pem)
  } catch {
    return undefined
  }
}

function parsePrivateKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem)
  } catch {
    return undefined
  }
}

const CURVES = ['prime256v1', 'secp384r1', 'secp521r1']

function isServerKey({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  if (asymmetricKeyType === 'rsa') return (asymmetricKeyDetails?.modulusLength ?? 0) >= 2048
  return asymmetricKeyType === 'ec' && CURVES.includes(asymmetricKeyDetails?.namedCurve ?? '')
}
