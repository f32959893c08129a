// Checks whether Envoy can load a user's PEM texts; it would NACK the whole listener or cluster for a bad one.

import { createPrivateKey, type KeyObject, type X509Certificate } from 'node:crypto'
import { certificatesIn } from '../../pem.js'

/** Whether the text has at least one certificate and all of them can be parsed. */
export const isCertificates = (pem: string): boolean => parseCertificates(pem) !== undefined

/** Whether the key belongs to the chain's first certificate and is of a kind that Envoy can serve with. */
export function isServerPair(certificateChain: string, privateKey: string): boolean {
  const [certificate] = parseCertificates(certificateChain) ?? []
  const key = parsePrivateKey(privateKey)
  return key !== undefined && isServerKey(key) && certificate?.checkPrivateKey(key) === true
}

function parseCertificates(pem: string): readonly X509Certificate[] | undefined {
  try {
    return certificatesIn(pem)
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
